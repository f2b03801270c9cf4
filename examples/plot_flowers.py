"""
Flowers: three clusters in three sentences
==========================================

150 irises, four lengths and widths. Which clusters are there, how would one say them, and what is lost by saying them?
"""

# %%
# Fit and read
# ------------
# One estimator does both: it clusters, and it grows the tree that says the clusters.

from sklearn.datasets import load_iris

from cutwise import ExplainableKMeans

iris = load_iris(as_frame=True)
model = ExplainableKMeans(n_clusters=3, random_state=0).fit(iris.data)
print(model.rules())

# %%
# The price
# ---------
# Squared distances within the tree's clusters, over those within the k-means clusters:

print(f"cost ratio {model.cost_ratio_:.3f} with {model.n_leaves_} leaves")

# %%
# The tree
# --------

import matplotlib.pyplot as plt

from cutwise.plot import PartitionDisplay, TreeDisplay

TreeDisplay.from_estimator(model, iris.data)
plt.show()

# %%
# The cells
# ---------
# On two columns, the cells of a tree are rectangles that one can see.

petals = iris.data[iris.data.columns[[2, 3]]]
on_petals = ExplainableKMeans(n_clusters=3, max_leaves=5, random_state=0).fit(petals)
PartitionDisplay.from_estimator(on_petals, petals)
plt.show()

# %%
# How well do these clusters know the species?
# --------------------------------------------
# The clustering never saw the species. An explainer that does see them can say them directly.

from cutwise import ClusterExplainer

species = iris.target_names[iris.target]
print(ClusterExplainer().fit(iris.data, species).rules())
