"""Search for trees that agree with labels on more rows: as in ``refine.py``, with counts of labels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.table.table import EncodedTable

from .cut_tree import CutTree
from .growing import GrownTree
from .limits import Limits
from .provider import MemoryProvider
from .refine_sample import SearchedPart, Step, bin_rows, draw_distinct, improve, room, select_columns
from .subtree import prune_to_agreement

SEARCHED_ROWS = 10_000
MOST_BINS, FEWEST_BINS, SPARSE_BINS = 160, 16, 24
TABLE_BYTES, SPARSE_BYTES = 2**26, 2**22
"""Largest size of the tables of all leaves, which limits the number of bins.

Most values of sparse tables are in one bin: beyond SPARSE_BINS tables take SPARSE_BYTES, or one byte a stored value."""
N_STARTS, N_SWAPPED, N_BEST = 5, 3, 2
"""Number of given trees to search from, of results to search with moved leaves, and of trees to return."""
MANY_LABELS, FEWER_STARTS, FEWER_SWAPPED = 32, 3, 1
"""The first two numbers where there are many labels: others would take twice as long and hardly agree on more rows."""
MOST_ADDITIONS, MOST_PASSES = 2**28, 12
"""Largest work of a search from one tree: this many additions, plus this many passes over all rows and columns."""
TOLERANCE = 0.002
"""Changes are tried if they are estimated to lose at most this share of all rows."""


def refine_agreement(
    table: EncodedTable,
    labels: Int32,
    coordinates: Float64,
    starts: Sequence[GrownTree],
    n_leaves: int,
    limits: Limits | None = None,
    n_jobs: int = 1,
) -> list[GrownTree]:
    """Search for trees of at most ``n_leaves`` leaves, two or more, whose leaves agree with the labels on more rows.

    ``labels`` (m,) int32: clusters. ``coordinates`` (k, d) float64: the clusters in the columns that are cut; of very
    many columns the search uses those in which the clusters differ most. ``starts``: trees of these rows, the best
    first; those with tests of several levels are left out. ``limits``: limits of the search; its trees may exceed them,
    since it uses a sample. Returns ``trees``: the best trees of the search, pruned to leaves that improve the
    agreement; none if too few bins fit in memory, or no start is left. Nothing is random, and the result does not
    depend on the order of rows or threads.
    """
    k = len(coordinates)
    n_starts, n_swapped = (FEWER_STARTS, FEWER_SWAPPED) if k > MANY_LABELS else (N_STARTS, N_SWAPPED)
    read = (CutTree.of(grown.tree, table.searched) for grown in starts)
    given = [own[0] for own in read if own is not None][:n_starts]
    if not given:
        return []
    width = 4 * -(-(k + 1) // 4)
    drawn = draw_distinct(core.row_hashes(table.matrix, n_jobs), max(SEARCHED_ROWS, 150 * n_leaves))
    columns = select_columns(coordinates, np.concatenate([tree.column for tree in given]), limits)
    part = SearchedPart(table, table.matrix, columns, columns, is_same=True)
    a_bin = 8 * width * len(columns) * n_leaves
    n_bins = min(MOST_BINS, TABLE_BYTES // a_bin)
    if table.encoded.is_sparse:
        n_bins = min(n_bins, max(SPARSE_BINS, SPARSE_BYTES // a_bin, table.encoded.codes.nbytes // a_bin))
    if n_bins < FEWEST_BINS:
        return []
    rows = part.rows(drawn)
    own, cell = None if table.weights is None else table.weights[drawn.rows], drawn.group * k + labels[drawn.rows]
    payload = np.zeros((len(rows.weights), width))
    payload[:, 0] = rows.weights
    payload[:, 1 : k + 1] = np.bincount(cell, weights=own, minlength=len(payload) * k).reshape(-1, k)
    bins, cuts = bin_rows(rows.values, payload[:, 0].copy(), list(map(part.place, given)), n_bins, n_jobs)
    del rows  # large where columns are many
    total = payload[:, 0].sum()
    least, depth = room(limits, total)
    most_work = MOST_ADDITIONS // width + MOST_PASSES * bins.codes.size
    search = core.TreeSearch(bins.codes, bins.n_bins, payload, "counts", 1e-9 * total, least, depth)

    def run(starts: list[CutTree], swaps: bool) -> list[Step]:
        tolerance = TOLERANCE * total
        _, paths = improve(
            search, starts, n_leaves=n_leaves, swaps=swaps, tolerance=tolerance, n_jobs=n_jobs, most_work=most_work
        )
        return sorted((path[-1] for path in paths if path), key=attrgetter("value"))

    best = {step.value: step.tree for step in reversed(run(cuts, False))}
    result = []
    for step in run([best[value] for value in sorted(best)][:n_swapped], True)[:N_BEST]:
        tree = part.restore(bins.unbinned(step.tree)).replay(MemoryProvider(table))
        result.append(prune_to_agreement(tree.finish(), labels, k, n_leaves, table.weights))
    return result
