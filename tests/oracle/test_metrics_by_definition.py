"""``cutwise.metrics`` against the definitions, on fitted trees."""

from __future__ import annotations

import numpy as np

from cutwise import metrics
from tests.each import each
from tests.oracle import measures
from tests.oracle.cases import SMALL, small_case
from tests.oracle.models import fit_case

KINDS = each("kind", range(len(SMALL)))


@KINDS
def test_depths_costs_and_mistakes_equal_their_definitions(kind):
    rng = np.random.default_rng(kind)
    for seed in range(2):
        case = small_case(kind, seed)
        rows = np.asarray(case.values, dtype=np.float64)
        spread = float(((rows - rows.mean(axis=0)) ** 2).sum())
        for algorithm in ("imm", "exshallow", "exkmc"):
            model = fit_case(case, algorithm, max_leaves=len(case.centers) + 3)
            tree, X = model.tree_, case.values
            clusters = measures.clusters_of_rows(tree, rows)
            weights = rng.integers(1, 5, len(rows)) / 2
            for given in (None, weights):
                assert np.isclose(
                    metrics.weighted_average_depth(tree, X, sample_weight=given),
                    measures.weighted_average_depth(tree, rows, given),
                    rtol=1e-12,
                )
                assert np.isclose(
                    metrics.weighted_average_explanation_size(tree, X, sample_weight=given),
                    measures.weighted_average_explanation_size(tree, rows, given),
                    rtol=1e-12,
                )
                assert np.isclose(
                    metrics.tree_cost(tree, X, metric="kmeans", sample_weight=given),
                    measures.partition_cost(clusters, rows, given),
                    rtol=1e-9,
                    atol=1e-12 * spread,
                )
                assert np.isclose(
                    metrics.tree_cost(tree, X, metric="kmedians", sample_weight=given),
                    measures.partition_medians_cost(clusters, rows, given),
                    rtol=1e-9,
                    atol=1e-9 * np.abs(rows - rows.mean(axis=0)).sum(),
                )
            assert np.isclose(
                metrics.surrogate_cost(tree, X, case.centers),
                measures.fixed_center_cost(clusters, rows, case.centers),
                rtol=1e-9,
                atol=1e-12 * spread,
            )
            labels = model.reference_.labels
            assert metrics.n_mistakes(tree, X, labels) == measures.n_mistakes(tree, rows, labels)


def test_tree_cost_in_another_metric_space_uses_its_rows():
    case = small_case(0, 3)
    model = fit_case(case, "imm")
    other = np.random.default_rng(0).normal(size=(len(case.values), 2))
    clusters = measures.clusters_of_rows(model.tree_, case.values)
    seen = metrics.tree_cost(model.tree_, case.values, metric="kmeans", Z=other)
    assert np.isclose(seen, measures.partition_cost(clusters, other), rtol=1e-12)


def test_kernel_cost_of_the_linear_kernel_is_the_k_means_cost():
    case = small_case(0, 4)
    model = fit_case(case, "imm")
    rows = np.asarray(case.values, dtype=np.float64)
    plain = metrics.tree_cost(model.tree_, case.values, metric="kmeans")
    kernel = metrics.tree_cost(model.tree_, case.values, metric="kernel", K=rows @ rows.T)
    assert np.isclose(plain, kernel, rtol=1e-9)
