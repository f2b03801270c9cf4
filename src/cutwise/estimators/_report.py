"""The report on a fitted model and a table."""

from __future__ import annotations

import ast
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from inspect import signature
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise._whole import write_whole
from cutwise.estimators._base import TreeEstimator, fitted
from cutwise.estimators._curve import CostCurve, cost_curve
from cutwise.estimators._exports import advice_of, export_sql, words_of
from cutwise.estimators._model_file import UnserializableParam
from cutwise.estimators.training import FitContext
from cutwise.exceptions import (
    ColumnMismatchError,
    CutwiseError,
    CutwiseWarning,
    InvalidInputError,
    NotFiniteError,
    NotNumericError,
    UnsupportedInputError,
    listed,
    shown,
)
from cutwise.passes.rows import BatchedRows
from cutwise.passes.sources import as_lazy, check_column_name, weights_of_batch
from cutwise.passes.spill import Copies
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.report.render import report_html, report_json, report_markdown
from cutwise.readouts.report.summary import DescribedRows, build_summary, count_rows
from cutwise.readouts.sql import DIALECTS, Dialect
from cutwise.readouts.words import finite
from cutwise.table.intake import check_option, drop_columns, pop_column, read_weights
from cutwise.table.table import Table, are_all_plain
from cutwise.tree.provider import GrowthSpec

_WRITERS = {".html": "to_html", ".htm": "to_html", ".md": "to_markdown", ".markdown": "to_markdown", ".json": "to_json"}
_FIGURES = ("cost", "cost_ratio", "explained", "reference_explained")
_WITHOUT_EFFECT = ("n_jobs", "verbose")  # parameters that no result depends on


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a fitted model and a table.

    Attributes
    ----------
    summary : dict
        Figures and texts as plain values; the README in ``cutwise/readouts/report`` lists them.
    """

    summary: dict[str, Any]

    def to_html(self) -> str:
        """One self-contained page: opens from a file without other resources, prints, and can be used by keyboard."""
        return report_html(self.summary)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        return report_markdown(self.summary)

    def to_json(self) -> str:
        """The summary as JSON."""
        return report_json(self.summary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report; the file appears whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Its ending sets the format: ``.html``, ``.md`` or ``.json``.

        Raises
        ------
        InvalidInputError
            Another ending.
        """
        write_whole(path, self.written_as(path))

    def written_as(self, path: str | os.PathLike[str]) -> str:
        """The text that ``save`` writes to ``path``."""
        text: str = getattr(self, check_form(path))()
        return text

    def __repr__(self) -> str:
        source = self.summary["source"]
        clusters = self.summary["headline"]["n_clusters"]
        return f"Report(clusters={clusters}, rows={source['n_rows']}, columns={source['n_columns']})"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's do not mix."""
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" title="{escape(self.summary["title"])}" '
            'style="width:100%;height:720px;border:1px solid #8884;border-radius:6px"></iframe>'
        )


def check_form(path: str | os.PathLike[str]) -> str:
    """Name of the method of ``Report`` for the ending of a path; other endings are an error."""
    if not isinstance(path, str | os.PathLike):
        raise UnsupportedInputError(
            f"path={shown(path)} is not a file name. Give one that ends in .html, .md or .json; pass labels as "
            "y=labels."
        )
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InvalidInputError(
            f"{os.fspath(path)} ends in {ending or 'nothing'}; a report is written as .html, .md or .json."
        )
    return _WRITERS[ending]


def report(
    model: TreeEstimator,
    X: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    y: Any = None,
    title: str | None = None,
    source: str | None = None,
    dialect: Dialect = "duckdb",
    table: str | None = None,
    curve: bool = True,
    reproduce: str | Sequence[str] | None = None,
    **fit: Any,
) -> Report:
    """Report on a clustering, its cost and each cluster: a page for readers who did not make it.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    X : array-like, sparse matrix, data frame or lazy table of shape (n_samples, n_features)
        The rows to describe, most often those of fit.
    path : str or path-like, default=None
        File to write, ending in ``.html``, ``.md`` or ``.json``.
    y : array-like of shape (n_samples,) or str, default=None
        The clusters that were given to ``ClusterExplainer``, for the curve of a loaded model; or the column of ``X``
        that holds them.
    title : str, default=None
    source : str, default=None
        Name of the table in the text.
    dialect : str, default="duckdb"
        Dialect of the SQL; see :func:`cutwise.export_sql`.
    table : str, default=None
        The table's name in the SQL; None writes ``data``.
    curve : bool, default=True
        Also show the cost with more leaves; needs a fit, and is left out if ``X`` is not the table that the model was
        fitted on.
    reproduce : str or sequence of str, default=None
        Commands that make the model again; None shows the model's own parameters, or nothing if rows were counted again
        after its fit.
    **fit
        Other arguments of ``fit`` for the curve, such as ``sample_weight``.

    Returns
    -------
    report : Report

    Raises
    ------
    InvalidInputError
        A table that does not fit the model, or a path of another ending.
    MissingDependencyError
        ``path`` is given as ``.html`` or ``.md`` and jinja2 is not installed.

    Examples
    --------
    >>> import cutwise
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> made = cutwise.report(cutwise.ExplainableKMeans(3, random_state=0).fit(X), X)
    >>> made.summary["headline"]["n_clusters"]
    3
    """
    model = fitted(model, "report")
    if path is not None:
        check_form(path)
    if reproduce is None:
        # No fit reproduces an edited tree, or counts of newer rows.
        reproduce = [] if math.isnan(model.cost_) else _call(model, y, fit)
    notes: list[str] = []
    labeled = model._labeled()
    X, y, described = _described(model, X, y, fit, labeled, notes)
    found = _curve(model, X, y, described, notes, fit) if curve and not notes else None
    own, cost_words = words_of(model)
    if (limits := model._limits_line) is not None:
        notes.append(f"{limits[0].upper()}{limits[1:]}.")
    if (advised := advice_of(model)) is not None:
        notes.append(f"{advised[0].upper()}{advised[1:]}.")
    headline = {name: finite(getattr(model, f"{name}_")) for name in _FIGURES} | {
        "reference_cost": None if math.isnan(model.cost_) else finite(model.reference_.cost),
        "reference": own,
        "cost_words": cost_words,
        "cart": None if found is None or found._context is None else _plain_cart(found._context, model.n_leaves_),
    }
    of_curve = None if found is None else found.to_dict()
    if of_curve is not None:  # use the tree's own figures: sums of fractional weights may differ in the last digit
        of_curve |= {name: headline[name] for name in ("reference_cost", "reference_explained")}
        for name, figure in {**headline, "agreement": finite(model._leaf_counts.agreement)}.items():
            if isinstance(points := of_curve.get(name), list):
                points[of_curve["n_leaves"].index(model.n_leaves_)] = figure
    more = {
        "title": title or "Clusters in words",
        "curve": of_curve,
        "sql": _sql(model, dialect, table, notes),
        "settings": _settings(model),
        "reproduce": [reproduce] if isinstance(reproduce, str) else list(reproduce),
        "notes": notes,
    }
    made = Report(build_summary(labeled, described, source, headline, **more))
    if path is not None:
        made.save(path)
    return made


def _described(
    model: TreeEstimator, X: Any, y: Any, fit: dict[str, Any], labeled: LabeledTree, notes: list[str]
) -> tuple[Any, Any, DescribedRows]:
    """The table, the labels and the described rows; only tested columns if others are missing or have other values.

    Labels and weights that are columns of a table in memory are taken out of it.
    """
    if (lazy := as_lazy(X)) is not None:
        beside, counted = (y, check_column_name(fit.get("sample_weight"), "sample_weight")), list[npt.NDArray[Any]]()

        def read(batch: Any) -> Table:
            given, own = pop_column(pop_column(batch, beside[0], "y")[0], beside[1], "sample_weight")
            weights, table = None if own is None else weights_of_batch(own), model._read(given)
            counted.append(count_rows(model.tree_, model.tree_.apply(table), weights))
            return table

        with Copies() as copies:
            batched = BatchedRows.read(lazy.read_by(read), copies)
            in_leaves = np.sum(counted, axis=0)
            if not in_leaves[2].any():
                read_weights(0, 1)  # refused, in the words of tables in memory
            return X, y, DescribedRows.in_batches(labeled, batched, in_leaves)
    X, y = pop_column(X, y, "y")
    if "sample_weight" in fit:
        X, fit["sample_weight"] = pop_column(X, fit["sample_weight"], "sample_weight")
    X = drop_columns(X, model._beside)
    try:
        rows = model._read(X)
    except (ColumnMismatchError, NotFiniteError, NotNumericError):
        rows = model._read_tested(X)
        if rows.unread:
            lacking = listed([rows.names[column] for column in sorted(rows.unread)])
            notes.append(
                "Only the columns that the tree tests are described, and the cost curve is left out: these rows have "
                f"no values in {lacking}, or other kinds of values than at fit."
            )
    return X, y, DescribedRows.of(labeled, rows, read_weights(fit.get("sample_weight"), rows.n_rows))


def _curve(
    model: TreeEstimator, X: Any, y: Any, described: DescribedRows, notes: list[str], fit: dict[str, Any]
) -> CostCurve | None:
    """The curve of the model's own growth; None, with a note about the reason, if there is none."""
    left_out = "The cost curve is left out"
    tree, counts = model.tree_, model._leaf_counts
    if not counts.are_of(described.in_leaves[1]):
        return None  # not the rows of fit, as the summary says
    if math.isnan(model.cost_):
        notes.append(f"{left_out}: the cost of this tree is unknown.")
        return None
    if y is None and "n_clusters" not in model.get_params(deep=False):
        if as_lazy(X) is not None or len(model.reference_.labels) != described.n_rows:
            notes.append(f"{left_out}: it needs the clusters that the model explains, and they are not in its file.")
            return None
        y = model.reference_.labels  # codes in the order of the labels, so the trees are the same
    try:
        with warnings.catch_warnings(action="ignore", category=CutwiseWarning):  # the fit has warned
            found = cost_curve(model, X, y, **fit)
    except (CutwiseError, ValueError) as error:  # also a preprocessor's, about columns that are not tested
        notes.append(f"{left_out}: {' '.join(str(error).split())}")
        return None
    same = found.cost[found.n_leaves == tree.n_leaves]
    if not (len(same) and math.isclose(same[0], model.cost_, rel_tol=1e-9, abs_tol=1e-300)):
        notes.append(
            f"{left_out}: fitting these rows again gives another tree (were there weights or other rows, or was the "
            "tree edited or taken from a front?)."
        )
        return None
    return found


def _plain_cart(context: FitContext, n_leaves: int) -> dict[str, Any]:
    """Cost ratio and agreement of plain CART with as many leaves on the same clusters."""
    grown = context.grower()(GrowthSpec("cart", n_leaves))
    own = context.of(grown)
    costs, agrees = own.cost_of_labels(grown.codes), grown.codes == own.reference.labels
    ratio = costs.cost / own.reference.cost if own.reference.cost > 0 else math.nan
    return {"cost_ratio": finite(ratio), "agreement": float(np.average(agrees, weights=own.rows.sample_weight))}


def _sql(model: TreeEstimator, dialect: Dialect, table: str | None, notes: list[str]) -> dict[str, Any] | None:
    """The SQL statement, and the text around it that selects one cluster; None, with a note, if there is none."""
    check_option("dialect", dialect, DIALECTS)
    columns = model._columns_of_fit()
    taken = {name.casefold() for name in columns.names} if columns.has_names else set()  # else x0, x1, ...
    column = next(name for name in chain(["cluster"], (f"cluster_{i}" for i in count(2))) if name not in taken)
    try:
        statement = export_sql(model, dialect, table=table, column=column)
    except CutwiseError as error:
        notes.append(f"SQL is left out: {' '.join(str(error).split())}")
        return None
    from sqlglot import exp

    name = exp.to_identifier("clustered", quoted=True)

    def only(label: Any) -> str:
        where = exp.EQ(this=exp.column(column, quoted=True), expression=exp.convert(label))
        text: str = exp.select("*").from_(exp.Table(this=name.copy())).where(where).sql(dialect=dialect)
        return text

    return {
        "dialect": dialect,
        "statement": statement,
        "before": f"WITH {name.sql(dialect=dialect)} AS (\n",
        "after": [f"\n)\n{only(label)}" for label in model.classes_.tolist()],
    }


def _call(model: TreeEstimator, y: Any, fit: dict[str, Any]) -> str:
    """A call that makes the model again in Python; arguments without a short form appear as their names."""
    params, known = model.get_params(deep=False), signature(type(model)).parameters
    changed = [(name, value) for name, value in params.items() if repr(value) != repr(known[name].default)]
    labels = [] if y is None and "n_clusters" in params else [repr(y) if isinstance(y, str) else "y"]
    given = [(name, value) for name, value in fit.items() if value is not None]
    own, more = ([f"{name}={_expression(name, value)}" for name, value in pairs] for pairs in (changed, given))
    if fit.get("sample_weight") is None and not model._leaf_counts.is_unweighted:
        more.append("sample_weight=sample_weight")
    return f"{type(model).__name__}({', '.join(own)}).fit({', '.join(['X', *labels, *more])})"


def _expression(name: str, value: Any) -> str:
    """An argument as a Python expression, or its name if it is long or has no such form."""
    try:
        parsed = ast.parse(repr(value), mode="eval")
    except SyntaxError:  # a function or a random generator
        return name
    text = ast.unparse(parsed)  # on one line
    is_cut_short = any(isinstance(part, ast.Constant) and part.value is ... for part in ast.walk(parsed))
    return name if is_cut_short or len(text) > 300 or isinstance(value, np.ndarray) else text


def _settings(model: TreeEstimator) -> list[list[str]]:
    params = model.get_params(deep=False)
    settings = [["estimator", type(model).__name__]]
    settings += [
        [name, value if isinstance(value, str) else _short(value)]
        for name, value in params.items()
        if name not in _WITHOUT_EFFECT and value is not None
    ]
    growth = getattr(model, "growth_", None)
    settings += [] if growth is None else [["grown by", str(growth)]]
    if not are_all_plain(model._kinds):
        settings.append(["columns", model._columns_of_fit().in_words()])
    return [*settings, *(["table", line] for line in model._intake.get("notes", ()))]


def _short(value: Any) -> str:
    if isinstance(value, UnserializableParam):
        return value.description
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 300 else text[:299] + "…"
