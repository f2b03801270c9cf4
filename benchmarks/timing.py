"""CPU and wall seconds of contestants that take turns: A B C, A B C, ...

Taking turns spreads whatever else the machine does over all contestants alike; a ratio of two medians of the same run
then means more than either.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from adapters import Contestant, Task

__all__ = ["Measurement", "Turn", "few_rows", "measure_rounds", "take_turn"]

# Rows of the untimed call that comes before the first round: imports and lazy set-up are not part of a fit.
_WARM_UP_ROWS = 5_000


@dataclass
class Measurement:
    """Times and figures of one contestant on one shape.

    Attributes
    ----------
    cpu, wall : list of float
        Seconds of each round; CPU seconds count every thread and every child process.
    outcomes : list of dict
        Figures about each round's result.
    left_out : str
        Why it was not run, or ``""``.
    """

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    outcomes: list[dict[str, float]] = field(default_factory=list)
    left_out: str = ""

    @property
    def median_cpu(self) -> float:
        """Median CPU seconds; nan when it was not run."""
        return float(np.median(self.cpu)) if self.cpu else float("nan")

    @property
    def median_wall(self) -> float:
        """Median wall seconds; nan when it was not run."""
        return float(np.median(self.wall)) if self.wall else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "cpu_seconds": self.cpu,
            "wall_seconds": self.wall,
            "outcomes": self.outcomes,
            "left_out": self.left_out,
        }

    def median_outcome(self, name: str) -> float:
        """Median of a figure over the rounds; nan when there is none."""
        values = [outcome[name] for outcome in self.outcomes if name in outcome]
        return float(np.median(values)) if values else float("nan")


@dataclass(frozen=True)
class Turn:
    """CPU and wall seconds of a call, and what it returned."""

    cpu: float
    wall: float
    result: Any


def take_turn(work: Callable[[], Any]) -> Turn:
    """Run and time some work, with Python's own garbage collection held back."""
    gc.collect()
    gc.disable()
    try:
        before, wall = os.times(), time.perf_counter()
        cpu = time.process_time()
        result = work()
        cpu = time.process_time() - cpu
        wall = time.perf_counter() - wall
        after = os.times()
    finally:
        gc.enable()
    children = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Turn(cpu + children, wall, result)


def few_rows(task: Task) -> Task:
    """The task on a few evenly chosen rows, for the call that warms up."""
    rows = np.linspace(0, len(task.X) - 1, min(_WARM_UP_ROWS, len(task.X))).astype(np.intp)
    return replace(task, X=task.X[rows], labels=task.labels[rows])


def measure_rounds(
    contestants: Sequence[Contestant],
    task: Task,
    *,
    rounds: int,
    heavy_rounds: int,
    say: Callable[[str], None],
    first: dict[str, Turn] | None = None,
) -> dict[str, Measurement]:
    """Let the contestants take turns.

    Parameters
    ----------
    contestants : sequence of Contestant
    task : Task
        Its seed plus the number of the round is the seed of the round.
    rounds, heavy_rounds : int
        Turns of each contestant, and of each heavy one.
    say : callable
        Told, in a line, what is being run.
    first : dict of str to Turn, optional
        What some contestants' first turns took, where they were run already.

    Returns
    -------
    measurements : dict of str to Measurement
        By the contestants' keys.
    """
    measurements = {contestant.key: Measurement(left_out=contestant.too_large(task)) for contestant in contestants}
    running = [contestant for contestant in contestants if not measurements[contestant.key].left_out]
    for contestant in running:
        contestant.prepare(few_rows(task))()
    for number in range(rounds):
        for contestant in running:
            if contestant.heavy and number >= heavy_rounds:
                continue
            seeded = replace(task, seed=task.seed + number)
            turn = (first or {}).get(contestant.key) if number == 0 else None
            if turn is None:
                turn = take_turn(contestant.prepare(seeded))
            measurement = measurements[contestant.key]
            measurement.cpu.append(turn.cpu)
            measurement.wall.append(turn.wall)
            measurement.outcomes.append(contestant.outcome(turn.result, seeded))
            say(f"round {number + 1}: {contestant.title}: {turn.cpu:.3f} s CPU")
            del turn
    return measurements
