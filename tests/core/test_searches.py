"""The searches against every possible cut, on tables with exact and coarse columns, bundles, packs and CSR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from cutwise.table.table import as_matrix
from cutwise.tree.criteria.induced import new_states
from tests.each import each


@dataclass
class Case:
    """A node: some rows of a table, with costs by k clusters and the clusters' coordinates."""

    values: np.ndarray
    rows: np.ndarray
    excess: np.ndarray
    base: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    coordinates: np.ndarray
    survivors: np.ndarray
    matrix: core.Matrix
    encoded: core.Encoded

    def weight(self, rows: np.ndarray) -> np.ndarray:
        return np.ones(len(rows), dtype=np.int64) if self.weights is None else self.weights[rows]


def make_case(seed: int, *, with_weights: bool = False, as_csr: bool = False, n: int = 120) -> Case:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    one_hot = np.eye(5)[rng.integers(0, 5, n)]
    small = rng.integers(0, 4, (n, 3))
    wide = np.round(rng.normal(size=(n, 2)), 2)
    values = np.column_stack([one_hot, small, wide, np.full(n, 7.0)])
    excess = rng.integers(0, 50, (n, k))
    excess -= excess.min(axis=1, keepdims=True)
    weights = rng.integers(1, 4, n) if with_weights else None
    if weights is not None:
        excess *= weights[:, None]
    coordinates = values[rng.choice(n, k, replace=False)] + rng.choice([0.0, 0.25], (k, values.shape[1]))
    rows = np.sort(rng.choice(n, int(rng.integers(2, n)), replace=False)).astype(np.int32)
    survivors = np.sort(rng.choice(k, int(rng.integers(2, k + 1)), replace=False)).astype(np.int32)
    matrix = as_matrix(sparse.csr_array(values) if as_csr else values)
    labels = rng.integers(0, k, n).astype(np.int32)
    base = rng.integers(0, 9, n)
    return Case(
        values, rows, excess.astype(np.int64), base.astype(np.int64), labels, weights, coordinates, survivors, matrix,
        core.encode(matrix),
    )  # fmt: skip


def coarse_case(seed: int, k: int = 4) -> Case:
    """Columns of more than 256 distinct values: bins have to be opened."""
    rng = np.random.default_rng([9, seed])
    n = 600
    skewed = np.exp(3 * rng.normal(size=n)) / 50
    values = np.column_stack([rng.permutation(n) / 8, rng.normal(size=n), rng.integers(0, 800, n), skewed])
    coordinates = values[rng.choice(n, k, replace=False)].astype(np.float64)
    costs = np.rint(16 * ((values[:, None] - coordinates) ** 2).sum(axis=2)).astype(np.int64)
    base = costs.min(axis=1)
    matrix = as_matrix(values)
    rows = np.sort(rng.choice(n, 450, replace=False)).astype(np.int32)
    survivors = np.arange(k, dtype=np.int32)
    labels = costs.argmin(axis=1).astype(np.int32)
    return Case(
        values, rows, costs - base[:, None], base, labels, None, coordinates, survivors, matrix, core.encode(matrix)
    )


def apart_case(seed: int) -> Case:
    """A node of a few clusters, some of them apart, and centers in bins without rows of their clusters."""
    rng = np.random.default_rng([10, seed])
    n, k, d = 900, 20, 3
    labels = rng.integers(0, k, n).astype(np.int32)
    places = rng.uniform(0, 30, (k, d))
    values = places[labels] + 0.4 * rng.normal(size=(n, d))
    coordinates = places + rng.normal(size=(k, d))
    coordinates[:, 0] = values[rng.integers(0, n, k), 0]
    costs = np.rint(16 * ((values[:, None] - coordinates) ** 2).sum(axis=2)).astype(np.int64)
    base, matrix = costs.min(axis=1), as_matrix(values)
    survivors = np.sort(rng.choice(k, 3, replace=False)).astype(np.int32)
    rows = np.flatnonzero(np.isin(labels, survivors)).astype(np.int32)
    return Case(
        values, rows, costs - base[:, None], base, labels, None, coordinates, survivors, matrix, core.encode(matrix)
    )


CASES = [
    *(make_case(seed) for seed in range(5)),
    *(make_case(seed, with_weights=True) for seed in range(8, 11)),
    *(make_case(seed, as_csr=True) for seed in range(12, 15)),
    *(make_case(seed, as_csr=seed % 2 == 0, n=14) for seed in (6, 13)),  # where the best cut leaves a side too few rows
    *(coarse_case(seed) for seed in range(2)),
    coarse_case(2, k=40),
    coarse_case(3, k=100),
    *(apart_case(seed) for seed in (0, 59, 69, 87, 117)),
]


def cuts(case: Case, *, with_centers: bool) -> Iterator[tuple[int, float, np.ndarray]]:
    """Every cut of the node: column, left end of its gap, which rows lie left."""
    for feature in range(case.values.shape[1]):
        column = case.values[case.rows, feature]
        ends = [column, case.coordinates[case.survivors, feature]] if with_centers else [column]
        for threshold in np.unique(np.concatenate(ends))[:-1]:
            yield feature, float(threshold), column <= threshold


def histogram_of(case: Case, cluster: np.ndarray, first: np.ndarray | None, second: np.ndarray | None, width: int):
    k = case.excess.shape[1]
    histogram = np.zeros((case.encoded.n_slots, k, width), dtype=np.int64)
    totals = np.zeros((k, width), dtype=np.int64)
    core.add_to_cluster_histogram(case.encoded, case.rows, cluster, first, second, histogram, totals, 1)
    return histogram, totals


@each("case", CASES)
def test_rows_taken_out_of_a_histogram_leave_nothing(case: Case) -> None:
    histogram, totals = histogram_of(case, case.labels, case.weights, None, 1)
    assert totals.sum() == case.weight(case.rows).sum()
    core.add_to_cluster_histogram(case.encoded, case.rows, case.labels, case.weights, None, histogram, totals, -1)
    assert not histogram.any()
    assert not totals.any()


@each("seed", range(12, 20))
def test_narrow_cells_of_a_sparse_table_say_the_same(seed: int) -> None:
    case = make_case(seed, as_csr=True)
    weights = np.ones(len(case.values), dtype=np.int64)
    weights[case.rows[0]] = 2**16 - len(case.rows)  # together as much as a cell can hold
    wide, totals = histogram_of(case, case.labels, weights, None, 1)
    narrow = np.zeros(wide.shape, dtype=np.uint16)
    args = case.encoded, case.rows, case.labels, weights, None, narrow
    core.add_to_cluster_histogram(*args, np.zeros_like(totals), 1)
    np.testing.assert_array_equal(narrow, wide)
    mistakes, disagreement = [], []
    for cells in wide, narrow:
        mistakes.append(core.fewest_mistakes(
            case.encoded, case.matrix, case.rows, case.labels, weights, case.rows[:0], cells, totals,
            case.coordinates, case.survivors,
        ))  # fmt: skip
        disagreement.append(core.best_disagreement_cut(
            case.encoded, case.matrix, case.rows, case.labels, weights, cells[:, :, 0], totals[:, 0], True
        ))  # fmt: skip
    np.testing.assert_equal(*mistakes)
    assert disagreement[0] == disagreement[1]
    core.add_to_cluster_histogram(*args, totals, -1)
    assert not narrow.any()


def test_narrow_cells_are_refused_for_dense_tables() -> None:
    case = make_case(0)
    narrow, totals = np.zeros((case.encoded.n_slots, 9, 1), dtype=np.uint16), np.zeros((9, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="sparse tables"):
        core.add_to_cluster_histogram(case.encoded, case.rows, case.labels, None, None, narrow, totals, 1)


@each("case", CASES)
@each("n_jobs", [1, 3])
def test_sums_of_costs_are_those_of_the_rows_of_every_bin(case: Case, n_jobs: int) -> None:
    every = np.tile(case.rows, 300)  # enough rows for threads to be used
    histogram = np.zeros((case.encoded.n_slots, case.excess.shape[1]), dtype=np.int64)
    totals = np.zeros(case.excess.shape[1], dtype=np.int64)
    core.add_to_cost_histogram(case.encoded, every, case.excess, histogram, totals, n_jobs)
    np.testing.assert_array_equal(totals, 300 * case.excess[case.rows].sum(axis=0))
    columns = zip(case.encoded.slot_begin, case.encoded.n_bins, case.encoded.default_bin, strict=True)
    for feature, (begin, n_bins, default) in enumerate(columns):
        values, bins = case.values[case.rows, feature], np.arange(n_bins)
        for slot, at in enumerate(case.encoded.value_begin[feature] + bins[bins != default], begin):
            inside = (values >= case.encoded.low[at]) & (values <= case.encoded.high[at])
            np.testing.assert_array_equal(histogram[slot], 300 * case.excess[case.rows[inside]].sum(axis=0))


def test_what_does_not_fit_is_refused() -> None:
    case = make_case(0)
    encoded, matrix, rows = case.encoded, case.matrix, case.rows
    k, d = case.coordinates.shape
    other = as_matrix(case.values[:-1])
    histogram, totals = histogram_of(case, case.labels, None, None, 1)

    def mistakes(table=matrix, weights=None, survivors=case.survivors):
        return core.fewest_mistakes(
            encoded, table, rows, case.labels, weights, rows[:0], histogram, totals, case.coordinates, survivors
        )

    with pytest.raises(ValueError, match="same rows and columns"):
        core.partition(encoded, other, rows.copy(), 0, -np.inf, 0.0)
    with pytest.raises(ValueError, match="same rows and columns"):
        mistakes(table=other)
    with pytest.raises(ValueError, match="one weight for each row"):
        mistakes(weights=np.ones(3, dtype=np.int64))
    for survivors in ([0, k], [-1, 0]):
        with pytest.raises(ValueError, match="0 to k - 1"):
            mistakes(survivors=np.array(survivors, dtype=np.int32))
    with pytest.raises(ValueError, match="columns of the table"):
        core.cheapest_tied_cut(
            encoded, matrix, rows, case.excess, case.excess[rows].sum(axis=0), None, case.coordinates,
            case.survivors, np.array([d], dtype=np.int32), np.zeros(1),
        )  # fmt: skip


@each("case", CASES)
def test_a_partition_keeps_order_and_tells_its_gap(case: Case) -> None:
    for feature, threshold, is_left in list(cuts(case, with_centers=False))[::7]:
        rows = case.rows.copy()
        n_left, gap, lower_gap = core.partition(case.encoded, case.matrix, rows, feature, -np.inf, threshold)
        np.testing.assert_array_equal(rows, np.concatenate([case.rows[is_left], case.rows[~is_left]]))
        column = case.values[case.rows, feature]
        assert (n_left, gap) == (is_left.sum(), (column[is_left].max(), column[~is_left].min()))
        assert np.isnan(lower_gap).all()


@pytest.mark.parametrize("with_histogram", [True, False])
@each("case", CASES)
def test_fewest_mistakes_are_those_of_all_cuts(case: Case, with_histogram: bool) -> None:
    cluster = np.where(np.isin(case.labels, case.survivors), case.labels, -1).astype(np.int32)
    histogram, totals = histogram_of(case, cluster, case.weights, None, 1)
    already_mistaken = case.rows[cluster[case.rows] < 0]
    least, features, thresholds = core.fewest_mistakes(
        case.encoded, case.matrix, case.rows, cluster, case.weights, already_mistaken,
        histogram if with_histogram else None, totals, case.coordinates, case.survivors, n_jobs=2,
    )  # fmt: skip

    served = cluster[case.rows] >= 0
    expected: dict[int, list[tuple[int, float]]] = {}
    for feature, threshold, is_left in cuts(case, with_centers=True):
        center_left = case.coordinates[:, feature] <= threshold
        if center_left[case.survivors].all() or not center_left[case.survivors].any():
            continue
        parted = served & (is_left != center_left[cluster[case.rows]])
        expected.setdefault(int(case.weight(case.rows)[parted].sum()), []).append((feature, threshold))
    if not expected:
        assert least == -1
        return
    assert least == min(expected)
    assert (int(features[0]), float(thresholds[0])) >= expected[least][0]  # a bin's end stands for its largest row
    assert len(features) == len(expected[least])


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
@each("case", CASES)
def test_the_cheapest_of_tied_cuts_serves_each_side_by_its_best_center(case: Case, share: float) -> None:
    rng = np.random.default_rng(int(100 * share))
    along = case.coordinates[case.survivors]
    every = [
        (feature, threshold, is_left)
        for feature, threshold, is_left in cuts(case, with_centers=True)
        if (along[:, feature] <= threshold).any() and (along[:, feature] > threshold).any()
    ]
    tied = [every[i] for i in np.flatnonzero(rng.random(len(every)) < share)] or every[:1]
    if not tied:
        return
    costs = case.excess[case.rows]
    scores = []
    for feature, threshold, is_left in tied:
        center_left = along[:, feature] <= threshold
        left, right = case.survivors[center_left], case.survivors[~center_left]
        scores.append(costs[is_left][:, left].sum(axis=0).min() + costs[~is_left][:, right].sum(axis=0).min())
    for dtype in (np.int64, np.int32):
        found = core.cheapest_tied_cut(
            case.encoded, case.matrix, case.rows, case.excess.astype(dtype), costs.sum(axis=0), None,
            case.coordinates, case.survivors, np.array([feature for feature, _, _ in tied], dtype=np.int32),
            np.array([threshold for _, threshold, _ in tied]),
        )  # fmt: skip
        assert found == np.argmin(scores)


@pytest.mark.parametrize("n_mistaken", [0, 5, 80])
@each("seed", range(8))
def test_clusters_that_no_tied_cut_divides_are_added_up_as_a_whole(seed: int, n_mistaken: int) -> None:
    rng = np.random.default_rng([5, seed, n_mistaken])
    k, d, n = 6, 4, 300
    coordinates = rng.integers(0, 4, (k, d)).astype(np.float64)
    labels = rng.integers(0, k, n).astype(np.int32)
    survivors = np.sort(rng.choice(k, int(rng.integers(2, k + 1)), replace=False)).astype(np.int32)
    rows = np.flatnonzero(np.isin(labels, survivors)).astype(np.int32)
    values = coordinates[labels] + rng.uniform(-0.2, 0.2, (n, d))
    mistaken = rng.choice(rows, min(n_mistaken, len(rows)), replace=False)
    values[mistaken] = rng.integers(0, 4, (len(mistaken), d)) + rng.uniform(-0.2, 0.2, (len(mistaken), d))
    excess = rng.integers(0, 50, (n, k))
    tied = [
        (f, x + 0.5) for f in range(d) for x in range(3) if 0 < (coordinates[survivors, f] <= x).sum() < len(survivors)
    ]
    if not tied:
        return
    scores = []
    for feature, threshold in tied:
        is_left, center_left = values[rows, feature] <= threshold, coordinates[survivors, feature] <= threshold
        sides = ((is_left, center_left), (~is_left, ~center_left))
        scores.append(sum(excess[rows[of_side]][:, survivors[own]].sum(axis=0).min() for of_side, own in sides))
    totals, features = excess[rows].sum(axis=0), np.array([feature for feature, _ in tied], dtype=np.int32)
    cuts = coordinates, survivors, features, np.array([threshold for _, threshold in tied])
    matrix = as_matrix(values)
    encoded, whole = core.encode(matrix), np.setdiff1d(rows, mistaken).astype(np.int32)
    of_clusters = core.level_costs(labels[whole], whole, excess, k)
    by_rows = core.cheapest_tied_cut(encoded, matrix, rows, excess, totals, None, *cuts)
    assert by_rows == np.argmin(scores)
    assert core.cheapest_tied_cut(encoded, matrix, np.sort(mistaken), excess, totals, of_clusters, *cuts) == by_rows


@pytest.mark.parametrize("with_histogram", [True, False])
@each("case", CASES)
def test_the_best_surrogate_cut_is_that_of_all_cuts(case: Case, with_histogram: bool) -> None:
    k = case.excess.shape[1]
    histogram = np.zeros((case.encoded.n_slots, k), dtype=np.int64) if with_histogram else None
    totals = np.zeros(k, dtype=np.int64)
    core.add_to_cost_histogram(case.encoded, case.rows, case.excess, histogram, totals)
    is_zero_cost = (~case.excess.any(axis=1)).astype(np.uint8)
    found = core.best_surrogate_cut(
        case.encoded, case.matrix, case.rows, case.excess, histogram, totals, is_zero_cost, n_jobs=2
    )
    costs = case.excess[case.rows]
    scores = [
        (int(costs[is_left].sum(axis=0).min() + costs[~is_left].sum(axis=0).min()), feature)
        for feature, _, is_left in cuts(case, with_centers=False)
    ]
    assert found is not None
    assert (found[0], found[2]) == min(scores)
    is_left = case.values[case.rows, found[2]] <= found[3]
    assert found[4] == costs[is_left].sum(axis=0).argmin()
    assert found[5] == costs[~is_left].sum(axis=0).argmin()


@pytest.mark.parametrize("with_histogram", [True, False])
@pytest.mark.parametrize("gini", [False, True])
@each("case", CASES)
def test_the_best_disagreement_cut_is_that_of_all_cuts(case: Case, gini: bool, with_histogram: bool) -> None:
    histogram, totals = histogram_of(case, case.labels, case.weights, None, 1)
    found = core.best_disagreement_cut(
        case.encoded,
        case.matrix,
        case.rows,
        case.labels,
        case.weights,
        histogram[:, :, 0] if with_histogram else None,
        totals[:, 0],
        gini,
        n_jobs=2,
    )
    k = case.excess.shape[1]
    weight = case.weight(case.rows)
    scores = []
    for feature, _, is_left in cuts(case, with_centers=False):
        disagreement, impurity = 0, 0.0
        for side in (is_left, ~is_left):
            counts = np.bincount(case.labels[case.rows][side], weights=weight[side], minlength=k)
            disagreement += int(counts.sum() - counts.max())
            impurity += counts.sum() - (counts**2).sum() / counts.sum()
        scores.append((disagreement, impurity if gini else 0.0, feature))
    assert found is not None
    best = min(scores)
    assert found[0] == best[0]
    assert found[1] == pytest.approx(best[1], rel=1e-12)
    if not gini:
        assert found[2] == best[2]


@each("case", CASES)
def test_the_best_induced_cut_is_that_of_all_cuts(case: Case) -> None:
    costs = case.excess[case.rows] + case.base[case.rows, None]
    current = int(costs[:, case.survivors].min(axis=1).sum())
    weight = case.weight(case.rows)
    n_points, every = int(weight.sum()), []
    _, content = np.unique(case.values, axis=0, return_inverse=True)  # equal numbers: equal rows
    content = content.ravel()[case.rows]
    for feature, threshold, is_left in cuts(case, with_centers=True):
        along = case.coordinates[case.survivors, feature]
        left, right = case.survivors[along <= threshold], case.survivors[along > threshold]
        if len(left) == 0 or len(right) == 0:
            continue
        induced = int(costs[is_left][:, left].min(axis=1).sum() + costs[~is_left][:, right].min(axis=1).sum())
        depth = total_depth(n_points, int(weight[is_left].sum()), len(case.survivors), len(left)) / n_points
        sides = (is_left, left), (~is_left, right)
        is_valid = all(len(np.unique(content[side])) >= len(centers) for side, centers in sides)
        every.append((induced, depth, feature, is_valid))
    valid = [cut for cut in every if cut[-1]] or every
    no_kills = np.zeros(case.values.shape[1], dtype=np.uint8)
    n, k = case.excess.shape
    for penalty, with_histogram in product((0.0, 0.5), (True, False)):
        width = 2 if penalty else 1
        histogram = np.zeros((case.encoded.n_slots, k, width), dtype=np.int64) if with_histogram else None
        totals, nearest_costs = np.zeros((k, width), dtype=np.int64), np.zeros((k, 2), dtype=np.int64)
        states = new_states(n, k, case.excess.dtype)
        core.update_two_nearest(
            case.encoded, case.excess, case.base, case.weights, [case.rows], [case.survivors], states, histogram,
            totals, nearest_costs,
        )  # fmt: skip
        found = core.best_induced_cut(
            case.encoded, case.matrix, case.rows, case.excess, states, case.weights, histogram, totals, nearest_costs,
            case.coordinates, case.survivors, penalty, no_kills, no_kills, n_jobs=2,
        )  # fmt: skip
        if not every:
            assert found is None
            continue
        assert found is not None
        best = min((induced / current + penalty * depth, induced, feature) for induced, depth, feature, _ in valid)
        assert found[:3] == best, (penalty, with_histogram)


def total_depth(points: int, left_points: int, centers: int, left_centers: int) -> int:
    """EvalWAD times the number of points, as written down: every node splits points and centers as the cut does."""

    def below(n: int, k: int, *, root: bool = False) -> int:
        if k == 1 or n == 0:
            return 0
        k_left = left_centers if root else min(max(-(-k * left_centers // centers), 1), k - 1)
        if root:
            n_left = left_points
        elif n == 1:
            n_left = int(k_left > k - k_left)
        else:
            n_left = min(max(-(-n * left_points // points), 1), n - 1)
        return n + below(n_left, k_left) + below(n - n_left, k - k_left)

    return below(points, centers, root=True)


@each("seed", range(40))
def test_cuts_divide_alike_where_they_put_the_same_rows_and_centers_together(seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    values = rng.integers(0, 3, (12, 1)).astype(np.float64)
    values = np.hstack([values, 2.0 * values, -values, values + (rng.random((12, 1)) < 0.1)])
    coordinates = values[rng.choice(12, 4)]
    coordinates[:, int(rng.integers(4))] += rng.choice([0.0, 0.0, 1.0], 4)
    rows = np.flatnonzero(rng.random(12) < 0.7).astype(np.int32)
    survivors = np.flatnonzero(rng.random(4) < 0.8).astype(np.int32) if seed % 2 else np.arange(4, dtype=np.int32)
    survivors = survivors if len(survivors) else np.arange(1, dtype=np.int32)
    features = np.sort(rng.choice(4, 2, replace=False)).astype(np.int32)
    thresholds = np.array([0.5, 1.0, -0.5, 0.5])[features]
    both = np.vstack([values[rows], coordinates[survivors]])
    one, other = (both[:, features] <= thresholds).T
    alike = core.divide_alike(
        core.encode(as_matrix(values)), as_matrix(values), rows, coordinates, survivors, features, thresholds
    )
    assert alike == bool((one == other).all() or (one != other).all())
