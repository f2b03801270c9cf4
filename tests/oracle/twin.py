"""The searches of ``grow`` in vectorized NumPy, for data of the papers' size.

Same definitions and tie rules, float64 sums: scores that differ by less than their rounding count as equal. Written
for whole columns at a time; still without bins, bounds or shared statistics, so that it can judge an engine that uses
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from .scores import Path

# Sums of float64 costs agree to about this much, relative to the node's total.
TIE = 1e-12


def squared_distances(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Squared distances (n, k) of float64 rows, without cancellation."""
    out = np.zeros((len(rows), len(centers)))
    for column in range(rows.shape[1]):
        out += (rows[:, column, None] - centers[None, :, column]) ** 2
    return out


@dataclass(eq=False)
class _Node:
    rows: np.ndarray
    centers: np.ndarray
    path: Path = field(default_factory=Path)
    feature: int = -1
    threshold: float = np.nan
    label: int = -1
    left: _Node | None = None
    right: _Node | None = None


def _midpoint(low: float, high: float) -> float:
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


@dataclass(frozen=True, eq=False)
class _Column:
    """One column of a node: its distinct values, and where each row and center stands among them."""

    seen: np.ndarray  # distinct values of rows and centers
    order: np.ndarray  # the node's rows by value
    last: np.ndarray  # last[c]: how many rows lie at or below seen[c]
    centers_at: np.ndarray  # position of each surviving center in seen


def _column(values: np.ndarray, centers: np.ndarray) -> _Column:
    order = np.argsort(values, kind="stable")
    seen = np.unique(np.concatenate([values, centers]))
    last = np.searchsorted(values[order], seen, side="right")
    return _Column(seen, order, last, np.searchsorted(seen, centers))


def _running(terms: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... rows."""
    return np.concatenate([np.zeros((1, *terms.shape[1:])), np.cumsum(terms, axis=0)])


def _is_first(numbers: np.ndarray) -> np.ndarray:
    """1 where a number stands for the first time."""
    first = np.zeros(len(numbers), dtype=int)
    first[np.unique(numbers, return_index=True)[1]] = 1
    return first


class Twin:
    """Naive growth for one reference.

    Parameters
    ----------
    values : ndarray of shape (n, d), float64
    centers : ndarray of shape (k, d), float64
    labels : ndarray of shape (n,), int, optional
        The nearest center of each row by default.
    """

    def __init__(self, values: np.ndarray, centers: np.ndarray, labels: np.ndarray | None = None) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.centers = np.asarray(centers, dtype=np.float64)
        self.costs = squared_distances(self.values, self.centers)
        self.labels = self.costs.argmin(axis=1) if labels is None else np.asarray(labels)
        self.n, self.k = self.costs.shape
        self.number = np.unique(self.values + 0.0, axis=0, return_inverse=True)[1].ravel()

    # one search per criterion: (feature, low, high) of the best cut of a node

    def _imm_cut(self, node: _Node) -> tuple[int, float, float]:
        here = node.rows[np.isin(self.labels[node.rows], node.centers)]
        tied: list[tuple[int, int, _Column]] = []
        fewest = None
        for feature in range(self.values.shape[1]):
            column = _column(self.values[node.rows, feature], self.centers[node.centers, feature])
            if len(column.seen) < 2:
                continue
            own = self.centers[self.labels[here], feature]
            low = np.minimum(own, self.values[here, feature])
            high = np.maximum(own, self.values[here, feature])
            # A cut at c parts a row from its center when the one is at or below c and the other above.
            count = np.searchsorted(np.sort(low), column.seen[:-1], side="right") - np.searchsorted(
                np.sort(high), column.seen[:-1], side="right"
            )
            valid = (column.seen[:-1] >= column.seen[column.centers_at.min()]) & (
                column.seen[:-1] < column.seen[column.centers_at.max()]
            )
            if not valid.any():
                continue
            least = count[valid].min()
            if fewest is None or least < fewest:
                fewest, tied = least, []
            if least == fewest:
                tied += [(feature, int(c), column) for c in np.flatnonzero(valid & (count == least))]
        if len(tied) == 1:
            feature, c, column = tied[0]
            return feature, column.seen[c], column.seen[c + 1]
        best = None
        total = self.costs[np.ix_(node.rows, node.centers)].sum(axis=0)
        margin = TIE * total.max() if len(node.rows) else 0.0
        for feature, c, column in tied:
            running = self.costs[np.ix_(node.rows[column.order[: column.last[c]]], node.centers)].sum(axis=0)
            left = column.centers_at <= c
            score = running[left].min() + (total - running)[~left].min()
            if best is None or score < best[0] - margin:
                best = (score, feature, column.seen[c], column.seen[c + 1])
        assert best is not None
        return best[1:]

    def _induced_columns(self, node: _Node) -> list[Any]:
        """For every column and gap between centers: the valid cuts inside it with their induced cost."""
        runs = list(self._separating_columns(node))
        # By content: equal rows have one number, and each counts where its first copy lies.
        number = self.number[node.rows]
        valid = []
        for feature, column, inside, k_left, split, cost in runs:
            ordered = number[column.order]
            n_left = _running(_is_first(ordered))[split]
            n_right = _running(_is_first(ordered[::-1]))[len(ordered) - split]
            keep = (n_left >= k_left) & (n_right >= len(node.centers) - k_left)
            valid.append((feature, column, inside[keep], k_left, split[keep], cost[keep]))
        return valid if any(len(run[2]) for run in valid) else runs

    def _separating_columns(self, node: _Node) -> Any:
        """The same for all cuts that leave a center on each side."""
        costs = self.costs[np.ix_(node.rows, node.centers)]
        for feature in range(self.values.shape[1]):
            column = _column(self.values[node.rows, feature], self.centers[node.centers, feature])
            by_place = np.argsort(column.centers_at, kind="stable")
            places = column.centers_at[by_place]
            if places[0] == places[-1]:
                continue
            ordered = costs[column.order][:, by_place]
            from_left = np.minimum.accumulate(ordered, axis=1)
            from_right = np.minimum.accumulate(ordered[:, ::-1], axis=1)[:, ::-1]
            for j in np.flatnonzero(np.diff(places)):
                inside = np.arange(places[j], places[j + 1])
                split = column.last[inside]
                left = _running(from_left[:, j])[split]
                right = from_right[:, j + 1]
                right = right.sum() - _running(right)[split]
                yield feature, column, inside, int(j) + 1, split, left + right

    def _induced_cut(self, node: _Node) -> tuple[int, float, float]:
        best = None
        for feature, column, inside, _, _, cost in self._induced_columns(node):
            if len(cost) == 0:
                continue
            lowest = cost.min()
            margin = TIE * max(lowest, 1e-300)
            if best is None or lowest < best[0] - margin:
                c = inside[np.flatnonzero(cost <= lowest + margin)[0]]
                best = (lowest, feature, column.seen[c], column.seen[c + 1])
        assert best is not None
        return best[1:]

    def _shallow_cut(self, node: _Node, depth_penalty: float) -> tuple[int, float, float]:
        n, k = len(node.rows), len(node.centers)
        current = self.costs[np.ix_(node.rows, node.centers)].min(axis=1).sum() if n else 0.0
        best = None
        for feature, column, inside, k_left, n_left, cost in self._induced_columns(node):
            with np.errstate(divide="ignore", invalid="ignore"):
                score = np.where(cost == 0, 1.0, cost / current)
            # The depth term is at least 0: it can be left out where cost alone is too high already.
            worth = np.arange(len(cost)) if best is None else np.flatnonzero(score < best[0])
            if len(worth) == 0:
                continue
            total = total_depths(n, k, n_left[worth], k_left)
            total = total - node.path.is_killer(feature, "<=") * n_left[worth]
            total = total - node.path.is_killer(feature, ">") * (n - n_left[worth])
            score = score[worth] + depth_penalty * (total / max(n, 1))
            lowest = score.min()
            margin = TIE * lowest
            if best is None or lowest < best[0] - margin:
                c = inside[worth[np.flatnonzero(score <= lowest + margin)[0]]]
                best = (lowest, feature, column.seen[c], column.seen[c + 1])
        assert best is not None
        return best[1:]

    def _surrogate_cut(self, node: _Node) -> tuple[float, tuple[int, float, float] | None]:
        """Lowest cost of a split served by the best center a side, and the cut."""
        costs = self.costs[node.rows]
        total = costs.sum(axis=0)
        best, cut = np.inf, None
        for feature in range(self.values.shape[1]):
            values = self.values[node.rows, feature]
            order = np.argsort(values, kind="stable")
            ends = np.flatnonzero(np.diff(values[order])) + 1
            if len(ends) == 0:
                continue
            running = np.cumsum(costs[order], axis=0)[ends - 1]
            score = running.min(axis=1) + (total - running).min(axis=1)
            lowest = score.min()
            margin = TIE * total.max()
            if lowest < best - margin:
                at = ends[np.flatnonzero(score <= lowest + margin)[0]]
                best, cut = float(lowest), (feature, values[order][at - 1], values[order][at])
        return best, cut

    # growth

    def _split(self, node: _Node, cut: tuple[int, float, float]) -> tuple[_Node, _Node]:
        feature, low, high = cut
        node.feature, node.threshold = feature, _midpoint(float(low), float(high))
        rows_left = self.values[node.rows, feature] <= low
        centers_left = self.centers[node.centers, feature] <= low
        node.left = _Node(node.rows[rows_left], node.centers[centers_left], node.path.then(feature, "<="))
        node.right = _Node(node.rows[~rows_left], node.centers[~centers_left], node.path.then(feature, ">"))
        return node.left, node.right

    def separate(self, algorithm: str, depth_penalty: float = 0.03) -> SimpleNamespace:
        """A tree with one leaf a center: "imm", "exgreedy" or "exshallow"."""
        return _as_arrays(self._separated(algorithm, depth_penalty)[0])

    def _separated(self, algorithm: str, depth_penalty: float) -> tuple[_Node, list[_Node]]:
        """Its root and its leaves."""
        search = {
            "imm": self._imm_cut,
            "exgreedy": self._induced_cut,
            "exshallow": lambda node: self._shallow_cut(node, depth_penalty),
        }[algorithm]
        root = _Node(np.arange(self.n), np.arange(self.k))
        waiting, leaves = [root], []
        while waiting:
            node = waiting.pop()
            coordinates = self.centers[node.centers]
            if (coordinates == coordinates[0]).all():
                node.label = int(node.centers.min())
                leaves.append(node)
                continue
            waiting += self._split(node, search(node))
        return root, leaves

    def exkmc(self, max_leaves: int, base: str | None = None) -> SimpleNamespace:
        """A tree grown from a single leaf, or from a base tree, best gain first."""
        if base is None:
            root = _Node(np.arange(self.n), np.arange(self.k))
            root.label = int(self.costs.sum(axis=0).argmin())
            leaves = [root]
        else:
            root, leaves = self._separated(base, 0.03)
        splits = {id(leaf): self._surrogate_cut(leaf) for leaf in leaves}
        while len(leaves) < max_leaves:
            gains = [self.costs[leaf.rows, leaf.label].sum() - splits[id(leaf)][0] for leaf in leaves]
            at = int(np.argmax(gains))
            if not gains[at] > TIE * self.costs.sum():
                break
            cut = splits[id(leaves[at])][1]
            assert cut is not None
            children = self._split(leaves[at], cut)
            for child in children:
                child.label = int(self.costs[child.rows].sum(axis=0).argmin())
                splits[id(child)] = self._surrogate_cut(child)
            leaves[at : at + 1] = children
        return _as_arrays(root)

    def grow(self, algorithm: str, depth_penalty: float = 0.03) -> SimpleNamespace:
        """A tree with as many leaves as centers by any of the four names."""
        return self.exkmc(self.k) if algorithm == "exkmc" else self.separate(algorithm, depth_penalty)


def total_depths(n: int, k: int, n_left: np.ndarray, k_left: int) -> np.ndarray:
    """``scores.total_depth`` for many cuts of a node that all send ``k_left`` centers left."""
    first = np.asarray(n_left, dtype=np.int64)

    def below(rows: np.ndarray, centers: int) -> np.ndarray:
        if centers == 1:
            return np.zeros_like(rows)
        centers_left = min(max(-(-centers * k_left // k), 1), centers - 1)
        rows_left = np.clip(-(-(rows * first) // max(n, 1)), 1, np.maximum(rows - 1, 1))
        rows_left[rows == 1] = int(centers_left > centers - centers_left)
        rows_left[rows == 0] = 0
        return rows + below(rows_left, centers_left) + below(rows - rows_left, centers - centers_left)

    if n == 0 or k == 1:
        return np.zeros_like(first)
    return n + below(first, k_left) + below(n - first, k - k_left)


def _as_arrays(root: _Node) -> SimpleNamespace:
    """The public arrays of a tree, nodes in preorder; thresholds at the middle of their gaps."""
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if node.left is not None and node.right is not None:
            waiting += [node.right, node.left]
    place = {id(node): i for i, node in enumerate(nodes)}
    return SimpleNamespace(
        children_left=np.array([place[id(n.left)] if n.left else -1 for n in nodes]),
        children_right=np.array([place[id(n.right)] if n.right else -1 for n in nodes]),
        feature=np.array([n.feature for n in nodes]),
        threshold=np.array([n.threshold for n in nodes]),
        lower=np.full(len(nodes), -np.inf),
        cluster=np.array([-1 if n.left else n.label for n in nodes]),
        n_node_samples=np.array([len(n.rows) for n in nodes]),
        n_node_mistakes=None,
    )
