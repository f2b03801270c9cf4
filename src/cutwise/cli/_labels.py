"""Clusters of rows as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from cutwise.exceptions import InvalidInputError

__all__ = ["Labels", "label_lines", "labels_path"]


@dataclass(frozen=True)
class Labels:
    """A cluster for every row of a source, in its order; None where a row was left out."""

    clusters: list[Any]

    def print_to(self, file: TextIO) -> None:
        """Write ``row,cluster`` lines; rows are counted from 0, rows that were left out have an empty cluster."""
        import csv

        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "cluster"])
        writer.writerows((row, "" if cluster is None else cluster) for row, cluster in enumerate(self.clusters))

    def write(self, path: Path) -> None:
        """Write the lines to a file."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            self.print_to(file)


def label_lines(labels: Any, *, rows: Any, n_rows: int) -> Labels:
    """The lines for ``labels`` (n,) of the source's rows ``rows`` (n,), out of ``n_rows``."""
    clusters: list[Any] = [None] * n_rows
    for row, cluster in zip(rows.tolist(), labels.tolist(), strict=True):
        clusters[row] = cluster
    return Labels(clusters)


def labels_path(path: str | None) -> str | None:
    """The path, when its ending does not promise another kind of file than CSV."""
    if path is not None and Path(path).suffix.lower() in {".parquet", ".json", ".xlsx", ".xls", ".gz"}:
        raise InvalidInputError(
            f"Clusters of rows are written as CSV, and {path} is named like another kind of file. Name it .csv."
        )
    return path
