"""The search for a reference over rows that are not in memory: samples and Lloyd's iterations, by passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int64
from cutwise.reference.objective import KMEANS
from cutwise.reference.search import (
    Importance,
    Points,
    Run,
    Stop,
    draw_rows,
    finish_centers,
    most_distinct,
    sample_weights,
    search_centers,
)
from cutwise.table.table import Values, as_matrix

from .rows import BatchedRows, Slice
from .sums import Scale, Smallest, Total, least_row

_SKETCHES, _CELLS = 3, 8
"""Sketches that find heavy rows by parts of their hashes, and cells of a sketch per row of the sample."""


def find_centers(
    rows: BatchedRows, n_clusters: int, *, n_init: int, random_state: Any, n_jobs: int, verbose: int
) -> Float64:
    """Centers (k, p), bit for bit those of ``find_clustering`` with ``brief=True`` for the same rows in memory."""
    searched = SearchedBatches(rows, n_clusters)
    run = search_centers(
        searched, n_clusters, n_init=n_init, brief=True, random_state=random_state, n_jobs=n_jobs, verbose=verbose
    )
    return finish_centers(run.centers, searched.weigh, searched.iterate, n_jobs, renumber=True)


class SearchedBatches:
    """Rows in batches, with the interface of :class:`SearchedRows`; in memory that is :class:`DistinctRows`."""

    objective = KMEANS

    def __init__(self, rows: BatchedRows, n_clusters: int) -> None:
        self._rows, self.n_rows = rows, rows.n_rows

        def add(found: Smallest, part: Slice) -> None:
            _, weights, hashes = core.distinct_rows(part.metric.matrix, None)
            found.add(hashes, hashes, np.empty((len(hashes), 0)), weights)

        self._n_distinct = len(rows.go_over("distinct rows", Smallest(most_distinct(n_clusters) + 1), add).merged()[0])

    def __len__(self) -> int:
        return self._n_distinct

    def best_center(self, n_jobs: int) -> Float64:
        """See :class:`SearchedRows`."""
        sums = self._rows.grouped_sums("means", lambda part: [(np.zeros(part.n, dtype=np.int32), 1)])
        return self._rows.means(sums[0])

    def weigh(self, centers: Float64) -> Int64:
        """Weight of the rows of every cluster."""
        k = len(centers)

        def add(found: Total, part: Slice) -> None:
            labels = KMEANS.assign(part.metric.matrix, centers)[0]
            found.update([np.bincount(labels, part.weights, k).astype(np.int64)])

        weight: Int64 = self._rows.go_over("sizes of clusters", Total(), add).values[0]
        return weight

    def importance(self, centers: Float64, n_jobs: int) -> Importance:
        """See :class:`SearchedRows`."""
        k = len(centers)

        def costs_of(part: Slice) -> list[Float64]:
            part.known["nearest"], own, _ = KMEANS.assign(part.metric.matrix, centers)
            return [own]

        def add(found: Total, part: Slice) -> None:
            found.update([np.bincount(part.known["nearest"], part.weights, k)])

        (cost,), weight = self._rows.exact_sums("costs of rows", costs_of, Total(), add)
        return Importance(centers, weight.values[0].astype(np.float64), cost / self._rows.total_weight)

    def sample(self, size: int, matters: Sequence[Importance], seed: int) -> Points:
        """See :class:`SearchedRows`."""
        if len(self) <= size:
            _, _, every, weights = self._rows.go_over("distinct rows", Smallest(size), _keep_all).merged()
            return Points(self._values(every), weights, KMEANS)
        total = sum(each.total for each in matters)
        bits = (_CELLS * size - 1).bit_length()

        def scores_of(matrix: core.Matrix) -> Float64:
            scores = [each.scores(*KMEANS.assign(matrix, each.centers)[:2]) for each in matters]
            total: Float64 = np.sum(scores, axis=0)
            return total

        def cells_of(hashes: npt.NDArray[np.uint64]) -> list[Int64]:
            mask = np.uint64((1 << bits) - 1)
            return [(hashes >> np.uint64(bits * i) & mask).astype(np.int64) for i in range(_SKETCHES)]

        def add(found: tuple[Smallest, Float64], part: Slice) -> None:
            rows, weights, hashes = core.distinct_rows(part.metric.matrix, part.weights)
            scores = scores_of(part.metric.matrix)[rows]
            found[0].add(core.hash_uniforms(hashes, seed) / scores, hashes, _own(part, rows), weights)
            shares = scores * weights
            for sketch, cells in zip(found[1], cells_of(hashes), strict=True):
                sketch += np.bincount(cells, shares, len(sketch))

        likely, shares = self._rows.go_over("a sample", (Smallest(size + 1), np.zeros((_SKETCHES, 1 << bits))), add)
        # A row heavy enough to be drawn for certain is in a heavy cell of every sketch; other rows are only by chance.
        is_heavy = shares * size >= total * (1.0 - 1e-6)

        def add_heavy(found: Smallest, part: Slice) -> None:
            rows, weights, hashes = core.distinct_rows(part.metric.matrix, part.weights)
            of_sketches = zip(is_heavy, cells_of(hashes), strict=True)
            at = np.flatnonzero(np.all([sketch[cells] for sketch, cells in of_sketches], axis=0))
            found.add(hashes[at], hashes[at], _own(part, rows[at]), weights[at])

        drawn = [likely]
        if is_heavy.any(axis=1).all():
            drawn.append(self._rows.go_over("heavy rows", Smallest(self._rows.n_rows), add_heavy))
        _, hashes, own, weights = (np.concatenate(each) for each in zip(*(d.merged() for d in drawn), strict=True))
        hashes, first = np.unique(hashes, return_index=True)
        values, weights = self._values(own[first]), weights[first]
        chosen, exact = draw_rows(hashes, weights, scores_of(as_matrix(values)), size, seed, total)
        return Points(values[chosen], sample_weights(exact), KMEANS)

    def _values(self, own: npt.NDArray[Any]) -> Values:
        """Rows in the metric space, from the arrays of ``_own``."""
        rows = self._rows
        if rows.measured is None or not rows.measured.is_sparse:
            return own
        assert rows.plan.transform is not None
        return rows.plan.transform(replace(rows.example, values=own)).values

    def iterate(self, centers: Float64, stop: Stop, n_jobs: int, *, costed: bool = False) -> Run:
        """See :class:`SearchedRows`. Follows ``core.lloyd``, but does not compute the final cost."""
        rows, k, sizes = self._rows, len(centers), self._rows.metric_sizes
        total = float(rows.total_weight)
        largest = 0.0
        for size in sizes.tolist():
            largest += 4.0 * size * size
        largest = min(largest, np.finfo(np.float64).max)
        scale, cost, is_new, n_iter = Scale.of(largest, total), 0.0, True, 0
        while n_iter < stop.max_iter:
            n_iter += 1
            before = centers

            def add(found: Total, part: Slice, centers: Float64 = centers) -> None:
                labels, own, _ = KMEANS.assign(part.metric.matrix, centers)
                sums = core.cluster_sums(part.metric.matrix, labels, k, part.weights, sizes, total)
                found.update([*sums, np.array(scale.split(np.minimum(own, largest), part.weights))])

            high, low, weight, spent = rows.go_over("moves of the centers", Total(), add).values
            if is_new:
                cost = scale.total(int(spent[0]), int(spent[1]))
            centers = np.where(weight[:, None] > 0, rows.means((high, low, weight)), before)
            is_new = self._refill(centers, weight)
            if is_new:
                weight[:] = 0
                continue
            moves = np.sqrt(KMEANS.label_costs(as_matrix(before), centers, np.arange(k, dtype=np.int32)))
            gain = 0.0
            for move, own in zip(moves.tolist(), weight.tolist(), strict=True):
                gain += move * move * own
            if not gain > stop.tolerance * cost:
                break
        return Run(math.nan, centers, n_iter, weight)

    def _refill(self, centers: Float64, weight: Int64) -> bool:
        """Move each center without rows to the row farthest from all other centers; return whether any moved."""
        occupied, is_moved = centers[weight > 0], False

        for cluster in np.flatnonzero(weight == 0):

            def add(found: Total, part: Slice, occupied: Float64 = occupied) -> None:
                found.update([least_row(-KMEANS.assign(part.metric.matrix, occupied)[1], part.metric.values)])

            ((cost, row),) = self._rows.go_over("rows far from all centers", Total(min), add).values
            if not -cost > 0.0:
                break
            centers[cluster], is_moved = row, True
            occupied = np.vstack([occupied, centers[[cluster]]])
        return is_moved


def _keep_all(found: Smallest, part: Slice) -> None:
    rows, weights, hashes = core.distinct_rows(part.metric.matrix, part.weights)
    found.add(hashes, hashes, _own(part, rows), weights)


def _own(part: Slice, rows: Int64) -> npt.NDArray[Any]:
    """Some rows in the metric space, or in the table's columns where the metric space is sparse."""
    values: Any = (part.table if part.metric.is_sparse else part.metric).values
    own: npt.NDArray[Any] = values[rows]
    return own
