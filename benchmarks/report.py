"""The printed tables, and a description of the machine that the figures belong to."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters import Contestant
from goals import Verdict, describe
from timing import Measurement

__all__ = ["machine", "shape_table", "verdict_lines", "versions"]

_PACKAGES = ("cutwise", "numpy", "scipy", "scikit-learn", "lightgbm", "ExKMC", "ShallowTree")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system and load at the start."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 1e9, 1),
        "system": platform.platform(),
        "load_at_start": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str]:
    """Python's and the packages' versions; absent ones are left out."""
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _ratio(value: float, base: float | None) -> str:
    return f"{value / base:.3f}" if base else "-"


def shape_table(
    contestants: Sequence[Contestant], measurements: dict[str, Measurement], peaks: dict[str, int]
) -> list[str]:
    """The lines of one shape's table: a line a contestant, in median CPU seconds."""
    base = {
        key: measurements[key].median_cpu
        for key in ("decision-tree", "k-means-1")
        if key in measurements and measurements[key].cpu
    }
    header = ("", "CPU s", "(min)", "wall s", "/ tree", "/ k-means", "extra MB", "leaves", "cost ratio", "rounds")
    rows = [header]
    notes = []
    for contestant in contestants:
        measured = measurements[contestant.key]
        if measured.left_out:
            notes.append(f"{contestant.title}: not run, {measured.left_out}")
        if not measured.cpu:
            continue
        leaves, ratio = measured.median_outcome("n_leaves"), measured.median_outcome("cost_ratio")
        peak = peaks.get(contestant.key)
        rows.append(
            (
                contestant.title,
                f"{measured.median_cpu:.3f}",
                f"{min(measured.cpu):.3f}",
                f"{measured.median_wall:.3f}",
                _ratio(measured.median_cpu, base.get("decision-tree")),
                _ratio(measured.median_cpu, base.get("k-means-1")),
                "-" if peak is None else f"{peak / 1e6:.0f}",
                "-" if leaves != leaves else f"{leaves:.0f}",
                "-" if ratio != ratio else f"{ratio:.4f}",
                str(len(measured.cpu)),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]
    return [*lines, *notes]


def verdict_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """The goals' lines, those that are not met marked in front."""
    lines = []
    for verdict in verdicts:
        mark = "-" if verdict.met(verdict.goal) is False else "+" if verdict.goal is not None else " "
        lines.append(f"  {mark} {describe(verdict)}")
    return lines
