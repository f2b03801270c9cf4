"""Experiments from their options to their files, on small sets."""

import re

import numpy as np
import pytest

from cutwise import ExplainableKMeans, metrics
from cutwise.baselines import CUBT
from cutwise.bench import EXPERIMENTS, Options, exkmc, run_experiment
from cutwise.bench.exkmc import CltreeSearch, cubt_parameters, sizes_of
from cutwise.bench.measures import kmeans_reference_of
from cutwise.bench.runner import read_records
from cutwise.datasets import load_real
from cutwise.exceptions import DataSetUnavailableError, UnknownOptionError


@pytest.fixture(autouse=True)
def without_a_folder_of_the_environment(monkeypatch):
    monkeypatch.delenv("CUTWISE_DATA", raising=False)


def silent(line):
    pass


@pytest.fixture(scope="module")
def shallow(tmp_path_factory):
    out = tmp_path_factory.mktemp("shallow")
    run_experiment(EXPERIMENTS["shallow"], Options(sets=("iris",), seeds=2), out, silent)
    return out


def test_shallow_keeps_every_tree_of_every_seed(shallow):
    records = read_records(shallow / "results.jsonl")
    assert [record["key"] for record in records] == [
        {"set": "iris", "seed": seed, "scaling": "raw"} for seed in range(2)
    ]
    X = load_real("iris").X
    reference = kmeans_reference_of(X, 3, 0)
    imm = ExplainableKMeans(3, algorithm="imm", reference=reference.centers).fit(X)
    kept = records[0]["result"]["trees"]["imm"]
    assert kept["cost_ratio"] == pytest.approx(imm.cost_ratio_)
    assert kept["waes"] == metrics.weighted_average_explanation_size(imm, X)
    assert kept["accuracy"] == np.mean(imm.labels_ == reference.labels)
    star = records[0]["result"]["trees"]["exshallow_star"]
    assert star["cost_ratio"] <= records[0]["result"]["trees"]["exkmc"]["cost_ratio"] + 1e-9


def test_shallow_writes_tables_with_the_published_figures_beside(shallow):
    table = (shallow / "table2.md").read_text()
    line = next(line for line in table.splitlines() if line.startswith("| Iris | ExShallow |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2:6] == ["1.04", "1.037 ± 0.000", "1.67", "1.44 ± 0.00 **!**"]
    assert "2 of 4 lines are marked" in table
    short = (shallow / "summary.txt").read_text()
    assert "| Iris | 1.04 → 1.04, 1.67 → 1.44 | 1.04 → 1.04, 1.67 → 1.44 | 1.04 → 1.04, 1.44 → 1.44 |" in short.replace(
        "\u00a0", " "
    )
    assert "KMC in both on 1 of 1 sets; on every single reference, on 1" in (shallow / "table3.md").read_text()
    assert "cutwise bench shallow --sets iris --seeds 2" in (shallow / "run.md").read_text()


def test_a_second_run_does_nothing_again_and_writes_the_same(shallow):
    files = {path.name: path.read_bytes() for path in shallow.iterdir()}
    lines = []
    run_experiment(EXPERIMENTS["shallow"], Options(sets=("iris",), seeds=2), shallow, lines.append)
    assert lines == ["2 of 2 jobs are already done"]
    assert {path.name: path.read_bytes() for path in shallow.iterdir()} == files


def test_search_is_compared_with_the_cheapest_of_the_papers_trees(tmp_path):
    run_experiment(EXPERIMENTS["search"], Options(sets=("iris", "wine"), seeds=1), tmp_path, silent)
    records = read_records(tmp_path / "results.jsonl")
    for record in records:
        trees, unseen = record["result"]["trees"], record["result"]["unseen"]
        assert set(trees) == set(unseen) == {"search", "exgreedy", "exshallow", "imm", "exkmc"}
        for costs in (
            {name: tree["cost_ratio"] for name, tree in trees.items()},
            {n: c for n, (c, _) in unseen.items()},
        ):
            assert costs["search"] <= min(costs.values()) + 1e-12
    iris = next(line for line in (tmp_path / "search.md").read_text().splitlines() if line.startswith("| Iris |"))
    cells = [cell.strip() for cell in iris.strip("|").split("|")]
    trees = records[0]["result"]["trees"]
    before = min(trees[name]["cost_ratio"] for name in trees if name != "search")
    after = trees["search"]["cost_ratio"]
    assert cells[1:4] == [f"{before:.4f}", f"{after:.4f}", f"{100 * (before - after) / (before - 1):.0f}"]


def test_exkmc_has_every_tree_of_every_size(tmp_path, monkeypatch):
    for grid in ("CLTREE_GRID", "CUBT_GRID"):  # of every parameter its ends
        ends = {name: [values[0], values[-1]] for name, values in getattr(exkmc, grid).items()}
        monkeypatch.setattr(exkmc, grid, ends)
    written = run_experiment(EXPERIMENTS["exkmc"], Options(sets=("iris",), seeds=1), tmp_path, silent)
    (record,) = read_records(tmp_path / "results.jsonl")
    trees = record["result"]["trees"]
    assert set(trees) == {"exkmc_imm", "exkmc", "cart", "kdtree", "cltree", "cubt"}
    for points in trees.values():
        assert [point["size"] for point in points] == sizes_of(3) == [3, 4, 6, 7, 9, 10, 12]
        assert all(point["leaves"] <= point["size"] for point in points)
        assert all(point["cost_ratio"] >= 1 - 1e-9 for point in points)
    surrogate = [point["surrogate_ratio"] for point in trees["exkmc_imm"]]
    assert surrogate == sorted(surrogate, reverse=True)
    assert {path.name for path in written} >= {"curves.md", "accuracy.md", "surrogate.md", "time.md", "run.md"}
    assert "## Iris" in (tmp_path / "curves.md").read_text()


def test_kernel_gives_the_published_figures(tmp_path):
    run_experiment(EXPERIMENTS["kernel"], Options(sets=("iris",), seeds=1), tmp_path, silent)
    (record,) = read_records(tmp_path / "results.jsonl")
    ratios = record["result"]["cost_ratio"]
    assert ratios["kernel_imm"] == pytest.approx(1.00502, abs=6e-6)
    assert ratios["cart"] == pytest.approx(1.00502, abs=6e-6)
    assert ratios["kernel_exkmc"] <= ratios["kernel_imm"]
    assert "| Iris | laplacian 1 | 1.00502 | 1.00502 |" in (tmp_path / "table2.md").read_text()


def test_the_grid_searches_find_trees_at_least_as_cheap_as_the_defaults():
    X = load_real("iris").X
    reference = kmeans_reference_of(X, 3, 0)
    cltree = CltreeSearch(X)
    for size in (3, 6):
        default = CUBT(3, max_leaves=size, reference=reference.centers).fit(X)
        searched = CUBT(
            3, max_leaves=size, reference=reference.centers, **cubt_parameters(Options(), "iris", size)
        ).fit(X)
        assert searched.cost_ <= default.cost_
        assert cltree.tree(size, reference).n_leaves <= size


def test_sets_that_cannot_be_had_are_left_out_or_refused(tmp_path):
    lines = []
    quick = Options(quick=True, seeds=1)
    run_experiment(EXPERIMENTS["shallow"], quick, tmp_path, lines.append)
    assert any(re.match("left out: data set mice_rows is not available", line) for line in lines)
    with pytest.raises(DataSetUnavailableError, match="mice_rows"):
        run_experiment(EXPERIMENTS["shallow"], Options(sets=("mice_rows",)), tmp_path, silent)
    with pytest.raises(UnknownOptionError, match="Did you mean 'iris'"):
        run_experiment(EXPERIMENTS["shallow"], Options(sets=("irsi",)), tmp_path, silent)
