"""Fitting the public estimators to the oracle's cases, and comparing fitted trees."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cutwise import ExplainableKMeans
from cutwise.exceptions import CutwiseWarning

from .cases import Case

# What a tree is; n_node_samples is left out where repeated rows stand for weights.
TREE_ARRAYS = ("children_left", "children_right", "feature", "threshold", "lower", "cluster", "n_node_mistakes")


class WholeGrowth(ExplainableKMeans):
    """The tree of all leaves that growth reached, where its parent takes the cheapest on the way."""

    _takes_cheapest = False


def fit_quietly(model: Any, *arguments: Any, **keywords: Any) -> Any:
    """Fit, and expect no warning but the library's own: cases are full of empty and equal clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutwiseWarning)
        return model.fit(*arguments, **keywords)


def fit_case(case: Case, algorithm: str, *, estimator: Any = ExplainableKMeans, **options: Any) -> Any:
    """A model of a case, grown from the case's own centers."""
    model = estimator(len(case.centers), algorithm=algorithm, reference=case.centers, **options)
    return fit_quietly(model, case.values, sample_weight=case.weights)


def tree_bytes(tree: Any, names: tuple[str, ...] = (*TREE_ARRAYS, "n_node_samples")) -> dict[str, bytes]:
    """The public arrays of a tree, bit for bit."""
    return {name: np.ascontiguousarray(getattr(tree, name)).tobytes() for name in names}


def same_tree(one: Any, other: Any, *, samples: bool = True) -> bool:
    """Whether two trees are equal bit for bit."""
    names = (*TREE_ARRAYS, "n_node_samples") if samples else TREE_ARRAYS
    return tree_bytes(one, names) == tree_bytes(other, names)
