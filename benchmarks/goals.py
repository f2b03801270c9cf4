"""What cutwise should reach on every shape, and whether a run reached it.

Times are compared as ratios of median CPU seconds of one run, so that a goal means the same on any machine.
Each line has a goal and a stretch goal; either may be missing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from timing import Measurement

__all__ = ["Verdict", "describe", "memory_goals", "shape_goals", "startup_goals"]


@dataclass(frozen=True)
class Verdict:
    """One figure beside its goals.

    Attributes
    ----------
    subject : str
        What was measured, in words.
    value : float
        The figure; smaller is better.
    unit : str
        ``"x"`` for ratios, or ``"ms"``, ``"s"``.
    goal, stretch : float or None
        The largest values that meet them.
    """

    subject: str
    value: float
    unit: str
    goal: float | None
    stretch: float | None

    def met(self, limit: float | None) -> bool | None:
        """Whether the figure is within a limit; None without a limit."""
        return None if limit is None else bool(self.value <= limit)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the verdicts, for JSON."""
        return asdict(self) | {"goal_met": self.met(self.goal), "stretch_met": self.met(self.stretch)}


# Numerator, denominator, goal, stretch goal; keys of contestants. An exception replaces the goal on one shape.
_RATIOS: tuple[tuple[str, str, float | None, float | None], ...] = (
    ("tree-imm", "decision-tree", 1 / 8, 1 / 20),
    ("tree-imm", "k-means-1", None, 0.05),
    ("tree-imm", "exkmc-package-imm", None, 1 / 50),
    ("tree-exkmc", "decision-tree", 1 / 2.5, 1 / 8),
    ("tree-exkmc", "k-means-1", None, 0.12),
    ("tree-exkmc", "exkmc-package-exkmc", None, 1 / 40),
    ("tree-exshallow", "decision-tree", 1 / 3, None),
    ("tree-exshallow", "k-means-1", None, 0.2),
    ("tree-exshallow", "shallow-tree-package-exshallow", None, 1 / 60),
    ("given-imm", "decision-tree", 1 / 10, None),
    ("whole-search", "k-means-1", 1.0, None),
    ("whole-imm", "k-means-1", 1.0, None),
    ("whole-exshallow", "k-means-1", 1.3, None),
    ("whole-exkmc", "k-means-1", None, 0.4),
    ("whole-exkmc", "k-means-10", None, 1 / 20),
)
_EXCEPTIONS: dict[tuple[str, str, str], float] = {("beer-jitter", "tree-exshallow", "decision-tree"): 2.0}

# Inertia of cutwise's own reference relative to KMeans(n_init=10).
_INERTIA = (1.01, 1.003)
# Peak extra memory, minus 4 n k bytes for labels and costs, relative to the float32 input.
_MEMORY = (1.5, 0.6)


def shape_goals(shape: str, titles: dict[str, str], measurements: dict[str, Measurement]) -> list[Verdict]:
    """Goals about the times and the reference of one shape, for whatever was measured.

    Parameters
    ----------
    shape : str
    titles : dict of str to str
        Contestants' keys to their names.
    measurements : dict of str to Measurement

    Returns
    -------
    verdicts : list of Verdict
    """
    verdicts = []
    for ours, theirs, goal, stretch in _RATIOS:
        if not all(key in measurements and measurements[key].cpu for key in (ours, theirs)):
            continue
        goal = _EXCEPTIONS.get((shape, ours, theirs), goal)
        value = measurements[ours].median_cpu / measurements[theirs].median_cpu
        verdicts.append(Verdict(f"{titles[ours]} / {titles[theirs]}", value, "x", goal, stretch))
    best = measurements.get("k-means-10")
    reference = measurements.get("whole-exshallow")
    if best is not None and reference is not None and best.cpu and reference.cpu:
        value = reference.median_outcome("reference_inertia") / best.median_outcome("inertia")
        verdicts.append(Verdict("inertia of the reference / KMeans(n_init=10)", value, "x", *_INERTIA))
    return verdicts


def memory_goals(titles: dict[str, str], peaks: dict[str, int], input_bytes: int, cost_bytes: int) -> list[Verdict]:
    """Goals about peak memory of cutwise's contestants.

    Parameters
    ----------
    titles : dict of str to str
    peaks : dict of str to int
        Peak extra bytes by contestants' keys.
    input_bytes : int
        Size of the float32 input.
    cost_bytes : int
        4 n k: what an int32 table of costs takes; allowed on top.

    Returns
    -------
    verdicts : list of Verdict
    """
    ours = [key for key in peaks if key.split("-")[0] in ("tree", "given", "whole")]
    return [
        Verdict(f"(peak of {titles[key]} - 4nk) / input", (peaks[key] - cost_bytes) / input_bytes, "x", *_MEMORY)
        for key in ours
    ]


def startup_goals(iris_ms: dict[str, float], import_s: float | None, core_ms: float | None) -> list[Verdict]:
    """Goals about small data and start-up."""
    verdicts = [Verdict(f"iris, warm: {name}", value, "ms", 5.0, 1.0) for name, value in iris_ms.items()]
    if import_s is not None:
        verdicts.append(Verdict("import cutwise, on top of sklearn.cluster", import_s, "s", 0.3, None))
    if core_ms is not None:
        verdicts.append(Verdict("import of the core alone", core_ms, "ms", None, 5.0))
    return verdicts


def _amount(value: float, unit: str) -> str:
    if unit != "x":
        return f"{value:.3g} {unit}"
    # Small ratios read better as parts: 0.0125 is "1/80".
    return f"1/{1 / value:.3g}" if 0 < value < 0.15 else f"{value:.3g}"


def _inertia_safe_amount(verdict: Verdict, value: float) -> str:
    return f"{value:.4f}" if verdict.subject.startswith("inertia") else _amount(value, verdict.unit)


def describe(verdict: Verdict) -> str:
    """One line: the figure, then each goal with met or not met."""
    parts = [f"{verdict.subject}: {_inertia_safe_amount(verdict, verdict.value)}"]
    for name, limit in (("goal", verdict.goal), ("stretch", verdict.stretch)):
        if limit is not None:
            met = "met" if verdict.met(limit) else "NOT met"
            parts.append(f"{name} <= {_inertia_safe_amount(verdict, limit)} {met}")
    return "; ".join(parts)
