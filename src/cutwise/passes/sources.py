"""Sources of rows that are not in memory: the engine that has them reads them, batch by batch."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib import import_module
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import (
    ChangedDataError,
    ColumnMismatchError,
    CutwiseError,
    InvalidInputError,
    MissingDependencyError,
    MissingValueError,
    NotFiniteError,
    NotNumericError,
    UnsupportedInputError,
    optional_package,
    shown,
)
from cutwise.reference.objective import sum_costs, sum_weights
from cutwise.table.intake import TableSums, check_same_names, pop_column, read_table, read_weights
from cutwise.table.labels import read_labels
from cutwise.table.table import Columns, Table, as_matrix, kind_of_both, searched_columns
from cutwise.tree.refine_sample import sample_sizes

from .spill import Column, Copies
from .sums import Smallest, T

BATCH_ROWS = 1 << 16
"""Rows per batch, where the engine has such an option."""

_BUFFER_BYTES = 1 << 13
"""Read buffer of each column of a Parquet file."""

TOGETHER = 4
"""Partitions of Dask that are computed, or results that are merged, at a time."""


class Batches:
    """Rows that come in batches, from any source, and can be read several times.

    Parameters
    ----------
    open : callable without arguments, or list
        A function that returns a fresh iterator over batches at each call, or a list of batches. A batch is an array of
        shape (n, n_features), a data frame or an Arrow record batch; all have the same columns. Batches may have any
        size and come in any order, but every call must give the same rows.
    names : sequence of str, default=None
        Column names, when the batches are arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from cutwise import Batches, ExplainableKMeans
    >>> parts = [np.arange(8.0).reshape(4, 2), np.arange(100.0, 108.0).reshape(4, 2)]
    >>> source = Batches(lambda: iter(parts), names=["a", "b"])
    >>> model = ExplainableKMeans(2, random_state=0).fit(np.vstack(parts))
    >>> [labels.tolist() for labels in model.predict(Batches(lambda: iter(parts)))]
    [[0, 0, 0, 0], [1, 1, 1, 1]]
    """

    def __init__(
        self,
        open: Callable[[], Iterable[Any]] | list[Any] | tuple[Any, ...],  # noqa: A002
        names: Iterable[str] | None = None,
    ) -> None:
        if isinstance(open, (list, tuple)):
            open = open.__iter__  # noqa: A001
        if not callable(open):
            raise UnsupportedInputError(
                f"Batches takes a function that returns the batches anew on each call, not {type(open).__name__}: a "
                "fit goes over the rows several times. Batches(lambda: iter(parts)), for instance."
            )
        self.open = open
        self.names = None if names is None else tuple(names)

    def __iter__(self) -> Iterator[Any]:
        batches = self.open()
        if not isinstance(batches, Iterable):
            raise UnsupportedInputError(
                f"The function of Batches returned {shown(batches)}, not batches to go over. Batches(lambda: "
                "iter(parts)), for instance."
            )
        for batch in batches:
            yield batch if self.names is None else _named(batch, self.names)


def _named(batch: Any, names: tuple[str, ...]) -> Any:
    """Convert an array to a record batch with column names."""
    pa = _pyarrow("Batches with names")
    _refuse_sparse(batch)
    values = np.asarray(batch)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise InvalidInputError(f"Batches has {len(names)} names, and a batch of shape {values.shape}.")
    return pa.record_batch([pa.array(column) for column in values.T], names=list(names))


def _refuse_sparse(batch: Any) -> None:
    if sparse.issparse(batch):
        raise UnsupportedInputError(
            "X gives batches of sparse rows, and dense ones are needed. Give them as such: Batches(lambda: "
            "(part.toarray() for part in parts)), of frames part.sparse.to_dense(); or all in memory: "
            "scipy.sparse.vstack(parts), pandas.concat(parts)."
        )


def _pyarrow(what: str) -> Any:
    """Import pyarrow; ``what``: for what, in the error if it is missing."""
    return optional_package("pyarrow", f"{what}, read in batches,", "files")


@dataclass(frozen=True, eq=False)
class LazyTable:
    """A table that an engine reads on demand.

    ``native``: the user's object. ``names``: of its columns; None if only the batches have names. ``mapped(work)``:
    iterates over ``work(batch)``, computed by the engine where it can. ``with_column(column)``: the label of every row,
    as an object of a similar kind. ``engine(work, merge)``: applies ``work`` to the batches of each partition and
    merges the results, all by workers; None without workers. ``again(names)``: reads some columns once more.
    """

    native: Any
    names: tuple[str, ...] | None
    mapped: Callable[[Callable[[Any], Any]], Iterator[Any]]
    with_column: Callable[[TreeColumn], Any]
    engine: Callable[[Callable[[Iterable[Any]], Any], Callable[[Any, Any], Any]], Any] | None = None
    again: Callable[[list[str]], Iterable[Any]] | None = None

    def batches(self) -> Iterator[Any]:
        """Iterate over all rows, once."""
        return self.mapped(itself)

    def types(self) -> Mapping[str, Any]:
        """Column types by name, where the engine predicts by an expression; empty for other engines."""
        if nw.dependencies.is_dask_dataframe(self.native):
            return {}
        frame = nw.from_native(self.native, pass_through=True)
        if not isinstance(frame, nw.LazyFrame):
            return {}
        types, native = dict(frame.collect_schema()), getattr(self.native, "types", ())
        for name, own in zip(types, native if nw.dependencies.is_duckdb_relation(self.native) else (), strict=False):
            if str(own) == "TIMESTAMPTZ_NS":  # which narwhals does not know
                types[name] = nw.Datetime("ns", "UTC")
        return types

    def as_compared(self, columns: Mapping[str, bool]) -> LazyTable:
        """Cast columns to float64 whose types the engine cannot compare with the tree's tests.

        ``columns``: by name, True if fit saw booleans, which do not compare with decimals; False for numbers.
        """
        types = self.types()
        names = [name for name, are in columns.items() if types.get(name) == (nw.Decimal if are else nw.Boolean)]
        if not names:
            return self
        frame: Any = nw.from_native(self.native).with_columns(nw.col(*names).cast(nw.Float64))
        return cast("LazyTable", as_lazy(frame.to_native()))

    def read_by(self, read: Callable[[Any], Any]) -> LazyTable:
        """Pass every batch through ``read``."""
        return replace(
            self, engine=None, again=None, mapped=lambda work: (work(read(batch)) for batch in self.batches())
        )


def itself(batch: Any) -> Any:
    """Return the batch unchanged."""
    return batch


@dataclass(frozen=True, eq=False)
class TreeColumn:
    """A tree's label of every row, in forms that engines can compute.

    ``names``: of the table's columns. ``labels``: of the clusters, as Python values. ``predict(batch)``: labels of the
    batch. ``sql(dialect)``: the tree as a CASE expression. ``polars()``: as an expression of polars.
    """

    names: Sequence[str]
    labels: list[Any]
    predict: Callable[[Any], npt.NDArray[Any]]
    sql: Callable[[str], str]
    polars: Callable[[], Any]


COLUMN = "cluster"
"""Name of the column of predicted labels."""


def as_lazy(X: Any) -> LazyTable | None:
    """Wrap an object that is read in batches; None for any other object."""
    if isinstance(X, LazyTable):
        return X
    if isinstance(X, Batches):
        return LazyTable(
            X,
            X.names,
            partial(_numbered, X),
            lambda column: Batches(lambda: _numbered(X, partial(_labels, column), skip_empty=False)),
        )
    library, kind = type(X).__module__.partition(".")[0].lstrip("_"), type(X).__name__
    if library == "polars" and kind == "LazyFrame":
        return polars_table(X)
    if library == "duckdb" and kind == "DuckDBPyRelation":
        return LazyTable(
            X,
            tuple(X.columns),
            lambda work: map(work, _arrow_reader(X)),
            lambda column: X.project(f"{column.sql('duckdb')}\nAS {COLUMN}"),
        )
    if library == "pyarrow" and any(base.__name__ == "Dataset" for base in type(X).__mro__):
        return LazyTable(
            X,
            tuple(X.schema.names),
            lambda work: map(work, _read_dataset(X)),
            lambda column: _scanned(X, column),
            again=partial(scan_dataset, X) if are_numbers(X.schema.types) else None,
        )
    if library == "pyspark" and kind == "DataFrame" and hasattr(X, "mapInArrow"):
        return LazyTable(
            X,
            tuple(X.columns),
            lambda work: map(work, _spark_batches(X)),
            lambda column: _selected(X, column),
            partial(_spark_total, X),
        )
    if library == "dask" and kind == "DataFrame":
        return LazyTable(
            X,
            tuple(str(name) for name in X.columns),
            lambda work: _dask_results(X, work),
            lambda column: _partitions(X, column),
            partial(_dask_total, X),
        )
    return None


def _numbered(batches: Batches, work: Callable[[Any], Any], *, skip_empty: bool = True) -> Iterator[Any]:
    """Apply ``work`` to every batch; errors name the batch."""
    for number, batch in enumerate(batches):
        try:
            if _has_rows(batch) or not skip_empty:
                yield work(batch)
        except CutwiseError as error:
            raise type(error)(f"In batch {number} of X, counted from 0: {error}") from error


def _has_rows(batch: Any) -> bool:
    if not hasattr(batch, "shape") and not hasattr(batch, "__len__"):
        raise UnsupportedInputError(
            f"Batches gave a batch of type {type(batch).__name__}. Give arrays of shape (n, n_features), data frames "
            "or Arrow record batches."
        )
    return bool(batch.shape[0] if hasattr(batch, "shape") else len(batch))


def _labels(column: TreeColumn, batch: Any) -> npt.NDArray[Any]:
    return column.predict(batch) if _has_rows(batch) else np.array(column.labels)[:0]


def polars_table(X: Any) -> LazyTable:
    """Wrap a LazyFrame of polars."""
    import polars as pl

    if not hasattr(X, "collect_batches"):
        raise UnsupportedInputError(
            f"polars {pl.__version__} cannot give a LazyFrame in batches. Update it (pip install -U polars), or give "
            "the files to pyarrow.dataset.dataset."
        )

    def mapped(work: Callable[[Any], Any]) -> Iterator[Any]:
        return (work(batch) for batch in X.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False) if len(batch))

    def labels(column: TreeColumn) -> Any:
        # Added before it is selected: the tree of one leaf is a constant, and a constant selected alone is one row.
        return X.with_columns(column.polars().alias(COLUMN)).select(COLUMN)

    return LazyTable(X, tuple(X.collect_schema().names()), mapped, labels)


def _arrow_reader(X: Any) -> Any:
    """Reader of a DuckDB relation's record batches; the method's name depends on the release."""
    _pyarrow("A DuckDB relation")
    return X.to_arrow_reader(BATCH_ROWS) if hasattr(X, "to_arrow_reader") else X.fetch_arrow_reader(BATCH_ROWS)


def _spark_batches(X: Any) -> Iterator[Any]:
    """Record batches of a Spark frame, serialized by its workers, partition by partition."""
    pa = _pyarrow("A Spark frame")

    def written(batches: Iterator[Any]) -> Iterator[Any]:  # pickled by value: workers need no cutwise
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["batch"])

    names = list(X.columns)
    numbered = X.toDF(*map(str, range(len(names))))  # mapInArrow parses names: one with a dot is a field to it
    for row in numbered.mapInArrow(written, "batch binary").toLocalIterator():
        yield from (batch.rename_columns(names) for batch in pa.ipc.open_stream(row[0]) if batch.num_rows)


def _spark_total(X: Any, work: Callable[[Iterable[Any]], T], merge: Callable[[T, T], T]) -> T:
    """Apply ``work`` to every Spark partition and merge the results in one more task; only that row is collected."""
    _pyarrow("A Spark frame")
    names = list(X.columns)

    def of_part(batches: Iterator[Any]) -> Iterator[Any]:
        yield _pickled(work(batch.rename_columns(names) for batch in batches if batch.num_rows))

    def of_all(batches: Iterator[Any]) -> Iterator[Any]:
        parts = (pickle.loads(value.as_py()) for batch in batches for value in batch.column(0))
        yield _pickled(reduce(merge, parts))

    parts = X.toDF(*map(str, range(len(names)))).mapInArrow(of_part, "state binary")
    try:
        ((total,),) = parts.repartition(1).mapInArrow(of_all, "state binary").collect()
    except Exception as error:  # of the engine's own kinds, with what its workers say as text
        missing = re.search(r"No module named '([\w.]+)'", str(error))
        if missing is None:
            raise
        raise MissingDependencyError(
            f"Spark's workers run a Python without {missing[1]}. Install cutwise and pyarrow for it, or set "
            f"PYSPARK_PYTHON to a Python that has them before the session starts; here that is {sys.executable}."
        ) from error
    found: T = pickle.loads(total)
    return found


def _pickled(state: object) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array([pickle.dumps(state)], pa.binary())], ["state"])


def _dask_total(X: Any, work: Callable[[Iterable[Any]], T], merge: Callable[[T, T], T]) -> T:
    """Apply ``work`` to every Dask partition and merge the results, a few at a time."""
    dask: Any = import_module("dask")  # not typed
    of_part = dask.delayed(lambda part: work([part] if len(part) else []))
    of_some = dask.delayed(partial(reduce, merge))
    parts = [of_part(part) for part in X.to_delayed()]
    while len(parts) > 1:
        parts = [of_some(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    found: T = parts[0].compute()
    return found


def _selected(X: Any, column: TreeColumn) -> Any:
    from pyspark.sql import functions

    return X.select(functions.expr(column.sql("spark")).alias(COLUMN))


def _dask_results(X: Any, work: Callable[[Any], Any]) -> Iterator[Any]:
    """Results of ``work`` for the Dask partitions, computed by workers a few at a time."""
    dask: Any = import_module("dask")  # not typed
    of_part = dask.delayed(lambda part: work(part) if len(part) else None)
    parts = X.to_delayed()
    for first in range(0, len(parts), TOGETHER):
        found = dask.compute(*(of_part(part) for part in parts[first : first + TOGETHER]))
        yield from (own for own in found if own is not None)


def _partitions(X: Any, column: TreeColumn) -> Any:
    """Dask series of labels, predicted partition by partition."""
    import pandas as pd

    names = [name for name in column.names if name in X.columns]
    meta = pd.Series(np.array(column.labels)[:0], name=COLUMN)
    return X[names].map_partitions(_predicted, column.predict, meta=meta)


def _predicted(part: Any, predict: Callable[[Any], Any]) -> Any:
    import pandas as pd

    return pd.Series(predict(part) if len(part) else [], index=part.index, name=COLUMN)


@contextmanager
def arrow_reads(error_of: Callable[[str], CutwiseError]) -> Iterator[None]:
    """Convert errors of Arrow, which name the file, to errors of cutwise; ``error_of``: makes one from their text."""
    try:
        yield
    except CutwiseError:
        raise
    except (OSError, ValueError) as error:  # parents of pyarrow's errors
        raise error_of(str(error).rstrip(".")) from error


def _read_dataset(X: Any, names: list[str] | None = None) -> Iterator[Any]:
    """As ``scan_dataset``, with errors of cutwise."""
    step = "Give pyarrow.dataset.dataset a list of those files that belong to the table, or a schema= that fits all."
    with arrow_reads(lambda said: InvalidInputError(f"The dataset X cannot be read: {said}.\n{step}")):
        yield from scan_dataset(X, names)


def scan_dataset(X: Any, names: list[str] | None = None) -> Iterator[Any]:
    """Batches of a dataset, read with little memory: local Parquet files page by page.

    The dataset's own reader takes whole row groups, by default of a million rows each.
    """
    options = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
    files = _plain_files(X)
    if files is None:
        batches = X.to_batches(columns=names, batch_size=BATCH_ROWS, **options)
    else:
        batches = (batch for file in files for batch in _pages(file, names))
    for batch in batches:
        if batch.num_rows:
            yield batch
        del batch  # before the next one is read
    _pyarrow("A dataset").default_memory_pool().release_unused()


def _plain_files(X: Any) -> list[Any] | None:
    """Files of a dataset of local Parquet files that hold exactly its rows and columns; None for other datasets."""
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat

    if (
        not isinstance(X, FileSystemDataset)
        or not isinstance(X.format, ParquetFileFormat)
        or not X.format.equals(ParquetFileFormat())
        or X.filesystem.type_name != "local"
    ):
        return None
    try:
        files = list(X.get_fragments())
    except ValueError:  # a filter leaves out rows
        return None
    return files if all(file.physical_schema.equals(X.schema) for file in files) else None


def _pages(file: Any, names: list[str] | None) -> Iterator[Any]:
    """Batches of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file.path, buffer_size=_BUFFER_BYTES, pre_buffer=False) as rows:
        if not rows.metadata.equals(file.metadata):
            raise ChangedDataError(
                f"{file.path} was rewritten after the dataset was opened. Open the dataset again, and "
                "keep its files unchanged during the fit."
            )
        groups = [group.id for group in file.row_groups]
        for batch in rows.iter_batches(BATCH_ROWS, groups, names, use_threads=False):
            yield batch if names is None else batch.select(names)


def are_numbers(given: Iterable[Any]) -> bool:
    """Whether types of Arrow are of numbers or booleans."""
    from pyarrow import types

    return all(types.is_integer(own) or types.is_floating(own) or types.is_boolean(own) for own in given)


def _scanned(X: Any, column: TreeColumn) -> Any:
    """Record batch reader of labels: pyarrow has no lazy table with new columns."""
    import pyarrow as pa

    schema = pa.schema([(COLUMN, pa.array(column.labels).type)])
    names = [name for name in column.names if name in X.schema.names]
    batches = (
        pa.record_batch([pa.array(column.predict(batch).tolist(), schema.types[0])], schema=schema)
        for batch in _read_dataset(X, names)
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


class Part(NamedTuple):
    """A batch, split into rows that take part and rows left out, with weights and labels as codes."""

    table: Table
    values: npt.NDArray[Any]
    weights: Int64
    left_out: npt.NDArray[Any]
    left_weights: Int64
    classes: npt.NDArray[np.generic]
    labels: Int32

    @classmethod
    def read(cls, batch: Any, weights: str | None, y: str | None, columns: Columns | None = None) -> Part:
        """Read a batch; errors are those of tables in memory.

        ``weights``, ``y``: column names. ``columns``: all other columns, None if they hold complete numbers.
        """
        classes: npt.NDArray[np.generic] = np.empty(0)
        batch, own, given = _split_batch(batch, weights, y)
        with _in_batches(is_again=columns is not None):
            table = read_table(batch, fitted=columns, unknown=None)
        _refuse_sparse(table.values)  # a frame may have sparse columns
        x = table.values
        counts = np.ones(len(x), dtype=np.int64) if own is None else own.astype(np.int64)
        taken, codes = counts > 0, np.zeros(len(x), dtype=np.int32)
        if given is not None:
            read = read_labels(given[taken], int(taken.sum()), is_part=True)
            classes, codes[taken] = read.classes, read.codes
            taken &= codes >= 0
        values = x if taken.all() else x[taken]
        values = values if values.flags.c_contiguous else in_rows(values)[0]
        return cls(table, values, counts[taken], x[~taken], counts[~taken], classes, codes[taken])


def in_rows(values: npt.NDArray[Any], first: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32]]:
    """C-ordered copy of a table, and a checksum of each column that depends on the order of rows."""
    rows = np.empty(values.shape, dtype=values.dtype)
    columns = [np.ascontiguousarray(column) for column in values.T]
    return rows, core.interleave(columns, np.arange(values.shape[1]), first & _WORD, rows)


class Again:
    """Rows that every pass reads from their source; only checksums are stored, to detect changed data.

    ``open``: see ``LazyTable.again``. ``n``: number of rows of the first pass so far.
    """

    def __init__(self, open: Callable[[list[str]], Iterable[Any]]) -> None:  # noqa: A002
        self._open = open
        self.n = 0
        self._names: list[str] = []
        self._seen = np.zeros(0, dtype=np.uint32)

    def update(self, part: Part) -> None:
        """Add a batch of the first pass."""
        table = part.table
        if not self.n:
            self._names, self._dtype = list(table.names), table.values.dtype
            self._seen = np.zeros(len(table.names), dtype=np.uint32)
        self._seen += in_rows(table.values, self.n)[1]
        self.n += len(table.values)

    def read(self, columns: Sequence[int] | None = None) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Number of the first row and values (n, d) of every batch; only the given columns are filled.

        All batches share one buffer: new memory takes longer to allocate than to fill.
        """
        d, n, room = len(self._names), 0, np.empty((0, 0), dtype=self._dtype)
        used = np.arange(d) if columns is None else np.unique(columns)
        seen = np.zeros(len(used), dtype=np.uint32)
        for batch in self._opened([self._names[i] for i in used]):
            of_columns = [
                np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=self._dtype)
                for column in batch.columns
            ]
            if len(room) < len(batch):
                room = np.empty((len(batch), d), dtype=self._dtype)
            values = room[: len(batch)]
            seen += core.interleave(of_columns, used, n & _WORD, values)
            if 0 < len(batch) <= self.n - n:
                yield n, values
            n += len(batch)
        if n != self.n or (seen != self._seen[used]).any():
            raise ChangedDataError.between(self.n, n)

    def _opened(self, names: list[str]) -> Iterator[Any]:
        first = f"X had {self.n:,} rows in the first pass over it, and another could not read them"
        # The files are not those whose footers were read.
        with arrow_reads(lambda said: ChangedDataError(f"{first}: {said}. Keep its files unchanged during the fit.")):
            yield from self._open(names)


_WORD = 2**32 - 1

_LEAVE_OUT = (
    "Leave out rows with gaps or infinity (X.drop_nulls() in polars, X.dropna() in Spark and Dask), or fill these."
)
_TAKE_OTHERS = 'take other columns (X.select("age", "income") in polars and Spark, X[["age", "income"]] in Dask).'


def _split_batch(batch: Any, weights: str | None, y: str | None) -> tuple[Any, Float64 | None, Any]:
    """Split a batch into its features, weights and labels; the last two are None if not given."""
    own = given = None
    _refuse_sparse(batch.values if isinstance(batch, Table) else batch)
    if y is not None:
        batch, given = pop_column(batch, y, "y")
    if weights is not None:
        batch, own = pop_column(batch, weights, "sample_weight")
        own = weights_of_batch(own)
        if not (own == np.rint(own)).all():
            raise InvalidInputError(
                f"sample_weight={weights!r} holds fractions, but tables in batches need whole numbers: how often a row "
                "counts. Multiply them and round, or read the table into memory."
            )
    return batch, own, given


def add_kinds(sums: TableSums, batch: Any, weights: str | None, y: str | None) -> None:
    """Update the kinds of columns from a batch."""
    with _in_batches():
        batch, own, _ = _split_batch(batch, weights, y)
        sums.update(batch, own)


@contextmanager
def _in_batches(*, is_again: bool = False) -> Iterator[None]:
    """Add to errors about rows and types what to do with batches; ``is_again``: an earlier pass found the kinds."""
    try:
        yield
    except InvalidInputError as error:
        if is_again and isinstance(error, ColumnMismatchError | MissingValueError):
            said = str(error).splitlines()[0].partition(". Give ")[0].rstrip(".")
            raise ChangedDataError.of(f"what one found of its columns is not so in another. {said}") from error
        if not isinstance(error, NotFiniteError | NotNumericError):
            raise
        said, _, own = str(error).partition("\n")
        own = own.partition(", or leave it out")[0].rstrip(".") or "Give numbers"
        step = f"{own}, or {_TAKE_OTHERS}" if isinstance(error, NotNumericError) else _LEAVE_OUT
        raise type(error)(f"{said}\nX comes in batches, and rows are counted within one. {step}") from error


MAX_WEIGHT = 2**31
"""Largest sum of whole weights; it leaves 30 bits for the cost of a row."""

_MORE_THAN_TWO = 3


class Seen:
    """Summary of all rows from one pass: their number, range, labels and a sample."""

    def __init__(self, weights: str | None, y: str | None, n_clusters: int) -> None:
        self.weights, self.y, self.n_clusters = weights, y, n_clusters
        self.like: tuple[Columns, np.dtype[Any], str | None] | None = None
        self.n_rows = self.total = self.n_left = self.left_total = 0
        self.is_one, self.sample, self.fingerprint = True, Smallest(0), np.zeros(1, dtype=np.int64)
        self.classes = list[npt.NDArray[np.generic]]()
        self.extents = self.of_noise = self.of_left_out = np.empty((0, 0))
        self.missing, self.few = np.zeros((2, 0), dtype=np.int64), list[Float64]()

    def add(self, part: Part) -> None:
        """Add a batch."""
        table, x = part.table, part.values
        self._compare((table.columns, table.values.dtype, table.library))
        self.n_rows, self.total = self.n_rows + len(x), self.total + int(part.weights.sum())
        self.n_left, self.left_total = self.n_left + len(part.left_out), self.left_total + int(part.left_weights.sum())
        self.is_one = self.is_one and bool((part.weights == 1).all())
        self.classes.append(part.classes)
        if len(part.left_out):
            self.of_left_out = extents_of(np.concatenate([self.of_left_out, extents_of(part.left_out)]))
        if (noise := part.left_weights > 0).any():
            self.of_noise = extents_of(np.concatenate([self.of_noise, extents_of(part.left_out[noise])]))
            self._describe(1, part.left_out[noise], part.left_weights[noise])
        if len(x):
            self.extents = extents_of(
                np.concatenate([self.extents, extents_of(x if len(part.left_out) else table.values)])
            )
            self._describe(0, x, part.weights)
            hashes = core.row_hashes(as_matrix(x) if self.searched is None else self.searched.expand(x), 1)
            self.sample.add(hashes, hashes, x, part.weights)
            self.fingerprint = self.fingerprint + fingerprint_of(hashes)

    def _describe(self, part: int, x: npt.NDArray[Any], weights: Int64) -> None:
        """Update weights of missing values, and the values of columns that have few; ``part``: 0, or 1 for noise."""
        if self.searched is not None:
            self.missing[part] += weights @ np.isnan(x)
        for j, own in enumerate(self.few):
            if len(own) < _MORE_THAN_TWO:
                others = x[:, j][~np.isin(x[:, j], own)].astype(np.float64)
                self.few[j] = np.union1d(own, others[~np.isnan(others)])[:_MORE_THAN_TWO]

    def _compare(self, like: tuple[Columns, np.dtype[Any], str | None]) -> None:
        if self.like is None:
            self.like, d = like, len(like[0].names)
            self.searched = searched_columns(like[0].kinds)
            self.extents = self.of_noise = self.of_left_out = np.empty((0, d))
            self.missing, self.few = np.zeros((2, d), dtype=np.int64), [np.empty(0)] * d
            self.sample.size = sample_sizes(self.n_clusters, d)[1] + 1  # one more shows that these are not all rows
        elif self.like[:2] != like[:2]:
            (first, own, library), (other, another, _) = self.like, like
            check_same_names(first, other)
            both = replace(first, kinds=tuple(map(kind_of_both, first.kinds, other.kinds)))
            self.like = both, np.promote_types(own, another), library

    def merge(self, other: Seen) -> Seen:
        """Merge the summary of other rows into this one."""
        if other.like is not None:
            self._compare(other.like)
            for name in ("n_rows", "total", "n_left", "left_total", "classes", "fingerprint", "missing"):
                setattr(self, name, getattr(self, name) + getattr(other, name))
            self.is_one, self.sample = self.is_one and other.is_one, self.sample.merge(other.sample)
            for name in ("extents", "of_noise", "of_left_out"):
                both = np.concatenate([getattr(self, name), getattr(other, name)])
                setattr(self, name, extents_of(both) if len(both) else both)
            self.few = [np.union1d(*own)[:_MORE_THAN_TWO] for own in zip(self.few, other.few, strict=True)]
        return self

    def check(self) -> None:
        """Raise an error if no tree can be grown from the rows."""
        if self.y is not None and self.like is not None and not self.n_rows:
            raise InvalidInputError(
                f"Every label in y={self.y!r} is -1, which means noise, or of a row without weight: there is no "
                "cluster. Give at least one row another label."
            )
        if len({own.dtype.kind in "OU" for own in self.classes if len(own)}) > 1:
            raise InvalidInputError(
                f"y={self.y!r} holds text in some batches of X and numbers in others. Give it one type in all of them."
            )
        if not self.n_rows:
            if self.weights is not None and self.n_left:
                read_weights(0, 1)  # refused, in the words of tables in memory
            raise InvalidInputError(
                "X gave no rows. Give at least one; Batches takes a function that returns them anew on each call."
            )
        if self.total > MAX_WEIGHT:
            raise InvalidInputError(
                f"The weights add up to {self.total}, and tables in batches take 2**31 at most. "
                "Give smaller whole numbers, such as counts of thousands."
            )

    @property
    def size(self) -> int:
        """Size of the values, in bytes."""
        return (self.n_rows + self.n_left) * self.extents.shape[1] * (0 if self.like is None else self.like[1].itemsize)


def fingerprint_of(hashes: npt.NDArray[np.uint64]) -> Int64:
    """Sum of the hashes modulo 2^64, shape (1,)."""
    found: Int64 = hashes.view(np.int64).sum(keepdims=True)
    return found


def extents_of(x: npt.NDArray[Any]) -> Float64:
    """Least and largest known value of every column, (2, d)."""
    ends = np.array([x.min(axis=0), x.max(axis=0)], dtype=np.float64)
    return np.array([np.fmin.reduce(x), np.fmax.reduce(x)]) if np.isnan(ends).any() else ends


def check_column_name(name: Any, what: str) -> str | None:
    """Check that the labels or weights of a table in batches are given by column name, or not at all."""
    if name is None or isinstance(name, str):
        return name
    raise UnsupportedInputError(
        f"{what} is of type {type(name).__name__}, but the rows of X come in batches, in any order. Give the name of a "
        f'column of X: {what}="{"segment" if what == "y" else "w"}".'
    )


def weights_of_batch(column: Any) -> Float64:
    """Read the weights of a batch; all may be 0, since other batches may have positive ones."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub" and not values.any():
        return np.zeros(len(values))
    return cast("Float64", read_weights(column, len(column)))


def lazy_cost(lazy: LazyTable, sample_weight: Any, costs_of: Callable[[Any], npt.NDArray[np.float64]]) -> float:
    """(Weighted) sum of the rows' costs, bit for bit as for the same rows in memory."""
    name = check_column_name(sample_weight, "sample_weight")

    def of_batch(given: Any) -> tuple[Float64, Float64 | None]:
        batch, weights = pop_column(given, name, "sample_weight")
        return costs_of(batch), None if name is None else weights_of_batch(weights)

    with Copies() as copies:
        costs, weights = (Column(copies.folder / what) for what in ("costs", "weights"))
        for own, of_own in lazy.mapped(of_batch):
            costs.append(own)
            if of_own is not None:
                weights.append(of_own)
        if not costs.n:
            raise InvalidInputError("X has no rows. Give at least one.")
        of_all = None if name is None else read_weights(weights.mapped(), costs.n)
        return sum_costs(costs.mapped(), sum_weights(of_all))
