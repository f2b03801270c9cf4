"""How fast cutwise is beside what people use today: time, memory and start-up, on tables of up to 1.5 million rows.

    python benchmarks/speed.py                              # everything at full size: about three quarters of an hour
    python benchmarks/speed.py --scale 0.1                  # a tenth of the rows: about five minutes
    python benchmarks/speed.py --shapes covtype --rounds 5 --json out.json

All contestants run on one thread and take turns; what is printed are medians of CPU seconds, and their ratios to
scikit-learn's DecisionTreeClassifier on the same reference labels and to KMeans(n_init=1). See README.md beside this
file.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

# One thread everywhere: idle threads that wait for each other would be counted as CPU seconds.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_variable] = "1"

import numpy as np
from adapters import Contestant, Task, load_contestants
from clustering_cost import n_distinct_rows
from goals import memory_goals, shape_goals, startup_goals
from memory import peak_extra_bytes, write_task
from report import machine, shape_table, verdict_lines, versions
from shapes import SHAPES, make_shape, real_data_file
from sklearn.cluster import KMeans
from startup import core_import_ms, import_seconds, iris_ms
from threadpoolctl import threadpool_limits
from timing import Turn, measure_rounds, take_turn


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES), metavar="SHAPE",
                        help=f"which tables, of {', '.join(SHAPES)} (default: all)")  # fmt: skip
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, in (0, 1] (default: 1)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant (default: 3)")
    parser.add_argument("--heavy-rounds", type=int, default=1, help="turns of the slow contestants (default: 1)")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="only these contestants (see --list)")
    parser.add_argument("--without", nargs="+", default=[], metavar="KEY", help="all but these contestants")
    parser.add_argument("--jobs", type=int, default=1, help="also time cutwise's trees on this many threads")
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    parser.add_argument("--no-startup", action="store_true", help="do not measure iris and imports")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    parser.add_argument("--list", action="store_true", help="list the contestants and stop")
    parsed = parser.parse_args(argv)
    if not 0 < parsed.scale <= 1:
        parser.error(f"--scale {parsed.scale} is not in (0, 1]")
    if parsed.rounds < 1:
        parser.error(f"--rounds {parsed.rounds} is fewer than 1")
    return parsed


def _say(line: str) -> None:
    print(f"    {line}", file=sys.stderr, flush=True)


def _task(name: str, scale: float) -> tuple[Task, Turn]:
    """A shape with its reference, and the turn of KMeans(n_init=1) that found it."""
    X = make_shape(name, scale)
    k = SHAPES[name].n_clusters
    _say(f"{name}: {X.shape[0]:,} x {X.shape[1]}, finding the reference")
    KMeans(k, n_init=1, random_state=0).fit(X[: 20 * k])  # its imports are no part of the turn
    turn = take_turn(lambda: KMeans(k, n_init=1, random_state=0).fit(X))
    reference = turn.result
    return Task(X, k, reference.cluster_centers_.astype(np.float64), reference.labels_.astype(np.int32)), turn


def _peaks(contestants: list[Contestant], task: Task, jobs: int) -> dict[str, int]:
    """Peak extra bytes of contestants, each in a process of its own; the heavy ones are not run a second time."""
    peaks = {}
    os.environ["BENCHMARK_JOBS"] = str(jobs)
    with tempfile.TemporaryDirectory(prefix="cutwise-speed-") as folder:
        write_task(Path(folder), task)
        for contestant in contestants:
            if contestant.heavy or contestant.too_large(task):
                continue
            _say(f"memory: {contestant.title}")
            peak = peak_extra_bytes(Path(folder), contestant.key)
            if peak is not None:
                peaks[contestant.key] = peak
    return peaks


def _run_shape(name: str, contestants: list[Contestant], options: argparse.Namespace) -> dict[str, Any]:
    task, turn = _task(name, options.scale)
    measurements = measure_rounds(
        contestants,
        task,
        rounds=options.rounds,
        heavy_rounds=options.heavy_rounds,
        say=_say,
        first={"k-means-1": turn},
    )
    peaks = {} if options.no_memory else _peaks(contestants, task, options.jobs)
    titles = {contestant.key: contestant.title for contestant in contestants}
    n_rows, n_columns = task.X.shape
    verdicts = shape_goals(name, titles, measurements)
    verdicts += memory_goals(titles, peaks, task.X.nbytes, 4 * n_rows * task.n_clusters)
    distinct = n_distinct_rows(task.X)
    print(
        f"\n{name}: {n_rows:,} x {n_columns}, k = {task.n_clusters}, {task.X.nbytes / 1e6:.0f} MB, "
        f"{distinct:,} distinct rows"
    )
    print("\n".join(shape_table(contestants, measurements, peaks)))
    if options.scale < 1:
        print("  (the goals are meant for full size; on fewer rows fixed costs weigh more)")
    print("\n".join(verdict_lines(verdicts)), flush=True)
    return {
        "shape": name,
        "n_rows": n_rows,
        "n_columns": n_columns,
        "n_clusters": task.n_clusters,
        "n_distinct_rows": distinct,
        "input_bytes": task.X.nbytes,
        "contestants": {
            contestant.key: {
                "title": contestant.title,
                "kind": contestant.kind,
                **measurements[contestant.key].to_dict(),
                "peak_extra_bytes": peaks.get(contestant.key),
            }
            for contestant in contestants
        },
        "goals": [verdict.to_dict() for verdict in verdicts],
    }


def _run_startup(contestants: list[Contestant]) -> dict[str, Any]:
    from sklearn.datasets import load_iris

    X = load_iris().data.astype(np.float32)
    reference = KMeans(3, n_init=10, random_state=0).fit(X)
    task = Task(X, 3, reference.cluster_centers_.astype(np.float64), reference.labels_.astype(np.int32))
    light = [contestant for contestant in contestants if not contestant.heavy and contestant.kind != "whole"]
    iris = iris_ms({contestant.title: contestant.prepare(task) for contestant in light})
    ours = {contestant.title: iris[contestant.title] for contestant in light if contestant.key.startswith("tree-")}
    print("\niris, warm, ms: " + "; ".join(f"{title} {value:.2f}" for title, value in iris.items()))
    imports: dict[str, float] = {}
    core = None
    if ours:
        imports, core = import_seconds(), core_import_ms()
        print("imports, s: " + "; ".join(f"{statement} {value:.3f}" for statement, value in imports.items()))
    alone, with_cutwise = (list(imports.values()) + [None, None])[:2]
    extra = with_cutwise - alone if with_cutwise is not None and alone is not None else None
    verdicts = startup_goals(ours, extra, core)
    print("\n".join(verdict_lines(verdicts)), flush=True)
    return {
        "iris_ms": iris,
        "import_seconds": imports,
        "core_import_ms": core,
        "goals": [verdict.to_dict() for verdict in verdicts],
    }


def main(argv: list[str] | None = None) -> int:
    options = _arguments(argv)
    contestants, reasons = load_contestants(options.jobs)
    for name, reason in reasons.items():
        print(f"not measured: {name}: {reason}")
    known = {contestant.key for contestant in contestants}
    unknown = (set(options.only or ()) | set(options.without)) - known
    if unknown:
        known_keys = ", ".join(sorted(known))
        print(f"no such contestant: {', '.join(sorted(unknown))}; known here: {known_keys}", file=sys.stderr)
        return 2
    contestants = [
        contestant
        for contestant in contestants
        if contestant.key not in options.without and (options.only is None or contestant.key in options.only)
    ]
    if options.list:
        print("\n".join(f"{contestant.key:32} {contestant.title}" for contestant in contestants))
        return 0
    record: dict[str, Any] = {
        "schema": 1,
        "command": ["python", "benchmarks/speed.py", *(sys.argv[1:] if argv is None else argv)],
        "machine": machine(),
        "versions": versions(),
        "not_measured": reasons,
        "shapes": [],
    }
    print(", ".join(f"{name} {value}" for name, value in {**record["machine"], **record["versions"]}.items()))
    # A tree that leaves a cluster without rows says so; here it is one of many, and its cost ratio tells.
    warnings.filterwarnings("ignore", message="Clusters? .* ended without rows")
    with threadpool_limits(limits=1):
        for name in options.shapes:
            if name == "covtype-93k" and not real_data_file().exists():
                record["not_measured"][name] = "its file is not present"
                print(f"not measured: {name}: its file is not present")
                continue
            record["shapes"].append(_run_shape(name, contestants, options))
            _write(options.json, record)
        if not options.no_startup:
            record["startup"] = _run_startup(contestants)
    _write(options.json, record)
    return 0


def _write(path: Path | None, record: dict[str, Any]) -> None:
    """Write the record whole or not at all; after every shape, so that a run cut short keeps what it measured."""
    if path is None:
        return
    part = path.with_suffix(path.suffix + ".part")
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
