"""``cutwise report``, ``compare`` and ``curve``: what they print and write is what the library says."""

import json
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians, cost_curve, load_model, metrics
from cutwise.baselines import CART
from cutwise.readouts.words import percent
from cutwise.tree.recipes import recipes_for


@pytest.fixture(scope="module")
def wine_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    load_wine(as_frame=True).data.to_csv(path, index=False)
    return path


ALGORITHMS = ["search", "imm", "exgreedy", "exshallow", "exkmc", "CART"]


def test_columns_of_every_table_are_explained_below_it(cutwise, blobs_csv):
    plain = {"algorithm", "leaves", "depth", "cluster", "rows", "share", "rule"}
    for command in ("compare", "curve", "front", "fit"):
        lines = cutwise(command, blobs_csv, "-k", 3, "--max-depth", 3).out.splitlines()
        start = next(i for i, line in enumerate(lines) if "leaves  " in line or "purity" in line)
        columns = lines[start].split("  ")
        explained = {line.split(": ")[0].rstrip(" 0123456789.%") for line in lines[start + 1 :] if ": " in line}
        assert {column.strip() for column in columns} - {""} - plain <= explained, (command, explained)


class TestCompare:
    @pytest.fixture
    def told(self, cutwise, wine_csv):
        return json.loads(cutwise("compare", wine_csv, "-k", 3, "--json").out)

    def test_every_algorithm_and_cart_are_there_once(self, told):
        assert [tree["algorithm"] for tree in told["trees"]] == ALGORITHMS

    def test_figures_are_those_of_the_library(self, told, wine_csv):
        X = pd.read_csv(wine_csv)
        for tree in told["trees"][:-1]:
            options = {"algorithm": tree["algorithm"], "preprocessor": StandardScaler(), "random_state": 0}
            model = ExplainableKMeans(3, **options).fit(X)
            assert tree["cost_ratio"] == pytest.approx(model.cost_ratio_, rel=1e-12)
            assert tree["explained"] == pytest.approx(model.explained_, rel=1e-9)
            assert (tree["n_leaves"], tree["depth"]) == (model.n_leaves_, model.depth_)
            assert tree["agreement"] == pytest.approx((model.labels_ == model.reference_.labels).mean())
            assert tree["wad"] == pytest.approx(metrics.weighted_average_depth(model, X))
            assert tree["waes"] == pytest.approx(metrics.weighted_average_explanation_size(model, X))
            assert tree["seconds"] > 0

    def test_cart_is_priced_against_the_same_clustering(self, told, wine_csv):
        X = pd.read_csv(wine_csv)
        cart = CART(3, preprocessor=StandardScaler(), random_state=0).fit(X)
        assert told["trees"][-1]["cost_ratio"] == pytest.approx(cart.cost_ratio_, rel=1e-9)
        assert told["trees"][-1]["explained"] == pytest.approx(cart.explained_, rel=1e-9)
        assert told["trees"][-1]["n_leaves"] == cart.n_leaves_

    def test_the_table_has_a_line_for_each_and_is_aligned(self, cutwise):
        result = cutwise("compare", "--example", "iris", "--max-leaves", 5)
        assert result.code == 0
        lines = result.out.splitlines()
        assert lines[0].split() == [
            "algorithm",
            "leaves",
            "depth",
            "cost",
            "ratio",
            "explained",
            "agreement",
            "WAD",
            "WAES",
            "seconds",
        ]
        assert [line.split()[0] for line in lines[1:7]] == ALGORITHMS
        assert len({len(line) for line in lines[:7]}) == 1
        model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(load_iris().data)
        assert f"explains ({percent(model.reference_explained_)} of all squared distances)" in result.out

    def test_medians_have_their_own_costs(self, cutwise, blobs, blobs_csv):
        result = cutwise("compare", blobs_csv, "-k", 3, "--objective", "kmedians", "--json")
        told = {tree["algorithm"]: tree for tree in json.loads(result.out)["trees"]}
        model = ExplainableKMedians(3, algorithm="imm", preprocessor=StandardScaler(), random_state=0).fit(blobs)
        assert told["imm"]["cost_ratio"] == pytest.approx(model.cost_ratio_)
        assert told["CART"]["cost"] >= model.reference_.cost * 0.9

    def test_labels_of_a_column_are_explained_by_every_algorithm(self, cutwise, refused, tmp_path):
        iris, path = load_iris(as_frame=True), tmp_path / "iris.csv"
        kinds = iris.target_names[iris.target]
        iris.data.assign(species=kinds).to_csv(path, index=False)
        given = (path, "--labels-from", "species")
        trees = json.loads(cutwise("compare", *given, "--json").out)["trees"]
        assert [tree["algorithm"] for tree in trees] == list(recipes_for("labels"))
        for tree in trees:
            algorithm = tree["algorithm"].lower()
            model = ClusterExplainer(algorithm=algorithm, preprocessor=StandardScaler()).fit(iris.data, kinds)
            assert (tree["agreement"], tree["n_leaves"]) == (model.agreement_, model.n_leaves_)
        best = max(trees, key=lambda tree: (tree["agreement"], -tree["waes"]))["algorithm"]
        assert (
            cutwise("compare", *given).out.splitlines()[-1].startswith(f"recommended: {best} (highest agreement with")
        )
        curve = json.loads(cutwise("curve", *given, "--algorithm", "spex", "--json").out)
        spex = cost_curve(ClusterExplainer(algorithm="spex", preprocessor=StandardScaler()), iris.data, kinds)
        assert curve["agreement"] == spex.agreement.tolist()
        for options in (["-k", 3], ["--objective", "kmedians"]):
            assert f"{options[0]} {options[1]} cannot be used" in refused("compare", *given, *options)
        assert "labels have no cost" in refused("curve", *given, "--within", "2%")

    def test_limits_hold_for_every_tree_and_have_their_price(self, cutwise, wine_csv):
        options = ("--never", "proline,flavanoids", "--max-depth", 2, "--min-leaf", 20)
        result = cutwise("compare", wine_csv, "-k", 3, *options, "--json")
        table = pd.read_csv(wine_csv)
        rest = [name for name in table if name not in ("proline", "flavanoids")]
        limits = {"cut_features": rest, "max_depth": 2, "min_samples_leaf": 20}
        model = ExplainableKMeans(3, algorithm="imm", preprocessor=StandardScaler(), random_state=0, **limits).fit(
            table
        )
        trees = {tree["algorithm"]: tree for tree in json.loads(result.out)["trees"]}
        assert trees["imm"]["limits_price"] == pytest.approx(model.limits_price_)
        assert max(tree["depth"] for tree in trees.values()) == 2
        assert "limits: no cut on" in cutwise("compare", wine_csv, "-k", 3, *options).out
        result = cutwise("compare", wine_csv, "-k", 5, "--max-depth", 2)  # exkmc may leave a cluster without a leaf
        (line,) = [line for line in result.err.splitlines() if "left out" in line]
        assert "search, imm, exgreedy, exshallow: left out: --max-depth 2 allows 4 leaves, fewer than -k 5" in line
        assert line.endswith("Use --max-depth >= 3, or fewer clusters.")  # compare has no --algorithm
        assert [line.split()[0] for line in result.out.splitlines()[1:3]] == ["exkmc", "CART"]

    def test_a_clustering_without_cost_has_no_ratio(self, cutwise, tmp_path):
        pd.DataFrame({"x": [0, 0, 1, 1]}).to_csv(tmp_path / "two.csv", index=False)
        assert "none" in cutwise("compare", tmp_path / "two.csv", "-k", 2).out

    def test_what_is_missing_is_said(self, refused, blobs_csv):
        assert "cutwise compare data.csv -k 5" in refused("compare")
        assert "The number of clusters is missing" in refused("compare", blobs_csv)


class TestCurve:
    def test_it_is_the_cost_curve(self, cutwise, wine_csv):
        told = json.loads(cutwise("curve", wine_csv, "-k", 3, "--max-leaves", 7, "--json").out)
        recipe = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0)
        curve = cost_curve(recipe, pd.read_csv(wine_csv), max_leaves=7).to_dict()
        assert {name: told[name] for name in curve} == curve

    def test_within_marks_the_smallest_tree_prints_its_rules_and_saves_it(self, cutwise, wine_csv, tmp_path):
        model = tmp_path / "model.json"
        result = cutwise("curve", wine_csv, "-k", 3, "--within", "2%", "--model", model)
        chosen = load_model(model)
        marked = [line.split()[0] for line in result.out.splitlines() if line.endswith("<")]
        assert marked == [str(chosen.n_leaves_)] == ["4"]
        assert chosen.cost_ratio_ <= 1.02
        assert "4 leaves are the fewest with a cost within 2% of the clustering's:" in result.out
        for cluster in chosen.rules():
            for rule in cluster.rules:
                assert str(rule) in result.out
        told = json.loads(cutwise("curve", wine_csv, "-k", 3, "--within", "2e-2", "--json").out)
        assert told["chosen"]["n_leaves"] == 4

    @pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
    def test_the_picture_is_what_its_name_says(self, cutwise, wine_csv, tmp_path, ending, start):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        out = tmp_path / f"curve.{ending}"
        result = cutwise("curve", wine_csv, "-k", 3, "--max-leaves", 4, "--out", out, "--within", "3 %")
        assert result.err == f"cutwise: wrote {out}\n"
        assert out.read_bytes().startswith(start)

    @pytest.mark.parametrize("within", ["2", "two", "-1%", "1.5", ""])
    def test_a_share_that_is_none_is_refused(self, refused, wine_csv, within):
        assert "Give a percentage, such as" in refused("curve", wine_csv, "-k", 3, "--within", within)

    def test_what_cannot_be_done_is_refused(self, refused, wine_csv, tmp_path):
        assert "No tree of up to 3 leaves" in refused("curve", wine_csv, "-k", 3, "--max-leaves", 3, "--within", "1%")
        assert "plots are saved as .png, .svg or .pdf" in refused("curve", wine_csv, "-k", 3, "--out", "curve.gif")
        assert "Add --within, such as --within 2%" in refused(
            "curve", wine_csv, "-k", 3, "--model", tmp_path / "m.json"
        )
        assert list(tmp_path.iterdir()) == []

    def test_without_matplotlib_the_extra_is_named_before_any_work(self, refused, wine_csv, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert 'pip install "cutwise[plot]"' in refused("curve", wine_csv, "-k", 3, "--out", tmp_path / "c.png")


class TestReport:
    @pytest.fixture
    def fitted(self, cutwise, wine_csv, tmp_path):
        pytest.importorskip("jinja2", reason="jinja2 is not installed")
        model = tmp_path / "model.json"
        assert cutwise("fit", wine_csv, "-k", 3, "--out", model, "--only", "alcohol,proline,hue").code == 0
        return model

    def test_it_is_the_librarys_report(self, cutwise, fitted, wine_csv, tmp_path):
        result = cutwise(
            "report", fitted, wine_csv, "--out", tmp_path / "r.json", "--name", "0=light", "--title", "Wines"
        )
        assert result.code == 0
        assert result.out == ""
        told = json.loads((tmp_path / "r.json").read_text())
        model = load_model(fitted)
        assert told["title"] == "Wines"
        assert told["headline"]["cost_ratio"] == model.cost_ratio_
        assert told["curve"]["cost_ratio"][0] == model.cost_ratio_
        assert told["clusters"][0]["title"] == "light"
        assert told["source"] == {"name": str(wine_csv), "n_rows": 178, "n_columns": 3, "is_fit": True}

    def test_the_page_and_markdown_are_written_whole(self, cutwise, fitted, wine_csv, tmp_path):
        for ending, start in ((".html", "<!doctype html>"), (".md", "# Clusters in words")):
            out = tmp_path / f"r{ending}"
            result = cutwise("report", fitted, wine_csv, "--out", out)
            assert result.err.splitlines()[-1] == f"cutwise: wrote {out}"
            assert out.read_text(encoding="utf-8").startswith(start)

    @pytest.mark.parametrize(
        "options",
        [
            ["-k", "3", "--scale", "robust", "--algorithm", "imm", "--max-leaves", "5", "--seed", "3"],
            ["-k", "4", "--objective", "kmedians", "--drop", "hue", "--n-init", "2", "--depth-penalty", "0.1"],
            ["--labels-from", "kind", "--scale", "none", "--max-leaves", "6"],
            ["-k", "2", "--weights", "count", "--expansion", "expand"],
            ["-k", "2", "--kernel", "rbf", "--gamma", "0.1", "--max-leaves", "4"],
            [
                "-k",
                "3",
                "--category",
                "kind",
                "--never",
                "ash",
                "--never",
                "hue",
                "--max-depth",
                "4",
                "--name",
                "0=dry",
            ],
        ],
    )
    def test_the_command_it_gives_makes_the_same_model(self, cutwise, wine_csv, tmp_path, options):
        table = pd.read_csv(wine_csv).assign(kind=np.array(["a", "b", "c"])[load_wine().target], count=1)
        table["count"] += np.arange(len(table)) % 2
        path, model = tmp_path / "with spaces.csv", tmp_path / "model.json"
        table.to_csv(path, index=False)
        options = [*options, *(["--drop", "kind"] if "kind" not in options else [])]
        options = [*options, *(["--drop", "count"] if "count" not in options else [])]
        assert cutwise("fit", path, *options, "--out", model).code == 0
        extra = [word for flag in ("--weights", "--labels-from") if flag in options
                 for word in (flag, options[options.index(flag) + 1])]  # fmt: skip
        assert cutwise("report", model, path, "--out", tmp_path / "r.json", *extra).code == 0
        told = json.loads((tmp_path / "r.json").read_text())
        assert told["curve"] is not None
        first = model.read_text()
        fit, report = told["reproduce"]
        assert cutwise(*shlex.split(fit)[1:]).code == 0
        assert model.read_text() == first
        assert cutwise(*shlex.split(report)[1:]).code == 0
        assert json.loads((tmp_path / "r.json").read_text()) == told

    def test_the_command_it_gives_reads_the_file_in_the_same_way(self, cutwise, tmp_path):
        path, model, out = tmp_path / "plain.txt", tmp_path / "model.json", tmp_path / "r.json"
        path.write_text("1;10\n2;11\n8;3\n9;4\n")
        read = ["--separator", ";", "--no-header"]
        assert cutwise("fit", path, "-k", 2, *read, "--out", model).code == 0
        assert cutwise("report", model, path, "--out", out, *read).code == 0
        for command in json.loads(out.read_text())["reproduce"]:
            assert "--separator ';' --no-header" in command
            assert cutwise(*shlex.split(command)[1:]).code == 0

    def test_no_fit_is_given_where_rows_were_counted_anew_since(self, cutwise, wine_csv, tmp_path):
        model, out = tmp_path / "model.json", tmp_path / "r.json"
        assert cutwise("fit", wine_csv, "-k", 3, "--out", model).code == 0
        assert cutwise("recount", model, wine_csv).code == 0
        assert cutwise("report", model, wine_csv, "--out", out).code == 0
        (again,) = json.loads(out.read_text())["reproduce"]
        assert again.startswith("cutwise report ")

    def test_no_command_is_given_of_a_model_that_no_command_made(self, cutwise, fitted, wine_csv, tmp_path):
        X = pd.read_csv(wine_csv)[["alcohol", "proline", "hue"]]
        loose = {"algorithm": "exshallow", "depth_penalty": "auto", "target_waes": 1.5, "random_state": 0}
        ExplainableKMeans(3, preprocessor=StandardScaler(), **loose).fit(X).save(fitted)
        assert cutwise("report", fitted, wine_csv, "--out", tmp_path / "r.json").code == 0
        (again,) = json.loads((tmp_path / "r.json").read_text())["reproduce"]
        assert again.startswith("cutwise report")

    def test_missing_values_can_be_left_out(self, cutwise, refused, fitted, wine_csv, tmp_path):
        table = pd.read_csv(wine_csv)
        table.loc[3, "hue"] = np.nan
        table.to_csv(tmp_path / "gaps.csv", index=False)
        out = tmp_path / "r.json"
        assert "--drop-missing" in refused("report", fitted, tmp_path / "gaps.csv", "--out", out)
        assert cutwise("report", fitted, tmp_path / "gaps.csv", "--out", out, "--drop-missing").code == 0
        told = json.loads(out.read_text())
        assert told["source"]["n_rows"] == 177
        assert any("These 177 rows are not the 178 of fit" in note for note in told["notes"])

    def test_what_cannot_be_written_is_refused(self, refused, fitted, wine_csv, tmp_path):
        assert "written as .html, .md or .json" in refused("report", fitted, wine_csv, "--out", "r.pdf")
        assert "is not a valid option" in refused(
            "report", fitted, wine_csv, "--out", tmp_path / "r.html", "--dialect", "informix"
        )
        assert not (tmp_path / "r.html").exists()

    def test_without_jinja2_the_extra_is_named(self, refused, fitted, wine_csv, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        said = refused("report", fitted, wine_csv, "--out", tmp_path / "r.html")
        assert 'pip install "cutwise[report]"' in said


@pytest.fixture
def noise_csv(tmp_path):
    """Many columns that say nothing: some trees leave a cluster without rows."""
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    pd.DataFrame(rng.normal(size=(60, 40)), columns=[f"c{i}" for i in range(40)]).to_csv(path, index=False)
    return path


def test_compare_says_which_tree_has_an_empty_cluster(cutwise, noise_csv):
    result = cutwise("compare", noise_csv, "-k", 9)
    assert result.code == 0
    lines = result.err.splitlines()
    assert lines
    named = [re.fullmatch(r"cutwise: warning: (\w+): Clusters? .* ended without rows: .*", line) for line in lines]
    assert all(named), result.err
    algorithms = [found[1] for found in named]
    assert len(set(algorithms)) == len(algorithms)
    assert set(algorithms) <= {"search", "imm", "exgreedy", "exshallow", "exkmc", "CART"}


def test_front_is_the_front_and_saves_the_tree_that_it_chooses(cutwise, refused, wine_csv, tmp_path):
    told = json.loads(cutwise("front", wine_csv, "-k", 3, "--json").out)
    front = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).front(pd.read_csv(wine_csv)).to_dict()
    assert {name: told[name] for name in front} == front
    model, out = tmp_path / "model.json", tmp_path / "front.png"
    result = cutwise("front", wine_csv, "-k", 3, "--within", "6%", "--model", model, "--out", out)
    assert load_model(model).cost_ratio_ <= 1.06
    assert "within 6% of the clustering's" in result.out
    assert out.stat().st_size > 0
    assert "Allow more leaves" in refused("front", wine_csv, "-k", 3, "--within", "0.0001%")
    assert "Add --within, such as --within 5%" in refused("front", wine_csv, "-k", 3, "--model", model)


def test_curve_warns_of_the_tree_that_it_chooses_alone(cutwise, noise_csv):
    args = ["curve", noise_csv, "-k", 9, "--seed", 1, "--algorithm", "exkmc", "--max-leaves", 10]
    assert cutwise(*args).err == ""
    chosen = cutwise(*args, "--within", "60%")
    assert chosen.code == 0
    assert "the tree of 9 leaves: Cluster" in chosen.err
    assert len(chosen.err.splitlines()) == 1


def test_the_depth_penalty_may_be_looked_for(cutwise, refused):
    for name in ("fit", "compare", "curve"):
        more = ["--max-leaves", 5] if name == "curve" else []
        assert cutwise(name, "--example", "iris", "--depth-penalty", "auto", *more).code == 0
    assert "--depth-penalty 'atuo'" in refused("fit", "--example", "iris", "--depth-penalty", "atuo")


def test_one_column_is_told_in_the_singular(cutwise, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed (the extra report)")
    table, model, out = tmp_path / "t.csv", tmp_path / "m.json", tmp_path / "r.md"
    table.write_text("a\n1\n2\n8\n9\n")
    assert cutwise("fit", table, "-k", 2, "--out", model).code == 0
    assert cutwise("report", model, table, "--out", out).code == 0
    text = out.read_text(encoding="utf-8")
    assert "1 column. 2 clusters, 2 leaves, depth 1; tests on 1 column." in text
    assert "\n\n## Clusters\n" in text
