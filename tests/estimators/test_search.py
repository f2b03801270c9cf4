"""``algorithm="search"``: cheaper than the papers' trees, or as cheap, whatever else is asked for."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import ExplainableKMeans, ExplainableKMedians, cost_curve, load_model
from cutwise.exceptions import EmptyClusterWarning, InvalidInputError
from cutwise.metrics import weighted_average_depth, weighted_average_explanation_size

PAPERS = ("imm", "exgreedy", "exshallow", "exkmc")
DIGITS = load_digits().data


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
@pytest.mark.parametrize(("X", "k"), [(load_iris().data, 4), (load_wine().data, 5), (DIGITS[:600], 10)])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_searched_tree_costs_no_more_than_any_papers_tree_on_the_same_reference(estimator, X, k, scaled):
    params = {"preprocessor": StandardScaler()} if scaled else {}
    searched = estimator(k, algorithm="search", random_state=0, **params).fit(X)
    for algorithm in PAPERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClusterWarning)
            other = estimator(k, algorithm=algorithm, random_state=0, **params).fit(X)
        assert other.reference_.cost == searched.reference_.cost
        assert searched.cost_ <= other.cost_ * (1 + 1e-12)
    assert searched.cost_ == pytest.approx(searched.search_.cost, rel=1e-9)
    assert searched.search_.cost <= searched.search_.start_cost
    assert searched.n_leaves_ == k
    assert sorted(searched.tree_.cluster[searched.tree_.leaves]) == list(range(k))


def test_more_leaves_cost_no_more_than_the_papers_trees_with_as_many():
    for max_leaves in (11, 14, 20):
        searched = ExplainableKMeans(10, algorithm="search", max_leaves=max_leaves, random_state=0).fit(DIGITS)
        plain = ExplainableKMeans(10, max_leaves=max_leaves, random_state=0).fit(DIGITS)
        assert searched.cost_ <= plain.cost_


def test_every_point_of_a_curve_is_the_fit_of_its_size():
    def model(max_leaves=None):
        return ExplainableKMeans(6, algorithm="search", max_leaves=max_leaves, random_state=0)

    curve = cost_curve(model(), DIGITS, max_leaves=12)
    assert curve.n_leaves[0] == 6
    assert (np.diff(curve.cost) < 0).all()
    for size, cost in zip(curve.n_leaves.tolist(), curve.cost, strict=True):
        alone = model(size).fit(DIGITS)
        assert alone.cost_ == cost
        assert curve.model(size).tree_.equals(alone.tree_)


def test_longer_searches_find_no_dearer_trees():
    costs = [
        ExplainableKMeans(10, algorithm="search", search_effort=effort, random_state=0).fit(DIGITS).cost_
        for effort in (0, 1, 2)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < costs[0]


def test_no_effort_is_exshallows_tree():
    nothing = ExplainableKMeans(5, algorithm="search", search_effort=0, random_state=0).fit(DIGITS)
    assert nothing.tree_.equals(ExplainableKMeans(5, algorithm="exshallow", random_state=0).fit(DIGITS).tree_)
    assert not hasattr(nothing, "search_")


def test_bounds_on_the_size_of_rules_are_kept():
    plain = ExplainableKMeans(10, random_state=0).fit(DIGITS)
    size = (
        weighted_average_explanation_size(plain.tree_, DIGITS),
        weighted_average_depth(plain.tree_, DIGITS),
    )
    bounded = ExplainableKMeans(10, algorithm="search", max_size=size, random_state=0).fit(DIGITS)
    assert weighted_average_explanation_size(bounded.tree_, DIGITS) <= size[0]
    assert weighted_average_depth(bounded.tree_, DIGITS) <= size[1]
    assert bounded.cost_ <= plain.cost_


def test_a_record_of_the_search_is_kept_in_files(tmp_path):
    model = ExplainableKMeans(6, algorithm="search", random_state=0).fit(DIGITS)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").search_ == model.search_
    assert not hasattr(model.set_params(algorithm="imm").fit(DIGITS), "search_")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"search_effort": -1}, "search_effort"),
        ({"size_penalty": "much"}, "size_penalty"),
        ({"max_size": (1, 2, 3)}, "max_size"),
        ({"max_size": "short"}, "max_size"),
    ],
)
def test_what_cannot_be_meant_is_refused(params, words):
    with pytest.raises(InvalidInputError, match=words):
        ExplainableKMeans(3, algorithm="search", **params).fit(DIGITS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of other processes")
def test_an_interrupt_ends_a_long_search_at_once():
    code = (
        "from sklearn.datasets import load_digits\n"
        "from cutwise import ExplainableKMeans\n"
        "model = ExplainableKMeans(10, algorithm='search', search_effort=1e5, random_state=0, n_jobs=2, verbose=2)\n"
        "model.fit(load_digits().data)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        while "tree" not in (line := process.stderr.readline()) and "leaves" not in line:
            assert line or process.poll() is None
        time.sleep(0.5)  # into the search itself
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in said
