"""Scans of columns, to decide whether they are used."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Literal

from cutwise.cli.cells import contains_codes
from cutwise.cli.screen import working
from cutwise.cli.tables import Source
from cutwise.table.mixed import MOST_ITEMS, are_dates

if TYPE_CHECKING:
    import pandas as pd

NESTED = "neither numbers, text nor dates"

# Several rows may have one of these: visits of a person, or rows of one name in joined files.
_IDENTIFIER = re.compile(r"Unnamed: 0|(?i:id|uuid|.*[ _.-]id)|.*[a-z]I[dD]")
_ROW_NUMBER = re.compile(r"(?i:index|row|(row[ _.-]?)?(id|no|nr|number)|obs|observation|case)")
_FEW = 12

Kind = Literal["integers", "numbers", "text", "ordered", "nested", "other"]


@dataclass(eq=False)
class ColumnScan:
    """Statistics of a column over the rows seen so far.

    ``low``, ``high``: extremes of numbers. ``value``: the first value of other columns. ``few``: distinct whole
    numbers, all of them if they are few. ``counts``: frequency of every text; incomplete (``is_cut``) for
    very many texts of a table in batches. ``word``: number and content of the first row with a text that is not a
    number.
    """

    source: Source
    name: str
    kind: Kind = "text"
    n_rows: int = 0
    n_known: int = 0
    low: Any = None
    high: Any = None
    value: Any = None
    is_one_value: bool = True
    few: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    is_cut: bool = False
    are_codes: bool = False
    word: tuple[int, Any] = (0, None)
    n_words: int = 0

    def update(self, values: pd.Series) -> None:
        """Add further rows."""
        known = values.dropna() if values.hasnans else values
        kind, is_first, n_before = _kind_of(values, known), not self.n_known, self.n_rows
        self.n_rows, self.n_known = self.n_rows + len(values), self.n_known + len(known)
        if len(known) == 0 or kind == "nested":
            self.kind = kind if is_first else self.kind
            return
        self.kind = kind if is_first or kind == self.kind else "numbers"  # whole numbers and others, or gaps
        if kind in ("integers", "numbers"):
            low, high = known.min(), known.max()
            self.low, self.high = (low, high) if is_first else (min(low, self.low), max(high, self.high))
            self.is_one_value = bool(self.low == self.high)
            if len(self.few) <= _FEW and (
                kind == "integers" or (_IDENTIFIER.fullmatch(self.name) and bool((known % 1 == 0).all()))
            ):
                first = known.iloc[:1000]
                self.few.update((known if first.nunique() <= _FEW else first).unique().tolist())
            return
        self.value = known.iloc[0] if is_first else self.value
        self.is_one_value = self.is_one_value and bool((known == self.value).all())
        if kind == "text":
            self._update_texts(values, known.astype(str), n_before)

    def _update_texts(self, values: pd.Series, known: pd.Series, n_before: int) -> None:
        import pandas as pd

        counts = known.value_counts()
        words = counts[pd.to_numeric(counts.index.to_series(), errors="coerce").isna().to_numpy()]
        if len(words) and not self.n_words:
            row = int((values.notna() & values.astype(str).isin(words.index)).to_numpy().argmax())
            self.word = n_before + row, values.iloc[row]
        self.n_words += int(words.sum())
        self.are_codes = self.are_codes or contains_codes(counts.index.tolist())
        if not self.is_cut:
            self.counts.update(counts.to_dict())
            self.is_cut = self.source.in_batches and len(self.counts) > MOST_ITEMS

    @property
    def words(self) -> str:
        """The cells that are not numbers in a column of mostly numbers, in words."""
        if self.kind != "text" or not 0 < 2 * self.n_words <= self.n_known or self.are_codes:
            return ""
        (row, word), n = self.word, self.n_words
        more = f" and {n - 1:,} more cell{'s' if n > 2 else ''}" if n > 1 else ""
        return f"numbers, but {shortened(word)!r} in {self.source.row(row)}{more}"

    @property
    def are_levels(self) -> bool:
        """Whether a column of numbers and words has few different cells, each in several rows: 1, 2, 3+.

        Not if it has its own name among them: files were joined with their first lines.
        """
        n, is_own = len(self.counts), self.name in self.counts
        return bool(self.words) and not is_own and n <= _FEW and 10 * n <= self.n_rows and min(self.counts.values()) > 1

    def why_left_out(self, unread: str = "", *, mixed: bool = True) -> str | None:
        """Reason to leave the column out, as it does not describe rows or has words; None if it is used.

        ``unread``: kind of dates that stay text. With ``mixed``, words that several rows share are used.
        """
        if not self.n_known:
            return "no value"
        if self.kind == "nested":
            return NESTED
        if self.words and not (mixed and self.are_levels):
            return self.words
        n_once = sum(n == 1 for n in self.counts.values())
        if self.kind == "text" and not (mixed and not self.is_cut and 2 * n_once <= self.n_rows):
            return unread or self._texts
        if self.kind in ("other", "ordered") and not mixed:
            return "dates or times" if self.kind == "other" else "levels in an order"
        if self.n_known == self.n_rows > 1 and self.is_one_value:
            return "the same value in every row"
        if self._differs_by_design and self._all_differ():
            return "a row identifier"
        if not self._are_identifiers:
            return None
        return "identifiers with gaps" if self.n_known < self.n_rows else "identifiers that several rows share"

    @property
    def is_infinite(self) -> bool:
        """Whether numbers contain infinity."""
        return bool(self.kind == "numbers" and self.n_known and (self.low == -math.inf or self.high == math.inf))

    @property
    def may_be_codes(self) -> bool:
        """Whether whole numbers may be codes of categories: few, consecutive from 1, each in many rows."""
        if self.kind != "integers" or self.n_known < self.n_rows or self.low != 1:
            return False
        return bool(2 <= self.high <= _FEW and self.n_rows >= 10 * self.high and len(self.few) == self.high)

    @property
    def _texts(self) -> str:
        """Description of the texts, in words."""
        n = len(self.counts)
        if are_dates(nsmallest(100, self.counts)):
            return "dates written as text"
        if n == self.n_known > 2:
            return "a different value in every row"
        if self.are_codes:
            return "codes with leading zeros"
        if self.is_cut or 2 * n > self.n_known > 2:
            many = f"more than {MOST_ITEMS:,}" if self.is_cut else f"{n:,}"
            return f"free text: {many} different values in {self.n_known:,} rows"
        n_gaps = self.n_rows - self.n_known
        gaps = f", and {n_gaps:,} gap{'s' if n_gaps > 1 else ''}" if n_gaps else ""
        return f"text: {n:,} different value{'s' if n > 1 else ''}{gaps}"

    @property
    def _differs_by_design(self) -> bool:
        """Whether distinct whole numbers identify rows: measured ones would repeat, or the name says so."""
        if self.kind != "integers" or self.n_known < self.n_rows:
            return False
        # Expected number of equal pairs among evenly spread measured values.
        n_pairs = self.n_rows * (self.n_rows - 1) / 2 / (int(self.high) - int(self.low) + 1)
        return n_pairs >= 10 or any(names.fullmatch(self.name) for names in (_IDENTIFIER, _ROW_NUMBER))

    @property
    def _are_identifiers(self) -> bool:
        """Whether the name says that whole numbers or texts identify persons or places, and there are many."""
        if _IDENTIFIER.fullmatch(self.name) is None or (self.kind == "numbers" and (self.low % 1 or self.high % 1)):
            return False
        return len(self.counts if self.kind == "text" else self.few) > _FEW

    def _all_differ(self) -> bool:
        """Whether no whole number occurs twice; at most some millions of numbers are kept in memory."""
        import pandas as pd

        parts = 1 + (self.n_rows >> 23)
        for part in range(parts):
            found = []
            for batch in self.source.batches([self.name]):
                own = batch[self.name]
                found.append(own[own % parts == part])
                if not found[-1].is_unique:
                    return False
            if not pd.concat(found).is_unique:
                return False
        return True


def scan_columns(source: Source, columns: Sequence[str]) -> list[ColumnScan]:
    """Scan columns of a table in one pass over its rows."""
    scans = [ColumnScan(source, str(name)) for name in columns]
    with working(f"looking at the columns of {source.name}", quiet=not source.in_batches):
        for batch in source.batches(columns):
            for scan in scans:
                scan.update(batch[scan.name])
    return scans


def _kind_of(values: pd.Series, known: pd.Series) -> Kind:
    import pandas as pd
    from pandas.api import types

    if types.is_numeric_dtype(values) and not types.is_complex_dtype(values):
        return "integers" if values.dtype.kind in "iu" else "numbers"
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return "ordered"
    if values.dtype.kind in "mM" or (len(known) and isinstance(known.iloc[0], dt.time)):
        return "other"
    return "nested" if len(known) and not types.is_hashable(known.iloc[0]) else "text"


def shortened(value: object) -> str:
    """A cell as messages show it."""
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
