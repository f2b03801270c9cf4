"""Fits in threads, in forked and in spawned children, all beside or after a fit in the parent."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import subprocess
import sys

import numpy as np
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans
from tests.oracle.models import fit_quietly, same_tree

VALUES = np.random.default_rng(0).normal(size=(600, 6))
SECONDS = 60


def _fit(n_jobs: int = 2, seed: int = 0) -> ExplainableKMeans:
    return fit_quietly(ExplainableKMeans(6, max_leaves=12, random_state=seed, n_jobs=n_jobs, n_init=2), VALUES)


def _fit_in_child(sender: multiprocessing.connection.Connection) -> None:
    model = _fit()
    sender.send((model.labels_, model.tree_.threshold))
    sender.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fit_in_a_forked_child_after_a_fit_in_the_parent_ends():
    parent = _fit()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_fit_in_child, args=(sender,))
    child.start()
    sender.close()
    try:
        assert receiver.poll(SECONDS), "the forked child hangs"
        labels, thresholds = receiver.recv()
    finally:
        child.join(SECONDS if receiver.closed else 5)
        if child.is_alive():
            child.kill()
    assert np.array_equal(labels, parent.labels_)
    assert np.array_equal(thresholds, parent.tree_.threshold, equal_nan=True)


def test_fits_in_several_threads_at_once_equal_fits_in_turn():
    seeds = range(4)
    expected = [_fit(seed=seed) for seed in seeds]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda seed: _fit(seed=seed), seeds))
    for one, other in zip(expected, seen, strict=True):
        assert same_tree(one.tree_, other.tree_)
        assert np.array_equal(one.labels_, other.labels_)


def test_explainers_in_several_threads_at_once_equal_explainers_in_turn():
    labels = _fit().labels_
    fits = [lambda a=a: fit_quietly(ClusterExplainer(algorithm=a), VALUES, labels) for a in ("auto", "imm", "auto")]
    expected = [fit() for fit in fits]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(lambda fit: fit(), fits))
    assert all(same_tree(one.tree_, other.tree_) for one, other in zip(expected, seen, strict=True))


@pytest.mark.slow
def test_joblib_processes_fit_and_predict():
    import joblib

    if sys.platform == "emscripten":
        pytest.skip("no processes here")
    expected = _fit()
    trees = joblib.Parallel(n_jobs=2)(joblib.delayed(_fit)(n_jobs) for n_jobs in (1, 2))
    assert all(same_tree(expected.tree_, model.tree_) for model in trees)


@pytest.mark.parametrize("n_times", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_program_ends_in_order_while_daemon_threads_fit_and_predict(n_times):
    script = """
import threading, time
import numpy as np
from cutwise import ExplainableKMeans
X = np.random.default_rng(0).normal(size=(100_000, 8))
model = ExplainableKMeans(3, algorithm="imm", n_init=1, random_state=0).fit(X[:500])
def run(call):
    while True:
        call()
for call in (lambda: ExplainableKMeans(8, random_state=0).fit(X), lambda: model.predict(X)):
    threading.Thread(target=run, args=[call], daemon=True).start()
time.sleep(0.3)
"""
    for _ in range(n_times):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
