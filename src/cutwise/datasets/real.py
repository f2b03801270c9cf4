"""The papers' real data sets: catalog, scaling, and loading."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cutwise.datasets import origins
from cutwise.exceptions import DataSetUnavailableError
from cutwise.table.intake import check_option

SCALINGS = ("raw", "minmax", "standard")
"""As found; every column to 0 .. 1; every column to mean 0 and standard deviation 1."""


@dataclass(frozen=True)
class RealSet:
    """A data set of the papers.

    Attributes
    ----------
    name : str
        Name in ``load_real`` and ``cutwise bench --sets``, and of its file without ``.npz``.
    title : str
        Name in the papers.
    n_clusters, n_rows, n_columns : int
        k, n and d of the papers' tables.
    fetch : callable or None
        Gives rows, column names and known labels (or None) from scikit-learn or its fetchers; None if a file is
        needed.
    bundled : bool
        Whether ``fetch`` needs no network.
    checksum : str
        Checksum of the values, independent of row order and stored precision; empty if unknown.
    exshallow_scaling : str
        How the ExShallow paper's Table 2 scaled it.
    note : str
        Changes to the published table.
    """

    name: str
    title: str
    n_clusters: int
    n_rows: int
    n_columns: int
    fetch: Callable[[], tuple[Any, list[str], Any]] | None = field(default=None, repr=False)
    bundled: bool = False
    checksum: str = field(default="", repr=False)
    exshallow_scaling: str = "raw"
    note: str = ""


def _read_catalog() -> dict[str, RealSet]:
    """Every set of ``catalog.csv``, by name; an origin is what ``origins.fetch`` takes."""
    catalog = {}
    with open(Path(__file__).with_name("catalog.csv"), encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            entry: dict[str, Any] = {**line, "bundled": line["bundled"] == "yes"}
            entry |= {name: int(line[name]) for name in ("n_clusters", "n_rows", "n_columns")}
            origin = entry.pop("origin")
            catalog[line["name"]] = RealSet(**entry, fetch=partial(origins.fetch, origin) if origin else None)
    return catalog


# There are two Mice sets: the papers treated missing values in two ways, which gives 552 x 77 and 1080 x 69.
CATALOG: dict[str, RealSet] = _read_catalog()
"""Every real data set of the papers, by name."""


DATA_FOLDER_VARIABLE = "CUTWISE_DATA"
"""The environment variable that names the folder of data files."""


@dataclass(frozen=True, eq=False)
class LoadedSet:
    """A real data set, ready to cluster.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, d), float64
        The rows, scaled.
    n_clusters : int
        The papers' k.
    feature_names : list of str
    labels : ndarray of shape (n,) or None
        The known classes of the rows, if available; not used in clustering.
    name, title, scaling, source : str
        ``source`` says where the values came from.
    """

    X: Any
    n_clusters: int
    feature_names: list[str]
    name: str
    title: str
    scaling: str
    source: str
    labels: Any = None

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"LoadedSet({self.name}: {n} x {d}, {self.n_clusters} clusters, {self.scaling}; {self.source})"


def load_real(
    name: str,
    *,
    data: str | os.PathLike[str] | None = None,
    scaling: str | None = None,
    check: bool = True,
    network: bool = True,
) -> LoadedSet:
    """Load a data set of the papers.

    A file ``NAME.npz`` in the data folder is taken first (array ``X``, optionally ``feature_names`` and ``y``), then
    what scikit-learn carries along, then scikit-learn's fetchers, which keep what they fetch.

    Parameters
    ----------
    name : str
        One of ``cutwise.datasets.CATALOG``.
    data : str or path-like, default=None
        The data folder; None means the one that the environment variable ``CUTWISE_DATA`` names, if any.
    scaling : {"raw", "minmax", "standard"}, default=None
        None means that of the ExShallow paper's tables: every column to 0 .. 1 for Avila and Vowel, raw elsewhere. The
        ExKMC paper took all of them raw.
    check : bool, default=True
        Compare the values with the checksum of the papers' table, where it is known.
    network : bool, default=True
        Whether fetching is allowed.

    Returns
    -------
    loaded : LoadedSet

    Raises
    ------
    UnknownOptionError
        No such set or scaling.
    DataSetUnavailableError
        The set cannot be had, or the file holds another table; the message says what would help.

    Examples
    --------
    >>> from cutwise.datasets import load_real
    >>> load_real("iris")
    LoadedSet(iris: 150 x 4, 3 clusters, raw; scikit-learn)
    """
    found = CATALOG[check_option("name", name, tuple(CATALOG))]
    chosen = found.exshallow_scaling if scaling is None else check_option("scaling", scaling, SCALINGS)
    values, names, labels, source = _values(found, data, network)
    if check:
        _check(found, values, source)
    return LoadedSet(_scaled(values, chosen), found.n_clusters, names, name, found.title, chosen, source, labels)


def checksum_of(values: Any) -> str:
    """A checksum of a table's values: 16 hexadecimal digits, the same for any order of rows, and for float32 copies.

    ``values`` (n, d).
    """
    rows = np.ascontiguousarray(values, dtype=np.float32) + np.float32(0)  # -0 and 0 are equal
    digests = np.sort(np.array([hashlib.sha256(row.tobytes()).digest()[:16] for row in rows]))
    return hashlib.sha256(digests.tobytes()).hexdigest()[:16]


def _values(found: RealSet, data: str | os.PathLike[str] | None, network: bool) -> tuple[Any, list[str], Any, str]:
    """Values, column names, known labels and their source."""
    folder = data if data is not None else os.environ.get(DATA_FOLDER_VARIABLE) or None
    if folder is not None:
        path = Path(folder) / f"{found.name}.npz"
        if path.exists():
            return (*_read(path), path.name)
    if found.fetch is None or not (network or found.bundled):
        raise DataSetUnavailableError.of(found.name, folder=folder, can_be_fetched=found.fetch is not None)
    try:
        values, names, labels = found.fetch()
    except OSError as error:  # no network, no such host, a refusal of the server
        raise DataSetUnavailableError.of(found.name, folder=folder, can_be_fetched=True, failure=str(error)) from error
    if not sparse.issparse(values):
        return np.asarray(values, dtype=np.float64), names, labels, "scikit-learn" if found.bundled else "fetched"
    return sparse.csr_array(values).astype(np.float64), names, labels, "fetched"


def _read(path: Path) -> tuple[Any, list[str], Any]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            values = np.asarray(stored["X"], dtype=np.float64)
            known = stored["feature_names"].tolist() if "feature_names" in stored else range(values.shape[1])
            labels = stored.get("y")
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise DataSetUnavailableError(
            f"{path} is not a data file: it needs an array X of numbers, written by numpy.savez ({error})."
        ) from error
    return values, [str(name) for name in known], labels


def _check(found: RealSet, values: Any, source: str) -> None:
    given = values.shape
    differs = given != (found.n_rows, found.n_columns)
    # The values behind the large sets' figures are not published: only their size is checked.
    if not differs and not (found.checksum and checksum_of(values) != found.checksum):
        return
    what = f"{given[0]} x {given[1]} values" if differs else "other values"
    raise DataSetUnavailableError(
        f"{found.name} ({source}) has {what}; the papers' table is {found.n_rows} x {found.n_columns}"
        f"{f' with checksum {found.checksum}' if found.checksum and not differs else ''}.\n"
        "Results on it cannot be compared with the published ones. Pass check=False to use it all the same."
    )


def _scaled(values: Any, scaling: str) -> Any:
    if scaling == "raw":
        return values
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scaling == "minmax":
        scaler = MaxAbsScaler() if sparse.issparse(values) else MinMaxScaler()
    else:
        scaler = StandardScaler(with_mean=not sparse.issparse(values))
    return scaler.fit_transform(values)
