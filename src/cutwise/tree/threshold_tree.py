"""The threshold tree, which fits produce and readouts read: immutable parallel arrays in preorder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import ColumnMismatchError, InvalidInputError, shown
from cutwise.table.intake import read_table
from cutwise.table.table import Table


@dataclass(frozen=True)
class NodeTest:
    """Rows whose value is inside go left, all others right.

    Inside is ``lower < value <= threshold``, or a value among ``levels`` if these are given (``threshold`` is then
    nan), or a missing value if ``unknown`` is true: ``NodeTest(0, nan, levels=(), unknown=True)`` tests whether the
    value is missing. In a search each end is the largest value on its left; a finished tree places it in the gap after
    that value.
    """

    feature: int
    threshold: float
    lower: float = -math.inf
    levels: tuple[int, ...] | None = None
    unknown: bool = False

    @property
    def is_interval(self) -> bool:
        """Whether the test has a lower end."""
        return self.lower != -math.inf

    def holds(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Mask of the values of the column that are inside."""
        x = np.asarray(values).astype(np.float64, copy=False)
        inside = (x > self.lower) & (x <= self.threshold) if self.levels is None else np.isin(x, self.levels)
        if self.unknown:
            inside |= np.isnan(x)
        found: npt.NDArray[np.bool_] = inside
        return found


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdTree:
    """A binary tree of tests on single columns whose leaves are clusters.

    Nodes are numbered in preorder: node 0 is the root and the left child of inner node ``i`` is ``i + 1``. The arrays
    are copied, checked and made read-only when the tree is built, so every ``ThresholdTree`` is valid.

    Parameters
    ----------
    children_left, children_right : array_like of shape (n_nodes,), int32
        The children's numbers; -1 at leaves.
    feature : array_like of shape (n_nodes,), int32
        The column tested; -1 at leaves.
    threshold : array_like of shape (n_nodes,), float64
        A row goes left when its value is at most ``threshold``; nan at leaves, and at tests of ``levels``.
    lower : array_like of shape (n_nodes,), float64
        The lower end of an interval test: a row goes left when ``lower < value <= threshold`` ("inside"). ``-inf`` at
        one-sided tests and at leaves.
    cluster : array_like of shape (n_nodes,), int32
        The cluster's code at leaves, 0 or more; -1 at inner nodes. Several leaves may have the same cluster, and a
        cluster may have no leaf.
    n_node_samples : array_like of shape (n_nodes,), int64
        Rows routed to the node: at the root all rows without noise and rows of weight 0.
    n_node_mistakes : array_like of shape (n_nodes,), int64
        IMM's mistakes of the node's cut (weighted where weights are integers); 0 elsewhere.
    n_features : int
        Columns that ``apply`` and ``predict`` expect.
    levels : sequence of length n_nodes, each a tuple of int or None, optional
        Codes of levels, 0 to 255, increasing: a row goes left when its value is one of them. None at leaves and at
        tests of a threshold. None for all nodes when left out.
    unknown : array_like of shape (n_nodes,), bool, optional
        Whether a row whose value is missing (nan) goes left; it goes right everywhere when left out.

    Raises
    ------
    InvalidInputError
        The arrays are not a valid tree; the message names the first node at fault.

    Notes
    -----
    Values are compared as float64 whatever their dtype. Methods do not recurse, so depth is not limited.
    """

    children_left: Int32
    children_right: Int32
    feature: Int32
    threshold: Float64
    lower: Float64
    cluster: Int32
    n_node_samples: Int64
    n_node_mistakes: Int64
    n_features: int
    levels: tuple[tuple[int, ...] | None, ...] = ()
    unknown: npt.NDArray[np.bool_] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("children_left", "children_right", "feature", "cluster"):
            _freeze(self, name, np.dtype(np.int32))
        for name in ("n_node_samples", "n_node_mistakes"):
            _freeze(self, name, np.dtype(np.int64))
        for name in ("threshold", "lower"):
            _freeze(self, name, np.dtype(np.float64))
        object.__setattr__(self, "n_features", _count(self.n_features))
        object.__setattr__(self, "levels", _read_levels(self.levels, self.n_nodes))
        object.__setattr__(self, "unknown", _read_unknown(self.unknown, self.n_nodes))
        _check_lengths(self)
        _check_preorder(self.children_left, self.children_right)
        _check_nodes(self)

    # Derived facts ----------------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def depth(self) -> int:
        """Tests on the longest path from the root to a leaf; 0 for a single leaf."""
        return int(self.node_depth.max())

    @cached_property
    def leaves(self) -> Int32:
        """Numbers of the leaves, from left to right; shape (n_leaves,), int32, read-only."""
        return _read_only(np.flatnonzero(self.children_left < 0).astype(np.int32))

    @cached_property
    def parents(self) -> Int32:
        """The number of every node's parent, -1 at the root; shape (n_nodes,), int32, read-only."""
        parents = np.full(self.n_nodes, -1, dtype=np.int32)
        inner = np.flatnonzero(self.children_left >= 0)
        parents[self.children_left[inner]] = inner
        parents[self.children_right[inner]] = inner
        return _read_only(parents)

    @cached_property
    def node_depth(self) -> Int32:
        """Tests between the root and every node; shape (n_nodes,), int32, read-only."""
        depth = [0] * self.n_nodes
        for node, parent in enumerate(self.parents.tolist()):  # parents come first in preorder
            if parent >= 0:
                depth[node] = depth[parent] + 1
        return _read_only(np.array(depth, dtype=np.int32))

    @cached_property
    def tested(self) -> Int32:
        """The columns that the tree tests, in increasing order; shape (n_tested,), int32, read-only."""
        return _read_only(np.unique(self.feature[self.feature >= 0]))

    def sum_up(self, of_leaf: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of values over the leaves below every node, (n_nodes, ...), from those in the order of ``leaves``."""
        total = np.zeros((self.n_nodes, *of_leaf.shape[1:]), dtype=of_leaf.dtype)
        total[self.leaves] = of_leaf
        parents = self.parents.tolist()
        for node in range(self.n_nodes - 1, 0, -1):  # children come after their parent
            total[parents[node]] += total[node]
        return total

    @property
    def is_plain(self) -> bool:
        """Whether all tests are thresholds or intervals, and missing values go right."""
        return not self.unknown.any() and not any(levels is not None for levels in self.levels)

    def test(self, node: int) -> NodeTest:
        """The test of an inner node."""
        return NodeTest(
            int(self.feature[node]),
            float(self.threshold[node]),
            float(self.lower[node]),
            self.levels[node],
            bool(self.unknown[node]),
        )

    # Routing ----------------------------------------------------------------------------------------------------------

    def apply(self, X: Any, *, n_jobs: int = 1) -> Int32:
        """The leaf that every row reaches.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame, Table or core Matrix, of shape (n_rows, n_features)
            Rows in the columns' own units. Columns go by their order: a tree knows no names.
        n_jobs : int, default 1
            Threads to use; the result does not depend on it.

        Returns
        -------
        leaf : ndarray of shape (n_rows,), int32
            Node numbers: entries of ``leaves``.

        Raises
        ------
        ColumnMismatchError
            Another number of columns than ``n_features``.
        InvalidInputError
            Anything that is no table of finite numbers.
        """
        matrix = X if isinstance(X, core.Matrix) else (X if isinstance(X, Table) else read_table(X)).matrix
        if matrix.n_cols != self.n_features:
            raise ColumnMismatchError.of_count(given=matrix.n_cols, fitted=self.n_features, estimator="ThresholdTree")
        sets = None if self.is_plain else self._sets
        return core.apply(
            matrix, self.children_left, self.children_right, self.feature, self.threshold, self.lower, sets, n_jobs
        )

    @cached_property
    def _sets(self) -> npt.NDArray[np.uint8]:
        """Flags of the codes that go left at every node that tests levels; the last one is for missing values."""
        goes_left = np.zeros((self.n_nodes, 257), dtype=np.uint8)
        for node, levels in enumerate(self.levels):
            goes_left[node, list(levels or ())] = 1
        goes_left[:, 256] = self.unknown
        return goes_left

    def predict(self, X: Any, *, n_jobs: int = 1) -> Int32:
        """The cluster code of the leaf that every row reaches.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame, Table or core Matrix, of shape (n_rows, n_features)
            Rows in the columns' own units. Columns go by their order: a tree knows no names.
        n_jobs : int, default 1
            Threads to use; the result does not depend on it.

        Returns
        -------
        cluster : ndarray of shape (n_rows,), int32
        """
        return self.cluster[self.apply(X, n_jobs=n_jobs)]

    # Construction, comparison, storage --------------------------------------------------------------------------------

    @classmethod
    def from_unordered(
        cls,
        *,
        children_left: npt.ArrayLike,
        children_right: npt.ArrayLike,
        feature: npt.ArrayLike,
        threshold: npt.ArrayLike,
        cluster: npt.ArrayLike,
        n_features: int,
        lower: npt.ArrayLike | None = None,
        n_node_samples: npt.ArrayLike | None = None,
        n_node_mistakes: npt.ArrayLike | None = None,
        levels: Sequence[tuple[int, ...] | None] | None = None,
        unknown: npt.ArrayLike | None = None,
    ) -> ThresholdTree:
        """A tree from nodes in any order, such as the order in which a search made them; node 0 is the root.

        Parameters
        ----------
        children_left, children_right, feature, threshold, cluster, n_features
            As in the class, but children may have any numbers. Entries of ``feature``, ``threshold``, ``lower`` and
            ``n_node_mistakes`` at leaves, and of ``cluster`` at inner nodes, are not read.
        lower : array_like of shape (n_nodes,), optional
            One-sided tests when left out.
        n_node_samples, n_node_mistakes : array_like of shape (n_nodes,), optional
            Zeros when left out.
        levels, unknown : of length n_nodes, optional
            As in the class.

        Returns
        -------
        tree : ThresholdTree
            The same tree, its nodes renumbered to preorder; ``preorder`` gives the renumbering.

        Raises
        ------
        InvalidInputError
            The children do not form a tree with root 0, or any error of the class.
        """
        left = _integers(children_left, "children_left", np.dtype(np.int32))
        right = _integers(children_right, "children_right", np.dtype(np.int32))
        order = preorder(left, right)
        number = np.full(len(left) + 1, -1, dtype=np.int32)  # the last entry is for child -1
        number[order] = np.arange(len(order), dtype=np.int32)
        is_leaf = left[order] < 0

        def column(values: npt.ArrayLike | None, default: Any, at: npt.NDArray[np.bool_] | None = None) -> Any:
            if values is None:
                return np.full(len(order), default)
            out = np.asarray(values, dtype=np.float64 if isinstance(default, float) else None)
            if out.shape != left.shape:
                raise InvalidInputError(f"the arrays of a tree have one length, not {out.shape} and {left.shape}.")
            out = out[order]
            if at is not None:
                out[at] = default
            return out

        return cls(
            children_left=number[left[order]],
            children_right=number[right[order]],
            feature=column(feature, -1, is_leaf),
            threshold=column(threshold, np.nan, is_leaf),
            lower=column(lower, -np.inf, is_leaf),
            cluster=column(cluster, -1, ~is_leaf),
            n_node_samples=column(n_node_samples, 0),
            n_node_mistakes=column(n_node_mistakes, 0, is_leaf),
            n_features=n_features,
            levels=() if levels is None else tuple(levels[node] if left[node] >= 0 else None for node in order),
            unknown=column(unknown, False, is_leaf),
        )

    def equals(self, other: ThresholdTree, *, counts: bool = True) -> bool:
        """Whether two trees are the same, bit for bit.

        Parameters
        ----------
        other : ThresholdTree
        counts : bool, default True
            Compare ``n_node_samples`` and ``n_node_mistakes`` too; False compares only what decides the prediction.

        Returns
        -------
        same : bool
        """
        skipped = () if counts else ("n_node_samples", "n_node_mistakes")
        same = self.n_features == other.n_features and self.levels == other.levels
        return same and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=name == "threshold")
            for name in _ARRAYS
            if name not in skipped
        )

    def to_dict(self) -> dict[str, Any]:
        """The tree as lists and numbers for JSON; ``from_dict`` restores exactly the same tree.

        Returns
        -------
        data : dict
            One entry for each field. Floats are exact; ``None`` replaces the nan of ``threshold`` and the ``-inf`` of
            ``lower``, which JSON cannot write. ``levels`` and ``unknown`` are left out of a tree that has neither.
        """
        data: dict[str, Any] = {name: getattr(self, name).tolist() for name in _ARRAYS if name != "unknown"}
        if not self.is_plain:
            data["levels"] = [None if levels is None else list(levels) for levels in self.levels]
            data["unknown"] = self.unknown.tolist()
        for name in ("threshold", "lower"):
            data[name] = [value if np.isfinite(value) else None for value in data[name]]
        data["n_features"] = self.n_features
        return data

    @classmethod
    def from_dict(cls, data: object) -> ThresholdTree:
        """The tree from the output of ``to_dict``.

        Parameters
        ----------
        data : mapping
            One entry for each field, no other; ``levels`` and ``unknown`` may be left out.

        Returns
        -------
        tree : ThresholdTree

        Raises
        ------
        InvalidInputError
            An entry is missing, unknown or of another kind, or the arrays are not a valid tree.
        """
        expected = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or not expected - {"levels", "unknown"} <= set(data) <= expected:
            given = sorted(map(str, data)) if isinstance(data, Mapping) else shown(data)
            raise InvalidInputError(f"a tree is a mapping with the entries {sorted(expected)}, not {given}.")
        values = dict(data)
        for name, absent in (("threshold", np.nan), ("lower", -np.inf)):
            if not isinstance(values[name], Sequence) or not all(_is_number_or_none(v) for v in values[name]):
                raise InvalidInputError(f"{name} of a tree is a list of numbers and None.")
            values[name] = np.array([absent if v is None else float(v) for v in values[name]], dtype=np.float64)
        return cls(**values)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, since unpickled arrays are writable and unchecked.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return f"ThresholdTree(n_leaves={self.n_leaves}, depth={self.depth}, n_features={self.n_features})"


_ARRAYS = tuple(field.name for field in fields(ThresholdTree) if field.name not in ("n_features", "levels"))


def preorder(children_left: npt.ArrayLike, children_right: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """The nodes of a tree in preorder: a node, everything left of it, everything right of it.

    ``children_left``, ``children_right`` (n_nodes,): children in any numbering, -1 at leaves; node 0 is the root.
    Returns ``order`` (n_nodes,): ``order[i]`` is the given number of the node that is ``i`` in preorder:
    ``values[order]`` renumbers an array. Raises ``InvalidInputError``: a node reached twice or never, or a child out of
    range.
    """
    left = np.asarray(children_left).tolist()
    right = np.asarray(children_right).tolist()
    m = len(left)
    if m == 0 or len(right) != m:
        raise InvalidInputError(
            f"a tree has one or more nodes and as many left as right children, not {m} and {len(right)}."
        )
    order: list[int] = []
    pending = [0]
    seen = [False] * m
    while pending:
        node = pending.pop()
        if not 0 <= node < m or seen[node]:
            raise InvalidInputError(
                f"the children are no tree with root 0: node {node} is out of range or reached twice."
            )
        seen[node] = True
        order.append(node)
        if (left[node] < 0) != (right[node] < 0):
            raise InvalidInputError(f"node {node} of a tree has one child; a node has two, or none (-1 and -1).")
        if left[node] >= 0:
            pending += [right[node], left[node]]
    if len(order) < m:
        raise InvalidInputError(f"the children are no tree with root 0: node {seen.index(False)} is never reached.")
    return np.array(order, dtype=np.intp)


def _count(n_features: Any) -> int:
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer) or n_features < 1:
        raise InvalidInputError(f"n_features={n_features!r} of a tree is an integer of at least 1.")
    return int(n_features)


def _is_number_or_none(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    values.setflags(write=False)
    return values


def _integers(values: npt.ArrayLike, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    given = np.asarray(values)
    limits = np.iinfo(dtype)
    is_other = given.dtype != dtype and given.size > 0
    if given.dtype.kind not in "iu" or (is_other and (given.min() < limits.min or given.max() > limits.max)):
        raise InvalidInputError(f"{name} of a tree holds {dtype} integers, not {given.dtype}.")
    return given.astype(dtype)


def _freeze(tree: ThresholdTree, name: str, dtype: np.dtype[Any]) -> None:
    """Replace a field by a checked, read-only copy."""
    values = getattr(tree, name)
    copy = np.array(values, dtype=dtype) if dtype.kind == "f" else _integers(values, name, dtype)
    if copy.ndim != 1:
        raise InvalidInputError(f"{name} of a tree is one-dimensional, not {copy.ndim}-dimensional.")
    object.__setattr__(tree, name, _read_only(copy))


def _read_levels(levels: Any, n_nodes: int) -> tuple[tuple[int, ...] | None, ...]:
    """The levels of every node: tuples of codes that fit a byte, increasing, or None."""
    if not np.iterable(levels):
        raise InvalidInputError(f"levels of a tree are one list of codes or None a node, not {shown(levels)}.")
    found = []
    for codes in list(levels) or [None] * n_nodes:
        if codes is not None:
            if not np.iterable(codes) or not all(map(_is_code, codes)):
                raise InvalidInputError(f"levels of a tree are codes from 0 to 255, not {shown(codes)}.")
            codes = tuple(sorted({int(code) for code in codes}))
        found.append(codes)
    return tuple(found)


def _is_code(code: Any) -> bool:
    return isinstance(code, int | np.integer) and not isinstance(code, bool) and bool(0 <= code <= 255)


def _read_unknown(unknown: Any, n_nodes: int) -> npt.NDArray[np.bool_]:
    values = np.array(unknown) if np.size(unknown) else np.zeros(n_nodes, dtype=np.bool_)
    if values.dtype != np.bool_ or values.ndim != 1:
        raise InvalidInputError(f"unknown of a tree holds one bool a node, not {values.dtype}.")
    return _read_only(values)


def _check_lengths(tree: ThresholdTree) -> None:
    lengths = {name: len(getattr(tree, name)) for name in (*_ARRAYS, "levels")}
    if len(set(lengths.values())) != 1 or tree.n_nodes == 0:
        raise InvalidInputError(f"the arrays of a tree have one length of at least 1, not {lengths}.")


def _check_preorder(children_left: Int32, children_right: Int32) -> None:
    place = np.arange(len(children_left))
    is_other = (preorder(children_left, children_right) != place) | (np.minimum(children_left, children_right) < -1)
    if is_other.any():
        raise InvalidInputError(
            f"node {int(is_other.argmax())} of a tree is out of preorder (the left child of node i is node i + 1), or "
            "has a child of less than -1. from_unordered renumbers nodes."
        )


def _check_nodes(tree: ThresholdTree) -> None:
    leaf = tree.children_left < 0
    inner = ~leaf
    named = np.array([levels is not None for levels in tree.levels])
    by_level = inner & named & np.isnan(tree.threshold) & np.isneginf(tree.lower)
    with np.errstate(invalid="ignore"):
        ordered = tree.lower < tree.threshold
    _all(leaf | ((tree.feature >= 0) & (tree.feature < tree.n_features)), f"feature from 0 to {tree.n_features - 1}")
    _all(
        leaf | by_level | (np.isfinite(tree.threshold) & ~named), "finite threshold, or nan where levels are asked for"
    )
    _all(
        leaf | by_level | (ordered & (np.isfinite(tree.lower) | np.isneginf(tree.lower))),
        "lower below its threshold, or -inf",
    )
    _all(inner | (tree.cluster >= 0), "cluster code of at least 0")
    _all(leaf | (tree.cluster == -1), "cluster of -1, being inside")
    _all(
        inner | ((tree.feature == -1) & np.isnan(tree.threshold) & np.isneginf(tree.lower) & ~named & ~tree.unknown),
        "feature of -1, threshold of nan, lower of -inf and neither levels nor unknown, being a leaf",
    )
    _all((tree.n_node_samples >= 0) & (tree.n_node_mistakes >= 0), "count of at least 0")
    samples = tree.n_node_samples
    # Leaves have child -1: their entries are masked out.
    _all(
        leaf | (samples == samples[tree.children_left] + samples[tree.children_right]),
        "n_node_samples that is the sum of its children's",
    )


def _all(holds: npt.NDArray[np.bool_], needed: str) -> None:
    if not holds.all():
        raise InvalidInputError(f"node {int(np.argmin(holds))} of a tree needs a {needed}.")
