"""The ExShallow paper's Section 1.1: depth and explanation size, small or large together or one without the other."""

from __future__ import annotations

import numpy as np
import pytest

from cutwise import datasets, metrics


@pytest.mark.parametrize("k", [5, 8, 12])
def test_the_four_trees_have_their_orders_of_depth_and_explanation_size(k):
    planted = datasets.make_four_trees(k)
    deep_long, shallow_short, shallow, deep_short = [
        (
            metrics.weighted_average_depth(tree, planted.X),
            metrics.weighted_average_explanation_size(tree, planted.X),
        )
        for tree in planted.trees
    ]
    # D1: both about k.
    assert deep_long[0] == deep_long[1] >= k - 2
    # D2 and D3: both bounded; D2 says a path on one column in two conditions at most.
    assert max(shallow_short + shallow) < 3
    assert shallow_short[0] == shallow[0] == shallow[1]
    assert shallow_short[1] < 2
    # D4: as deep as D1, explained as briefly as D2.
    assert deep_short[0] == deep_long[0]
    assert deep_short[1] < 2


def test_depth_and_explanation_size_follow_from_the_sizes_of_the_clusters():
    """Worked out by hand for k = 3: clusters of 1, 3 and 7 rows."""
    planted = datasets.make_four_trees(3)
    sizes = np.array([1, 3, 7])
    depths = {"D1": [1, 2, 2], "D2": [2, 2, 1], "D3": [2, 2, 1], "D4": [1, 2, 2]}
    conditions = {"D1": [1, 2, 2], "D2": [1, 2, 1], "D3": [2, 2, 1], "D4": [1, 2, 1]}
    for tree, name in zip(planted.trees, depths, strict=True):
        assert metrics.weighted_average_depth(tree, planted.X) == pytest.approx(depths[name] @ sizes / 11)
        size = metrics.weighted_average_explanation_size(tree, planted.X)
        assert size == pytest.approx(conditions[name] @ sizes / 11)
