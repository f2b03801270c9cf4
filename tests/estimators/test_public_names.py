"""The names that ``import cutwise`` offers, and the examples of their documentation."""

import doctest
import importlib

import pytest

import cutwise


def test_every_public_name_resolves():
    for name in cutwise.__all__:
        assert getattr(cutwise, name) is not None
        assert name in dir(cutwise)


def test_nothing_is_public_by_accident():
    assert sorted(cutwise.__all__) == [
        "Batches",
        "ClusterExplainer",
        "CostCurve",
        "ExplainableKMeans",
        "ExplainableKMedians",
        "ExplainableKernelKMeans",
        "KMedians",
        "KernelKMeans",
        "Report",
        "TableScaler",
        "ThresholdTree",
        "TreeFront",
        "baselines",
        "cost_curve",
        "datasets",
        "exceptions",
        "explain_pipeline",
        "export_graphviz",
        "export_json",
        "export_markdown",
        "export_polars",
        "export_python",
        "export_sql",
        "export_text",
        "load_model",
        "metrics",
        "plot",
        "report",
        "tune_depth_penalty",
    ]


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'ExplainableKNothing'"):
        _ = cutwise.ExplainableKNothing


@pytest.mark.parametrize(
    "module",
    [
        "cutwise.estimators.explainable_kmeans",
        "cutwise.estimators.kmedians",
        "cutwise.estimators.cluster_explainer",
        "cutwise.estimators._curve",
        "cutwise.estimators.explainable_kernel_kmeans",
        "cutwise.estimators.kernel_kmeans",
        "cutwise.estimators._load",
        "cutwise.estimators._report",
        "cutwise.estimators._fitted_tree",
        "cutwise.estimators._exports",
    ],
)
def test_the_examples_are_true(module):
    outcome = doctest.testmod(importlib.import_module(module), raise_on_error=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0
