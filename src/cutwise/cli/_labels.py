"""Clusters of rows as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from cutwise.exceptions import InvalidInputError

__all__ = ["Labels", "label_lines", "labels_path"]


@dataclass(frozen=True)
class Labels:
    """A cluster for every row of a source, in its order; None where a row was left out.

    Attributes
    ----------
    clusters : list
    names : mapping of label to str
        Of the clusters that have a name.
    """

    clusters: list[Any]
    names: Mapping[Any, str] = field(default_factory=dict)

    def print_to(self, file: TextIO) -> None:
        """Write ``row,cluster`` lines, or ``row,cluster,name`` where clusters have names.

        Rows are counted from 0; rows that were left out have an empty cluster.
        """
        import csv

        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "cluster", "name"] if self.names else ["row", "cluster"])
        for row, cluster in enumerate(self.clusters):
            told = [row, "" if cluster is None else cluster]
            if self.names:
                told.append(self.names.get(cluster, ""))
            writer.writerow(told)

    def write(self, path: Path) -> None:
        """Write the lines to a file."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            self.print_to(file)


def label_lines(labels: Any, *, rows: Any, n_rows: int, names: Mapping[Any, str]) -> Labels:
    """The lines for ``labels`` (n,) of the source's rows ``rows`` (n,), out of ``n_rows``."""
    clusters: list[Any] = [None] * n_rows
    for row, cluster in zip(rows.tolist(), labels.tolist(), strict=True):
        clusters[row] = cluster
    return Labels(clusters, names)


def labels_path(path: str | None) -> str | None:
    """The path, when its ending does not promise another kind of file than CSV."""
    if path is not None and Path(path).suffix.lower() in {".parquet", ".json", ".xlsx", ".xls", ".gz"}:
        raise InvalidInputError(
            f"Clusters of rows are written as CSV, and {path} is named like another kind of file. Name it .csv."
        )
    return path
