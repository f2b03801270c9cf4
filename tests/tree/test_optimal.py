"""The optimal cuts against every cut there is, in exact arithmetic."""

from __future__ import annotations

import signal
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from cutwise.table.table import as_matrix
from cutwise.tree.optimal import optimal_cut
from tests.each import each

OBJECTIVES = ("kmeans", "kmedians")


def side_cost(rows: list[list[Fraction]], weights: list[int], objective: str) -> Fraction:
    """What rows cost with their own mean or median."""
    cost, total = Fraction(0), sum(weights)
    for column in zip(*rows, strict=True):
        if objective == "kmeans":
            mean = sum(w * x for x, w in zip(column, weights, strict=True)) / total
            cost += sum(w * (x - mean) ** 2 for x, w in zip(column, weights, strict=True))
        else:
            # A sum of distances is least at one of the values.
            cost += min(sum(w * abs(x - m) for x, w in zip(column, weights, strict=True)) for m in set(column))
    return cost


def best_of_all(
    X: np.ndarray, weights: np.ndarray | None, objective: str, cut: int | None = None, cost: slice = slice(None)
) -> tuple[int, float, float] | None:
    """The definition: every cut of the first columns, costs in some columns, first come first served."""
    rows = [[Fraction(float(x)) for x in row[cost]] for row in X]
    w = [1] * len(rows) if weights is None else weights.tolist()
    best, least = None, None
    for feature in range(X.shape[1] if cut is None else cut):
        for a, b in pairwise(sorted({float(x) for x in X[:, feature]})):
            left = [i for i in range(len(rows)) if X[i, feature] <= a]
            right = [i for i in range(len(rows)) if X[i, feature] > a]
            total = sum(side_cost([rows[i] for i in side], [w[i] for i in side], objective) for side in (left, right))
            if least is None or total < least:
                best, least = (feature, a, b), total
    return best


def integers(rng, n, d):
    return rng.integers(0, 4, (n, d))


def mirrored(rng, n, d):
    """Columns and rows that mirror each other: ties everywhere, in values that are no short binary fractions."""
    X = rng.normal(size=(n, d)).round(1)
    X[:, -1] = X[:, 0]
    return np.vstack([X, -X])


KINDS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "integers": integers,
    "bits": lambda rng, n, d: rng.integers(0, 2, (n, d)).astype(np.uint8),
    "float32": lambda rng, n, d: rng.normal(size=(n, d)).astype(np.float32),
    "decimals": lambda rng, n, d: rng.normal(size=(n, d)).round(1),
    "mirrored": mirrored,
    "offset": lambda rng, n, d: 1.7e9 + rng.normal(size=(n, d)),
    "one column": lambda rng, n, d: rng.normal(size=(n, 1)).round(1),
    "a huge constant": lambda rng, n, d: np.column_stack([np.full(n, 1e300), rng.normal(size=(n, d))]),
    "column-major": lambda rng, n, d: np.asfortranarray(rng.normal(size=(n, d))),
    "large": lambda rng, n, d: 1e300 * rng.uniform(-1, 1, size=(n, d)),
    "small": lambda rng, n, d: 1e-200 * rng.normal(size=(n, d)),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@each("kind", KINDS)
def test_no_cut_is_better_and_ties_go_to_the_first(kind, objective):
    rng = np.random.default_rng(5)
    for trial in range(12):
        X = KINDS[kind](rng, int(rng.integers(2, 9)), int(rng.integers(1, 4)))
        weights = rng.integers(1, 5, len(X)) if trial % 2 else None
        assert optimal_cut(X, objective, weights) == best_of_all(X, weights, objective), (X, weights)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_costs_may_be_measured_in_other_columns_than_are_cut(objective):
    rng = np.random.default_rng(6)
    for trial in range(20):
        n = int(rng.integers(2, 9))
        X, Z = rng.integers(0, 4, (n, 2)), rng.normal(size=(n, 3)).round(trial % 3)
        both = best_of_all(np.column_stack([X, Z]), None, objective, cut=2, cost=slice(2, None))
        assert optimal_cut(Z, objective, columns=X) == both


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_rows_have_no_cut(objective):
    assert optimal_cut(np.full((5, 3), 7.5), objective) is None
    assert optimal_cut(np.zeros((1, 2)), objective) is None


def median_cost(X: np.ndarray, weights: np.ndarray) -> int:
    """The l1 cost of integer rows."""
    cost = 0
    for column in X.T:
        order = np.argsort(column)
        running = np.cumsum(weights[order])
        median = column[order[np.searchsorted(2 * running, running[-1])]]
        cost += int((weights * np.abs(column - median)).sum())
    return cost


# Sizes about the stretches of 64 and 4096 rows that the median steps over.
@pytest.mark.parametrize(
    ("n", "shape", "weighted"),
    [
        (65, "plain", False),
        (700, "plain", True),
        (700, "u", False),
        (700, "few", True),
        (4200, "u", True),
    ],
)
def test_medians_are_followed_over_long_stretches(n, shape, weighted):
    rng = np.random.default_rng(n)
    # Many rows and few cuts, where all cuts are tried.
    X = rng.integers(-(10**6), 10**6, (n, 2)) if n < 1000 else 30_000 * rng.integers(-33, 34, (n, 2))
    if shape == "u":
        X[:, 1] = np.abs(X[:, 0])  # the middle of the second column goes last, its ends at the same time
    if shape == "few":
        X[:, 1] = np.where(rng.random(n) < 0.5, X[:, 0] // 10**5, 0)
    # Heavy rows far out: taking out one moves the median over many light ones.
    weights = np.where(np.abs(X[:, 0]) < 5 * 10**5, 1, 3000) if weighted else np.ones(n, dtype=np.int64)
    costs = {}
    for feature in range(2):
        order = np.argsort(X[:, feature], kind="stable")
        Y, w = X[order], weights[order]
        for i in np.flatnonzero(np.diff(Y[:, feature])) + 1:
            cut = (feature, float(Y[i - 1, feature]), float(Y[i, feature]))
            costs[cut] = median_cost(Y[:i], w[:i]) + median_cost(Y[i:], w[i:])
    assert optimal_cut(X, "kmedians", weights if weighted else None) == min(costs, key=costs.get)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_neither_threads_nor_the_order_of_rows_nor_repeats_change_the_cut(objective):
    rng = np.random.default_rng(8)
    for X in (rng.normal(size=(300, 4)), rng.integers(0, 3, (300, 4)) / 10, mirrored(rng, 100, 3)):
        weights = rng.integers(1, 4, len(X))
        cut = optimal_cut(X, objective, weights)
        assert optimal_cut(X, objective, weights, n_jobs=3) == cut
        order = rng.permutation(len(X))
        assert optimal_cut(X[order], objective, weights[order]) == cut
        assert optimal_cut(np.repeat(X, weights, axis=0), objective) == cut


@pytest.mark.parametrize("find", [core.near_best_means_cuts, core.near_best_medians_cuts])
def test_heavy_weights_as_those_of_fractions_leave_few_cuts_to_compare(find):
    rng = np.random.default_rng(9)
    X, weights = rng.normal(size=(1000, 3)), rng.integers(1, 2**45 // 1000, 1000)
    assert len(find(as_matrix(X), weights)[0]) == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_interrupt_ends_the_search(objective):
    X = np.random.default_rng(10).normal(size=(50_000, 8))
    start = time.process_time()
    optimal_cut(X, objective)
    whole = time.process_time() - start
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, whole / 8)  # of processor time: a busy machine changes nothing
    start = time.process_time()
    try:
        with pytest.raises(KeyboardInterrupt):
            optimal_cut(X, objective)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - start < 0.8 * whole


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_does_not_fit_is_refused(objective):
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="one weight for each row"):
        optimal_cut(X, objective, np.ones(2, dtype=np.int64))
    with pytest.raises(ValueError, match="positive"):
        optimal_cut(X, objective, np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="more than 2\\^45"):  # as integers they add up to 0
        optimal_cut(X, objective, np.array([2**62, 2**62, 2**62], dtype=np.int64))
    with pytest.raises(ValueError, match="dense"):
        optimal_cut(sparse.csr_array(np.eye(3)), objective)
    with pytest.raises(ValueError, match="same rows"):
        optimal_cut(X, objective, columns=np.zeros((2, 2)))
