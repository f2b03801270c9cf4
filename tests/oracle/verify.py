"""Checks of a fitted tree, node by node, against every cut it could have taken.

A check takes the public arrays of a tree and a :class:`Problem`. With ``exact=True`` costs of the problem are such
that fixed point holds them without rounding (small multiples of a power of two), so ties are true ties and the tie
rule is checked as well; otherwise a score may exceed the minimum by the rounding that fixed point allows, stated in
:func:`rounding`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from . import grow, measures
from .problem import (
    Cut,
    Problem,
    as_integers,
    candidate_cuts,
    disagreements,
    exact_l1_distances,
    exact_squared_distances,
    separating_cuts,
    valid_cuts,
)
from .scores import (
    Path,
    best_center,
    current_cost,
    depth_expectation,
    fraction,
    induced,
    mistakes,
    price,
    surrogate,
)


class WrongTreeError(AssertionError):
    """A tree that is not what its definition says."""


def _require(holds: bool, *message: Any) -> None:
    if not holds:
        raise WrongTreeError(" ".join(str(part) for part in message))


def problem_of(
    model: Any,
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    is_integer: np.ndarray | None = None,
    costs: str = "exact",
    metric_rows: np.ndarray | None = None,
    coordinates: np.ndarray | None = None,
) -> Problem:
    """The search problem behind a fitted model: its reference's labels and centers, and the rows' costs by them.

    Parameters
    ----------
    costs : {"exact", "float"}
        Python integers, for a few dozen rows, or float64.
    metric_rows, coordinates : ndarray, optional
        With a preprocessor: its output, and the centers' coordinates in the input's columns.
    """
    raw = np.asarray(values)
    if is_integer is None:
        is_integer = np.full(raw.shape[1], raw.dtype.kind in "iub")
    rows = raw.astype(np.float64)
    metric = rows if metric_rows is None else np.asarray(metric_rows, dtype=np.float64)
    centers = np.asarray(model.reference_.centers, dtype=np.float64)
    labels = np.asarray(model.reference_.labels)
    if costs == "exact":
        exact = {"kmeans": exact_squared_distances, "kmedians": exact_l1_distances}[model.reference_.objective]
        table: np.ndarray = exact(metric, centers)[0]
    else:
        term = measures.TERM[model.reference_.objective]
        table = term(metric[:, None, :].astype(np.longdouble) - centers[None]).sum(axis=2).astype(np.float64)
    if weights is None:
        whole = np.ones(len(rows), dtype=object if costs == "exact" else np.int64)
    else:
        given = np.asarray(weights, dtype=np.float64)
        if costs == "exact":
            whole = as_integers(given)[0][0]
        else:
            whole = given.astype(np.int64) if np.all(given == np.round(given)) else given
    keep = np.flatnonzero((labels >= 0) & (np.asarray(whole) > 0))
    return Problem(
        rows[keep],
        centers if coordinates is None else np.asarray(coordinates, dtype=np.float64),
        labels[keep],
        table[keep],
        whole[keep],
        np.asarray(is_integer),
    )


def counted_points(weights: np.ndarray) -> np.ndarray:
    """How many points each row counts for in the depth term, which is about numbers of points.

    Whole weights as they are. Fractions in the smallest of them, or else the largest power of two, that divides all (to
    the rounding of a division), less a factor common to all; where the total weight is more than 2**31 of that, in
    the power of two of which it is between 2**30 and 2**31, rounded, but at least 1.
    """
    exact = [Fraction(float(weight)) for weight in weights]
    total = sum(exact)
    if all(weight.denominator == 1 for weight in exact) and total <= 2**31:
        return np.array([int(weight) for weight in exact], dtype=object)
    power = Fraction(1, max(weight.denominator for weight in exact))
    for unit in (min(weight for weight in exact if weight > 0), power):
        multiples = [weight / unit for weight in exact]
        near = all(abs(multiple - round(multiple)) <= multiple * Fraction(2**-50) for multiple in multiples)
        if total / unit <= 2**31 and near:
            whole = [round(multiple) for multiple in multiples]
            return np.array([number // math.gcd(*whole) for number in whole], dtype=object)
    unit = Fraction(1)
    while total / unit >= 2**31:
        unit *= 2
    while total / unit < 2**30:
        unit /= 2
    return np.array([max(round(weight / unit), int(weight > 0)) for weight in exact], dtype=object)


def rounding(problem: Problem) -> Any:
    """How far two fixed-point sums over all rows can be off.

    Half a unit a row, and the largest weighted excess is at least 2**30 units.
    """
    excess = problem.costs - problem.costs.min(axis=1)[:, None]
    largest = (excess * problem.weights[:, None]).max()
    return fraction(largest) * fraction(problem.weights.sum()) / 2**29 if largest else 0


@dataclass
class Place:
    """A node of a fitted tree with what the tree sends there.

    ``low``, ``low_row``: of an inner node: the largest value on its left, of rows and centers, and of rows alone.
    """

    node: int
    rows: np.ndarray
    centers: np.ndarray
    path: Path
    low: float = -math.inf
    low_row: float = -math.inf


def walk(tree: Any, problem: Problem) -> Iterator[Place]:
    """Every node in preorder with its rows, surviving centers and path.

    A center between two integers of a column of integers is where the leaf of its cluster is; equal ones stay together.
    """
    every = Place(0, np.arange(problem.n_rows), np.arange(problem.n_centers), Path())
    waiting = [every]
    while waiting:
        place = waiting.pop()
        node = place.node
        if tree.children_left[node] < 0:
            yield place
            continue
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        rows_left = problem.values[place.rows, feature] <= threshold
        along = problem.coordinates[place.centers, feature]
        left = int(tree.children_left[node])
        named = np.isin(place.centers, tree.cluster[left : left + _subtree(tree, left)])
        is_between = (np.floor(along) == threshold) & problem.is_integer[feature]
        centers_left = along <= max([threshold, *along[is_between & named]])
        place.low_row = problem.values[place.rows[rows_left], feature].max(initial=-math.inf)
        place.low = along[centers_left].max(initial=place.low_row)
        yield place
        waiting.append(
            Place(
                int(tree.children_right[node]),
                place.rows[~rows_left],
                place.centers[~centers_left],
                place.path.then(feature, ">"),
            )
        )
        waiting.append(
            Place(
                int(tree.children_left[node]),
                place.rows[rows_left],
                place.centers[centers_left],
                place.path.then(feature, "<="),
            )
        )


def _cut_taken(tree: Any, place: Place, cuts: list[Cut], problem: Problem, low: float) -> Cut:
    """The candidate above the largest value on the left; its printed number must be the node's threshold."""
    feature, threshold = int(tree.feature[place.node]), float(tree.threshold[place.node])
    found = [cut for cut in cuts if cut.feature == feature and cut.low == low]
    _require(len(found) == 1, f"node {place.node}: x{feature} <= {threshold!r} is no valid cut of the node")
    expected = found[0].threshold(problem)
    _require(
        threshold == expected,
        f"node {place.node}: threshold {threshold!r} where the gap ({found[0].low!r}, {found[0].high!r})",
        f"of x{feature} (integer column: {bool(problem.is_integer[feature])}) asks for {expected!r}",
    )
    return found[0]


def _check_counts(tree: Any, place: Place) -> None:
    seen = int(tree.n_node_samples[place.node])
    _require(
        seen == len(place.rows), f"node {place.node}: n_node_samples {seen}, {len(place.rows)} rows are routed there"
    )


def _check_separating_leaf(tree: Any, place: Place, problem: Problem) -> None:
    _require(len(place.centers) > 0, f"leaf {place.node}: holds no center")
    coordinates = problem.coordinates[place.centers]
    _require(bool((coordinates == coordinates[0]).all()), f"leaf {place.node}: centers {place.centers} could be parted")
    label = int(tree.cluster[place.node])
    _require(label == place.centers.min(), f"leaf {place.node}: cluster {label}, its centers are {place.centers}")


def _first_of_best(cuts: list[Cut], scores: list[Any]) -> Cut:
    best = min(range(len(cuts)), key=lambda c: (scores[c], cuts[c].feature, cuts[c].low))
    return cuts[best]


def check_imm(tree: Any, problem: Problem, *, exact: bool = False) -> None:
    """Every inner node parts centers with the fewest mistakes, ties by surrogate cost; every leaf holds one center."""
    slack = 0 if exact else rounding(problem)
    for place in walk(tree, problem):
        _check_counts(tree, place)
        if tree.children_left[place.node] < 0:
            _check_separating_leaf(tree, place, problem)
            continue
        cuts = separating_cuts(problem, place.rows, place.centers)
        taken = _cut_taken(tree, place, cuts, problem, place.low)
        counts = [mistakes(problem, place.rows, place.centers, cut) for cut in cuts]
        mine, least = counts[cuts.index(taken)], min(counts)
        _require(
            mine == least, f"node {place.node}: {taken} makes {mine} mistakes, {_first_of_best(cuts, counts)} {least}"
        )
        if tree.n_node_mistakes is not None and problem.weights.dtype.kind != "f":
            _require(
                int(tree.n_node_mistakes[place.node]) == mine,
                f"node {place.node}: n_node_mistakes {tree.n_node_mistakes[place.node]}, counted {mine}",
            )
        tied = [cut for cut, count in zip(cuts, counts, strict=True) if count == least]
        if len(tied) > 1:
            costs = []
            for cut in tied:
                left = cut.centers_left(problem, place.centers)
                costs.append(surrogate(problem, place.rows, place.centers[left], place.centers[~left], cut))
            cost = costs[tied.index(taken)]
            _require(
                cost <= min(costs) + slack,
                f"node {place.node}: among cuts with {least} mistakes {taken} has surrogate cost {cost},",
                f"{_first_of_best(tied, costs)} {min(costs)}",
            )
            if exact:
                first = _first_of_best(tied, costs)
                _require(taken == first, f"node {place.node}: {taken} and {first} tie, the latter comes first")


def check_induced(tree: Any, problem: Problem, depth_penalty: float | None, *, exact: bool = False) -> None:
    """Every inner node has the least induced cost (``depth_penalty=None``, ExGreedy) or Price + lambda DExp."""
    slack = 0 if exact else rounding(problem)
    for place in walk(tree, problem):
        _check_counts(tree, place)
        if tree.children_left[place.node] < 0:
            _check_separating_leaf(tree, place, problem)
            continue
        cuts = valid_cuts(problem, place.rows, place.centers)
        taken = _cut_taken(tree, place, cuts, problem, place.low)
        costs = [induced(problem, place.rows, place.centers, cut) for cut in cuts]
        if depth_penalty is None:
            scores, allowed = costs, slack
        else:
            current = current_cost(problem, place.rows, place.centers)
            scores = [
                price(cost, current)
                + Fraction(depth_penalty) * depth_expectation(problem, place.rows, place.centers, cut, place.path)
                if current or not cost
                else float("inf")
                for cut, cost in zip(cuts, costs, strict=True)
            ]
            if current and current <= slack:
                continue  # a current cost that fixed point cannot tell from zero
            finite = [float(score) for score in scores if score != float("inf")]
            # A score is two divisions, a product and a sum of float64, compared exactly where the penalty is short.
            is_short = exact and Fraction(depth_penalty).denominator <= 8
            float_error = 0 if is_short else Fraction(2**-50) * Fraction(max(map(abs, finite), default=0.0))
            # Both numerator and denominator of Price carry the costs' rounding.
            price_error = fraction(slack) / fraction(current) * Fraction(max(finite, default=0.0) + 1) if current else 0
            allowed = float_error + price_error
        score, best = scores[cuts.index(taken)], min(scores)
        _require(
            score == best or score <= best + allowed,
            f"node {place.node}: {taken} scores {float(score)!r}, {_first_of_best(cuts, scores)} {float(best)!r}",
        )
        if exact and score == best:
            first = _first_of_best(cuts, scores)
            _require(taken == first, f"node {place.node}: {taken} and {first} tie, the latter comes first")


def _subtree(tree: Any, node: int) -> int:
    """Number of nodes of the subtree: preorder makes it a run of indices."""
    size, waiting = 0, [node]
    while waiting:
        at = waiting.pop()
        size += 1
        if tree.children_left[at] >= 0:
            waiting += [int(tree.children_left[at]), int(tree.children_right[at])]
    return size


def split_between(before: Any, after: Any) -> tuple[int, int]:
    """The leaf of ``before`` that ``after`` has split, as its node in both; everything else must be the same."""
    pairs, found = [(0, 0)], []
    while pairs:
        old, new = pairs.pop()
        if before.children_left[old] < 0:
            if after.children_left[new] < 0:
                _require(before.cluster[old] == after.cluster[new], f"leaf {old} changed its cluster")
            else:
                _require(_subtree(after, new) == 3, f"leaf {old} was split more than once for one more leaf")
                found.append((old, new))
            continue
        same = before.feature[old] == after.feature[new] and before.threshold[old] == after.threshold[new]
        _require(after.children_left[new] >= 0 and bool(same), f"node {old} changed its test")
        pairs.append((int(before.children_right[old]), int(after.children_right[new])))
        pairs.append((int(before.children_left[old]), int(after.children_left[new])))
    _require(len(found) == 1, f"{len(found)} leaves were split for one more leaf")
    return found[0]


def leaf_nodes(tree: Any, problem: Problem) -> dict[int, grow.Node]:
    """The leaves of a fitted tree as naive nodes with their labels."""
    leaves = {}
    for place in walk(tree, problem):
        if tree.children_left[place.node] < 0:
            leaf = grow.Node(place.rows, np.empty(0, dtype=int), place.path)
            leaf.label = int(tree.cluster[place.node])
            leaves[place.node] = leaf
    return leaves


def surrogate_of(tree: Any, problem: Problem) -> Any:
    """Surrogate cost of a labeled tree in the problem's own units."""
    return sum(grow.leaf_cost(problem, leaf) for leaf in leaf_nodes(tree, problem).values())


def check_expansion(trees: list[Any], problem: Problem, *, exact: bool = False) -> None:
    """Trees for one leaf more each: every step splits the leaf with the largest gain by its best cut, by brute force.

    Parameters
    ----------
    trees : list
        Fitted trees for ``max_leaves`` = m, m + 1, ... from one base. When a tree is no larger than the one before it,
        growth has stopped, and no leaf may have a positive gain.
    """
    slack = 0 if exact else rounding(problem)
    every = np.arange(problem.n_centers)
    gains: dict[tuple[int, ...], tuple[Any, Cut | None]] = {}
    for before, after in pairwise(trees):
        leaves = leaf_nodes(before, problem)
        for leaf in leaves.values():
            key = (leaf.label, *map(int, leaf.rows))
            if key not in gains:
                gains[key] = grow.best_split(problem, leaf)
        gain_of = {node: gains[(leaf.label, *map(int, leaf.rows))][0] for node, leaf in leaves.items()}
        largest = max(gain_of.values())
        if len(after.feature) == len(before.feature):
            _require(largest <= slack, f"growth stopped at {len(leaves)} leaves with a gain of {largest} left")
            continue
        old, new = split_between(before, after)
        _require(largest > -slack if slack else largest > 0, "a leaf was split without a positive gain")
        _require(
            gain_of[old] >= largest - slack,
            f"with {len(leaves)} leaves: leaf {old} was split for at most {gain_of[old]},",
            f"the largest gain is {largest}",
        )
        place = next(place for place in walk(after, problem) if place.node == new)
        cuts = candidate_cuts(problem, place.rows, np.empty(0, dtype=int))
        taken = _cut_taken(after, place, cuts, problem, place.low_row)
        scores = [surrogate(problem, place.rows, every, every, cut) for cut in cuts]
        score = scores[cuts.index(taken)]
        _require(
            score <= min(scores) + slack,
            f"with {len(leaves)} leaves: {taken} leaves {score}, {_first_of_best(cuts, scores)} {min(scores)}",
        )
        if exact:
            first = _first_of_best(cuts, scores)
            _require(taken == first, f"with {len(leaves)} leaves: {taken} and {first} tie, the latter comes first")
        left = taken.rows_left(problem, place.rows)
        for child, rows in (
            (int(after.children_left[new]), place.rows[left]),
            (int(after.children_right[new]), place.rows[~left]),
        ):
            label = int(after.cluster[child])
            cost, best = best_center(problem, rows, every)
            mine = problem.weighted_costs[rows, label].sum()
            _require(mine <= cost + slack, f"leaf {child}: cluster {label} costs {mine}, cluster {best} {cost}")
            if exact:
                _require(label == best, f"leaf {child}: clusters {label} and {best} tie, the lower number wins")


def check_empty_base(tree: Any, problem: Problem, *, exact: bool = False) -> None:
    """A single leaf with the best single center."""
    _require(len(tree.feature) == 1, "the tree for one leaf has more nodes")
    every = np.arange(problem.n_centers)
    cost, best = best_center(problem, np.arange(problem.n_rows), every)
    label = int(tree.cluster[0])
    mine = problem.weighted_costs[:, label].sum()
    _require(
        mine <= cost + (0 if exact else rounding(problem)), f"one leaf: cluster {label} costs {mine}, {best} {cost}"
    )
    if exact:
        _require(label == best, f"one leaf: clusters {label} and {best} tie, the lower number wins")


def expansion_problem(problem: Problem, expansion: str) -> Problem:
    """The costs that a named expansion lowers."""
    if expansion == "exkmc":
        return problem
    return problem.with_costs(disagreements(problem.labels, problem.n_centers))


def check_reference(model: Any, values: np.ndarray, *, weights: np.ndarray | None = None) -> None:
    """The reference's labels are the nearest centers, its cost what the rows cost by them."""
    centers = np.asarray(model.reference_.centers, dtype=np.float64)
    rows = np.asarray(values, dtype=np.float64)
    labels = np.asarray(model.reference_.labels)
    term = measures.TERM[model.reference_.objective]
    distances = term(rows[:, None, :].astype(np.longdouble) - centers[None]).sum(axis=2)
    mine = distances[np.arange(len(rows)), labels]
    scale = float(distances.max()) or 1.0
    _require(bool((mine <= distances.min(axis=1) + 1e-12 * scale).all()), "a row is not labeled by its nearest center")
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    cost = float((mine * weights).sum())
    _require(
        abs(model.reference_.cost - cost) <= 1e-9 * max(cost, 1e-9 * scale),
        f"reference cost {model.reference_.cost!r}, by definition {cost!r}",
    )


def check_measures(model: Any, values: np.ndarray, *, weights: np.ndarray | None = None) -> None:
    """cost_, inertia_, cost_ratio_, surrogate_cost_, labels_, n_leaves_, depth_ are what their definitions give."""
    rows, tree = np.asarray(values, dtype=np.float64), model.tree_
    clusters = measures.clusters_of_rows(tree, rows)
    _require(np.array_equal(model.labels_, clusters), "labels_ differ from the tree's")
    _require(np.array_equal(model.predict(values), clusters), "predict differs from the tree's labels")
    objective = model.reference_.objective
    cost = measures.OWN_COST[objective](clusters, rows, weights)
    fixed = measures.fixed_center_cost(clusters, rows, model.reference_.centers, weights, objective)
    spread = float(measures.TERM[objective](rows - rows.mean(axis=0)).sum())
    for name, seen, expected in (
        ("cost_", model.cost_, cost),
        ("inertia_", model.inertia_, cost),
        ("surrogate_cost_", model.surrogate_cost_, fixed),
    ):
        allowed = 1e-9 * expected + 1e-12 * spread
        _require(abs(seen - expected) <= allowed, f"{name} is {seen!r}, by definition {expected!r}")
    if model.reference_.cost > 0:
        _require(np.isclose(model.cost_ratio_, model.cost_ / model.reference_.cost, rtol=1e-12), "cost_ratio_")
    else:
        _require(bool(np.isnan(model.cost_ratio_)), f"cost_ratio_ {model.cost_ratio_} for a reference cost of 0")
    ends = dict(measures.paths(tree))
    _require(model.n_leaves_ == len(ends), f"n_leaves_ {model.n_leaves_}, counted {len(ends)}")
    _require(model.depth_ == max(map(len, ends.values())), f"depth_ {model.depth_}")
    _require(cost <= fixed * (1 + 1e-12) + 1e-12 * spread, "own centers cost more than the reference's")
