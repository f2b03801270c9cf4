"""
Cells: what a few far rows do to means and to medians
=====================================================

569 samples of breast tissue. The two columns say how much the areas and the concavities of cell nuclei vary within a
sample: little in most samples, and very much in a few.
"""

# %%
# Three clusters by squared distance, and three by distance
# ----------------------------------------------------------

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import RobustScaler

from cutwise import ExplainableKMeans, ExplainableKMedians

cells = load_breast_cancer(as_frame=True)
X = cells.data[["area error", "concavity error"]]
means = ExplainableKMeans(3, preprocessor=RobustScaler(), random_state=0).fit(X)
medians = ExplainableKMedians(3, preprocessor=RobustScaler(), random_state=0).fit(X)
for model in (means, medians):
    print(type(model).__name__)
    print(model.rules())
    print()

# %%
# With squared distances, two samples get a cluster of their own. With medians, all three clusters describe the bulk of
# the samples.

import matplotlib.pyplot as plt

from cutwise.plot import PartitionDisplay

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for model, ax in zip((means, medians), axes, strict=True):
    PartitionDisplay.from_estimator(model, X, ax=ax)
    ax.set_title(type(model).__name__)
    ax.set_xscale("symlog", linthresh=100)
plt.show()

# %%
# Neither is better in general. Here the diagnosis, which neither used, agrees more with the clusters of k-means:

from sklearn.metrics import normalized_mutual_info_score

for model in (means, medians):
    known = normalized_mutual_info_score(cells.target, model.labels_)
    print(f"{type(model).__name__}: normalized mutual information {known:.3f}")
