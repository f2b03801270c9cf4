"""A tree with the names of its columns and clusters and the row counts of its leaves: the input of every readout.

Every readout, model file and command treats names of clusters alike: in text for people the name replaces the label,
in output for programs it stands beside the label; a cluster without a name goes by its label. No two clusters have
the same name, and no name is the label of another cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, UnsupportedInputError, did_you_mean, listed
from cutwise.reference.objective import weight_by
from cutwise.table.table import Columns, numbered_names
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Condition, all_values, conditions_of, is_reachable, walk_leaves


class LabeledTree:
    """A tree with names, labels and row counts.

    ``names``: the columns, or their names alone; ``x0``, ``x1``, ... when left out. ``counts``: of the rows of fit, or
    of held-out rows; when left out, sizes are those that the tree was grown with, if it has them, and purity is
    unknown. ``classes`` (n_clusters,): the label of every cluster code; the codes when left out. ``cluster_names``:
    from ``read_cluster_names``. ``has_names``: whether the names came with the table, so that other tables need them;
    when left out, whether names are given. ``refuses_unknown``: whether rows with levels unseen at fit get no cluster.
    """

    def __init__(
        self,
        tree: ThresholdTree,
        names: Columns | Sequence[str] | None = None,
        counts: LeafCounts | None = None,
        classes: npt.NDArray[Any] | None = None,
        cluster_names: Mapping[Any, str] | None = None,
        *,
        has_names: bool | None = None,
        refuses_unknown: bool = False,
    ) -> None:
        self.tree = tree
        self.refuses_unknown = refuses_unknown
        if names is None:
            names = Columns(numbered_names(tree.n_features), has_names=False)
        self.columns = names if isinstance(names, Columns) else Columns(tuple(names), has_names is None or has_names)
        self.counts = counts if counts is None or counts.known else None
        # The tree alone does not know of clusters without a leaf.
        n_clusters = int(tree.cluster.max()) + 1 if counts is None else len(counts.cluster_weight)
        self.classes = np.arange(n_clusters) if classes is None else np.asarray(classes)
        self.cluster_names = dict(cluster_names or {})

    @property
    def closed(self) -> list[int]:
        """Tested categories that have no level for unseen values: a row with such a value gets no cluster."""
        kinds = [(feature, self.columns.kinds[feature]) for feature in self.tree.tested.tolist()]
        found = [feature for feature, kind in kinds if kind.name == "category" and not kind.has_other]
        return found if self.refuses_unknown else []

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return self.columns.names

    @cached_property
    def labels(self) -> list[Any]:
        """The label of every cluster code, as a Python value."""
        labels: list[Any] = self.classes.tolist()
        return labels

    @cached_property
    def titles(self) -> list[Any]:
        """Name of every cluster, or its label where it has none."""
        return [self.cluster_names.get(label, label) for label in self.labels]

    @cached_property
    def size(self) -> npt.NDArray[np.int64]:
        """Number of rows of every node; shape (n_nodes,)."""
        return self.tree.n_node_samples if self.counts is None else self.tree.sum_up(self.counts.n_rows)

    @cached_property
    def share(self) -> npt.NDArray[np.float64]:
        """Share of the weight in every node; shape (n_nodes,), nan if the total is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share: npt.NDArray[np.float64] = self.weight / self.weight[0]
        return share

    @cached_property
    def weight(self) -> npt.NDArray[np.float64]:
        """Total weight of every node; shape (n_nodes,)."""
        return self.size.astype(np.float64) if self.counts is None else self.tree.sum_up(self.counts.weight)

    @cached_property
    def purity(self) -> dict[int, float]:
        """Purity of every leaf with rows, by node number; empty if unknown."""
        if self.counts is None:
            return {}
        of_leaf = zip(self.tree.leaves.tolist(), self.counts.purity.tolist(), strict=True)
        return {leaf: purity for leaf, purity in of_leaf if self.size[leaf]}

    @property
    def counted(self) -> bool:
        """Whether sizes are known."""
        return self.counts is not None or bool(self.size[0] > 0)

    def condition(self, node: int) -> Condition:
        """The condition under which a row at the parent of a node goes on to it."""
        parent = int(self.tree.parents[node])
        test = self.tree.test(parent)
        region = all_values(test).passing(test, inside=node == parent + 1)
        return conditions_of({test.feature: region}, self.columns)[0]

    def leaf_conditions(self, *, as_tested: bool = False) -> Iterator[tuple[int, tuple[Condition, ...]]]:
        """Walk the reachable leaves from left to right: node number, and the fewest conditions that lead there.

        The most selective columns come first: those whose tests the smallest share of the weight passes. On a long
        path, most of which excludes other clusters, the conditions that define a cluster so come first. Without row
        counts, and ``as_tested``, columns are in the order of the path.
        """
        tree, is_sorted = self.tree, self.counted and not as_tested
        above = self.weight[np.maximum(tree.parents, 0)]
        passing = self.weight / np.where(above > 0.0, above, 1.0)
        parents, features = tree.parents.tolist(), tree.feature[tree.parents].tolist()
        for leaf, regions in walk_leaves(tree):
            if not is_reachable(regions):
                continue
            path = [leaf if is_sorted else 0]
            while (parent := parents[path[-1]]) >= 0:
                path.append(parent)
            share = dict.fromkeys(regions, 1.0)  # of the weight that reaches the tests of a column, what passes them
            for node in path[-2::-1]:
                share[features[node]] *= float(passing[node])
            columns = sorted(regions, key=share.__getitem__)
            yield leaf, conditions_of({column: regions[column] for column in columns}, self.columns)


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Row counts of every leaf, in the order of ``tree.leaves``; see ``count_leaves``.

    ``n_rows`` (n_leaves,) int64: rows of positive weight, without noise. ``n_noise`` (n_leaves,) int64: rows of
    positive weight that the reference calls noise. ``weight`` (n_leaves,) float64: total weight of the ``n_rows``,
    equal to ``n_rows`` without weights. ``agreeing`` (n_leaves,) float64: the part of ``weight`` whose reference
    cluster is the leaf's. ``cluster_weight`` (n_clusters,) float64: total weight of each reference cluster, over all
    leaves.
    """

    n_rows: npt.NDArray[np.int64]
    n_noise: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    agreeing: npt.NDArray[np.float64]
    cluster_weight: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = np.int64 if field.name in ("n_rows", "n_noise") else np.float64
            values = np.array(getattr(self, field.name), dtype=dtype)
            values.setflags(write=False)
            object.__setattr__(self, field.name, values)

    @property
    def known(self) -> bool:
        """Whether rows were counted at all."""
        return bool(self.n_rows.any() or self.n_noise.any())

    @property
    def is_unweighted(self) -> bool:
        """Whether every row counts once."""
        return bool(np.array_equal(self.weight, self.n_rows))

    @property
    def agreement(self) -> float:
        """Share of the weight in the same cluster as in the reference, from 0 to 1; nan without weight."""
        total = math.fsum(self.weight)
        return math.fsum(self.agreeing) / total if total > 0 else math.nan

    def are_of(self, in_leaves: npt.NDArray[Any]) -> bool:
        """Whether the counts equal ``in_leaves`` (n_leaves,), numbers of rows of positive weight."""
        return bool(np.array_equal(in_leaves, self.n_rows + self.n_noise))

    @property
    def purity(self) -> npt.NDArray[np.float64]:
        """Share of every leaf's weight whose reference cluster is the leaf's, at most 1; nan without weight."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.minimum(self.agreeing / self.weight, 1.0)  # the two sums may round differently

    @classmethod
    def unknown(cls, n_leaves: int, n_clusters: int) -> LeafCounts:
        """Zero counts, for a tree whose rows were not counted."""
        none, no_weight = np.zeros(n_leaves, dtype=np.int64), np.zeros(n_leaves)
        return cls(none, none, no_weight, no_weight, np.zeros(n_clusters))

    def to_dict(self) -> dict[str, Any]:
        """The counts as lists for JSON."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}


def count_leaves(
    tree: ThresholdTree,
    leaf: npt.NDArray[np.integer[Any]],
    codes: npt.NDArray[np.integer[Any]],
    n_clusters: int,
    weights: npt.NDArray[np.float64] | None = None,
) -> LeafCounts:
    """Count the rows of every leaf against a reference clustering.

    ``leaf`` (n_rows,): leaf of every row, from ``tree.apply``. ``codes`` (n_rows,): reference cluster of every row, in
    the codes of ``tree.cluster``; -1 is noise. ``n_clusters``: number of codes. ``weights`` (n_rows,) float64: not
    negative; 1 for every row when left out.
    """
    m = tree.n_nodes
    counted = codes >= 0
    noise = ~counted
    if weights is not None:
        counted &= weights > 0
        noise &= weights > 0
    all_counted = bool(counted.all())
    at, code = (leaf, codes) if all_counted else (leaf[counted], codes[counted])
    w = None if weights is None else (weights if all_counted else weights[counted])
    leaves = tree.leaves

    cell, n_cells = at.astype(np.intp) * n_clusters + code, m * n_clusters
    n_rows = np.bincount(cell, minlength=n_cells).reshape(m, n_clusters)[leaves]
    weight = n_rows if w is None else weight_by(cell, w, n_cells).reshape(m, n_clusters)[leaves]
    return LeafCounts(
        n_rows=n_rows.sum(axis=1),
        n_noise=np.bincount(leaf[noise], minlength=m)[leaves],
        weight=weight.sum(axis=1).astype(np.float64),
        agreeing=weight[np.arange(len(leaves)), tree.cluster[leaves]].astype(np.float64),
        cluster_weight=weight.sum(axis=0).astype(np.float64),
    )


class Titled:
    """Mixin of objects that describe a cluster: its title."""

    cluster: Any
    name: str | None

    @property
    def title(self) -> Any:
        """The cluster's name, or its label where it has none."""
        return self.cluster if self.name is None else self.name


def read_cluster_names(
    labels: Sequence[Any], names: Mapping[Any, str | None] | None, known: Mapping[Any, str] | None = None
) -> dict[Any, str]:
    """Check names of clusters, and add them to the known names.

    ``labels``: the labels that ``predict`` gives, as Python values. ``names``: override known names of the same
    clusters; None removes a name. ``known``: names checked before. Returns ``names``: of the clusters that have one, in
    the order of ``labels``. Raises ``InvalidInputError``: a label that no cluster has, an empty name, a name for two
    clusters, or a name that is another cluster's label. Raises ``UnsupportedInputError``: no mapping, or a name that is
    not a string.
    """
    if names is None:
        return dict(known or {})
    if not isinstance(names, Mapping):
        raise UnsupportedInputError(
            f"names is a mapping from a cluster to its name, such as {{{labels[0]!r}: 'students'}}, not {names!r}."
        )
    own = {label: label for label in labels}  # gives back the label itself for a key that only equals it, like 1.0
    merged: dict[Any, str | None] = dict(known or {})
    for label, name in names.items():
        if label not in own:
            hint = did_you_mean(label, [own for own in labels if isinstance(own, str)])
            if alike := [own for own in labels if str(own) == str(label)]:
                hint = f" Did you mean {alike[0]!r}?"
            raise InvalidInputError(
                f"names: there is no cluster {label!r}.{hint} The clusters are {listed(labels, most=20)}."
            )
        if name is not None and not isinstance(name, str):
            raise UnsupportedInputError(
                f"The name of cluster {label!r} is {name!r}, and a name is text. Give a string, or None for no name."
            )
        if name is not None and not name.strip():
            raise InvalidInputError(f"The name of cluster {label!r} is empty. Give it some text, or None for no name.")
        merged[own[label]] = None if name is None else str(name)
    given = {label: name for label in labels if (name := merged.get(label)) is not None}
    owner: dict[str, Any] = {}
    for label, text in given.items():
        if text in owner:
            raise InvalidInputError(
                f"Clusters {owner[text]!r} and {label!r} are both named {text!r}. Give each a name of its own."
            )
        owner[text] = label
    for label in labels:
        if owner.get(str(label), label) != label:
            raise InvalidInputError(
                f"Cluster {owner[str(label)]!r} is named {str(label)!r}, which is the label of another cluster. Choose "
                "another name."
            )
    return given
