"""Means, tolerances and t-tests."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from cutwise.bench.measures import compare, is_far_from, standard_error, with_error
from cutwise.bench.shallow import ALGORITHMS, PUBLISHED
from tests.each import each


def test_a_mean_is_far_beyond_the_tolerance_or_three_combined_standard_errors():
    still = pd.Series([1.10, 1.10, 1.10])
    assert not is_far_from(still, 1.12, least=0.021, published_seeds=30)
    assert is_far_from(still, 1.13, least=0.02, published_seeds=30)
    # Standard error 0.1 / sqrt(3); theirs, over 30 seeds, 0.1 / sqrt(30): together 0.0606.
    spread = pd.Series([1.0, 1.1, 1.2])
    assert not is_far_from(spread, 1.28, least=0.02, published_seeds=30)
    assert is_far_from(spread, 1.29, least=0.02, published_seeds=30)
    assert standard_error(pd.Series([1.5])) == 0
    assert with_error(pd.Series([1.0, 1.2]), 2) == "1.10 ± 0.10"


@each("seed", range(20))
def test_the_t_test_is_scipys(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.8, 1, 12), rng.normal(0, 1, 12)
    greater = ttest_ind(a, b, equal_var=True, alternative="greater").pvalue < 0.05
    less = ttest_ind(a, b, equal_var=True, alternative="less").pvalue < 0.05
    assert compare(a, b, "worse") == ("worse" if greater else "better" if less else "")
    assert compare(a, b, "better") == ("better" if greater else "worse" if less else "")


def test_samples_that_do_not_vary_differ_when_they_do():
    assert compare([1.0, 1.0], [1.0, 1.0], "worse") == ""
    assert compare([1.1, 1.1], [1.0, 1.0], "worse") == "worse"
    assert compare([1.1], [1.0], "worse") == ""


def test_the_published_tables_agree_with_each_other():
    assert len(PUBLISHED) == 16
    assert all(each.keys() == {"kmeans", *ALGORITHMS, "exshallow_star"} for each in PUBLISHED.values())
    # The medians in the paper's last line.
    for figure, medians in (
        ("cost_ratio", (1.12, 1.12, 1.17, 1.19)),
        ("waes", (3.60, 4.84, 5.36, 3.63)),
        ("wad", (3.78, 4.96, 5.68, 3.72)),
        ("nmi", (0.66, 0.65, 0.63, 0.59)),
    ):
        for algorithm, median in zip(ALGORITHMS, medians, strict=True):
            values = [getattr(each[algorithm], figure) for each in PUBLISHED.values()]
            assert np.median(values) == pytest.approx(median, abs=0.0151), (figure, algorithm)
    stars = [each["exshallow_star"] for each in PUBLISHED.values()]
    assert np.median([star.cost_ratio for star in stars]) == pytest.approx(1.15, abs=0.0151)
    assert np.median([star.waes for star in stars]) == pytest.approx(3.35, abs=0.0151)
