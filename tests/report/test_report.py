"""The report says what the model says, in every form, and no name in it is more than text."""

import json
import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cutwise
from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, load_model
from cutwise.exceptions import CutwiseWarning, InvalidInputError, MissingDependencyError
from cutwise.readouts.report.render import _with_breaks, curve_chart, report_html
from cutwise.readouts.words import percent
from tests.each import each
from tests.plot.models import people
from tests.report.made import NASTY, made, nasty

pytest.importorskip("jinja2", reason="jinja2 is not installed")

X = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def wine():
    model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(X)
    return model, cutwise.report(model, X, source="wine.csv")


class TestTheSummary:
    def test_the_headline_is_the_model(self, wine):
        model, report = wine
        told = report.summary["headline"]
        assert told["cost_ratio"] == model.cost_ratio_
        assert (told["explained"], told["reference_explained"]) == (model.explained_, model.reference_explained_)
        assert told["cost"] == model.cost_
        assert told["reference_cost"] == model.reference_.cost
        assert (told["n_leaves"], told["depth"], told["n_clusters"]) == (model.n_leaves_, model.depth_, 3)
        assert told["agreement"] == pytest.approx((model.labels_ == model.reference_.labels).mean())
        size = cutwise.metrics.weighted_average_explanation_size(model, X)
        assert told["explanation_size"] == pytest.approx(size)

    def test_the_clusters_are_the_rules(self, wine):
        model, report = wine
        for told, cluster in zip(report.summary["clusters"], model.rules(), strict=True):
            assert told["label"] == cluster.cluster
            assert (told["size"], told["purity"], told["coverage"]) == (cluster.size, cluster.purity, cluster.coverage)
            assert [rule["text"] for rule in told["rules"]] == [str(rule) for rule in cluster.rules]
            assert told["rules"][0]["text"] == " and ".join(told["rules"][0]["conditions"])
            assert told["rows"] == (model.labels_ == cluster.cluster).sum()

    def test_names_of_wide_tables_are_told_apart_among_those_that_are_shown(self):
        rng = np.random.default_rng(0)
        wide, groups = rng.normal(size=(60, 400)), np.arange(60) % 3
        wide[np.arange(60), 7 * groups] += 9  # columns 0, 7 and 14 are shown
        names = [f"{'share of the whole revenue of the branch' * 2} {j:03d}" for j in range(400)]
        table = pd.DataFrame(wide, columns=names)
        model = ClusterExplainer(algorithm="expand").fit(table, groups)
        summary = cutwise.report(model, table, y=groups, curve=False).summary
        told = {column["name"]: column["short"] for column in summary["columns"]}
        assert {names[j] for j in model.tree_.feature if j >= 0} <= told.keys()
        assert len(set(told.values())) == len(told) == 200
        assert all(len(short) <= 44 and name.endswith(short[-3:]) for name, short in told.items())

    def test_profiles_are_those_of_the_rows(self, wine):
        model, report = wine
        columns = [column["name"] for column in report.summary["columns"]]
        for told in report.summary["clusters"]:
            own = X[model.labels_ == told["label"]]
            strengths = [abs(entry["difference"]) for entry in told["profile"]]
            assert strengths == sorted(strengths, reverse=True)
            for entry in told["profile"]:
                assert entry["mean"] == pytest.approx(own[columns[entry["column"]]].mean())
                assert sum(entry["counts"]) == len(own)

    def test_the_nodes_are_the_tree(self, wine):
        model, report = wine
        assert [node["rows"] for node in report.summary["tree"]] == model.tree_.n_node_samples.tolist()
        assert [node["level"] for node in report.summary["tree"]] == model.tree_.node_depth.tolist()
        for node in report.summary["tree"]:
            assert sum(rows for _, rows in node["by_cluster"]) == node["rows"]
            assert (node["cluster"] is None) == (model.tree_.feature[node["node"]] >= 0)
            assert not set("`") & set(node["shown"] + (node["path"] or ""))
            assert "<=" not in node["shown"] + (node["path"] or "")

    def test_the_curve_is_the_cost_curve(self, wine):
        model, report = wine
        assert report.summary["curve"] == cutwise.cost_curve(model, X).to_dict()

    def test_plain_cart_stands_beside(self, wine):
        model, report = wine
        tree = DecisionTreeClassifier(max_leaf_nodes=model.n_leaves_, random_state=0).fit(X, model.reference_.labels)
        codes, Z = tree.predict(X), model.preprocessor_.transform(X)
        cost = sum(((Z[codes == c] - Z[codes == c].mean(axis=0)) ** 2).sum() for c in range(3))
        told = report.summary["headline"]["cart"]
        assert told["agreement"] == pytest.approx((codes == model.reference_.labels).mean())
        assert told["cost_ratio"] == pytest.approx(cost / model.reference_.cost)
        said = f"cost ratio {told['cost_ratio']:.4f}, agreement {100 * told['agreement']:.1f}\u00a0%"
        assert said in report.to_html()
        assert said in report.to_markdown()

    def test_every_entry_is_documented(self, wine):
        readme = Path(cutwise.__file__).parent.joinpath("readouts", "report", "README.md").read_text(encoding="utf-8")
        told = wine[1].summary
        nested = [told["headline"], told["source"], told["clusters"][0], told["columns"][0], told["tree"][0]]
        nested += [told["clusters"][0]["rules"][0], told["clusters"][0]["profile"][0]]
        for key in {*told, *(key for part in nested for key in part)}:
            assert f"`{key}`" in readme, key

    def test_it_survives_json(self, wine):
        assert json.loads(wine[1].to_json()) == wine[1].summary


class TestWhatCannotBeSaid:
    def test_other_rows_are_counted_and_the_figures_of_fit_are_named_as_such(self, wine):
        model, _ = wine
        summary = cutwise.report(model, X[:40]).summary
        assert summary["source"] == {"name": None, "n_rows": 40, "n_columns": 13, "is_fit": False}
        assert sum(cluster["rows"] for cluster in summary["clusters"]) == 40
        assert summary["clusters"][0]["purity"] == model.rules()[0].purity
        assert summary["curve"] is None
        assert any("These 40 rows are not the 178 of fit" in note for note in summary["notes"])
        assert any("This row is not the 178" in note for note in cutwise.report(model, X[:1]).summary["notes"])

    def test_weights_that_fit_did_not_have_are_those_of_shares_alone(self, wine):
        notes = cutwise.report(wine[0], X, sample_weight=np.arange(178)).summary["notes"]
        once = "Rows, means, distributions, agreement, purity, coverage and costs count each row once"
        assert f"Shares use the weights. {once}, whatever its weight." in notes

    def test_weights_of_fit_that_a_report_lacks_are_noted(self):
        model = ExplainableKMeans(2, preprocessor=None, random_state=0).fit(X, sample_weight=np.arange(1, 179))
        summary = cutwise.report(model, X, curve=False).summary
        assert summary["reproduce"] == [
            "ExplainableKMeans(n_clusters=2, preprocessor=None, random_state=0).fit(X, sample_weight=sample_weight)"
        ]
        assert summary["notes"] == [
            "Agreement, purity, coverage and costs use weights of rows. The rest counts each row once."
        ]

    def test_costs_are_those_of_the_rows_and_the_tree_of_fit_or_not_known(self, wine, tmp_path):
        unknown = "costs are unknown: the rows were recounted after fit, or the tree was edited"
        wine[0].save(tmp_path / "m.json")
        document = json.loads((tmp_path / "m.json").read_text())
        document["fitted"]["tree"]["threshold"][0] += 1
        (tmp_path / "edited.json").write_text(json.dumps(document))
        scaled = X * np.where(np.isin(np.arange(13), wine[0].tree_.feature), 1, 100)  # the same leaves
        for name, rows in (("m", None), ("m", X[:90]), ("m", X), ("m", scaled), ("edited", X)):
            model = load_model(tmp_path / f"{name}.json")
            model = model if rows is None else model.recount(rows)
            report = cutwise.report(model, X if rows is None else rows, curve=False)
            figures = [
                report.summary["headline"][name] for name in ("cost", "reference_cost", "cost_ratio", "explained")
            ]
            assert [figure is not None for figure in figures] == [rows is None] * 4
            assert len(report.summary["reproduce"]) == (rows is None)
            for text, n in ((report.to_markdown(), 2), (report.to_html(), 2), (cutwise.export_text(model), 1)):
                assert text.count(unknown) == n * (rows is not None)
                assert "nan" not in text
        notes = cutwise.report(load_model(tmp_path / "m.json").recount(X), X).summary["notes"]
        assert "The cost curve is left out: the cost of this tree is unknown." in notes

    def test_a_loaded_model_gives_the_same_report(self, wine, tmp_path):
        model, report = wine
        model.save(tmp_path / "model.json")
        assert cutwise.report(load_model(tmp_path / "model.json"), X, source="wine.csv").summary == report.summary

    def test_a_preprocessor_that_the_file_lacks_costs_the_curve(self, tmp_path):
        ExplainableKMeans(3, preprocessor=PCA(2), random_state=0).fit(X).save(tmp_path / "model.json")
        summary = cutwise.report(load_model(tmp_path / "model.json"), X).summary
        assert summary["curve"] is None
        assert any("curve" in note and "preprocessor" in note for note in summary["notes"])

    def test_given_clusters_need_their_labels_for_the_curve(self, tmp_path):
        y = np.array(["a", "b", "c"])[load_wine().target]
        model = ClusterExplainer().fit(X, y)
        summary = cutwise.report(model, X).summary
        assert summary["headline"]["reference"] == "the given clusters"
        assert summary["curve"]["n_leaves"][0] == 3
        model.save(tmp_path / "model.json")
        again = load_model(tmp_path / "model.json")
        without = cutwise.report(again, X).summary
        assert without["curve"] is None
        assert any("needs the clusters that the model explains" in note for note in without["notes"])
        assert cutwise.report(again, X, y=y).summary["curve"] == summary["curve"]

    def test_its_point_of_this_tree_and_the_headline_are_one_figure_also_by_fractions_of_weights(self):
        rng = np.random.default_rng(1)
        X, names = rng.normal(size=(200, 3)), ("cost", "cost_ratio", "explained", "agreement")
        for _ in range(5):
            weights = rng.random(200)
            model = ExplainableKMeans(4, max_leaves=6, random_state=0).fit(X, sample_weight=weights)
            summary = cutwise.report(model, X, sample_weight=weights).summary
            headline, curve = summary["headline"], summary["curve"]
            at = curve["n_leaves"].index(headline["n_leaves"])
            assert {name: curve[name][at] for name in names} == {name: headline[name] for name in names}
            assert curve["reference_explained"] == headline["reference_explained"]

    def test_a_weighted_fit_needs_its_weights_for_the_curve(self):
        weights = np.arange(len(X)) % 3 + 1.0
        model = ExplainableKMeans(3, preprocessor=None, random_state=0).fit(X, sample_weight=weights)
        without = cutwise.report(model, X).summary
        assert without["curve"] is None
        assert any("were there weights" in note for note in without["notes"])
        assert cutwise.report(model, X, sample_weight=weights).summary["curve"] is not None

    def test_the_call_that_makes_it_again_names_labels_and_weights(self):
        X = pd.DataFrame({"a": [0.0, 1.0, 9.0, 10.0], "n": [1.0, 2.0, 1.0, 3.0], "kind": ["x", "x", "y", "y"]})
        weighted = ExplainableKMeans(2, random_state=0).fit(X[["a"]], sample_weight=X["n"])
        made = cutwise.report(weighted, X[["a"]], sample_weight=X["n"]).summary["reproduce"]
        assert made[0].endswith(".fit(X, sample_weight=sample_weight)")
        labeled = ClusterExplainer().fit(X, "kind", sample_weight="n")
        made = cutwise.report(labeled, X, y="kind", sample_weight="n").summary["reproduce"]
        assert made == ["ClusterExplainer().fit(X, 'kind', sample_weight='n')"]
        spaced = X[["a", "n"]].rename(columns={"a": "a  b"})
        made = cutwise.report(ExplainableKMeans(2, cut_features=["a  b"], random_state=0).fit(spaced), spaced)
        assert "cut_features=['a  b']" in made.summary["reproduce"][0]

    @pytest.mark.parametrize(
        ("model", "call"),
        [
            (ClusterExplainer(max_leaves=4), "ClusterExplainer(max_leaves=4).fit(X, y)"),
            (ExplainableKernelKMeans(3, reference=["a", "b", "c"] * 40), "n_clusters=3, reference=reference).fit(X)"),
            (ExplainableKMeans(3, reference=np.eye(2, 3).T), "n_clusters=3, reference=reference).fit(X)"),
            (ExplainableKMeans(3, random_state=np.random.RandomState(0)), "random_state=random_state).fit(X)"),
            (
                ExplainableKernelKMeans(2, kernel=lambda A, B: A @ B.T, algorithm="expand", random_state=0),
                "kernel=kernel, n_clusters=2, random_state=0).fit(X)",
            ),
            (
                ExplainableKMeans(3, preprocessor=FunctionTransformer(np.sinh), random_state=0),
                "preprocessor=preprocessor, random_state=0).fit(X)",
            ),
            (
                ExplainableKMeans(3, preprocessor=PCA(2), random_state=0),
                "preprocessor=PCA(n_components=2), random_state=0).fit(X)",
            ),
        ],
    )
    def test_the_call_that_makes_it_again_can_be_run(self, model, call):
        table, y = X[["hue", "ash"]][:120], np.arange(120) % 3
        made = cutwise.report(model.fit(table, y), table, curve=False).summary["reproduce"][0]
        assert made.endswith(call)
        scope = {**vars(cutwise), "PCA": PCA, "X": table, "y": y, **model.get_params()}
        assert repr(eval(made, scope)) == repr(model)

    @pytest.mark.parametrize("of_noise", [0, 7])
    def test_shares_go_by_weight_and_rows_of_weight_0_are_those_of_fit(self, of_noise):
        weights = np.array([0.0, 0.5, 9.0])[np.arange(len(X)) % 3]
        y = np.where(np.arange(len(X)) < of_noise, -1, load_wine().target)
        model = ClusterExplainer(max_leaves=4).fit(X, y, sample_weight=weights)
        report = cutwise.report(model, X, y=y, sample_weight=weights)
        summary, placed = report.summary, model.predict(X)
        assert summary["source"]["is_fit"]
        assert summary["curve"] is not None
        assert sum("count each row once, whatever its weight" in note for note in summary["notes"]) == 1
        for told in summary["clusters"]:
            here = placed == told["label"]
            share = weights[here].sum() / weights.sum()
            assert (told["rows"], told["rows_share"]) == (here.sum(), pytest.approx(share))
            assert f"{here.sum()} rows of 178 ({percent(share)} of the weight)" in told["sentence"]
            assert f"| {told['title']} | {here.sum()} | {percent(share)} |" in report.to_markdown()
            nodes = [node for node in summary["tree"] if node["cluster"] == told["code"]]
            assert sum(node["share"] for node in nodes) == pytest.approx(share)
            assert sum(node["rows"] for node in nodes) == here.sum()
            assert [(rule["leaf"], rule["rows"]) for rule in told["rules"]] == [(n["node"], n["rows"]) for n in nodes]
            for rule in told["rules"] if len(nodes) > 1 else ():
                assert f'<span class="n">{rule["rows"]} rows, purity' in report.to_html()
            root = dict(summary["tree"][0]["by_cluster"])
            assert root[told["code"]] == pytest.approx(weights[here].sum())

    @pytest.mark.parametrize(
        ("weights", "wrong"),
        [
            (-np.ones(178), "Negative values"),
            (np.ones(177), r"expected \(178,\)"),
            (np.full(178, np.nan), "contains NaN"),
            (np.full(178, np.inf), "contains infinity"),
            (np.zeros(178), "at least one non-zero"),
            (np.ones((178, 2)), "1D array"),
            (["a"] * 178, "must hold numbers"),
        ],
    )
    def test_wrong_weights_are_refused_before_anything_is_written(self, wine, tmp_path, weights, wrong):
        with pytest.raises(InvalidInputError, match=wrong):
            cutwise.report(wine[0], X, tmp_path / "report.md", curve=False, sample_weight=weights)
        assert not list(tmp_path.iterdir())

    def test_limits_and_what_they_cost_are_said_in_every_form(self):
        table = X.rename(columns={"proline": "<i>*proline*</i>"})
        limits = {"max_depth": 2, "cut_features": ["alcohol", "<i>*proline*</i>"]}
        model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0, **limits).fit(table)
        words = "only cuts on alcohol, <i>*proline*</i>; depth at most 2"
        said = f"Limits: {100 * model.limits_price_:+.1f} % ({words})."
        report = cutwise.report(model, table, curve=False)
        assert said in report.summary["notes"]
        assert said.replace("<", "&lt;").replace(">", "&gt;") in report.to_html()
        assert said.replace("<", "&lt;").replace("*", "\\*") in report.to_markdown()

    def test_noise_and_a_reference_without_cost_are_said(self):
        y = np.where(np.arange(8) < 2, -1, np.arange(8) % 2)
        rows = np.array([[0.5], [0.6], [0.0], [1.0], [0.0], [1.0], [0.0], [1.0]])
        report = cutwise.report(ClusterExplainer().fit(rows, y), rows)
        assert report.summary["headline"]["noise"] == 2
        assert report.summary["headline"]["cost_ratio"] is None
        assert sum(cluster["noise"] for cluster in report.summary["clusters"]) == 2
        assert "have cost 0, so there is no ratio" in report.to_html()
        assert "cost ratio: none" in report.to_markdown()

    def test_the_table_of_clusters_is_right_by_hand_where_rows_are_noise(self):
        y = np.array(["a", "b", "c"], dtype=object)[load_wine().target]
        y[::7] = "-1"
        model = ClusterExplainer(max_leaves=4).fit(X, y)
        report = cutwise.report(model, X, y=y)
        placed, noise = model.predict(X), y == "-1"
        expected = []
        for cluster in ("a", "b", "c"):
            here, theirs = placed == cluster, y == cluster
            purity, coverage = (here & theirs).sum() / (here & ~noise).sum(), (here & theirs).sum() / theirs.sum()
            shares = [percent(share) for share in (here.mean(), purity, coverage)]
            expected.append([cluster, str(here.sum()), shares[0], str((here & noise).sum()), *shares[1:]])
        lines = [line.split(" | ") for line in report.to_markdown().splitlines() if re.match(r"\| [abc] \|", line)]
        assert [[cell.strip("| ") for cell in line[:6]] for line in lines] == expected
        assert f"agreement: {percent((placed == y)[~noise].mean())} (rows on which" in report.to_markdown()
        for text in (report.to_markdown(), report.to_html()):
            assert "26 rows of fit are noise, in no cluster of the reference" in text

    def test_a_tree_of_one_leaf_and_an_empty_cluster_are_reported(self):
        rows = np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 1.2]])
        single = cutwise.report(ExplainableKMeans(1, random_state=0).fit(rows), rows)
        assert "1 cluster, and no test: every row is in the same one." in single.to_html()
        with pytest.warns(CutwiseWarning):
            model = ExplainableKMeans(2, algorithm="imm", reference=np.array([[0.0, 1.0], [0.0, 1.0]])).fit(rows)
        empty = cutwise.report(model, rows)
        assert "No leaf of the tree holds this cluster" in empty.to_html()
        assert "no leaf holds it" in empty.to_markdown()


class TestSql:
    def test_what_a_card_copies_selects_its_rows(self, wine):
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        pytest.importorskip("sqlglot", reason="sqlglot is not installed")
        model, _ = wine
        table = X.rename(columns={"alcohol": "cluster", "hue": 'it\'s "hue"'})
        renamed = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(table)
        sql = cutwise.report(renamed, table, table="wines").summary["sql"]
        connection = duckdb.connect()
        connection.register("wines", table)
        for label, after in enumerate(sql["after"]):
            rows = connection.sql(sql["before"] + sql["statement"] + after).df()
            assert len(rows) == (model.labels_ == label).sum()

    @pytest.mark.parametrize("labels", [["it's", 'a "b"', "c\\d"], [True, False, True], [-5, 0, 10**12]])
    def test_labels_of_every_kind_are_written_as_values(self, labels):
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        pytest.importorskip("sqlglot", reason="sqlglot is not installed")
        y = np.array(labels)[load_wine().target]
        model = ClusterExplainer().fit(X, y)
        sql = cutwise.report(model, X, curve=False).summary["sql"]
        connection = duckdb.connect()
        connection.register("data", X)
        for label, after in zip(model.classes_, sql["after"], strict=True):
            assert len(connection.sql(sql["before"] + sql["statement"] + after).df()) == (model.labels_ == label).sum()

    def test_an_unknown_dialect_is_refused(self, wine):
        with pytest.raises(InvalidInputError, match="dialect='postgre' is not a valid option"):
            cutwise.report(wine[0], X, dialect="postgre")

    def test_without_sqlglot_the_report_says_which_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sqlglot", None)
        monkeypatch.delitem(sys.modules, "cutwise.readouts.sql_writer", raising=False)
        rows = [[0.0], [1.0], [9.0], [10.0]]
        made = cutwise.report(ExplainableKMeans(2, random_state=0).fit(rows), rows)
        assert made.summary["sql"] is None
        assert made.summary["notes"][0].startswith("SQL is left out: ")
        assert 'pip install "cutwise[sql]"' in made.summary["notes"][0]
        assert "Copy SQL" not in made.to_html()


class ParsedPage(HTMLParser):
    """The tags of a page with their attributes, and whether each was closed."""

    VOID = frozenset({"meta", "link", "br", "wbr", "img", "input", "path", "line", "polyline", "circle"})

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


class TestThePage:
    def test_it_is_well_formed_and_ids_are_unique(self, wine):
        found = ParsedPage(wine[1].to_html())
        assert found.open == []
        ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        for _, attrs in found.tags:
            for name in ("aria-labelledby", "href"):
                for target in attrs.get(name, "").split():
                    if name == "aria-labelledby" or target.startswith("#"):
                        assert target.removeprefix("#") in ids

    def test_it_refers_to_nothing_outside(self, wine):
        html = wine[1].to_html()
        assert "http:" not in html
        assert "https:" not in html
        for tag, attrs in ParsedPage(html).tags:
            assert tag not in {"img", "iframe", "object", "embed", "base"}
            assert "src" not in attrs
            assert attrs.get("href", "#").startswith(("#", "data:,"))
        assert "url(" not in html
        assert "@import" not in html

    def test_the_same_input_gives_the_same_bytes(self, wine):
        model, report = wine
        assert cutwise.report(model, X, source="wine.csv").to_html() == report.to_html()

    @pytest.mark.parametrize("long", [False, True])
    def test_a_table_of_thirty_columns_and_thirty_clusters_stays_under_a_megabyte(self, long):
        _, _, report = made(30, long=long, extra=10)
        assert len(report.to_html().encode()) < 1_000_000

    def test_names_are_only_text(self):
        _, _, report = nasty()
        html = report.to_html()
        found = ParsedPage(html)
        assert found.open == []
        assert [tag for tag, _ in found.tags].count("script") == 1
        assert [tag for tag, _ in found.tags].count("style") == 1
        assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)
        assert not any(tag in {"img", "b"} and attrs for tag, attrs in found.tags)
        script = html[html.index("<script>") : html.index("</script>")]
        assert not any(name in script for name in NASTY)
        assert "49" not in re.sub(r"[\d.]*\d\d[\d.]*", "", html)

    def test_the_script_that_the_policy_allows_is_the_one_in_the_page(self, wine):
        import base64
        import hashlib

        html = wine[1].to_html()
        script = html.partition("<script>")[2].partition("</script>")[0]
        hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{hashed}'" in html

    def test_markdown_cannot_be_broken_by_names(self):
        _, _, report = nasty()
        markdown = report.to_markdown()
        prose = "\n".join(line for line in markdown.splitlines() if not line.startswith("    "))  # the rest is code
        assert "<script" not in prose
        assert "<img" not in prose
        table = markdown.partition("|---|--:|--:|--:|--:|---|\n")[2].partition("\n\n")[0]
        for line in table.splitlines():
            assert len(re.findall(r"(?<!\\)\|", line)) == 7

    def test_what_does_not_set_a_cluster_apart_is_not_said_to(self):
        rows = np.array([[-9.0], [-8], [-1], [0], [1], [8], [9]])
        ring = ClusterExplainer(max_leaves=3).fit(rows, ["far", "far", "near", "near", "near", "far", "far"])
        page = cutwise.report(ring, rows).to_html()
        assert page.count("No mean stands out") == 2
        assert "What sets it apart" not in page

    def test_a_share_of_next_to_nothing_is_no_headline(self):
        table = pd.DataFrame({"a": np.arange(400.0)})
        labels = np.where((table["a"] % 3 == 0) | (table["a"] > 390), "b", "c")
        model = ClusterExplainer(max_leaves=3).fit(table, labels)
        made = cutwise.report(model, table)
        assert made.summary["headline"]["explained"] > 1
        for page in (made.to_html(), made.to_markdown()):
            assert "next to nothing" in page
            assert re.search(r">n/a</span><span class=.label.>explained|- explained: n/a \(", page)

    def test_a_line_break_of_two_characters_in_a_name_is_copied_as_it_is(self):
        table = pd.DataFrame({"a\r\nb": [1.0, 2, 8, 9]})
        made = cutwise.report(ClusterExplainer().fit(table, [0, 0, 1, 1]), table)
        text, sql = made.to_html().replace("\r\n", "\n"), made.summary["sql"]  # as browsers read it
        page = ParsedPage(text)
        assert sql["statement"] in unescape(text)
        copies = [attrs for _, attrs in page.tags if attrs.get("data-before")]
        assert [own["data-before"] + own["data-after"] for own in copies] == [sql["before"] + x for x in sql["after"]]

    def test_no_name_turns_the_text_around_it(self):
        table = pd.DataFrame({"a\u202eb": [1.0, 2, 8, 9], "\u05d2\u05d9\u05dc": [1.0, 5, 1, 9]})
        model = ClusterExplainer().fit(table, ["x\u202ey", "x\u202ey", "z", "\u05e9\u05e0\u05d9"])
        made = cutwise.report(model, table, title="t\u202e", source="s\u2066", reproduce=["fit 'a\u202eb'"])
        code, command = made.summary["sql"], 1  # these are to be copied
        html, markdown = made.to_html(), made.to_markdown()
        copied = "".join([code["statement"], *[code["before"] + after for after in code["after"]]])
        assert html.count("\u202e") == copied.count("\u202e") + command
        assert markdown.count("\u202e") == command
        for page in (html, markdown):
            assert "\u2066" not in page
            assert "x\\u202ey" in page.replace("\\\\", "\\")
        assert "<bdi>\u05d2\u05d9\u05dc</bdi>" in html
        assert "\u2068\u05e9\u05e0\u05d9\u2069" in html  # in attributes
        shown = model.rules()._repr_html_()
        assert "\u202e" not in shown
        assert "<bdi>\u05e9\u05e0\u05d9</bdi></span>" in shown

    def test_without_jinja2_the_extra_is_named(self, monkeypatch):
        for name in ("jinja2", "markupsafe"):  # the second comes with the first
            monkeypatch.setitem(sys.modules, name, None)
        rows = [[0.0], [1.0], [9.0], [10.0]]
        made = cutwise.report(ExplainableKMeans(2, random_state=0).fit(rows), rows)
        assert made.to_json()
        with pytest.raises(MissingDependencyError):
            made.to_markdown()
        with pytest.raises(MissingDependencyError) as caught:
            made.to_html()
        named = 'Writing a report needs jinja2, which is not installed. Install it: pip install "cutwise[report]"'
        assert str(caught.value) == named


class TestFiles:
    def test_the_ending_says_the_form(self, wine, tmp_path):
        model, report = wine
        for ending, text in ((".html", report.to_html()), (".md", report.to_markdown()), (".json", report.to_json())):
            path = tmp_path / f"r{ending}"
            report.save(path)
            assert path.read_text(encoding="utf-8") == text
        cutwise.report(model, X, tmp_path / "direct.html", source="wine.csv")
        assert (tmp_path / "direct.html").read_text(encoding="utf-8") == report.to_html()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["direct.html", "r.html", "r.json", "r.md"]

    def test_another_ending_is_refused_before_anything_is_written(self, wine, tmp_path):
        with pytest.raises(InvalidInputError, match=r"ends in \.pdf; a report is written as \.html, \.md or \.json"):
            wine[1].save(tmp_path / "r.pdf")
        with pytest.raises(InvalidInputError, match=r"path=array.* is not a file name.* pass labels as y=labels"):
            cutwise.report(wine[0], wine[0].labels_, wine[0].labels_)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:There are 400 different labels")
def test_a_deep_tree_needs_no_recursion():
    n = 400
    rows = np.arange(n, dtype=float)[:, None]
    model = ClusterExplainer(algorithm="imm").fit(rows, np.arange(n))
    assert report_html(cutwise.report(model, rows, curve=False).summary).count('role="treeitem"') == 2 * n - 1


def test_only_a_fitted_model_is_reported_on():
    with pytest.raises(TypeError, match="report takes a fitted model of cutwise, not list"):
        cutwise.report([], X)


@each("most", [1.0, 1.004, 1.1, 1.2, 1.9, 2.5, 30.0, 2000.0])
def test_ticks_of_the_curve_say_where_they_lie(most):
    names = ("n_leaves", "cost_ratio", "explained", "agreement")
    chart = curve_chart(dict(zip(names, ([2, 3], [most, 0.99], [0.5, 0.9], [1.0, 1.0]), strict=True)), 2)
    above, below = chart["points"]
    for place, text in chart["y_ticks"]:
        share = (float(text) - 0.99) / (most - 0.99)
        assert place == pytest.approx(below["y"] + share * (above["y"] - below["y"]), abs=0.3), text


def test_numbers_are_not_broken():
    assert _with_breaks("od280/od315_of.x ≤ 4.85") == "od280/<wbr>od315_<wbr>of.<wbr>x ≤ 4.85"


def test_dates_durations_and_levels_are_said_as_people_say_them_and_those_that_rules_ask_for_are_there():
    model, table = people()
    summary = cutwise.report(model, table, curve=False).summary
    columns = summary["columns"]
    for cluster, told in zip(model.rules(), summary["clusters"], strict=True):
        own = table[model.labels_ == cluster.cluster]
        texts = {columns[entry["column"]]["short"]: entry["mean_text"] for entry in told["profile"]}
        assert texts["since"] == str((own["since"].mean() + pd.Timedelta(12, "h")).date())
        assert re.fullmatch(r"\d h( \d+ min)?", texts["visit"])
        assert abs(pd.Timedelta(texts["visit"]) - own["visit"].mean()) <= pd.Timedelta(30, "s")
        codes = own["school"].cat.codes.sort_values().to_numpy()
        assert texts["school"] == table["school"].cat.categories[codes[(len(codes) - 1) // 2]]
        if any(condition.name == "region" for rule in cluster.rules for condition in rule.conditions):
            assert {"region = east"} <= set(texts)
        assert len([short for short in texts if short.startswith("region")]) <= 2
        assert "since is higher" not in told["sentence"]
        assert "since is lower" not in told["sentence"]
    assert "since is earlier (2020-0" in summary["clusters"][0]["sentence"]


@pytest.mark.parametrize("form", ["to_html", "to_markdown"])
def test_a_column_without_a_value_in_one_cluster_has_no_difference_there(form):
    x = np.array([[0.0, np.nan], [0.1, np.nan], [9.0, 5.0], [9.1, 6.0], [9.2, 7.0]])
    made = cutwise.report(ExplainableKMeans(2, random_state=0).fit(x), x)
    assert None in [column["difference"] for column in made.summary["clusters"][1]["profile"]]
    assert getattr(made, form)()
