"""Options that signatures spell out are those that the code takes; type checkers read `typing/users_script.py`."""

from typing import get_args

import pytest

from cutwise.estimators import cluster_explainer, explainable_kernel_kmeans, explainable_kmeans
from cutwise.readouts import sql, sql_writer


@pytest.mark.parametrize("module", [explainable_kmeans, cluster_explainer, explainable_kernel_kmeans])
def test_the_algorithms_of_a_signature_are_those_that_fit_takes(module):
    assert set(get_args(module.Algorithm)) == set(module.ALGORITHMS)


def test_every_dialect_says_how_it_asks_for_nan():
    assert set(sql.DIALECTS) == set(sql_writer._NAN_TEST)
