"""What documentation repeats, it repeats in the same words, and what it says of defaults is true.

Each class describes all of its own parameters, as scikit-learn's do: whoever reads one page needs no other. The price
is repetition, which these tests keep from drifting apart.
"""

import inspect
import re
from collections import defaultdict

import numpy as np
import pytest

import cutwise
from cutwise import baselines

TREES = [
    cutwise.ExplainableKMeans,
    cutwise.ExplainableKMedians,
    cutwise.ExplainableKernelKMeans,
    cutwise.ClusterExplainer,
    baselines.CART,
    baselines.KDTree,
    baselines.CLTree,
    baselines.CUBT,
]
CLUSTERERS = [cutwise.KMedians, cutwise.KernelKMeans]
FUNCTIONS = [
    cutwise.cost_curve,
    cutwise.export_graphviz,
    cutwise.export_json,
    cutwise.export_markdown,
    cutwise.export_python,
    cutwise.export_sql,
    cutwise.export_text,
    cutwise.load_model,
    cutwise.report,
    cutwise.tune_depth_penalty,
]

COSTS = ("cost_", "inertia_", "surrogate_cost_")

# Of the same name and type, and yet something else; each with what differs.
ANOTHER_THING = {
    ("ClusterExplainer", "max_leaves"): "the clusters are those of y: there is no n_clusters, and None leaves room",
    ("ClusterExplainer", "random_state"): "nothing is random",
    ("ExplainableKMeans", "cluster_centers_"): "means",
    ("ExplainableKMedians", "cluster_centers_"): "medians",
    ("ClusterExplainer", "cluster_centers_"): "means, also of a cluster that ended empty",
    **{(each.__name__, name): "its own measure" for each in [*TREES, *CLUSTERERS] for name in COSTS},
    **{(each.__name__, name): "its own algorithm" for each in CLUSTERERS for name in ("random_state", "max_iter")},
    ("KMedians", "labels_"): "by centers",
    ("KernelKMeans", "labels_"): "by means in feature space",
    ("KMedians", "n_iter_"): "runs of several stages",
    ("KernelKMeans", "n_iter_"): "and moves of single rows",
}


def entries(documented, section):
    """Name -> type and description, of one section of a docstring; names that share an entry have one each."""
    parts = re.split(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n", f"\n{inspect.getdoc(documented)}")
    text = dict(zip(parts[1::2], parts[2::2], strict=True)).get(section, "") + "\n"
    found = {}
    for names, kind, told in re.findall(r"^(\S[^\n]*?) : ([^\n]*)\n((?:(?:    [^\n]*)?\n)*)", text, re.MULTILINE):
        found |= dict.fromkeys(names.split(", "), (kind, " ".join(told.split())))
    return found


def beginning(told):
    """What a description says before it goes on to what is special: its first clause."""
    return re.split(r"[.;,:]( |$)", told)[0]


@pytest.mark.parametrize("family", [TREES, CLUSTERERS], ids=["trees", "clusterers"])
@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_what_means_the_same_is_described_in_the_same_words(family, section):
    ways = defaultdict(lambda: defaultdict(list))
    for each in family:
        for name, (kind, told) in entries(each, section).items():
            if (each.__name__, name) not in ANOTHER_THING:
                ways[name, kind][beginning(told)].append(each.__name__)
    differing = {what: dict(said) for what, said in ways.items() if len(said) > 1}
    assert differing == {}


@pytest.mark.parametrize("documented", [*TREES, *CLUSTERERS, *FUNCTIONS], ids=lambda each: each.__name__)
def test_what_is_said_of_defaults_is_true(documented):
    told = entries(documented, "Parameters")
    for name, parameter in inspect.signature(documented).parameters.items():
        if name not in told or parameter.default is inspect.Parameter.empty:
            continue
        said = re.search(r"default=(.+)$", told[name][0])
        assert said, f"{name} does not say its default"
        assert said[1] == str(parameter.default) or said[1] == f'"{parameter.default}"', name


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("estimator", [*TREES, *CLUSTERERS, cutwise.TableScaler], ids=lambda each: each.__name__)
def test_methods_that_take_rows_name_the_errors_that_they_raise(estimator):
    makes = {"predict", "apply", "transform", "explain", "smallest_changes", "recount", "score"}
    methods = sorted(makes & set(dir(estimator)))
    rows, labels = [[0.0, 1.0], [0.5, 1.0], [8.0, 2.0], [9.0, 2.5]], [0, 0, 1, 1]
    fitted = estimator().fit(rows, labels) if not hasattr(estimator, "n_clusters") else estimator(2).fit(rows)
    for method in methods:
        raises = set(
            re.findall(r"^(\w+)$", inspect.getdoc(getattr(estimator, method)).partition("\nRaises\n")[2], re.M)
        )
        for model, given in [(estimator(), rows), (fitted, [[1.0]]), (fitted, [[1.0, np.inf]]), (fitted, [])]:
            more = {"y": labels[: len(given)]} if estimator is cutwise.ClusterExplainer and method == "score" else {}
            with pytest.raises(ValueError, match=r"\w") as caught:
                getattr(model, method)(given, **more)
            assert raises & {parent.__name__ for parent in type(caught.value).__mro__}, (method, caught.value)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("estimator", [*TREES, *CLUSTERERS], ids=lambda each: each.__name__)
def test_every_fitted_attribute_and_parameter_is_documented(estimator):
    text = inspect.getdoc(estimator)
    for name in inspect.signature(estimator).parameters:
        assert re.search(rf"^(\w+, )*{name}\b.*", text, re.MULTILINE), name
    fitted = estimator() if estimator is cutwise.ClusterExplainer else estimator(2, random_state=0)
    rows = [[0.0, 1.0], [0.5, 1.0], [8.0, 2.0], [9.0, 2.5]]
    fitted.fit(rows, [0, 0, 1, 1])
    for name in vars(fitted):
        if name.endswith("_") and not name.startswith("_"):
            assert re.search(rf"\b{name}\b", text), name
