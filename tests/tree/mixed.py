"""Small tables of numbers with gaps and categories, with costs, labels and centers: problems for searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutwise.reference.objective import FixedCosts
from cutwise.table.table import NUMBER, ColumnKind, EncodedTable, Table, encode_table
from cutwise.tree.growing import GrownTree
from tests.growth import grow_tree

GAPS = ColumnKind("number", has_gaps=True)


def category(n_levels: int) -> ColumnKind:
    return ColumnKind("category", tuple("abcdefghijklmnopqrstuvwxyz"[:n_levels]))


@dataclass(frozen=True, eq=False)
class Problem:
    values: np.ndarray
    kinds: tuple[ColumnKind, ...]
    weights: np.ndarray
    labels: np.ndarray
    excess: np.ndarray  # of each row, times its weight

    @property
    def k(self) -> int:
        return self.excess.shape[1]

    @property
    def encoded(self) -> EncodedTable:
        names = tuple(f"x{j}" for j in range(len(self.kinds)))
        return encode_table(Table(self.values, names, True, self.kinds), weights=self.weights, merge=False)

    def centers(self, column: int) -> np.ndarray:
        """Means of the known values of every cluster, or (k, V) shares of every level; nan where nothing is known."""
        kind, x = self.kinds[column], self.values[:, column]
        of_cluster = [self.labels == j for j in range(self.k)]
        if kind.name == "category":
            return np.array([[self.weights[c & (x == v)].sum() / self.weights[c].sum() for v in range(len(kind.levels))]
                             for c in of_cluster])  # fmt: skip
        known = [c & ~np.isnan(x) for c in of_cluster]
        return np.array([self.weights[c] @ x[c] / self.weights[c].sum() if c.any() else np.nan for c in known])

    def coordinates(self) -> np.ndarray:
        """The same in the columns that are searched."""
        searched = self.encoded.searched
        if searched is None:
            return np.column_stack([self.centers(j) for j in range(len(self.kinds))])
        columns = []
        for source, level, missing in zip(searched.source, searched.level, searched.missing, strict=True):
            centers = self.centers(source)
            columns.append(
                centers[:, level]
                if level >= 0
                else np.where(np.isnan(centers), np.inf if missing > 0 else -np.inf, centers)
            )
        return np.column_stack(columns)

    def grow(self, algorithm: str, max_leaves: int, **more: object) -> GrownTree:
        costs = FixedCosts(self.excess.astype(np.int32), np.zeros(len(self.values), np.int64), 1.0)
        return grow_tree(
            self.encoded, self.labels, self.coordinates(), costs, algorithm=algorithm, max_leaves=max_leaves, **more
        )


def random_problem(
    seed: int, *, n: int = 12, k: int = 3, n_levels: int = 5, columns: str = "cgn", gaps: float = 0.25, most: int = 4
) -> Problem:
    """``columns``: c for a category, g for a number with gaps, n for one without."""
    rng = np.random.default_rng(seed)
    of = {
        "c": lambda: rng.integers(0, n_levels, n).astype(float),
        "g": lambda: np.where(rng.random(n) < gaps, np.nan, rng.integers(0, most + 2, n)),
        "n": lambda: rng.integers(0, most + 2, n).astype(float),
    }
    kinds = {"c": category(n_levels), "g": GAPS, "n": NUMBER}
    values = np.column_stack([of[c]() for c in columns])
    weights = rng.integers(1, 4, n).astype(np.int64) if rng.random() < 0.5 else np.ones(n, dtype=np.int64)
    cost = rng.integers(0, 10, (n, k))
    cost -= cost.min(axis=1, keepdims=True)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)]).astype(np.int32)
    if rng.random() < 0.5:
        labels = np.where(np.arange(n) < k, labels, cost.argmin(axis=1)).astype(np.int32)
    return Problem(values, tuple(kinds[c] for c in columns), weights, labels, cost * weights[:, None])
