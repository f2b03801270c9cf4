"""What a tree may be: which columns it cuts, how deep it is, how much a leaf holds.

Limits filter cuts and change no score, so a search under limits finds the best cut that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.exceptions import InfeasibleLimitsError, InvalidInputError, listed
from cutwise.table.intake import check_integer, check_number, find_columns
from cutwise.table.table import Columns, SearchedColumns

from .threshold_tree import NodeTest, ThresholdTree

_MOST_CENTERS = 2**31 - 1
_MOST_DEPTH = 31
"""Trees that are deeper have room for more leaves than there are rows."""


class NoAllowedCutError(InfeasibleLimitsError):
    """A node whose clusters no allowed cut separates: its clusters, its rows and the tests above it."""

    def __init__(self, clusters: Sequence[int], n_rows: int, path: Sequence[tuple[NodeTest, bool]]) -> None:
        super().__init__(f"no allowed cut for clusters {list(clusters)}, which share {n_rows} rows")
        self.clusters, self.n_rows, self.path = clusters, n_rows, path


@dataclass(frozen=True, eq=False)
class Limits:
    """Which cuts are allowed among the m rows of a table.

    ``sources`` (d,) bool: the table's columns that may be cut; None: all. ``columns`` (D,) uint8: the same of the
    searched columns. ``max_depth``: tests on a path at most. ``least``: what a leaf counts at least, rows counting
    ``counts`` (m,), or 1 each; 0: no matter what. ``total``: what all count. ``by_weight``: whether that is weight.
    """

    sources: npt.NDArray[np.bool_] | None = None
    columns: npt.NDArray[np.uint8] | None = None
    max_depth: int | None = None
    least: int = 0
    counts: npt.NDArray[np.int64] | None = None
    total: int = 1
    by_weight: bool = False
    depth: int = 0  # of the node that is asked about

    def at(self, depth: int) -> Limits:
        """The limits of a node with so many tests above it."""
        return self if self.max_depth is None else replace(self, depth=depth)

    def has_room(self, depth: int) -> bool:
        """Whether a node at this depth may be cut at all."""
        return self.max_depth is None or depth < self.max_depth

    @property
    def most_centers(self) -> int:
        """How many clusters each side of a cut has room for."""
        if self.max_depth is not None and (left := self.max_depth - self.depth - 1) < _MOST_DEPTH:
            return 2**left if left >= 0 else 0
        return _MOST_CENTERS

    @cached_property
    def of_node(self) -> core.Limits:
        """As searches of the core take them."""
        return core.Limits(self.columns, self.counts, self.least, self.most_centers)

    def hold(self, tree: ThresholdTree, leaf_of_row: npt.NDArray[np.int32], rows: Any = None) -> bool:
        """Whether a tree with these rows in its leaves is within the limits; ``rows``: see ``GrownTree``."""
        if self.max_depth is not None and tree.depth > self.max_depth:
            return False
        if self.sources is not None and not self.sources[tree.feature[tree.feature >= 0]].all():
            return False
        if tree.n_leaves == 1 or self.least == 0:
            return True
        if rows is not None and not self.by_weight:
            return bool(tree.n_node_samples[tree.leaves].min() >= self.least)
        own = self.counts if rows is None else rows.by_label[1]
        counts = np.bincount(leaf_of_row, weights=own, minlength=tree.n_nodes)
        return bool(counts[tree.leaves].min() >= self.least)


@dataclass(frozen=True)
class LimitsGiven:
    """The limits as they are given to an estimator."""

    cut_features: Any = None
    max_depth: Any = None
    min_samples_leaf: Any = 1

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        least = self.min_samples_leaf
        return self.cut_features is None and self.max_depth is None and isinstance(least, int) and least == 1

    def check(self, n_clusters: int, *, may_leave_out: bool, instead: str) -> None:
        """What can be said before there is a table; ``instead``: an algorithm that may leave out clusters."""
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, minimum=1)
        share = check_number("min_samples_leaf", self.min_samples_leaf, minimum=0)
        if not (0 < share < 1 or (share >= 1 and float(share).is_integer())):
            raise InvalidInputError(
                f"min_samples_leaf={self.min_samples_leaf!r} is neither a number of rows nor a share of the weight. "
                "Use 20 for twenty rows, or 0.05 for five per cent."
            )
        if may_leave_out:
            return
        depth = self.max_depth
        if depth is not None and depth < _MOST_DEPTH and 2**depth < n_clusters:
            raise InfeasibleLimitsError(
                f"max_depth={depth} holds at most {2**depth} leaves, and n_clusters={n_clusters}. Use max_depth >= "
                f"{(n_clusters - 1).bit_length()}, or fewer clusters, or {instead}."
            )
        if share < 1 and n_clusters * share > 1:
            raise InfeasibleLimitsError(
                f"min_samples_leaf={self.min_samples_leaf!r} leaves room for {int(1 / share)} leaves, and "
                f"n_clusters={n_clusters}. Use min_samples_leaf <= {1 / n_clusters:.3g}, or fewer clusters, or "
                f"{instead}."
            )

    def read(
        self,
        columns: Columns,
        searched: SearchedColumns | None,
        coordinates: npt.NDArray[np.float64],
        classes: Sequence[Any],
        totals: tuple[int, int],
        counts: tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None] = (None, None),
        *,
        may_leave_out: bool,
        instead: str,
    ) -> Limits | None:
        """The limits for the rows of a table, None without any.

        ``coordinates`` (k, D): the clusters in the searched columns. ``classes``: how clusters are called. ``totals``:
        how many rows there are, and what they weigh. ``counts``: the same of each of the m rows.
        """
        if self.is_none:
            return None
        sources = mask = None
        if self.cut_features is not None:
            chosen = find_columns("cut_features", self.cut_features, columns)
            if not chosen:
                raise InvalidInputError("cut_features names no column, so there is no cut. Name one, or leave it out.")
            sources = np.isin(np.arange(len(columns.names)), sorted(chosen))
            mask = (sources if searched is None else sources[searched.source]).astype(np.uint8)
            if not may_leave_out:
                _check_separable(columns, searched, coordinates, mask, classes)
        by_weight, least = isinstance(self.min_samples_leaf, float) and self.min_samples_leaf < 1, 0
        total = totals[by_weight]
        if by_weight:
            least = -int(-Fraction(repr(self.min_samples_leaf)) * total // 1)
        elif self.min_samples_leaf > 1:
            least = int(self.min_samples_leaf)
            if least * len(classes) > total and not may_leave_out:
                raise InfeasibleLimitsError(
                    f"min_samples_leaf={least} for each of {len(classes)} clusters takes {least * len(classes)} rows, "
                    f"and there are {total}. Use min_samples_leaf <= {total // len(classes)}, or fewer clusters, or "
                    f"{instead}."
                )
        return Limits(sources, mask, self.max_depth, least, counts[by_weight], total, by_weight)

    def in_words(self, columns: Columns) -> str:
        """The limits in words: ``no cut on gender, age; at most 3 questions``."""
        said = []
        if self.cut_features is not None:
            chosen = find_columns("cut_features", self.cut_features, columns)
            only = 2 * len(chosen) <= len(columns.names)
            names = [name for j, name in enumerate(columns.names) if (j in chosen) == only]
            text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            said += [f"{'cuts on' if only else 'no cut on'} {text}{' alone' if only else ''}"] if names else []
        if self.max_depth is not None:
            said.append(f"at most {self.max_depth} question{'s' if self.max_depth > 1 else ''}")
        least = self.min_samples_leaf
        if isinstance(least, float) and least < 1:
            said.append(f"at least {100 * least:g} % in a leaf")
        elif least > 1:
            said.append(f"at least {least:g} rows in a leaf")
        return "; ".join(said)


def _check_separable(
    columns: Columns,
    searched: SearchedColumns | None,
    coordinates: npt.NDArray[np.float64],
    mask: npt.NDArray[np.uint8],
    classes: Sequence[Any],
) -> None:
    """Refuse columns in which two clusters are equal that others tell apart."""
    among = coordinates[:, mask > 0]
    for i in range(len(among)):
        for j in range(i + 1, len(among)):
            differs = coordinates[i] != coordinates[j]
            if (among[i] != among[j]).any() or not differs.any():
                continue
            sources = np.flatnonzero(differs) if searched is None else searched.source[differs]
            names = [columns.names[source] for source in dict.fromkeys(sources.tolist())]
            raise InfeasibleLimitsError(
                f"clusters {classes[i]} and {classes[j]} are equal in every column of cut_features, so no allowed cut "
                f"separates them. Add one that tells them apart: {listed(names)}."
            )


def infeasible(
    error: NoAllowedCutError, given: LimitsGiven, rule: str, classes: Sequence[Any], smallest: int | None, instead: str
) -> InfeasibleLimitsError:
    """What stopped a growth, as users are told: the limits, the node, and what to do.

    ``rule``: of the node. ``smallest``: rows of the smallest leaf of the tree without limits, where that is known.
    """
    names: Iterable[str] = (
        f"{name}={value if name != 'cut_features' else '...'}"
        for name, value in (
            ("cut_features", given.cut_features),
            ("max_depth", given.max_depth),
            ("min_samples_leaf", None if given.min_samples_leaf == 1 else given.min_samples_leaf),
        )
        if value is not None
    )
    clusters = [str(classes[cluster]) for cluster in error.clusters]
    who = f"clusters {', '.join(clusters[:-1])} and {clusters[-1]}"
    where = f"the {error.n_rows} rows of `{rule}`" if rule else f"all {error.n_rows} rows"
    said, step = ", ".join(names), "Relax a limit"
    leaves = "leaves" if "," not in said else "leave"
    message = f"{said} {leaves} no cut for {who}, which share {where}."
    if smallest is not None and isinstance(given.min_samples_leaf, int) and given.min_samples_leaf > smallest > 0:
        message += f"\nWithout it the smallest leaf would have {smallest} rows."
        step = f"Use min_samples_leaf <= {smallest}"
    return InfeasibleLimitsError(f"{message} {step}, or fewer clusters, or {instead}.")
