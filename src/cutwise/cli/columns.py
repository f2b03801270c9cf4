"""Choice of the columns and rows of a table to cluster, with checks before any work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cutwise.cli import options
from cutwise.cli.cells import Format, with_columns
from cutwise.cli.column_scan import ColumnScan, scan_columns, shortened
from cutwise.cli.screen import note
from cutwise.cli.tables import EXAMPLE_TABLES, Source, no_rows, open_source, read_example
from cutwise.cli.text import whole_again
from cutwise.exceptions import InvalidInputError, did_you_mean, listed
from cutwise.passes.sources import Batches, LazyTable, are_numbers, as_lazy, itself, scan_dataset
from cutwise.table.intake import check_option
from cutwise.table.table import NUMBER, Columns
from cutwise.tree.recipes import LimitsGiven

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from cutwise.estimators import TreeEstimator


def need_column(frame: pd.DataFrame, name: str, option: str, source: Source) -> str:
    """Check that a column exists and return its name; the error proposes the nearest name."""
    columns = list(frame.columns)
    if name in columns:
        return name
    raise InvalidInputError(
        f"{option}: {source.name} has no column {name!r}.{did_you_mean(name, columns)} "
        f"Its columns are {listed(columns, most=20)}."
    )


def choose_columns(source: Source, table: options.ClusteringOptions, apart: Sequence[str]) -> list[str]:
    """The columns to cluster on, in the file's order, without weights and labels (``apart``)."""
    columns = list(source.frame.columns)
    chosen = set(chosen_names(source, table.only or [], "--only")) or set(columns)
    chosen -= set(chosen_names(source, table.drop or [], "--drop")) | set(apart)
    if not chosen:
        raise InvalidInputError(
            f"No column of {source.name} is left to use. Its columns are {listed(columns, most=20)}."
        )
    for column in columns:
        if column in source.differing and (column in chosen or column in apart):
            raise InvalidInputError(
                f"Column {column!r} holds {source.differing[column]}. Use one of them in all files"
                f"{_or_drop(column, column in chosen)}."
            )
    return [column for column in columns if column in chosen]


def complete_rows(source: Source, needed: Sequence[str], *, drop_missing: bool | None = None) -> npt.NDArray[np.bool_]:
    """Mask of the rows without missing values in some columns; an error unless other rows may be left out."""
    missing = source.frame[list(needed)].isna()
    complete: npt.NDArray[np.bool_] = ~missing.any(axis=1).to_numpy()
    n_missing, n_complete = missing.sum().to_dict(), int(complete.sum())
    check_complete(source, n_missing, len(missing), n_complete, drop_missing=drop_missing, needed=needed)
    return complete


def check_complete(
    source: Source,
    n_missing: Mapping[str, int],
    n_rows: int,
    n_complete: int,
    *,
    drop_missing: bool | None,
    needed: Sequence[str] = (),
) -> None:
    """Raise an error for missing values, counted by column; or report the number of rows left out if they may be.

    ``drop_missing``: None for a command without ``--drop-missing``. The columns ``needed`` cannot be left out with
    ``--drop``: those of a fitted model, labels, weights.
    """
    if n_complete == n_rows:
        return
    if drop_missing and n_complete:
        note(f"{n_rows - n_complete} of {n_rows} rows have missing values and are left out")
        return
    holding = [column for column, n in n_missing.items() if n]
    # With a column without any value, leaving out rows would leave none.
    empty = [column for column in holding if n_missing[column] == n_rows]
    columns = [column for column in empty or holding if column not in needed]
    steps = ["those rows out with --drop-missing"] if n_complete and drop_missing is not None else []
    steps += [f"columns out with {_option_of('--drop', columns)}"] if columns else []
    step = f"Leave {', or '.join(steps)}." if steps else "Fill them in first."
    if drop_missing:
        raise InvalidInputError(
            f"Every row of {source.name} has a missing value: --drop-missing would leave none. {step}"
        )
    first, reading = holding[0], source.readings.get(holding[0])
    marks = "NaN" if reading is None or not reading.markers else reading.marks
    where = source.first(first, "gap")[0]
    also = f", and so in {listed(holding[1:])}" if len(holding) > 1 else ""
    raise InvalidInputError(
        f"Column {first!r} has {n_missing[first]} missing value{'s' if n_missing[first] > 1 else ''} ({marks}), "
        f"the first in {where}{also}. {step}"
    )


def check_numbers(source: Source, scans: Sequence[ColumnScan], *, may_drop: bool = True) -> None:
    """Check that columns hold finite numbers; ``may_drop`` says whether the command has ``--drop``."""
    for scan in scans:
        if scan.is_infinite:
            where, _ = source.first(scan.name, "infinity")
            step = f"Replace it by a finite number{_or_drop(scan.name, may_drop)}."
            raise InvalidInputError(f"Column {scan.name!r} holds infinity, first in {where}. {step}")
    wrong = [scan for scan in scans if scan.kind not in ("integers", "numbers")]
    for scan in wrong:
        if scan.words:
            step = f"Write numbers there, or leave unknown values empty{_or_drop(scan.name, may_drop)}."
            raise InvalidInputError(f"Column {scan.name!r} holds {scan.words}. {step}")
    if wrong:
        names = [scan.name for scan in wrong]
        where, value = source.first(names[0], "value")
        also = f", and so in {listed(names[1:])}" if len(names) > 1 else ""
        needed = (
            f"Leave out what is not measured: {_option_of('--drop', names)}" if may_drop else "Numbers are needed there"
        )
        raise InvalidInputError(
            f"Column {names[0]!r} holds {wrong[0].why_left_out(mixed=False)}, such as {shortened(value)!r} in {where}"
            f"{also}. {needed}."
        )


def _or_drop(column: str, may_drop: bool) -> str:
    return f", or leave the column out with {_option_of('--drop', [column])}" if may_drop else ""


def _unread(source: Source, column: str) -> str:
    """The kind of dates of a column that stay texts; empty if there are none."""
    return source.readings[column].unread if column in source.readings else ""


def chosen_names(source: Source, given: Sequence[str], option: str) -> list[str]:
    """The columns that an option names: one each, or several separated by commas."""
    names = []
    for value in given:
        # A name that contains a comma may be given alone.
        parts = [value] if value in source.frame.columns else [part.strip() for part in value.split(",")]
        names += [need_column(source.frame, part, option, source) for part in parts if part]
    return names


def cut_features(task: Task, source: Source, growth: options.GrowthOptions) -> dict[str, list[str]]:
    """The columns that rules may test, as a parameter of an estimator; empty if all may be tested."""
    only = chosen_names(source, growth.cut_only or [], "--cut-only")
    never = chosen_names(source, growth.never or [], "--never")
    if not only and not never:
        return {}
    found = [name for name in task.columns if (not only or name in only) and name not in never]
    if len(found) == len(task.columns):  # columns left out need no limit
        return {}
    if found:
        return {"cut_features": found}
    raise InvalidInputError("No column is left for the rules. Name others with --cut-only, or fewer with --never.")


def _option_of(option: str, columns: Sequence[str]) -> str:
    """The option with these columns, ready to be pasted into a shell."""
    named = columns if any("," in column for column in columns) else [",".join(columns)]
    return options.shell_text(word for column in named for word in (option, column))


@dataclass(frozen=True)
class Task:
    """The part of a table to work on."""

    source: str  # name of the whole table in messages
    table: pd.DataFrame | LazyTable  # with weights and labels as columns if it is read in batches
    columns: list[str]  # columns to cluster on
    n_rows: int
    rows: npt.NDArray[np.int64] | None  # (n,), numbers of the rows in the source, if they are in memory
    weights: npt.NDArray[Any] | str | None = None  # (n,), or the column
    labels: npt.NDArray[Any] | str | None = None  # (n,), clusters to explain, as in the source, or the column
    left_out: dict[str, str] = field(default_factory=dict)  # columns left out by default, each with the reason
    categories: list[str] | None = None  # columns to take as categories; None if all are complete numbers
    numbers: Sequence[str] = ()  # columns in which cells that are not numbers are missing

    @property
    def size(self) -> str:
        """Size of the table, in words."""
        return f"{self.n_rows:,} rows and {len(self.columns)} columns"

    @property
    def about(self) -> dict[str, Any]:
        """What documents say of it."""
        return {"source": self.source, "n_rows": self.n_rows, "n_columns": len(self.columns)}

    @property
    def beside(self) -> dict[str, Any]:
        """Arguments of ``fit`` besides the table."""
        return {"sample_weight": self.weights} | ({} if self.labels is None else {"y": self.labels})

    @property
    def is_mixed(self) -> bool:
        """Whether there are columns other than complete numbers."""
        return self.categories is not None

    def measured(self, scale: str, objective: str) -> tuple[str, dict[str, Any]]:
        """The value of ``--scale`` for this table, and the parameters of an estimator for it."""
        if self.is_mixed:
            from cutwise import TableScaler

            usual, distance = ("robust", "absolute") if objective == "kmedians" else ("standard", "squared")
            scaler = TableScaler(usual if scale == "auto" else scale, distance)
            return scale, {"preprocessor": scaler, "categorical_features": self.categories}
        from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

        scale = "standard" if scale == "auto" else scale
        scalers = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}
        return scale, {"preprocessor": None if scale == "none" else scalers[scale]()}


@dataclass(frozen=True)
class Clustering:
    """A table, and the parameters of its clustering."""

    source: Source
    task: Task
    n_clusters: int | None  # None if a column has the clusters
    scale: str
    estimator: Callable[..., TreeEstimator]
    params: dict[str, Any]
    limits: dict[str, Any]

    @property
    def limits_notes(self) -> list[str]:
        """A line about the limits of all trees, if there are any."""
        columns = Columns(tuple(self.task.columns), has_names=True)
        return [f"limits: {LimitsGiven(**self.limits).in_words(columns)}"] if self.limits else []

    def model(self, **params: Any) -> Any:
        """The unfitted estimator, with ``params`` in addition to or in place of the options."""
        k = {} if self.n_clusters is None else {"n_clusters": self.n_clusters}
        return self.estimator(**k, **{**self.params, **params})

    @property
    def about(self) -> dict[str, Any]:
        """What documents say of it."""
        about = {**self.task.about, "n_clusters": self.n_clusters, "scale": self.scale}
        return about | ({"limits": self.limits} if self.limits else {})


def clustering(
    table: options.ClusteringOptions,
    growth: options.GrowthOptions,
    *,
    command: str,
    labels_from: str | None = None,
    kernel: options.KernelOptions = options.KernelOptions(),
    mixed: bool = True,
    in_memory: Mapping[str, str] = MappingProxyType({}),
) -> Clustering:
    """Read, choose and check the rows to cluster, or the labels to explain.

    ``in_memory``: options that need tables in memory, and what to do instead. ``mixed``: see ``prepare``.
    """
    from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians

    is_labeled, own = labels_from is not None, growth.params
    other = None if table.objective == "kmeans" else table.objective
    if is_labeled:
        n_init = None if growth.n_init == options.GrowthOptions.n_init else growth.n_init
        others = {"-k": table.n_clusters, "--objective": other, "--kernel": kernel.kernel, "--n-init": n_init}
        options.refuse_beside(f"--labels-from {labels_from}: that column already holds the clusters", others)
    kernel.check(other, growth)
    check_option("--objective", table.objective, options.OBJECTIVES)
    estimator: Callable[..., TreeEstimator] = ExplainableKMeans if other is None else ExplainableKMedians
    if kernel.kernel is not None:
        estimator = kernel.estimator
    if is_labeled:
        estimator = ClusterExplainer
        del own["n_init"]  # nothing is clustered
    requested = check_option("--scale", kernel.scale if table.scale is None else table.scale, tuple(options.SCALES))
    source, n_clusters = find_source(table, command, is_labeled=is_labeled)
    medians = {"--objective kmedians": "Leave it out"} if other else {}
    robust = {"--scale robust": "Use --scale standard, minmax or none"} if requested == "robust" else {}
    for what, instead in {**in_memory, **medians, **robust}.items() if source.in_batches else ():
        raise InvalidInputError(
            f"{source.name} is read in batches, but {what} needs the table in memory. {instead}, or raise --max-memory."
        )
    task = prepare(source, table, labels_from, growth.cut_only or [], mixed=mixed)
    scale, measure = task.measured(requested, table.objective)
    limited = growth.limits | cut_features(task, source, growth)
    return Clustering(source, task, n_clusters, scale, estimator, {**measure, **own, **limited}, limited)


def find_source(table: options.ClusteringOptions, command: str, *, is_labeled: bool) -> tuple[Source, int | None]:
    """The table of a command line, and the number of clusters, which examples and labels determine."""
    if table.example is not None and table.files:
        raise InvalidInputError(
            f"Both FILE ({' '.join(table.files)}) and --example ({table.example}) were given. Give one of them."
        )
    if table.example is None and not table.files:
        raise InvalidInputError(
            f"FILE is missing. Give a table (cutwise {command} data.csv -k 5), or try cutwise {command} --example wine."
        )
    n_clusters = table.n_clusters
    if n_clusters is None and not is_labeled:
        if table.example is None:
            raise InvalidInputError("The number of clusters is missing. Set it with -k, such as -k 5.")
        n_clusters = EXAMPLE_TABLES.get(table.example)
    if not table.files:
        return read_example(str(table.example)), n_clusters
    source = open_source(
        table.files, table.max_memory, Format(given_separator=table.separator, given_header=table.header)
    )
    return source, n_clusters


def prepare(
    source: Source, table: options.ClusteringOptions, labels_from: str | None, cut_only: Sequence[str], *, mixed: bool
) -> Task:
    """Choose columns and rows, and check them here, where messages can name the file's lines and the options.

    ``cut_only``: of the option; these columns are used. Without ``mixed`` only columns of complete numbers can be.
    """
    named = {"--weights": table.weights, "--labels-from": labels_from}
    apart = [need_column(source.frame, name, option, source) for option, name in named.items() if name is not None]
    if labels_from is not None and source.frame[labels_from].dtype.kind in "mM":
        raise InvalidInputError(
            f"--labels-from: {labels_from} of {source.name} holds dates or durations, and labels are whole numbers or "
            "words. Name another column."
        )
    requested = _requested_columns(source, table, mixed=mixed)
    source = with_numbers(source, requested["--number"])
    columns = choose_columns(source, table, apart)
    scans = scan_columns(source, list(dict.fromkeys([*columns, *apart])))
    if not (n_rows := scans[0].n_rows):
        raise no_rows(source)
    by_name = {name for names in requested.values() for name in names}
    by_name.update(chosen_names(source, cut_only, "--cut-only"))
    describing = [scan for scan in scans if scan.name not in apart]
    left_out = _columns_left_out(source, describing, by_name, mixed=mixed)
    used = [scan for scan in describing if scan.name not in left_out]
    columns = [scan.name for scan in used]
    texts = {scan.name for scan in used if scan.kind == "text" and (scan.are_levels or not scan.words)}
    categories = [name for name in columns if name in requested["--category"] or name in texts]
    not_numbers = {*categories, *(scan.name for scan in used if scan.kind in ("other", "ordered"))}
    check_numbers(source, [scan for scan in used if not mixed or scan.name not in not_numbers])
    check_numbers(source, [scan for scan in scans if scan.name == table.weights], may_drop=False)
    has_gaps = not table.drop_missing and any(scan.n_known < scan.n_rows for scan in used)
    is_mixed = mixed and (bool(not_numbers) or has_gaps)
    names = list(dict.fromkeys([*columns, *apart]))
    must_be_known = names if table.drop_missing or not mixed else apart
    missing = {scan.name: n_rows - scan.n_known for scan in scans if scan.name in must_be_known}
    n_complete = n_rows
    if any(missing.values()):
        n_complete = sum(len(batch.dropna()) for batch in source.batches(must_be_known))
    check_complete(source, missing, n_rows, n_complete, drop_missing=table.drop_missing, needed=apart)
    read = partial(_in_batches, is_mixed=is_mixed) if source.in_batches else _in_memory
    rows = read(source, columns, names, table.weights, labels_from, drops=n_complete < n_rows)
    _say_what_is_used(source, describing, left_out, by_name, mixed=mixed)
    return Task(
        source.name, columns=columns, n_rows=n_complete, left_out=left_out, numbers=requested["--number"],
        categories=categories if is_mixed else None, **rows,
    )  # fmt: skip


def _requested_columns(source: Source, table: options.ClusteringOptions, *, mixed: bool) -> dict[str, list[str]]:
    """The columns that options name, by option."""
    given = {"--only": table.only, "--category": table.category, "--number": table.number}
    requested = {option: chosen_names(source, names or [], option) for option, names in given.items()}
    if not mixed and (requested["--category"] or requested["--number"]):
        raise InvalidInputError("--category and --number do not apply here: all columns must be complete numbers.")
    if both := [name for name in requested["--number"] if name in requested["--category"]]:
        raise InvalidInputError(f"--category and --number both name {listed(both)}. Use one of them.")
    return requested


def _in_memory(
    source: Source, columns: list[str], names: list[str], weights: str | None, labels_from: str | None, *, drops: bool
) -> dict[str, Any]:
    """Rows, weights and labels of a ``Task``.

    ``names``: its columns and those of weights and labels; ``drops``: whether rows with gaps in these are left out.
    """
    import numpy as np

    frame, labels = source.frame[names], None if labels_from is None else source.labels(labels_from)
    kept = frame.notna().all(axis=1).to_numpy() if drops else np.ones(len(frame), dtype=bool)
    frame = whole_again(frame[kept]) if drops else frame
    return {
        "table": frame[columns],
        "rows": kept.nonzero()[0],
        "weights": None if weights is None else frame[weights].to_numpy(),
        "labels": None if labels is None else whole_again(labels[kept].to_frame()).iloc[:, 0].to_numpy(),
    }


def _in_batches(
    source: Source, columns: list[str], names: list[str], weights: str | None, labels_from: str | None, *,
    drops: bool, is_mixed: bool,
) -> dict[str, Any]:  # fmt: skip
    """The same of rows that are read in batches, with weights and labels as columns."""
    words = () if labels_from is None else (labels_from,)
    whole = [*(columns if drops else ()), *words]
    read = names if drops else words
    for batch in batches_of(source, read, words, drop_missing=drops).batches() if whole else ():
        found = whole_again(batch[whole])
        whole = [name for name in whole if found[name].dtype.kind in "iu"]
    batches = batches_of(source, names, words, drop_missing=drops, whole=whole)
    types = [] if source.parquet is None else [source.parquet.schema.field(name).type for name in columns]
    if types and are_numbers(types) and not (source.numbers or is_mixed or drops):
        batches = replace(batches, again=partial(scan_dataset, source.parquet))
    return {"table": batches, "rows": None, "weights": weights, "labels": labels_from}


def _columns_left_out(
    source: Source, scans: Sequence[ColumnScan], by_name: Collection[str], *, mixed: bool
) -> dict[str, str]:
    """Columns that do not describe rows, unless an option names them, each with the reason."""
    reasons = {
        scan.name: scan.why_left_out(_unread(source, scan.name), mixed=mixed)
        for scan in scans
        if scan.name not in by_name
    }
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(left_out) == len(scans):
        step = "Name those to use anyway with --only."
        if words := next((scan.name for scan in scans if scan.words), None):
            lines = "Remove lines above the names of columns and lines of units below them"
            step = f"{lines}, or read words as missing: --number {words!r}."
        raise InvalidInputError(
            f"No column of {source.name} can be used for clustering: {_with_reasons(left_out)}. {step}"
        )
    return left_out


def _say_what_is_used(
    source: Source, scans: Sequence[ColumnScan], left_out: Mapping[str, str], by_name: Collection[str], *, mixed: bool
) -> None:
    """Report the kinds of columns, and columns left out."""
    used = [scan for scan in scans if scan.name not in left_out]
    _say_readings(source, [scan.name for scan in used])
    if left_out:
        note(f"left out: {_with_reasons(left_out)}; use --only to choose columns yourself")
    if mixed and (partly := [scan for scan in scans if scan.words and scan.name in left_out]):
        are_units = len(partly) > 1 and all(scan.word[0] == 0 and scan.n_words == 1 for scan in partly)
        step = "remove the line of row 0 if it holds units or names; else " if are_units else ""
        names = ",".join(scan.name for scan in partly)
        note(f"{names}: {step}use --number to read such words as missing, or --category to read all cells as levels")
    if mixed and (levels := [scan for scan in used if scan.are_levels and scan.name not in by_name]):
        which = listed([scan.name for scan in levels], most=8, write=str)
        word = shortened(levels[0].word[1])
        note(f"{which}: read as levels because of words such as {word!r}; use --number to read such words as missing")
    codes = [scan.name for scan in used if mixed and scan.name not in by_name and scan.may_be_codes]
    if codes:
        which = listed(codes, most=8, write=str)
        note(f"{which}: read as numbers; if these are codes, add {_option_of('--category', codes[:8])}")


def _say_readings(source: Source, columns: Iterable[str]) -> None:
    """Report how columns of text were read: one line per column, or one line for many that are read alike."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name in columns:
        if (reading := source.readings.get(name)) and name not in source.numbers:
            alike.setdefault((tuple(sorted(reading.markers)), reading.how), []).append(name)
    for names in alike.values():
        readings = [source.readings[name] for name in names]
        if len(names) > _MANY_ALIKE:
            markers: Counter[str] = sum((Counter(reading.markers) for reading in readings), Counter())
            readings = [replace(readings[0], markers=markers)]
            n_more = len(names) - _MANY_ALIKE
            names = [f"{', '.join(names[:_MANY_ALIKE])} and {n_more:,} more column{'s' if n_more > 1 else ''}"]
        for name, words in zip(names, map(str, readings), strict=True):
            if words:
                note(f"{name}: {words}")


_MANY_ALIKE = 5


def batches_of(
    source: Source, names: Sequence[str], as_words: Collection[str], *, drop_missing: bool, whole: Sequence[str] = ()
) -> LazyTable:
    """Columns of a table in batches as frames of pandas; models know their kinds.

    ``drop_missing``: whether rows with missing values are left out. ``whole``: columns of whole numbers in this case.
    """

    def batches() -> Iterator[Any]:
        for batch in source.batches(names, as_words):
            yield (batch.dropna() if drop_missing else batch).astype(dict.fromkeys(whole, "int64"))

    lazy = as_lazy(Batches(batches))
    assert lazy is not None
    return lazy.read_by(itself)  # its errors name no batch: these are not the user's


def with_numbers(source: Source, names: Sequence[str]) -> Source:
    """The table with columns of ``--number`` as numbers; other cells are missing."""
    import pandas as pd

    lost = Counter[str]()
    for batch in source.batches(names) if names else ():
        numbers = {name: pd.to_numeric(batch[name], errors="coerce") for name in names}
        lost.update({name: int((own.isna() & batch[name].notna()).sum()) for name, own in numbers.items()})
    for name, n in lost.items():
        if n:
            what = "cell that is not a number is" if n == 1 else "cells that are not numbers are"
            note(f"{name}: {n:,} {what} read as missing")
    if source.in_batches:
        return replace(source, frame=source.frame.astype(dict.fromkeys(names, "float64")), numbers=names)
    return replace(source, frame=with_columns(source.frame, numbers), numbers=names) if names else source


def check_as_fitted(model: TreeEstimator, source: Source, frame: pd.DataFrame) -> list[str]:
    """Check that columns of a file are finite numbers, or dates, if they were when a model was fitted.

    Reports how cells of text were read. Returns the columns that had no missing values then.
    """
    of_fit = {column: model._kinds_by_name.get(column, NUMBER) for column in frame.columns}
    kinds = {column: kind.name for column, kind in of_fit.items()}
    numbers = [column for column, kind in kinds.items() if kind in ("number", "integer", "bool")]
    saved = model._intake.get("format", {})
    for column in kinds:
        odd = source.readings[column].odd if column in source.readings else ""
        if odd:
            row = source.row(int((source.frame[column].astype(str).str.strip() == odd).to_numpy().argmax()))
            like = listed([shortened(cell) for cell in saved.get("cells", {}).get(column, ())])
            marked = f" with {mark!r} as decimal mark" if (mark := saved.get("decimal")) else ""
            needed = f"cells like {like}" if like else f"numbers{marked}"
            raise InvalidInputError(
                f"Column {column!r} holds {shortened(odd)!r} in {row}, but held {needed} at fit. Write it like those."
            )
    check_numbers(source, scan_columns(source, numbers), may_drop=False)
    _say_readings(source, frame.columns)
    for column, kind in kinds.items():
        if kind == "date" and (unread := _unread(source, column)):
            raise InvalidInputError(f"Column {column!r} of {source.name} holds {unread}.")
    return [column for column, kind in of_fit.items() if not kind.places_missing]


def _with_reasons(left_out: Mapping[str, str]) -> str:
    return listed([f"{column} ({reason})" for column, reason in left_out.items()], most=8, write=str)
