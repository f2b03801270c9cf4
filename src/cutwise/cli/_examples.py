"""The tables that scikit-learn carries along: real data to try the command line on."""

from __future__ import annotations

from cutwise.cli._files import Source
from cutwise.exceptions import UnknownOptionError

__all__ = ["EXAMPLE_TABLES", "read_example"]

# Name -> number of kinds that the data's publishers tell apart: the clusters asked for unless -k says otherwise.
EXAMPLE_TABLES = {"wine": 3, "iris": 3, "breast_cancer": 2, "digits": 10}


def read_example(name: str) -> tuple[Source, int]:
    """A bundled table with its column names, without the column that says the kind.

    Parameters
    ----------
    name : str
        One of ``EXAMPLE_TABLES``.

    Returns
    -------
    source : Source
    n_clusters : int
        How many kinds there are.

    Raises
    ------
    UnknownOptionError
        No such example.
    """
    if name not in EXAMPLE_TABLES:
        raise UnknownOptionError.of("--example", name, list(EXAMPLE_TABLES))
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Source(pd.DataFrame(bunch.data, columns=list(bunch.feature_names)), f"example {name}"), EXAMPLE_TABLES[name]
