"""``cutwise rules``: print the rules of a saved model, for people or for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.models import name_clusters, print_certificate, print_rules
from cutwise.cli.options import ModelFile, Names, one_of, out_option
from cutwise.cli.screen import Outputs, note, print_document
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.sql import DIALECTS, SQL_FORMS
from cutwise.table.intake import check_option

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise rules segments.json",
    "cutwise rules segments.json --tree",
    "cutwise rules segments.json --name 0=students --name 1=families --keep",
    "cutwise rules segments.json --format sql --dialect postgres --table sales.customers",
    "cutwise rules segments.json --format python --out segment.py",
    "cutwise rules segments.json --format markdown",
    "cutwise rules segments.json --format json",
    "cutwise rules segments.json --format dot | dot -Tsvg > tree.svg",
)

FORMATS = ("text", "markdown", "json", "sql", "python", "dot")
for_sql = partial(typer.Option, rich_help_panel="With --format sql")
of_dialect = partial(for_sql, help=f"One of {', '.join(DIALECTS)}.", autocompletion=one_of(DIALECTS))
NULLS_HELP = "Result for a row with NULL or NaN in a tested column, such as -1."


@dataclass(frozen=True)
class SqlOptions:
    """The options of SQL; None if not given."""

    dialect: Annotated[str | None, of_dialect(show_default="duckdb")] = None
    table: Annotated[str | None, for_sql(help="The table to read, such as sales.customers.", show_default="data")] = (
        None
    )
    statement: Annotated[str | None, for_sql(help="select, case, view or update.", show_default="select")] = None
    column: Annotated[str | None, for_sql(help="Name of the cluster column.", show_default="cluster")] = None
    values: Annotated[
        str | None, for_sql(help="Content of the cluster column: labels or names.", show_default="labels")
    ] = None
    nulls: Annotated[str | None, for_sql(help=NULLS_HELP, show_default="NULL")] = None

    @property
    def given(self) -> dict[str, Any]:
        """The given options by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


def command(
    *,
    model: ModelFile,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help=f"One of {', '.join(FORMATS)}.", show_default="text", autocompletion=one_of(FORMATS)
        ),
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Print the tree instead of the rules.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    name: Names = None,
    keep: Annotated[bool, typer.Option("--keep", help="Save the names in the model file.")] = False,
    out: Annotated[
        str | None, out_option(metavar="FILE", help="Write to this file; as text, one sentence per rule.")
    ] = None,
    sql: SqlOptions,
) -> None:
    """Print the rules of a saved model, for people or for other programs."""
    from cutwise import load_model

    form = _format(form, tree=tree, as_json=as_json, sql=sql)
    if keep and not name:
        raise InvalidInputError("--keep saves names in the model file, but none was given. Add --name 0=students.")
    out = None if out == "-" else out
    with Outputs(model if keep else None, out, inputs=[] if keep else [model]) as outputs:
        fitted = load_model(model)
        name_clusters(fitted, name or [])
        if keep:
            outputs.write(model, fitted.save)
        document = None
        if out is not None or tree or form != "text":
            document = _document(fitted, form, tree, sql)
        if out is not None and document is not None:
            content = document.encode("utf-8")
            outputs.write(out, lambda part: Path(part).write_bytes(content))
    if out is not None:
        note(f"wrote {out}")
    elif document is not None:
        print_document(document)
    else:
        print_rules(fitted)
        print_certificate(fitted)
    if keep:
        note(f"wrote the names to {model}")


def _format(form: str | None, *, tree: bool, as_json: bool, sql: SqlOptions) -> str:
    """The format to write, from options that must be consistent."""
    if form is not None:
        check_option("--format", form, FORMATS)
    if as_json and form not in (None, "json"):
        raise InvalidInputError(f"--json and --format {form} contradict each other. Give one of them.")
    form = form or ("json" if as_json else "text")
    if tree and form != "text":
        raise InvalidInputError(f"--tree is for text, but --format {form} was given. Leave one of them out.")
    if form != "sql" and (given := next(iter(sql.given), None)):
        raise InvalidInputError(f"--{given} is for SQL, but --format {form} was given. Use --format sql.")
    return form


def _document(model: TreeEstimator, form: str, tree: bool, sql: SqlOptions) -> str:
    """The model in format ``form``, ending in a line break."""
    from cutwise import export_graphviz, export_json, export_markdown, export_python, export_sql, export_text

    if form == "text":
        return export_text(model, form="tree" if tree else "rules") + "\n"
    if form == "sql":
        options = sql.given
        if sql.nulls is not None and sql.values != "names":
            options["nulls"] = _as_label(model, sql.nulls)
        if "statement" in options:
            options["form"] = check_option("--statement", options.pop("statement"), SQL_FORMS)
        return export_sql(model, **options) + "\n"
    writers = {"markdown": export_markdown, "json": export_json, "python": export_python, "dot": export_graphviz}
    return writers[form](model)


def _as_label(model: TreeEstimator, text: str) -> Any:
    """The value of ``--nulls`` in the type of the model's labels."""
    kind = type(model.classes_.tolist()[0])
    try:
        return text if kind is str else kind(text)
    except ValueError:
        raise InvalidInputError(
            f"--nulls {text}: the clusters are numbers, and a column has a single type. Give a number such as -1."
        ) from None
