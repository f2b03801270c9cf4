"""The pictures of the papers' experiments, drawn from what ``cutwise bench`` has kept of them.

``python benchmarks/pictures.py exkmc docs/evidence/exkmc`` reads ``results.jsonl`` in the folder and writes PNG files
beside it; ``shallow`` and ``kernel`` likewise. Needs matplotlib.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from cutwise.bench import exkmc, kernel, shallow
from cutwise.bench.measures import trees_of
from cutwise.bench.runner import Record, read_records
from cutwise.datasets import CATALOG


@dataclass(frozen=True)
class Line:
    """One line of a picture: positions, heights, and half the height of each error bar."""

    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None
    dashed: bool = False


def curves(lines: Mapping[str, Line], *, title: str, x_label: str, y_label: str, mark: float | None = None) -> bytes:
    """A picture of some lines, as PNG; ``mark`` is an x to point out."""
    figure = _figure(6.4, 4.0)
    axes = figure.subplots()
    _draw(axes, lines)
    if mark is not None:
        axes.axvline(mark, color="crimson", linewidth=0.8)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.legend(frameon=False)
    return _png(figure)


def grid_of_curves(
    panels: Mapping[str, Mapping[str, Line]], *, x_label: str, y_label: str, ratios: bool = False
) -> bytes:
    """A picture with a panel for every data set and one legend; ``ratios`` are drawn on a logarithmic scale."""
    columns = 3 if len(panels) <= 9 else 4
    rows = -(-len(panels) // columns)
    figure = _figure(3.2 * columns, 2.5 * rows + 0.5)
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    handles: dict[str, Any] = {}
    for axes, (title, lines) in zip(grid, panels.items(), strict=False):
        handles |= _draw(axes, lines)
        axes.set_title(title, fontsize=10)
        axes.axhline(1.0, color="0.7", linewidth=0.8, zorder=0)
        if ratios:
            _scale_ratios(axes, max(value for line in lines.values() for value in line.y))
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel(x_label, fontsize=10)
    figure.supylabel(y_label, fontsize=10)
    figure.legend(
        list(handles.values()), list(handles), loc="outside upper center", ncols=min(len(handles), 7), frameon=False
    )
    return _png(figure)


def partitions(sets: Mapping[str, tuple[Sequence[Sequence[float]], Mapping[str, Sequence[int]]]]) -> bytes:
    """A row of scatter plots for every set of points in the plane: one for each partition, as PNG."""
    columns = max(len(of_set) for _, of_set in sets.values())
    figure = _figure(1.8 * columns, 1.9 * len(sets))
    grid = figure.subplots(len(sets), columns, squeeze=False)
    for number, (title, (points, of_set)) in enumerate(sets.items()):
        row = grid[number]
        x, y = np.asarray(points).T
        for axes, (name, labels) in zip(row, of_set.items(), strict=False):
            axes.scatter(x, y, c=[_COLORS[label % len(_COLORS)] for label in labels], s=2, linewidths=0)
            axes.set(xticks=[], yticks=[])
            if number == 0:
                axes.set_title(name, fontsize=9)
        row[0].set_ylabel(title, fontsize=9)
    return _png(figure)


# One color a name, whatever the picture: Okabe and Ito's palette, which color-blind readers can tell apart.
_COLORS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2", "#999999")


def _draw(axes: Any, lines: Mapping[str, Line]) -> dict[str, Any]:
    handles = {}
    for (name, line), color in zip(lines.items(), _COLORS * 3, strict=False):
        style = {"color": color, "linestyle": "--" if line.dashed else "-", "marker": "o", "markersize": 2.5}
        handles[name] = axes.errorbar(line.x, line.y, yerr=line.error, linewidth=1.2, capsize=2, label=name, **style)
    return handles


def _scale_ratios(axes: Any, largest: float) -> None:
    """A logarithmic axis from 1 to 10 at most, with a handful of plain numbers on it."""
    top = min(10.0, max(1.02, 1.05 * largest))
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_ylim(0.99, top)
    steps = {
        10.0: (1, 1.5, 2, 3, 5, 8),
        4.0: (1, 1.2, 1.5, 2, 3),
        1.8: (1, 1.1, 1.2, 1.3, 1.4, 1.6),
        1.1: (1, 1.02, 1.05),
    }
    ticks = [step for step in steps[min(limit for limit in steps if top <= limit)] if step <= top]
    axes.set_yticks(ticks, labels=[f"{tick:g}" for tick in ticks])


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    # Without the date and version the same figures give the same file.
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def pictures_of_exkmc(records: list[Record]) -> dict[str, bytes]:
    """Cost ratio, accuracy and surrogate cost against the number of leaves, a panel a set."""
    values = trees_of(records)
    surrogate = {
        exkmc.title_of(name): {
            "cost": _median_line(algorithms["exkmc_imm"], "cost_ratio"),
            "surrogate cost": _median_line(algorithms["exkmc_imm"], "surrogate_ratio", dashed=True),
        }
        for name, algorithms in values.items()
    }
    return {
        "curves.png": _leaf_curves(values, "cost_ratio", "cost ratio", ratios=True),
        "accuracy.png": _leaf_curves(values, "accuracy", "accuracy"),
        "surrogate.png": grid_of_curves(surrogate, x_label="leaves", y_label="over the reference's cost"),
    }


def _leaf_curves(values: Any, figure: str, label: str, *, ratios: bool = False) -> bytes:
    panels = {
        exkmc.title_of(name): {
            heading: _median_line(algorithms[a], figure) for a, heading in exkmc.HEADINGS.items() if a in algorithms
        }
        for name, algorithms in values.items()
    }
    return grid_of_curves(panels, x_label="leaves", y_label=label, ratios=ratios)


def _median_line(points: Any, figure: str, *, dashed: bool = False) -> Line:
    by_size = points.groupby("size")[figure]
    return Line(list(by_size.groups), by_size.median().tolist(), by_size.std(ddof=0).tolist(), dashed)


def pictures_of_shallow(records: list[Record]) -> dict[str, bytes]:
    """Figures 4 and 5: explanation size and cost against the depth penalty."""
    drawn = {}
    for file, key, title in (("figure4", "waes", "WAES, relative to λ = 0"), ("figure5", "cost", "Cost ratio")):
        lines = shallow.penalty_curves(records)[key]
        half = t.ppf(0.975, len(lines) - 1) * lines.std(axis=0, ddof=1) / np.sqrt(len(lines))  # of 95 % intervals
        line = Line(shallow.PENALTIES, lines.mean(axis=0).tolist(), np.nan_to_num(half).tolist())
        drawn[f"{file}.png"] = curves(
            {"all sets": line}, title=title, x_label="depth penalty λ", y_label="mean over the sets", mark=0.03
        )
    return drawn


def pictures_of_kernel(records: list[Record]) -> dict[str, bytes]:
    """Figures 1 and 3: partitions of the sets in the plane."""
    columns = {**kernel.OTHERS, **kernel.TREES}
    by_set, best = kernel.by_set_and_best(records)
    drawn = {
        CATALOG[name].title: (
            next(each["points"] for each in by_set[name] if "points" in each),
            {columns[each]: list(map(int, result["partitions"][each])) for each in columns},
        )
        for name, result in best.items()
        if "partitions" in result
    }
    return {"figures1and3.png": partitions(drawn)} if drawn else {}


PICTURES = {"exkmc": pictures_of_exkmc, "shallow": pictures_of_shallow, "kernel": pictures_of_kernel}

if __name__ == "__main__":
    experiment, folder = sys.argv[1], Path(sys.argv[2])
    for name, picture in PICTURES[experiment](read_records(folder / "results.jsonl")).items():
        (folder / name).write_bytes(picture)
        print(folder / name)
