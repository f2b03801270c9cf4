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
# The cells
# ---------
# The tree uses one or two of the four columns. On those, its cells are rectangles.

import matplotlib.pyplot as plt
import numpy as np

columns = iris.data.columns[[2, 3]]
petals = iris.data[columns]
on_petals = ExplainableKMeans(n_clusters=3, random_state=0).fit(petals)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(petals.iloc[:, 0], petals.iloc[:, 1], c=on_petals.labels_, cmap="viridis", s=18)
tree = on_petals.tree_
for node in np.flatnonzero(tree.feature >= 0):
    (ax.axvline if tree.feature[node] == 0 else ax.axhline)(tree.threshold[node], color="0.4", lw=1)
ax.set(xlabel=columns[0], ylabel=columns[1])
plt.show()

# %%
# How well do these clusters know the species?
# --------------------------------------------
# The clustering never saw the species. An explainer that does see them can say them directly.

from cutwise import ClusterExplainer

species = iris.target_names[iris.target]
print(ClusterExplainer().fit(iris.data, species).rules())
