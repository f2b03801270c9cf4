"""In a notebook, rules are a table and a fitted model shows them below scikit-learn's own picture of it."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKMeans, cost_curve, report
from cutwise.readouts.labeled_tree import LabeledTree, LeafCounts
from cutwise.readouts.rules import build_rules
from tests.tree.random_trees import random_tree

X = load_iris(as_frame=True).data
EVIL = "<script>alert(1)</script>"


class Parsed(HTMLParser):
    """What a browser would find: the tags that were opened and not closed, all tags, and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("input", "br", "path", "meta", "link", "col"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("input", "br", "path", "meta", "link", "col"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_rules_are_a_table_with_a_line_for_every_leaf():
    model = ExplainableKMeans(3, max_leaves=5, random_state=0).fit(X)
    found = Parsed(model.rules()._repr_html_())
    assert found.open == []
    several = sum(len(cluster.rules) > 1 for cluster in model.rules())
    assert found.tags.count("tr") == 1 + 5 + several
    for cluster in model.rules():
        for rule in cluster.rules:
            assert str(rule) in found.text


def test_a_fitted_model_shows_its_rules_below_scikit_learns_own_picture():
    model = ExplainableKMeans(3, random_state=0)
    plain = model._repr_mimebundle_()["text/html"]
    assert "cutwise" not in plain.partition("</style>")[2] or "cost ratio" not in plain
    shown = model.fit(X)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert 'class="sk-' in shown["text/html"] or "sk-top-container" in shown["text/html"]
    assert "cost ratio" in shown["text/html"]
    assert model.rules()._repr_html_().partition("<table")[2] in shown["text/html"]
    assert model._repr_html_().endswith("</table></div>")


def test_a_pipeline_around_it_and_the_text_display_are_as_ever():
    assert "ExplainableKMeans" in make_pipeline(StandardScaler(), ExplainableKMeans(3)).fit(X)._repr_html_()
    model = ExplainableKMeans(3, random_state=0).fit(X)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_names_are_escaped():
    frame = pd.DataFrame({EVIL: [0.0, 1.0, 9.0, 10.0]})
    html = ClusterExplainer().fit(frame, ["<b>", "<b>", "c&d", "c&d"]).rules()._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "c&amp;d" in html


def test_a_cluster_without_a_leaf_and_very_many_rules_are_said():
    tree = random_tree(np.random.default_rng(0), n_leaves=90, n_clusters=90)
    ones = np.ones(tree.n_leaves)
    counts = LeafCounts(ones, 0 * ones, ones, ones, np.ones(95))
    html = build_rules(
        LabeledTree(tree, [f"x{i}" for i in range(tree.n_features)], counts, has_names=False)
    )._repr_html_()
    assert "no row reaches a leaf of this cluster" in html
    assert "more lines: print(model.rules()) shows all" in html
    assert Parsed(html).open == []


def test_what_a_model_gives_shows_itself():
    named = X.rename(columns={X.columns[2]: EVIL})
    model = ExplainableKMeans(3, random_state=0).fit(named)
    cluster = model.rules()[0]
    own = model.reference_, model.search_, model.front(named)
    curve, page = cost_curve(model, named, max_leaves=6), report(model, named, curve=False)
    for shown in (cluster, cluster.rules[0], curve, page, *own):
        found = Parsed(shown._repr_html_())
        assert found.open == []
        assert "script" not in found.tags
    assert str(cluster) in Parsed(cluster._repr_html_()).text
    assert Parsed(curve._repr_html_()).tags.count("tr") == 1 + len(curve.n_leaves)
    assert 'srcdoc="&lt;!doctype html&gt;' in page._repr_html_()
    for shown in (cluster, cluster.rules[0], curve, page, *own):
        assert len(repr(shown)) < 250
        assert "\n" not in repr(shown)
