"""Parents of the estimators: the scikit-learn methods of every fitted threshold tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.exceptions import (
    EmptyClusterWarning,
    InvalidInputError,
    LargeIntegersWarning,
    ModelFileError,
    ScaledColumnsWarning,
    UnseparableCentersWarning,
    UnsupportedInputError,
    listed,
    warn,
)
from cutwise.passes.sources import LazyTable, TreeColumn, as_lazy
from cutwise.readouts.changes import Change, changes_in_words, explain_rows, smallest_changes
from cutwise.readouts.conditions import path_rule
from cutwise.readouts.labeled_tree import LabeledTree, LeafCounts, count_leaves, read_cluster_names
from cutwise.readouts.rules import Rules, build_rules, rules_html
from cutwise.readouts.sklearn import to_sklearn
from cutwise.readouts.sql import tree_sql
from cutwise.readouts.words import COSTS_UNKNOWN, below_one_reason
from cutwise.reference.fitted import check_columns, is_fitted
from cutwise.reference.objective import KMEANS, Objective
from cutwise.table.convert import NamedMatrix, reading, ways_to_columns
from cutwise.table.intake import (
    MixedOptions,
    Seed,
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_option,
    check_unread,
    check_verbose,
    drop_columns,
    names_given,
    pop_column,
    read_random_state,
    read_table,
    read_weights,
)
from cutwise.table.labels import Labels, read_labels
from cutwise.table.mixed import check_type
from cutwise.table.table import Columns, Table, are_all_plain, are_plain, check_same_columns, is_standardized
from cutwise.tree.growing import GrownTree
from cutwise.tree.limits import NoAllowedCutError
from cutwise.tree.provider import GrowthSpec
from cutwise.tree.recipes import RECIPES, LimitsGiven, Recipe

from ._clusterer import HasCost
from ._lazy import read_clusters
from ._model_file import ModelFileMixin, UnserializableParam
from .table_scaler import TableScaler
from .training import (
    FINER_PREPROCESSOR,
    MEASURED,
    FitContext,
    Growth,
    MetricSpace,
    PreparedFit,
    fit_metric_space,
    make_reference,
    pipeline_steps,
    transform_rows,
)

# float64 has no halves from here on, so means and cuts of integers are rounded.
_LARGE_INTEGER = 2.0**52


@fill_doc
class TreeEstimator(ModelFileMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Parent of the estimators: methods of a fitted tree, whatever algorithm grew it."""

    _objective: ClassVar[Objective] = KMEANS
    """Costs and distances; estimators that measure otherwise override ``transform`` and ``_costs_of``."""

    _recipes: ClassVar[Mapping[str, Recipe]] = RECIPES
    """The algorithms by the names that users give."""

    _takes_cheapest: ClassVar[bool] = False
    """Whether a fit ends with the cheapest tree of its growth, rather than the largest."""

    # What a fitted tree answers ---------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The cluster of every row: the label of the leaf it reaches.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or lazy table of shape (n_samples, n_features)
            Rows with the columns of fit, in their own units. In a data frame or an AnnData object, columns that the
            tree does not test may be missing or hold anything. Arrays are read by position: all their columns must be
            present and finite.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The tree alone decides; cluster centers are not used. For a polars ``LazyFrame``, a DuckDB relation or a
            Spark frame: an object of the same type with one column ``cluster`` (null where a value is missing in a
            column that had none missing at fit). For a ``pyarrow.dataset.Dataset``: a ``RecordBatchReader``; for a Dask
            frame: a series; for :class:`Batches`: batches of labels.
        """
        if (lazy := as_lazy(X)) is not None:
            return self._in_engine(lazy)
        codes = self._codes(self._read_tested(X))
        return self.classes_[codes]

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """The leaf that every row reaches.

        Parameters
        ----------
        {X}

        Returns
        -------
        leaves : ndarray of shape (n_samples,), int32
            Node numbers of ``tree_``.
        """
        table = self._read_tested(X)
        return self.tree_.apply(table, n_jobs=check_n_jobs(self.n_jobs))

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Distance of every row to every cluster center.

        Parameters
        ----------
        {X}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters), float64
            To ``cluster_centers_``, in the preprocessor's output where there is one: Euclidean distances for k-means,
            l1 distances for k-medians.
        """
        metric = self._metric(X, self._read(X))
        costs = self._objective.costs(metric.matrix, self.cluster_centers_, check_n_jobs(self.n_jobs))
        return self._objective.distances(costs)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float64]:
        """Fit, and return ``transform(X)``; only for tables in memory, since others have no order of rows."""
        if as_lazy(X) is not None:
            given = f"fit_transform takes tables in memory alone, and X is of type {type(X).__name__}"
            raise UnsupportedInputError(f"{given}. Give it in memory, or fit, and transform batch after batch.")
        found: npt.NDArray[np.float64] = super().fit_transform(X, y, **fit_params)
        return found

    def name_clusters(self, names: Mapping[Any, str | None]) -> Self:
        """Name clusters; rules, exports and files made afterwards use the names.

        Parameters
        ----------
        names : mapping of label to str
            From labels, as ``predict`` gives them, to names: ``{0: "students"}``. Clusters that are left out keep their
            name; None removes a name.

        Returns
        -------
        self : estimator
            ``cluster_names_`` holds the names. ``predict`` still gives labels, and a new fit starts without names.

        Raises
        ------
        InvalidInputError
            A cluster that does not exist, an empty name, one name for two clusters, or another cluster's label.

        Examples
        --------
        >>> from cutwise import ClusterExplainer
        >>> model = ClusterExplainer().fit([[1], [2], [8], [9]], [0, 0, 1, 1])
        >>> print(model.name_clusters({0: "small", 1: "large ones"}).rules())
        cluster small (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 <= 4
        cluster `large ones` (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 > 4
        """
        check_is_fitted(self)
        self.cluster_names_ = self._names(names)
        return self

    def explain(self, X: Any, *, names: Mapping[Any, str | None] | None = None, changes: bool = False) -> list[str]:
        """A sentence for every row: its cluster, and the conditions that lead there.

        Parameters
        ----------
        {X, names}
        changes : bool, default=False
            Add, for every other cluster, the smallest change of one column that would move the row there, as
            :meth:`smallest_changes` finds it.

        Returns
        -------
        sentences : list of n_samples str
        """
        check_is_fitted(self)
        table, labeled = self._read_tested(X), self._labeled(names)
        sentences = explain_rows(labeled, table)
        if changes:
            found = smallest_changes(labeled, table, self._column_spreads)
            known = labeled.cluster_names
            return [f"{sentence}; {changes_in_words(of, known)}" for sentence, of in zip(sentences, found, strict=True)]
        return sentences

    def smallest_changes(
        self, X: Any, *, names: Mapping[Any, str | None] | None = None
    ) -> list[dict[Any, Change | None]]:
        """For every row and every other cluster, the smallest change of one column that would move the row there.

        Parameters
        ----------
        {X, names}

        Returns
        -------
        changes : list of n_samples dict
            From each other cluster's label to the :class:`Change`: column, nearest value that moves the row, and
            interval of such values; None if no change of a single column moves it. An unknown value may become any
            value, but no value becomes unknown. Changes of different columns are compared in units of the columns'
            standard deviations in the training rows; replacing an unknown value counts as one deviation.

        Examples
        --------
        >>> from cutwise import ClusterExplainer
        >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
        >>> change = model.smallest_changes([[3, 6]])[0]["b"]
        >>> str(change), change.target
        ('x0 from 3 to at least 5', 5.0)
        """
        check_is_fitted(self)
        return smallest_changes(self._labeled(names), self._read_tested(X), self._column_spreads)

    def rules(self, *, names: Mapping[Any, str | None] | None = None) -> Rules:
        """The tree as rules: for each cluster the conditions that make a row its member, and how well they fit.

        Parameters
        ----------
        {names}

        Returns
        -------
        rules : Rules
            ``print(rules)`` shows them. Sizes, coverage and purity are those of the training rows; purity and coverage
            compare with the reference clustering.
        """
        check_is_fitted(self)
        return build_rules(self._labeled(names), self._frame_library)

    def recount(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Count the rows at the leaves again, for a tree that was edited in its file, or with newer rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the columns of fit, in their own units.
        y : array-like of shape (n_samples,) or str, default=None
            The reference cluster of every row, as a label that ``predict`` gives, or -1 for noise; or the column of
            ``X`` that holds them. None takes the nearest center of the reference, if it has centers: given labels and
            kernels have none.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; none negative, not all 0.

        Returns
        -------
        self : estimator
            Sizes, shares, purity and coverage are now those of ``X``. Costs are known only for the rows and the tree of
            fit, and become nan; ``score`` measures the cost of rows.
        """
        check_is_fitted(self)
        X, y = pop_column(X, y, "y")
        X, sample_weight = pop_column(X, sample_weight, "sample_weight")
        table = self._read(X) if y is None else self._read_tested(X)
        weights = read_weights(sample_weight, table.n_rows)
        if y is not None:
            labels = read_labels(y, table.n_rows, estimator=type(self).__name__)
            known = self.classes_.tolist()
            if unknown := [label for label in labels.classes.tolist() if label not in known]:
                raise InvalidInputError(
                    f"y holds {listed(unknown)}, and the clusters of the model are {listed(known, most=20)}. "
                    "Give labels of these, or -1 for noise."
                )
            codes = self._codes_of(labels)
        elif "n_clusters" not in self.get_params(deep=False) or not self.reference_.centers.shape[1]:
            raise InvalidInputError("The reference has no centers to place rows by. Give y, the cluster of every row.")
        else:
            metric = self._metric(X, table)
            costs = self._objective.costs(metric.matrix, self.reference_.centers, check_n_jobs(self.n_jobs))
            codes = np.where(np.isnan(costs), np.inf, costs).argmin(axis=1).astype(np.int32)
        counts = count_leaves(self.tree_, self.tree_.apply(table), codes, len(self.classes_), weights)
        self._leaf_counts = counts
        self._forget_costs()
        self.tree_ = replace(self.tree_, n_node_samples=self.tree_.sum_up(counts.n_rows))
        return self

    def to_sklearn(self, *, thresholds: Literal["exact", "middle"] = "exact") -> Any:
        """The tree as a scikit-learn ``DecisionTreeClassifier``, for tools that accept only this class.

        Parameters
        ----------
        thresholds : {"exact", "middle"}, default="exact"
            ``"middle"`` puts each threshold midway between the two values of the training rows next to it, where no row
            lies: for tools that send a row left by ``<`` where scikit-learn has ``<=``. The training rows stay where
            they are; new ones between these two values may not.

        Returns
        -------
        classifier : DecisionTreeClassifier, or Pipeline that ends in one
            Where the tree asks for levels or dates, a first step makes numbers of the table's columns: a set of levels
            becomes a column of zeros and ones, named after its rule.
            Fitted; nodes are numbered as in ``tree_``. Every training row gets the cluster that ``predict`` gives it,
            though scikit-learn compares values rounded to float32: thresholds are rounded too, so that new rows on one
            stay left, and moved within their gap where they must be. An interval becomes two thresholds, and what lies
            outside of it appears twice: nodes are then numbered otherwise, and rows of a leaf that appears twice are
            shared out evenly.

        Raises
        ------
        InvalidInputError
            The two values next to a cut are one in float32, as with timestamps in seconds: no threshold would do. Or
            the middle is asked of a tree that was edited by hand.
        """
        check_is_fitted(self)
        check_option("thresholds", thresholds, ("exact", "middle"))
        if thresholds == "middle" and self._gaps is None:
            raise InvalidInputError(
                "The tree was edited after it was fitted, so nothing is known of the values next to its cuts. "
                'Leave thresholds="exact", or fit again.'
            )
        return to_sklearn(self._labeled(), self._gaps, middle=thresholds == "middle")

    @property
    def explained_(self) -> float:
        """Share of the reference's reduction in cost, compared with a single cluster, that the tree keeps."""
        return share_explained(self.cost_, self.reference_.cost, self.total_cost_)

    @property
    def reference_explained_(self) -> float:
        """Share by which the reference's cost is below that of a single cluster."""
        return reference_share_explained(self.reference_.cost, self.total_cost_)

    def __getattr__(self, name: str) -> Any:
        if name == "labels_" and "tree_" in self.__dict__:
            raise AttributeError(
                "Neither a fit of a table in batches nor a model file keeps what concerns single rows: "
                "predict(X) gives the labels."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # For the subclasses -----------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    # scikit-learn shows an estimator's parameters; a fitted model shows its rules below them.

    @property
    def _repr_html_(self) -> Callable[[], str]:
        shown = super()._repr_html_  # no attribute if scikit-learn is set to show text
        return lambda: f"{shown()}{self._found_html()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._found_html()
        return bundle

    def _found_html(self) -> str:
        if not self.__sklearn_is_fitted__():
            return ""
        return rules_html(self.rules(), [self._summary()])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The model cannot take sparse rows if its preprocessor cannot.
        preprocessor = getattr(self, "preprocessor", None)
        tags.input_tags.sparse = (
            not hasattr(preprocessor, "__sklearn_tags__") or get_tags(preprocessor).input_tags.sparse
        )
        if self._reads_mixed and isinstance(preprocessor, str | TableScaler):
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    @property
    def _n_features_out(self) -> int:
        """Columns of ``transform``'s output, for ``get_feature_names_out``."""
        return len(self.classes_)

    def _names(self, names: Mapping[Any, str | None] | None) -> dict[Any, str]:
        """Cluster names, updated with ``names``."""
        return read_cluster_names(self.classes_.tolist(), names, self.cluster_names_)

    def _summary(self) -> str:
        """A line about the fitted tree."""
        n = self.n_leaves_
        edited = "" if self._leaf_counts.known else " (edited since its rows were counted; recount(X) counts anew)"
        return f"{n} lea{'f' if n == 1 else 'ves'}, depth {self.depth_}{edited}"

    def _labeled(self, names: Mapping[Any, str | None] | None = None) -> LabeledTree:
        """The fitted tree as readouts take it, its cluster names updated with ``names``."""
        return self._labeled_by(self._columns_of_fit(), self._names(names))

    def _labeled_by(self, columns: Columns, names: Mapping[Any, str]) -> LabeledTree:
        refuses = getattr(self, "handle_unknown", "outside") == "error"
        return LabeledTree(self.tree_, columns, self._leaf_counts, self.classes_, names, refuses_unknown=refuses)

    def _read_rows_of_fit(self, X: Any, sample_weight: Any, stages: Stages) -> Table:
        """Read the table of a fit: only numbers, or columns of any kind if the estimator takes them."""
        if (options := self._mixed_options) is None:
            return read_table(X)
        table = read_table(X, mixed=replace(options, sample_weight=sample_weight))
        self._say_columns(table, stages)
        if is_standardized(table):
            warn(ScaledColumnsWarning.of())
        return table

    @property
    def _reads_mixed(self) -> bool:
        """Whether tables may hold categories, dates and missing values with these parameters."""
        return False

    @property
    def _mixed_options(self) -> MixedOptions | None:
        """How to read columns of any kind; None if only numbers are allowed."""
        return None

    def _say_columns(self, table: Table, stages: Stages) -> None:
        """Print the kinds of the columns, unless all are complete numbers."""
        if not are_all_plain(table.kinds):
            stages.say(table.columns.in_words())

    def _preprocessor_for(self, table: Table) -> Any:
        """The preprocessor for this table."""
        return self.preprocessor

    def _in_engine(self, lazy: LazyTable) -> Any:
        """Result of ``predict`` on a table that is not in memory, computed by its engine."""
        check_is_fitted(self)
        columns, tested = self._columns_of_fit(), self.tree_.tested
        if lazy.names is not None:
            names = lazy.names
            if columns.has_names:  # further columns do no harm, since engines select columns by name
                names = tuple(name for name in names if name in columns.names)
            given, ways = Columns(names, True), ways_to_columns(lazy.native)
            check_same_columns(columns, given, estimator=type(self).__name__, tested=tested, ways=ways)
            columns = columns if columns.has_names else Columns(names, True, columns.kinds)
        types = lazy.types()
        for name, kind in ((columns.names[i], columns.kinds[i]) for i in tested if types):
            # Spark has no timestamps without a time zone.
            check_type(types[name], kind, f"Column {name!r}", has_zones=lazy.engine is None)
        labeled = self._labeled_by(columns, self.cluster_names_)
        lazy = lazy.as_compared({columns.names[i]: columns.kinds[i].name == "bool" for i in tested})
        asked = listed((f"{columns.names[i]} ({columns.kinds[i].name})" for i in tested), write=str)
        with reading("X is not what the tree asks about", f"Give columns of the types of fit: {asked}."):
            return lazy.with_column(
                TreeColumn(
                    columns.names,
                    labeled.labels,
                    predict=lambda batch: self.predict(self._columns_of_batch(batch)),
                    sql=lambda dialect: tree_sql(labeled, dialect=dialect, form="case"),
                )
            )

    @property
    def _limits_given(self) -> LimitsGiven:
        """The limits; only estimators with :class:`HasLimits` take any."""
        return LimitsGiven()

    @property
    def _limits_line(self) -> str | None:
        """``limits: +3.1 % (no cut on age; at most 3 questions)``; None if the price of limits is not known."""
        price = getattr(self, "limits_price_", math.nan)
        if math.isnan(price):
            return None
        return f"limits: {100 * price:+.1f} % ({self._limits_given.in_words(self._columns_of_fit())})"

    def _read_tested(self, X: Any) -> Table:
        """Read rows to route; named columns that the tree does not test may be missing, or hold anything."""
        check_is_fitted(self)
        return self._read(X, self.tree_.tested)

    def _codes(self, table: Table) -> npt.NDArray[np.int32]:
        """Cluster codes of rows."""
        return self.tree_.predict(table, n_jobs=check_n_jobs(self.n_jobs))

    def _codes_of(self, given: Labels) -> npt.NDArray[np.int32]:
        """Cluster codes of labels; -1 is noise, -2 a label that no cluster has."""
        code_of = {label: code for code, label in enumerate(self.classes_.tolist())}
        # The last entry is the code of noise, which has index -1.
        codes = np.array([*(code_of.get(label, -2) for label in given.classes.tolist()), -1], dtype=np.int32)
        return codes[given.codes]

    def _metric(self, X: Any, table: Table) -> Table:
        """Rows in the space where distances are measured."""
        fitted = getattr(self, "preprocessor_", None)
        if fitted is not None:
            return transform_rows(fitted, drop_columns(X, self._beside), table)[1]
        if isinstance(self.preprocessor, UnserializableParam):
            raise ModelFileError(
                "Distances are measured in the output of the preprocessor, and a model file does not hold it "
                f"({self.preprocessor.description}).\nSet model.preprocessor_ to the fitted transformer first; predict,"
                " apply, rules and explain need none."
            )
        return table

    def _costs_of(self, X: Any) -> npt.NDArray[np.float64]:
        """Cost of every row by the center of the cluster that the tree gives it."""
        table = self._read(X)
        metric = self._metric(X, table)
        return self._objective.label_costs(
            metric.matrix, self.cluster_centers_, self._codes(table), check_n_jobs(self.n_jobs)
        )

    def _refuse_unsaved(self) -> None:
        """Stop a refit of a loaded model whose parameters the file could only describe."""
        for name, value in vars(self).items():
            if isinstance(value, UnserializableParam):
                raise InvalidInputError(
                    f"{name} was not part of the model file ({value.description}), so this model cannot be fitted "
                    f"again as it is. Give it first: model.set_params({name}=...)."
                )

    # A fit is prepared, grows a tree, and publishes it: cost_curve and front publish several trees of one growth.

    def _prepared(self, context: FitContext, preprocessor: Any, max_leaves: int, stages: Stages) -> PreparedFit:
        """The fit with its limits read."""
        given, limits = self._limits_given, None
        if not given.is_none:
            columns, classes = context.table.columns, context.classes.tolist()
            limits = given.read(columns, context.coordinates, classes, *context.counted)
        is_own = getattr(self, "reference", self) is None
        return PreparedFit(context, preprocessor, max_leaves, stages, limits, is_own)

    def _grow(self, fit: PreparedFit) -> Growth:
        """Grow a tree with labeled leaves, ``fit.max_leaves`` at most."""
        raise NotImplementedError

    def _grow_and_publish(self, fit: PreparedFit) -> Self:
        """Grow the tree of a fit, and set the fitted attributes."""
        growth = self._grow_within_limits(fit)
        with fit.stages.stage("costs of the tree"):
            growth = replace(growth, grown=self._chosen(fit, growth.grown), judged=())  # other trees take memory
            self._publish(fit, growth)
        if fit.limits is not None:
            with fit.stages.stage("the same without limits"):
                free = self._chosen(fit, self._grow(replace(fit, limits=None)).grown)
                cost = fit.context.of(free).cost_of_labels(free.codes).cost
                self.limits_price_ = self.cost_ / cost - 1 if cost > 0 else 0.0 if self.cost_ == 0 else math.inf
        self._say_result(fit.stages)
        return self

    def _grow_within_limits(self, fit: PreparedFit) -> Growth:
        """Grow a tree; raise an error that speaks of the table if limits leave none."""
        try:
            with fit.stages.stage("tree"):
                return self._grow(fit)
        except NoAllowedCutError as error:
            context, spec = fit.context, GrowthSpec("exgreedy", fit.max_leaves, getattr(self, "expansion", "exkmc"))
            free, rule = context.grower()(spec).tree, path_rule(error.path, context.table.columns)
            smallest = int(free.n_node_samples[free.leaves].min())
            raise self._limits_given.infeasible(error, rule, context.classes.tolist(), smallest) from None

    def _chosen(self, fit: PreparedFit, grown: GrownTree) -> GrownTree:
        """The tree of a growth that a fit ends with."""
        return fit.context.cheapest_tree(grown) if self._takes_cheapest else grown

    def _say_result(self, stages: Stages) -> None:
        """Say what the fit found."""
        stages.say(self._summary())

    def _publish(self, fit: PreparedFit, growth: Growth) -> None:
        """Set the fitted attributes for a tree; attributes about the growth stay if ``growth.found`` lacks them."""
        context, grown = fit.context.of(growth.grown), growth.grown
        self._remember_columns(context.table)
        self._remember_params()
        self.preprocessor_, self.classes_ = fit.preprocessor, context.classes
        self.__dict__.update(growth.found)
        if "limits_price" in self._figures:
            self.limits_price_ = math.nan
        rows, reference, tree = context.rows, context.reference, grown.tree
        costs = context.cost_of_labels(grown.codes)
        self.tree_, self.n_leaves_, self.depth_ = tree, tree.n_leaves, tree.depth
        self._gaps = rows.gaps_of_all(tree, grown.gaps)
        self.cluster_names_ = {}  # names of an earlier fit belong to other clusters
        tested = tree.tested.tolist()
        self._column_spreads = rows.deviations(tested)
        kinds = list(rows.table.kinds)
        for j in tested:
            if kinds[j].name == "integer":
                kinds[j] = replace(kinds[j], extent=rows.extent(j))
        self._kinds = tuple(kinds)
        # IMM's guarantee holds for distances in the columns that are cut, and for further leaves that lower them.
        by_disagreement = getattr(self, "expansion", None) == "expand" and tree.n_leaves > len(self.classes_)
        self._imm_applies = self.preprocessor_ is None and costs.distances and not by_disagreement
        self._weight_scale = rows.weight_scale
        limits = np.abs(np.where(np.isfinite(tree.lower), tree.lower, tree.threshold))
        large = set(tree.feature[np.maximum(limits, np.abs(tree.threshold)) > _LARGE_INTEGER].tolist())
        if columns := [rows.table.columns.describe(i) for i in sorted(large) if rows.table.is_integer[i]]:
            warn(LargeIntegersWarning.of(columns))
        leaf = rows.leaves_of_all(tree, grown.leaf_of_row)
        self.labels_ = self.classes_[tree.cluster[leaf]]
        if costs.centers is not None:
            self.cluster_centers_ = costs.centers
        self.reference_ = replace(reference, labels=context.full_labels, row_costs=None)
        self._leaf_counts = self._count_leaves(context, grown, leaf)
        self.cost_, self.surrogate_cost_, self.total_cost_ = costs.cost, costs.surrogate_cost, context.total_cost(costs)
        self.cost_ratio_ = self.cost_ / reference.cost if reference.cost > 0 else float("nan")
        if grown.inseparable:
            groups = [self.classes_[list(group)].tolist() for group in grown.inseparable]
            warn(UnseparableCentersWarning.of(groups))
        context.remove_rows(self)
        self._warn_of_empty_clusters()

    def _warn_of_empty_clusters(self) -> None:
        counts, tree = self._leaf_counts, self.tree_
        with_rows = np.bincount(tree.cluster[tree.leaves[counts.n_rows > 0]], minlength=len(self.classes_))
        empty = np.flatnonzero(with_rows == 0)
        if len(empty):
            warn(EmptyClusterWarning.of(self.classes_[empty].tolist()))

    def _count_leaves(self, context: FitContext, grown: GrownTree, leaf: npt.NDArray[np.int32]) -> LeafCounts:
        """Count the rows of the leaves; ``leaf``: the leaf of each of the n rows."""
        rows, tree = context.rows, grown.tree
        counts = count_leaves(tree, grown.leaf_of_row, context.reference.labels, len(self.classes_), rows.sample_weight)
        # ``count_leaves`` counts merged rows once.
        return replace(
            counts, n_rows=tree.n_node_samples[tree.leaves], n_noise=context.noise_of(tree, leaf)[tree.leaves]
        )


def share_explained(cost: float, reference: float, total: float) -> float:
    """See ``TreeEstimator.explained_``; ``total``: the cost of all rows as a single cluster."""
    gain = total - reference
    # A gain within rounding counts as none.
    return (total - cost) / gain if 1e-12 * total < gain < math.inf else math.nan


def reference_share_explained(reference: float, total: float) -> float:
    """See ``TreeEstimator.reference_explained_``."""
    return 1 - reference / total if 0 < total < math.inf else math.nan


def recipe_of(model: Any) -> Recipe:
    """The recipe of an estimator's algorithm; one without restrictions if it has none, or an unknown one."""
    recipe: Recipe = model._recipes.get(str(getattr(model, "algorithm", "")), RECIPES["auto"])
    return recipe


@dataclass(eq=False, repr=False, kw_only=True)
class TakesMixedTables:
    """Part of an estimator whose tables may hold categories, dates and missing values."""

    _objective: ClassVar[Objective]

    categorical_features: Any = "from_dtype"
    handle_unknown: str = "outside"
    preprocessor: Any = "auto"

    @property
    def _reads_mixed(self) -> bool:
        return self.preprocessor is not None and recipe_of(self).takes_mixed

    @property
    def _mixed_options(self) -> MixedOptions | None:
        if not self._reads_mixed:
            return None
        check_option("handle_unknown", self.handle_unknown, ("outside", "error"))
        return MixedOptions(self.categorical_features)

    def _preprocessor_for(self, table: Table) -> Any:
        """The preprocessor that ``"auto"`` means for this table, or the given one."""
        if not (isinstance(self.preprocessor, str) and self.preprocessor == "auto"):
            return self.preprocessor
        if (steps := pipeline_steps(getattr(self, "reference", None), self.preprocessor)) is not None:
            return steps[0]
        if are_plain(table.kinds):
            return None
        return TableScaler() if self._objective is KMEANS else TableScaler("robust", "absolute")


@dataclass(eq=False, repr=False, kw_only=True)
class HasLimits:
    """Part of an estimator that takes limits of cuts, depth and leaves."""

    cut_features: Any = None
    max_depth: int | None = None
    min_samples_leaf: float = 1

    @property
    def _limits_given(self) -> LimitsGiven:
        may_leave_out = recipe_of(self).may_leave_out
        return LimitsGiven(self.cut_features, self.max_depth, self.min_samples_leaf, may_leave_out)

    def _check_limits(self, n_clusters: int) -> None:
        """Raise an error for limits that no tree can meet."""
        self._limits_given.check(n_clusters)
        if not (self._limits_given.is_none or recipe_of(self).takes_limits):
            raise InvalidInputError(
                f'algorithm="{vars(self)["algorithm"]}" takes no limits here. Leave out cut_features, max_depth and '
                'min_samples_leaf, or use another algorithm, such as "exkmc".'
            )


def fitted(model: object, function: str, advice: str = "") -> TreeEstimator:
    """Check that ``model`` is a fitted model of cutwise; return it with the parameters of its fit."""
    if not isinstance(model, TreeEstimator):
        raise UnsupportedInputError(
            f"{function} takes a fitted model of cutwise, not {type(model).__name__}.{advice and ' '}{advice}"
        )
    check_is_fitted(model)
    return model._of_fit()


@fill_doc
@dataclass(eq=False, repr=False)
class TreeClusterer(HasCost, TreeEstimator):
    """Parent of the estimators with ``n_clusters``, whose ``fit`` needs no labels."""

    _takes_batches: ClassVar[bool] = False
    """Whether a fit may read its rows in batches."""

    n_clusters: int = 8
    _: KW_ONLY
    max_leaves: int | None = None
    reference: Any = None
    preprocessor: Any = None
    n_init: int = 10
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, feature_names: Any = None) -> Self:
        """Find the reference clustering, and grow the tree that explains it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers; not copied if they are float32, float64, int32, int64, uint8 or bool. If the estimator takes them,
            data frames may also hold texts, categories, truth values, dates and durations, and any table may hold
            missing values.
        {y, sample_weight, feature_names}

        Returns
        -------
        self : object

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used: fewer distinct rows than clusters, infinity, ...
        InfeasibleLimitsError
            A node has no cut within the limits that leads every cluster to a leaf.

        Warns
        -----
        UnseparableCentersWarning
            Reference centers that no cut can part.
        EmptyClusterWarning
            A cluster that ended without rows.
        IdentifierWarning
            Columns that are left out because they only name rows or hold nothing, or columns that number the rows.
        DominantColumnWarning
            A column of a frame that is not scaled holds more than 95 % of the cost; no warning with
            ``preprocessor=None``.
        """
        with self._prepare(X, y, sample_weight, feature_names=feature_names) as prepared:
            return self._grow_and_publish(prepared)

    @contextmanager
    def _prepare(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, feature_names: Any = None, K: Any = None,
        stays: bool = False,
    ) -> Iterator[PreparedFit]:  # fmt: skip
        """Check the parameters, read the rows and find the reference; parameters as in ``fit``.

        ``stays``: whether the result is used after the block; otherwise copies of rows are deleted at its end.
        """
        check_unread(y)
        self._refuse_unsaved()
        k = check_n_clusters(self.n_clusters)
        max_leaves = check_max_leaves(self.max_leaves, k)
        self._check_own_parameters(k, max_leaves)
        check_integer("n_init", self.n_init, minimum=1)
        read_random_state(self.random_state)
        check_n_jobs(self.n_jobs)
        stages = Stages(type(self).__name__, check_verbose(self.verbose))

        for name in ("depth_penalty_", "search_", "n_passes_"):
            self.__dict__.pop(name, None)  # from an earlier fit
        self._beside = names_given(sample_weight)
        if self._takes_batches and (lazy := as_lazy(X)) is not None:
            with read_clusters(self, lazy, sample_weight, stages, stays) as (batches, preprocessor):
                yield self._prepared(batches, preprocessor, max_leaves, stages)
            return
        X, sample_weight = pop_column(X, sample_weight, "sample_weight")
        X = X if feature_names is None else NamedMatrix(X, feature_names)
        table, sample_weight, space = self._read_input(X, sample_weight, k, stages)
        context = self._make_context(table, space, sample_weight, stages, K)
        yield self._prepared(context, space.preprocessor, max_leaves, stages)

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        """Check the parameters that a subclass adds."""

    def _make_context(self, table: Table, space: MetricSpace, sample_weight: Any, stages: Stages, K: Any) -> FitContext:
        """Find the reference clustering that the tree approximates; ``K``: only for kernels."""
        return make_reference(self, table, space, sample_weight, stages)

    def _read_input(
        self, X: Any, sample_weight: Any, n_clusters: int, stages: Stages
    ) -> tuple[Table, npt.NDArray[np.float64] | None, MetricSpace]:
        """Read and check the table, the weights and the metric space of a fit."""
        with stages.stage("reading the table"):
            table = self._read_rows_of_fit(X, sample_weight, stages)
            weights = read_weights(sample_weight, table.n_rows)
            check_n_clusters(n_clusters, table, weights)
        with stages.stage("preprocessor"):
            steps = pipeline_steps(self.reference, self.preprocessor)
            if steps is not None and is_fitted(self.reference):  # its steps are used as they were fitted
                check_columns(self.reference, table)
                fitted_steps = deepcopy(steps[0])
                space = MetricSpace(fitted_steps, *transform_rows(fitted_steps, X, table))
            else:
                space = fit_metric_space(self._preprocessor_for(table), X, table, weights)
            if space.preprocessor is not None:
                check_n_clusters(n_clusters, space.table, weights, what=MEASURED, instead=FINER_PREPROCESSOR)
        return table, weights, space

    def _summary(self) -> str:
        if math.isnan(self.cost_):
            return f"{super()._summary()}; {COSTS_UNKNOWN}"
        reason = below_one_reason(self.cost_ratio_)
        return f"{super()._summary()}; cost ratio {self.cost_ratio_:.4g}{reason}"
