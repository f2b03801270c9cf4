"""The best single cut of the two-cluster lower bound, by the number of columns (IMM paper, Theorem 4.4)."""

import matplotlib.pyplot as plt
import numpy as np

from cutwise import ExplainableKMeans, ExplainableKMedians
from cutwise.datasets import make_negated_clusters

columns = np.arange(3, 31)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for objective, estimator, bound, color in (
    ("kmeans", ExplainableKMeans, lambda d: 3 * (1 - 1 / d) ** 2, "#4477aa"),
    ("kmedians", ExplainableKMedians, lambda d: 2 - 1 / d, "#cc6677"),
):
    ratios = []
    for d in columns:
        planted = make_negated_clusters(int(d), objective=objective)
        ratios.append(estimator(2, algorithm="optimal").fit(planted.X).cost_ / planted.cost)
    ax.plot(columns, ratios, "o", color=color, ms=4, label=f"best cut, {objective}")
    ax.plot(columns, bound(columns), color=color, lw=1, label="the theorem's bound")
ax.set(xlabel="columns", ylabel="cost over the optimum", ylim=(1, 3.2))
ax.legend(ncols=2)
plt.show()
