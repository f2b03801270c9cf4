"""A profile says what the rows of each cluster are like, by definition."""

import numpy as np
import pytest
from scipy import sparse

from cutwise.exceptions import InvalidInputError
from cutwise.readouts.profile import N_BINS, distinguishing_columns, profile_clusters
from cutwise.table.intake import read_table
from cutwise.table.table import ColumnKind, Columns, Table
from tests.each import each


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(5, 2, 400), rng.integers(0, 6, 400), np.full(400, 3.0), rng.lognormal(0, 3, 400)]
    )
    return values, rng.integers(0, 3, 400)


def test_figures_are_those_of_the_definition(rows):
    values, codes = rows
    found = profile_clusters(read_table(values), codes, 4)
    assert found.size.tolist() == [*np.bincount(codes).tolist(), 0]
    for code in range(3):
        own = values[codes == code]
        np.testing.assert_allclose(found.mean[code], own.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.median[code], np.median(own, axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = (own.mean(axis=0) - values.mean(axis=0)) / values.std(axis=0)
        np.testing.assert_allclose(found.difference[code][[0, 1, 3]], expected[[0, 1, 3]], rtol=1e-9)
        assert found.difference[code][2] == 0
    for figures in (found.mean, found.median, found.difference):
        assert np.isnan(figures[3]).all()
    np.testing.assert_allclose(found.whole_std, values.std(axis=0), atol=1e-15)


def test_medians_and_bins_of_many_rows_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    n, codes = 6_000, np.minimum(rng.geometric(0.4, 6_000), 6) - 1
    shapes = [rng.normal(size=n), np.exp(4 * rng.normal(size=n)), rng.integers(0, 90, n), rng.normal(size=n).round(1)]
    values = np.column_stack([*shapes, rng.random(n) < 0.02, np.where(rng.random(n) < 0.9, 0, rng.normal(size=n))])
    found = profile_clusters(read_table(values), codes, 6)
    np.testing.assert_array_equal(found.whole_median, np.median(values, axis=0))
    for code in range(6):
        np.testing.assert_array_equal(found.median[code], np.median(values[codes == code], axis=0))
        for j, (edges, counts) in enumerate(zip(found.edges, found.counts, strict=True)):
            own = np.searchsorted(edges[1:-1], values[codes == code, j], side="right")
            assert counts[code].tolist() == np.bincount(own, minlength=len(edges) - 1).tolist()
    tails = np.quantile(values, [0.005, 0.995], axis=0)
    np.testing.assert_allclose([[e[0], e[-1]] for e in found.edges[:2]], tails.T[:2], rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_clusters_take_turns_in_naming_the_columns_that_tell_them_apart_best(rows, form):
    values, codes = rows
    values = np.column_stack([values, values[:, 1] * 1e100, codes == 2, values[:, 0] + codes])
    if form is np.asarray:
        values[:90, 4] = np.nan
    table = Table(form(values), tuple("abcdefg"), True, (ColumnKind("number"),) * 7)
    best = np.argsort(-np.abs(profile_clusters(table, codes, 3).difference).round(9), axis=1, kind="stable")
    assert distinguishing_columns(table, codes, 3) == list(dict.fromkeys(best.T.ravel().tolist()))


@pytest.mark.parametrize("seed", range(30))
def test_a_column_of_one_value_and_gaps_tells_no_clusters_apart(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 60)
    values = np.column_stack([np.where(rng.random(60) < 0.3, np.nan, rng.random()), rng.normal(size=60) + 0.1 * codes])
    table = Table(values, ("same", "other"), True, (ColumnKind("number"),) * 2)
    assert distinguishing_columns(table, codes, 3) == [1, 0]


def test_every_row_is_in_one_bin_of_its_cluster(rows):
    values, codes = rows
    found = profile_clusters(read_table(values), codes, 3)
    for edges, counts in zip(found.edges, found.counts, strict=True):
        assert counts.shape == (3, len(edges) - 1)
        assert (np.diff(edges) > 0).all()
        assert counts.sum(axis=1).tolist() == found.size.tolist()
    assert len(found.edges[0]) == N_BINS + 1


def test_few_whole_numbers_have_a_bin_each(rows):
    _, codes = rows
    whole = np.arange(400) % 6
    found = profile_clusters(read_table(whole[:, None]), codes, 3)
    assert found.edges[0].tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert found.counts[0].sum(axis=0).tolist() == np.bincount(whole).tolist()


def test_columns_can_be_chosen_and_sparse_tables_are_the_same(rows):
    values, codes = rows
    values = np.where(values > 4, values, 0)
    whole = profile_clusters(read_table(values), codes, 3)
    some = profile_clusters(read_table(sparse.csr_array(values)), codes, 3, columns=[3, 0])
    assert some.columns.tolist() == [3, 0]
    np.testing.assert_array_equal(some.mean, whole.mean[:, [3, 0]])
    np.testing.assert_array_equal(some.counts[1], whole.counts[0])


@each(
    "column",
    [
        [1e15, 1e15 + 1, 1e15 + 2, 1e15],
        [7.0, 7.0, 7.0, 7.0],
        [0.0, 0.0, 0.0, 0.0],
        [1.0, np.nextafter(1.0, 2.0), 1.0, 1.0],
        [2**62, 2**62, 2**62, 2**62],
        [-(2**62), 5 - 2**62, 9 - 2**62, 600 - 2**62],
    ],
)
def test_extreme_columns_have_finite_profiles(column):
    found = profile_clusters(read_table(np.array(column)[:, None]), np.array([0, 0, 1, 1]), 2)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.difference).all()
    assert np.isfinite(found.edges[0]).all()
    assert found.counts[0].sum() == 4


def test_no_rows_no_profile():
    table = read_table(np.ones((1, 1)))
    empty = type(table)(table.values[:0], table.names, table.has_names, table.kinds)
    with pytest.raises(InvalidInputError, match="without rows"):
        profile_clusters(empty, np.array([], dtype=int), 2)


def test_categories_are_described_by_telling_levels_and_those_asked_for_and_gaps_are_left_out():
    kinds = (ColumnKind("category", ("N", "S", "E")), ColumnKind("number", has_gaps=True))
    values = np.array([[0, 1.0], [0, np.nan], [1, 3.0], [2, 5.0], [2, np.nan], [1, 7.0]])
    table, codes = Table(values, ("region", "x"), True, kinds), np.array([0, 0, 0, 1, 1, 1])
    profile = profile_clusters(table, codes, 2)
    assert profile.levels == ((0,), ())  # two of three rows against none; E is as good, and comes later
    np.testing.assert_allclose(profile.mean, [[2 / 3, 2.0], [0.0, 6.0]])
    np.testing.assert_allclose(profile.whole_mean, [1 / 3, 4.0])
    assert [c.sum() for c in profile.counts] == [6, 4]
    profile = profile_clusters(table, codes, 3, tested={0: [(1, 2)]})
    assert profile.levels == ((1, 2), (0,), ())
    assert profile.columns.tolist() == [0, 0, 1]
    np.testing.assert_allclose(profile.mean[:, 0], [1 / 3, 1.0, np.nan])
    np.testing.assert_allclose(profile.difference[:2, 0], np.array([-1, 1]) / 3 / np.std([0, 0, 1, 1, 1, 1]))
    assert profile.median[:2, 0].tolist() == [0.0, 1.0]
    assert profile.counts[0].tolist() == [[2, 1, 0], [0, 1, 2], [0, 0, 0]]  # all levels


def test_the_levels_that_decide_are_told_however_many_there_are():
    rng = np.random.default_rng(0)
    levels, n = tuple(f"city {i}" for i in range(40)), 2_000
    city = rng.integers(0, 40, n)
    table = Table(city[:, None].astype(float), ("city",), True, (ColumnKind("category", levels),))
    profile = profile_clusters(table, (city < 15).astype(int), 2, tested={0: [tuple(range(15))]})
    assert profile.levels[0] == tuple(range(15))
    assert profile.mean[:, 0].tolist() == [0.0, 1.0]
    columns = Columns(("city",), True, table.kinds)
    assert profile.names(columns, {0: "city"})[0] == "city in {`city 0`, `city 1`, `city 2` and 12 more}"
