"""How an estimator is fitted: rows are read, a tree grows within limits, and fitted attributes are set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cutwise._docs import fill_doc
from cutwise._progress import Stages, all_or_nothing
from cutwise.core import Float64
from cutwise.exceptions import (
    DistanceOverflowError,
    EmptyClusterWarning,
    InvalidInputError,
    LargeIntegersWarning,
    ScaledColumnsWarning,
    UnseparableCentersWarning,
    UnsupportedInputError,
    warn,
)
from cutwise.passes.sources import LazyTable, as_lazy
from cutwise.readouts.conditions import path_rule
from cutwise.readouts.labeled_tree import count_leaves
from cutwise.readouts.words import COSTS_UNKNOWN, below_one_reason
from cutwise.reference.fitted import check_columns, is_fitted
from cutwise.reference.objective import KMEANS, Objective
from cutwise.table.convert import NamedMatrix
from cutwise.table.intake import (
    MixedOptions,
    Seed,
    check_max_leaves,
    check_n_clusters,
    check_n_init,
    check_n_jobs,
    check_unread,
    check_verbose,
    names_given,
    pop_column,
    read_random_state,
    read_table,
    read_weights,
)
from cutwise.table.table import Table, are_all_plain, are_plain, is_standardized
from cutwise.tree.growing import GrownTree
from cutwise.tree.limits import NoAllowedCutError
from cutwise.tree.provider import GrowthSpec
from cutwise.tree.recipes import RECIPES, LimitsGiven, Recipe

from ._clusterer import HasCost
from ._fitted_tree import FittedTree
from ._lazy import read_clusters
from ._model_file import UnserializableParam
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
class TreeEstimator(FittedTree):
    """Parent of the estimators: how a tree is fitted, whatever algorithm grows it."""

    _recipes: ClassVar[Mapping[str, Recipe]] = RECIPES
    """The algorithms by the names that users give."""

    _takes_cheapest: ClassVar[bool] = False
    """Whether a fit ends with the cheapest tree of its growth, rather than the largest."""

    _takes_batches: ClassVar[bool] = False
    """Whether a fit may read its rows in batches."""

    # Of subclasses, where the last two also take the further arguments of their ``fit``.
    _check_parameters: Callable[[Any], None]
    _grow: Callable[[PreparedFit], Growth]  # a tree with labeled leaves, ``max_leaves`` of the fit at most
    _context_of_rows: Callable[..., tuple[FitContext, Any]]
    _context_of_batches: Callable[..., AbstractContextManager[tuple[FitContext, Any]]]

    def fit_transform(
        self, X: Any, y: Any = None, *, feature_names: Any = None, **fit_params: Any
    ) -> npt.NDArray[np.float64]:
        """Fit, and return ``transform(X)``; only for tables in memory, since others have no order of rows."""
        if as_lazy(X) is not None:
            given = f"fit_transform needs the table in memory, but X is of type {type(X).__name__}"
            raise UnsupportedInputError(f"{given}. Give it in memory, or fit, and transform batch after batch.")
        X = X if feature_names is None else NamedMatrix(X, feature_names)
        found: npt.NDArray[np.float64] = super().fit_transform(X, y, **fit_params)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The model cannot take sparse rows if its preprocessor cannot.
        preprocessor = getattr(self, "preprocessor", None)
        tags.input_tags.sparse = (
            not hasattr(preprocessor, "__sklearn_tags__") or get_tags(preprocessor).input_tags.sparse
        )
        if self._mixed_options is not None and isinstance(preprocessor, str | TableScaler):
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _read_table(self, X: Any, sample_weight: Any, stages: Stages) -> Table:
        """Read the table of a fit: only numbers, or columns of any kind if the estimator takes them."""
        if (options := self._mixed_options) is None:
            return read_table(X)
        table = read_table(X, mixed=replace(options, sample_weight=sample_weight))
        self._say_columns(table, stages)
        if is_standardized(table):
            warn(ScaledColumnsWarning.of())
        return table

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

    @property
    def _limits_given(self) -> LimitsGiven:
        """The limits; only estimators with :class:`HasLimits` take any."""
        return LimitsGiven()

    @property
    def _limits_line(self) -> str | None:
        """``limits: +3.1 % (no cuts on age; depth at most 3)``; None if the price of limits is not known."""
        price = getattr(self, "limits_price_", math.nan)
        if math.isnan(price):
            return None
        return f"limits: {100 * price:+.1f} % ({self._limits_given.in_words(self._columns_of_fit())})"

    def _refuse_unsaved(self) -> None:
        """Stop a refit of a loaded model whose parameters the file could only describe."""
        for name, value in vars(self).items():
            if isinstance(value, UnserializableParam):
                raise InvalidInputError(
                    f"{name} was not part of the model file ({value.description}), so this model cannot be fitted "
                    f"again as it is. Give it first: model.set_params({name}=...)."
                )

    # A fit is prepared, grows a tree, and publishes it: cost_curve and front publish several trees of one growth.

    @contextmanager
    def _prepare(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, feature_names: Any = None, stays: bool = False,
        **given: Any,
    ) -> Iterator[PreparedFit]:  # fmt: skip
        """Check the parameters, read the rows, and find or read the reference; parameters as in ``fit``.

        ``stays``: whether the result is used after the block; otherwise copies of rows are deleted at its end.
        """
        self._refuse_unsaved()
        self._check_parameters(y)
        check_n_jobs(self.n_jobs)
        stages = Stages(type(self).__name__, check_verbose(self.verbose))
        self._beside = names_given(sample_weight, y)
        if self._takes_batches and (lazy := as_lazy(X)) is not None:
            if feature_names is not None:
                raise InvalidInputError(
                    "feature_names are for a matrix in memory, and X comes in batches. Leave feature_names out; "
                    "Batches of arrays take names themselves: Batches(open, names)."
                )
            with self._context_of_batches(lazy, y, sample_weight, stages, stays, **given) as prepared:
                yield self._prepared(*prepared, stages)
            return
        X = X if feature_names is None else NamedMatrix(X, feature_names)
        X, sample_weight = pop_column(X, sample_weight, "sample_weight")
        X, y = pop_column(X, y, "y")
        with stages.stage("reading the table"):
            table = self._read_table(X, sample_weight, stages)
            weights = read_weights(sample_weight, table.n_rows)
        try:
            context, preprocessor = self._context_of_rows(X, table, y, weights, stages, **given)
        except DistanceOverflowError as error:
            raise DistanceOverflowError(f"{error}\n{table.largest_value()}") from None
        yield self._prepared(context, preprocessor, stages)

    def _prepared(self, context: FitContext, preprocessor: Any, stages: Stages) -> PreparedFit:
        """The fit with its limits read."""
        given, columns, classes = self._limits_given, context.table.columns, context.classes.tolist()
        limits = None if given.is_none else given.read(columns, context.coordinates, classes, *context.counted)
        max_leaves = check_max_leaves(self.max_leaves, context.n_clusters)
        return PreparedFit(context, preprocessor, max_leaves, stages, limits, getattr(self, "reference", self) is None)

    def _grow_and_publish(self, fit: PreparedFit) -> Self:
        """Grow the tree of a fit, and set the fitted attributes."""
        growth = self._grow_within_limits(fit)
        with fit.stages.stage("costs of the tree"):
            growth = replace(growth, grown=self._chosen(fit, growth.grown), judged=())  # other trees take memory
            for name in ("depth_penalty_", "search_", "n_passes_"):
                self.__dict__.pop(name, None)  # from an earlier fit
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
        if columns := [rows.table.columns.describe(i) for i in sorted(large) if rows.table.kinds[i].name == "integer"]:
            warn(LargeIntegersWarning.of(columns))
        leaf = rows.leaves_of_all(tree, grown.leaf_of_row)
        self.labels_ = self.classes_[tree.cluster[leaf]]
        if costs.centers is not None:
            self.cluster_centers_ = costs.centers
        self.reference_ = replace(reference, labels=context.full_labels, row_costs=None)
        counts = count_leaves(tree, grown.leaf_of_row, reference.labels, len(self.classes_), rows.sample_weight)
        # ``count_leaves`` counts merged rows once.
        n_rows, n_noise = tree.n_node_samples[tree.leaves], context.noise_of(tree, leaf)[tree.leaves]
        self._leaf_counts = replace(counts, n_rows=n_rows, n_noise=n_noise)
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


def recipe_of(model: Any) -> Recipe:
    """The recipe of an estimator's algorithm; one without restrictions if it has none, or an unknown one."""
    recipe: Recipe = model._recipes.get(str(getattr(model, "algorithm", "")), RECIPES["auto"])
    return recipe


UNKNOWN = ("outside", "error")
"""Treatments of levels that were not seen at fit."""


@dataclass(eq=False, repr=False, kw_only=True)
class TakesMixedTables:
    """Part of an estimator whose tables may hold categories, dates and missing values."""

    _objective: ClassVar[Objective]

    categorical_features: Any = "from_dtype"
    handle_unknown: str = "outside"
    preprocessor: Any = "auto"

    @property
    def _mixed_options(self) -> MixedOptions | None:
        is_taken = self.preprocessor is not None and recipe_of(self).takes_mixed
        return MixedOptions(self.categorical_features) if is_taken else None

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

    n_clusters: int = 8
    _: KW_ONLY
    max_leaves: int | None = None
    reference: Any = None
    preprocessor: Any = None
    n_init: int | Literal["auto"] = 10
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
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
            Reference centers that no cut can separate.
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

    def _check_parameters(self, y: Any) -> None:
        check_unread(y)
        k = check_n_clusters(self.n_clusters)
        self._check_own_parameters(k, check_max_leaves(self.max_leaves, k))
        check_n_init(self.n_init)
        read_random_state(self.random_state)

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        """Check the parameters that a subclass adds."""

    def _make_context(self, table: Table, space: MetricSpace, sample_weight: Any, stages: Stages, K: Any) -> FitContext:
        """Find the reference clustering that the tree approximates; ``K``: only for kernels."""
        return make_reference(self, table, space, sample_weight, stages)

    def _context_of_batches(
        self, lazy: LazyTable, y: Any, sample_weight: Any, stages: Stages, stays: bool
    ) -> AbstractContextManager[tuple[FitContext, Any]]:
        return read_clusters(self, lazy, sample_weight, stages, stays)

    def _context_of_rows(
        self, X: Any, table: Table, y: Any, weights: Float64 | None, stages: Stages, K: Any = None
    ) -> tuple[FitContext, Any]:
        check_n_clusters(self.n_clusters, table, weights)
        with stages.stage("preprocessor"):
            steps = pipeline_steps(self.reference, self.preprocessor)
            if steps is not None and is_fitted(self.reference):  # its steps are used as they were fitted
                check_columns(self.reference, table)
                fitted_steps = deepcopy(steps[0])
                space = MetricSpace(fitted_steps, *transform_rows(fitted_steps, X, table))
            else:
                space = fit_metric_space(self._preprocessor_for(table), X, table, weights)
            if space.preprocessor is not None:
                check_n_clusters(self.n_clusters, space.table, weights, what=MEASURED, instead=FINER_PREPROCESSOR)
        return self._make_context(table, space, weights, stages, K), space.preprocessor

    def _summary(self) -> str:
        if math.isnan(self.cost_):
            return f"{super()._summary()}; {COSTS_UNKNOWN}"
        reason = below_one_reason(self.cost_ratio_)
        return f"{super()._summary()}; cost ratio {self.cost_ratio_:.4g}{reason}"
