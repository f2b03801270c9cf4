"""Clusters keep rows where enough distinct ones are left, and what is printed of them is about rows."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from cutwise import ExplainableKMeans
from cutwise.exceptions import EmptyClusterWarning
from tests.each import each


def one_hot(seed):
    """Categories of unequal shares that hang together, a column each, and a number of clusters."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(20, 300)), []
    group = rng.integers(0, 6, n)
    for n_categories in rng.integers(2, 9, int(rng.integers(1, 5))):
        shares = rng.dirichlet(np.full(n_categories, 0.4), size=6)
        category = (rng.random(n)[:, None] > np.cumsum(shares, axis=1)[group, :-1]).sum(axis=1)
        columns.append(np.eye(n_categories)[category])
    return np.concatenate(columns, axis=1), int(rng.integers(3, 13))


def terms(seed):
    """Sparse weights of terms in rows of very different length."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(40, 0.05), size=8)
    lengths = (rng.pareto(1.5, 150) * 10 + 3).astype(int)
    counts = np.array([rng.multinomial(n, topics[rng.integers(8)]) for n in lengths], dtype=float)
    return sparse.csr_array(counts * np.log(151 / (1 + (counts > 0).sum(axis=0)))), int(rng.integers(4, 16))


def numbers(seed):
    """Small whole numbers, or none of them equal."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (80, 3)).astype(float) if seed % 2 else rng.normal(size=(80, 3))
    return X, int(rng.integers(3, 10))


def fit(X, k, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        return ExplainableKMeans(k, n_init=2, random_state=0, **params).fit(X)


def n_empty(model):
    tree = model.tree_
    return int(((tree.children_left < 0) & (tree.n_node_samples == 0)).sum())


@each("seed", [0, 1, 33, 127, 133, 281])
def test_less_depth_never_costs_a_cluster_its_rows(seed):
    X, k = one_hot(seed)
    assert len(np.unique(X, axis=0)) >= k
    greedy = fit(X, k, algorithm="exgreedy")
    for penalty in (0.03, 0.3, 1.0):
        assert n_empty(fit(X, k, algorithm="exshallow", depth_penalty=penalty)) <= n_empty(greedy) == 0


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "search"])
@pytest.mark.parametrize("make", [one_hot, terms, numbers])
def test_every_printed_interval_of_a_leaf_with_rows_holds_a_value_of_the_table(make, algorithm):
    n_intervals = 0
    for seed in range(8):
        X, k = make(seed)
        values = X.toarray() if sparse.issparse(X) else X
        for cluster in fit(X, k, algorithm=algorithm).rules():
            for rule in cluster.rules:
                for test in rule.conditions:
                    inside = values[:, test.feature]
                    if np.isfinite(test.lower):
                        inside = inside[inside > test.lower]
                    if np.isfinite(test.upper):
                        inside = inside[inside <= test.upper]
                    n_intervals += bool(np.isfinite(test.lower) and np.isfinite(test.upper))
                    assert len(inside) or not rule.size
    assert n_intervals or make is one_hot
