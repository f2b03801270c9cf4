"""What a column is like, as far as that decides whether it takes part: looked at in memory, or in batches."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Literal

from cutwise.cli.cells import holds_codes
from cutwise.cli.screen import working
from cutwise.cli.tables import CODE_CELL, Source, in_batches, is_word
from cutwise.table.mixed import MOST_ITEMS, are_dates

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl

NESTED = "neither numbers, texts nor dates"

_IDENTIFIER = re.compile(r"Unnamed: 0|(?i:index|row|(row[ _.-]?)?(id|no|nr|number)|uuid|.*[ _.-]id)|.*[a-z]I[dD]")


@dataclass(frozen=True)
class Texts:
    """The different texts of a column: how many there are, and how many of one row."""

    n_rows: int
    n_known: int
    n_distinct: int
    n_once: int
    first: Sequence[str] = ()  # some of them, the first in order
    are_codes: bool = False
    about: str = ""  # where they were not all counted

    def __str__(self) -> str:
        if are_dates(self.first):
            return "dates written as text"
        if self.n_distinct == self.n_known > 2 and not self.about:
            return "a different text in every row"
        if self.are_codes:
            return "codes with leading zeros"
        if 2 * self.n_distinct > self.n_known > 2 or self.about:
            return f"free text: {self.about}{self.n_distinct:,} different texts in {self.n_known:,} rows"
        gaps = "" if self.n_known == self.n_rows else f", and {self.n_rows - self.n_known:,} gaps"
        return f"text: {self.n_distinct:,} different value{'s' if self.n_distinct > 1 else ''}{gaps}"


Kind = Literal["integers", "numbers", "text", "ordered", "nested", "other"]


@dataclass(frozen=True)
class Look:
    """A column as it was looked at; what takes a look of its own is asked for by a call.

    ``low``, ``high``: of numbers, and of others that are looked at in batches; None elsewhere. ``words``: what is no
    number where most cells are numbers.
    """

    name: str
    kind: Kind
    n_rows: int
    n_known: int
    low: Any
    high: Any
    all_differ: Callable[[], bool]
    n_distinct: Callable[[], int]
    texts: Callable[[], Texts]
    words: str = ""

    def why_left_out(self, unread: str = "", *, mixed: bool = True) -> str | None:
        """Why it says nothing of what rows are like, or says it in words; None where it takes part.

        ``unread``: of dates that stay text. With ``mixed`` words that several rows share take part.
        """
        if not self.n_known:
            return "no value"
        if self.kind == "nested":
            return NESTED
        if self.words:
            return self.words
        if self.kind == "text" and not (mixed and 2 * self.texts().n_once <= self.n_rows):
            return unread or str(self.texts())
        if self.kind in ("other", "ordered") and not mixed:
            return "dates or times" if self.kind == "other" else "levels in an order"
        if self.is_constant:
            return "the same value in every row"
        return "it numbers the rows" if self._differs_by_design and self.all_differ() else None

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same value."""
        if not self.n_known == self.n_rows > 1:
            return False
        return bool(self.low == self.high) if self.low is not None else self.n_distinct() == 1

    @property
    def is_infinite(self) -> bool:
        """Whether numbers hold infinity."""
        return bool(self.kind == "numbers" and self.n_known and (self.low == -math.inf or self.high == math.inf))

    @property
    def _differs_by_design(self) -> bool:
        """Whether whole numbers that all differ were not measured: such would not, or the name says so."""
        if self.kind != "integers" or self.n_known < self.n_rows:
            return False
        # So many pairs of measured values would be equal on average, were they spread evenly.
        n_pairs = self.n_rows * (self.n_rows - 1) / 2 / (int(self.high) - int(self.low) + 1)
        return n_pairs >= 10 or _IDENTIFIER.fullmatch(self.name) is not None

    @property
    def may_be_codes(self) -> bool:
        """Whether whole numbers may stand for kinds: a few, from 1 on without a hole, each in many rows."""
        if self.kind != "integers" or self.n_known < self.n_rows or self.low != 1:
            return False
        return bool(2 <= self.high <= 12 and self.n_rows >= 10 * self.high and self.n_distinct() == self.high)


def look_at(source: Source, column: str) -> Look:
    """A column of a table in memory."""
    values = source.frame[column]
    known = values.dropna() if values.hasnans else values
    kind, words = _kind_of(values, known), ""
    are_numbers = kind in ("integers", "numbers")
    if kind == "text" and (rows := rows_of_words(source, column)) is not None:
        words = numbers_but(source, int(rows[0]), values.iloc[rows[0]], len(rows))

    def texts() -> Texts:
        counts = known.astype(str).value_counts()
        first, are_codes = nsmallest(100, counts.index), holds_codes(known.unique().tolist())
        return Texts(len(values), len(known), len(counts), int((counts == 1).sum()), first, are_codes)

    return Look(
        str(column), kind, len(values), len(known),
        low=known.min() if are_numbers else None, high=known.max() if are_numbers else None,
        all_differ=lambda: bool(known.is_unique), n_distinct=known.nunique, texts=texts, words=words,
    )  # fmt: skip


def is_numeric(values: pd.Series) -> bool:
    """Whether a column is of numbers or truth values by its type."""
    from pandas.api import types

    return types.is_numeric_dtype(values) and not types.is_complex_dtype(values)


def _kind_of(values: pd.Series, known: pd.Series) -> Kind:
    import pandas as pd
    from pandas.api import types

    if is_numeric(values):
        return "integers" if values.dtype.kind in "iu" else "numbers"
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return "ordered"
    if values.dtype.kind in "mM" or (len(known) and isinstance(known.iloc[0], dt.time)):
        return "other"
    return "nested" if len(known) and not types.is_hashable(known.iloc[0]) else "text"


def rows_of_words(source: Source, column: str) -> npt.NDArray[np.intp] | None:
    """The rows that hold no number, of a column that is not numeric where most cells are numbers; None elsewhere."""
    import numpy as np
    import pandas as pd

    values = source.frame[column]
    numbers = pd.to_numeric(values.astype("object"), errors="coerce")
    rows = np.flatnonzero((numbers.isna() & values.notna()).to_numpy())
    most_are_numbers = 0 < 2 * len(rows) <= values.notna().sum()
    return rows if most_are_numbers and not holds_codes(values.dropna().unique().tolist()) else None


def numbers_but(source: Source, row: int, word: object, n_words: int) -> str:
    """What a column holds besides numbers, in words."""
    more = f" and {n_words - 1:,} more cell{'s' if n_words > 2 else ''}" if n_words > 1 else ""
    return f"numbers, but {shortened(word)!r} in {source.row(row)}{more}"


def shortened(value: object) -> str:
    """A cell as messages show it."""
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def look_at_batches(source: Source, rows: pl.LazyFrame, columns: Sequence[str]) -> list[Look]:
    """The same of columns whose rows are read in batches, by a pass for all, and one for each that needs it."""
    import polars as pl

    types = rows.collect_schema()
    flat = pl.selectors.by_dtype(pl.String, pl.Enum, pl.Boolean, pl.Null, pl.Binary)
    nested = set(columns).difference(
        pl.selectors.expand_selector(rows, flat | pl.selectors.numeric() | pl.selectors.temporal())
    )
    figures = {"n": pl.len()}
    for i, name in enumerate(columns):
        x = pl.col(name) if name not in nested else pl.lit(None)
        figures |= {f"gaps {i}": pl.col(name).null_count(), f"low {i}": x.min(), f"high {i}": x.max()}
        if types[name] == pl.String:
            figures |= {f"words {i}": is_word(x).sum(), f"codes {i}": x.str.contains(CODE_CELL).any()}
    with working(f"looking at the columns of {source.name}"), in_batches(source.name):
        found = rows.select(**figures).collect(engine="streaming").row(0, named=True)
    n = int(found["n"])

    def look(i: int, name: str) -> Look:
        own, dtype = rows.select(name), types[name]
        n_known, low, high = n - found[f"gaps {i}"], found[f"low {i}"], found[f"high {i}"]
        n_words, are_codes, words = found.get(f"words {i}"), bool(found.get(f"codes {i}")), ""
        if n_words and 2 * n_words <= n_known and not are_codes:
            others = own.with_row_index(f"row of {name}").filter(is_word(pl.col(name)))
            row, word = others.head(1).collect().row(0)
            words = numbers_but(source, row, word, n_words)
        return Look(
            name,
            "nested" if name in nested
            else "integers" if dtype.is_integer()
            else "numbers" if dtype.is_numeric() or dtype == pl.Boolean
            else "ordered" if dtype == pl.Enum
            else "other" if n_words is None
            else "text",
            n, n_known, low=low, high=high,
            all_differ=lambda: _all_differ(own, n),
            n_distinct=lambda: int(own.select(pl.first().n_unique()).collect(engine="streaming").item()),
            texts=lambda: _texts_of(own, n, are_codes), words=words,
        )  # fmt: skip

    return [look(i, name) for i, name in enumerate(columns)]


def _texts_of(column: pl.LazyFrame, n: int, are_codes: bool) -> Texts:
    """The texts of a column, which need not all be counted where they are very many."""
    import polars as pl

    x = pl.first()
    about = int(column.select(x.approx_n_unique()).collect(engine="streaming").item())
    if about > MOST_ITEMS:
        return Texts(n, n, about, n, about="about ")
    counted = column.select(x.alias("text")).drop_nulls().group_by("text").len().collect(engine="streaming")
    times = counted["len"]
    first = counted["text"].bottom_k(100).sort().to_list()
    return Texts(n, int(times.sum()), len(times), int((times == 1).sum()), first, are_codes)


def _all_differ(column: pl.LazyFrame, n: int) -> bool:
    """Whether no value of a column occurs twice, without keeping more than some millions of them."""
    import polars as pl

    x, parts = pl.first(), 1 + (n >> 23)
    if column.head(10_000).select(x.is_duplicated().any()).collect().item():
        return False
    for part in range(parts):
        own = column.filter(x.hash() % parts == part)
        if own.select(x.n_unique() < x.len()).collect(engine="streaming").item():
            return False
    return True
