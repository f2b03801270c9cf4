"""
Flowers: three clusters in three sentences
==========================================

150 irises with four lengths and widths. Which clusters are there, which rules describe them, and what do the rules
cost?
"""

# %%
# Fit and read
# ------------
# One estimator does both: it clusters the rows, and it grows the tree that describes the clusters.

from sklearn.datasets import load_iris

from cutwise import ExplainableKMeans

iris = load_iris(as_frame=True)
model = ExplainableKMeans(n_clusters=3, random_state=0).fit(iris.data)
print(model.rules())

# %%
# The price
# ---------
# The squared distances within the tree's clusters, divided by those within the k-means clusters:

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
# In two columns, the leaves of a tree are rectangles.

petals = iris.data[iris.data.columns[[2, 3]]]
on_petals = ExplainableKMeans(n_clusters=3, max_leaves=5, random_state=0).fit(petals)
PartitionDisplay.from_estimator(on_petals, petals)
plt.show()

# %%
# How are the clusters related to the species?
# --------------------------------------------
# The clustering did not use the species. A ``ClusterExplainer`` uses them and describes them directly.

from cutwise import ClusterExplainer

species = iris.target_names[iris.target]
print(ClusterExplainer().fit(iris.data, species).rules())
