"""The tree as rules: what makes a row a member of each cluster, and how well that says the reference cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cutwise.table import Columns, Table, check_same_columns, read_table
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Condition, conditions_of, walk_leaves
from .counts import LeafCounts
from .frames import to_frame
from .inputs import check_counts, check_names, class_labels, column_of
from .names import Titled
from .sentences import cluster_sentence
from .text import cluster_text, rules_text
from .words import finite

__all__ = ["ClusterRules", "Condition", "Rule", "Rules", "build_rules"]


@dataclass(frozen=True)
class Rule(Titled):
    """One leaf: the conditions that lead there, and whom it catches.

    Attributes
    ----------
    cluster : int, str, ...
        The label that ``predict`` gives such rows.
    leaf : int
        The leaf's node number, as ``apply`` gives it.
    conditions : tuple of Condition
        All hold for a row exactly when it reaches the leaf; the fewest that say so. Empty when every row does.
    size : int
        Rows caught, noise and rows of weight 0 apart.
    share : float
        The part of all rows' weight that it catches, from 0 to 1.
    coverage : float
        The part of the reference cluster that the rule catches: weight of the rows here whose reference label is this
        cluster, over the weight of all rows with that label. nan when the reference cluster is empty.
    purity : float
        The part of the rows here (noise apart) whose reference label is this cluster, by weight. nan without rows.
    noise : int
        Rows caught that the reference calls noise; no other figure counts them.
    depth : int
        Tests on the path, before they were merged.
    columns : Columns
        Those of the table that the model was fitted on.
    name : str or None
        The name that people gave the cluster.
    """

    cluster: Any
    leaf: int
    conditions: tuple[Condition, ...]
    size: int
    share: float
    coverage: float
    purity: float
    noise: int
    depth: int
    columns: Columns = field(repr=False)
    name: str | None = None

    @property
    def n_conditions(self) -> int:
        """The size of the explanation: bounds and excluded intervals, each counted once."""
        return sum(condition.size for condition in self.conditions)

    def matches(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether each row satisfies every condition.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or Table, of shape (n_rows, n_features)

        Returns
        -------
        matches : ndarray of shape (n_rows,), bool
            The same as ``tree.apply(X) == leaf``.

        Raises
        ------
        ColumnMismatchError
            Other columns than those of fit, or in another order.

        Warns
        -----
        ColumnNamesWarning
            Names on one side only: columns then go by their order.
        """
        return self._holds(_read(X, [self]))

    def _holds(self, table: Table) -> npt.NDArray[np.bool_]:
        found = np.ones(table.n_rows, dtype=np.bool_)
        for condition in self.conditions:
            found &= condition.holds(column_of(table, condition.feature))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON can hold it; ``None`` stands for nan."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "leaf": self.leaf,
            "text": str(self),
            "conditions": [condition.to_dict() for condition in self.conditions],
            "size": self.size,
            "share": finite(self.share),
            "coverage": finite(self.coverage),
            "purity": finite(self.purity),
            "noise": self.noise,
            "depth": self.depth,
        }

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "any row"


@dataclass(frozen=True)
class ClusterRules(Titled):
    """A cluster: its leaves as alternative rules, a row belonging to it when one of them matches.

    Attributes
    ----------
    cluster : int, str, ...
        The label that ``predict`` gives such rows.
    rules : tuple of Rule
        From left to right in the tree; empty when no leaf holds the cluster.
    size, share, coverage, purity, noise
        Of all rules together, defined as for one ``Rule``.
    name : str or None
        The name that people gave the cluster.
    """

    cluster: Any
    rules: tuple[Rule, ...]
    size: int
    share: float
    coverage: float
    purity: float
    noise: int
    name: str | None = None

    @property
    def sentence(self) -> str:
        """Who is in the cluster, and how well that says the reference cluster, as a sentence for people."""
        return cluster_sentence(self)

    def matches(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether each row satisfies one of the rules.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or Table, of shape (n_rows, n_features)

        Returns
        -------
        matches : ndarray of shape (n_rows,), bool

        Raises
        ------
        ColumnMismatchError
            As :meth:`Rule.matches`.
        """
        table = _read(X, self.rules)
        found = np.zeros(table.n_rows, dtype=np.bool_)
        for rule in self.rules:
            found |= rule._holds(table)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The cluster as JSON can hold it; ``None`` stands for nan."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "size": self.size,
            "share": finite(self.share),
            "coverage": finite(self.coverage),
            "purity": finite(self.purity),
            "noise": self.noise,
            "rules": [rule.to_dict() for rule in self.rules],
        }

    def __str__(self) -> str:
        return cluster_text(self)


@dataclass(frozen=True)
class Rules(Sequence[ClusterRules]):
    """The rules of all clusters, in the order of their codes. ``print(rules)`` shows them.

    Attributes
    ----------
    clusters : tuple of ClusterRules
    library : str or None
        The data frame library of the table that the model was fitted on.
    """

    clusters: tuple[ClusterRules, ...]
    library: str | None = None

    def __len__(self) -> int:
        return len(self.clusters)

    @overload
    def __getitem__(self, index: int) -> ClusterRules: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ClusterRules, ...]: ...
    def __getitem__(self, index: int | slice) -> ClusterRules | tuple[ClusterRules, ...]:
        return self.clusters[index]

    def __iter__(self) -> Iterator[ClusterRules]:
        return iter(self.clusters)

    def to_dict(self) -> dict[str, Any]:
        """All rules as JSON can hold them."""
        return {"clusters": [cluster.to_dict() for cluster in self.clusters]}

    def _repr_html_(self) -> str:
        """The rules as a table, for notebooks."""
        from .notebook import rules_html

        return rules_html(self)

    def to_frame(self, library: str | None = None) -> Any:
        """All rules as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            None means that of the table the model was fitted on, or else the first of these that is installed.

        Returns
        -------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            A row a rule, in the order of the clusters: ``cluster``, ``name`` (null without one), ``rule`` (its text),
            ``size``, ``share``, ``purity``, ``coverage``, ``noise``, ``leaf``, ``depth``, ``n_conditions``. A cluster
            without a leaf has none.

        Raises
        ------
        UnknownOptionError
            Another library.
        MissingDependencyError
            It is not installed.
        """
        rules = [rule for cluster in self.clusters for rule in cluster.rules]
        return to_frame(
            {
                "cluster": [rule.cluster for rule in rules],
                "name": [rule.name for rule in rules],
                "rule": [str(rule) for rule in rules],
                **{name: [getattr(rule, name) for rule in rules] for name in _FIGURES},
            },
            library,
            usual=self.library,
        )

    def __str__(self) -> str:
        return rules_text(self)


_FIGURES = ("size", "share", "purity", "coverage", "noise", "leaf", "depth", "n_conditions")


def build_rules(
    tree: ThresholdTree,
    names: Sequence[str],
    counts: LeafCounts,
    classes: npt.NDArray[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
    library: str | None = None,
    *,
    has_names: bool = False,
) -> Rules:
    """Put a tree into rules.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    counts : LeafCounts
        The rows to measure the rules by: those of fit, or held-out ones.
    classes : ndarray of shape (n_clusters,), optional
        The original label of every cluster code; the codes themselves when left out.
    cluster_names : mapping of label to str, optional
        Names to show in place of labels, as ``read_cluster_names`` gives them.
    library : str, optional
        The data frame library that ``to_frame`` shall use where none is asked for.
    has_names : bool, default False
        Whether the names are those of the table's own columns, to be asked of every table that rules are applied to.

    Returns
    -------
    rules : Rules
        One entry for every cluster, also for those without a leaf.

    Raises
    ------
    InvalidInputError
        Names, classes or counts that do not fit the tree.
    """
    n_clusters = len(counts.cluster_weight)
    labels = class_labels(tree, classes, n_clusters)
    name_of = [(cluster_names or {}).get(label) for label in labels]
    check_names(tree, names)
    check_counts(tree, counts)
    columns = Columns(tuple(names), has_names)
    total = math.fsum(counts.weight)
    of_leaf = tree.cluster[tree.leaves]
    rules: list[list[Rule]] = [[] for _ in labels]
    for i, (leaf, regions, _) in enumerate(walk_leaves(tree)):
        code = int(of_leaf[i])
        weight, agreeing = counts.weight[i], counts.agreeing[i]
        rules[code].append(
            Rule(
                cluster=labels[code],
                leaf=leaf,
                conditions=conditions_of(regions, names),
                size=int(counts.n_rows[i]),
                share=_ratio(weight, total),
                coverage=_ratio(agreeing, counts.cluster_weight[code]),
                purity=_ratio(agreeing, weight),
                noise=int(counts.n_noise[i]),
                depth=int(tree.node_depth[leaf]),
                columns=columns,
                name=name_of[code],
            )
        )
    size, noise = (np.zeros(n_clusters, dtype=np.int64) for _ in range(2))
    np.add.at(size, of_leaf, counts.n_rows)
    np.add.at(noise, of_leaf, counts.n_noise)
    weight_of = np.bincount(of_leaf, counts.weight, n_clusters)
    agreeing_of = np.bincount(of_leaf, counts.agreeing, n_clusters)
    return Rules(
        tuple(
            ClusterRules(
                cluster=labels[code],
                rules=tuple(rules[code]),
                size=int(size[code]),
                share=_ratio(weight_of[code], total),
                coverage=_ratio(agreeing_of[code], counts.cluster_weight[code]),
                purity=_ratio(agreeing_of[code], weight_of[code]),
                noise=int(noise[code]),
                name=name_of[code],
            )
            for code in range(n_clusters)
        ),
        library,
    )


def _read(X: Any, rules: Sequence[Rule]) -> Table:
    """Rows to apply rules to, with the columns of fit; of a named frame only those that the rules ask about."""
    columns = rules[0].columns if rules else None
    if not isinstance(X, Table):
        tested = sorted({condition.feature for rule in rules for condition in rule.conditions})
        return read_table(X, fitted=columns, estimator="Rule", tested=np.array(tested, dtype=np.intp))
    if columns is not None:
        check_same_columns(columns, X, estimator="Rule")
    return X


def _ratio(part: float, whole: float) -> float:
    # Weights are summed in two orders: a part is never more than the whole.
    return min(float(part / whole), 1.0) if whole > 0 else math.nan
