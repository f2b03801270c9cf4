"""``cutwise fit`` clusters a table, says the clusters, and writes what it is asked to."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians, load_model


def read_labels(path):
    return pd.read_csv(path)["cluster"].to_numpy()


def test_an_example_needs_no_file(cutwise):
    result = cutwise("fit", "--example", "wine")
    assert result.code == 0
    assert result.err == ""
    assert "178 rows, 13 columns" in result.out
    assert "3 clusters" in result.out
    assert "scale standard" in result.out
    assert "cost ratio 1." in result.out
    assert "proline" in result.out


@pytest.mark.parametrize(("name", "k"), [("iris", 3), ("breast_cancer", 2), ("digits", 10)])
def test_every_example_has_its_number_of_clusters(cutwise, name, k):
    told = json.loads(cutwise("fit", "--example", name, "--json", "--n-init", 1).out)
    assert told["n_clusters"] == k == len(told["clusters"])
    assert sum(cluster["size"] for cluster in told["clusters"]) == told["n_rows"]


def test_the_command_line_is_the_library(cutwise, blobs, blobs_csv, tmp_path):
    labels = tmp_path / "labels.csv"
    told = json.loads(cutwise("fit", blobs_csv, "-k", 3, "--labels", labels, "--json").out)
    model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(blobs)
    assert told["cost_ratio"] == model.cost_ratio_
    assert told["clusters"] == model.rules().to_dict()["clusters"]
    assert pd.read_csv(labels).to_dict("list") == {"row": list(range(60)), "cluster": model.labels_.tolist()}


def test_it_says_what_is_explained_and_advises_where_that_is_little(cutwise, blobs_csv, tmp_path):
    told = cutwise("fit", blobs_csv, "-k", 3).out
    assert re.search(r"explained \S+ %: the k-means clusters explain \S+ % of all squared distances", told)
    assert "advice" not in told
    noise = pd.DataFrame(np.random.default_rng(0).random((300, 40))).add_prefix("x")
    noise.to_csv(tmp_path / "noise.csv", index=False)
    assert "advice: the k-means clusters explain little" in cutwise("fit", tmp_path / "noise.csv", "-k", 4).out
    assert (
        "advice: almost none of the rows under the rules of cluster 5 are in it"
        in cutwise("fit", "--example", "digits", "-k", 10).out
    )


@pytest.mark.parametrize("scale", ["minmax", "robust", "none"])
def test_scale_decides_the_space_of_the_clustering_alone(cutwise, blobs, blobs_csv, tmp_path, scale):
    result = cutwise("fit", blobs_csv, "-k", 3, "--scale", scale, "--labels", tmp_path / "labels.csv")
    preprocessor = {"minmax": MinMaxScaler(), "robust": RobustScaler(), "none": None}[scale]
    model = ExplainableKMeans(3, preprocessor=preprocessor, random_state=0).fit(blobs)
    assert f"scale {scale}" in result.out
    assert read_labels(tmp_path / "labels.csv").tolist() == model.labels_.tolist()


def test_a_column_that_outweighs_all_others_is_named_where_nothing_is_scaled(cutwise, blobs, tmp_path):
    blobs.assign(income=blobs.iloc[:, 0] * 1000).to_csv(tmp_path / "t.csv", index=False)
    assert "of the cost" not in cutwise("fit", tmp_path / "t.csv", "-k", 3).err
    said = cutwise("fit", tmp_path / "t.csv", "-k", 3, "--scale", "none").err
    assert "warning: Column 'income' holds 100.0% of the cost" in said
    assert said.rstrip().endswith("If they should, scale them: --scale standard.")


def test_the_objective_decides_what_is_minimized(cutwise, blobs, blobs_csv, tmp_path):
    out = tmp_path / "model.json"
    result = cutwise("fit", blobs_csv, "-k", 3, "--objective", "kmedians", "--scale", "none", "--out", out)
    model = ExplainableKMedians(3, random_state=0).fit(blobs)
    assert load_model(out).tree_.equals(model.tree_)
    assert load_model(out).cost_ == model.cost_
    assert "l1 distances within the tree's clusters" in result.out
    assert "the k-medians clusters" in result.out
    assert "k-means" not in result.out


def test_options_that_cannot_be_are_refused(cutwise, blobs_csv):
    wrong = cutwise("fit", blobs_csv, "-k", 3, "--objective", "medians")
    assert wrong.code == 2
    assert "Did you mean 'kmedians'?" in wrong.err
    for option in (("--objective", "kmedians"), ("--n-init", 3)):
        given = cutwise("fit", blobs_csv, "--labels-from", "x", *option)
        assert given.code == 2
        assert f"{option[0]} {option[1]} cannot be used with --labels-from x" in given.err


def test_the_tree_options_reach_the_model(cutwise, blobs_csv, tmp_path):
    out = tmp_path / "model.json"
    options = ["--algorithm", "imm", "--max-leaves", 5, "--expansion", "expand", "--depth-penalty", 0.1]
    assert cutwise("fit", blobs_csv, "-k", 3, *options, "--n-init", 2, "--seed", 7, "--jobs", 2, "--out", out).code == 0
    params = load_model(out).get_params(deep=False)
    assert (params["algorithm"], params["max_leaves"], params["expansion"]) == ("imm", 5, "expand")
    assert (params["depth_penalty"], params["n_init"], params["random_state"]) == (0.1, 2, 7)
    assert cutwise("fit", blobs_csv, "-k", 3, "--n-init", "auto", "--out", out).code == 0
    assert load_model(out).get_params(deep=False)["n_init"] == "auto"


def test_drop_and_only_choose_the_columns(cutwise, blobs_csv, tmp_path):
    out = tmp_path / "model.json"
    cutwise("fit", blobs_csv, "-k", 3, "--drop", "noise", "--out", out)
    assert load_model(out).feature_names_in_.tolist() == ["age", "income, net"]
    cutwise("fit", blobs_csv, "-k", 3, "--only", "age", "--only", "income, net", "--out", out)
    assert load_model(out).feature_names_in_.tolist() == ["age", "income, net"]


def test_weights_count_rows(cutwise, blobs, tmp_path):
    blobs["count"] = np.arange(60) % 4 + 1
    path, out = tmp_path / "weighted.csv", tmp_path / "labels.csv"
    blobs.to_csv(path, index=False)
    assert cutwise("fit", path, "-k", 3, "--weights", "count", "--labels", out).code == 0
    features = blobs.drop(columns="count")
    model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0)
    model.fit(features, sample_weight=blobs["count"].to_numpy())
    assert read_labels(out).tolist() == model.labels_.tolist()


def test_labels_of_a_column_are_explained(cutwise, blobs, tmp_path):
    blobs["segment"] = np.array(["young", "middle", "rich"])[np.arange(60) % 3]
    path, out, model = tmp_path / "segments.csv", tmp_path / "labels.csv", tmp_path / "model.json"
    blobs.to_csv(path, index=False)
    result = cutwise("fit", path, "--labels-from", "segment", "--labels", out, "--out", model)
    assert result.code == 0
    assert "agreement 100 %" in result.out
    assert read_labels(out).tolist() == blobs["segment"].tolist()
    assert isinstance(load_model(model), ClusterExplainer)


def test_rows_with_missing_values_get_no_cluster(cutwise, blobs, tmp_path):
    path, out, model = tmp_path / "holes.csv", tmp_path / "labels.csv", tmp_path / "model.json"
    blobs.loc[[3, 10], "age"] = None
    blobs.to_csv(path, index=False)
    result = cutwise("fit", path, "-k", 3, "--drop-missing", "--labels", out, "--out", model)
    assert result.code == 0
    assert "2 of 60 rows" in result.err
    labels = read_labels(out)
    assert np.flatnonzero(np.isnan(labels)).tolist() == [3, 10]
    # Ages are whole numbers, though pandas reads them as fractions beside a hole: so are the cuts between them.
    ages = [
        condition for cluster in load_model(model).rules() for rule in cluster.rules for condition in rule.conditions
    ]
    bounds = [bound for c in ages if c.name == "age" for bound in (c.lower, c.upper) if np.isfinite(bound)]
    assert all(bound == int(bound) for bound in bounds)


@pytest.mark.parametrize("kind", ["tsv", "semicolon", "parquet", "gz", "no header"])
def test_every_kind_of_file_gives_the_same_clusters(cutwise, blobs, blobs_csv, tmp_path, kind):
    path, one, other = tmp_path / "other", tmp_path / "one.csv", tmp_path / "other.csv"
    if kind == "tsv":
        blobs.to_csv(path, index=False, sep="\t")
    elif kind == "semicolon":
        blobs.to_csv(path, index=False, sep=";", decimal=",")
    elif kind == "parquet":
        blobs.to_parquet(path)
    elif kind == "gz":
        path.write_bytes(gzip.compress(blobs_csv.read_bytes()))
    else:
        blobs.to_csv(path, index=False, header=False)
    assert cutwise("fit", blobs_csv, "-k", 3, "--labels", one).code == 0
    assert cutwise("fit", path, "-k", 3, "--labels", other).code == 0
    assert one.read_text() == other.read_text()


def test_the_reference_is_k_means_on_the_scaled_table(cutwise, blobs, blobs_csv):
    told = json.loads(cutwise("fit", blobs_csv, "-k", 3, "--json", "--max-leaves", 12).out)
    best = KMeans(3, n_init=10, random_state=0).fit(StandardScaler().fit_transform(blobs)).inertia_
    assert told["cost"] / told["cost_ratio"] <= best * 1.01


def test_the_same_seed_gives_the_same_files(cutwise, blobs_csv, tmp_path):
    for name in ("one", "two"):
        cutwise("fit", blobs_csv, "-k", 3, "--seed", 3, "--out", tmp_path / f"{name}.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_verbose_says_on_standard_error_what_takes_how_long(cutwise, blobs_csv):
    result = cutwise("fit", blobs_csv, "-k", 3, "--verbose")
    assert "tree" in result.err
    assert " s" in result.err


def test_names_from_a_file_cannot_steer_the_terminal(cutwise, tmp_path):
    path = tmp_path / "evil.csv"
    path.write_text("\x1b[31mred,[bold]b\n1,2\n5,9\n1,3\n6,9\n")
    result = cutwise("fit", path, "-k", 2)
    assert result.code == 0
    assert "\x1b" not in result.out + result.err


def test_a_tree_by_imm_comes_with_its_guarantee(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    fit = ["fit", blobs_csv, "-k", "3", "--algorithm", "imm"]
    shown = cutwise(*fit, "--scale", "none", "--out", path).out
    (line,) = (line for line in shown.splitlines() if line.startswith("guarantee: cost ratio "))
    assert line in cutwise("rules", path).out
    assert line in cutwise("rules", path, "--tree").out
    certificate = json.loads(cutwise("rules", path, "--json").out)["certificate"]
    assert certificate["instance_bound"] > 0
    assert "guarantee" not in cutwise(*fit).out  # distances are measured in scaled columns, cuts are not


def test_two_clusters_can_be_cut_where_that_costs_least(cutwise, refused, blobs, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    shown = cutwise("fit", blobs_csv, "-k", "2", "--algorithm", "optimal", "--scale", "none", "--out", path).out
    assert "tree by optimal: 2 leaves" in shown
    assert "no single cut costs less" in shown
    assert load_model(path).algorithm == "optimal"
    assert "-k 3" in refused("fit", blobs_csv, "-k", "3", "--algorithm", "optimal")


def test_a_column_that_takes_no_part_needs_no_limit(cutwise, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,lab\n" + "".join(f"{i},{'xy'[i > 9]}\n" for i in range(20)))
    assert "limits" not in cutwise("fit", path, "--labels-from", "lab", "--never", "lab").out


def test_rows_that_take_no_part_are_told(cutwise, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,lab,w\n1,0,1\n2,0,0\n3,-1,0\n8,1,1\n9,1,0\n")
    noisy = cutwise("fit", path, "--labels-from", "lab", "--drop", "w")
    assert "rows labeled -1 (noise): 1 of 5" in noisy.err
    words = tmp_path / "words.csv"
    words.write_text("a,lab\n1,low\n2,low\n3,-1\n8,high\n9,high\n")
    told = cutwise("fit", words, "--labels-from", "lab")
    assert "rows labeled -1 (noise): 1 of 5" in told.err
    assert told.out.startswith(f"{words}: 5 rows")
    assert "2 clusters" in told.out
    weighed = cutwise("fit", path, "-k", 2, "--drop", "lab", "--weights", "w")
    assert "rows of weight 0: 3 of 5" in weighed.err


def test_identifiers_that_rows_share_are_used_where_an_option_names_them(cutwise, tmp_path):
    path, rng = tmp_path / "visits.csv", np.random.default_rng(0)
    pd.DataFrame({"person_id": np.arange(90) // 3, "a": rng.normal(size=90)}).to_csv(path, index=False)
    assert "left out: person_id (identifiers that several rows share)" in cutwise("fit", path, "-k", 2).err
    for option in ("--cut-only", "--category", "--only"):
        done = cutwise("fit", path, "-k", 2, option, "person_id")
        assert done.code == 0
        assert "left out" not in done.err
