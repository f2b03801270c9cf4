"""Intake: tables, labels, weights and parameters are checked once, here, and errors name what is wrong and where."""

from .convert import as_dense
from .intake import (
    Seed,
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_number,
    check_option,
    read_random_state,
    read_table,
    take_rows,
)
from .kinds import ColumnKind, are_plain, number_kind
from .labels import Labels, read_labels, read_weights
from .mixed import MixedOptions
from .rows import EncodedTable, encode_table
from .searched import SearchedColumns, searched_columns
from .table import Columns, HasColumns, Table, check_same_columns

__all__ = [
    "ColumnKind",
    "Columns",
    "EncodedTable",
    "HasColumns",
    "Labels",
    "MixedOptions",
    "SearchedColumns",
    "Seed",
    "Table",
    "are_plain",
    "as_dense",
    "check_integer",
    "check_max_leaves",
    "check_n_clusters",
    "check_n_jobs",
    "check_number",
    "check_option",
    "check_same_columns",
    "encode_table",
    "number_kind",
    "read_labels",
    "read_random_state",
    "read_table",
    "read_weights",
    "searched_columns",
    "take_rows",
]
