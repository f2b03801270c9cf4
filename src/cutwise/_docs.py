"""What several classes describe alike, written once: a line ``{name, other}`` of a docstring becomes their entries."""

from __future__ import annotations

import inspect
import re
from typing import TypeVar

__all__ = ["fill_doc"]

Class = TypeVar("Class", bound=type)

SHARED = """\
n_clusters : int, default=8
    Number of clusters k.
reference : clusterer or array-like of shape (n_clusters, n_features), default=None
    The clustering to approximate: centers, or a clusterer (fitted or not). None means k-means. Centers are in the
    preprocessor's output where there is one. Of a clusterer that was fitted on these rows, the same scaled or not
    as distances are here, ``labels_`` are taken; of another what it predicts.
preprocessor : transformer, default=None
    Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. A copy is
    fitted; weights are passed on where its ``fit`` takes them. One that is not scikit-learn's may write into its
    input, so it is given a copy of the rows.
n_init : int, default=10
    Number of starts of the reference, by k-means++.
random_state : int, RandomState instance or None, default=None
    Seeds the reference. The tree uses no randomness.
n_jobs : int, default=None
    Threads, by joblib's rule: None means 1, -1 all cores. The result does not depend on it.
verbose : int, default=0
    1 prints each stage and its seconds to standard error; 2 also what happens in them, such as the reference's
    restarts.
tree_ : ThresholdTree
    The model.
labels_ : ndarray of shape (n_samples,), int32
    Cluster of each training row, by the tree. Numbers are those of the reference.
cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    Means of the tree's clusters, in the preprocessor's output where there is one. A cluster without rows keeps the
    reference's center.
cost_, inertia_ : float
    Weighted sum of squared distances to ``cluster_centers_``.
surrogate_cost_ : float
    The same with the reference's centers.
cost_ratio_ : float
    ``cost_`` over ``reference_.cost``; nan where the latter is 0.
total_cost_ : float
    Cost of all rows as a single cluster.
explained_ : float
    Share of what the reference explains that the tree keeps: ``(total_cost_ - cost_) / (total_cost_ -
    reference_.cost)``; nan where the reference costs no less than a single cluster.
reference_explained_ : float
    What the reference itself explains: ``1 - reference_.cost / total_cost_``; nan where the latter is 0.
reference_ : Reference
    The clustering that the tree approximates: ``labels``, ``centers``, ``cost``.
n_leaves_, depth_ : int
    Size of the tree.
classes_ : ndarray of shape (n_clusters,), int32
    The cluster numbers 0 .. k-1.
preprocessor_ : transformer
    The fitted preprocessor; None without one.
n_features_in_ : int
cluster_names_ : dict of label to str
    The names that ``name_clusters`` gave; empty after a fit.
feature_names_in_ : ndarray of shape (n_features,)
    Only when ``X`` has column names that are all strings.
"""

ENTRIES = {entry.split(" : ")[0].split(",")[0]: entry for entry in re.split(r"\n(?=\S)", SHARED.strip())}


def fill_doc(cls: Class) -> Class:
    """Fill the shared entries into a class's docstring."""
    doc = inspect.cleandoc(cls.__doc__ or "")  # there is none under python -OO

    def entries(line: re.Match[str]) -> str:
        return "\n".join(ENTRIES[name] for name in line[1].split(", "))

    cls.__doc__ = re.sub(r"^\{([a-z_]+(?:, [a-z_]+)*)\}$", entries, doc, flags=re.MULTILINE)
    return cls
