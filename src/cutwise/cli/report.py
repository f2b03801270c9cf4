"""``cutwise report``: a saved model and a table as a page for people who were not there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.columns import (
    batches_of,
    check_as_fitted,
    columns_without_gaps,
    complete,
    complete_rows,
    count_complete,
    count_rows,
    need_column,
)
from cutwise.cli.models import as_fitted, model_and_table, name_clusters, other_columns, tested_columns
from cutwise.cli.options import (
    SCALES,
    DropMissing,
    GrowthOptions,
    Header,
    MaxMemory,
    ModelFile,
    Names,
    Separator,
    TableFile,
    Weights,
    scaler_of,
)
from cutwise.cli.screen import Outputs, note, working
from cutwise.cli.tables import Rows, Source
from cutwise.readouts.sql import DIALECTS

if TYPE_CHECKING:
    import pandas as pd

    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise report segments.json customers.csv --out report.html",
    "cutwise report segments.json customers.csv --out report.md --title 'Customer segments'",
)


def command(
    model: ModelFile,
    file: TableFile,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="REPORT", help="Where to write it; the ending says how: .html, .md or .json."
        ),
    ] = "report.html",
    title: Annotated[str | None, typer.Option(help="The page's heading.")] = None,
    name: Names = None,
    labels_from: Annotated[
        str | None, typer.Option(help="Column of the clusters that the model explains, for the curve of its cost.")
    ] = None,
    dialect: Annotated[str, typer.Option(help=f"SQL dialect: {', '.join(DIALECTS)}.")] = "duckdb",
    table: Annotated[
        str | None, typer.Option(help="The table's name in the SQL, such as sales.customers.", show_default="data")
    ] = None,
    curve: Annotated[bool, typer.Option("--curve/--no-curve", help="Whether to show cost against leaves.")] = True,
    weights: Weights = None,
    drop_missing: DropMissing = False,
    separator: Separator = None,
    header: Header = None,
    max_memory: MaxMemory = "",
) -> None:
    """Write a report: what was found, what it costs, the tree, and a card for every cluster.

    The page is one file that opens anywhere, without a network. Give the table that the model was fitted on; another
    one is described with the same clusters.
    """
    from cutwise.estimators import check_form, report

    check_form(out)
    usual = None if dialect == "duckdb" else dialect
    own = [word for text in name or [] for word in ("--name", text)]
    own += _said({"--title": title, "--dialect": usual, "--table": table}) + ([] if curve else ["--no-curve"])
    shared = _said({"--weights": weights, "--separator": separator}) + (["--drop-missing"] if drop_missing else [])
    shared += [] if header is None else ["--header" if header else "--no-header"]
    shared += _said({"--max-memory": max_memory or None})
    with Outputs(out, inputs=[model, file]) as outputs:
        fitted, source, tested = model_and_table(model, file, separator=separator, header=header, max_memory=max_memory)
        name_clusters(fitted, name or [])
        described = [*tested.columns, *other_columns(fitted, source)]
        asked = {"y": ("--labels-from", labels_from), "sample_weight": ("--weights", weights)}
        beside = {what: need_column(source.frame, c, o, source) for what, (o, c) in asked.items() if c is not None}
        choose = _in_batches if source.lazy is not None else _in_memory
        rows, n, given = choose(fitted, source, described, beside, drop_missing)
        with working(f"looking at {n:,} rows and {len(described)} columns", steps=3 if curve else 1):
            made = report(
                fitted,
                rows,
                title=title,
                source=source.name,
                table=table,
                curve=curve,
                reproduce=_commands(fitted, source, (model, file, out), weights, labels_from, shared, own),
                **{"dialect": dialect, **given},
            )
        outputs.write(out, lambda part: part.write_text(made.written_as(out), encoding="utf-8", newline="\n"))
    for line in made.summary["notes"]:
        note(line)
    note(f"wrote {out}")


def _in_memory(
    model: TreeEstimator, source: Source, columns: list[str], beside: dict[str, str], drop_missing: bool
) -> tuple[Any, int, dict[str, Any]]:
    """The model's columns of a table, how many rows it has, and the further columns that were asked for."""
    tested = tested_columns(model, source)
    check_as_fitted(model, source, tested)
    # Rules place rows with gaps elsewhere; who left them out when fitting leaves them out here, too.
    needed = [*(columns if drop_missing else columns_without_gaps(model, tested)), *beside.values()]
    used = source.frame[list(dict.fromkeys(needed))]
    complete = complete_rows(source, used, drop_missing=drop_missing, needed=list(used.columns))
    rows = as_fitted(model, source, source.frame.loc[complete, columns])
    found = {what: source.labels(c) if what == "y" else source.frame[c] for what, c in beside.items()}
    return rows, int(complete.sum()), {what: column.to_numpy()[complete] for what, column in found.items()}


def _in_batches(
    model: TreeEstimator, source: Source, columns: list[str], beside: dict[str, str], drop_missing: bool
) -> tuple[Any, int, dict[str, Any]]:
    """The same of a table that is read in batches, which has the further columns among its own."""
    assert source.lazy is not None
    used = list(dict.fromkeys([*columns, *beside.values()]))
    n = count_rows(source.lazy.select(used))
    if drop_missing:
        n = count_complete(source.read(source.lazy.select(used)), n)

    def as_given(frame: pd.DataFrame) -> Any:
        own: Any = as_fitted(model, source, frame[columns])
        return own.assign(**{name: frame[name] for name in beside.values()}) if beside else own

    def read(rows: Rows) -> Rows:
        rows = source.read(rows, as_words=[beside["y"]] if "y" in beside else [])
        return complete(rows) if drop_missing else rows

    batches = batches_of(source, used, read)
    return batches.read_by(as_given), n, dict(beside)


def _said(options: Mapping[str, Any]) -> list[str]:
    """Options with their values, as they stand on a command line; None is left out."""
    return [word for option, value in options.items() if value is not None for word in (option, str(value))]


def _commands(
    model: TreeEstimator,
    source: Source,
    files: tuple[str, str, str],
    weights: str | None,
    labels_from: str | None,
    shared: Sequence[str],
    own: Sequence[str],
) -> list[str]:
    """What makes the model and the report again, as far as the command line can say it."""
    model_file, file, out = files
    made_by = _fit_command(model, source, weights, labels_from)
    again = ["cutwise", "report", model_file, file, "--out", out, *shared]
    again += [*_said({"--labels-from": labels_from}), *own]
    if made_by is None:
        return [shlex.join(again)]
    return [shlex.join(["cutwise", "fit", file, *made_by, *shared, "--out", model_file]), shlex.join(again)]


def _fit_command(
    model: TreeEstimator, source: Source, weights: str | None, labels_from: str | None
) -> list[str] | None:
    """The options of ``cutwise fit`` that give this model; None where a parameter has no option."""
    params = model.get_params(deep=False)
    objectives = {"ExplainableKMeans": "kmeans", "ExplainableKMedians": "kmedians"}
    kind = type(model).__name__
    objective = objectives.get(kind, "kmeans")
    given = repr(params.get("preprocessor"))
    mixed = given.startswith("TableScaler")
    scale = next((s for s in SCALES if repr(scaler_of(s, objective=objective, mixed=mixed)) == given), None)
    own_seed = isinstance(params.get("random_state"), int)
    by_labels = kind == "ClusterExplainer" and labels_from is not None
    without_option = any(params.get(name) is not None for name in ("reference", "target_cost", "target_waes"))
    if scale is None or without_option or not (by_labels or (kind in objectives and own_seed)):
        return None
    options: dict[str, Any] = {
        "--labels-from": labels_from if by_labels else None,
        "-k": params.get("n_clusters"),
        "--objective": objectives.get(kind),
        "--scale": scale,
        "--algorithm": params["algorithm"],
        "--max-leaves": params["max_leaves"],
        "--max-depth": params.get("max_depth"),
        "--min-leaf": params.get("min_samples_leaf"),
        "--expansion": params.get("expansion"),
        "--depth-penalty": params.get("depth_penalty"),
        "--n-init": params.get("n_init"),
        "--seed": params.get("random_state"),
    }
    usual = {
        "--objective": "kmeans",
        "--scale": "auto",
        "--algorithm": "auto" if by_labels else "search",
        "--min-leaf": 1,
        "--expansion": GrowthOptions.expansion,
        "--depth-penalty": GrowthOptions.depth_penalty,
        "--n-init": GrowthOptions.n_init,
        "--seed": GrowthOptions.seed,
    }
    words = _said({option: value for option, value in options.items() if str(value) != str(usual.get(option))})
    kinds = model._kinds_by_name
    for name in params.get("categorical_features") or [] if mixed else []:
        if not isinstance((kinds[name].levels or ("",))[0], str | None):
            words += ["--category", name]
    for name in params.get("cut_features") or []:
        words += ["--cut-only", str(name)]
    apart = {weights, labels_from}
    names = list(getattr(model, "feature_names_in_", source.frame.columns))
    if names != [column for column in source.frame.columns if column not in apart]:
        for name in names:
            words += ["--only", name]
    return words
