"""The tables that scikit-learn carries along: real data to try the command line on."""

from __future__ import annotations

from cutwise.cli._files import Source
from cutwise.table import check_option

__all__ = ["EXAMPLE_TABLES", "clusters_of_example", "read_example"]

# Name -> number of kinds that the data's publishers tell apart: the clusters asked for unless -k says otherwise.
EXAMPLE_TABLES = {"wine": 3, "iris": 3, "breast_cancer": 2, "digits": 10}


def clusters_of_example(name: str) -> int:
    """How many kinds the data of an example are of.

    Raises
    ------
    UnknownOptionError
        No such example.
    """
    return EXAMPLE_TABLES[check_option("--example", name, tuple(EXAMPLE_TABLES))]


def read_example(name: str) -> Source:
    """A bundled table with its column names, without the column that says the kind.

    Raises
    ------
    UnknownOptionError
        No such example.
    """
    check_option("--example", name, tuple(EXAMPLE_TABLES))
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Source(pd.DataFrame(bunch.data, columns=list(bunch.feature_names)), f"example {name}")
