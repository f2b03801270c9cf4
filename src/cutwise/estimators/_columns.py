"""The columns an estimator was fitted on: remembered at fit, asked of every table after."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from cutwise.table.intake import drop_columns, read_table
from cutwise.table.table import ColumnKind, Columns, NumberedNames, Table


class RemembersColumns:
    """Part of an estimator: ``n_features_in_`` and ``feature_names_in_`` as scikit-learn wants them."""

    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _frame_library: str | None
    _kinds: tuple[ColumnKind, ...] = ()
    # What a program did to the table before fit: "notes" on it, columns "left_out", and those of whose cells only
    # "numbers" were taken.
    _intake: Mapping[str, Any] = {}
    _beside: Sequence[str] = ()  # columns of weights and labels at fit, which later frames may hold too

    def _remember_columns(self, table: Table) -> None:
        """Set what scikit-learn wants to know about the input."""
        self.n_features_in_ = table.n_columns
        self._frame_library = table.library
        self._kinds, self._intake = table.kinds, {}
        if table.has_names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
            self._beside = [name for name in self._beside if name not in table.names]  # those of AnnData.obs may be
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # from an earlier fit

    def _remember_texts(self, columns: Container[str]) -> None:
        """Note which columns of truth values are words in the file that they were read from."""
        named = self._kinds_by_name.items()
        self._kinds = tuple(replace(kind, is_text=kind.name == "bool" and name in columns) for name, kind in named)

    def _columns_of_fit(self) -> Columns:
        """The columns of fit."""
        if hasattr(self, "feature_names_in_"):
            return Columns(tuple(self.feature_names_in_), True, self._kinds)
        return Columns(NumberedNames(self.n_features_in_), False, self._kinds)

    @property
    def _kinds_by_name(self) -> dict[str, ColumnKind]:
        """The kind of every column, by name."""
        columns = self._columns_of_fit()
        return dict(zip(columns.names, columns.kinds, strict=True))

    @property
    def column_kinds_(self) -> dict[str, str]:
        """What every column was taken for, by name: number, integer, bool, category, ordered, date or duration."""
        return {name: kind.name for name, kind in self._kinds_by_name.items()}

    @property
    def left_out_(self) -> dict[str, str]:
        """The columns that take no part, each with the reason."""
        own = {name: kind.left_out for name, kind in self._kinds_by_name.items() if kind.left_out}
        return {**self._intake.get("left_out", {}), **own}

    def _read(self, X: Any, tested: npt.NDArray[np.integer] | None = None) -> Table:
        """Rows to answer for, with the columns of fit; of a named frame only those tested where they are given."""
        check_is_fitted(self)
        unknown = getattr(self, "handle_unknown", "outside")
        columns, estimator = self._columns_of_fit(), type(self).__name__
        return read_table(
            drop_columns(X, self._beside), fitted=columns, estimator=estimator, tested=tested, unknown=unknown
        )
