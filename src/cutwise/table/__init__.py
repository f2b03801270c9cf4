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
from .labels import Labels, read_labels, read_weights
from .mixed import MixedOptions
from .table import (
    ColumnKind,
    Columns,
    EncodedTable,
    HasColumns,
    SearchedColumns,
    Table,
    are_plain,
    check_same_columns,
    encode_table,
    number_kind,
    searched_columns,
)

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
