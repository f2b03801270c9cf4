"""``cutwise fit --kernel``: kernel k-means clusters, said in the units of the file."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from cutwise import ExplainableKernelKMeans, load_model


@pytest.fixture
def rings(tmp_path):
    """A group inside another, in units of their own."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 60)
    radius = np.repeat([0.3, 3.0], 30) + rng.normal(0, 0.1, 60)
    frame = pd.DataFrame({"east": 1000 + 50 * radius * np.cos(angle), "north": 8 + radius * np.sin(angle)})
    frame = frame.round(3)  # few digits: every reader finds the same float64
    frame.to_csv(tmp_path / "rings.csv", index=False)
    return tmp_path / "rings.csv", frame


def test_a_kernel_and_its_width_are_those_of_the_library(cutwise, rings, tmp_path):
    path, frame = rings
    out = tmp_path / "model.json"
    result = cutwise("fit", path, "-k", 2, "--kernel", "rbf", "--gamma", 0.5, "--max-leaves", 4, "--out", out)
    assert result.code == 0, result.err
    model = ExplainableKernelKMeans(2, gamma=0.5, max_leaves=4, preprocessor=StandardScaler(), random_state=0)
    model.fit(frame)
    loaded = load_model(out)
    assert loaded.tree_.equals(model.tree_)
    assert loaded.cost_ == model.cost_
    assert "scale standard" in result.out
    assert f"adjusted Rand index {model.adjusted_rand_index_:.4f}" in result.out
    assert f"normalized mutual information {model.normalized_mutual_info_:.4f}" in result.out
    assert f"cost ratio {model.cost_ratio_:.4f}: squared distances in the kernel's feature space" in result.out
    assert "kernel k-means clusters" in result.out
    new = tmp_path / "new.csv"
    assert cutwise("predict", out, path, "--out", new).code == 0
    assert pd.read_csv(new)["cluster"].tolist() == model.labels_.tolist()


def test_json_has_both_measures_of_agreement(cutwise, rings):
    options = ("-k", 2, "--kernel", "laplacian", "--algorithm", "exkmc", "--nystroem", 20)
    told = json.loads(cutwise("fit", rings[0], *options, "--json").out)
    assert told["estimator"] == "ExplainableKernelKMeans"
    assert told["algorithm"] == "exkmc"
    assert 0 <= told["normalized_mutual_info"] <= 1
    assert told["adjusted_rand_index"] <= 1


def test_cuts_may_be_held_to_thresholds(cutwise, rings, tmp_path):
    out = tmp_path / "model.json"
    options = ("-k", 2, "--kernel", "rbf", "--gamma", 0.5, "--max-leaves", 5, "--cuts", "threshold", "--out", out)
    assert cutwise("fit", rings[0], *options).code == 0
    assert np.isneginf(load_model(out).tree_.lower).all()


def test_trees_keep_limits(cutwise, rings, tmp_path):
    out = tmp_path / "model.json"
    options = ("-k", 2, "--kernel", "rbf", "--gamma", 0.5, "--algorithm", "exkmc", "--never", "east", "--max-depth", 2)
    result = cutwise("fit", rings[0], *options, "--out", out)
    assert "only cuts on north; depth at most 2" in result.out
    model = load_model(out)
    assert model.depth_ <= 2
    assert "east" not in {model.feature_names_in_[j] for j in model.tree_.feature if j >= 0}


def test_kernels_of_histograms_take_columns_as_they_are_unless_told_otherwise(cutwise, refused, rings):
    result = cutwise("fit", rings[0], "-k", 2, "--kernel", "hellinger")
    assert "scale none: columns are not scaled" in result.out
    line = refused("fit", rings[0], "-k", 2, "--kernel", "hellinger", "--scale", "standard")
    assert "of the preprocessor's output holds -" in line


def test_options_that_do_not_go_together_are_refused(refused, rings):
    path = rings[0]
    assert "Did you mean 'laplacian'" in refused("fit", path, "-k", 2, "--kernel", "laplace")
    assert "--kernel rbf" in refused("fit", path, "-k", 2, "--gamma", 0.5)
    assert "--objective kmedians" in refused("fit", path, "-k", 2, "--kernel", "rbf", "--objective", "kmedians")
    assert "--labels-from" in refused("fit", path, "--labels-from", "east", "--kernel", "rbf")
    assert "'interval', 'threshold'" in refused("fit", path, "-k", 2, "--kernel", "rbf", "--cuts", "both")
    assert "exkmc" in refused("fit", path, "-k", 2, "--kernel", "polynomial")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("rbf", "--max-depth", 3), "takes no limits here. Leave out --cut-only"),
        (("rbf", "--never", "east"), "takes no limits here"),
        (("rbf", "--depth-penalty", 0.2), "--depth-penalty 0.2 cannot be used with --kernel rbf"),
        (("rbf", "--unknown", "error"), "--unknown error cannot be used with --kernel rbf"),
        (("linear", "--gamma", 3), "--gamma 3.0 cannot be used with --kernel linear"),
    ],
)
def test_options_that_kernel_trees_do_not_know_are_refused(refused, rings, options, word):
    assert word in refused("fit", rings[0], "-k", 2, "--kernel", *options)
