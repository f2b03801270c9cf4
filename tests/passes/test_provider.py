"""A provider that passes over batches grows the trees of one in memory, bit for bit, whatever the batches."""

from copy import deepcopy
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutwise import core
from cutwise.passes import provider
from cutwise.passes.provider import PassProvider
from cutwise.passes.rows import MOST_BYTES
from cutwise.passes.sums import Bins, merged
from cutwise.reference.objective import fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import INTEGER, NUMBER, as_matrix, encode_table
from cutwise.tree.provider import GrowthSpec
from cutwise.tree.recipes import grow_on
from tests.each import each
from tests.growth import grow_tree

ALGORITHMS = ("exkmc", "imm", "exgreedy", "exshallow", "expand")


@dataclass
class AllRows:
    """A table, and what its rows add."""

    values: np.ndarray
    labels: np.ndarray
    base: np.ndarray
    excess: np.ndarray
    weights: np.ndarray | None
    codes: np.ndarray | None = None

    @property
    def n(self):
        return len(self.values)

    def read(self, name):
        return as_matrix(self.values) if name == "matrix" else getattr(self, name)


@dataclass
class Parts:
    """A table in parts, and the bins that are given."""

    rows: AllRows
    edges: list
    parts: list
    kinds: tuple
    n_clusters: int
    passes: list = field(default_factory=list)

    def __post_init__(self):
        begin = np.cumsum([0, *(len(e) + 1 for e in self.edges)])
        self.low, self.high = np.full((2, begin[-1]), [[np.inf], [-np.inf]])
        self.rows.codes = core.bin_codes(
            self.rows.read("matrix"), np.concatenate(self.edges), begin, self.low, self.high
        )
        self.bins = Bins.of(begin, None)

    searched = None

    most_bytes = MOST_BYTES

    @staticmethod
    def value_sums(rows, groups, n_groups):
        return [np.bincount(groups, rows.values[:, 0], n_groups).astype(np.int64)]

    def go_over(self, what, sums, add, columns=None):
        self.passes.append(what)
        found = []
        for part in self.parts:  # each adds to sums of its own
            found.append(deepcopy(sums))
            rows = AllRows(*(None if own is None else own[part] for own in vars(self.rows).values()))
            if columns is not None:  # others may hold anything
                others = np.delete(np.arange(rows.values.shape[1]), columns)
                rows.values[:, others] = 77
            add(found[-1], rows)
        return reduce(merged, found[::-1])


def both(X, centers, weights, edges, parts, algorithm, **options):
    """The tree of memory and that of passes, and the passes."""
    table = read_table(X)
    rows = encode_table(table, weights=weights)
    values = X if rows.row_of is None else X[rows.row_of]

    def nearest(Y):
        return ((Y[:, None].astype(float) - centers) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)

    costs = fixed_costs(rows.matrix, centers, weights=rows.weights)
    k = len(centers)
    options |= {"algorithm": algorithm, "max_leaves": options.get("max_leaves", 2 * k)}
    in_memory = grow_tree(rows, nearest(values), centers, costs, depth_penalty=0.1, gini=True, **options)
    own = fixed_costs(as_matrix(X), centers, weights=weights)
    source = Parts(
        AllRows(X, nearest(X), own.base, own.excess, weights),
        edges,
        parts,
        (INTEGER if X.dtype.kind == "i" else NUMBER,) * X.shape[1],
        k,
    )

    grown = grow_on(PassProvider(source), centers, GrowthSpec(depth_penalty=0.1, gini=True, **options))
    return in_memory, grown, source.passes


def same(in_memory, passed):
    assert passed.tree.equals(in_memory.tree)
    assert np.array_equal(passed.gaps, in_memory.gaps, equal_nan=True)
    assert np.array_equal(passed.split_order, in_memory.split_order)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_passes_grow_the_tree_of_memory(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, d, k = data.draw(st.integers(3, 120)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    draw = data.draw(st.sampled_from(["few", "halves", "normal", "constant", "float32", "integers", "zeros"]))
    X = {
        "few": lambda: rng.integers(0, 4, (n, d)).astype(float),
        "halves": lambda: rng.integers(-6, 6, (n, d)) / 2,
        "normal": lambda: rng.normal(size=(n, d)),
        "constant": lambda: np.where(np.arange(d) == 0, 1.0, rng.normal(size=(n, d))),
        "float32": lambda: rng.normal(size=(n, d)).astype(np.float32),
        "integers": lambda: rng.integers(-50, 50, (n, d)),
        "zeros": lambda: rng.choice([-0.0, 0.0, 1.0, 0.5], (n, d)),
    }[draw]()
    centers = X[rng.choice(n, min(k, n), replace=False)] + rng.choice([0.0, 0.25, 1.0], (min(k, n), d))
    weights = rng.integers(1, 4, n) if data.draw(st.booleans()) else None
    edges = [np.unique(rng.choice(X[:, f].astype(float), data.draw(st.sampled_from([0, 2, 9])))) for f in range(d)]
    parts = np.array_split(rng.permutation(n), data.draw(st.sampled_from([1, 2, 7, n])))
    parts.insert(0, np.empty(0, dtype=int))
    algorithm = data.draw(st.sampled_from(ALGORITHMS))
    expansion = data.draw(st.sampled_from(["exkmc", "expand"]))
    in_memory, passed, _ = both(X, centers, weights, edges, parts, algorithm, expansion=expansion)
    same(in_memory, passed)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ranges_of_many_rows_are_split_before_they_are_looked_into(algorithm, monkeypatch):
    monkeypatch.setattr(provider, "TALLIED", 10)
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-3, 3, (300, 1)), np.zeros((50, 2))])
    centers = X[:4] + 0.01
    in_memory, passed, _ = both(X, centers, None, [np.array([0.0]), np.empty(0)], [np.arange(350)], algorithm)
    same(in_memory, passed)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nodes_share_passes(algorithm, monkeypatch):
    opened, open_ranges = [], provider.Pieces.open
    monkeypatch.setattr(provider.Pieces, "open", lambda *given: opened.append(open_ranges(*given)))
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 4)) + rng.integers(0, 8, (3000, 1))
    edges = [np.unique(np.quantile(X[:, f], np.linspace(0, 1, 250))) for f in range(4)]
    centers = X[rng.choice(len(X), 8, replace=False)]
    in_memory, passed, passes = both(X, centers, None, edges, [np.arange(3000)], algorithm, max_leaves=16)
    same(in_memory, passed)
    assert len(passes) <= 21  # 15 splits, each of which needs two alone; cuts that tie are settled by one of their own
    assert len(opened) <= 40  # a node whose cut is known is left alone


@each("k", [2, 5, 8, 9])
@each("dtype", [np.int32, np.int64])
@each("weights", [None, "some"])
def test_sums_of_sides_are_those_of_the_plain_twin(k, dtype, weights):
    rng = np.random.default_rng(k)
    n, d, n_nodes = 10_000, 2, 3  # more than one tile, and nodes of few and of many rows
    node = rng.choice([-1, 0, 1, 2], n, p=[0.1, 0.8, 0.09, 0.01]).astype(np.int32)
    codes, begin = rng.integers(0, [3, 256], (n, d)).astype(np.uint8), np.array([0, 3, 259])
    costs = rng.integers(0, 2**30, (n, k)).astype(dtype)
    times = np.ones(n, dtype=int) if weights is None else rng.integers(0, 3, n)
    n_survivors = np.array([k, 2, 1], dtype=np.int32)
    order = np.array([[rng.permutation(k) for _ in range(d)] for _ in range(n_nodes)], dtype=np.int32)
    found = np.zeros((n_nodes, begin[-1], 2 * k + 1), dtype=np.int64)
    given_weights = None if weights is None else times
    core.add_to_tallies(codes, begin, node, given_weights, costs, order, n_survivors, found)
    expected = np.zeros_like(found)
    for j, f in np.ndindex(n_nodes, d):
        own, m = node == j, n_survivors[j]
        along = costs[own][:, order[j, f, :m]].astype(np.int64)
        added = np.zeros((own.sum(), 2 * k + 1), dtype=np.int64)
        added[:, 0], added[:, 1], added[:, 2] = 1, times[own], along.min(axis=1)
        for s in range(1, m):
            added[:, 2 + s], added[:, 1 + k + s] = along[:, :s].min(axis=1), along[:, s:].min(axis=1)
        np.add.at(expected[j], begin[f] + codes[own, f], added)
    assert np.array_equal(found, expected)
