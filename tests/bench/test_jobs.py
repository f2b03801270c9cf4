"""Jobs are done once, and kept."""

import json

import pytest

from cutwise.bench.runner import read_records, run_jobs
from cutwise.exceptions import InvalidInputError


def run(seeds, path, calls, lines):
    def work(job):
        if job["seed"] is None:
            raise RuntimeError("no")
        calls.append(job["seed"])
        return {"value": job["seed"]}

    return run_jobs([{"set": "a", "seed": seed} for seed in seeds], work, path, lines.append)


def test_finished_jobs_are_not_done_again(tmp_path):
    calls, lines = [], []
    path = tmp_path / "results.jsonl"
    first = run([1, 2], path, calls, lines)
    again = run([2, 3], path, calls, lines)
    assert calls == [1, 2, 3]
    assert [record["result"]["value"] for record in first] == [1, 2]
    assert [record["result"]["value"] for record in again] == [2, 3]
    assert len(path.read_text().splitlines()) == 3
    assert "1 of 2 jobs are already done" in lines


def test_a_line_cut_short_by_an_interrupt_is_done_again(tmp_path):
    calls = []
    path = tmp_path / "results.jsonl"
    run([1, 2], path, calls, [])
    path.write_text(path.read_text()[:-9])
    run([1, 2], path, calls, [])
    assert calls == [1, 2, 2]
    assert [record["key"]["seed"] for record in read_records(path)] == [1, 2]


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    calls = []
    path = tmp_path / "results.jsonl"
    with pytest.raises(RuntimeError):
        run([1, None], path, calls, [])
    assert len(read_records(path)) == 1


def test_a_foreign_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    good = json.dumps({"key": {}, "result": {}})
    path.write_text(f"{good}\nhello\n{good}\n")
    with pytest.raises(InvalidInputError, match="Line 2 of"):
        read_records(path)
