"""
Digits: the price of short rules, and how it falls with more leaves
===================================================================

1,797 handwritten digits, 64 pixels each. Ten clusters in 64 columns are hard to describe, so the price of
explainability is high.
"""

# %%
# Four algorithms, one reference
# ------------------------------

from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from cutwise import ExplainableKMeans
from cutwise.metrics import weighted_average_explanation_size

digits = load_digits().data
reference = KMeans(10, n_init=10, random_state=0).fit(digits)
for algorithm in ("imm", "exgreedy", "exshallow", "exkmc"):
    model = ExplainableKMeans(10, algorithm=algorithm, reference=reference).fit(digits)
    size = weighted_average_explanation_size(model.tree_, digits)
    print(f"{algorithm:10} cost ratio {model.cost_ratio_:.3f}, conditions a rule {size:.2f}")

# %%
# More leaves
# -----------
# One fit gives the whole curve: trees of every size up to the largest.

import matplotlib.pyplot as plt

from cutwise import cost_curve

figure, ax = plt.subplots(layout="constrained")
for base in ("imm", "exshallow", "exkmc"):
    curve = cost_curve(ExplainableKMeans(10, algorithm=base, reference=reference), digits, max_leaves=40)
    shown = curve.n_leaves >= 10
    ax.plot(curve.n_leaves[shown], curve.cost_ratio[shown], label=base)
ax.set(xlabel="leaves", ylabel="cost ratio")
ax.legend(title="base tree")
plt.show()

# %%
# What the tree tests
# -------------------
# Every test of the tree reads one pixel. The last picture shows how many rows each pixel is tested for.

import numpy as np

model = ExplainableKMeans(10, reference=reference).fit(digits)
asked = np.zeros(64)
inner = model.tree_.feature >= 0
np.add.at(asked, model.tree_.feature[inner], model.tree_.n_node_samples[inner])

figure, axes = plt.subplots(1, 11, figsize=(11, 1.6), layout="constrained")
for cluster, ax in enumerate(axes[:10]):
    ax.imshow(model.cluster_centers_[cluster].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{np.sum(model.labels_ == cluster)} rows", fontsize=8)
axes[10].imshow(asked.reshape(8, 8), cmap="magma")
axes[10].set_title("rows asked", fontsize=8)
for ax in axes:
    ax.set_axis_off()
plt.show()
