"""Search for trees that agree with labels on more rows: as in ``refine.py``, with counts of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.table.table import EncodedTable

from .growing import GrownTree
from .limits import Limits
from .provider import MemoryProvider
from .refine import replay
from .refine_sample import Cuts, bin_rows, draw_distinct, place_tests, room, select_columns
from .subtree import prune_to_agreement

SEARCHED_ROWS = 10_000
MOST_BINS, FEWEST_BINS = 160, 16
TABLE_BYTES = 2**26
"""Largest size of the tables of all leaves, which limits the number of bins."""
N_STARTS, N_SWAPPED, N_KEPT = 5, 3, 2
"""Number of given trees to search from, of results to search with moved leaves, and of trees to return."""
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
    first. ``limits``: limits of the search; its trees may exceed them, since it uses a sample. Returns ``trees``: the
    best trees of the search, pruned to leaves that improve the agreement; none if too few bins fit in memory. Nothing
    is random, and the result does not depend on the order of rows or threads.
    """
    k, starts = len(coordinates), starts[:N_STARTS]
    width = 4 * -(-(k + 1) // 4)
    hashes = core.row_hashes(table.matrix, n_jobs)
    first, group, drawn, _ = draw_distinct(hashes, max(SEARCHED_ROWS, 150 * n_leaves))
    columns = select_columns(coordinates, np.concatenate([grown.tree.feature for grown in starts]), limits)
    n_bins = min(MOST_BINS, TABLE_BYTES // (8 * width * len(columns) * n_leaves))
    if n_bins < FEWEST_BINS:
        return []
    own = None if table.weights is None else table.weights[drawn]
    payload = np.zeros((len(first), width))
    payload[:, 0] = np.bincount(group, weights=own)
    payload[:, 1 : k + 1] = np.bincount(group * k + labels[drawn], weights=own, minlength=len(first) * k).reshape(-1, k)
    whole = [(g.tree.feature, g.tree.threshold, g.tree.children_right) for g in starts]
    trees = [place_tests(tests, columns, table.matrix.n_cols) for tests in whole]
    rows, cuts = bin_rows(core.gather_rows(table.matrix, first, columns), payload[:, 0].copy(), trees, n_bins, n_jobs)
    total = payload[:, 0].sum()
    least, depth = room(limits, total)
    most_work = MOST_ADDITIONS // width + MOST_PASSES * rows.codes.size
    search = core.TreeSearch(rows.codes, rows.n_bins, payload, "counts", 1e-9 * total, least, depth)

    def run(starts: Sequence[Cuts], swaps: bool) -> list[tuple[int, float, Cuts]]:
        found = search.run(
            list(starts),
            n_leaves=n_leaves,
            swaps=swaps,
            tolerance=TOLERANCE * total,
            n_jobs=n_jobs,
            most_work=most_work,
        )
        return sorted((path[-1] for _, path in found if path), key=lambda step: step[1])

    best = {value: cut for _, value, cut in reversed(run(cuts, False))}
    result = []
    for _, _, cut in run([best[value] for value in sorted(best)][:N_SWAPPED], True)[:N_KEPT]:
        feature, _, right = cut
        column = np.where(feature >= 0, columns[feature], -1).astype(np.int32)
        tree = replay(MemoryProvider(table), column, rows.thresholds(cut), right)
        result.append(prune_to_agreement(tree.finish(), labels, k, n_leaves, table.weights))
    return result
