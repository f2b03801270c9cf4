"""Best cuts of tables with categories and gaps, against every set of levels and both sides for what is missing."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from cutwise import core
from cutwise.readouts.conditions import conditions_of, explanation_sizes, walk_leaves
from cutwise.table.table import ColumnKind, Columns, Table, as_matrix, encode_table
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.threshold_tree import NodeTest
from tests.each import each
from tests.tree.mixed import GAPS, Problem, category, random_problem

SEEDS = range(100)


def sides(p: Problem) -> Iterator[tuple[int, np.ndarray]]:
    """Every way to part the rows by one column: ``inside`` by row."""
    for column, kind in enumerate(p.kinds):
        x = p.values[:, column]
        if kind.name == "category":
            levels = np.unique(x)
            for size in range(1, len(levels) // 2 + 1):
                for named in combinations(levels, size):
                    yield column, np.isin(x, named)
            continue
        missing = np.isnan(x)
        for t in np.unique(x[~missing]):
            yield column, x <= t
            yield column, (x <= t) | missing
        yield column, missing


def two_sided(p: Problem) -> list[np.ndarray]:
    return [inside for _, inside in sides(p) if inside.any() and not inside.all()]


def center_sides(p: Problem) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Every way to part rows and centers that a search of separations knows: ``inside`` by row, and by center.

    Last, the column whose modes part the centers, -1 where a threshold or a level does.
    """
    for column, kind in enumerate(p.kinds):
        x, centers = p.values[:, column], p.centers(column)
        if kind.name != "category":
            missing, nowhere = np.isnan(x), np.isnan(centers)
            for t in np.unique(np.concatenate([x[~missing], centers[~nowhere]])):
                yield x <= t, centers <= t, -1
                yield (x <= t) | missing, (centers <= t) | nowhere, -1
            yield missing, nowhere, -1
            continue
        for level in range(centers.shape[1]):
            for t in np.unique(centers[:, level]):
                yield x == level, centers[:, level] > t, -1
        modes = centers.argmax(axis=1)
        free = [v for v in range(centers.shape[1]) if v not in modes]
        distinct = np.unique(modes)
        for size in range(1, len(distinct)):
            for own in combinations(distinct, size):
                for n_free in range(len(free) + 1):
                    for more in combinations(free, n_free):
                        yield np.isin(x, [*own, *more]), np.isin(modes, own), column


def levels_of(codes: np.ndarray, n_levels: int) -> tuple[core.Levels, np.ndarray]:
    """And one line for each slot of a histogram: 1 at its level."""
    n = len(codes)
    kinds = (ColumnKind("category", tuple(map(str, range(n_levels)))),)
    values = codes.astype(float)[:, np.newaxis]
    encoded = Problem(values, kinds, np.ones(n, np.int64), np.zeros(n, np.int32), np.zeros((n, 1))).encoded
    levels, n_slots = encoded.levels(0), encoded.encoded.n_slots
    return levels, levels.sums(np.eye(n_slots, dtype=np.int64)[..., np.newaxis])[:, :, 0].T


def parts_centers(p: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
    return [sides for sides, _ in tagged(p)]


def tagged(p: Problem) -> list[tuple[tuple[np.ndarray, np.ndarray], int]]:
    return [((rows, centers), by) for rows, centers, by in center_sides(p) if centers.any() and not centers.all()]


def clusters_below(tree, node: int) -> list[int]:
    if tree.feature[node] < 0:
        return [int(tree.cluster[node])]
    return [c for child in (tree.children_left[node], tree.children_right[node]) for c in clusters_below(tree, child)]


def root_sides(p: Problem, tree) -> tuple[np.ndarray, np.ndarray]:
    """Rows and centers inside of the root's test."""
    inside = tree.test(0).holds(p.values[:, tree.feature[0]])
    return inside, np.isin(np.arange(p.k), clusters_below(tree, int(tree.children_left[0])))


def induced(p: Problem, rows: np.ndarray, centers: np.ndarray) -> int:
    return p.excess[rows][:, centers].min(axis=1).sum() + p.excess[~rows][:, ~centers].min(axis=1).sum()


def mistakes(p: Problem, rows: np.ndarray, centers: np.ndarray) -> int:
    return p.weights[centers[p.labels] != rows].sum()


def is_valid(p: Problem, rows: np.ndarray, centers: np.ndarray) -> bool:
    values = np.nan_to_num(p.values, nan=-1.0)
    return all(len(np.unique(values[r], axis=0)) >= c.sum() for r, c in ((rows, centers), (~rows, ~centers)))


def shapes(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    columns = "".join(rng.choice(list("ccggn"), rng.integers(1, 4)))
    return random_problem(seed, n=int(rng.integers(6, 16)), k=int(rng.integers(2, 6)), n_levels=int(rng.integers(1, 8)),
                          columns=columns, gaps=float(rng.choice([0.1, 0.4])))  # fmt: skip


@each("seed", SEEDS)
def test_no_set_and_no_side_of_a_gap_costs_less_than_the_cut_of_exkmc(seed):
    p = shapes(seed)
    tree = p.grow("exkmc", 2).tree
    cost = p.excess.sum(axis=0).min()
    if tree.n_leaves == 2:
        inside, _ = root_sides(p, tree)
        cost = p.excess[inside].sum(axis=0).min() + p.excess[~inside].sum(axis=0).min()
    every = [p.excess[s].sum(axis=0).min() + p.excess[~s].sum(axis=0).min() for s in two_sided(p)]
    assert cost == min([p.excess.sum(axis=0).min(), *every])


@pytest.mark.parametrize("gini", [False, True])
@each("seed", SEEDS)
def test_no_set_and_no_side_of_a_gap_disagrees_less_than_the_cut_of_expand(seed, gini):
    p = shapes(seed)

    def disagreement(inside):
        counts = [np.bincount(p.labels[s], p.weights[s], p.k) for s in (inside, ~inside)]
        impurity = sum(c.sum() - (c @ c) / c.sum() for c in counts if c.sum())
        return sum(c.sum() - c.max() for c in counts), impurity if gini else 0.0

    tree = p.grow("expand", 2, gini=gini).tree
    found = disagreement(root_sides(p, tree)[0] if tree.n_leaves == 2 else np.zeros(len(p.labels), dtype=bool))
    every = [disagreement(s) for s in [np.zeros(len(p.labels), dtype=bool), *two_sided(p)]]
    assert found[0] == min(every)[0]
    if gini and p.k == 2:  # of two labels the purest of equals is among the candidates
        assert found[1] == pytest.approx(min(every)[1], abs=1e-9)


@each("seed", SEEDS)
def test_no_cut_between_centers_makes_fewer_mistakes_than_that_of_imm(seed):
    p = shapes(seed)
    tree = p.grow("imm", p.k).tree
    every = [mistakes(p, *s) for s in parts_centers(p)]
    assert (tree.n_leaves > 1) == bool(every)
    if every:
        assert tree.n_node_mistakes[0] == min(every)
        if tree.n_leaves == p.k:
            assert mistakes(p, *root_sides(p, tree)) == min(every)


def ties_outside(p: Problem, column: int, cheapest: list[np.ndarray]) -> np.ndarray:
    """Of sets that cost as much, the one that has the levels in which they differ on the side that is not named."""
    x, first = p.values[:, column], cheapest[0]
    tied = np.isin(x, np.unique(x[np.any([rows != first for rows in cheapest], axis=0)]))
    ranks = []
    for side in (first & ~tied, ~first & ~tied):
        has_lowest = bool(side.any()) and x[side].min() == x[~tied].min()
        ranks.append((len(np.unique(x[side])), p.weights[side].sum(), has_lowest))
    return np.where(tied, ranks[0] > ranks[1], first)


# In the last ones a set that is not valid costs less than the best valid cut.
@each("seed", [*SEEDS, 297, 2984, 4135, 4458])
def test_no_cut_between_centers_costs_less_than_that_of_exgreedy(seed):
    p = shapes(seed)
    tree = p.grow("exgreedy", p.k).tree
    every = parts_centers(p)
    assert (tree.n_leaves > 1) == bool(every)
    if every and tree.n_leaves == p.k:
        # Of the sets that part the centers alike the cheapest is taken: the others count for nothing.
        sets: dict[tuple[int, tuple[bool, ...]], list[tuple[np.ndarray, np.ndarray]]] = {}
        taken = []
        for (rows, centers), by in tagged(p):
            if by < 0:
                taken.append((rows, centers))
            else:
                sets.setdefault((by, tuple(centers)), []).append((rows, centers))
        for (by, _), alike in sets.items():
            costs = [induced(p, *s) for s in alike]
            cheapest = [rows for (rows, _), cost in zip(alike, costs, strict=True) if cost == min(costs)]
            taken.append((ties_outside(p, by, cheapest), alike[0][1]))
        costs = [(induced(p, *s), is_valid(p, *s)) for s in taken]
        valid = [cost for cost, is_one in costs if is_one] or [cost for cost, _ in costs]
        assert induced(p, *root_sides(p, tree)) == min(valid)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc", "expand"])
@each("seed", range(40))
def test_the_tree_routes_every_row_as_it_grew_and_says_so(seed, algorithm):
    p = shapes(seed)
    grown = p.grow(algorithm, p.k + 2)
    leaf = grown.tree.apply(as_matrix(p.values))
    np.testing.assert_array_equal(leaf, grown.leaf_of_row)
    columns = Columns(tuple("abcde"[: len(p.kinds)]), True, p.kinds)
    # Levels that were never seen are somewhere too.
    unseen = np.where([kind.name == "category" for kind in p.kinds], 30.0, p.values)
    for values in (p.values, unseen):
        leaf = grown.tree.apply(as_matrix(values))
        sizes = explanation_sizes(grown.tree).tolist()
        for (node, regions), size in zip(walk_leaves(grown.tree), sizes, strict=True):
            conditions = conditions_of(regions, columns)
            holds = np.all([c.holds(values[:, c.feature]) for c in conditions] or [np.ones(len(values), bool)], axis=0)
            np.testing.assert_array_equal(holds, leaf == node)
            assert size == sum(c.size for c in conditions)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc", "expand"])
def test_a_category_of_two_levels_is_a_column_of_zeros_and_ones(algorithm):
    # In the last ones leaves on both sides of a set gain the same.
    for seed in (*range(30), 108, 163, 294, 538, 701, 764, 905, 971, 1721, 1907, 2118):
        p = random_problem(seed, n=14, n_levels=2, columns="cnc", k=4)
        as_number = Problem(p.values, (category(2), p.kinds[1], p.kinds[1]), p.weights, p.labels, p.excess)
        one, other = (q.grow(algorithm, 6) for q in (p, as_number))
        np.testing.assert_array_equal(one.codes, other.codes, err_msg=f"seed {seed}")


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc", "expand"])
@each("seed", range(30))
def test_the_order_of_rows_and_weights_as_repeats_change_nothing(seed, algorithm):
    p = shapes(seed)
    one = p.grow(algorithm, p.k + 2)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(p.labels))
    turned = Problem(p.values[order], p.kinds, p.weights[order], p.labels[order], p.excess[order])
    assert one.tree.equals(turned.grow(algorithm, p.k + 2).tree)
    many = np.repeat(np.arange(len(p.labels)), p.weights)
    each = Problem(p.values[many], p.kinds, np.ones(len(many), dtype=np.int64), p.labels[many],
                   (p.excess // p.weights[:, None])[many])  # fmt: skip
    assert one.tree.equals(each.grow(algorithm, p.k + 2).tree, counts=False)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exkmc", "expand"])
def test_sums_by_bin_that_would_take_too_much_memory_are_left_out_and_change_no_tree(algorithm, monkeypatch):
    grown = [shapes(seed).grow(algorithm, 6).tree for seed in range(30)]
    monkeypatch.setattr("cutwise.tree.provider.HISTOGRAM_BYTES", 0)
    for seed, tree in enumerate(grown):
        assert tree.equals(shapes(seed).grow(algorithm, 6).tree), seed


@pytest.mark.parametrize("unknown", [False, True])
def test_rows_without_a_value_are_parted_from_others_in_their_old_order(unknown):
    values = np.array([[-1.5, 0.0, np.nan, 2.0, 1.0, np.nan, 300.0, -0.0, 2.0]]).T
    table = Table(values, ("x",), True, (GAPS,))
    provider = MemoryProvider(encode_table(table, merge=False))
    provider.partition(0, NodeTest(0, 0.0))
    rows = provider.rows(2).copy()  # not all, and some of them without a value
    test = NodeTest(0, np.nan, levels=(), unknown=unknown)
    holds = test.holds(values[rows, 0])
    provider.partition(2, test)
    assert provider.rows(3).tolist() == rows[holds].tolist()
    assert provider.rows(4).tolist() == rows[~holds].tolist()


@pytest.mark.parametrize("seed", [0, 1])
def test_of_all_partitions_of_many_modes_none_costs_less_than_the_one_taken(seed):
    rng = np.random.default_rng(seed)
    k, n_levels, n = 16, 40, 120
    rows, codes = np.arange(n, dtype=np.int32), rng.integers(0, n_levels, n).astype(np.int32)
    cost = rng.integers(0, 100, (n, k)).astype(np.int32) + 60 * (codes[:, None] % k != np.arange(k)).astype(np.int32)
    least = np.full((1 << k, n), 2**30, dtype=np.int32)  # of every set of centers, to each row
    for i in range(1, 1 << k):
        least[i] = np.minimum(least[i & (i - 1)], cost[:, (i & -i).bit_length() - 1])
    by_level = np.stack([least[:, codes == v].sum(axis=1) for v in range(n_levels)], axis=1)
    sets = np.arange(1, (1 << k) - 1)
    on_left, on_right = by_level[sets], by_level[~sets & ((1 << k) - 1)]
    is_left = (sets[:, None] >> np.arange(k)) & 1
    of_modes = np.where(is_left, on_left[:, :k], on_right[:, :k]).sum(axis=1)
    best = (of_modes + np.minimum(on_left[:, k:], on_right[:, k:]).sum(axis=1)).min()
    modes, weight = np.arange(k, dtype=np.int32), np.bincount(codes, minlength=n_levels)
    shares = core.mode_shares(codes, rows, cost, weight, modes, modes)
    current, distinct = int(cost.min(axis=1).sum()), np.full(n_levels, k)
    found = core.least_induced_modes(*shares, weight, distinct, modes, current, 0.0, False, False, None, None, None)
    assert found is not None
    assert found[2] == best


@each("seed", [*range(150), 3004])
def test_bounds_rule_out_no_category_and_no_partition_whose_set_is_as_good_as_the_best(seed):
    rng = np.random.default_rng(seed)
    few = (2, 9), (2, 12)
    n, k, n_levels = (int(rng.integers(*ends)) for ends in ((5, 90), *(few if seed % 10 else ((18, 25), (24, 40)))))
    codes, rows = rng.integers(0, n_levels, n).astype(np.int32), np.arange(n, dtype=np.int32)
    weights = rng.integers(1, 6, n) if seed % 3 == 0 else np.ones(n, dtype=np.int64)
    excess = rng.integers(0, (3, 30, 1000)[seed % 3], (n, k)) + 30 * (
        rng.integers(0, k, n_levels)[codes, None] != range(k)
    )
    excess = (excess - excess.min(axis=1, keepdims=True)) * weights[:, None]
    survivors = np.sort(rng.permutation(k)[: rng.integers(2, k + 1)]).astype(np.int32)
    modes = rng.integers(0, n_levels, (1, k)).astype(np.int32)
    own, weight = modes[0][survivors], np.bincount(codes, weights, n_levels).astype(np.int64)
    penalty = (0.0, 0.001, 0.03, 0.3, 1.0)[seed % 5]
    kills = np.array([seed % 2], dtype=np.uint8), np.array([seed % 7 % 2], dtype=np.uint8)
    costs, nearest = np.sort(excess[:, survivors], axis=1), survivors[excess[:, survivors].argmin(axis=1)]
    current = int(costs[:, 0].sum()) + int(rng.integers(1, 500))
    shares = core.mode_shares(codes, rows, excess, weight, survivors, own)
    distinct = np.full(n_levels, k)
    found = core.least_induced_modes(
        *shares, weight, distinct, own, current, penalty, bool(kills[0]), bool(kills[1]), None, None, None
    )
    if found is None:
        assert len(np.unique(own)) < 2
        return
    levels, of_slot = levels_of(codes, n_levels)
    sums = np.zeros((n_levels, k, 2), dtype=np.int64)
    np.add.at(sums, (codes, nearest), np.column_stack([costs[:, 1] - costs[:, 0], weights]))
    others = np.setdiff1d(np.arange(k), survivors)  # centers of other nodes, whose rows are in the same histogram
    sums[:, others] = rng.integers(0, 100, (n_levels, len(others), 2))
    histogram, column = np.tensordot(of_slot, sums, 1), np.zeros(1, dtype=np.int32)
    parts = core.may_induce([levels], histogram, survivors, modes, column, current, penalty, *kills, found[1])[0]
    merged = core.mode_shares(codes, rows, excess, weight, survivors, own, parts)
    assert parts.any()
    assert found == core.least_induced_modes(
        *merged, weight, distinct, own, current, penalty, bool(kills[0]), bool(kills[1]), found[1], None, None, parts
    )


@pytest.mark.parametrize("seed", range(5))
def test_categories_of_more_modes_than_are_enumerated_are_not_passed_over(seed):
    rng = np.random.default_rng(seed)
    k, n_levels = 20, 24
    levels, of_slot = levels_of(np.arange(n_levels), n_levels)
    held, survivors = rng.integers(0, 30, (n_levels, k)), np.arange(k, dtype=np.int32)
    modes = rng.permutation(n_levels)[:k].astype(np.int32)
    found = core.fewest_mode_mistakes(held, held.sum(axis=1), survivors, modes, None)
    histogram = np.tensordot(of_slot, held, 1)[..., np.newaxis]
    assert found is not None
    assert core.may_separate([levels], histogram, survivors, modes[np.newaxis], found[0]).any()
