"""The search for a clustering by passes gives the centers of memory, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutwise import Batches
from cutwise.passes.reference import SearchedBatches
from cutwise.passes.rows import BatchedRows
from cutwise.passes.sources import as_lazy
from cutwise.passes.spill import Copies
from cutwise.reference.objective import KMEANS, PLAIN, Measure
from cutwise.reference.search import Stop, find_clustering, finish_centers, read_points, search_centers
from cutwise.table.intake import read_table


def find_reference(table, n_clusters, objective=KMEANS, sample_weight=None, n_jobs=1, **options):
    by = Measure(objective, sample_weight, n_jobs)
    return find_clustering(table, n_clusters, by, brief=True, **options)[0]


def table_of(rng, kind, n, d, k):
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, k, (n, 1))
    if kind == "grid":
        X = np.round(X)
    if kind == "heavy":
        X[: n // 3], X[n // 3 : n // 2] = X[0], X[1]
    if kind == "far":
        X[:3] *= 1e5
    if kind == "zeros":
        X = rng.choice([-0.0, 0.0, 1.0, 2.5], (n, d))
    return X


def searched(X, weights, copies, k):
    parts = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
    table = X if weights is None else np.column_stack([X, weights])
    names = [f"c{i}" for i in range(X.shape[1])] + ["w"] * (weights is not None)
    lazy = as_lazy(Batches([table[part] for part in parts], names=names))
    return SearchedBatches(BatchedRows.read(lazy, copies, None if weights is None else "w"), k)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_search_by_passes_finds_the_centers_of_memory(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    kind = data.draw(st.sampled_from(["plain", "grid", "heavy", "far", "zeros"]))
    n, d, k = data.draw(st.sampled_from([30, 300, 1500])), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    X = table_of(rng, kind, n, d, k)
    k = min(k, len(np.unique(X + 0.0, axis=0)))
    kind_of_weights = data.draw(st.sampled_from(["none", "few", "heavy"]))
    weights = {"few": rng.integers(0, 4, n), "heavy": rng.choice([1, 400], n, p=[0.99, 0.01])}.get(kind_of_weights)
    if weights is not None:
        k = min(k, len(np.unique(X[weights > 0] + 0.0, axis=0)))
    with pytest.MonkeyPatch.context() as patch, Copies() as copies:
        for name, size in data.draw(
            st.sampled_from([{}, {"WHOLE_ROWS": 20, "RESTART_ROWS": 40, "FINAL_ROWS": 80}])
        ).items():
            patch.setattr(f"cutwise.reference.search.{name}", size)
            patch.setattr("cutwise.reference.search.RESTART_ROWS_OF_CLUSTER", 8)
            patch.setattr("cutwise.reference.search.FINAL_ROWS_OF_CLUSTER", 16)
        weight = None if weights is None else weights.astype(float)
        expected = find_reference(read_table(X), k, n_init=3, random_state=0, sample_weight=weight).centers
        rows = searched(X, weights, copies, k)
        run = search_centers(rows, k, n_init=3, brief=True, random_state=0)
        found = finish_centers(run.centers, rows.weigh, rows.iterate, 1, renumber=True)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["plain", "grid", "far", "zeros"])
def test_iterations_are_those_of_the_core_where_clusters_lose_all_rows_too(kind):
    rng = np.random.default_rng(3)
    X = table_of(rng, kind, 900, 2, 4)
    for n_nowhere in range(3):
        centers = np.vstack([X[rng.choice(900, 3, replace=False)] + 0.3, np.full((n_nowhere, 2), 1e7)])
        for stop in (Stop(0.0, 30), Stop(1e-3, 30), Stop(0.0, 1), Stop(np.inf, 1)):
            points = read_points(read_table(X), PLAIN)
            expected = points.iterate(centers, stop, 1, costed=False)
            with Copies() as copies:
                found = searched(X, None, copies, len(centers)).iterate(centers, stop, 1)
            assert found.centers.tobytes() == expected.centers.tobytes()
            assert found.weights.tolist() == expected.weights.tolist()
            assert found.n_iter == expected.n_iter
