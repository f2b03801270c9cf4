"""Criteria know rows through their provider alone: one that passes over batches grows the trees of one in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from cutwise.reference.objective import fixed_costs, fixed_costs_from_array
from cutwise.table.intake import read_table
from cutwise.table.table import ColumnKind, encode_table
from cutwise.tree.criteria.cliques import FewestPairs
from cutwise.tree.criteria.disagreement import FewestDisagree
from cutwise.tree.criteria.induced import LeastInduced
from cutwise.tree.criteria.mistakes import CheapestTie, FewestByModes, FewestMistakes
from cutwise.tree.criteria.surrogate import CheapestCut
from cutwise.tree.provider import CostPayload, GrowthProblem, GrowthSpec, LeafCut, NodeSums, SeparatingCut
from cutwise.tree.recipes import RECIPES, grow
from cutwise.tree.threshold_tree import NodeTest
from tests.each import each
from tests.growth import grow_tree
from tests.oracle.scores import total_depth


@dataclass
class Batch:
    """Some rows, and nothing of where they are in a tree: every pass routes them anew."""

    values: np.ndarray
    labels: np.ndarray
    excess: np.ndarray
    base: np.ndarray
    weights: np.ndarray
    copies: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> Batch:
        return Batch(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass
class Batches:
    """A provider of rows in batches: of their order and places it keeps nothing, only the cuts that were made."""

    batches: list[Batch]
    integer_columns: np.ndarray
    cuts: dict[int, tuple[NodeTest, int]] = field(default_factory=dict)
    gap_of: dict[int, tuple[float, float]] = field(default_factory=dict)
    searched: None = None

    @property
    def n_columns(self) -> int:
        return self.batches[0].values.shape[1]

    def kind(self, column: int) -> ColumnKind:
        return ColumnKind("integer" if self.integer_columns[column] else "number")

    def values(self, node: int, column: int) -> Any:
        raise NotImplementedError

    def node_of(self, batch: Batch) -> np.ndarray:
        node = np.zeros(len(batch.values), dtype=int)
        for cut, (test, left) in self.cuts.items():  # parents were cut before their children
            x = batch.values[:, test.feature]
            inside = (x > test.lower) & (x <= test.threshold)
            node = np.where(node == cut, np.where(inside, left, left + 1), node)
        return node

    def passed(self, node: int) -> Iterator[Batch]:
        for batch in self.batches:
            yield batch[np.flatnonzero(self.node_of(batch) == node)]

    def size(self, node: int) -> int:
        return sum(len(batch.values) for batch in self.passed(node))

    def n_samples(self, node: int) -> int:
        return sum(int(batch.copies.sum()) for batch in self.passed(node))

    def sums(self, node: int, payload: Any) -> NodeSums:
        return NodeSums(self.totals(node, payload), None)

    def totals(self, node: int, payload: Any) -> np.ndarray:
        return sum(_added(payload, batch).sum(axis=0) for batch in self.passed(node))

    def follow(self, separation: Any, node: Any, children: Sequence[Any]) -> None:
        """Survivors come with every question."""

    def partition(self, node: int, test: NodeTest) -> None:
        assert not test.is_interval
        left, right = -np.inf, np.inf
        for batch in self.passed(node):
            x = batch.values[:, test.feature]
            left = max(left, x[x <= test.threshold].max(initial=-np.inf))
            right = min(right, x[x > test.threshold].min(initial=np.inf))
        self.cuts[node] = (test, 2 * len(self.cuts) + 1)
        self.gap_of[node] = (left, right)

    def gaps(self, node: int) -> tuple[tuple[float, float], tuple[float, float]]:
        return self.gap_of[node], (np.nan, np.nan)

    def number_of_row(self, numbers: Mapping[int, int]) -> np.ndarray:
        nodes = np.concatenate([self.node_of(batch) for batch in self.batches])
        return np.array([numbers[node] for node in nodes.tolist()], dtype=np.int32)

    def search(self, node: int, search: Any) -> Any:
        return _ANSWERS[type(search)](self, node, search)

    def tallies(self, node: int, add: Any, more: np.ndarray | None = None) -> Iterator[tuple[int, Any, Any]]:
        """By column: the distinct values of a node (those of ``more`` among them), and what rows up to each add."""
        for column in range(self.n_columns):
            by_value: dict[float, Any] = {}
            for batch in self.passed(node):
                for x, row in zip(batch.values[:, column].tolist(), add(batch, column), strict=True):
                    by_value[x] = by_value.get(x, 0) + row.astype(object)
            width = len(next(iter(by_value.values()))) if by_value else 2
            for x in [] if more is None else more[:, column].tolist():
                by_value.setdefault(x, np.zeros(width, dtype=object))
            values = sorted(by_value)
            yield column, values, np.cumsum([by_value[x] for x in values], axis=0)

    def leaf_rows(self, tree, leaf_of_row):
        """Nobody asks."""


def _added(payload: Any, batch: Batch) -> np.ndarray:
    if isinstance(payload, CostPayload):
        return batch.excess.astype(np.int64)
    return np.eye(payload.k, dtype=np.int64)[batch.labels] * batch.weights[:, None]


def _cheapest(batches: Batches, node: int, search: CheapestCut) -> LeafCut | None:
    best, total = None, search.sums.totals.astype(object)
    for column, values, upto in batches.tallies(node, lambda batch, _: batch.excess):
        for x, left in zip(values[:-1], upto[:-1], strict=True):
            cost = left.min() + (total - left).min()
            if best is None or cost < best.cost:
                best = LeafCut(NodeTest(column, x), cost, 0.0, int(left.argmin()), int((total - left).argmin()))
    return best


def _fewest_disagree(batches: Batches, node: int, search: FewestDisagree) -> LeafCut | None:
    best, total = None, search.sums.totals.astype(object)

    def rows(batch: Batch, _: int) -> np.ndarray:
        return np.eye(len(total), dtype=int)[batch.labels] * batch.weights[:, None]

    def impurity(side: np.ndarray) -> float:
        return float(side.sum()) - float((side * side).sum()) / float(side.sum())

    for column, values, upto in batches.tallies(node, rows):
        for x, left in zip(values[:-1], upto[:-1], strict=True):
            right = total - left
            cost, second = left.sum() - left.max() + right.sum() - right.max(), 0.0
            if search.gini_alone:
                cost = int(impurity(left) * 2**30) + int(impurity(right) * 2**30)
            elif search.gini:
                second = impurity(left) + impurity(right)
            if best is None or (cost, second) < (best.cost, best.impurity):
                best = LeafCut(NodeTest(column, x), cost, second, int(left.argmax()), int(right.argmax()))
    return best


def _fewest_pairs(batches: Batches, node: int, search: FewestPairs) -> list[tuple[Any, ...]]:
    found = []

    def rows(batch: Batch, _: int) -> np.ndarray:
        return np.eye(len(search.sizes), dtype=int)[batch.labels] * batch.weights[:, None]

    for column, values, upto in batches.tallies(node, rows):
        for x, left in zip(values[:-1], upto[:-1], strict=True):
            sides = [left, upto[-1] - left]
            edges = [int((n * f).sum()) for n in sides for f in (search.sizes - n, search.sizes - 1)]
            found.append((*edges, column, x, int(sides[0].argmax()), int(sides[1].argmax())))
    return found


def _centers_apart(values: list[float], centers: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    for x in values:
        goes_left = centers <= x
        if goes_left.any() and not goes_left.all():
            yield x, goes_left


def _fewest_mistakes(batches: Batches, node: int, search: FewestMistakes) -> tuple[int, np.ndarray, np.ndarray]:
    coordinates, survivors = search.mistakes.coordinates, search.node.survivors
    fewest, tied = -1, []
    for column, values, _ in batches.tallies(node, lambda batch, _: batch.excess, coordinates[survivors]):
        for x, _ in _centers_apart(values, coordinates[survivors, column]):
            mistakes = 0
            for batch in batches.passed(node):
                own = coordinates[batch.labels, column] <= x
                parted = np.isin(batch.labels, survivors) & (own != (batch.values[:, column] <= x))
                mistakes += int(batch.weights[parted].sum())
            if fewest < 0 or mistakes < fewest:
                fewest, tied = mistakes, []
            if mistakes == fewest:
                tied.append((column, x))
    return fewest, np.array([c for c, _ in tied], dtype=np.int32), np.array([x for _, x in tied])


def _cheapest_tie(batches: Batches, node: int, search: CheapestTie) -> int:
    survivors, costs = search.node.survivors, []
    total = sum(batch.excess.sum(axis=0, dtype=np.int64) for batch in batches.passed(node)).astype(object)
    for column, x in zip(search.features.tolist(), search.thresholds.tolist(), strict=True):
        left = sum(
            batch.excess[batch.values[:, column] <= x].sum(axis=0, dtype=np.int64) for batch in batches.passed(node)
        ).astype(object)
        goes_left = search.mistakes.coordinates[survivors, column] <= x
        costs.append(left[survivors[goes_left]].min() + (total - left)[survivors[~goes_left]].min())
    return costs.index(min(costs))


def _least_induced(batches: Batches, node: int, search: LeastInduced) -> SeparatingCut | None:
    survivors, coordinates = search.node.survivors, search.nearest.coordinates[search.node.survivors]
    rows = [batch for batch in batches.passed(node) if len(batch.values)]
    n = sum(int(batch.weights.sum()) for batch in rows)

    def full(batch: Batch, goes: np.ndarray) -> Any:
        return (batch.excess[:, survivors[goes]].min(axis=1).astype(object) + batch.base.astype(object)).sum()

    everywhere = np.ones(len(survivors), dtype=bool)
    current = sum(full(batch, everywhere) for batch in rows)
    found: list[tuple[bool, float, int, int, float]] = []
    for column, values, _ in batches.tallies(node, lambda batch, _: batch.excess, coordinates):
        for x, goes_left in _centers_apart(values, coordinates[:, column]):
            cost, n_left, distinct = 0, 0, ([], [])
            for batch in rows:
                is_left = batch.values[:, column] <= x
                for side, goes, content in zip((is_left, ~is_left), (goes_left, ~goes_left), distinct, strict=True):
                    cost += full(batch[np.flatnonzero(side)], goes)
                    content.append(batch.values[side])
                n_left += int(batch.weights[is_left].sum())
            k_left = int(goes_left.sum())
            sizes = [len(np.unique(np.concatenate(content), axis=0)) if content else 0 for content in distinct]
            short = sizes[0] < k_left or sizes[1] < len(survivors) - k_left
            score = (1.0 if cost == 0 else np.inf) if current == 0 else float(cost) / float(current)
            if search.nearest.depth_penalty and n:
                depth = total_depth(n, len(survivors), n_left, k_left)
                depth -= int(search.kills_left[column]) * n_left + int(search.kills_right[column]) * (n - n_left)
                score += search.nearest.depth_penalty * (float(depth) / float(n))
            found.append((short, score, cost, column, x))
    return SeparatingCut.at(*min(found)[3:], search.nearest.coordinates, survivors) if found else None


_ANSWERS = {
    CheapestCut: _cheapest,
    FewestDisagree: _fewest_disagree,
    FewestPairs: _fewest_pairs,
    FewestMistakes: _fewest_mistakes,
    FewestByModes: lambda batches, node, search: search.cut,  # there are no categories
    CheapestTie: _cheapest_tie,
    LeastInduced: _least_induced,
}


@each("seed", range(6))
@pytest.mark.parametrize(
    "algorithm",
    [name for name, recipe in RECIPES.items() if name != "kernel_imm" and (recipe.base or recipe.expansion)],
)
def test_batches_grow_the_tree_of_memory_bit_for_bit(algorithm, seed):
    rng = np.random.default_rng(seed)
    k, d, n = int(rng.integers(2, 6)), int(rng.integers(1, 4)), 50
    X = [rng.integers(0, 6, (n, d)), rng.normal(size=(n, d)), rng.integers(0, 3, (n, d)) / 2][seed % 3]
    centers = X[rng.choice(n, k, replace=False)] + rng.choice([0.0, 0.25, 1.0], (k, d))
    rows = encode_table(read_table(X), weights=rng.integers(1, 4, n) if seed % 2 else None)
    values = X if rows.row_of is None else X[rows.row_of]
    labels = ((values[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)
    costs = fixed_costs(rows.matrix, centers, weights=rows.weights)
    options = {"algorithm": algorithm, "max_leaves": 2 * k, "expansion": "expand" if seed % 2 else "exkmc"}
    in_memory = grow_tree(rows, labels, centers, costs, depth_penalty=0.1, gini=True, **options)

    ones = np.ones(rows.n_rows, dtype=np.int64)
    everything = Batch(
        np.asarray(values, dtype=np.float64),
        labels,
        costs.excess,
        costs.base,
        ones if rows.weights is None else rows.weights,
        ones if rows.copies is None else rows.copies,
    )
    parts = np.array_split(np.arange(rows.n_rows), rng.integers(1, 5))
    provider = Batches([everything[part] for part in parts], np.array([kind.is_integer for kind in rows.kinds]))
    passed = grow(GrowthProblem(provider, centers, GrowthSpec(depth_penalty=0.1, gini=True, **options)))
    assert passed.tree.equals(in_memory.tree)
    assert np.array_equal(passed.gaps, in_memory.gaps, equal_nan=True)
    assert np.array_equal(passed.leaf_of_row, in_memory.leaf_of_row)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc", "expand"])
@each("seed", range(3))
def test_a_sparse_table_of_many_values_grows_the_tree_of_the_dense_one_and_copies_of_columns_change_none(
    algorithm, seed
):
    """Sparse columns have few bins, so that nearly every cut lies inside one. Of equal columns the first wins."""
    rng = np.random.default_rng(seed)
    n, d, k = 400, 30, 5
    X = np.where(rng.random((n, d)) < 0.3, rng.normal(size=(n, d)), 0.0)
    X[:, 3:6] = rng.poisson(0.4, (n, 3))  # few values: one a bin
    labels = rng.integers(0, k, n).astype(np.int32)
    X[np.arange(n), labels] += 2.0 * (rng.random(n) < 0.8)
    if seed == 2:
        X = np.abs(X)[rng.integers(0, n // 2, n)]  # rows repeat
    weights = rng.integers(1, 4, n) if seed else None
    centers = np.stack([X[labels == c].mean(axis=0) for c in range(k)])
    costs = fixed_costs_from_array(((X[:, None, :] - centers) ** 2).sum(axis=2), weights=weights)

    def grown(values, copies=1):
        table = encode_table(read_table(values), weights=weights, merge=False)
        own = np.tile(centers, copies)
        return grow_tree(table, labels, own, costs, algorithm=algorithm, max_leaves=2 * k, gini=seed == 1)

    sparse_tree, dense_tree = grown(sparse.csr_array(X)), grown(X)
    assert sparse_tree.tree.to_dict() == dense_tree.tree.to_dict()
    for wide in (np.tile(X, 50), sparse.csr_array(np.tile(X, 50))):
        assert grown(wide, 50).tree.to_dict() | {"n_features": d} == dense_tree.tree.to_dict()
    np.testing.assert_array_equal(sparse_tree.leaf_of_row, dense_tree.leaf_of_row)


@pytest.mark.parametrize("algorithm", ["exkmc", "expand"])
def test_sums_by_bin_are_held_of_the_node_at_hand_and_of_as_many_that_wait_as_may(algorithm):
    rng = np.random.default_rng(0)
    n, d, k = 600, 10_000, 32
    X = sparse.csr_array(sparse.random(n, d, 0.05, rng=rng, dtype=np.float64))
    table = encode_table(read_table(X), merge=False)
    labels = rng.integers(0, k, n).astype(np.int32)
    costs = fixed_costs_from_array(rng.random((n, k)))
    of_one = 8 * k * table.encoded.n_slots
    assert 2**21 < of_one < 2**22  # at least one that waits may be kept
    tracemalloc.start()
    grow_tree(table, labels, np.zeros((k, d)), costs, algorithm=algorithm, max_leaves=2 * k)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * of_one
