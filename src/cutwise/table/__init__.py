"""Intake: tables, labels, weights and parameters are checked once, here, and errors name what is wrong and where."""

from .columns import Columns, HasColumns, check_same_columns
from .intake import read_table
from .table import Table

__all__ = ["Columns", "HasColumns", "Table", "check_same_columns", "read_table"]
