"""The papers' real sets: from a folder, from scikit-learn, or a message that helps."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from cutwise import datasets
from cutwise.datasets import CATALOG, load_real, origins, real
from cutwise.datasets.real import checksum_of
from cutwise.exceptions import DataSetUnavailableError, UnknownOptionError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
BUNDLED = [name for name, each in CATALOG.items() if each.bundled]


@pytest.fixture(autouse=True)
def without_a_folder_of_the_environment(monkeypatch):
    monkeypatch.delenv("CUTWISE_DATA", raising=False)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_come_from_scikit_learn_and_are_the_papers(name):
    found = load_real(name, network=False)
    assert found.X.shape == (CATALOG[name].n_rows, CATALOG[name].n_columns)
    assert found.X.dtype == np.float64
    assert len(found.feature_names) == found.X.shape[1]
    assert (found.source, found.scaling) == ("scikit-learn", "raw")


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name, each in CATALOG.items() if each.checksum])
def test_files_of_the_folder_are_the_papers_sets(name):
    if not (DATA / f"{name}.npz").exists():
        pytest.skip("the data folder is not beside the checkout")
    found = load_real(name, data=DATA)
    assert found.source == f"{name}.npz"
    assert found.n_clusters == int(np.load(DATA / f"{name}.npz")["k"])
    if found.scaling == "minmax":
        assert found.X.min(axis=0) == pytest.approx(0)
        assert found.X.max(axis=0) == pytest.approx(1)


def test_a_file_goes_first_and_the_environment_names_the_folder(tmp_path, monkeypatch):
    rows = load_iris().data[::-1]
    np.savez(tmp_path / "iris.npz", X=rows.astype(np.float32))
    assert load_real("iris", data=tmp_path).source == "iris.npz"
    assert load_real("iris").source == "scikit-learn"
    monkeypatch.setenv("CUTWISE_DATA", str(tmp_path))
    found = load_real("iris")
    assert np.abs(found.X - rows).max() < 1e-6
    assert found.feature_names == ["0", "1", "2", "3"]
    assert load_real("wine").source == "scikit-learn"


def test_scalings_are_those_asked_for():
    assert load_real("iris", scaling="minmax").X.max(axis=0).tolist() == [1, 1, 1, 1]
    assert load_real("iris", scaling="standard").X.std(axis=0) == pytest.approx(1)
    with pytest.raises(UnknownOptionError, match="raw"):
        load_real("iris", scaling="row")


def test_the_checksum_knows_no_order_of_rows_and_no_precision():
    X = load_digits().data + 0.1
    shuffled = np.random.default_rng(0).permutation(X)
    assert checksum_of(X) == checksum_of(shuffled) == checksum_of(X.astype(np.float32))
    X[5, 5] += 1
    assert checksum_of(X) != checksum_of(shuffled)


def test_another_table_is_refused_unless_it_is_wanted(tmp_path):
    X = load_iris().data.copy()
    X[0, 0] += 1
    np.savez(tmp_path / "iris.npz", X=X)
    with pytest.raises(DataSetUnavailableError, match="other values"):
        load_real("iris", data=tmp_path)
    assert load_real("iris", data=tmp_path, check=False).X[0, 0] == X[0, 0]
    np.savez(tmp_path / "iris.npz", X=X[:, :3])
    with pytest.raises(DataSetUnavailableError, match=r"150 x 3 values; the papers' table is 150 x 4"):
        load_real("iris", data=tmp_path)
    (tmp_path / "iris.npz").write_text("no archive")
    with pytest.raises(DataSetUnavailableError, match="is not a data file"):
        load_real("iris", data=tmp_path)


def test_a_set_that_cannot_be_had_says_what_would_help(tmp_path, monkeypatch):
    with pytest.raises(DataSetUnavailableError, match=r"(?s)no data folder was given.*cannot be fetched.*CUTWISE_DATA"):
        load_real("anuran")
    with pytest.raises(DataSetUnavailableError, match=r"has no letter\.npz, and it was not fetched"):
        load_real("letter", data=tmp_path, network=False)

    def offline(number):
        raise OSError("no route to host")

    monkeypatch.setattr(origins, "_openml", offline)
    with pytest.raises(DataSetUnavailableError, match=r"fetching it failed \(no route to host\)"):
        load_real("letter")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownOptionError, match="Did you mean 'iris'"):
        load_real("irsi")


def test_fetched_tables_are_prepared_as_the_papers_did(monkeypatch):
    table, kinds = np.arange(40.0).reshape(20, 2), np.arange(20)
    table[3, 0] = np.nan
    monkeypatch.setattr(origins, "_openml", lambda number: (table, ["a", "b"], kinds))
    rows, _, labels = origins.mice_rows()
    assert rows.shape == (19, 2)
    assert 3 not in labels
    filled, names, _ = origins.mice_columns()
    assert filled[3, 0] == pytest.approx(np.nanmean(table[:, 0]))
    assert names == ["a", "b"]
    table[4:16, 1] = np.nan
    assert origins.mice_columns()[1] == ["a"]
    monkeypatch.setattr(origins, "_openml", lambda number: (table, ["Sex", "Feature_0"], kinds))
    assert origins.vowel()[1] == ["Feature_0"]


def test_known_labels_come_along_where_they_are_at_hand(tmp_path):
    assert np.bincount(load_real("iris").labels).tolist() == [50, 50, 50]
    np.savez(tmp_path / "iris.npz", X=load_iris().data)
    assert load_real("iris", data=tmp_path).labels is None


def test_the_example_is_true():
    assert doctest.testmod(real).failed == 0
    assert datasets.load_real is load_real
