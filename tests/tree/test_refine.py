"""Searched trees: never dearer than their starts, optimal on small cases, the same whatever the form of the rows."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from cutwise.readouts.conditions import explanation_sizes
from cutwise.reference.objective import KMEANS, fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.recipes import grow_tree
from cutwise.tree.refine import Effort, SearchCheaper


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

    def __init__(self, X, runs, *, Z=None, weights=None, effort=1.0, n_jobs=1, **options):
        table = read_table(X)
        encoded = encode_table(table, weights=weights, n_jobs=n_jobs)
        dense = np.asarray(X.todense()) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        rows = slice(None) if encoded.row_of is None else encoded.row_of
        self.X = dense[rows]
        metric = encoded.matrix if Z is None else read_table(Z[rows]).matrix
        coordinates = runs[0]
        labels = KMEANS.assign(metric, runs[0])[0]
        if Z is not None:
            coordinates = KMEANS.centers(encoded.matrix, labels, len(runs[0]), encoded.weights, 1)[0]
        costs = fixed_costs(metric, runs[0], weights=encoded.weights)
        self.starts = [
            grow_tree(encoded, labels, coordinates, costs, algorithm=algorithm, max_leaves=len(runs[0]))
            for algorithm in ("exgreedy", "imm")
        ]
        points = self.X if Z is None else Z[rows]
        self.judge = lambda leaf: partition_cost(points, leaf, encoded.weights)
        search = SearchCheaper(
            encoded,
            metric,
            runs,
            labels,
            coordinates,
            self.judge,
            n_leaves=len(runs[0]),
            effort=Effort.of(effort),
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


def runs_of(X, k, n_runs=4, weights=None):
    return [lloyd(X, k, seed, weights) for seed in range(n_runs)]


@pytest.mark.parametrize("seed", range(8))
def test_a_searched_tree_costs_no_more_than_any_start_and_has_all_its_leaves(seed):
    X = blobs(seed, n=400)
    k = 3 + seed
    fit = Fit(X, runs_of(X, k))
    costs = [fit.judge(start.leaf_of_row) for start in fit.starts]
    cost = fit.judge(fit.grown.leaf_of_row)
    assert cost <= min(costs)
    assert fit.record.cost == cost
    assert fit.record.start_cost == min(costs)
    assert np.array_equal(fit.tree.apply(X), fit.grown.leaf_of_row)
    assert fit.tree.n_leaves == k
    assert (fit.tree.n_node_samples[fit.tree.leaves] > 0).all()
    assert sorted(fit.tree.cluster[fit.tree.leaves]) == list(range(k))


def test_a_sample_may_mislead_and_the_result_is_still_no_worse(monkeypatch):
    monkeypatch.setattr("cutwise.tree.refine.SAMPLED_ROWS", 40)
    monkeypatch.setattr("cutwise.tree.refine.ROWS_A_CLUSTER", 4)
    for seed in range(6):
        X = blobs(seed, n=600, d=9)
        fit = Fit(X, runs_of(X, 6))
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


@pytest.mark.parametrize("seed", range(32))
def test_with_effort_small_cases_end_at_the_exhaustive_optimum(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(8, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X = rng.integers(0, 12, size=(n, d)) + (rng.normal(size=(n, d)) if seed % 2 else 0.0)
    k = min(k, len(np.unique(X, axis=0)))
    fit = Fit(X, runs_of(X.astype(float), k), effort=5.0)
    assert fit.judge(fit.grown.leaf_of_row) == pytest.approx(best_tree_cost(X.astype(float), k), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_sampled", [100, 4000])
def test_the_form_of_the_rows_does_not_show(monkeypatch, n_sampled):
    # With samples in place of all rows as well.
    monkeypatch.setattr("cutwise.tree.refine.SAMPLED_ROWS", n_sampled)
    monkeypatch.setattr("cutwise.tree.refine.POLISHED_ROWS", 2 * n_sampled)
    monkeypatch.setattr("cutwise.tree.refine.ROWS_A_CLUSTER", 10)
    rng = np.random.default_rng(3)
    X = np.round(blobs(3, n=350, d=10) * 4) / 4
    times = rng.integers(1, 4, size=len(X))
    runs = runs_of(X, 6, weights=times)
    order = rng.permutation(times.sum())
    repeated = np.repeat(X, times, axis=0)[order]
    expected = Fit(X, runs, weights=times).tree
    assert expected.n_leaves == 6
    shuffled = rng.permutation(len(X))
    for name, tree in {
        "another order": Fit(X[shuffled], runs, weights=times[shuffled]).tree,
        "repeated rows": Fit(repeated, runs).tree,
        "float32": Fit(X.astype(np.float32), runs, weights=times).tree,
        "columns first": Fit(np.asfortranarray(X), runs, weights=times).tree,
        "three threads": Fit(X, runs, weights=times, n_jobs=3).tree,
    }.items():
        assert expected.equals(tree, counts=False), name


def test_sparse_rows_may_be_searched():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((300, 12)) < 0.7, 0.0, np.round(blobs(0, n=300, d=12), 2))
    runs = runs_of(dense, 4)
    fit = Fit(sparse.csr_array(dense), runs)
    assert partition_cost(dense, fit.grown.leaf_of_row) <= min(
        partition_cost(dense, start.leaf_of_row) for start in fit.starts
    )
    assert fit.tree.equals(Fit(dense, runs).tree, counts=False)


def test_offsets_and_a_far_row_cost_no_quality():
    X = np.round(blobs(5, n=300) * 1024) / 1024
    k = 6
    plain = Fit(X, runs_of(X, k))
    excess = plain.record.cost
    offset = Fit(X + 2.0**30, runs_of(X + 2.0**30, k))
    assert offset.record.cost == pytest.approx(excess, rel=1e-6)
    # The far row is a cluster of its own; the others are clustered as they are without it.
    far = np.vstack([X, np.full(X.shape[1], 1e9)])
    runs = [np.vstack([centers, far[-1:]]) for centers in runs_of(X, k)]
    fit = Fit(far, runs)
    assert fit.record.cost <= excess * 1.01


def test_distances_may_be_measured_elsewhere():
    X = blobs(7, n=300)
    Z = np.column_stack([X @ np.array([1.0, 2.0, 0.0, -1.0]), np.exp(X[:, 0] / 4), X[:, 1:]])
    fit = Fit(X, runs_of(Z, 5), Z=Z)
    assert partition_cost(Z, fit.grown.leaf_of_row) < min(partition_cost(Z, s.leaf_of_row) for s in fit.starts)


def test_a_price_of_size_gives_shorter_rules_and_a_bound_is_kept():
    X = blobs(11, n=500, d=6)
    runs = runs_of(X, 8)
    free, dear = Fit(X, runs), Fit(X, runs, size_penalty=0.3)
    judgement = {fit: next(j.judgement for j in fit.judged if j.grown.tree is fit.tree) for fit in (free, dear)}
    assert judgement[dear].wad < judgement[free].wad
    assert judgement[free].cost <= judgement[dear].cost
    assert judgement[free].waes == pytest.approx(explanation_sizes(free.tree)[_leaf_numbers(free)].mean())
    assert judgement[free].wad == pytest.approx(free.tree.node_depth[free.grown.leaf_of_row].mean())
    # The sizes of a start can be kept.
    start = free.judged[0].judgement
    bounded = Fit(X, runs, max_size=(start.waes, start.wad))
    kept = next(j.judgement for j in bounded.judged if j.grown.tree is bounded.tree)
    assert kept.waes <= start.waes
    assert kept.wad <= start.wad
    assert kept.cost <= start.cost
    # These cannot: the tree that comes closest is taken.
    shortest = Fit(X, runs, max_size=(1.0, 1.0))
    sizes = [j.judgement.waes + j.judgement.wad for j in shortest.judged]
    assert min(sizes) == next(sum(j.judgement[1:]) for j in shortest.judged if j.grown.tree is shortest.tree)


def _leaf_numbers(fit):
    return np.searchsorted(fit.tree.leaves, fit.grown.leaf_of_row)


def test_many_columns_are_searched_where_the_centers_differ(monkeypatch):
    monkeypatch.setattr("cutwise.tree.refine_sample.MOST_COLUMNS", 8)
    monkeypatch.setattr("cutwise.tree.refine.MOST_COLUMNS", 8)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 20)) * 0.1, blobs(2, n=400, d=6)])
    fit = Fit(X, runs_of(X, 5))
    assert fit.judge(fit.grown.leaf_of_row) <= min(fit.judge(start.leaf_of_row) for start in fit.starts)
    assert np.array_equal(fit.tree.apply(X), fit.grown.leaf_of_row)


def test_effort_grows_with_its_number():
    efforts = [Effort.of(e) for e in (0.1, 0.3, 0.6, 1.0, 3.0)]
    for less, more in itertools.pairwise(efforts):
        assert (less.n_starts, less.n_swapped, less.repeated) < (more.n_starts, more.n_swapped, more.repeated) or (
            less.n_starts <= more.n_starts and less.n_swapped <= more.n_swapped and less.repeated < more.repeated
        )


def test_starts_may_have_leaves_without_rows_and_clusters_without_a_leaf():
    # The third center owns no row: IMM separates it all the same, and its leaf is empty.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [6.0, 0.0], [6.0, 1.0], [7.0, 0.0], [7.0, 1.0]])
    fit = Fit(X, [np.array([[0.3, 0.3], [6.5, 0.5], [30.0, 0.5]])])
    assert any((start.tree.n_node_samples[start.tree.leaves] == 0).any() for start in fit.starts)
    assert fit.tree.n_leaves == 3
    assert (fit.tree.n_node_samples[fit.tree.leaves] > 0).all()
    for judged in fit.judged:
        assert len(np.unique(judged.grown.tree.cluster[judged.grown.tree.leaves])) == judged.grown.tree.n_leaves
