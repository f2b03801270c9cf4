"""Rules as a data frame of whichever library one works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cutwise.exceptions import MissingDependencyError
from cutwise.table import check_option

__all__ = ["LIBRARIES", "to_frame"]

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(columns: Mapping[str, Sequence[Any]], library: str | None, *, usual: str | None = None) -> Any:
    """Columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to sequence
        All of one length.
    library : {"pandas", "polars", "pyarrow"} or None
        None takes ``usual``, or the first that is installed.
    usual : str, optional
        The library of the table that the model was fitted on, whichever it was.

    Returns
    -------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Raises
    ------
    UnknownOptionError
        Another library.
    MissingDependencyError
        It is not installed, or none is.
    """
    check_option("library", library, (*LIBRARIES, None))
    installed = [name for name in LIBRARIES if find_spec(name) is not None]
    if library is None:
        library = usual if usual in installed else next(iter(installed), "pandas")
    if library not in installed:
        raise MissingDependencyError.of(library, purpose="A data frame of rules", extra="files")
    module = import_module(library)
    return (module.table if library == "pyarrow" else module.DataFrame)(dict(columns))
