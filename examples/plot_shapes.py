"""
Shapes: where k-means must fail and a kernel tree does not
==========================================================

Half-moons, and three data sets of the kernel paper, with clusters that are not round. k-means cannot find these
clusters, so explainable k-means cannot describe them. Kernel k-means finds them, and a tree of thresholds and intervals
describes them.
"""

# %%
# The data sets of the paper come from a folder that the environment variable ``CUTWISE_DATA`` names. Without it, only
# the half-moons are shown. Kernels and bandwidths are from the paper's Table 2, the numbers of leaves from its refined
# trees. Those for the half-moons are our choice.

import os

from sklearn.datasets import make_moons

from cutwise.datasets import load_real

moons = make_moons(n_samples=500, noise=0.05, random_state=0)[0]
cases = [("half-moons", moons, 2, "rbf", 7.5, 8)]
if folder := os.environ.get("CUTWISE_DATA"):
    for name, n_clusters, kernel, gamma, leaves in (
        ("pathbased", 3, "rbf", 0.05, 6),
        ("aggregation", 7, "laplacian", 0.1, 10),
        ("flame", 2, "rbf", 0.1, 4),
    ):
        rows = load_real(name, data=folder, network=False).X
        cases.append((name, rows, n_clusters, kernel, gamma, leaves))

# %%
# Both trees may have the same number of leaves. The agreement is the adjusted Rand index with the clusters of kernel
# k-means, which are in the middle.

import matplotlib.pyplot as plt

from cutwise import ExplainableKernelKMeans, ExplainableKMeans, KernelKMeans, metrics
from cutwise.plot import PartitionDisplay

figure, axes = plt.subplots(len(cases), 3, figsize=(13, 4.2 * len(cases)), layout="constrained", squeeze=False)
for (name, X, n_clusters, kernel, gamma, leaves), row in zip(cases, axes, strict=True):
    reference = KernelKMeans(n_clusters, kernel=kernel, gamma=gamma, init="random", n_init=60, random_state=2).fit(X)
    plain = ExplainableKMeans(n_clusters, max_leaves=leaves, random_state=0).fit(X)
    tree = ExplainableKernelKMeans(n_clusters, max_leaves=leaves, expansion="expand", reference=reference).fit(X)
    for model, title, ax in ((plain, "explainable k-means", row[0]), (tree, "kernel tree", row[2])):
        PartitionDisplay.from_estimator(model, X, ax=ax)
        agreement = metrics.adjusted_rand_index(model, X, reference.labels_)
        ax.set_title(f"{name}: {title}\n{model.n_leaves_} leaves, agreement {agreement:.2f}")
    row[1].scatter(*X.T, c=reference.labels_, cmap="tab10", s=8)
    row[1].set_title(f"kernel k-means\n{kernel}, gamma {gamma:g}")
    print(f"{name}, said by the kernel tree (cost ratio {tree.cost_ratio_:.4f}):\n{tree.rules()}\n")
plt.show()
