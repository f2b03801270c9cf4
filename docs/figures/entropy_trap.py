"""CART and IMM on two big clusters and two outliers that belong together (IMM paper, Figure 2b)."""

import matplotlib.pyplot as plt
import numpy as np

from cutwise import ClusterExplainer

rng = np.random.default_rng(0)
big = np.concatenate([rng.normal((-2, 0), 0.25, (500, 2)), rng.normal((2, 0), 0.25, (500, 2))])
X = np.concatenate([big, [(-2, 12), (2, 12)]])
y = np.repeat([0, 1, 2], [500, 500, 2])

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, algorithm in zip(axes, ("cart", "imm"), strict=True):
    model = ClusterExplainer(algorithm=algorithm, max_leaves=3).fit(X, y)
    ax.scatter(*X.T, c=np.array(["#4477aa", "#cc6677", "#228833"])[y], s=np.where(y == 2, 40, 4))
    tree = model.tree_
    for node in np.flatnonzero(tree.feature >= 0):
        line = ax.axvline if tree.feature[node] == 0 else ax.axhline
        line(tree.threshold[node], color="0.3", lw=1.5 if node == 0 else 0.8, ls="-" if node == 0 else "--")
    ax.set_title(f"{algorithm.upper()}, 3 leaves: cost ratio {model.cost_ratio_:.2f}")
plt.show()
