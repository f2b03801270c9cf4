"""A whole weight is a row repeated so often, also where all weights share a factor."""

from __future__ import annotations

import numpy as np
import pytest

from cutwise import ExplainableKMeans
from tests.oracle.cases import SMALL, small_case
from tests.oracle.models import fit_quietly, same_tree
from tests.oracle.verify import check_imm, check_induced, problem_of

RECIPES = (
    {"algorithm": "imm"},
    {"algorithm": "exshallow", "depth_penalty": 0.3},
    {"algorithm": "exshallow", "depth_penalty": 0.03},
)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: "-".join(map(str, recipe.values())))
def test_weights_with_a_common_factor_are_repeated_rows_too(recipe):
    for kind in range(len(SMALL)):
        case, factor = small_case(kind, 34), (2, 3, 6)[kind % 3]
        for weights in (
            np.full(len(case.values), factor),
            factor * np.random.default_rng(kind).integers(1, 4, len(case.values)),
        ):

            def fit(values, sample_weight=None, centers=case.centers):
                model = ExplainableKMeans(len(centers), reference=centers, **recipe)
                return fit_quietly(model, values, sample_weight=sample_weight)

            weighted, repeated = fit(case.values, weights.astype(float)), fit(np.repeat(case.values, weights, axis=0))
            assert same_tree(weighted.tree_, repeated.tree_, samples=False), case
            given = problem_of(weighted, case.values, weights=weights)
            if recipe["algorithm"] == "imm":
                check_imm(weighted.tree_, given, exact=case.exact)
            else:
                check_induced(weighted.tree_, given, recipe["depth_penalty"], exact=case.exact)


def test_fractions_grow_the_tree_of_their_proportions():
    for kind in range(len(SMALL)):
        case = small_case(kind, 35)
        weights = np.random.default_rng(kind).integers(1, 8, len(case.values)) * 2 + 1
        weights[0] = 1
        for recipe in ({"algorithm": "imm"}, {"algorithm": "exgreedy"}, {"algorithm": "exkmc"}):
            models = [
                fit_quietly(
                    ExplainableKMeans(len(case.centers), reference=case.centers, **recipe),
                    case.values,
                    sample_weight=weights * factor,
                )
                for factor in (1.0, 0.5, 2.0**-20)
            ]
            assert same_tree(models[0].tree_, models[1].tree_), (case, recipe)
            assert same_tree(models[0].tree_, models[2].tree_), (case, recipe)
            assert models[1].cost_ == pytest.approx(models[0].cost_ / 2, rel=1e-9, abs=1e-300)


def test_a_weight_near_the_end_of_float64_is_searched_without_warnings():
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [4], [9]], 20, axis=0)
    weights = np.r_[1e308, np.ones(59)]
    model = ExplainableKMeans(3, n_init=1, random_state=0).fit(X, sample_weight=weights)
    assert np.isfinite(model.cost_)
