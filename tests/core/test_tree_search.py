"""The search's single changes against plain twins: all cuts, all places for a leaf, all leaves to do without."""

import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from cutwise import core
from tests.each import each

LEAF_COSTS = ("squares", "counts", "least")


class Tree:
    """A tree on codes as nested lists: [column, bin, left, right], or a leaf's number in order of creation."""

    def __init__(self, root):
        self.root = root

    def cuts(self):
        column, threshold, right = [], [], []

        def visit(node):
            at = len(column)
            column.append(-1)
            threshold.append(np.nan)
            right.append(-1)
            if isinstance(node, list):
                column[at], threshold[at] = node[:2]
                visit(node[2])
                right[at] = len(column)
                visit(node[3])

        visit(self.root)
        return np.array(column, dtype=np.int32), np.array(threshold, dtype=float), np.array(right, dtype=np.int32)

    def nodes(self):
        found, pending = [], [self.root]
        while pending:
            node = pending.pop()
            found.append(node)
            if isinstance(node, list):
                pending += [node[3], node[2]]
        return found


def random_tree(rng, n_leaves, n_bins):
    leaves = itertools.count()

    def grow(n):
        if n == 1:
            return next(leaves)
        n_left = int(rng.integers(1, n))
        column = int(rng.integers(len(n_bins)))
        return [column, int(rng.integers(max(1, n_bins[column] - 1))), grow(n_left), grow(n - n_left)]

    return Tree(grow(n_leaves))


def route(root, code):
    """The path of a row: its leaf, and the tests on the way as (column, goes left)."""
    path = []
    while isinstance(root, list):
        left = code[root[0]] <= root[1]
        path.append((root[0], bool(left)))
        root = root[2] if left else root[3]
    return root, path


def leaf_cost(rows, kind):
    n, sums = rows[:, 0].sum(), rows[:, 1:].sum(axis=0)
    if kind == "squares":
        return -(sums @ sums) / n
    if kind == "least":
        return sums.min()
    return n - sums.max() + 0.001 * (n - sums @ sums / n)


def sizes(tree, codes, rows):
    """Conditions and levels of depth of the rules of all rows."""
    paths = [route(tree.root, code)[1] for code in codes]
    return rows[:, 0] @ np.array([(len(set(path)), len(path)) for path in paths], dtype=float)


def value(tree, codes, rows, kind, price=((0.0, 0.0), (0.0, 0.0))):
    """What the leaves cost, and their rules beyond what is free; infinite with a leaf without weight."""
    leaf_of = np.array([route(tree.root, code)[0] for code in codes])
    total = 0.0
    for leaf in (node for node in tree.nodes() if not isinstance(node, list)):
        here = leaf_of == leaf
        if rows[here, 0].sum() == 0:
            return np.inf
        total += leaf_cost(rows[here], kind)
    return total + float(price[0] @ np.maximum(0.0, sizes(tree, codes, rows) - price[1])) if np.any(price[0]) else total


def copy(node):
    return [*node[:2], copy(node[2]), copy(node[3])] if isinstance(node, list) else node


def every_cut(n_bins):
    return [(column, b) for column, n in enumerate(n_bins) for b in range(n - 1)]


def best_by_trial(tree, make, cuts, present, judge):
    """The least value over trees that ``make`` makes of a copy with a cut; first of equals."""
    best = (np.inf, None)
    for cut in cuts:
        changed = Tree(copy(tree.root))
        make(changed, cut)
        found = judge(changed)
        if found < best[0] - 1e-9 * abs(present):
            best = (found, cut)
    return best


def problem_of(seed):
    """Codes, payloads, a tree without empty leaves, a leaf cost and a price of conditions."""
    rng = np.random.default_rng(seed)
    kind = LEAF_COSTS[seed % 3]
    size_price = np.array(((0.0, 0.0), (0.7, 0.2))[seed % 4 == 0])
    n, n_bins = int(rng.integers(30, 120)), rng.integers(2, 9, size=int(rng.integers(1, 6)))
    codes = np.column_stack([rng.integers(0, b, size=n) for b in n_bins]).astype(np.uint8)
    width = (4, 8, 12)[seed % 7 % 3]
    if kind == "squares":
        rows = np.round(rng.normal(size=(n, width)) * 50 + codes[:, :1] * 40)
    elif kind == "least":
        rows = np.round(50 * rng.random((n, width)) + 40 * rng.random((n_bins[0], width))[codes[:, 0]])
    else:
        rows = np.zeros((n, width))
        rows[np.arange(n), 1 + (codes[:, 0] + rng.integers(0, 2, size=n)) % (width - 1)] = 1
    rows[:, 0] = rng.integers(1, 4, size=n)
    if kind == "counts":
        rows[:, 1:] *= rows[:, :1]
    for _ in range(200):
        tree = random_tree(rng, int(rng.integers(2, 7)), n_bins)
        if np.isfinite(value(tree, codes, rows, kind)):
            break
    else:
        tree = Tree([0, int(np.sort(codes[:, 0])[0]), 0, 1])
    # Nothing is free, or conditions and levels are, one of them a little less than there are.
    shares = ((0.0, 0.0), (0.98, 1.01), (1.01, 0.98))[seed // 4 % 3]
    free = shares * sizes(tree, codes, rows)
    return codes, n_bins.astype(np.int32), rows, tree, kind, (size_price, free)


def search_of(problem):
    codes, n_bins, rows, _, kind, (price, free) = problem
    return core.TreeSearch(codes, n_bins, rows, kind, 1e-9, size_price=(tuple(price), tuple(free)))


@each("seed", range(15))
def test_a_trees_value_is_what_its_leaves_and_rules_cost(seed):
    problem = problem_of(seed)
    codes, _, rows, tree, kind, price = problem
    assert search_of(problem).value(tree.cuts()) == pytest.approx(value(tree, codes, rows, kind, price), rel=1e-12)


@each("seed", range(15))
def test_the_cut_of_a_node_is_the_best_of_all_columns_and_bins(seed):
    problem = problem_of(seed)
    codes, n_bins, rows, tree, kind, price = problem

    def judge(changed):
        return value(changed, codes, rows, kind, price)

    present = judge(tree)
    for number, node in enumerate(tree.nodes()):
        if not isinstance(node, list):
            continue

        def make(changed, cut, number=number):
            changed.nodes()[number][:2] = cut

        best, _ = best_by_trial(tree, make, every_cut(n_bins), present, judge)
        change, column, last_bin = search_of(problem).best_recut(tree.cuts(), number)
        assert change == pytest.approx(best - present, abs=1e-9 * abs(present))
        changed = Tree(copy(tree.root))
        make(changed, (column, last_bin))
        assert judge(changed) == pytest.approx(best, rel=1e-9)


@each("seed", range(15))
def test_a_leaf_is_inserted_at_the_best_of_all_places(seed):
    problem = problem_of(seed)
    codes, n_bins, rows, tree, kind, price = problem

    def judge(changed):
        return value(changed, codes, rows, kind, price)

    present, n_leaves = judge(tree), len(tree.cuts()[0]) // 2 + 1
    for number in range(len(tree.nodes())):

        def make(changed, cut, number=number):
            column, last_bin, on_left = cut
            below = changed.nodes()[number]
            new = [column, last_bin, n_leaves, below] if on_left else [column, last_bin, below, n_leaves]
            if number == 0:
                changed.root = new
            parent = next(
                (p for p in changed.nodes() if isinstance(p, list) and p is not new and _holds(p, below)), None
            )
            if parent is not None and number > 0:
                parent[2 if _is(parent[2], below) else 3] = new

        cuts = [(*cut, side) for cut in every_cut(n_bins) for side in (True, False)]
        best, _ = best_by_trial(tree, make, cuts, present, judge)
        change, *cut = search_of(problem).best_insertion(tree.cuts(), number)
        if np.isinf(best):
            assert np.isinf(change)
            continue
        assert change == pytest.approx(best - present, abs=1e-9 * abs(present))
        changed = Tree(copy(tree.root))
        make(changed, tuple(cut))
        assert judge(changed) == pytest.approx(best, rel=1e-9)


def _is(child, node):
    return child is node if isinstance(node, list) else child == node and not isinstance(child, list)


def _holds(parent, node):
    return _is(parent[2], node) or _is(parent[3], node)


@each("seed", range(15))
def test_doing_without_a_leaf_changes_the_value_by_what_is_said(seed):
    problem = problem_of(seed)
    codes, _, rows, tree, kind, price = problem
    nodes = tree.nodes()
    for number, leaf in enumerate(nodes):
        if isinstance(leaf, list):
            continue
        changed = Tree(copy(tree.root))
        parent = next(p for p in changed.nodes() if isinstance(p, list) and _holds(p, leaf))
        sibling = parent[3] if _is(parent[2], leaf) else parent[2]
        above = next((p for p in changed.nodes() if isinstance(p, list) and (p[2] is parent or p[3] is parent)), None)
        if above is None:
            changed.root = sibling
        else:
            above[2 if above[2] is parent else 3] = sibling
        expected = value(changed, codes, rows, kind, price) - value(tree, codes, rows, kind, price)
        assert search_of(problem).deletion_change(tree.cuts(), number) == pytest.approx(expected, abs=1e-6)


def run(search, starts, n_leaves, *, swaps=True, work=0, n_jobs=1, tolerance=50.0):
    return search.run(starts, n_leaves, swaps, tolerance, n_jobs, work=work)


@each("seed", range(15))
def test_every_step_of_a_search_is_better_and_has_all_leaves(seed):
    problem = problem_of(seed)
    codes, _, rows, tree, kind, price = problem
    n_leaves = len(tree.cuts()[0]) // 2 + 1
    search = search_of(problem)
    ((_, path),) = run(search, [tree.cuts()], n_leaves, work=20_000)
    values = [step_value for _, step_value, _ in path]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(value(tree, codes, rows, kind, price))
    for _, step_value, cuts in path:
        assert search.value(cuts) == step_value
        assert np.count_nonzero(cuts[0] < 0) == n_leaves


def test_leaves_without_rows_give_way_to_others_elsewhere():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=(60, 3)).astype(np.uint8)
    rows = np.round(rng.normal(size=(60, 4)) * 30)
    rows[:, 0] = 1
    search = core.TreeSearch(codes, np.array([6, 6, 6], dtype=np.int32), rows, "squares", 1e-9)
    tree = Tree([0, -1, [1, 2, 0, 1], [0, 5, [2, 2, 2, 3], [1, 1, 4, 5]]])
    assert np.isinf(search.value(tree.cuts()))
    ((_, path),) = run(search, [tree.cuts()], 6)
    assert np.isfinite(path[0][1])
    assert np.count_nonzero(path[-1][2][0] < 0) == 6


def test_more_leaves_than_distinct_rows_is_no_tree():
    codes = np.array([[0], [1]], dtype=np.uint8)
    rows = np.array([[1.0, 0, 0, 0], [1.0, 5, 0, 0]])
    search = core.TreeSearch(codes, np.array([2], dtype=np.int32), rows, "squares", 0.0)
    assert run(search, [Tree([0, 0, 0, 1]).cuts()], 3)[0][1] == []


@each("seed", range(15))
def test_starts_are_independent_and_threads_change_nothing(seed):
    problem = problem_of(seed)
    rng = np.random.default_rng(1)
    n_bins = problem[1]
    starts = [random_tree(rng, 4, n_bins).cuts() for _ in range(6)]
    search = search_of(problem)

    def plain(results):
        return [(work, [(w, v, [a.tobytes() for a in cuts]) for w, v, cuts in path]) for work, path in results]

    together = plain(run(search, starts, 4, work=5_000))
    assert together == plain(run(search, starts, 4, work=5_000, n_jobs=3))
    assert together == [plain(run(search, [start], 4, work=5_000))[0] for start in starts]


@each("seed", range(15))
def test_arrays_that_are_no_tree_are_refused(seed):
    problem = problem_of(seed)
    search = search_of(problem)
    column, threshold, right = problem[3].cuts()
    for wrong in (
        (column, threshold, right[:-1]),
        (column, threshold, np.zeros_like(right)),
        (column[:-1], threshold[:-1], right[:-1]),
        (np.full_like(column, 99), threshold, right),
        (column, threshold + 256, right),
        (column, np.full_like(threshold, np.nan), right),
    ):
        with pytest.raises(ValueError, match=r"a tree|one of the columns|number of a bin"):
            search.value(wrong)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems count memory in other units")
@pytest.mark.parametrize(("tolerance", "most"), [(1.0, 3), (1e12, 7)])
def test_a_search_holds_few_tables_however_many_leaves_it_tries_to_spare(tolerance, most):
    """In a process of its own: what a process ever held at most is not known of parts of its life."""
    program = """
        from pathlib import Path
        import numpy as np
        from cutwise import core

        n, d, k, n_bins = 1000, 200, 16, 64
        rng = np.random.default_rng(0)
        label = np.arange(n) % k
        codes = rng.integers(0, n_bins, (n, d)).astype(np.uint8)
        codes[:, 0] = 4 * label
        rows = np.column_stack([np.ones(n), 1000 * rng.normal(size=(k, 7)).round()[label]])
        column, right = np.full((2, 2 * k - 1), -1, dtype=np.int32)
        threshold, inner = np.full(2 * k - 1, np.nan), 2 * np.arange(k - 1)
        column[inner], threshold[inner], right[inner] = 0, 2 * inner, inner + 2
        search = core.TreeSearch(codes, np.full(d, n_bins, np.int32), rows, "squares", 1.0)
        peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
        before = peak()
        search.run([(column, threshold, right)], n_leaves=k, swaps=True, tolerance=TOLERANCE, n_jobs=1, n_deletions=10)
        tables = k * d * n_bins * rows.shape[1] * 8
        print((peak() - before) * 1024 / tables)
    """
    program = textwrap.dedent(program).replace("TOLERANCE", str(tolerance))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < most
