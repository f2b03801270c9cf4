"""
Cells: where means and medians differ
=====================================

569 nuclei from breast tissue, thirty measurements each. Areas have a long tail: a few nuclei are several times as
large as most.
"""

# %%
# Two clusters by squared distance, and two by distance
# -----------------------------------------------------

from sklearn.datasets import load_breast_cancer

from cutwise import ExplainableKMeans, ExplainableKMedians

cells = load_breast_cancer(as_frame=True)
means = ExplainableKMeans(2, random_state=0).fit(cells.data)
medians = ExplainableKMedians(2, random_state=0).fit(cells.data)
for model in (means, medians):
    print(type(model).__name__)
    print(model.rules())
    print()

# %%
# Squared distances put a border far out, where it keeps the few large nuclei to themselves. Medians leave them
# where they are and cut nearer to the bulk.

import matplotlib.pyplot as plt
import numpy as np

column = cells.data.columns[means.tree_.feature[0]]
figure, ax = plt.subplots(layout="constrained")
values = cells.data[column]
bins = np.linspace(values.min(), values.max(), 50)
for number, name in enumerate(cells.target_names):
    ax.hist(values[cells.target == number], bins, alpha=0.6, label=name)
for model, style in ((means, "-"), (medians, "--")):
    if cells.data.columns[model.tree_.feature[0]] == column:
        ax.axvline(model.tree_.threshold[0], color="black", ls=style, label=type(model).__name__)
ax.set(xlabel=column, ylabel="nuclei")
ax.legend()
plt.show()

# %%
# How far does each agree with the diagnosis, which neither of them saw?

for model in (means, medians):
    same = np.mean(model.labels_ == cells.target)
    print(f"{type(model).__name__}: {max(same, 1 - same):.1%}")
