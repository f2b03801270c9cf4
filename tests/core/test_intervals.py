"""The searches for intervals against every possible interval, and what they read: ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from cutwise.table.table import as_matrix
from tests.each import each


@dataclass
class Case:
    """A node: some rows of a table, with costs by k clusters, labels and weights."""

    values: np.ndarray
    rows: np.ndarray
    costs: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    ranks: core.Ranks
    k: int

    @property
    def totals(self) -> np.ndarray:
        return self.costs[self.rows].sum(axis=0).astype(np.int64)

    @property
    def label_totals(self) -> np.ndarray:
        return np.bincount(self.labels[self.rows], self.weight(self.rows), self.k).astype(np.int64)

    def weight(self, rows: np.ndarray) -> np.ndarray:
        return np.ones(len(rows), dtype=np.int64) if self.weights is None else self.weights[rows]


def make_case(seed: int, *, n: int = 60, as_csr: bool = False) -> Case:
    rng = np.random.default_rng([3, seed])
    k = int(rng.integers(2, 6))
    values = np.column_stack(
        [
            rng.integers(0, 6, n),
            rng.integers(-9, 9, n) / 4,
            np.round(rng.normal(size=n), 1),
            rng.normal(size=n),
            np.full(n, 2.5),
            rng.integers(0, 2, n),
        ]
    )
    weights = rng.integers(1, 5, n) if seed % 3 == 0 else None
    costs = rng.integers(0, [2, 9, 1000][seed % 3], (n, k)).astype([np.int32, np.int64][seed % 2])
    if weights is not None:
        costs = costs.astype(np.int64) * weights[:, None]
    rows = np.sort(rng.choice(n, int(rng.integers(1, n)), replace=False)).astype(np.int32)
    matrix = as_matrix(sparse.csr_array(values) if as_csr else values)
    labels = rng.integers(0, k, n).astype(np.int32)
    return Case(values, rows, costs, labels, weights, core.rank_columns(matrix), k)


CASES = [*(make_case(seed, as_csr=seed % 4 == 3, n=20 + seed) for seed in range(24)), make_case(24, n=110)]


def all_intervals(case: Case) -> Iterator[tuple[int, float, float, np.ndarray]]:
    """Every interval of a node with rows inside, below and above: column, the left ends of its gaps, the inside."""
    for feature in range(case.values.shape[1]):
        column = case.values[case.rows, feature]
        ends = np.unique(column)
        for a in range(len(ends) - 2):
            for b in range(a + 1, len(ends) - 1):
                yield feature, float(ends[a]), float(ends[b]), (column > ends[a]) & (column <= ends[b])


@each("case", CASES)
def test_the_best_interval_is_that_of_all_intervals(case: Case) -> None:
    costs = case.costs[case.rows].astype(np.int64)
    scored = [
        (int(costs[inside].sum(axis=0).min() + costs[~inside].sum(axis=0).min()), feature, lower, upper)
        for feature, lower, upper, inside in all_intervals(case)
    ]
    uncut = int(case.totals.min())
    for limit, n_jobs in ((uncut, 1), (min(uncut, min(scored, default=(uncut,))[0] + 1), 3)):
        found = core.best_surrogate_interval(
            case.ranks, case.rows, case.weights, case.costs, case.totals, limit, n_jobs
        )
        if not scored or min(scored)[0] >= limit:
            assert found is None
            continue
        best = min(scored)
        assert found is not None
        assert (found[0], *found[2:5]) == best
        column = case.values[case.rows, found[2]]
        inside = (column > found[3]) & (column <= found[4])
        assert found[5] == costs[inside].sum(axis=0).argmin()
        assert found[6] == costs[~inside].sum(axis=0).argmin()


@pytest.mark.parametrize("gini", [False, True])
@each("case", CASES)
def test_the_best_interval_by_disagreement_is_that_of_all_intervals(case: Case, gini: bool) -> None:
    weight = case.weight(case.rows)
    labels = case.labels[case.rows]
    scored = []
    for feature, lower, upper, inside in all_intervals(case):
        disagreement, impurity = 0, 0.0
        for side in (inside, ~inside):
            counts = np.bincount(labels[side], weights=weight[side], minlength=case.k)
            disagreement += int(counts.sum() - counts.max())
            impurity += counts.sum() - (counts**2).sum() / counts.sum()
        scored.append((disagreement, round(impurity, 9) if gini else 0.0, feature, lower, upper))
    uncut = int(case.label_totals.sum() - case.label_totals.max())
    found = core.best_disagreement_interval(
        case.ranks, case.rows, case.weights, case.labels, case.label_totals, gini, uncut, 1e300 if gini else 0.0
    )
    if not scored or (min(scored)[0] >= uncut and not gini):
        assert found is None
        return
    assert found is not None
    best = min(scored)
    assert found[0] == best[0]
    assert found[1] == pytest.approx(best[1], abs=1e-8)
    if not gini:
        assert found[2:5] == best[2:]
    column = case.values[case.rows, found[2]]
    inside = (column > found[3]) & (column <= found[4])
    for label, side in ((found[5], inside), (found[6], ~inside)):
        assert label == np.bincount(labels[side], weights=weight[side], minlength=case.k).argmax()


def test_a_column_of_many_values_is_searched_near_the_best_groups():
    # A band of cluster 1 amid cluster 0, its ends somewhere between the ends of the 256 groups.
    rng = np.random.default_rng(0)
    n = 6000
    values = np.column_stack([rng.normal(size=n), rng.permutation(n)])
    inside = (values[:, 1] > 2003) & (values[:, 1] <= 3517)
    labels = inside.astype(np.int32)
    ranks = core.rank_columns(as_matrix(values))
    rows = np.arange(n, dtype=np.int32)
    totals = np.bincount(labels).astype(np.int64)
    for weights in (None, rng.integers(1, 3, n)):
        if weights is not None:
            totals = np.bincount(labels, weights).astype(np.int64)
        found = core.best_disagreement_interval(ranks, rows, weights, labels, totals, False, n, 0.0)
        assert found == (0, 0.0, 1, 2003.0, 3517.0, 1, 0)


def test_heavy_values_stand_alone_in_a_column_of_many():
    # Half of the rows are one value: no group may hide it, even though it is less than 1 of 256 of the values.
    rng = np.random.default_rng(1)
    column = np.concatenate([np.full(4000, 0.5), rng.uniform(0, 1, 4000)])
    labels = (column == 0.5).astype(np.int32)
    ranks = core.rank_columns(as_matrix(column[:, None]))
    found = core.best_disagreement_interval(
        ranks, np.arange(8000, dtype=np.int32), None, labels, np.bincount(labels).astype(np.int64), False, 4000, 0.0
    )
    assert found is not None
    assert found[0] == 0
    assert found[4] == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_rows_changes_no_interval(seed):
    rng = np.random.default_rng([5, seed])
    n, k = 3000, 4
    values = np.column_stack([rng.normal(size=n), rng.integers(0, 40, n)])
    costs = np.rint(100 * np.abs(values[:, [0]] - np.array([-1.0, 0.0, 0.2, 1.5]))).astype(np.int64)
    shuffled = rng.permutation(n)
    rows = np.arange(n, dtype=np.int32)
    one, other = (
        core.best_surrogate_interval(
            core.rank_columns(as_matrix(v), jobs), rows, None, c, c.sum(axis=0), int(c.sum()), jobs
        )
        for v, c, jobs in ((values, costs, 1), (values[shuffled], np.ascontiguousarray(costs[shuffled]), 4))
    )
    assert one == other
    assert one is not None
    assert len(one) == 7
    assert k > one[5] >= 0


@each("case", CASES[:6])
def test_a_partition_by_an_interval_keeps_order_and_tells_its_gaps(case: Case) -> None:
    matrix = as_matrix(case.values)
    encoded = core.encode(matrix)
    for feature, lower, upper, inside in list(all_intervals(case))[::11]:
        rows = case.rows.copy()
        n_inside, gap, lower_gap = core.partition(encoded, matrix, rows, feature, lower, upper)
        np.testing.assert_array_equal(rows, np.concatenate([case.rows[inside], case.rows[~inside]]))
        column = case.values[case.rows, feature]
        assert n_inside == inside.sum()
        assert lower_gap == (lower, column[inside].min())
        assert gap == (upper, column[column > upper].min())


def test_more_values_than_ranks_share_them():
    n = 70_000
    column = np.arange(n, dtype=np.float64)
    labels = ((column > 20_001) & (column <= 50_001)).astype(np.int32)
    ranks = core.rank_columns(as_matrix(column[:, None]))
    found = core.best_disagreement_interval(
        ranks, np.arange(n, dtype=np.int32), None, labels, np.bincount(labels).astype(np.int64), False, n, 0.0
    )
    assert found is not None
    assert found[0] <= 4  # two neighboring values may share a rank
