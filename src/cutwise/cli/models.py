"""Saved models on the command line: their columns in a file, the names of their clusters, and clusters as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from cutwise.cli.tables import Source
from cutwise.exceptions import ColumnMismatchError, InvalidInputError, ModelFileError, did_you_mean, listed

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cutwise.estimators import TreeEstimator

__all__ = [
    "Labels",
    "as_fitted",
    "label_lines",
    "labels_path",
    "name_clusters",
    "other_columns",
    "read_model",
    "tested_columns",
]


def read_model(path: str, file: str) -> TreeEstimator:
    """The model that a command answers from; ``file`` is the table beside it, in case the two were swapped."""
    from cutwise import load_model

    try:
        return load_model(path)
    except ModelFileError as error:
        with suppress(ModelFileError):
            load_model(file)
            raise InvalidInputError(f"{file} is the model, and {path} the table. Give the model first.") from error
        raise


def tested_columns(model: TreeEstimator, source: Source) -> pd.DataFrame:
    """The columns that the model's tree asks about, in its order; no others are needed to place a row."""
    given = list(source.frame.columns)
    tested = _tested(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not source.has_names:
        if len(given) != model.n_features_in_:
            raise ColumnMismatchError(
                f"{source.name} has {len(given)} columns, and the model was fitted on {model.n_features_in_}. "
                "Without names they are matched by position, so the number must be the same."
            )
        return source.frame.iloc[:, tested]
    needed = [names[i] for i in tested]
    missing = [name for name in needed if name not in given]
    if missing:
        free = [name for name in given if name not in names]
        raise ColumnMismatchError(
            f"{source.name} lacks {len(missing)} of the {len(needed)} columns that the model asks about: "
            f"{listed(missing)}.{did_you_mean(missing[0], free)} Its own columns are {listed(given, most=20)}."
        )
    return source.frame[needed]


def other_columns(model: TreeEstimator, source: Source) -> list[str]:
    """The names in the file of the model's further columns, as far as they are there and hold numbers."""
    from pandas.api import types

    given, tested = list(source.frame.columns), set(_tested(model))
    names = getattr(model, "feature_names_in_", given) if source.has_names else given
    found = [name for i, name in enumerate(names) if i not in tested and name in given]
    return [name for name in found if types.is_numeric_dtype(source.frame[name])]


def as_fitted(model: TreeEstimator, source: Source, rows: pd.DataFrame) -> pd.DataFrame | npt.NDArray[Any]:
    """Rows of some of the file's columns as the model takes them: under its own names, or each in its place."""
    import numpy as np

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        values = np.zeros((len(rows), model.n_features_in_))
        values[:, source.frame.columns.get_indexer(rows.columns)] = rows.to_numpy(dtype=np.float64)
        return values
    if not source.has_names:
        rows = rows.rename(columns=dict(zip(source.frame.columns, names, strict=True)))
    return rows[[name for name in names if name in rows.columns]]


def _tested(model: TreeEstimator) -> list[int]:
    feature = model.tree_.feature
    return sorted(set(feature[feature >= 0].tolist()))


def name_clusters(model: TreeEstimator, given: Sequence[str]) -> None:
    """Give the clusters of a fitted model the names of ``--name``: ``CLUSTER=NAME``, the cluster as it is printed."""
    names: dict[Any, str] = {}
    labels = model.classes_.tolist()
    for text in given:
        # A label may hold "=" itself: of those that fit, the longest is meant.
        fits = [label for label in labels if text.startswith(f"{label}=")]
        if not fits:
            raise InvalidInputError(
                f"--name {text}: there is no such cluster. Say CLUSTER=NAME, such as --name '{labels[0]}=students'; "
                f"the clusters are {listed(labels, most=20)}."
            )
        label = max(fits, key=lambda label: len(str(label)))
        if label in names:
            raise InvalidInputError(f"--name gives cluster {label!r} two names. Give it one.")
        names[label] = text[len(f"{label}=") :]
    if names:
        model.name_clusters(names)


@dataclass(frozen=True)
class Labels:
    """A cluster for every row of a source, in its order."""

    clusters: list[Any]  # None where a row was left out
    names: Mapping[Any, str] = field(default_factory=dict)  # of the clusters that have one

    def print_to(self, file: TextIO) -> None:
        """Write ``row,cluster`` lines, or ``row,cluster,name`` where clusters have names.

        Rows are counted from 0; rows that were left out have an empty cluster.
        """
        import csv

        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "cluster", "name"] if self.names else ["row", "cluster"])
        for row, cluster in enumerate(self.clusters):
            line = [row, "" if cluster is None else cluster]
            if self.names:
                line.append(self.names.get(cluster, ""))
            writer.writerow(line)

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
