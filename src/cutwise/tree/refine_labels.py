"""Trees that agree with labels on more rows: the search of ``refine.py``, by counts of labels."""

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
"""Of all leaves' tables; bins are as many as fit."""
N_STARTS, N_SWAPPED, N_KEPT = 5, 3, 2
"""Of the trees that are given so many are searched, of the results so many with swaps, and of these so many given."""
MOST_ADDITIONS, MOST_PASSES = 2**28, 12
"""What a start may take: so many additions, and those of so many passes over all rows and columns."""
TOLERANCE = 0.002
"""Changes are tried where they are estimated to lose at most this share of all rows."""


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

    ``labels`` (m,) int32: clusters. ``coordinates`` (k, d) float64: where these are, in the columns that are cut; of
    very many columns those are searched in which they differ most. ``starts``: trees of these rows, the best first.
    ``limits``: what the search looks at; trees may break them where the sample misleads it.
    Returns ``trees``: what the search made of the best starts, pruned to the leaves that agree with more rows; none
    where there is nothing to search. Nothing is random, and neither the order of rows nor that of threads shows.
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
