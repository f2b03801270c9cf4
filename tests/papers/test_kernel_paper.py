"""The kernel paper's counterexamples, as far as cuts and costs alone show them."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from cutwise import ExplainableKMeans, datasets
from tests.oracle.models import fit_quietly


def kernel_cost(kernel: np.ndarray, labels: np.ndarray) -> float:
    """Squared distances to the clusters' means in feature space, by the kernel trick."""
    cost = float(np.trace(kernel))
    for cluster in np.unique(labels):
        own = labels == cluster
        cost -= float(kernel[np.ix_(own, own)].sum()) / own.sum()
    return cost


def labelings(X: np.ndarray, *, intervals: bool) -> list[np.ndarray]:
    """The labels of every cut, or of every interval test."""
    found = []
    for column in X.T:
        values = np.unique(column)
        for i in range(len(values) - 1):
            found.append((column > values[i]).astype(np.intp))
        if intervals:
            for low, high in combinations_with_replacement(values, 2):
                inside = (column >= low) & (column <= high)
                if not inside.all():
                    found.append(inside.astype(np.intp))
    return found


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_exkmc_from_an_empty_tree_has_no_bound_where_imm_is_perfect(epsilon):
    """Theorem 6."""
    planted = datasets.make_exkmc_line(epsilon)
    imm = fit_quietly(ExplainableKMeans(3, algorithm="imm", reference=planted.centers), planted.X)
    assert imm.cost_ratio_ == pytest.approx(1, rel=1e-9)
    exkmc = fit_quietly(ExplainableKMeans(3, algorithm="exkmc", reference=planted.centers), planted.X)
    assert exkmc.tree_.threshold[0] == 0
    assert exkmc.cost_ratio_ >= (1 - 2 * epsilon) ** 2 / (9 * epsilon**2)


def test_the_ratio_of_theorem_6_grows_without_end():
    ratios = []
    for epsilon in (0.1, 0.03, 0.01, 0.003):
        planted = datasets.make_exkmc_line(epsilon)
        model = fit_quietly(ExplainableKMeans(3, algorithm="exkmc", reference=planted.centers), planted.X)
        ratios.append(model.cost_ratio_)
    assert all(later > 5 * earlier for earlier, later in pairwise(ratios))


def test_no_one_sided_cut_parts_the_quadratic_cross_but_an_interval_does():
    """Theorem 7, quadratic kernel: it holds for one-sided cuts."""
    planted = datasets.make_quadratic_cross()
    assert kernel_cost(planted.kernel, planted.labels) == 0
    assert min(kernel_cost(planted.kernel, labels) for labels in labelings(planted.X, intervals=False)) > 0.5
    assert min(kernel_cost(planted.kernel, labels) for labels in labelings(planted.X, intervals=True)) == 0


def test_neither_cuts_nor_intervals_part_the_neighborhood_clusters():
    """Theorem 7, neighborhood kernel."""
    planted = datasets.make_neighborhood_clusters()
    assert kernel_cost(planted.kernel, planted.labels) == 0
    assert min(kernel_cost(planted.kernel, labels) for labels in labelings(planted.X, intervals=True)) > 0.5
