"""ExShallow*: the search for the depth penalty, by its definition and on real sets."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from cutwise import ExplainableKMeans, ExplainableKMedians, load_model, metrics, tune_depth_penalty
from cutwise.estimators.explainable_kmeans import FIRST_PENALTY, MOST_STEPS, search_penalty
from cutwise.exceptions import InvalidInputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


class Trees:
    """Stands in for growing and judging: a cost that rises with the penalty, and a size that falls."""

    def __init__(self, cost, waes):
        self.cost, self.waes = cost, waes

    def search(self, target_cost, target_waes):
        return search_penalty(lambda p: (self.cost(p), self.waes(p)), target_cost, target_waes)


SMOOTH = Trees(lambda p: 1 + p, lambda p: 4 - p)


def test_the_first_penalty_is_kept_where_it_keeps_both_targets():
    search = SMOOTH.search(1.1, 3.98)
    assert search.steps == ((0.03, 1.03, 3.97),)
    assert search.reached


def test_long_explanations_raise_the_penalty_and_high_costs_lower_it():
    up = SMOOTH.search(1.9, 3.5)
    assert [penalty for penalty, *_ in up.steps] == pytest.approx([0.03, 0.03**0.5, 0.03**0.25, 0.03**0.125])
    down = SMOOTH.search(1.004, 4)
    assert [penalty for penalty, *_ in down.steps] == pytest.approx([0.03, 0.03**1.5, 0.03**2])
    between = SMOOTH.search(1.02, 3.99)
    assert [penalty for penalty, *_ in between.steps] == pytest.approx([0.03, 0.03**1.5, 0.03**1.25])
    narrow = SMOOTH.search(1.5, 3.505)
    assert all(search.reached for search in (up, down, between, narrow))
    assert 0.495 <= narrow.depth_penalty <= 0.5


def test_of_trees_that_keep_the_cost_the_shortest_is_taken_where_no_tree_keeps_both():
    search = SMOOTH.search(1.5, 2)
    assert not search.reached
    assert len(search.steps) == MOST_STEPS
    assert search.cost <= 1.5
    assert search.waes == min(waes for _, cost, waes in search.steps if cost <= 1.5)
    assert search.depth_penalty == pytest.approx(0.5, rel=0.01)


def test_one_is_tried_where_no_tree_is_too_dear():
    search = SMOOTH.search(9, 2)
    assert not search.reached
    assert search.depth_penalty == 1
    assert len(search.steps) <= MOST_STEPS


def test_the_cheapest_is_taken_where_none_keeps_the_cost_and_zero_is_tried():
    search = SMOOTH.search(0.5, 2)
    assert not search.reached
    assert search.depth_penalty == 0
    assert search.cost == 1
    assert len(search.steps) <= MOST_STEPS


def test_the_cheapest_tree_may_have_a_higher_penalty_than_zero():
    # As on Vowel, where the tree of 0.02 costs less than that of 0.
    valley = Trees(lambda p: 1.2 + abs(p - 0.06) if p < 0.2 else 2.0, lambda p: 4 - p)
    assert valley.search(1.21, 3.95).reached
    cheapest = valley.search(1.1, 3.95)
    assert not cheapest.reached
    assert cheapest.cost == pytest.approx(1.2, abs=0.005)


def test_equal_trees_are_not_looked_between():
    constant = Trees(lambda p: 1.0, lambda p: 3.0)
    dear = constant.search(0.5, 2)
    assert not dear.reached
    assert 0 in [penalty for penalty, *_ in dear.steps]
    assert len(dear.steps) < MOST_STEPS
    long = constant.search(1.5, 2)
    assert not long.reached
    assert long.steps[-1][0] == 1


class Stairs(Trees):
    """Trees as they are: the same from one edge to the next, with any costs and sizes."""

    def __init__(self, edges, judged):
        self.edges, self.judged = np.sort(edges), judged
        super().__init__(lambda p: self.at(p)[0], lambda p: self.at(p)[1])

    def at(self, penalty):
        return self.judged[np.searchsorted(self.edges, penalty, side="right")]


@st.composite
def stairs(draw, *, monotone):
    edges = draw(st.lists(st.floats(-5, 0), max_size=12, unique=True))
    n = len(edges) + 1
    numbers = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    costs, sizes = draw(numbers), draw(numbers)
    if monotone:
        costs, sizes = sorted(costs), sorted(sizes, reverse=True)
    return Stairs(10.0 ** np.array(edges), list(zip(costs, sizes, strict=True)))


@settings(deadline=None)
@given(stairs(monotone=False), st.integers(0, 9), st.integers(0, 9))
def test_what_is_told_of_a_search_is_so(trees, target_cost, target_waes):
    search = trees.search(target_cost, target_waes)
    penalties = [penalty for penalty, *_ in search.steps]
    assert penalties[0] == FIRST_PENALTY
    assert len(set(penalties)) == len(penalties) <= MOST_STEPS
    assert all(0 <= penalty <= 1 for penalty in penalties)
    assert all((cost, waes) == trees.at(penalty) for penalty, cost, waes in search.steps)
    assert (search.depth_penalty, search.cost, search.waes) in search.steps
    keep = [step for step in search.steps if step[1] <= target_cost]
    both = [step for step in keep if step[2] <= target_waes]
    assert search.reached == bool(both)
    if both:
        assert both == [search.steps[-1]] == [(search.depth_penalty, search.cost, search.waes)]
    elif keep:
        assert search.cost <= target_cost
        assert search.waes == min(waes for _, _, waes in keep)
        assert search.cost == min(cost for _, cost, waes in keep if waes == search.waes)
    else:
        assert search.cost == min(cost for _, cost, _ in search.steps)


@settings(deadline=None)
@given(stairs(monotone=True), st.integers(0, 9), st.integers(0, 9))
def test_where_costs_rise_and_sizes_fall_nothing_wider_than_one_per_cent_is_missed(trees, target_cost, target_waes):
    search = trees.search(target_cost, target_waes)
    # Every tree, on an interval of penalties; narrow ones may be stepped over.
    ends = np.concatenate([[0.0], trees.edges, [np.inf]])
    seen = [
        judged
        for low, high, judged in zip(ends[:-1], ends[1:], trees.judged, strict=True)
        if low <= 1 and high > 1.01 * max(low, 1e-5) * (1 + 1e-9)
    ]
    keep = [judged for judged in seen if judged[0] <= target_cost]
    if any(waes <= target_waes for _, waes in keep):
        assert search.reached
    if keep and not search.reached:
        assert search.cost <= target_cost
        assert search.waes <= min(waes for _, waes in keep)
    if seen and not keep and not search.reached:
        assert search.cost <= min(cost for cost, _ in seen)


def kmc(X, k, centers):
    tree = ExplainableKMeans(k, algorithm="exkmc", reference=centers).fit(X)
    return tree.cost_, metrics.weighted_average_explanation_size(tree, X)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")  # ExKMC gives no leaf to some cluster
@pytest.mark.parametrize("name", ["iris", "digits", "vowel", "mice_rows", "pendigits", "anuran"])
def test_it_dominates_exkmc_of_k_leaves_as_in_table_3(name):
    # ExShallow paper, Table 3: both cost and WAES at most KMC's, but for Iris, where a tie of columns decides.
    if name in ("iris", "digits"):
        X, k = {"iris": (load_iris().data, 3), "digits": (load_digits().data, 10)}[name]
    elif not (DATA / f"{name}.npz").exists():
        pytest.skip("the data folder is not beside the checkout")
    else:
        stored = np.load(DATA / f"{name}.npz")
        X, k = stored["X"], int(stored["k"])
    model = ExplainableKMeans(k, algorithm="exshallow", depth_penalty="auto", random_state=0).fit(X)
    cost, waes = kmc(X, k, model.reference_.centers)
    assert model.cost_ <= cost * (1 + 1e-9)
    assert metrics.weighted_average_explanation_size(model, X) <= waes * (1 + 1e-9)
    assert model.n_leaves_ == k


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize(
    "data", [load_iris().data, load_wine().data, load_digits().data[:400]], ids=["iris", "wine", "digits"]
)
@pytest.mark.parametrize("k", [3, 6, 10])
def test_a_scan_of_all_penalties_finds_hardly_anything_better(data, k):
    X = StandardScaler().fit_transform(data)
    lengths = []
    for seed in range(5):
        with threadpool_limits(1):  # else the last bits of the centers depend on the machine
            centers = KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_
        scan = []
        for penalty in (0, *np.geomspace(0.0005, 1, 80)):
            model = ExplainableKMeans(k, algorithm="exshallow", depth_penalty=penalty, reference=centers).fit(X)
            scan.append((model.cost_, metrics.weighted_average_explanation_size(model, X)))
        costs, sizes = np.array(scan).T
        for target_cost in np.quantile(costs, [0.0, 0.1, 0.3, 0.6, 0.9]):
            shortest = sizes[costs <= target_cost * (1 + 1e-9)].min()
            for target_waes in (shortest, 0.9 * shortest):
                search = tune_depth_penalty(X, k, target_cost=target_cost, target_waes=target_waes, reference=centers)
                assert search.cost <= target_cost * 1.02
                lengths.append(search.waes / shortest)
    # Neither cost nor size is monotone in the penalty, so 20 trees may miss one that a scan meets by chance: of one
    # reference a quarter of its length, over several hardly anything.
    assert np.mean(lengths) <= 1.03
    assert max(lengths) <= 1.25


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")  # of ExKMC's tree
def test_the_function_and_the_estimator_agree_and_the_tree_is_the_one_of_its_penalty():
    X = load_digits().data
    search = tune_depth_penalty(X, 10, n_init=1, random_state=0)
    auto = ExplainableKMeans(10, algorithm="exshallow", depth_penalty="auto", n_init=1, random_state=0).fit(X)
    fixed = ExplainableKMeans(
        10, algorithm="exshallow", depth_penalty=search.depth_penalty, n_init=1, random_state=0
    ).fit(X)
    assert auto.depth_penalty_ == fixed.depth_penalty_ == search.depth_penalty
    assert auto.tree_.equals(fixed.tree_)
    assert search.cost == auto.cost_
    assert search.waes == metrics.weighted_average_explanation_size(auto, X)
    assert (search.target_cost, search.target_waes) == kmc(X, 10, auto.reference_.centers)


def test_targets_of_the_user_are_kept_or_the_cost_goes_first():
    X = load_digits().data
    plain = ExplainableKMeans(10, algorithm="exshallow", n_init=1, random_state=0).fit(X)
    search = tune_depth_penalty(X, 10, target_cost=plain.cost_ * 1.02, target_waes=3.8, n_init=1, random_state=0)
    assert search.cost <= plain.cost_ * 1.02
    assert search.reached == (search.waes <= 3.8)
    impossible = tune_depth_penalty(X, 10, target_cost=0.0, target_waes=1.0, n_init=1, random_state=0)
    assert not impossible.reached
    assert impossible.cost == min(cost for _, cost, _ in impossible.steps)


def test_more_leaves_start_from_the_tuned_tree():
    X = load_digits().data
    small = ExplainableKMeans(10, algorithm="exshallow", depth_penalty="auto", n_init=1, random_state=0).fit(X)
    large = ExplainableKMeans(
        10, algorithm="exshallow", depth_penalty="auto", max_leaves=15, n_init=1, random_state=0
    ).fit(X)
    assert large.depth_penalty_ == small.depth_penalty_
    assert large.n_leaves_ == 15
    assert large.tree_.feature[0] == small.tree_.feature[0]


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_k_medians_trees_are_tuned_by_their_own_cost():
    X = load_digits().data[:600]
    auto = ExplainableKMedians(10, algorithm="exshallow", depth_penalty="auto", n_init=1, random_state=0).fit(X)
    kmc = ExplainableKMedians(10, algorithm="exkmc", reference=auto.reference_.centers).fit(X)
    assert auto.cost_ <= kmc.cost_ * (1 + 1e-9)
    assert metrics.weighted_average_explanation_size(auto, X) <= metrics.weighted_average_explanation_size(kmc, X)
    assert auto.cost_ == pytest.approx(metrics.tree_cost(auto, X, metric="kmedians"))


def test_weights_count_as_repeated_rows():
    X = np.round(load_iris().data, 0)
    weights = np.arange(len(X)) % 3 + 1
    centers = ExplainableKMeans(3, n_init=1, random_state=0).fit(X).reference_.centers
    weighted = tune_depth_penalty(X, 3, reference=centers, sample_weight=weights)
    repeated = tune_depth_penalty(np.repeat(X, weights, axis=0), 3, reference=centers)
    assert weighted.depth_penalty == repeated.depth_penalty
    assert weighted.waes == pytest.approx(repeated.waes)


def test_the_penalty_is_part_of_the_model_file(tmp_path):
    model = ExplainableKMeans(3, algorithm="exshallow", depth_penalty="auto", random_state=0).fit(load_iris().data)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").depth_penalty_ == model.depth_penalty_
    other = ExplainableKMeans(3, depth_penalty="auto", algorithm="imm", random_state=0).fit(load_iris().data)
    assert not hasattr(other, "depth_penalty_")


def test_other_words_and_impossible_targets_are_refused():
    X = load_iris().data
    with pytest.raises(InvalidInputError, match="neither a number"):
        ExplainableKMeans(3, algorithm="exshallow", depth_penalty="automatic").fit(X)
    with pytest.raises(InvalidInputError, match="target_waes"):
        ExplainableKMeans(3, algorithm="exshallow", depth_penalty="auto", target_waes=-1).fit(X)


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
@pytest.mark.parametrize("target", ["target_cost", "target_waes"])
def test_targets_that_nothing_would_be_searched_for_are_refused(estimator, target):
    X = load_iris().data
    with pytest.raises(InvalidInputError, match=f'{target}=2.5 is a target.*"auto".*leave {target} out'):
        estimator(3, algorithm="exshallow", depth_penalty=0.1, **{target: 2.5}).fit(X)
    for algorithm in ("imm", "exkmc", "exgreedy"):
        with pytest.raises(InvalidInputError, match=f"{target}=2.5.*exshallow"):
            estimator(3, depth_penalty="auto", algorithm=algorithm, **{target: 2.5}).fit(X)
