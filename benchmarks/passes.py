"""Fits of a table that is read in batches, beside the same rows in memory: time, memory, disk and the tree.

    python benchmarks/passes.py                              # 2 million rows, and twice as many
    python benchmarks/passes.py --rows 20000000 --folder /data/tmp

Writes Parquet files of 20 float32 columns without dictionaries, eight groups. Every fit runs in a process of its own,
by the same centers, on one thread, after one of a few rows: "memory" on the rows as an array, "passes" on the files as
a pyarrow dataset. CPU seconds are those of ``fit``; memory is the highest mark above what imports and the few rows
took; disk is what the copies in the temporary folder take at most. The last line of each size says whether both trees
are the same file.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from memory import _reset_peak, _status
from timing import take_turn

K, D, LEAVES = 8, 20, 12
NAMES = [f"c{j}" for j in range(D)]
_BATCH = 250_000


def centers() -> np.ndarray:
    """Of the groups, which are the reference."""
    return np.random.default_rng(0).normal(size=(K, D)).astype(np.float32) * 3


def write_table(path: Path, n: int) -> None:
    """Write n rows, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, schema = np.random.default_rng(1), pa.schema([(name, pa.float32()) for name in NAMES])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for first in range(0, n, _BATCH):
            m = min(_BATCH, n - first)
            X = rng.standard_normal((m, D), dtype=np.float32) + centers()[rng.integers(0, K, m)]
            writer.write_table(pa.table(dict(zip(NAMES, np.ascontiguousarray(X.T), strict=True))))


def fit_one(path: Path, way: str, algorithm: Any) -> dict[str, Any]:
    """Fit a table in one way, in this process."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    from cutwise import ExplainableKMeans, export_json

    def fitted(table: Any) -> Any:
        model = ExplainableKMeans(K, algorithm=algorithm, max_leaves=LEAVES, reference=centers())
        return model.fit(table) if way == "passes" else model.fit(table, feature_names=NAMES)

    def in_memory(table: pa.Table) -> np.ndarray:
        return np.column_stack([column.to_numpy() for column in table.columns])

    few = pa.table(dict(zip(NAMES, np.random.default_rng(2).normal(size=(D, 3000)).astype(np.float32), strict=True)))
    fitted(ds.dataset(few) if way == "passes" else in_memory(few))
    table = ds.dataset(path) if way == "passes" else in_memory(pq.read_table(path))
    before, disk, is_done = _status("VmRSS") if _reset_peak() else 0, [0], threading.Event()

    def watch() -> None:
        folders = Path(tempfile.gettempdir())
        while not is_done.wait(0.2):
            copies = folders.glob(f"cutwise-{os.getpid()}-rows-*/*")
            disk[0] = max(disk[0], sum(copy.stat().st_size for copy in copies if copy.exists()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    turn = take_turn(lambda: fitted(table))
    is_done.set()
    watcher.join()
    tree = json.dumps(json.loads(export_json(turn.result))["tree"])
    return {
        "cpu": turn.cpu,
        "peak": _status("VmHWM") - before,
        "disk": disk[0],
        "passes": getattr(turn.result, "n_passes_", 0),
        "tree": hashlib.sha256(tree.encode()).hexdigest(),
    }


def main() -> None:
    """Write the tables, fit them, print a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the smaller table")
    parser.add_argument("--algorithm", default="exshallow")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each fit; medians are printed")
    parser.add_argument("--folder", type=Path, help="for the tables, which stay there; default: a temporary one")
    parser.add_argument("--fit", nargs=2, metavar=("FILE", "WAY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        print(json.dumps(fit_one(Path(given.fit[0]), given.fit[1], given.algorithm)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        taken: list[float] = []
        for n in (given.rows, 2 * given.rows):
            path = folder / f"{n}.parquet"
            if not path.exists():
                write_table(path, n)
            turns: dict[str, list[dict[str, Any]]] = {"memory": [], "passes": []}
            for way in [*turns] * given.rounds:
                command = [sys.executable, __file__, "--algorithm", given.algorithm, "--fit", str(path), way]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                turns[way].append(json.loads(done.stdout))
            cpu = {way: float(np.median([turn["cpu"] for turn in own])) for way, own in turns.items()}
            ratio, n_passes = cpu["passes"] / cpu["memory"], turns["passes"][0]["passes"]
            most = {what: max(turn[what] for turn in turns["passes"]) for what in ("peak", "disk")}
            is_same = len({turn["tree"] for own in turns.values() for turn in own}) == 1
            print(f"{n:,} rows, {given.algorithm}, {LEAVES} leaves, {K} clusters")
            print(f"  memory  {cpu['memory']:8.2f} s")
            print(f"  passes  {cpu['passes']:8.2f} s: {ratio:.2f} x memory, in {n_passes} passes")
            print(f"  {most['peak'] / 2**20:.0f} MiB of memory, {most['disk'] / n:.0f} bytes of disk a row")
            print(f"  the same tree: {'yes' if is_same else 'NO'}")
            taken.append(cpu["passes"])
        print(f"twice the rows take {taken[1] / taken[0]:.2f} x the time")


if __name__ == "__main__":
    main()
