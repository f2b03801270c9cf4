"""What a tree costs beside its clustering and how much it keeps of it, in words, with advice where that is little."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .words import compared, percent

_KEEPS_LITTLE = 0.75
"""Trees of one leaf a cluster keep more of most tables with clusters; of noise in many columns they keep about half."""

_EXPLAINS_LITTLE = 0.2
"""k-means explains more where there are clusters, and of any data in a few columns; less of noise in many columns."""


def below_one(ratio: float) -> bool:
    """Whether a cost ratio is below 1 by more than four digits show."""
    return ratio < 1 - 5e-5


def below_one_reason(ratio: float) -> str:
    """What follows a cost ratio that is below 1, and nothing otherwise."""
    return ", below 1: the reference costs more" if below_one(ratio) else ""


def ratio_words(ratio: float, own: str, cost_words: str) -> str:
    """What a cost ratio means.

    ``ratio``: nan where the reference costs nothing. ``own``: what the reference is called, in the plural: ``"the
    k-means clusters"``. ``cost_words``: what costs are, in the plural: ``"squared distances"``.
    """
    if math.isnan(ratio):
        return f"{own} have cost 0, so there is no ratio"
    reason = ", which are not the cheapest for these rows" if below_one(ratio) else ""
    return f"{cost_words} within the tree's clusters are {compared(ratio)} within {own}{reason}"


def explained_words(explained: float, reference_explained: float, own: str, cost_words: str) -> str:
    """What the share kept is a share of; the first two are nan where they are undefined."""
    if math.isnan(explained):
        return f"{own} cost no less than a single cluster, so they explain nothing that a tree could keep"
    return f"{own} explain {percent(reference_explained)} of all {cost_words}, and the tree keeps this share of that"


def table_notes(ratios: Sequence[float], reference_explained: float, cost_words: str) -> list[str]:
    """What stands below a table of cost ratios and shares kept."""
    notes = []
    if not math.isnan(reference_explained):
        whole = f"{percent(reference_explained)} of all {cost_words}"
        notes.append(f"explained: the share kept of what the clustering explains, which is {whole}")
    if any(map(below_one, ratios)):
        notes.append("cost ratio below 1: the clustering is not the cheapest for these rows, and the tree's costs less")
    return notes


def advice(
    explained: float, reference_explained: float, own: str, *, chosen: bool, more_leaves: str | None = None
) -> str | None:
    """What to try where little is explained or kept; None where enough is, or nothing is known.

    ``chosen``: whether the clustering was made for low costs, with a number of clusters that can be chosen anew.
    ``more_leaves``: how to allow more leaves; None where that does not help.
    """
    if chosen and reference_explained < _EXPLAINS_LITTLE:
        return f"{own} explain little of this table: try another number of clusters, other columns or another scale"
    if not explained < _KEEPS_LITTLE or reference_explained < _EXPLAINS_LITTLE:
        return None
    steps = [f"allow more leaves ({more_leaves})"] * (more_leaves is not None)
    steps += ["try another number of clusters"] * chosen
    return f"the tree keeps little of what {own} explain: {', or '.join(steps)}" if steps else None
