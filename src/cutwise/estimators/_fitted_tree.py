"""What a fitted tree answers: clusters and distances of rows, rules, explanations, and counts of newer rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cutwise._docs import fill_doc
from cutwise.exceptions import InvalidInputError, ModelFileError, listed
from cutwise.passes.sources import LazyTable, TreeColumn, as_lazy
from cutwise.readouts.changes import Change, changes_in_words, explain_rows, smallest_changes
from cutwise.readouts.labeled_tree import LabeledTree, count_leaves, read_cluster_names
from cutwise.readouts.rules import Rules, build_rules, rules_html
from cutwise.readouts.sklearn import to_sklearn
from cutwise.readouts.sql import tree_polars, tree_sql
from cutwise.reference.objective import KMEANS, Objective
from cutwise.table.convert import reading, ways_to_columns
from cutwise.table.intake import check_n_jobs, check_option, drop_columns, pop_column, read_weights
from cutwise.table.labels import Labels, read_labels
from cutwise.table.mixed import check_type
from cutwise.table.table import Columns, Table, check_same_columns

from ._model_file import ModelFileMixin, UnserializableParam
from .training import transform_rows


@fill_doc
class FittedTree(ModelFileMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Part of the estimators: what a fitted tree answers, whatever algorithm grew it."""

    _objective: ClassVar[Objective] = KMEANS
    """Costs and distances; estimators that measure otherwise override ``transform`` and ``_costs_of``."""

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

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
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

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
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

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
        """
        metric = self._metric(X, self._read(X))
        costs = self._objective.costs(metric.matrix, self.cluster_centers_, check_n_jobs(self.n_jobs))
        return self._objective.distances(costs)

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
            :meth:`smallest_changes` finds it. Clusters that none leads to are only counted if more than ten.

        Returns
        -------
        sentences : list of n_samples str

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
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
            standard deviations in the training rows; replacing an unknown value counts as one deviation. A level of a
            category is as far from all others, ``unknown`` among them, as in :class:`~cutwise.TableScaler`.

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}

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

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
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
        self._remove_costs()
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
        with reading("X does not match the columns that the tree tests", f"Give columns of the types of fit: {asked}."):
            return lazy.with_column(
                TreeColumn(
                    columns.names,
                    labeled.labels,
                    predict=lambda batch: self.predict(self._columns_of_batch(batch)),
                    sql=lambda dialect: tree_sql(labeled, dialect=dialect, form="case"),
                    polars=lambda: tree_polars(labeled),
                )
            )

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


def share_explained(cost: float, reference: float, total: float) -> float:
    """See ``FittedTree.explained_``; ``total``: the cost of all rows as a single cluster."""
    gain = total - reference
    # A gain within rounding counts as none.
    return (total - cost) / gain if 1e-12 * total < gain < math.inf else math.nan


def reference_share_explained(reference: float, total: float) -> float:
    """See ``FittedTree.reference_explained_``."""
    return 1 - reference / total if 0 < total < math.inf else math.nan
