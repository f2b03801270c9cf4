"""Searched trees: never dearer than their starts, optimal on small cases, the same whatever the form of the rows."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from cutwise import ExplainableKMeans
from cutwise.core import grid_rows, polish, row_hashes
from cutwise.readouts.conditions import explanation_sizes
from cutwise.reference.objective import KMEANS, KMEDIANS, fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix, encode_table
from cutwise.tree.cut_tree import CutTree
from cutwise.tree.descent import descend
from cutwise.tree.growing import tree_size
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.refine import SearchCheaper, groups_by_leaf
from cutwise.tree.refine_sample import SearchProblem, bin_rows, draw_distinct, encode_sample
from tests.each import each
from tests.growth import grow_tree


def lloyd(X, k, seed, weights=None):
    """The centers of a run of k-means; every cluster has rows."""
    rng = np.random.default_rng(seed)
    weights = np.ones(len(X)) if weights is None else weights
    distinct = np.unique(X, axis=0)
    centers = distinct[rng.choice(len(distinct), k, replace=False)]
    for _ in range(20):
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        for c in np.unique(nearest):
            centers[c] = np.average(X[nearest == c], axis=0, weights=weights[nearest == c])
    return centers


def partition_cost(X, leaf, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for here in (leaf == node for node in np.unique(leaf)):
        mean = np.average(X[here], axis=0, weights=weights[here])
        total += float(weights[here] @ ((X[here] - mean) ** 2).sum(axis=1))
    return total


class Fit:
    """A search from the trees of two recipes; ``Z`` is where distances are measured."""

    def __init__(self, X, centers, *, Z=None, weights=None, effort=1.0, n_jobs=1, **options):
        table = read_table(X)
        encoded = encode_table(table, weights=weights, n_jobs=n_jobs)
        dense = np.asarray(X.todense()) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        rows = slice(None) if encoded.row_of is None else encoded.row_of
        self.X = dense[rows]
        metric = encoded.matrix if Z is None else read_table(Z[rows]).matrix
        coordinates = centers
        labels = KMEANS.assign(metric, centers)[0]
        if Z is not None:
            coordinates = KMEANS.centers(encoded.matrix, labels, len(centers), encoded.weights, 1)[0]
        costs = fixed_costs(metric, centers, weights=encoded.weights)
        self.starts = [
            grow_tree(encoded, labels, coordinates, costs, algorithm=algorithm, max_leaves=len(centers))
            for algorithm in ("exgreedy", "imm")
        ]
        points = self.X if Z is None else Z[rows]
        self.judge = lambda leaf: partition_cost(points, leaf, encoded.weights)
        search = SearchCheaper(
            encoded,
            metric,
            centers,
            labels,
            coordinates,
            lambda group, partitions: [self.judge(part[group]) for part in partitions],
            MemoryProvider(encoded),
            n_leaves=len(centers),
            effort=effort,
            n_jobs=n_jobs,
            **options,
        )
        self.grown, self.record, self.judged = search.search(self.starts)

    @property
    def tree(self):
        return self.grown.tree


def blobs(seed, n=300, d=4, k=5):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 2.0
    return centers[rng.integers(k, size=n)] + rng.normal(size=(n, d))


@each("seed", range(8))
def test_a_searched_tree_costs_no_more_than_any_start_and_has_all_its_leaves(seed):
    X = blobs(seed, n=400)
    k = 3 + seed
    fit = Fit(X, lloyd(X, k, 0))
    costs = [fit.judge(start.leaf_of_row) for start in fit.starts]
    cost = fit.judge(fit.grown.leaf_of_row)
    assert cost <= min(costs)
    assert fit.record.cost == float(f"{cost:.12g}")
    assert fit.record.start_cost == float(f"{min(costs):.12g}")
    assert np.array_equal(fit.tree.apply(X), fit.grown.leaf_of_row)
    assert fit.tree.n_leaves == k
    assert (fit.tree.n_node_samples[fit.tree.leaves] > 0).all()
    assert sorted(fit.tree.cluster[fit.tree.leaves]) == list(range(k))


@pytest.mark.parametrize(("most", "n_columns"), [(1, 1), (12, 1), (10**6, 1), (12, 2**18 // 12)])
def test_rows_of_a_group_share_a_leaf_in_every_tree_and_any_order_of_rows_gives_the_same_groups(
    most, n_columns, monkeypatch
):
    monkeypatch.setattr("cutwise.tree.refine.MOST_GROUPS", most if n_columns == 1 else 10**6)
    monkeypatch.setattr("cutwise.tree.refine.ROWS_A_GROUP", 10**6)
    rng = np.random.default_rng(most)
    leaves = [rng.integers(0, n, size=200).astype(np.int32) for n in (3, 5, 2, 1, 7)]
    order, found = rng.permutation(200), list[list[int]]()
    other_order = groups_by_leaf([leaf[order] for leaf in leaves], n_columns)
    for (group, leaf_of_group), (other, leaf_of_other) in zip(
        groups_by_leaf(leaves, n_columns), other_order, strict=True
    ):
        assert np.array_equal(group[order], other)
        assert [each.tolist() for each in leaf_of_group] == [each.tolist() for each in leaf_of_other]
        assert len(np.unique(group)) == len(leaf_of_group[0]) == len(set(zip(*leaf_of_group, strict=True)))
        assert len(leaf_of_group[0]) <= most or len(leaf_of_group) == 1
        found += [each[group].tolist() for each in leaf_of_group]
    assert found == [leaf.tolist() for leaf in leaves]


@pytest.fixture
def sampled(monkeypatch):
    """Searches by a sample, however few rows there are."""
    monkeypatch.setattr("cutwise.tree.refine_sample.WHOLE_VALUES", 0)


@pytest.mark.usefixtures("sampled")
def test_a_sample_may_mislead_and_the_result_is_still_no_worse(monkeypatch):
    monkeypatch.setattr("cutwise.tree.refine_sample.SAMPLED_ROWS", 40)
    monkeypatch.setattr("cutwise.tree.refine_sample.ROWS_A_CLUSTER", 4)
    for seed in range(6):
        X = blobs(seed, n=600, d=9)
        fit = Fit(X, lloyd(X, 6, 0))
        assert fit.judge(fit.grown.leaf_of_row) <= min(fit.judge(start.leaf_of_row) for start in fit.starts)
        assert (fit.tree.n_node_samples[fit.tree.leaves] > 0).all()


def best_tree_cost(X, n_leaves):
    """The cost of the cheapest tree, by trying all of them."""
    known = {}

    def best(rows, n):
        if (rows, n) in known:
            return known[rows, n]
        here = X[list(rows)]
        if n == 1:
            found = float(((here - here.mean(axis=0)) ** 2).sum())
        else:
            found = np.inf
            for column in range(X.shape[1]):
                for cut in np.unique(here[:, column])[:-1]:
                    left = tuple(r for r in rows if X[r, column] <= cut)
                    right = tuple(r for r in rows if X[r, column] > cut)
                    for n_left in range(max(1, n - len(right)), min(n - 1, len(left)) + 1):
                        found = min(found, best(left, n_left) + best(right, n - n_left))
        known[rows, n] = found
        return found

    return best(tuple(range(len(X))), n_leaves)


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 64), marks=pytest.mark.slow)])
def test_with_effort_small_cases_end_at_the_exhaustive_optimum(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(8, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
        X = rng.integers(0, 12, size=(n, d)) + (rng.normal(size=(n, d)) if seed % 2 else 0.0)
        k = min(k, len(np.unique(X, axis=0)))
        fit = Fit(X, lloyd(X, k, 0), effort=5.0)
        cost = fit.judge(fit.grown.leaf_of_row)
        assert cost == pytest.approx(best_tree_cost(X, k), rel=1e-9, abs=1e-9), seed


def test_the_smallest_tables_are_searched_long_enough_for_the_exhaustive_optimum():
    rng = np.random.default_rng(0)
    n, k = int(rng.integers(11, 15)), int(rng.integers(4, 7))
    X = np.unique(rng.integers(0, 12, size=(n, 3)).astype(float), axis=0)
    fit = ExplainableKMeans(k, search_effort=5, random_state=0, n_jobs=1).fit(X)
    assert fit.cost_ == pytest.approx(best_tree_cost(X, k), rel=1e-9)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize(("n_sampled", "effort"), [(100, 1.0), (100, 2.0), (4000, 1.0)])
def test_the_form_of_the_rows_does_not_show(monkeypatch, n_sampled, effort):
    # With samples in place of all rows as well.
    monkeypatch.setattr("cutwise.tree.refine_sample.SAMPLED_ROWS", n_sampled)
    monkeypatch.setattr("cutwise.tree.refine_sample.POLISHED_ROWS", 2 * n_sampled)
    monkeypatch.setattr("cutwise.tree.refine_sample.ROWS_A_CLUSTER", 10)
    rng = np.random.default_rng(3)
    X = np.round(blobs(3, n=350, d=10) * 4) / 4
    times = rng.integers(1, 4, size=len(X))
    centers = lloyd(X, 6, 0, times)
    order = rng.permutation(times.sum())
    repeated = np.repeat(X, times, axis=0)[order]
    expected = Fit(X, centers, weights=times, effort=effort).tree
    assert expected.n_leaves == 6
    shuffled = rng.permutation(len(X))
    for name, tree in {
        "another order": Fit(X[shuffled], centers, weights=times[shuffled], effort=effort).tree,
        "repeated rows": Fit(repeated, centers, effort=effort).tree,
        "float32": Fit(X.astype(np.float32), centers, weights=times, effort=effort).tree,
        "columns first": Fit(np.asfortranarray(X), centers, weights=times, effort=effort).tree,
        "three threads": Fit(X, centers, weights=times, n_jobs=3, effort=effort).tree,
    }.items():
        assert expected.equals(tree, counts=False), name


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("d", [12, 300])
def test_sparse_rows_may_be_searched(monkeypatch, d):
    for limit, value in {"SAMPLED_ROWS": 200, "ROWS_A_CLUSTER": 4, "POLISHED_ROWS": 200}.items():
        monkeypatch.setattr(f"cutwise.tree.refine_sample.{limit}", value)
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((300, d)) < 0.7, 0.0, np.round(blobs(0, n=300, d=d), 2))
    centers = lloyd(dense, 4, 0)
    fit = Fit(sparse.csr_array(dense), centers)
    assert partition_cost(dense, fit.grown.leaf_of_row) <= min(
        partition_cost(dense, start.leaf_of_row) for start in fit.starts
    )
    assert fit.tree.equals(Fit(dense, centers).tree, counts=False)


def test_rows_that_choose_thresholds_in_the_end_begin_with_those_of_the_search():
    X = sparse.csr_array(sparse.random(60, 300, 0.1, random_state=0))
    table, hashes = encode_table(read_table(X)), np.arange(60, dtype=np.uint64)[::-1].copy()
    centers = X.toarray()[:3]
    drawn = draw_distinct(hashes, 40)
    part = SearchProblem(table, table.matrix, centers, np.zeros(60, dtype=np.int32), centers).part_with([])
    some, more = part.rows(drawn.begin(20)), part.rows(drawn)
    assert more.coordinates is more.values
    assert np.array_equal(more.values[:20], some.values)
    assert np.array_equal(more.values, X.toarray()[:-41:-1, part.columns])


def test_an_offset_costs_no_quality():
    X = np.round(blobs(5, n=300) * 1024) / 1024
    plain, offset = Fit(X, lloyd(X, 6, 0)), Fit(X + 2.0**30, lloyd(X + 2.0**30, 6, 0))
    assert offset.record.cost == pytest.approx(plain.record.cost, rel=1e-6)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("n_sampled", [300, 4000])
@pytest.mark.parametrize(
    "far",
    [[[1e9] * 8], [[-1e9, *[0.0] * 7]], [[1e4] * 8] * 3, [[1e9, *[0.0] * 7], [*[0.0] * 7, -1e6]]],
    ids=["a row", "a row below", "rows less far", "two clusters"],
)
def test_clusters_far_away_leave_the_tree_of_the_others_as_it_is(monkeypatch, far, n_sampled):
    monkeypatch.setattr("cutwise.tree.refine_sample.SAMPLED_ROWS", n_sampled)
    monkeypatch.setattr("cutwise.tree.refine_sample.POLISHED_ROWS", 2 * n_sampled)
    monkeypatch.setattr("cutwise.tree.refine_sample.ROWS_A_CLUSTER", 10)
    X, far = blobs(5, n=900, d=8, k=9), np.array(far)
    centers = lloyd(X, 8, 0)
    near, fit = Fit(X, centers), Fit(np.vstack([X, far]), np.vstack([centers, np.unique(far, axis=0)]))
    assert near.record.cost < near.record.start_cost
    assert fit.record.cost == pytest.approx(near.record.cost, rel=1e-9)
    leaf = fit.grown.leaf_of_row[: len(X)]
    assert all(len(np.unique(leaf[near.grown.leaf_of_row == each])) == 1 for each in near.tree.leaves)


def test_groups_of_clusters_far_apart_are_searched_apart():
    parts = [np.round(blobs(seed, n=400, d=4, k=6) * 1024) / 1024 for seed in (5, 6, 7)]
    centers = [lloyd(X, 5, 0) for X in parts]
    apart = [Fit(*part) for part in zip(parts, centers, strict=True)]
    assert all(fit.record.cost < fit.record.start_cost for fit in apart)
    moved = ([each + i * 2.0**28 for i, each in enumerate(part)] for part in (parts, centers))
    fit = Fit(*map(np.vstack, moved))
    assert fit.record.cost <= (1 + 1e-6) * sum(each.record.cost for each in apart)


def test_distances_may_be_measured_elsewhere():
    X = blobs(7, n=300)
    Z = np.column_stack([X @ np.array([1.0, 2.0, 0.0, -1.0]), np.exp(X[:, 0] / 4), X[:, 1:]])
    fit = Fit(X, lloyd(Z, 5, 0), Z=Z)
    assert partition_cost(Z, fit.grown.leaf_of_row) < min(partition_cost(Z, s.leaf_of_row) for s in fit.starts)


def test_a_price_of_size_gives_shorter_rules_and_a_bound_is_kept():
    X = blobs(11, n=500, d=6)
    centers = lloyd(X, 8, 0)
    free, dear = Fit(X, centers), Fit(X, centers, size_penalty=0.3)
    judgement = {fit: next(j.judgement for j in fit.judged if j.grown.tree is fit.tree) for fit in (free, dear)}
    assert judgement[dear].wad < judgement[free].wad
    assert judgement[free].cost <= judgement[dear].cost
    assert judgement[free].waes == pytest.approx(explanation_sizes(free.tree)[_leaf_numbers(free)].mean())
    assert judgement[free].wad == pytest.approx(free.tree.node_depth[free.grown.leaf_of_row].mean())
    # The sizes of a start can be kept.
    start = free.judged[0].judgement
    bounded = Fit(X, centers, max_size=(start.waes, start.wad))
    kept = next(j.judgement for j in bounded.judged if j.grown.tree is bounded.tree)
    assert kept.waes <= start.waes
    assert kept.wad <= start.wad
    assert kept.cost <= start.cost
    # These cannot: the tree that comes closest is taken.
    shortest = Fit(X, centers, max_size=(1.0, 1.0))
    sizes = [j.judgement.waes + j.judgement.wad for j in shortest.judged]
    assert min(sizes) == next(sum(j.judgement[1:]) for j in shortest.judged if j.grown.tree is shortest.tree)


@pytest.mark.parametrize("seed", range(6))
def test_thresholds_are_the_best_within_the_bounds_of_size(seed):
    rng = np.random.default_rng(seed)
    X = np.round(blobs(seed, n=90, d=2), 1)
    tree = Fit(X, lloyd(X, 6, 0)).starts[0].tree
    column, right = tree.feature, tree.children_right
    start = np.where(column < 0, np.nan, tree.threshold + rng.normal(size=len(column)) * 0.3)

    def measured(thresholds):
        leaf = np.zeros(len(X), dtype=np.int32)
        for node in np.flatnonzero(column >= 0):  # in preorder
            here = leaf == node
            leaf[here] = np.where(X[here, column[node]] <= thresholds[node], node + 1, right[node])
        if len(np.unique(leaf)) < tree.n_leaves:
            return np.inf, np.inf, np.inf
        return partition_cost(X, leaf), *tree_size(column, right, leaf, None)

    cost, *free = measured(start)
    if not np.isfinite(cost):
        pytest.skip("a leaf without rows")

    def chosen(price):
        reach, scale, weights = float(np.abs(X).max()) + 1.0, 2.0**30, np.ones(len(X), dtype=np.int64)
        size_price, size_free = (price * scale**2,) * 2, (free[0] * len(X), free[1] * len(X))
        rows = grid_rows(X, weights, np.zeros(2), reach, scale, False, None)
        return polish(X, rows, (column, start, right), None, None, 1.0, (size_price, size_free))

    thresholds = chosen(1e4)
    found, *size = measured(thresholds)
    assert found <= cost * (1 + 1e-9)
    assert np.all(np.array(size) <= np.array(free) + 1e-9)
    assert measured(chosen(0.0))[0] <= found * (1 + 1e-9)
    for node in np.flatnonzero(column >= 0):
        for value in np.unique(X[:, column[node]]):
            other, *longer = measured(np.where(np.arange(len(column)) == node, value, thresholds))
            assert other >= found * (1 - 1e-6) or np.any(np.array(longer) > np.array(free) + 1e-9)


def _leaf_numbers(fit):
    return np.searchsorted(fit.tree.leaves, fit.grown.leaf_of_row)


def test_many_columns_are_searched_where_the_centers_differ(monkeypatch):
    monkeypatch.setattr("cutwise.tree.refine_sample.MOST_COLUMNS", 8)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 20)) * 0.1, blobs(2, n=400, d=6)])
    fit = Fit(X, lloyd(X, 5, 0))
    assert fit.judge(fit.grown.leaf_of_row) <= min(fit.judge(start.leaf_of_row) for start in fit.starts)
    assert np.array_equal(fit.tree.apply(X), fit.grown.leaf_of_row)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_more_effort_measures_all_trees_of_the_default_and_of_less_and_so_costs_no_more(monkeypatch, seed):
    # Few rows in the sample, which misleads: what is cheaper there need not be cheaper in all rows.
    sizes = {"SAMPLED_ROWS": 80, "ROWS_A_CLUSTER": 1, "POLISHED_ROWS": 120}
    for name, rows in sizes.items():
        monkeypatch.setattr(f"cutwise.tree.refine_sample.{name}", rows)
    monkeypatch.setattr("cutwise.tree.refine_sample.GROWN_ROWS", 60)
    monkeypatch.setattr("cutwise.tree.refine_sample.GROWN_ROWS_A_CLUSTER", 1)
    if seed % 2:  # leaves are moved until that takes long
        monkeypatch.setattr("cutwise.tree.refine_sample.MOST_WORK", 400_000)
    X = blobs(seed, n=600, d=5, k=9)
    centers = lloyd(X, 9, seed)
    fits = [Fit(X, centers, effort=effort) for effort in (0.1, 0.5, 1.0, 1.5, 2.0, 2.3, 4.0)]
    for less, more in [*itertools.pairwise(fits[:3]), *((fits[2], more) for more in fits[3:])]:
        assert {tree.judgement for tree in less.judged} <= {tree.judgement for tree in more.judged}
        assert more.record.cost <= less.record.cost
    assert len(fits[-1].judged) > len(fits[0].judged)


def test_more_effort_than_the_default_goes_on_by_more_rows(monkeypatch):
    looked_at = []

    def seen(problem, part, rows, *others, **how):
        looked_at.append(len(rows.weights))
        return encode_sample(problem, part, rows, *others, **how)

    monkeypatch.setattr("cutwise.tree.refine.encode_sample", seen)
    X = blobs(0, n=30_000, d=3)
    centers = lloyd(X[:500], 5, 0)
    less, more = Fit(X, centers), Fit(X, centers, effort=2.0)
    assert looked_at == [4_000, 4_000, 24_000]
    assert more.record.cost <= less.record.cost
    assert more.record.n_starts > less.record.n_starts


@pytest.mark.parametrize("seed", [0, 2])
def test_a_search_that_is_stopped_gives_a_tree_and_more_effort_goes_on_from_there(monkeypatch, seed):
    X = blobs(seed, n=500, d=8)
    centers = lloyd(X, 9, 0)
    free = Fit(X, centers)
    monkeypatch.setattr("cutwise.tree.refine_sample.MOST_WORK", 1)
    stopped, more = Fit(X, centers), Fit(X, centers, effort=2.0)
    assert len(stopped.record.path) < len(free.record.path)
    assert more.record.cost < stopped.record.cost <= stopped.record.start_cost
    assert stopped.tree.n_leaves == more.tree.n_leaves == 9


def test_a_search_goes_on_further_below_a_number_of_rows(monkeypatch):
    X, n_starts = blobs(1, n=300), []
    for few in (1, 300, 301):
        monkeypatch.setattr("cutwise.tree.refine_sample.FEW_ROWS", few)
        n_starts.append(Fit(X, lloyd(X, 5, 0)).record.n_starts)
    assert n_starts[0] == n_starts[1] < n_starts[2]


@pytest.mark.parametrize("bound", ["MANY_ROWS", "MANY_LEAVES", "MANY_VALUES"])
def test_from_many_rows_leaves_or_values_on_the_search_starts_from_the_given_trees_alone(monkeypatch, bound):
    X = blobs(1, n=300)
    centers = lloyd(X, 5, 0)
    assert Fit(X, centers).record.n_starts > 2
    monkeypatch.setattr(f"cutwise.tree.refine_sample.{bound}", 1)
    monkeypatch.setattr("cutwise.tree.refine_sample.FEW_ROWS", 1)
    record = Fit(X, centers).record
    assert record.n_starts == 2
    assert record.cost < record.start_cost
    monkeypatch.setattr("cutwise.tree.refine_sample.LARGE_VALUES", -1e9)  # trees take longer to grow than to search
    assert Fit(X, centers).record.n_starts > 2


@each("seed", range(5))
def test_every_cluster_has_a_row_among_those_that_are_searched(monkeypatch, seed):
    looked_at = []
    for name, rows in {"SAMPLED_ROWS": 60, "ROWS_A_CLUSTER": 1, "POLISHED_ROWS": 700, "FEW_ROWS": 1}.items():
        monkeypatch.setattr(f"cutwise.tree.refine_sample.{name}", rows)

    def seen(problem, part, rows, *others, **how):
        looked_at.append(rows.values)
        return encode_sample(problem, part, rows, *others, **how)

    monkeypatch.setattr("cutwise.tree.refine.encode_sample", seen)
    X = np.concatenate([blobs(seed, n=600), blobs(seed, n=2) + 9.0])
    centers = np.concatenate([lloyd(X[:600], 5, 0), X[600:].mean(axis=0, keepdims=True)])
    assert Fit(X, centers).tree.n_leaves == 6
    assert len(looked_at[0]) == 60
    assert set(KMEANS.assign(as_matrix(looked_at[0]), centers)[0]) == set(range(6))


def test_the_sums_by_leaf_and_bin_of_wide_tables_are_of_fewer_bins(monkeypatch):
    X = blobs(0, n=300, d=30)
    fits = []
    for n_bytes in (2**23, 2**19, 1):
        monkeypatch.setattr("cutwise.tree.refine_sample.TABLE_BYTES", n_bytes)
        monkeypatch.setattr("cutwise.tree.refine_sample.bin_rows", lambda *a: fits.append(a[3]) or bin_rows(*a))
        fit = Fit(X, lloyd(X, 5, 0))
        assert fit.record.cost <= fit.record.start_cost
    assert fits == [96, 2**19 // (8 * 12 * 30 * 5), 16]


def test_starts_may_have_leaves_without_rows_and_clusters_without_a_leaf():
    # The third center owns no row: IMM separates it all the same, and its leaf is empty.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [6.0, 0.0], [6.0, 1.0], [7.0, 0.0], [7.0, 1.0]])
    fit = Fit(X, np.array([[0.3, 0.3], [6.5, 0.5], [30.0, 0.5]]))
    assert any((start.tree.n_node_samples[start.tree.leaves] == 0).any() for start in fit.starts)
    assert fit.tree.n_leaves == 3
    assert (fit.tree.n_node_samples[fit.tree.leaves] > 0).all()
    for judged in fit.judged:
        assert len(np.unique(judged.grown.tree.cluster[judged.grown.tree.leaves])) == judged.grown.tree.n_leaves


def leaves_of(X, column, threshold, right, node=0):
    """The leaf of every row, of a tree in preorder."""
    if column[node] < 0:
        return np.full(len(X), node)
    below = [leaves_of(X, column, threshold, right, child) for child in (node + 1, right[node])]
    return np.where(X[:, column[node]] <= threshold[node], *below)


@pytest.mark.parametrize("objective", [KMEANS, KMEDIANS], ids=lambda objective: objective.name)
@pytest.mark.parametrize("n_leaves", [5, 9])
@each("seed", range(2))
def test_a_descent_lowers_the_cost_until_no_cut_lowers_it_for_the_centers_as_they_are(objective, n_leaves, seed):
    X, k = np.round(blobs(seed, n=200, d=3), 1), 5
    centers, matrix, each = lloyd(X, k, seed), as_matrix(X), np.arange(200)
    table = encode_table(read_table(X))
    labels, costs = KMEANS.assign(table.matrix, centers)[0], fixed_costs(table.matrix, centers)
    start = grow_tree(table, labels, centers, costs, algorithm="imm", max_leaves=n_leaves).tree
    tests = CutTree(start.feature, start.threshold, start.children_right)
    problem = SearchProblem(table, table.matrix, centers, labels, centers, objective=objective)
    rows = problem.part_with([tests]).rows(draw_distinct(row_hashes(table.matrix, 1), 200))
    given = None if n_leaves == k else start.cluster
    (column, threshold, right), cluster = descend(problem, rows, [tests], [given])

    def costs_by_cluster(labels):
        return objective.costs(matrix, objective.centers(matrix, labels, k, None, 1)[0])

    before = start.cluster[leaves_of(X, *tests)]
    labels = cluster[leaves_of(X, column, threshold, right)]
    every = costs_by_cluster(labels)
    own = every[each, labels].sum()
    assert own < costs_by_cluster(before)[each, before].sum()
    assert len(np.unique(labels)) == k
    assert np.count_nonzero(column < 0) == n_leaves
    for node, feature in itertools.product(np.flatnonzero(column >= 0), range(3)):
        for cut in np.unique(X[:, feature])[:-1]:
            other = column.copy(), threshold.copy(), right
            other[0][node], other[1][node] = feature, cut
            leaf = leaves_of(X, *other)
            if len(np.unique(leaf)) == n_leaves:
                assert every[each, cluster[leaf]].sum() >= own * (1 - 1e-6)
