"""Trees for k-medians against every cut they could have taken: the same searches on l1 costs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from cutwise import ExplainableKMedians
from tests.each import each
from tests.oracle.cases import SMALL, many_values, many_values_continuous, small_case
from tests.oracle.grow import penalty_used
from tests.oracle.models import fit_case, fit_quietly, same_tree
from tests.oracle.verify import (
    check_expansion,
    check_imm,
    check_induced,
    check_measures,
    check_reference,
    expansion_problem,
    problem_of,
)

# A few cases of every kind always, the others with the long proofs.
SEEDS = pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 5), marks=pytest.mark.slow)])
KINDS = each("kind", range(len(SMALL)))

fit = partial(fit_case, estimator=ExplainableKMedians)


class WholeGrowth(ExplainableKMedians):
    """The tree of all leaves that growth reached, where its parent takes the cheapest on the way."""

    _takes_cheapest = False


def _expanded(case, algorithm, *, expansion="exkmc", steps=3):
    k = len(case.centers)
    sizes = range(k, k + steps) if algorithm == "exkmc" else (None, *range(k + 1, k + steps))
    options = {"expansion": expansion, "estimator": WholeGrowth}
    models = [fit_case(case, algorithm, max_leaves=m, **options) for m in sizes]
    # Centers that cannot be parted share a leaf: their base tree has fewer leaves, and is grown at once.
    return models if algorithm == "exkmc" or models[0].n_leaves_ == k else models[1:]


@SEEDS
@KINDS
def test_every_node_is_cut_where_its_algorithm_is_best_served_on_l1_costs(kind, seeds):
    for seed in seeds:
        case = small_case(kind, seed)
        # With fractions as weights the depth term's count of rows is open: only the price is checked there.
        penalty = 0.0 if SMALL[kind].__name__ == "fractional_weights" else (0.03, 0.3)[seed % 2]
        imm, greedy = fit(case, "imm"), fit(case, "exgreedy")
        shallow = fit(case, "exshallow", depth_penalty=penalty)
        try:
            given = problem_of(imm, case.values, weights=case.weights)
            check_reference(imm, case.values, weights=case.weights)
            check_imm(imm.tree_, given, exact=case.exact)
            check_induced(greedy.tree_, given, None, exact=case.exact)
            check_induced(shallow.tree_, given, penalty_used(given, penalty), exact=case.exact)
            for model in (imm, greedy, shallow):
                check_measures(model, case.values, weights=case.weights)
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@SEEDS
@KINDS
def test_every_leaf_that_is_added_gains_most_on_l1_costs(kind, seeds):
    for seed in seeds:
        case = small_case(kind, seed)
        try:
            for algorithm, expansion in (("exkmc", "exkmc"), ("imm", "exkmc"), ("exshallow", "expand")):
                models = _expanded(case, algorithm, expansion=expansion)
                given = problem_of(models[0], case.values, weights=case.weights)
                exact = case.exact or expansion == "expand"
                check_expansion([m.tree_ for m in models], expansion_problem(given, expansion), exact=exact)
                for model in models:
                    check_measures(model, case.values, weights=case.weights)
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [many_values, many_values_continuous])
def test_columns_of_hundreds_of_values_are_searched_exactly_on_l1_costs(make, seed):
    case = make(seed)

    def given(model):
        is_integer = np.full(case.values.shape[1], case.values.dtype.kind == "i")
        found = problem_of(model, case.values, is_integer=is_integer, costs="float")
        return found.with_costs(found.costs.astype(np.int64)) if case.exact else found

    imm, greedy, shallow = (fit(case, algorithm) for algorithm in ("imm", "exgreedy", "exshallow"))
    check_imm(imm.tree_, given(imm), exact=case.exact)
    check_induced(greedy.tree_, given(greedy), None, exact=case.exact)
    check_induced(shallow.tree_, given(shallow), 0.03, exact=case.exact)
    models = _expanded(case, "exkmc")
    check_expansion([m.tree_ for m in models], given(models[0]), exact=case.exact)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_weights_are_repeated_rows_and_order_is_nothing_on_l1_costs(algorithm):
    for seed in range(5):
        case = small_case([make.__name__ for make in SMALL].index("weighted"), seed)
        k, weights = len(case.centers), case.weights.astype(int)
        order = np.random.default_rng(seed).permutation(len(case.values))
        repeated = np.repeat(case.values, weights, axis=0)
        model = fit(case, algorithm, max_leaves=k + 2)
        plain = ExplainableKMedians(k, algorithm=algorithm, reference=case.centers, max_leaves=k + 2)
        again = fit_quietly(plain, repeated)
        assert same_tree(model.tree_, again.tree_, samples=False)
        assert (model.cost_, model.surrogate_cost_) == (again.cost_, again.surrogate_cost_)
        assert np.array_equal(model.cluster_centers_, again.cluster_centers_)
        shuffled = fit_quietly(clone(plain), case.values[order], sample_weight=case.weights[order])
        assert same_tree(model.tree_, shuffled.tree_)
        assert np.array_equal(model.cluster_centers_, shuffled.cluster_centers_)
