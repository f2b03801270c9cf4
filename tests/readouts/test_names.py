"""Names of clusters: what may be one, and that every readout and file has them."""

import json

import numpy as np
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, export_text, load_model
from cutwise.exceptions import InvalidInputError, UnsupportedInputError
from cutwise.readouts.labeled_tree import LabeledTree, read_cluster_names
from tests.each import each
from tests.readouts.reading import read_rules, read_tree
from tests.readouts.test_rules import small_tree
from tests.readouts.test_words import NASTY

X = np.array([[1.0, 5], [2, 5], [8, 6], [9, 7], [30, 7], [31, 8]])
Y = np.array([0, 0, 1, 1, 2, 2])


@pytest.fixture
def model():
    return ClusterExplainer().fit(X, Y)


class TestWhatMayBeAName:
    def test_new_names_go_on_top_of_those_that_are_known(self):
        known = read_cluster_names([0, 1, 2], {2: "c", 0: "a"})
        assert known == {0: "a", 2: "c"}
        assert list(known) == [0, 2]
        assert read_cluster_names([0, 1, 2], {2: None, 1: "b"}, known) == {0: "a", 1: "b"}
        assert read_cluster_names([0, 1, 2], None, known) == known
        assert read_cluster_names([0, 1, 2], {}, known) == known

    def test_two_names_can_be_exchanged_in_one_step(self):
        known = {0: "a", 1: "b"}
        assert read_cluster_names([0, 1], {0: "b", 1: "a"}, known) == {0: "b", 1: "a"}

    def test_labels_are_given_back_as_they_are(self):
        assert read_cluster_names([0, 1], {np.int32(1): "b", 0.0: "a"}) == {0: "a", 1: "b"}
        assert all(type(label) is int for label in read_cluster_names([0, 1], {np.int64(1): "b"}))
        assert read_cluster_names([False, True], {True: "yes"}) == {True: "yes"}

    def test_titles_are_names_or_else_labels(self):
        tree = small_tree()
        assert LabeledTree(tree, cluster_names={1: "b"}).titles == [0, "b", 2]
        assert LabeledTree(tree, classes=np.array([0, "x", True], dtype=object)).titles == [0, "x", True]

    @pytest.mark.parametrize(
        ("labels", "names", "message"),
        [
            ([0, 1], {5: "x"}, r"no cluster 5\. The clusters are 0, 1"),
            ([0, 1], {"1": "x"}, r"no cluster '1'\. Did you mean 1\?"),
            (["young", "old"], {"Young": "x"}, r"Did you mean 'young'\?"),
            ([0, 1], {0: ""}, "name of cluster 0 is empty"),
            ([0, 1], {0: " \n"}, "name of cluster 0 is empty"),
            ([0, 1], {0: "x", 1: "x"}, "Clusters 0 and 1 are both named 'x'"),
            ([0, 1], {0: "1"}, "named '1', which is the label of another"),
            (["a", "b"], {"a": "b", "b": "a"}, "the label of another"),
        ],
    )
    def test_what_could_be_mistaken_is_refused(self, labels, names, message):
        with pytest.raises(InvalidInputError, match=message):
            read_cluster_names(labels, names)

    @pytest.mark.parametrize("names", [{0: 7}, {0: b"x"}, ["a", "b"], "ab", 3])
    def test_a_name_is_text_in_a_mapping(self, names):
        with pytest.raises(UnsupportedInputError, match="name"):
            read_cluster_names([0, 1], names)

    def test_a_cluster_may_be_named_like_its_own_label(self):
        assert read_cluster_names([0, "a"], {0: "0", "a": "a"}) == {0: "0", "a": "a"}

    def test_a_name_that_a_known_one_has_is_refused(self):
        with pytest.raises(InvalidInputError, match="both named 'a'"):
            read_cluster_names([0, 1], {1: "a"}, {0: "a"})


class TestAModelThatRemembers:
    def test_it_starts_without_names_and_forgets_them_with_its_clusters(self, model):
        assert model.cluster_names_ == {}
        assert model.name_clusters({0: "a"}) is model
        assert model.cluster_names_ == {0: "a"}
        assert model.fit(X, Y).cluster_names_ == {}

    def test_predict_goes_on_giving_labels(self, model):
        before = model.predict(X)
        assert np.array_equal(model.name_clusters({0: "a", 1: "b"}).predict(X), before)

    def test_every_text_has_them(self, model):
        model.name_clusters({0: "the young", 1: "families"})
        told = [str(model.rules()), export_text(model), export_text(model, form="rules"), "\n".join(model.explain(X))]
        for text in told:
            assert "cluster `the young`" in text
            assert "cluster families" in text
            assert "cluster 2" in text
            assert "cluster 0" not in text

    def test_names_for_one_time_go_on_top_and_are_forgotten(self, model):
        model.name_clusters({0: "a", 1: "b"})
        once = {1: "c", 0: None}
        for text in (str(model.rules(names=once)), export_text(model, names=once), *model.explain(X[2:3], names=once)):
            assert "cluster c" in text
            assert "cluster a" not in text
        assert model.cluster_names_ == {0: "a", 1: "b"}
        with pytest.raises(InvalidInputError, match="both named 'a'"):
            model.rules(names={1: "a"})

    def test_rules_have_label_and_name(self, model):
        rules = model.name_clusters({1: "b"}).rules()
        assert [(cluster.cluster, cluster.name, cluster.title) for cluster in rules] == [
            (0, None, 0),
            (1, "b", "b"),
            (2, None, 2),
        ]
        assert rules[1].rules[0].title == "b"
        data = json.loads(json.dumps(rules.to_dict()))["clusters"]
        assert [(cluster["cluster"], cluster["name"]) for cluster in data] == [(0, None), (1, "b"), (2, None)]
        assert data[1]["rules"][0]["name"] == "b"

    def test_a_model_that_is_not_fitted_has_no_clusters_to_name(self):
        with pytest.raises(ValueError, match="not fitted"):
            ExplainableKMeans().name_clusters({0: "a"})

    @pytest.mark.parametrize("labels", [Y, Y.astype(bool), Y.astype(float), np.array(["é", "b", "`"])[Y]])
    def test_files_hold_them(self, labels, tmp_path):
        model = ClusterExplainer().fit(X, labels)
        model.name_clusters({model.classes_[0]: 'the "young"\n', model.classes_[-1]: "年齢"})
        model.save(tmp_path / "m.json")
        again = load_model(tmp_path / "m.json")
        assert again.cluster_names_ == model.cluster_names_
        assert str(again.rules()) == str(model.rules())
        again.save(tmp_path / "n.json")
        assert (tmp_path / "m.json").read_bytes() == (tmp_path / "n.json").read_bytes()

    def test_a_file_written_before_there_were_names_has_none(self, model, tmp_path):
        model.save(tmp_path / "m.json")
        document = json.loads((tmp_path / "m.json").read_text("utf-8"))
        del document["fitted"]["cluster_names"]
        del document["checksum"]
        (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
        assert load_model(tmp_path / "m.json").cluster_names_ == {}

    @each("start", range(0, len(NASTY), 3))
    def test_any_name_can_be_read_back(self, model, start):
        names = [name for name in (NASTY + NASTY)[start : start + 4] if name.strip() and name != "2"][:2]
        model.name_clusters(dict(enumerate(names)))
        titles = [*names, "2"]
        expected = [titles[label] for label in model.predict(X)]
        rows = [{"x0": row[0], "x1": row[1]} for row in X]
        assert [read_rules(str(model.rules()))(row) for row in rows] == expected
        tree = export_text(model).partition("\n")[2]
        assert [read_tree(tree)(row) for row in rows] == expected
