"""What a fitted model says to people and programs: document and guarantees, and exports as text, code and drawings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cutwise.estimators._base import TreeEstimator, fitted, recipe_of
from cutwise.exceptions import InvalidInputError, listed
from cutwise.readouts.code import tree_python
from cutwise.readouts.guarantee import ImmCertificate, mistake_spread
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.rules import rules_markdown, tree_dot, tree_text
from cutwise.readouts.sql import Dialect, Form, Values, tree_polars, tree_sql
from cutwise.readouts.words import advice, finite
from cutwise.reference.objective import FEATURE_SPACE, KMEDIANS, OBJECTIVES
from cutwise.table.intake import check_integer, check_option
from cutwise.tree.recipes import RECIPES

DOCUMENT_VERSION = 1
"""Raised by one whenever a reader of an older document could misread a newer one; entries may be added at any time."""

_SHARES_NOTHING = 0.05  # share of a cluster's rows in this cluster of the reference

_BOUNDS = ("theorem_bound", "instance_bound", "n_mistakes")  # proved for a tree by IMM, if the theory applies

_PAIRS = ("adjusted_rand_index", "normalized_mutual_info")  # agreement as a kernel estimator measures it


def model_document(
    model: TreeEstimator, *, names: Mapping[Any, str | None] | None = None, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Description of a fitted model for programs.

    ``model``: fitted. ``names``: cluster names that override those of the model. ``about``: further entries, such as
    the source of the table. Returns ``document``: see ``export_json``.
    """
    columns = model._columns_of_fit()
    certificate = imm_certificate(model) if recipe_of(model).bound == "mistakes" else None
    bounds = {name: finite(getattr(certificate, name, math.nan)) for name in _BOUNDS}
    return {
        "format": "cutwise rules",
        "format_version": DOCUMENT_VERSION,
        "left_out": model.left_out_,
        "notes": list(model._intake.get("notes", ())),
        **(about or {}),
        "estimator": type(model).__name__,
        "algorithm": algorithm_of(model),
        "n_clusters": len(model.classes_),
        "n_leaves": model.n_leaves_,
        "depth": model.depth_,
        "cost": finite(model.cost_),
        "cost_ratio": finite(model.cost_ratio_),
        "explained": finite(model.explained_),
        "reference_explained": finite(model.reference_explained_),
        "agreement": finite(agreement_of(model)),
        "limits_price": finite(getattr(model, "limits_price_", math.nan)),
        **{name: finite(getattr(model, f"{name}_")) for name in _PAIRS if hasattr(model, f"{name}_")},
        **({"certificate": bounds if certificate.applies else None} if certificate else {}),
        "columns": list(columns.names),
        "has_column_names": columns.has_names,
        "column_kinds": [kind.name for kind in columns.kinds],
        **model.rules(names=names).to_dict(),
        "tree": _nodes(model._labeled(names)),
    }


def words_of(model: TreeEstimator) -> tuple[str, str]:
    """Words for a model's reference clustering and for its costs, both in the plural."""
    if model.reference_.objective == FEATURE_SPACE:
        words, cost_words = "kernel k-means", "squared distances in the kernel's feature space"
    else:
        objective = OBJECTIVES[model.reference_.objective]
        words, cost_words = objective.words, objective.cost_words
    return "the given clusters" if hasattr(model, "agreement_") else f"the {words} clusters", cost_words


def advice_of(model: TreeEstimator, more_leaves: str = "max_leaves") -> str | None:
    """Advice for a fitted model that explains little, or None; ``more_leaves``: the option that allows more leaves."""
    params = model.get_params(deep=False)
    allowed = params.get("max_leaves") or len(model.classes_)
    # If growth ended before the allowed number of leaves, more leaves gain nothing.
    grows = recipe_of(model).takes_leaves and model.n_leaves_ >= allowed
    steps = f"{more_leaves} {2 * allowed}" if grows else None
    said = advice(
        model.explained_,
        # With a bounded kernel costs are high for any clusters.
        math.inf if model.reference_.objective == FEATURE_SPACE else model.reference_explained_,
        words_of(model)[0],
        chosen=bool(params.get("n_clusters", 1) > 1),
        more_leaves=steps,
    )
    strange = [str(cluster.cluster) for cluster in model.rules() if cluster.purity < _SHARES_NOTHING]
    if said is None and strange:
        said = (
            f"almost none of the rows under the rules of cluster {listed(strange, write=str)} are in it in "
            f"{words_of(model)[0]}"
        )
        said += f": allow more leaves ({steps}), or read it" if grows else ": read it"
        said += " by its rules alone"
    return said


def agreement_of(model: TreeEstimator) -> float:
    """Share of rows whose cluster is that of the reference; nan if no rows were counted."""
    return model._leaf_counts.agreement


def algorithm_of(model: TreeEstimator) -> str:
    """The algorithm that grew the tree, and the expansion if it has further leaves."""
    grown = getattr(model, "growth_", None) or getattr(model, "algorithm", None) or type(model).__name__
    recipe = RECIPES.get(grown)  # none for the best subtree of plain CART
    expansion = "expand" if getattr(model, "algorithm", None) == "auto" else getattr(model, "expansion", None)
    expanded = model.n_leaves_ > len(model.classes_) and recipe is not None and not recipe.may_leave_out
    return f"{grown} and {expansion}" if expanded and expansion else str(grown)


def _nodes(labeled: LabeledTree) -> list[dict[str, Any]]:
    tree = labeled.tree
    nodes: list[dict[str, Any]] = []
    for node, (size, share) in enumerate(zip(labeled.size.tolist(), labeled.share.tolist(), strict=True)):
        entry: dict[str, Any] = {"node": node, "size": size, "share": finite(share)}
        if tree.feature[node] < 0:
            label = labeled.labels[tree.cluster[node]]
            entry |= {"cluster": label, "name": labeled.cluster_names.get(label)}
        else:
            inside, outside = int(tree.children_left[node]), int(tree.children_right[node])
            test = labeled.condition(inside).to_dict()
            entry |= {"feature": test.pop("feature"), "column": test.pop("name"), **test}
            entry |= {"inside": inside, "outside": outside}
        nodes.append(entry)
    return nodes


def imm_guarantee(model: TreeEstimator) -> float:
    """Upper bound of the cost of a model that IMM grew, from its own mistakes and depth.

    Parameters
    ----------
    model : ExplainableKMeans, ExplainableKMedians or ClusterExplainer
        Fitted with ``algorithm="imm"``, or loaded from a file.

    Returns
    -------
    bound : float
        ``model.cost_`` is at most this. Divided by ``model.reference_.cost`` it bounds ``cost_ratio_``. nan if the
        theory does not apply: distances are measured in other columns than those that are cut (a preprocessor, given
        costs), or leaves were added by ``expansion="expand"``, which ignores costs.

    Raises
    ------
    NotFittedError
        The model is not fitted.
    InvalidInputError
        No model of cutwise, or one that was grown by another algorithm.

    See Also
    --------
    imm_certificate : Both bounds, of which this is the smaller, and the cost.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    return _certify(model, "imm_guarantee").bound


def imm_certificate(model: TreeEstimator) -> ImmCertificate:
    """Both bounds proved for the cost of a model that IMM grew, and the cost.

    Parameters
    ----------
    model : ExplainableKMeans, ExplainableKMedians or ClusterExplainer
        Fitted with ``algorithm="imm"``, or loaded from a file.

    Returns
    -------
    certificate : ImmCertificate
        ``print(certificate)`` says it in a line.

    Raises
    ------
    NotFittedError
        The model is not fitted.
    InvalidInputError
        No model of cutwise, or one that was grown by another algorithm.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    return _certify(model, "imm_certificate")


def certificate_line(model: TreeEstimator) -> str | None:
    """Line about the guarantee for a fitted model: for IMM, and by Theorem 4.1 for optimal cuts; None for others."""
    bound = recipe_of(model).bound
    if bound == "single cut" and model._imm_applies:
        factor = 2 if model.reference_.objective == KMEDIANS.name else 4
        return f"guarantee: no single cut costs less, and this one costs at most {factor} times the best two clusters"
    if bound != "mistakes":
        return None
    certificate = imm_certificate(model)
    return str(certificate) if certificate.applies else None


def _certify(model: Any, caller: str) -> ImmCertificate:
    model = fitted(model, caller, 'Fit one with algorithm="imm".')
    if recipe_of(model).bound != "mistakes":
        algorithm = getattr(model, "algorithm", None)
        raise InvalidInputError(
            f"{caller} is for trees grown by IMM; this {type(model).__name__} "
            + ("has no algorithm to choose" if algorithm is None else f"has algorithm={algorithm!r}")
            + '. Fit a model with algorithm="imm".'
        )
    tree, reference, scale = model.tree_, model.reference_, model._weight_scale
    mistakes = float(tree.n_node_mistakes.sum()) / scale
    # Values of the fit, since parameters may have been set later.
    if not model._imm_applies or model._gaps is None or reference.objective not in OBJECTIVES:
        return ImmCertificate(model.cost_, reference.cost, math.nan, math.nan, mistakes)
    by_medians = reference.objective == KMEDIANS.name
    spread, depth = mistake_spread(tree, model._gaps, reference.centers, squared=not by_medians, weight_scale=scale)
    if by_medians:
        factor, instance = 2 * depth + 1, reference.cost + spread
    else:
        factor, instance = 8 * depth * len(reference.centers) + 2, 2 * reference.cost + 2 * spread
    return ImmCertificate(model.cost_, reference.cost, factor * reference.cost, instance, mistakes)


FORMS = ("tree", "rules")


def export_text(
    model: TreeEstimator, *, form: Literal["tree", "rules"] = "tree", names: Mapping[Any, str | None] | None = None
) -> str:
    """A fitted model as text: the tree, a node a line, or the rules, a cluster a paragraph.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    form : {"tree", "rules"}, default="tree"
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``.

    Returns
    -------
    text : str
        A line about the whole tree, for trees by IMM another with their guarantee (``metrics.imm_certificate``), then
        the tree with its tests in the units of the input, the training rows in each node, and at leaves the cluster
        and its purity; or the rules, as ``print(model.rules())`` shows them. Thresholds parse back to exactly the
        same cuts.

    Raises
    ------
    InvalidInputError
        An unknown form, or names that no cluster can have.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_text
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> print(export_text(model))
    2 leaves, depth 1; grown by expand, agreement 100 %
    4 rows
    |-- x0 <= 4: cluster a (2 rows, 50.0 %; purity 100 %)
    |-- x0 > 4: cluster b (2 rows, 50.0 %; purity 100 %)
    >>> print(export_text(model, form="rules", names={"a": "beginners"}))
    2 leaves, depth 1; grown by expand, agreement 100 %
    cluster beginners (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 <= 4
    cluster b (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 > 4
    """
    model = fitted(model, "export_text")
    check_option("form", form, FORMS)
    text = str(model.rules(names=names)) if form == "rules" else tree_text(model._labeled(names))
    return f"{_headline(model)}\n{text}"


def export_markdown(model: TreeEstimator, *, names: Mapping[Any, str | None] | None = None) -> str:
    """A fitted model's rules as a table in GitHub's Markdown.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``; they have a column of their own.

    Returns
    -------
    markdown : str
        A line about the whole tree, then a line a rule. Names and rules stand in code spans: nothing in them is read
        as markup or HTML, and thresholds parse back to exactly the same cuts.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_markdown
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> print(export_markdown(model))
    2 leaves, depth 1; grown by expand, agreement 100 %
    <BLANKLINE>
    | cluster | rows | share | purity | coverage | rule |
    | :-- | --: | --: | --: | --: | :-- |
    | `a` | 2 | 50.0 % | 100 % | 100 % | `x0 <= 4` |
    | `b` | 2 | 50.0 % | 100 % | 100 % | `x0 > 4` |
    <BLANKLINE>
    """
    model = fitted(model, "export_markdown")
    return f"{_headline(model)}\n\n{rules_markdown(model.rules(names=names))}"


def export_json(model: TreeEstimator, *, names: Mapping[Any, str | None] | None = None, indent: int | None = 2) -> str:
    """A fitted model's figures, rules and tree as JSON for other programs.

    The format is for any program. The file that :func:`load_model` reads is a different one, written by ``model.save``.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``.
    indent : int, default=2
        Spaces a level; None for one line.

    Returns
    -------
    text : str
        One object; a figure that has no value is null. Later versions may add entries.

        ``format``, ``format_version``
            ``"cutwise rules"`` and 1.
        ``estimator``, ``algorithm``
            Which class grew the tree, and how.
        ``n_clusters``, ``n_leaves``, ``depth``, ``cost``, ``cost_ratio``, ``limits_price``, ``agreement``
            The model's figures: ``cost_ratio_`` and the share of rows whose cluster is that of the reference.
        ``explained``, ``reference_explained``
            ``explained_`` and ``reference_explained_``.
        ``certificate``
            With trees by IMM: ``{theorem_bound, instance_bound, n_mistakes}``, or null where the theory does not apply.
        ``adjusted_rand_index``, ``normalized_mutual_info``
            With kernel estimators: agreement with the reference as these count it.
        ``columns``, ``has_column_names``, ``column_kinds``, ``left_out``, ``notes``
            Names of the table's columns in order (``x0``, ``x1``, ... without names), whether they are the table's own,
            and the kind of each; the columns left out, with reasons; messages of the command line about the table.
        ``clusters``
            A list of ``{cluster, name, size, share, coverage, purity, noise, rules}``: the label that ``predict``
            gives, its name or null, the figures of :class:`Rule` (null in a tree edited by hand), and its rules, each
            ``{cluster, name, leaf, text, conditions, size, share, coverage, purity, noise, depth}``. A row matches a
            rule when all its conditions ``{feature, name, lower, upper, outside}`` hold: ``lower < x <= upper`` for
            column number ``feature``, null being an open side; the opposite where ``outside`` is true.
        ``tree``
            A list of nodes, the root first: ``{node, size, share}`` and for leaves ``{cluster, name}``, for others
            ``{feature, column, lower, upper, inside, outside}``: a row with ``lower < x <= upper`` goes on to the node
            with the number ``inside``, any other to ``outside``; ``lower`` is null for a test with one threshold.

    Examples
    --------
    >>> import json
    >>> from cutwise import ClusterExplainer, export_json
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> json.loads(export_json(model))["clusters"][0]["rules"][0]["text"]
    'x0 <= 4'
    """
    model = fitted(model, "export_json")
    if indent is not None:
        indent = check_integer("indent", indent, minimum=0, hint="None writes one line.")
    return json.dumps(model_document(model, names=names), ensure_ascii=False, allow_nan=False, indent=indent) + "\n"


def export_sql(
    model: TreeEstimator,
    dialect: Dialect = "duckdb",
    *,
    table: str | Sequence[str] | None = None,
    form: Form = "select",
    column: str = "cluster",
    view: str | Sequence[str] | None = None,
    values: Values = "labels",
    nulls: int | float | str | None = None,
    names: Mapping[Any, str | None] | None = None,
) -> str:
    """A fitted model as SQL that gives every row of a table the cluster that ``predict`` gives it.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    dialect : str, default="duckdb"
        ``"duckdb"``, ``"postgres"``, ``"sqlite"``, ``"mysql"``, ``"bigquery"``, ``"snowflake"``, ``"redshift"``,
        ``"spark"``, ``"databricks"``, ``"trino"``, ``"hive"``, ``"clickhouse"``, ``"oracle"`` or ``"tsql"``.
    table : str or sequence of str, default=None
        The table, ``"sales.customers"`` or ``("sales", "customers")`` with its schema; None writes ``data``. Names are
        quoted, so spell them as the engine does (Snowflake: upper case, unless they were created in quotes).
    form : {"select", "case", "view", "update"}, default="select"
        A SELECT of the table with one more column, the CASE expression alone, a view of that SELECT, or an UPDATE of a
        column that is there already.
    column : str, default="cluster"
        The name of the column of clusters.
    view : str or sequence of str, default=None
        The name of the view; None appends ``_clusters`` to the table's name.
    values : {"labels", "names"}, default="labels"
        Contents of the column: labels as ``predict`` gives them, in their type, or names as text (a cluster without a
        name has its label).
    nulls : int, float or str, default=None
        Result for a row with NULL or NaN in a column that the tree tests, or in SQLite with a value that is not a
        number or date: ``predict`` refuses such rows, and engines compare them in different ways. None means NULL;
        another value must not be a cluster.
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``.

    Returns
    -------
    sql : str
        Lines of comment and one statement, without a semicolon. Thresholds are doubles whatever the type of the
        columns, and equal to the model's. Columns of a table without names are called ``x0``, ``x1``, ...

    Raises
    ------
    MissingDependencyError
        sqlglot is not installed.
    InvalidInputError
        An unknown option, or a name that SQL cannot hold.

    Notes
    -----
    The rules form one flat CASE, so deep trees do not exceed limits on nesting. In SQLite, columns are qualified by
    their table, since SQLite reads a quoted name that is not a column as text; give ``table`` with ``form="case"``.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_sql
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> print(export_sql(model, "postgres", table="customers"))  # doctest: +SKIP
    """
    model = fitted(model, "export_sql")
    return tree_sql(
        model._labeled(names),
        dialect=dialect,
        table=table,
        form=form,
        column=column,
        view=view,
        values=values,
        nulls=nulls,
    )


def export_polars(model: TreeEstimator, *, nulls: int | float | str | None = None) -> Any:
    """A fitted model as a polars expression, for eager and lazy frames: ``frame.with_columns(export_polars(model))``.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    nulls : int, float or str, default=None
        As in :func:`export_sql`.

    Returns
    -------
    expression : polars.Expr
        The column ``cluster``, computed from columns with the names of fit (``x0``, ``x1``, ... without names). Its
        tests are those that ``export_sql`` writes for DuckDB, one in the other as in the tree. If the table of fit had
        a time zone, timestamps may be in any zone, and timestamps without a zone count as UTC. ``.alias`` gives the
        column another name.

    Raises
    ------
    MissingDependencyError
        sqlglot or polars is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> from cutwise import ClusterExplainer, export_polars
    >>> frame = pl.DataFrame({"age": [20, 30, 60, 70]})
    >>> model = ClusterExplainer().fit(frame, ["young", "young", "old", "old"])
    >>> frame.lazy().with_columns(export_polars(model)).collect()["cluster"].to_list()
    ['young', 'young', 'old', 'old']
    """
    return tree_polars(fitted(model, "export_polars")._labeled(), nulls).alias("cluster")


def export_python(
    model: TreeEstimator, *, function: str = "cluster_of", names: Mapping[Any, str | None] | None = None
) -> str:
    """A fitted model as the source of one Python function that needs nothing but Python.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    function : str, default="cluster_of"
        The function's name.
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``; they stand in comments.

    Returns
    -------
    source : str
        A function of a mapping from column name to value (from position, counted from 0, for a table without names).
        It returns the label of ``predict``, or None if a tested value of the row is None or nan. Numbers may be
        written as text, and values of text columns are compared as ``str(value)``.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_python
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> space = {}
    >>> exec(export_python(model), space)
    >>> space["cluster_of"]({0: 4.5, 1: 5})
    'b'
    """
    model = fitted(model, "export_python")
    return tree_python(model._labeled(names), function=function)


def export_graphviz(model: TreeEstimator, *, names: Mapping[Any, str | None] | None = None) -> str:
    r"""A fitted model's tree as Graphviz DOT text.

    Parameters
    ----------
    model : estimator of cutwise
        Fitted, or loaded from a file.
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``.

    Returns
    -------
    dot : str
        For the program ``dot`` (``dot -Tsvg tree.dot``). Nodes are named by their numbers, as ``apply`` gives them.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_graphviz
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> export_graphviz(model).splitlines()[3]
    '  0 [label="x0 <= 4\\n4 rows, 100 %"];'
    """
    model = fitted(model, "export_graphviz")
    return tree_dot(model._labeled(names))


def _headline(model: TreeEstimator) -> str:
    """A line about the whole tree, and another with its guarantee if it has one."""
    certificate = certificate_line(model)
    return model._summary() if certificate is None else f"{model._summary()}\n{certificate}"
