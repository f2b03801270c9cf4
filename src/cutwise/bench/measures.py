"""Parts shared by the experiments: reference clusterings as in the papers, and figures of a tree."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutwise import metrics
from cutwise.exceptions import EmptyClusterWarning

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class BenchReference:
    """A reference clustering.

    ``centers`` (k, d) float64. ``labels`` (n,) int32. ``seconds``: CPU seconds to find it.
    """

    centers: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int32]
    cost: float
    seconds: float


def kmeans_reference_of(X: Any, n_clusters: int, seed: int) -> BenchReference:
    """scikit-learn's KMeans with ten starts, on one thread: its centers differ in the last bits between thread counts.

    ``X`` (n, d).
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    start = time.process_time()
    with threadpool_limits(limits=1):
        fitted = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
    seconds = time.process_time() - start
    return BenchReference(fitted.cluster_centers_, fitted.labels_, float(fitted.inertia_), seconds)


def fit_quietly(model: Any, X: Any) -> tuple[Any, float]:
    """Fit without warnings about clusters without rows; also return the CPU seconds."""
    with warnings.catch_warnings(action="ignore", category=EmptyClusterWarning):
        start = time.process_time()
        model.fit(X)
        return model, time.process_time() - start


def figures_of(tree: Any, X: Any, reference: BenchReference, seconds: float) -> dict[str, float]:
    """The figures of a tree.

    ``X`` (n, d). ``seconds``: time of its growth, without the reference. Returns ``figures``: ``leaves``;
    ``cost_ratio`` (every cluster with its own mean) and ``surrogate_ratio`` (with the reference's centers) over the
    reference's cost; ``accuracy``, the share of rows in their reference cluster; ``nmi``, normalized mutual information
    with it; ``wad`` and ``waes``; ``seconds``.
    """
    from sklearn.metrics import normalized_mutual_info_score

    routed = getattr(tree, "tree_", tree)
    labels = routed.predict(X)
    return {
        "leaves": routed.n_leaves,
        "cost_ratio": metrics.tree_cost(routed, X) / reference.cost,
        "surrogate_ratio": metrics.surrogate_cost(routed, X, reference.centers) / reference.cost,
        "accuracy": float(np.mean(labels == reference.labels)),
        "nmi": float(normalized_mutual_info_score(reference.labels, labels)),
        "wad": metrics.weighted_average_depth(routed, X),
        "waes": metrics.weighted_average_explanation_size(routed, X),
        "seconds": seconds,
    }


Trees = dict[str, dict[str, "pd.DataFrame"]]
"""Figures of trees by data set and algorithm, a line per seed (and size)."""


def trees_of(records: Sequence[dict[str, Any]]) -> Trees:
    """The figures of all trees of some jobs, and the seconds of k-means."""
    import pandas as pd

    lines = [
        {"set": record["key"]["set"], "tree": tree, "kmeans_seconds": record["result"]["kmeans_seconds"], **figures}
        for record in records
        for tree, found in record["result"]["trees"].items()
        for figures in (found if isinstance(found, list) else [found])
    ]
    return {
        name: dict(list(of_set.groupby("tree", sort=False)))
        for name, of_set in pd.DataFrame(lines).groupby("set", sort=False)
    }


def standard_error(values: pd.Series) -> float:
    """Standard error of the mean; 0 for a single seed."""
    return float(values.sem()) if len(values) > 1 else 0.0


def is_far_from(values: pd.Series, published: float, *, least: float, published_seeds: int) -> bool:
    """Whether the mean is farther than ``least`` and three combined standard errors from a published mean.

    The papers print no standard errors: they are estimated from our values and the paper's number of seeds.
    """
    ours = standard_error(values)
    theirs = ours * math.sqrt(len(values) / published_seeds)
    return abs(float(values.mean()) - published) > max(least, 3 * math.hypot(ours, theirs))


def with_error(values: pd.Series, digits: int = 3) -> str:
    """The mean and, for several seeds, its standard error."""
    spread = f" ± {standard_error(values):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def compare(sample: Sequence[float], base: Sequence[float], larger_is: str) -> str:
    """The paper's one-sided t-test of two samples with equal variances, at 95 %.

    ``sample``, ``base``: values of an algorithm and of its baseline. Returns ``verdict``: ``"worse"``, ``"better"`` or
    ``""``. If neither sample varies, any difference beyond rounding counts.
    """
    from scipy.stats import ttest_ind_from_stats

    smaller_is = "better" if larger_is == "worse" else "worse"
    a, b = np.asarray(sample), np.asarray(base)
    difference = float(a.mean() - b.mean())
    if len(a) < 2 or len(b) < 2 or abs(difference) <= 1e-9 * max(1.0, abs(float(b.mean()))):
        return ""
    varies = max(np.ptp(a), np.ptp(b)) > 1e-9 * max(1.0, abs(float(b.mean())))
    figures = [float(figure) for each in (a, b) for figure in (each.mean(), each.std(ddof=1), len(each))]
    if varies and float(ttest_ind_from_stats(*figures).pvalue) / 2 >= 0.05:  # also for samples that hardly vary
        return ""
    return larger_is if difference > 0 else smaller_is
