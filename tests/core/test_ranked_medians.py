"""Lloyd's iterations with columns sorted once find, to the bit, what they find by selection."""

import numpy as np
import pytest

from cutwise.core.iterations import lloyd, rank_columns
from cutwise.core.kernels import as_matrix


def problem(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(2, 300), rng.integers(1, 6), rng.integers(1, 12)
    values = rng.integers(-2, rng.integers(2, 30), (n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    values[rng.random((n, d)) < 0.05] = -0.0
    weights = rng.integers(1, 6, n) if seed % 3 == 0 else None
    return values, values[rng.integers(0, n, k)].copy(), weights


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_medians_kept_up_to_date_are_those_selected(dtype, n_jobs):
    for seed in range(60):
        values, start, weights = problem(seed)
        values = values.astype(dtype)
        plain = lloyd(as_matrix(values), start, weights, objective="kmedians")
        ranked = lloyd(as_matrix(values), start, weights, 300, 0.0, n_jobs, "kmedians", rank_columns(values))
        assert ranked[1] == plain[1]
        assert ranked[0].tobytes() == plain[0].tobytes()


def test_clusters_may_lose_all_rows_and_get_others():
    values = np.concatenate([np.arange(20.0), 100 + np.arange(20.0), [500.0]])[:, None]
    for start in ([[0.0], [0.0], [0.0]], [[1000.0], [1001.0], [3.0]], [[5.0], [500.0], [500.0]]):
        plain = lloyd(as_matrix(values), np.array(start), objective="kmedians")
        ranked = lloyd(as_matrix(values), np.array(start), objective="kmedians", ranks=rank_columns(values))
        assert np.array_equal(ranked[0], plain[0])


def test_more_rows_than_a_block_and_many_clusters():
    values = np.random.default_rng(1).normal(size=(7000, 3))
    for k in (2, 60):
        plain = lloyd(as_matrix(values), values[:k], None, 300, 0.0, 2, "kmedians")
        ranked = lloyd(as_matrix(values), values[:k], None, 300, 0.0, 2, "kmedians", rank_columns(values))
        assert ranked[1] == plain[1]
        assert np.array_equal(ranked[0], plain[0])


def test_equal_values_are_ranked_in_any_order():
    values = np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    order, rank = rank_columns(values)
    assert order[0].tolist() == [1, 2, 0]
    assert order[1][0] == 2
    for f in range(2):
        assert np.array_equal(rank[order[f], f], np.arange(3))


def test_ranks_of_another_table_and_for_means_are_an_error():
    values = np.zeros((5, 2))
    with pytest.raises(ValueError, match="ranks of all rows"):
        lloyd(as_matrix(values), values[:1], objective="kmedians", ranks=rank_columns(values[:4]))
    with pytest.raises(ValueError, match="ranks serve medians"):
        lloyd(as_matrix(values), values[:1], objective="kmeans", ranks=rank_columns(values))
