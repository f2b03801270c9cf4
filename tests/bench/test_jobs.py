"""Jobs are done once, and kept."""

import json

import pytest

from cutwise.bench.runner import Job, read_records, run_jobs
from cutwise.exceptions import InvalidInputError


def counted(calls, key):
    def work():
        calls.append(key)
        return {"value": key}

    return Job({"set": "a", "seed": key}, work)


def test_finished_jobs_are_not_done_again(tmp_path):
    calls, lines = [], []
    path = tmp_path / "results.jsonl"
    first = run_jobs([counted(calls, 1), counted(calls, 2)], path, lines.append)
    again = run_jobs([counted(calls, 2), counted(calls, 3)], path, lines.append)
    assert calls == [1, 2, 3]
    assert [record["result"]["value"] for record in first] == [1, 2]
    assert [record["result"]["value"] for record in again] == [2, 3]
    assert len(path.read_text().splitlines()) == 3
    assert "1 of 2 jobs are already done" in lines


def test_a_line_cut_short_by_an_interrupt_is_done_again(tmp_path):
    calls = []
    path = tmp_path / "results.jsonl"
    run_jobs([counted(calls, 1), counted(calls, 2)], path, lambda line: None)
    path.write_text(path.read_text()[:-9])
    run_jobs([counted(calls, 1), counted(calls, 2)], path, lambda line: None)
    assert calls == [1, 2, 2]
    assert [record["key"]["seed"] for record in read_records(path)] == [1, 2]


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    calls = []

    def fails():
        raise RuntimeError("no")

    path = tmp_path / "results.jsonl"
    with pytest.raises(RuntimeError):
        run_jobs([counted(calls, 1), Job({"set": "b"}, fails)], path, lambda line: None)
    assert len(read_records(path)) == 1


def test_a_foreign_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    good = json.dumps({"key": {}, "result": {}})
    path.write_text(f"{good}\nhello\n{good}\n")
    with pytest.raises(InvalidInputError, match="Line 2 of"):
        read_records(path)
