"""ExGreedy and ExShallow leave each side of a cut as many distinct rows as centers, so that no cluster ends empty."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cutwise import ExplainableKMeans
from cutwise.reference.objective import KMEANS, fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from tests.each import each
from tests.growth import grow_tree

RECIPES = [("exgreedy", 0.0), ("exshallow", 0.03), ("exshallow", 0.1)]


def one_hot(rng: np.random.Generator) -> np.ndarray:
    """Categories only, as in a census: centers lie inside the one gap of every column."""
    group = rng.integers(0, 5, 800)
    blocks = []
    for levels in (2, 7, 16, 42):
        shares = 0.4 * rng.dirichlet(np.full(levels, 0.4)) + 0.6 * rng.dirichlet(np.full(levels, 0.25), 5)
        level = (rng.random((800, 1)) > shares.cumsum(axis=1)[group]).sum(axis=1)
        blocks.append(np.eye(levels)[np.minimum(level, levels - 1)])
    return np.column_stack(blocks)


def words(rng: np.random.Generator) -> sparse.csr_array:
    """Many columns, few of them in any row."""
    n, d = 300, 400
    mask = rng.random((n, d)) < rng.dirichlet(np.full(d, 0.2)) * 12
    return sparse.csr_array(np.where(mask, rng.random((n, d)).round(2) + 0.1, 0.0))


def repeated(rng: np.random.Generator) -> np.ndarray:
    """Some twenty distinct rows, a few of them most of the table."""
    return rng.integers(0, 6, (22, 3)).astype(float)[rng.zipf(1.5, 500) % 22]


@each("seed", range(4))
@pytest.mark.parametrize("table", [one_hot, words, repeated])
@pytest.mark.parametrize(("algorithm", "penalty"), RECIPES)
def test_every_cluster_keeps_rows_where_categories_words_or_repeats_leave_few_cuts(table, algorithm, penalty, seed):
    values = table(np.random.default_rng(seed))
    model = ExplainableKMeans(12, algorithm=algorithm, depth_penalty=penalty, n_init=1, random_state=seed).fit(values)
    assert np.array_equal(np.unique(model.labels_), np.arange(12))
    assert model.tree_.n_node_samples.min() > 0


@each("seed", range(20))
@pytest.mark.parametrize(("algorithm", "penalty"), RECIPES)
def test_rows_are_counted_by_content_whether_equal_ones_are_merged_or_not(algorithm, penalty, seed):
    rng = np.random.default_rng(seed)
    distinct = np.unique(rng.integers(0, 5, (12, 3)).astype(float), axis=0)
    table = read_table(distinct[rng.integers(0, len(distinct), 90)])
    centers = distinct[rng.choice(len(distinct), 7, replace=False)] + rng.choice([-0.25, 0.0, 0.25], (7, 3))
    trees = []
    for merge in (True, False):
        rows = encode_table(table, merge=merge)
        labels = KMEANS.assign(rows.matrix, centers)[0]
        costs = fixed_costs(rows.matrix, centers, KMEANS, weights=rows.weights)
        trees.append(
            grow_tree(
                rows,
                labels,
                centers,
                costs,
                algorithm=algorithm,
                max_leaves=7,
                depth_penalty=penalty,
            ).tree
        )
    assert trees[0].equals(trees[1])


def test_a_side_may_end_empty_only_where_no_cut_leaves_enough_rows():
    values = np.array([[1.0], [2.0], [3.0], [4.0]])
    centers = np.array([[0.0], [0.1], [0.2]])  # all left of every row
    model = ExplainableKMeans(3, algorithm="exgreedy", reference=centers)
    with pytest.warns(UserWarning, match="without"):
        model.fit(values)
    assert model.n_leaves_ == 3
    assert np.unique(model.labels_).tolist() == [2]
