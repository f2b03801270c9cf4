"""Limits on columns, depth and leaves, against every cut that they allow."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKMeans, core, load_model, report
from cutwise.baselines import KDTree
from cutwise.exceptions import EmptyClusterWarning, InfeasibleLimitsError, InvalidInputError
from cutwise.table.table import NUMBER, as_matrix
from cutwise.tree import recipes
from cutwise.tree.limits import Limits, NoAllowedCutError
from cutwise.tree.refine_sample import select_columns
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.tree.mixed import Problem
from tests.tree.test_mixed_cuts import induced, is_valid, mistakes, root_sides, shapes, sides, tagged

# The last four have levels whose rows cost as much on either side: limits count them, and so do distinct rows.
SEEDS = [*range(60), 2444, 2688, 502369, 502745]


@dataclass(frozen=True)
class Limited:
    """A problem, and what limits its root: columns, rows of a side for each of its centers, centers of a side."""

    p: Problem
    may_cut: np.ndarray
    least: int
    most: int

    @classmethod
    def of(cls, seed: int) -> "Limited":
        p, rng = shapes(seed), np.random.default_rng(seed + 1000)
        may_cut = rng.random(len(p.kinds)) < 0.7
        may_cut[rng.integers(len(p.kinds))] = True
        return cls(p, may_cut, int(rng.integers(0, 4)), int(rng.integers(1, p.k + 1)))

    def limits(self, max_depth: int | None = None) -> Limits:
        searched = self.p.encoded.searched
        columns = self.may_cut if searched is None else self.may_cut[searched.source]
        return Limits(columns.astype(np.uint8), max_depth, self.least, self.p.weights)

    def counts(self, inside: np.ndarray) -> tuple[int, int]:
        return int(self.p.weights[inside].sum()), int(self.p.weights[~inside].sum())

    def allow(self, inside: np.ndarray, centers: np.ndarray, max_depth: int) -> bool:
        of_side = (int(centers.sum()), int((~centers).sum()))
        enough = all(n >= self.least * m for n, m in zip(self.counts(inside), of_side, strict=True))
        return enough and max(of_side) <= 2 ** (max_depth - 1)


def grown(p: Problem, algorithm: str, n_leaves: int, limits: Limits):
    """The tree, or what ended its growth."""
    try:
        return p.grow(algorithm, n_leaves, limits=limits).tree, None
    except NoAllowedCutError as error:
        return None, error


def two_sided(q: Limited) -> list[np.ndarray]:
    allowed = [inside for column, inside in sides(q.p) if q.may_cut[column]]
    return [inside for inside in allowed if min(q.counts(inside)) >= max(q.least, 1)]


@each("seed", SEEDS)
def test_no_allowed_cut_costs_less_than_that_of_exkmc(seed):
    q = Limited.of(seed)
    p, uncut = q.p, q.p.excess.sum(axis=0).min()
    tree = p.grow("exkmc", 2, limits=q.limits()).tree
    every = [p.excess[s].sum(axis=0).min() + p.excess[~s].sum(axis=0).min() for s in two_sided(q)]
    cost = uncut
    if tree.n_leaves == 2:
        inside, _ = root_sides(p, tree)
        cost = p.excess[inside].sum(axis=0).min() + p.excess[~inside].sum(axis=0).min()
        assert min(q.counts(inside)) >= q.least
        assert q.may_cut[tree.feature[0]]
    assert cost == min([uncut, *every])


@pytest.mark.parametrize("gini", [False, True])
@each("seed", SEEDS)
def test_no_allowed_cut_disagrees_less_than_that_of_expand(seed, gini):
    q = Limited.of(seed)
    p = q.p

    def disagreement(inside):
        counts = [np.bincount(p.labels[s], p.weights[s], p.k) for s in (inside, ~inside)]
        return sum(c.sum() - c.max() for c in counts)

    tree = p.grow("expand", 2, gini=gini, limits=q.limits()).tree
    uncut = np.zeros(len(p.labels), dtype=bool)
    found = root_sides(p, tree)[0] if tree.n_leaves == 2 else uncut
    assert disagreement(found) == min(map(disagreement, [uncut, *two_sided(q)]))
    assert tree.n_leaves == 1 or min(q.counts(found)) >= q.least


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy"])
@each("seed", SEEDS)
def test_no_allowed_cut_between_centers_is_better_than_the_root_of_the_tree(seed, algorithm, monkeypatch):
    monkeypatch.setattr(recipes, "PlannedCriterion", lambda *_: SimpleNamespace(is_known=False))  # takes none back
    q = Limited.of(seed)
    p = q.p
    depth = max(int(np.ceil(np.log2(p.k))), 1)
    # Sets that part the centers alike and are as good are one cut, whichever of them is taken.
    loss = {"imm": mistakes, "exgreedy": induced}[algorithm]
    every = [(loss(p, *s), is_valid(p, *s), by, s) for s, by in tagged(p)]
    least = {}
    for cost, _, by, s in every:
        key = by, tuple(s[1])
        least[key] = min(cost, least.get(key, cost))
    columns = {by: q.may_cut[by] for by in range(len(p.kinds))}
    thresholds = center_columns(q)
    cuts: dict[object, list[tuple[float, bool]]] = {}
    for number, ((cost, valid, by, s), may) in enumerate(zip(every, thresholds, strict=True)):
        key = number if by < 0 else (by, tuple(s[1]))
        if by < 0 or cost == least[key]:
            is_allowed = (may if by < 0 else columns[by]) and q.allow(*s, depth)
            rank = cost if algorithm == "imm" else (0 if valid else 1, cost)
            cuts.setdefault(key, []).append((rank, bool(is_allowed)))
    sure = [max(r for r, _ in cut) for cut in cuts.values() if all(ok for _, ok in cut)]
    possible = [min(r for r, ok in cut if ok) for cut in cuts.values() if any(ok for _, ok in cut)]
    tree, stopped = grown(p, algorithm, p.k, q.limits(depth))
    if tree is None or tree.n_leaves < p.k:
        assert stopped is None or stopped.path or not sure
        return
    inside, centers = root_sides(p, tree)
    rank = loss(p, inside, centers)
    rank = rank if algorithm == "imm" else (0 if is_valid(p, inside, centers) else 1, rank)
    assert min(possible) <= rank
    assert not sure or rank <= min(sure)
    assert q.allow(inside, centers, depth)


def center_columns(q: Limited) -> list[bool]:
    """By every cut of ``tagged``, whether its column may be cut."""
    p, found = q.p, []
    for column, kind in enumerate(p.kinds):
        alone = Problem(p.values[:, [column]], (kind,), p.weights, p.labels, p.excess)
        found += [bool(q.may_cut[column])] * len(tagged(alone))
    return found


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc", "expand", "spex"])
@each("seed", [*range(60), 471, 2777])
def test_no_tree_breaks_a_limit_and_every_center_has_its_leaf_or_the_error_names_the_node(seed, algorithm):
    q = Limited.of(seed)
    p = q.p
    if algorithm == "spex" and any(kind.name == "category" for kind in p.kinds):
        return
    limits = q.limits(int(np.ceil(np.log2(p.k))) + seed % 2)
    tree, stopped = grown(p, algorithm, p.k + 2, limits)
    if tree is None:
        assert algorithm in ("imm", "exgreedy", "exshallow")
        assert len(stopped.clusters) > 1
    else:
        assert limits.are_met(tree, tree.apply(as_matrix(p.values)))
        assert q.may_cut[tree.feature[tree.feature >= 0]].all()


@pytest.mark.parametrize("algorithm", ["exkmc", "expand", "imm", "exgreedy"])
@each("seed", range(5))
def test_bins_of_many_values_are_opened_where_a_limit_lies_in_them(seed, algorithm):
    rng = np.random.default_rng(seed)
    n, k = 900, 3
    values = rng.normal(size=(n, 2))
    labels = np.digitize(values[:, 0] + 0.5 * values[:, 1], [-0.5, 0.7]).astype(np.int32)
    excess = rng.integers(0, 40, (n, k)) + 60 * (np.arange(k) != labels[:, None])
    weights = rng.integers(1, 3, n)
    excess -= excess.min(axis=1, keepdims=True)
    p = Problem(values, (NUMBER, NUMBER), weights, labels, excess * weights[:, None])
    q = Limited(p, np.array([seed % 2 == 0, True]), int(rng.integers(330, 432)), k)
    best = np.inf
    for column in np.flatnonzero(q.may_cut):
        order = np.argsort(values[:, column])
        centers = p.centers(column)
        ends = np.union1d(values[order, column], centers)[:-1]
        for t in ends:
            inside, own = values[:, column] <= t, centers <= t
            needed = (own.sum(), k - own.sum()) if algorithm in ("imm", "exgreedy") else (1, 1)
            if min(needed) == 0 or any(c < q.least * m for c, m in zip(q.counts(inside), needed, strict=True)):
                continue
            best = min(best, score(p, algorithm, inside, own))
    tree, stopped = grown(p, algorithm, 2 if algorithm in ("exkmc", "expand") else k, q.limits())
    if tree is None:
        assert stopped.path or best == np.inf
        return
    inside = values[:, tree.feature[0]] <= tree.threshold[0]
    assert score(p, algorithm, *root_sides(p, tree)) == best
    assert min(q.counts(inside)) >= q.least


def score(p: Problem, algorithm: str, inside: np.ndarray, own: np.ndarray) -> int:
    if algorithm in ("imm", "exgreedy"):
        return {"imm": mistakes, "exgreedy": induced}[algorithm](p, inside, own)
    of_side = p.excess if algorithm == "exkmc" else p.weights[:, None] * (np.arange(p.k) != p.labels[:, None])
    return sum(of_side[s].sum(axis=0).min() for s in (inside, ~inside))


@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 3},
        {"min_samples_leaf": 25},
        {"min_samples_leaf": 0.12},
        {"min_samples_leaf": 5e-324},  # 1 / 5e-324 is beyond float64
        {"cut_features": ["alcohol", "flavanoids", "proline"]},
        {"max_depth": 3, "min_samples_leaf": 15},
    ],
)
@pytest.mark.parametrize("algorithm", ["search", "exgreedy", "explain"])
def test_estimators_keep_limits_and_say_what_they_cost(algorithm, limits, tmp_path):
    X, k_means = load_wine(as_frame=True).data, {"preprocessor": None, "random_state": 0}
    free = ExplainableKMeans(5, algorithm="exgreedy" if algorithm == "explain" else algorithm, **k_means).fit(X)
    if algorithm == "explain":
        model = ClusterExplainer(**limits).fit(X, free.reference_.labels)
        assert model.limits_price_ >= -1
    else:
        model = ExplainableKMeans(5, algorithm=algorithm, **k_means, **limits).fit(X)
        assert model.limits_price_ == pytest.approx(model.cost_ / free.cost_ - 1)
    tree, least = model.tree_, limits.get("min_samples_leaf", 1)
    assert tree.depth <= limits.get("max_depth", 99)
    assert tree.n_node_samples[tree.leaves].min() >= (least if least >= 1 else least * len(X))
    assert {X.columns[j] for j in tree.feature if j >= 0} <= set(limits.get("cut_features", X.columns))
    assert np.isnan(free.limits_price_)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").limits_price_ == model.limits_price_


def test_the_price_of_limits_is_over_the_tree_without_them_with_more_leaves_too():
    X, options = load_iris().data, {"preprocessor": StandardScaler(), "random_state": 0, "max_leaves": 6}
    limited, free = (ExplainableKMeans(3, **options, **limits).fit(X) for limits in ({"min_samples_leaf": 12}, {}))
    assert limited.limits_price_ == pytest.approx(limited.cost_ / free.cost_ - 1)


X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [5.0, 0.0, 2.0], [5.0, 1.0, 2.0], [9.0, 0.0, 3.0], [9.0, 1.0, 3.0]])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"max_depth": 1}, ["max_depth=1 allows 2 leaves, fewer than n_clusters=3", "max_depth >= 2"]),
        ({"max_depth": 0}, ["max_depth"]),
        ({"min_samples_leaf": 3}, ["min_samples_leaf=3", "9 rows", "there are 6", "<= 2"]),
        ({"min_samples_leaf": 0.4}, ["min_samples_leaf=0.4", "allows 2 leaves", "<= 0.333,"]),
        ({"min_samples_leaf": 0.4, "n_clusters": 6}, ["min_samples_leaf=0.4", "allows 2 leaves", "<= 0.166,"]),
        ({"min_samples_leaf": 1.5}, ["min_samples_leaf=1.5"]),
        ({"min_samples_leaf": 0}, ["min_samples_leaf=0"]),
        ({"cut_features": ["x0", "wight"]}, ["cut_features names 'wight'"]),
        ({"cut_features": []}, ["cut_features names no column"]),
        ({"cut_features": [1]}, ["equal in every column of cut_features", "'x0', 'x2'"]),
        ({"algorithm": "optimal", "n_clusters": 2, "max_depth": 3}, ["optimal"]),
    ],
)
def test_limits_that_nothing_can_keep_are_refused_before_anything_grows(params, words):
    params = {"n_clusters": 3, "random_state": 0, **params}
    with pytest.raises(InvalidInputError) as caught:
        ExplainableKMeans(**params).fit(X)
    assert all(word in str(caught.value) for word in words)


def test_columns_are_given_by_name_position_place_from_the_end_or_mask_and_named_in_all_that_is_printed():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    for given in (["c"], [2], [-1], [False, False, True]):
        model = ExplainableKMeans(3, random_state=0, cut_features=given, preprocessor=None).fit(table)
        assert model._limits_line == "limits: +0.0 % (only cuts on c)"
        assert set(model.tree_.tested) == {2}
    for beyond in (3, -4):
        with pytest.raises(InvalidInputError, match=r"positions from 0 to 2 \(or from the end, negative\)"):
            ExplainableKMeans(3, cut_features=[beyond], preprocessor=None).fit(table)


def test_a_node_without_an_allowed_cut_ends_the_fit_with_its_clusters_its_rule_and_the_next_step():
    y = np.repeat(np.arange(4), [60, 60, 10, 70])
    X = 10.0 * y[:, None]
    with pytest.raises(InfeasibleLimitsError) as caught:
        ClusterExplainer(algorithm="exgreedy", min_samples_leaf=41).fit(X, y)
    message = str(caught.value)
    assert "min_samples_leaf=41 allows no cut between clusters" in message
    assert "Without it the smallest leaf would have 10 rows. Use min_samples_leaf <= 10, or fewer clusters" in message
    assert "rows where x0 " in message


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")  # of noise a cluster may have no leaf
def test_a_limit_of_rows_is_kept_and_the_search_for_sets_ends_on_a_column_of_many_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    frame["code"] = [f"L{level:03d}" for level in rng.integers(0, 120, 2000)]
    model = ExplainableKMeans(4, random_state=0, min_samples_leaf=0.2, cut_features=["code"], algorithm="exkmc").fit(
        frame
    )
    assert model.n_leaves_ > 1
    assert np.bincount(model.apply(frame))[model.tree_.leaves].min() >= 400


def has_tree(q: Limited, x: np.ndarray, max_depth: int, rows: np.ndarray, centers: np.ndarray, at: np.ndarray) -> bool:
    """Whether thresholds give every center a leaf within limits, by trying all; ``at`` (k, d): where centers are."""
    if len(centers) == 1 or (at[centers] == at[centers[0]]).all():
        return True
    if max_depth == 0:
        return False
    for j in np.flatnonzero(q.limits().columns):
        for t in np.unique(np.append(at[centers, j], x[rows, j]))[:-1]:
            inside, left = x[rows, j] <= t, at[centers, j] <= t
            sides = (rows[inside], centers[left]), (rows[~inside], centers[~left])
            if all(
                0 < len(c) <= 2 ** (max_depth - 1) and q.p.weights[r].sum() >= q.least * len(c) for r, c in sides
            ) and all(has_tree(q, x, max_depth - 1, r, c, at) for r, c in sides):
                return True
    return False


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy"])
@each("seed", [*SEEDS, 476, 671])  # in the last ones clusters with equal centers share a leaf of such a tree
def test_there_is_a_tree_wherever_thresholds_and_single_levels_make_one(seed, algorithm):
    p = Limited.of(seed).p
    q = replace(Limited.of(seed), least=int((0.5 + seed % 5 / 10) * p.weights.sum() / p.k))
    max_depth = int(np.ceil(np.log2(p.k))) + seed % 2
    tree, _ = grown(p, algorithm, p.k, q.limits(max_depth))
    x = core.gather_rows(p.encoded.matrix, np.arange(len(p.labels)))
    if tree is None:
        assert not has_tree(q, x, max_depth, np.arange(len(x)), np.arange(p.k), p.coordinates())
    elif algorithm == "imm" and tree.n_leaves == p.k:  # clusters with equal centers share a leaf
        assert tree.n_node_mistakes.tolist() == mistakes_by_leaves(p, tree)


def test_cuts_are_taken_back_where_limits_allow_more_places_than_are_tried():
    rng = np.random.default_rng(9)
    y = rng.integers(0, 3, 120)
    X = (1.5 * rng.normal(size=(3, 1)))[y] + rng.normal(size=(120, 1)).round(2)
    model = ClusterExplainer(algorithm="imm", min_samples_leaf=30).fit(X, y)
    assert np.bincount(model.predict(X)).min() >= 30


def test_of_very_many_clusters_no_cut_is_taken_back():
    k = 1100  # as deep as a chain of so many, no call can be
    labels = np.append(np.repeat(np.arange(k), 2), 1)[1:].astype(np.int32)
    p = Problem(labels[:, None] * 10.0, (NUMBER,), np.ones(len(labels), np.int64), labels, np.zeros((len(labels), k)))
    with pytest.raises(NoAllowedCutError):
        p.grow("imm", k, limits=Limits(None, None, 2, p.weights))


def test_of_many_columns_that_may_be_cut_those_are_searched_in_which_centers_differ_most():
    rng = np.random.default_rng(0)
    centers, may_cut = rng.normal(size=(4, 900)), rng.random(900) < 0.5
    centers[:, ~may_cut] *= 100
    limits = Limits(may_cut.astype(np.uint8), None, 0, None)
    spread = np.where(may_cut, centers.var(axis=0), 0)
    spread[needed := np.flatnonzero(may_cut)[:3]] = np.inf
    found = select_columns(centers, np.append(needed, -1).astype(np.int32), limits)
    assert found.tolist() == sorted(np.argsort(-spread)[:256].tolist())
    few = replace(limits, columns=np.isin(np.arange(900), needed).astype(np.uint8))
    assert select_columns(centers, np.array([-1], dtype=np.int32), few).tolist() == needed.tolist()


def test_nothing_is_searched_where_no_column_that_may_be_cut_has_an_allowed_cut():
    y = np.arange(40) % 2
    X = np.random.default_rng(0).normal(size=(40, 300)) + 10 * y[:, None]
    X[:, -1] = np.arange(40) < 3
    with pytest.warns(EmptyClusterWarning):
        model = ClusterExplainer(cut_features=[299], min_samples_leaf=10).fit(X, y)
    assert model.n_leaves_ == 1


def mistakes_by_leaves(p: Problem, tree: ThresholdTree) -> list[int]:
    """By node: the weight of the rows whose cluster has its leaf on the other side of the cut."""
    found, reaching = [], {0: np.arange(len(p.labels))}
    for node in range(tree.n_nodes):  # in preorder: those on the left come first
        rows, left, right = reaching.pop(node), tree.children_left[node], tree.children_right[node]
        if left < 0:
            found.append(0)
            continue
        inside = tree.test(node).holds(p.values[rows, tree.feature[node]])
        reaching |= {left: rows[inside], right: rows[~inside]}
        end = right
        while tree.children_right[end] >= 0:
            end = tree.children_right[end]
        is_left, is_right = (np.isin(p.labels[rows], tree.cluster[a:b]) for a, b in ((left, right), (right, end + 1)))
        found.append(int(p.weights[rows[(inside & is_right) | (~inside & is_left)]].sum()))
    return found


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("least", [4, 0.125])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_numbers_of_numpy_limit_as_those_of_python_do(least, kind):
    X = np.random.default_rng(0).normal(size=(80, 3))
    for model in (ExplainableKMeans(4, random_state=0), ClusterExplainer(max_leaves=6)):
        own, other = (
            clone(model).set_params(min_samples_leaf=n).fit(X, X[:, 0] > X[:, 1]) for n in (least, kind(least))
        )
        assert other.tree_.to_dict() == own.tree_.to_dict()
        assert other._limits_line == own._limits_line
    report(KDTree(np.int64(4)).fit(X), X, curve=False)
    with pytest.raises(InfeasibleLimitsError, match=r"min_samples_leaf=20.* allow no cut"):
        ExplainableKMeans(2, min_samples_leaf=kind(20), max_depth=2**63 - 1).fit(np.arange(80.0)[:, None] // 70)
