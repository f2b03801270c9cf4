"""The error tree: its drawing is true, its hints are near, and every error survives a process boundary."""

import inspect
import pickle
import re
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import SpectralClustering

import cutwise
from cutwise import exceptions
from cutwise.exceptions import (
    ColumnMismatchError,
    ColumnNamesWarning,
    CutwiseError,
    CutwiseWarning,
    EmptyClusterWarning,
    InvalidInputError,
    MissingDependencyError,
    ModelFileError,
    NotFiniteError,
    NotNumericError,
    UnknownOptionError,
    UnseparableCentersWarning,
    UnsupportedInputError,
    did_you_mean,
    listed,
    warn,
)

ALGORITHMS = ["imm", "exgreedy", "exshallow", "exkmc"]


def public_classes():
    classes = [c for _, c in inspect.getmembers(exceptions, inspect.isclass) if c.__module__ == exceptions.__name__]
    assert classes
    return classes


def test_every_error_and_warning_has_the_parent_that_the_drawing_gives_it():
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in exceptions.__doc__.splitlines():
        found = re.match(r"    ([│ ]*)(?:[├└]── )?(\w+(?:Error|Warning))\b", line)
        if not found:
            continue
        depth = len(found[1]) + (4 if "── " in line else 0)
        while path and path[-1][0] >= depth:
            path.pop()
        if path:
            parents[found[2]] = path[-1][1]
        path.append((depth, found[2]))
    drawn = set(parents) | {"CutwiseError", "CutwiseWarning"}
    assert drawn == {c.__name__ for c in public_classes()}
    for child, parent in parents.items():
        assert getattr(exceptions, parent) in getattr(exceptions, child).__bases__, child


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InvalidInputError, ValueError),
        (UnsupportedInputError, TypeError),
        (UnsupportedInputError, ValueError),
        (NotNumericError, TypeError),
        (NotFiniteError, ValueError),
        (ColumnMismatchError, ValueError),
        (UnknownOptionError, ValueError),
        (ModelFileError, ValueError),
        (MissingDependencyError, ImportError),
        (CutwiseWarning, UserWarning),
    ],
)
def test_an_error_can_be_caught_by_the_builtin_class_that_scikit_learn_would_raise(error, builtin):
    assert issubclass(error, builtin)


def test_every_public_name_is_exported():
    assert set(exceptions.__all__) >= {c.__name__ for c in public_classes()}


@pytest.mark.parametrize(
    "error",
    [
        UnknownOptionError.of("algorithm", "im", ALGORITHMS),
        MissingDependencyError.of("pyarrow", purpose="Reading Parquet files", extra="files"),
        ColumnMismatchError.of_names(["a"], ["b"]),
        NotFiniteError.in_column(what="X", column="column 'a'", row=3, missing=True, n_values=2, n_columns=1),
        NotNumericError.in_column(what="X", column="column 'a'", kind="text", value="b", row=0),
        UnseparableCentersWarning.of([[0, 3]]),
    ],
)
def test_an_error_from_a_worker_process_arrives_with_its_message(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)


def test_an_unknown_option_lists_the_valid_ones_and_hints_at_the_nearest():
    message = str(UnknownOptionError.of("algorithm", "ExShalow", ALGORITHMS))
    assert message == (
        "algorithm='ExShalow' is not a valid option. Use one of 'imm', 'exgreedy', 'exshallow', 'exkmc'. "
        "Did you mean 'exshallow'?"
    )


def test_an_option_that_resembles_nothing_gets_no_hint():
    assert "Did you mean" not in str(UnknownOptionError.of("algorithm", "zzz", ALGORITHMS))
    assert "Did you mean" not in str(UnknownOptionError.of("algorithm", 7, ALGORITHMS))


@given(st.text(max_size=12), st.lists(st.text(min_size=1, max_size=8), max_size=5))
def test_a_hint_always_names_a_valid_word(given_word, valid):
    hint = did_you_mean(given_word, valid)
    assert hint == "" or any(hint == f" Did you mean {word!r}?" for word in valid)


def test_a_word_that_differs_in_case_alone_is_recognized():
    assert did_you_mean("IMM", ALGORITHMS) == " Did you mean 'imm'?"


def test_a_word_cut_short_is_recognized():
    assert did_you_mean("poly", ["rbf", "polynomial"]) == " Did you mean 'polynomial'?"
    assert did_you_mean("chi", ["additive_chi2", "chi2"]) == " Did you mean 'chi2'?"
    assert did_you_mean("ex", ALGORITHMS) == ""  # might be any of three


def test_long_lists_are_cut_and_counted():
    assert listed("abc") == "'a', 'b', 'c'"
    assert listed("abcdefgh", most=3) == "'a', 'b', 'c' and 5 more"


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    assert str(MissingDependencyError.of("pyarrow", purpose="Reading Parquet files", extra="files")) == (
        'Reading Parquet files needs pyarrow, which is not installed. Install it: pip install "cutwise[files]"'
    )
    assert str(MissingDependencyError.of("hdbscan", purpose="This example")).endswith("pip install hdbscan")


def test_centers_that_no_cut_can_part_are_named():
    message = str(UnseparableCentersWarning.of([[0, 3], [1, 2, 5]]))
    assert "0 = 3; 1 = 2 = 5" in message
    assert "and 2 more" in str(UnseparableCentersWarning.of([[i, i + 10] for i in range(7)]))


def test_clusters_without_rows_are_named():
    assert str(EmptyClusterWarning.of([4])).startswith("Cluster 4 ended without rows")
    assert str(EmptyClusterWarning.of([4, 7])).startswith("Clusters 4, 7 ended without rows")
    assert " 18, 19 and 280 more ended without rows" in str(EmptyClusterWarning.of(range(300)))


def test_a_warning_points_at_the_line_that_called_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(ColumnNamesWarning("names on one side"))
        table = pd.DataFrame({"n": [1, 2, 8, 9], "id": ["a", "b", "c", "d"]})
        cutwise.ClusterExplainer().fit(table, [["x"], ["x"], ["y"], ["y"]])  # warns of "id", and of two dimensions
        clusterer = SpectralClustering(2, random_state=0)
        cutwise.ExplainableKMeans(2, reference=clusterer).fit(table[["n"]], sample_weight=[1, 1, 2, 2])
    assert [w.filename for w in caught if "graph" not in str(w.message)] == [__file__] * 4


def test_all_errors_are_cutwise_errors():
    for c in public_classes():
        assert issubclass(c, CutwiseWarning if c.__name__.endswith("Warning") else CutwiseError)
