"""Fitted trees against every cut they could have taken, on hundreds of random small problems of every awkward kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cutwise import ExplainableKMeans
from tests.each import each
from tests.oracle.cases import SMALL, Case, many_values, many_values_continuous, small_case
from tests.oracle.grow import penalty_used
from tests.oracle.models import WholeGrowth, fit_case, fit_quietly, same_tree
from tests.oracle.verify import (
    check_empty_base,
    check_expansion,
    check_imm,
    check_induced,
    check_measures,
    check_reference,
    counted_points,
    expansion_problem,
    problem_of,
)

# A few cases of every kind always, the others with the long proofs.
FEW, MORE = range(2), range(2, 13)
KINDS = each("kind", range(len(SMALL)))
SEEDS = pytest.mark.parametrize("seeds", [FEW, pytest.param(MORE, marks=pytest.mark.slow)])


def _cases(kind: int, seeds: range) -> list[tuple[int, Case]]:
    return [(seed, small_case(kind, seed)) for seed in seeds]


@SEEDS
@KINDS
def test_every_imm_node_has_the_fewest_mistakes_of_all_cuts(kind, seeds):
    for seed, case in _cases(kind, seeds):
        model = fit_case(case, "imm")
        try:
            check_reference(model, case.values, weights=case.weights)
            check_imm(model.tree_, problem_of(model, case.values, weights=case.weights), exact=case.exact)
            check_measures(model, case.values, weights=case.weights)
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
@pytest.mark.parametrize("name", ["patterned_centers", "one_hot", "duplicates", "hardly_enough_rows"])
def test_sparse_tables_grow_the_same_trees(name, algorithm):
    for seed, case in _cases([make.__name__ for make in SMALL].index(name), FEW):
        values = case.values.astype(np.float64)
        dense = fit_case(replace(case, values=values), algorithm)
        model = ExplainableKMeans(len(case.centers), algorithm=algorithm, reference=case.centers)
        csr = fit_quietly(model, sparse.csr_array(values))
        assert same_tree(dense.tree_, csr.tree_), f"{case}, seed {seed}"


@SEEDS
@KINDS
def test_every_exgreedy_node_has_the_least_induced_cost_of_all_cuts(kind, seeds):
    for seed, case in _cases(kind, seeds):
        model = fit_case(case, "exgreedy")
        try:
            check_induced(model.tree_, problem_of(model, case.values, weights=case.weights), None, exact=case.exact)
            check_measures(model, case.values, weights=case.weights)
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@SEEDS
@KINDS
def test_every_exshallow_node_has_the_least_price_and_depth_of_all_cuts(kind, seeds):
    for seed, case in _cases(kind, seeds):
        # The depth term counts points: fractions as weights count in their common unit.
        counted = None if case.weights is None else counted_points(case.weights)
        for penalty in [0.03, [0.0, 0.3, 1.0, 2.0][seed % 4]]:
            model = fit_case(case, "exshallow", depth_penalty=penalty)
            try:
                given = problem_of(model, case.values, weights=counted)
                check_induced(model.tree_, given, penalty_used(given, penalty), exact=case.exact)
                check_measures(model, case.values, weights=case.weights)
            except AssertionError as error:
                raise AssertionError(f"{case}, seed {seed}, depth_penalty={penalty}: {error}") from error


@pytest.mark.parametrize("kind_of_weights", ["thirds", "any", "far apart", "some 0", "whole and halves", "equal"])
def test_fractional_weights_count_in_the_depth_term_in_their_common_unit(kind_of_weights):
    for seed in range(5):
        rng = np.random.default_rng([41, seed])
        n, d, k = int(rng.integers(10, 30)), int(rng.integers(1, 4)), int(rng.integers(3, 6))
        weights = {
            "thirds": rng.integers(1, 9, n) * (1 / 3),
            "any": rng.random(n) + 0.01,
            "far apart": 10.0 ** rng.integers(-6, 3, n) * rng.random(n),
            "some 0": rng.integers(0, 4, n) / 4,
            "whole and halves": rng.integers(1, 7, n) / 2,
            "equal": np.full(n, 0.3),
        }[kind_of_weights]
        weights[0] = weights.max()
        values = rng.integers(0, 7, (n, d)).astype(float)
        distinct = np.unique(values[weights > 0], axis=0)
        k = min(k, len(distinct))
        centers = distinct[rng.choice(len(distinct), k, replace=False)] + rng.choice([0.0, 0.5], (k, d))
        case = Case(kind_of_weights, values, centers, False, weights)
        for penalty in (0.03, 0.3, 2.0):
            model = fit_case(case, "exshallow", depth_penalty=penalty)
            given = problem_of(model, values, weights=counted_points(weights))
            check_induced(model.tree_, given, penalty_used(given, penalty))


@SEEDS
@KINDS
def test_exkmc_takes_the_largest_gain_at_every_leaf_it_adds(kind, seeds):
    for seed, case in _cases(kind, seeds):
        k = len(case.centers)
        models = [fit_case(case, "exkmc", max_leaves=m, estimator=WholeGrowth) for m in range(k, k + 4)]
        try:
            given = problem_of(models[0], case.values, weights=case.weights)
            check_expansion([model.tree_ for model in models], given, exact=case.exact)
            for model in models:
                check_measures(model, case.values, weights=case.weights)
            costs = [model.surrogate_cost_ for model in models]
            assert all(np.diff(costs) <= 1e-9 * max(costs)), costs
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@SEEDS
@KINDS
@pytest.mark.parametrize("expansion", ["exkmc", "expand"])
@pytest.mark.parametrize("algorithm", ["imm", "exshallow"])
def test_expansion_takes_the_largest_gain_at_every_leaf_it_adds(kind, seeds, algorithm, expansion):
    for seed, case in _cases(kind, seeds[::2]):
        k = len(case.centers)
        options = {"expansion": expansion, "estimator": WholeGrowth}
        models = [fit_case(case, algorithm, max_leaves=m, **options) for m in (None, *range(k + 1, k + 4))]
        try:
            given = expansion_problem(problem_of(models[0], case.values, weights=case.weights), expansion)
            # Centers that cannot be parted share a leaf: their base tree has fewer leaves, and is grown at once.
            base = models[0].n_leaves_ == k
            trees = [model.tree_ for model in models] if base else [model.tree_ for model in models[1:]]
            check_expansion(trees, given, exact=case.exact or expansion == "expand")
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}: {error}") from error


@SEEDS
@KINDS
@pytest.mark.parametrize(("algorithm", "expansion"), [("imm", "exkmc"), ("exshallow", "expand"), ("exkmc", "exkmc")])
def test_the_cheapest_tree_of_at_most_so_many_leaves_is_returned(kind, seeds, algorithm, expansion):
    for seed, case in _cases(kind, seeds[::2]):
        cheapest = None
        for size in (None, *range(len(case.centers) + 1, len(case.centers) + 5)):
            whole = fit_case(case, algorithm, expansion=expansion, max_leaves=size, estimator=WholeGrowth)
            if whole.n_leaves_ < len(case.centers):
                break  # centers that cannot be parted: growth passes sizes that are no max_leaves
            if cheapest is None or whole.cost_ < cheapest.cost_:
                cheapest = whole
            model = fit_case(case, algorithm, expansion=expansion, max_leaves=size)
            assert same_tree(model.tree_, cheapest.tree_), f"{case}, seed {seed}, {size} leaves"
            assert model.cost_ == cheapest.cost_, f"{case}, seed {seed}, {size} leaves"


def test_a_single_cluster_grows_from_one_leaf_without_gain():
    case = small_case([make.__name__ for make in SMALL].index("one_cluster"), 0)
    for algorithm in ("imm", "exgreedy", "exshallow", "exkmc"):
        model = fit_case(case, algorithm)
        assert model.n_leaves_ == 1
        check_empty_base(model.tree_, problem_of(model, case.values), exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [many_values, many_values_continuous])
def test_columns_of_hundreds_of_values_are_searched_exactly(make, seed):
    case = make(seed)
    is_integer = np.full(case.values.shape[1], case.values.dtype.kind == "i")

    def given(model):
        found = problem_of(model, case.values, is_integer=is_integer, costs="float")
        if case.exact:
            found = found.with_costs(found.costs.astype(np.int64))
        return found

    model = fit_case(case, "imm")
    check_reference(model, case.values)
    check_imm(model.tree_, given(model), exact=case.exact)
    model = fit_case(case, "exgreedy")
    check_induced(model.tree_, given(model), None, exact=case.exact)
    model = fit_case(case, "exshallow")
    check_induced(model.tree_, given(model), 0.03, exact=case.exact)
    sizes = range(len(case.centers), len(case.centers) + 4)
    models = [fit_case(case, "imm", max_leaves=m, estimator=WholeGrowth) for m in sizes]
    check_expansion([m.tree_ for m in models], given(models[0]), exact=case.exact)
    models = [fit_case(case, "imm", max_leaves=m, expansion="expand", estimator=WholeGrowth) for m in sizes]
    check_expansion([m.tree_ for m in models], expansion_problem(given(models[0]), "expand"), exact=True)
