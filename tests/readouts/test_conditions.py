"""Conditions merged along a path: the same rows, in the fewest words."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutwise.readouts.conditions import Condition, Region, conditions_of, explanation_sizes, walk_leaves
from cutwise.table.table import INTEGER, Columns
from tests.each import each
from tests.readouts.reading import read_rule
from tests.tree.random_trees import chain, naive_apply, random_tree, rows_for

ONE_COLUMN = Columns(("x",), has_names=True)
GRID = np.arange(-1, 12) / 2.0  # every end below and the points between them


@st.composite
def paths_on_one_column(draw):
    """Tests as a path takes them: (side, lower, upper)."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["at most", "more than", "inside", "outside"]))
        low, high = sorted(draw(st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True)))
        found.append((kind, float(low), float(high)))
    return found


def passes(x, path):
    return all(
        {
            "at most": x <= high,
            "more than": x > low,
            "inside": low < x <= high,
            "outside": not low < x <= high,
        }[kind]
        for kind, low, high in path
    )


def follow(path):
    region = Region()
    for kind, low, high in path:
        if kind == "outside":
            region = region.outside(low, high)
        else:
            region = region.inside(-math.inf if kind == "at most" else low, math.inf if kind == "more than" else high)
    return region


@given(paths_on_one_column())
def test_a_region_holds_the_values_that_pass_every_test(path):
    conditions = conditions_of({0: follow(path)}, ONE_COLUMN)
    for x in GRID:
        assert all(condition.holds([x])[0] for condition in conditions) == passes(x, path)


@given(paths_on_one_column())
def test_a_region_is_described_in_the_fewest_conditions(path):
    # What is let through is a row of runs: a bound for each end that is not open, one exclusion for each gap.
    inside = [passes(x, path) for x in GRID]
    region = follow(path)
    if not any(inside):
        return  # no value passes: there is nothing to say in few words
    runs = sum(1 for i, now in enumerate(inside) if now and (i == 0 or not inside[i - 1]))
    assert region.size == (not inside[0]) + (not inside[-1]) + runs - 1
    assert sum(condition.size for condition in conditions_of({0: region}, ONE_COLUMN)) == region.size


@each(
    "condition, text",
    [
        (Condition(0, "age", upper=60.0), "age <= 60"),
        (Condition(0, "age", lower=35.0), "age > 35"),
        (Condition(0, "age", lower=35.0, upper=60.0), "35 < age <= 60"),
        (Condition(0, "age", lower=35.0, upper=60.0, outside=True), "(age <= 35 or age > 60)"),
        (Condition(0, "petal length (cm)", upper=2.45), "`petal length (cm)` <= 2.45"),
        (
            Condition(0, "petal length (cm)", 1.0, 2.0, outside=True),
            "(`petal length (cm)` <= 1 or `petal length (cm)` > 2)",
        ),
    ],
)
def test_conditions_are_printed_as_people_write_them(condition, text):
    assert str(condition) == text


@pytest.mark.parametrize("extent", [None, (0.0, 3.0), (-1.0, 1.0), (2.0, 2.0)])
def test_one_whole_number_is_said_as_it_is_and_means_what_the_bounds_do_from_the_least_to_the_largest(extent):
    kind, (least, most) = replace(INTEGER, extent=extent), extent or (-50.0, 50.0)
    seen = np.arange(least, most + 1)
    ends = (-math.inf, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, math.inf)
    for lower, upper in combinations(ends, 2):
        if (lower, upper) == (-math.inf, math.inf):
            continue  # no condition
        for outside in (False, True)[: 1 + (lower > -math.inf and upper < math.inf)]:
            condition = Condition(0, "x", lower, upper, outside=outside, kind=kind)
            says = read_rule(str(condition))
            inside = seen[(seen > lower) & (seen <= upper)]
            assert [says({"x": value}) for value in seen] == condition.holds(seen).tolist()
            assert (f"x {'!=' if outside else '='} " in str(condition)) == (len(inside) == 1)
            assert "=" not in condition.written("x", by_bounds=True).replace("<=", "")


def test_thirty_and_seventy_are_seventy():
    region = Region().inside(30.0, math.inf).inside(70.0, math.inf)
    assert [str(c) for c in conditions_of({0: region}, ONE_COLUMN)] == ["x > 70"]


def test_an_exclusion_that_touches_a_bound_moves_it():
    region = Region().inside(0.0, 10.0).outside(3.0, 5.0)
    assert [str(c) for c in conditions_of({0: region}, ONE_COLUMN)] == ["0 < x <= 10", "(x <= 3 or x > 5)"]
    assert [str(c) for c in conditions_of({0: region.inside(4.0, math.inf)}, ONE_COLUMN)] == ["5 < x <= 10"]


@each("seed", range(30))
def test_the_conditions_of_a_leaf_hold_exactly_for_its_rows(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=int(rng.integers(1, 14)), intervals=0.4)
    X = rows_for(tree, rng)
    leaves = naive_apply(tree, X)
    columns = Columns(("a", "b", "c"), has_names=True)
    seen = []
    for (leaf, regions), size in zip(walk_leaves(tree), explanation_sizes(tree).tolist(), strict=True):
        conditions = conditions_of(regions, columns)
        holds = np.ones(len(X), dtype=bool)
        for condition in conditions:
            holds &= condition.holds(X[:, condition.feature])
        np.testing.assert_array_equal(holds, leaves == leaf)
        assert size == sum(condition.size for condition in conditions)
        seen.append(leaf)
    assert seen == tree.leaves.tolist()


@each("seed", range(30))
def test_explanation_sizes_count_the_directions_of_each_column(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=int(rng.integers(1, 20)), n_features=2)
    expected = []
    for leaf in tree.leaves:
        directions, node = set(), leaf
        while node != 0:
            parent = tree.parents[node]
            directions.add((tree.feature[parent], node == tree.children_left[parent]))
            node = parent
        expected.append(len(directions))
    assert explanation_sizes(tree).tolist() == expected


def test_columns_come_in_the_order_of_the_path():
    rng = np.random.default_rng(5)
    tree = random_tree(rng, n_leaves=40, n_features=6)
    for leaf, regions in walk_leaves(tree):
        order, node = [], leaf
        while node != 0:
            node = tree.parents[node]
            order.append(int(tree.feature[node]))
        assert list(regions) == list(dict.fromkeys(reversed(order)))


@pytest.mark.parametrize("to_the_left", [False, True])
def test_a_chain_of_5000_tests_has_two_conditions_at_most(to_the_left):
    sizes = explanation_sizes(chain(5000, to_the_left=to_the_left))
    assert sizes.tolist() == [1] + [2] * 4999 + [1]
