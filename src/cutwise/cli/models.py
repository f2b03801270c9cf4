"""Saved models on the command line: their columns in a file, names of clusters, and printed descriptions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cutwise.cli.cells import PLAIN, Format
from cutwise.cli.columns import with_numbers
from cutwise.cli.options import SCALES, TextOptions
from cutwise.cli.screen import note, print_document, print_line, print_table
from cutwise.cli.tables import Source, open_source
from cutwise.exceptions import ColumnMismatchError, InvalidInputError, ModelFileError, did_you_mean, listed
from cutwise.readouts.rules import table_lines
from cutwise.readouts.shown import MOST_SHOWN, shortened
from cutwise.readouts.words import explained_text, explained_words, percent, quoted, ratio_words
from cutwise.table.table import are_plain

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cutwise.estimators import TreeEstimator
    from cutwise.readouts.rules import Rules


def model_and_table(
    model: str, files: Sequence[str], text: TextOptions, max_memory: str | None = None
) -> tuple[TreeEstimator, Source, pd.DataFrame]:
    """A saved model, the table to apply it to, and the columns of this table that the model's tree tests.

    With ``max_memory`` a larger table is prepared for reading in batches.
    """
    fitted = read_model(model, files[0])
    source = with_lost_words(fitted, open_source(files, max_memory, format_of(fitted, text)))
    return fitted, source, tested_columns(fitted, source)


def format_of(model: TreeEstimator, text: TextOptions) -> Format:
    """The format for reading files for a model, as at fit.

    Levels of text are words, even if the table of fit was not a text file.
    """
    kinds, saved = model._kinds_by_name, model._intake.get("format", {})
    texts = {name: [own for own in kind.levels or () if isinstance(own, str)] for name, kind in kinds.items()}
    words = {name: frozenset(own) for name, own in texts.items() if own}
    names = list(getattr(model, "feature_names_in_", ()))
    numbers = [name for name, kind in kinds.items() if kind.name in ("number", "integer")]
    lossy = model._intake.get("numbers", ())  # columns in which cells that are not numbers are missing
    cells = {**dict.fromkeys(set(numbers) - set(lossy), PLAIN), **saved.get("cells", {}), **words}
    levels = frozenset[str]().union(*words.values())
    tested = [names[i] for i in model.tree_.tested.tolist()] if names else ()
    given = {"given_separator": text.separator, "given_header": text.header}
    known = {field.name: saved[field.name] for field in fields(Format) if field.name in saved}
    return Format(**{**known, "cells": cells, **given}, tested=tested, levels=levels, names=names)


def with_lost_words(model: TreeEstimator, source: Source) -> Source:
    """A table whose ``--number`` columns have missing values for cells that are not numbers, as at fit."""
    return with_numbers(source, [name for name in model._intake.get("numbers", ()) if name in source.frame])


def read_model(path: str, file: str) -> TreeEstimator:
    """Read the model of a command; ``file`` is the table, to detect that the two were swapped."""
    from cutwise import load_model

    try:
        return load_model(path)
    except ModelFileError as error:
        with suppress(ModelFileError):
            load_model(file)
            raise InvalidInputError(f"{file} is the model, and {path} the table. Give the model first.") from error
        raise


def tested_columns(model: TreeEstimator, source: Source) -> pd.DataFrame:
    """The columns that the model's tree tests, in the model's order; others are not needed to place a row."""
    given = list(source.frame.columns)
    tested = model.tree_.tested.tolist()
    names = getattr(model, "feature_names_in_", None)
    if names is None or not source.has_names:
        n = model.n_features_in_
        width = model._intake.get("format", {}).get("width", n)
        if len(given) not in (n, width):
            of_file = f" of the {width} of its file" if width != n else ""
            raise ColumnMismatchError(
                f"{source.name} has {len(given)} columns, and the model was fitted on {n}{of_file}. "
                "Columns without names are matched by position, so their number must be the same."
            )
    if names is None:
        return source.frame.iloc[:, tested]
    needed = [names[i] for i in tested]
    missing = [name for name in needed if name not in given]
    if missing:
        free = [name for name in given if name not in names]
        raise ColumnMismatchError(
            f"{source.name} lacks {len(missing)} of the {len(needed)} columns that the model uses: "
            f"{listed(missing)}.{did_you_mean(missing[0], free)} Its own columns are {listed(given, most=20)}. "
            "Rename them to those of the model, or give a file that has these."
        )
    return source.frame[needed]


def other_columns(model: TreeEstimator, source: Source) -> list[str]:
    """Names in the file of the model's other columns, if they exist and have the same kind as at fit."""
    from pandas.api import types

    given, tested = list(source.frame.columns), set(model.tree_.tested.tolist())
    names = getattr(model, "feature_names_in_", given)
    found = [name for i, name in enumerate(names) if i not in tested and name in given]
    kinds = model._kinds_by_name
    return [
        name
        for name in found
        if types.is_numeric_dtype(source.frame[name]) or (name in kinds and not kinds[name].is_plain)
    ]


def as_fitted(model: TreeEstimator, source: Source, rows: pd.DataFrame) -> pd.DataFrame | npt.NDArray[Any]:
    """Rows of some of the file's columns as input of the model: under the model's names, or by position."""
    import numpy as np

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        values = np.zeros((len(rows), model.n_features_in_))
        values[:, source.frame.columns.get_indexer(rows.columns)] = rows.to_numpy(dtype=np.float64)
        return values
    return rows[[name for name in names if name in rows.columns]]


def name_clusters(model: TreeEstimator, given: Sequence[str]) -> None:
    """Give the clusters of a fitted model the names of ``--name``: ``CLUSTER=NAME``, the cluster as it is printed."""
    names: dict[Any, str] = {}
    labels = model.classes_.tolist()
    for text in given:
        # A label may contain "=": the longest matching label is meant.
        fits = [label for label in labels if text.startswith(f"{label}=")]
        if not fits:
            raise InvalidInputError(
                f"--name {text}: {'there is no such cluster' if '=' in text else 'it gives no name'}. "
                f"Use CLUSTER=NAME, such as --name '{labels[0]}=students'; "
                f"the clusters are {listed(labels, most=20)}."
            )
        label = max(fits, key=lambda label: len(str(label)))
        if label in names:
            raise InvalidInputError(f"--name gives cluster {label!r} two names. Give it one.")
        names[label] = text[len(f"{label}=") :]
    if names:
        model.name_clusters(names)


def labels_frame(
    labels: npt.NDArray[Any], *, rows: npt.NDArray[Any], n_rows: int, names: Mapping[Any, str], first: int = 0
) -> pd.DataFrame:
    """A line for each of ``n_rows`` rows, from number ``first`` on: ``labels`` (n,) for ``rows`` (n,), else empty.

    ``names``: names of clusters; they get a column if there are any.
    """
    import pandas as pd

    clusters = pd.Series(labels.tolist(), index=rows, dtype=object).reindex(range(n_rows))
    frame = pd.DataFrame({"row": range(first, first + n_rows), "cluster": clusters})
    return frame.assign(name=clusters.map(names)) if names else frame


def write_labels(frame: pd.DataFrame, file: IO[str] | Path | None = None) -> None:
    """Write lines of clusters as CSV, with a header if they are the first lines or if there are none.

    ``file``: None for standard output.
    """
    is_first = frame.empty or bool(frame["row"].eq(0).any())
    lines = frame.to_csv(file, index=False, header=is_first, lineterminator="\n")
    if lines is not None:
        print_document(lines)


def _checked_path(path: str | None, what: str, ending: str) -> str | None:
    """The path, unless its ending is that of another kind of file."""
    others = {".csv", ".tsv", ".json", ".parquet", ".xlsx", ".xls", ".gz", ".bz2", ".xz", ".zip"} - {ending}
    if path is not None and Path(path).suffix.lower() in others:
        kind = ending.removeprefix(".").upper()
        raise InvalidInputError(
            f"{what} written as {kind}, but {path} is named like another kind of file. Name it {ending}."
        )
    return path


check_model_path = partial(_checked_path, what="Models are", ending=".json")
check_labels_path = partial(_checked_path, what="Clusters of rows are", ending=".csv")


# ---- what fit and rules say about a model

MEASURES = ("rows", "share", "purity", "coverage")


def print_fit(model: TreeEstimator, *, source: str, n_rows: int, scale: str) -> None:
    """Print a summary of the fit, the rules, and their cost."""
    from cutwise.estimators import algorithm_of

    columns, scaled = model._columns_of_fit(), SCALES[scale]
    is_mixed = not are_plain(columns.kinds)
    what = columns.in_words() if is_mixed else _count(model.n_features_in_, "column")
    print_line(f"{source}: {_count(n_rows, 'row')}, {what}")
    if is_mixed and any(kind.name not in ("number", "integer") and not kind.left_out for kind in columns.kinds):
        scaled = re.sub("each column|columns", "numbers", scaled) + ", every other column weighted like a number"
    units = "" if scale == "none" else "; rules use the table's units"
    print_line(f"scale {scale}: {scaled}{units}")
    leaves, algorithm = _count(model.n_leaves_, "leaf", "leaves"), algorithm_of(model)
    print_line(f"{_count(len(model.classes_), 'cluster')}, tree by {algorithm}: {leaves}, depth {model.depth_}")
    print_line()
    print_rules(model)
    print_line()
    for line in _price_lines(model):
        print_line(line)
    print_certificate(model)


def print_rules(model: TreeEstimator) -> None:
    """Print a table of the rules: one line a leaf; clusters of several leaves have a line of totals first.

    Names of clusters have their own column, since other files and programs use labels.
    """
    named = bool(model.cluster_names_)
    who = ("cluster", "name") if named else ("cluster",)
    rows, rules = [], model.rules()
    for cluster in rules:
        label = quoted(cluster.cluster)
        name: tuple[str, ...] = (label, "" if cluster.name is None else quoted(cluster.name)) if named else (label,)
        for figures, rule, said in table_lines(cluster, lambda rule: rule.written(shortened)):
            text = (said if cluster.rules else f"({said})") if rule is None else f"{'' if name[0] else '  '}{rule}"
            rows.append((*name, *figures, text))
            name = ("",) * len(who)
    flush_right = range(len(who), len(who) + len(MEASURES))
    print_table((*who, *MEASURES, "rule"), rows, right=flush_right)
    note_long_sets(rules)
    if rules[0].size is None:
        note("the tree was edited since its rows were counted; count them with cutwise recount MODEL FILE")


def note_long_sets(rules: Rules) -> None:
    """Note where complete sets of levels are, if the printed rules shortened some."""
    if any(len(c.levels or ()) > MOST_SHOWN for cluster in rules for rule in cluster.rules for c in rule.conditions):
        whole = "fit, rules and explain print them in full with --json"
        note(f"long sets of levels are shortened; {whole}; fit --never keeps columns out of rules")


def print_certificate(model: TreeEstimator) -> None:
    """Print the guarantee for a tree's cost, if there is one."""
    from cutwise.estimators import certificate_line

    line = certificate_line(model)
    if line is not None:
        print_line(line)


def note_lost_weights(model: TreeEstimator) -> None:
    """Note that the rows of fit had weights, if the counted rows have none."""
    if "--weights" in model._intake.get("options", ()):
        note("rows had weights at fit but count once each here; name the weight column with --weights")


def _price_lines(model: TreeEstimator) -> list[str]:
    """Lines about the price of explaining the clusters with this tree."""
    from cutwise.estimators import advice_of, agreement_of, words_of

    own, cost_words = words_of(model)
    lines = [f"agreement {percent(agreement_of(model))}: rows on which the tree and {own} agree"]
    if hasattr(model, "adjusted_rand_index_"):  # unlike cost ratios not affected by chance or by bounded kernels
        index, shared = model.adjusted_rand_index_, model.normalized_mutual_info_
        lines.append(
            f"adjusted Rand index {index:.4f}, normalized mutual information {shared:.4f}: 1 means the same clusters"
        )
    ratio = model.cost_ratio_
    if math.isnan(ratio):
        lines.append(f"cost ratio: none, because {own} have cost 0 (the tree's cost is {model.cost_:.6g})")
    else:
        lines.append(f"cost ratio {ratio:.4f}: {ratio_words(ratio, own, cost_words)}")
    lines += [line for line in [model._limits_line] if line is not None]
    explained = model.explained_, model.reference_explained_
    lines.append(f"explained {explained_text(*explained)}: {explained_words(*explained, own, cost_words)}")
    advice = advice_of(model, "--max-leaves")
    return lines if advice is None else [*lines, f"advice: {advice}"]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
