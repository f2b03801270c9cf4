"""The judge is judged first: cases worked by hand, and the two naive twins against each other."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tests.each import each
from tests.oracle import grow, measures
from tests.oracle.cases import SMALL, Case, many_values, small_case
from tests.oracle.problem import Cut, Problem, as_integers, candidate_cuts, exact_squared_distances, separating_cuts
from tests.oracle.scores import Path, depth_expectation, price, shallow_score, total_depth
from tests.oracle.thresholds import (
    choose_among,
    choose_by_digits,
    choose_threshold,
    floats_between,
    printed,
    significant_digits,
)
from tests.oracle.twin import Twin, total_depths
from tests.oracle.verify import WrongTreeError, check_empty_base, check_expansion, check_imm, check_induced


def problem(case: Case) -> Problem:
    costs, _ = exact_squared_distances(case.values, case.centers)
    labels = np.array([min(range(len(row)), key=lambda j: (row[j], j)) for row in costs])
    weights = np.ones(len(costs)) if case.weights is None else case.weights
    keep = weights > 0
    whole = as_integers(weights)[0][0]
    kind = np.asarray(case.values).dtype.kind in "iub"
    values = np.asarray(case.values, dtype=np.float64)
    is_integer = np.full(values.shape[1], kind)
    return Problem(values[keep], case.centers, labels[keep], costs[keep], whole[keep], is_integer)


def line(*, values: list[float], centers: list[float]) -> Problem:
    """A problem in one column."""
    case = Case("line", np.array(values, dtype=float)[:, None], np.array(centers, dtype=float)[:, None], True)
    return problem(case)


def tree_of(given: Problem, root: grow.Node) -> SimpleNamespace:
    arrays = grow.arrays(given, root)
    count = len(arrays["feature"])
    n_mistakes = np.array([int(node.n_mistakes) for node in root.preorder()])
    return SimpleNamespace(**arrays, lower=np.full(count, -np.inf), n_node_mistakes=n_mistakes)


# thresholds


@each(
    "a, b, integer, expected",
    [
        (34, 36, True, 34),  # 34 and 35 are as near to 34.5
        (35, 36, True, 35),
        (3, 8, True, 5),  # 3..7: all have one digit, 5 is the middle
        (3, 7, True, 4),  # 3..6: 4 and 5 are as near to 4.5, the smaller wins
        (51873, 52416, True, 52000),
        (-5, 4, True, 0),  # no digits at all
        (-1, 0, True, -1),
        (3, 3.5, True, 3),  # a center at 3.5
        (3.2, 3.6, True, 3),  # two centers between two integers, where no row is
        (0.5, 2.5, True, 1),
        (98, 1003, True, 500),  # the middle is 550: 500 and 600 are as near
        (51873.42, 52416.1, False, 52000.0),
        (0.1, 0.2, False, 0.15),
        (0.1, 0.3, False, 0.2),
        (-1.0, 2.0, False, 0.0),
        (0.0, 1.0, False, 0.5),
        (1.0, 2.0, False, 1.5),
        (1e-9, 2e-9, False, 1.5e-9),
        (0.001, 1000.0, False, 500.0),
        (1e8, 1e8 + 1, False, 100000000.5),
        (1.0, math.nextafter(1.0, 2.0), False, 1.0),
        (123.4, 123.9, False, 123.6),
    ],
)
def test_the_printed_threshold_is_the_shortest_number_of_the_gap(a, b, integer, expected):
    assert choose_threshold(a, b, integer) == expected


def test_thresholds_in_gaps_of_hundreds_of_floats_equal_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(30):
        a = float(rng.normal() * 10.0 ** rng.integers(-12, 13))
        b = a + float(rng.integers(300, 900)) * math.ulp(a)
        floats = floats_between(a, b, 5000)
        middle = (printed(a) + printed(b)) / 2
        assert choose_by_digits(a, b) == choose_among(floats, middle), (a, b)


@pytest.mark.slow
def test_thresholds_between_decimals_equal_enumeration_of_decimals():
    rng = np.random.default_rng(1)
    for _ in range(30):
        low, high = sorted(rng.choice(np.arange(-3000, 3000), 2, replace=False).tolist())
        a, b = low / 1000, high / 1000
        # in units of 1 / 20000, so that the middle is whole
        expected = min(
            range(low * 20 + 2, high * 20, 2), key=lambda t: (significant_digits(t // 2), abs(t - 10 * (low + high)), t)
        )
        assert choose_threshold(a, b, False) == expected / 20000, (a, b)


@pytest.mark.slow
def test_integer_thresholds_equal_enumeration_of_integers():
    rng = np.random.default_rng(2)
    for _ in range(100):
        span = 10 ** int(rng.integers(1, 5))
        a, b = sorted(rng.choice(np.arange(-span, span + 1), 2, replace=False).tolist())
        b += float(rng.choice([0.0, 0.5]))
        inside = list(range(math.ceil(a), math.ceil(b)))
        middle = Fraction(inside[0] + inside[-1], 2)
        expected = min(inside, key=lambda m: (significant_digits(m), abs(m - middle), m))
        assert choose_threshold(a, b, True) == expected, (a, b)


def test_every_threshold_lies_in_its_gap_and_needs_no_more_digits_than_printed():
    rng = np.random.default_rng(3)
    for _ in range(500):
        a = float(rng.normal() * 10.0 ** rng.integers(-15, 16))
        b = a + abs(float(rng.normal())) * 10.0 ** float(rng.integers(-15, 3)) * max(abs(a), 1e-12)
        if not a < b:
            continue
        t = choose_threshold(a, b, False)
        assert a <= t < b
        assert float(repr(t)) == t


# cuts


def test_candidate_cuts_are_the_gaps_between_rows_and_centers():
    given = line(values=[1, 1, 4], centers=[2, 3])
    every = np.arange(3), np.arange(2)
    assert candidate_cuts(given, *every) == [Cut(0, 1, 2), Cut(0, 2, 3), Cut(0, 3, 4)]
    assert separating_cuts(given, *every) == [Cut(0, 2, 3)]
    assert candidate_cuts(given, np.arange(3), np.empty(0, dtype=int)) == [Cut(0, 1, 4)]


# ExShallow's depth term


def test_total_depth_of_balanced_and_chain_trees():
    # four centers halved twice: every one of 128 rows ends at depth 2 (Figure 3 (a) of the paper, in our settled form)
    assert total_depth(128, 4, 64, 2) == 256
    # one center and a quarter of the rows go left each time: 128 + 96 + 72
    assert total_depth(128, 4, 32, 1) == 128 + 96 + 72
    assert total_depth(10, 2, 3, 1) == 10
    assert total_depth(10, 1, 3, 1) == 0
    assert total_depth(0, 5, 0, 2) == 0


def test_a_cut_that_sends_no_row_left_keeps_its_own_counts_only_at_the_top():
    # top: 0 | 10 rows, 1 | 2 centers; below, of 10 rows at least one goes left: 10 + 10
    assert total_depth(10, 3, 0, 1) == 20
    # K = 3, K_L = 2: below, ceil(2 * 2 / 3) = 2 is clamped to 1
    assert total_depth(6, 3, 6, 2) == 12


def test_total_depths_of_many_cuts_equal_one_by_one():
    rng = np.random.default_rng(4)
    for _ in range(200):
        n, k = int(rng.integers(1, 40)), int(rng.integers(2, 9))
        k_left, n_left = int(rng.integers(1, k)), np.arange(n + 1)
        expected = [total_depth(n, k, int(m), k_left) for m in n_left]
        assert total_depths(n, k, n_left, k_left).tolist() == expected


def test_price_of_nothing_is_one_and_of_something_for_nothing_infinite():
    assert price(0, 0) == 1
    assert price(3, 0) == float("inf")
    assert price(3, 2) == Fraction(3, 2)


def test_a_repeated_direction_on_a_feature_shortens_the_rule():
    given = line(values=[0, 1, 2, 3], centers=[0, 1, 3])
    rows, centers = np.arange(4), np.arange(3)
    cut = Cut(0, 1, 2)
    fresh, below = Path(), Path().then(0, "<=")
    # total: 4 + 2 (two centers stay together with two rows); two of four rows lose a condition
    assert depth_expectation(given, rows, centers, cut, fresh) == Fraction(6, 4)
    assert depth_expectation(given, rows, centers, cut, below) == Fraction(4, 4)
    assert depth_expectation(given, rows, centers, cut, below.then(0, ">")) == Fraction(2, 4)
    score = shallow_score(given, rows, centers, cut, fresh, 0.5)
    assert score == Fraction(1) + Fraction(1, 2) * Fraction(6, 4)


# whole trees, worked by hand


def test_imm_by_hand_two_groups_and_a_straggler():
    # The cut between 1 and 9 parts nobody; so does any other gap between the centers' values.
    root = grow.imm(line(values=[0, 1, 9, 10], centers=[0.5, 9.5]))
    assert root.cut == Cut(0, 1, 9)
    assert [leaf.label for leaf in root.leaves()] == [0, 1]


def test_imm_counts_a_row_on_the_wrong_side_as_a_mistake():
    # Columns: x0 parts the centers at 0 and 4 with no mistake only between 1 and 4; x1 always parts one row.
    values = np.array([[0, 0], [1, 5], [4, 5], [5, 5]], dtype=float)
    given = problem(Case("hand", values, np.array([[0, 2], [4, 5]], dtype=float), True))
    root = grow.imm(given)
    assert (root.cut.feature, root.n_mistakes) == (0, 0)


def test_exgreedy_by_hand_prefers_cost_to_mistakes():
    # One far row costs more than three near ones: mistakes and induced cost disagree.
    values = np.array([[0, 0], [0, 0], [6, 0], [6, 0], [6, 0], [10, 9], [10, 9], [2, 9]], dtype=float)
    centers = np.array([[0, 0], [10, 9]], dtype=float)
    given = problem(Case("hand", values, centers, True))
    for root, score in ((grow.imm(given), grow.imm_score), (grow.exgreedy(given), grow.induced_score)):
        scores = {cut: score(given, root, cut)[0] for cut in separating_cuts(given, root.rows, root.centers)}
        assert scores[root.cut] == min(scores.values())


def test_exkmc_by_hand_splits_the_largest_gain_first():
    given = line(values=[0, 0, 10, 10, 13, 13], centers=[0, 10, 13])
    root, costs = grow.exkmc(given, 3)
    # one leaf at 10: 2 * 100 + 2 * 9; then 0 | 10, 13 by 10 leaves 18; then nothing is left
    assert costs == [218, 18, 0]
    assert [leaf.label for leaf in root.leaves()] == [0, 1, 2]
    assert grow.exkmc(given, 10)[1] == costs


def test_a_base_leaf_keeps_its_label_until_it_is_split():
    given = line(values=[0, 0, 0, 1], centers=[0, 1])
    root = grow.root_of(given)
    root.label = 1
    assert grow.expand(given, root, 2) == [3, 0]


def test_measures_by_hand():
    tree = SimpleNamespace(
        children_left=np.array([1, -1, 3, -1, -1]),
        children_right=np.array([2, -1, 4, -1, -1]),
        feature=np.array([0, -1, 0, -1, -1]),
        threshold=np.array([1.0, np.nan, 3.0, np.nan, np.nan]),
        lower=np.full(5, -np.inf),
        cluster=np.array([-1, 0, -1, 1, 0]),
    )
    values = np.array([[0.0], [2.0], [3.0], [5.0]])
    assert measures.weighted_average_depth(tree, values) == (1 + 2 + 2 + 2) / 4
    # x > 1 is redundant once x > 3 holds
    assert measures.weighted_average_explanation_size(tree, values) == (1 + 2 + 2 + 1) / 4
    assert measures.clusters_of_rows(tree, values).tolist() == [0, 1, 1, 0]
    assert measures.partition_cost(measures.clusters_of_rows(tree, values), values) == 12.5 + 0.5
    assert measures.partition_medians_cost(np.array([0, 0, 0]), np.array([[0.0], [1.0], [5.0]])) == 5.0
    assert measures.fixed_center_cost(np.array([0, 1]), np.array([[0.0], [2.0]]), np.array([[1.0], [4.0]])) == 5.0


# twins and verifiers against each other


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)])
@each("kind", range(len(SMALL)))
def test_the_fast_twin_grows_the_naive_trees(kind, seeds):
    for seed in seeds:
        case = small_case(kind, seed)
        if case.weights is not None:
            continue
        given = problem(case)
        if not np.array_equal(Twin(given.values, given.coordinates).labels, given.labels):
            continue  # a row as near to two centers, decided by rounding
        twin = Twin(given.values, given.coordinates, given.labels)
        naive = {
            "imm": grow.imm(given),
            "exgreedy": grow.exgreedy(given),
            "exshallow": grow.exshallow(given),
            "exkmc": grow.exkmc(given, given.n_centers)[0],
        }
        for algorithm, root in naive.items():
            fast, slow = twin.grow(algorithm), grow.arrays(given, root)
            assert np.array_equal(fast.feature, slow["feature"]), (algorithm, seed)
            assert np.array_equal(fast.cluster, slow["cluster"]), (algorithm, seed)
            assert np.array_equal(fast.n_node_samples, slow["n_node_samples"]), (algorithm, seed)


@pytest.mark.parametrize("seeds", [[0], pytest.param([1, 2], marks=pytest.mark.slow)])
@each("kind", range(len(SMALL)))
def test_verifiers_accept_the_naive_trees(kind, seeds):
    for seed in seeds:
        given = problem(small_case(kind, seed))
        check_imm(tree_of(given, grow.imm(given)), given, exact=True)
        check_induced(tree_of(given, grow.exgreedy(given)), given, None, exact=True)
        check_induced(tree_of(given, grow.exshallow(given)), given, 0.03, exact=True)
        top = given.n_centers + 3
        grown = [tree_of(given, grow.exkmc(given, m)[0]) for m in range(1, top)]
        check_empty_base(grown[0], given, exact=True)
        check_expansion(grown, given, exact=True)
        unlike = grow.as_disagreement(given)
        grown = []
        for m in range(given.n_centers, top):
            root = grow.imm(given)
            grow.expand(unlike, root, m)
            grown.append(tree_of(given, root))
        check_expansion(grown, unlike, exact=True)


def test_verifiers_reject_trees_with_one_cut_moved():
    rejected = 0
    for seed in range(20):
        given = problem(small_case(0, seed))
        for check, root in (
            (check_imm, grow.imm(given)),
            (lambda tree, p, exact: check_induced(tree, p, 0.03, exact=exact), grow.exshallow(given)),
        ):
            nodes = [
                node
                for node in root.preorder()
                if node.cut is not None and node.left.cut is None and node.right.cut is None
            ]
            if not nodes:
                continue
            others = [c for c in separating_cuts(given, nodes[0].rows, nodes[0].centers) if c != nodes[0].cut]
            if not others:
                continue
            node = nodes[0]
            node.split(given, others[-1])
            for child in (node.left, node.right):
                child.label = int(child.centers.min())
            with pytest.raises(WrongTreeError):
                check(tree_of(given, root), given, exact=True)
            rejected += 1
    assert rejected > 10


def test_the_fast_twin_agrees_with_the_naive_one_on_hundreds_of_values():
    case = many_values(1)
    given = problem(Case("", case.values[:120], case.centers, True))
    twin = Twin(given.values, given.coordinates, given.labels)
    for algorithm, root in (("imm", grow.imm(given)), ("exshallow", grow.exshallow(given))):
        assert np.array_equal(twin.grow(algorithm).feature, grow.arrays(given, root)["feature"])
