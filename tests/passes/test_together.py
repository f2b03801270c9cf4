"""Functions that ask for passes side by side."""

import threading

import numpy as np
import pytest

from cutwise.passes import sums
from cutwise.passes.sums import run_together


class Passes:
    """Answers how often each was asked before."""

    def __init__(self):
        self.askers, self.served = {}, []

    def serve(self, questions):
        self.served.append(list(questions))
        return [(question, len(self.served)) for question in questions]

    def ask(self, question):
        return self.askers[threading.get_ident()](question)

    def run(self, *calls):
        return run_together(calls, self.serve, self.askers)


def test_one_pass_serves_all_that_wait():
    passes = Passes()
    found = passes.run(
        lambda: [passes.ask(f"a{i}") for i in range(3)],
        lambda: "asks nothing",
        lambda: [passes.ask(f"c{i}") for i in range(1)],
        lambda: [passes.ask(f"d{i}") for i in range(2)],
    )
    assert passes.served == [["a0", "c0", "d0"], ["a1", "d1"], ["a2"]]
    assert found == [[("a0", 1), ("a1", 2), ("a2", 3)], "asks nothing", [("c0", 1)], [("d0", 1), ("d1", 2)]]
    assert passes.askers == {}


def test_the_error_of_the_first_function_is_raised_when_all_have_ended():
    passes, ended = Passes(), []

    def late():
        passes.ask(1)
        raise ValueError("of the first")

    def early():
        raise KeyError("of the second")

    def lasting():
        for i in range(5):
            passes.ask(i)
        ended.append(True)

    with pytest.raises(ValueError, match="of the first"):
        passes.run(late, early, lasting)
    assert ended == [True]


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_error_of_a_pass_ends_all(error):
    passes, told = Passes(), []

    def serve(questions):
        if len(passes.served) == 2:
            raise error
        return passes.serve(questions)

    def lasting():
        try:
            while True:
                passes.ask(0)
        except type(error):
            told.append(True)
            raise

    before = threading.active_count()
    with pytest.raises(type(error)):
        run_together([lasting, lasting, lambda: None], serve, passes.askers)
    assert told == [True, True]
    assert threading.active_count() == before


def test_an_interrupt_while_functions_start_leaves_none_waiting(monkeypatch):
    started = []

    def submit(self, *call, submit=sums.ThreadPoolExecutor.submit):
        if started:
            raise KeyboardInterrupt
        started.append(submit(self, *call))
        return started[0]

    monkeypatch.setattr(sums.ThreadPoolExecutor, "submit", submit)
    passes, ended = Passes(), []

    def run():
        try:
            passes.run(lambda: passes.ask(0), lambda: None)
        except KeyboardInterrupt:
            ended.append(True)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert ended == [True]


def test_what_is_set_around_the_functions_holds_in_them():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        Passes().run(lambda: np.array([1.0]) / 0.0, lambda: None)
