"""The papers' real data sets: what they are, how they are scaled, and where they are read from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
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
        What ``load_real`` and ``cutwise bench --sets`` call it, and its file's name without ``.npz``.
    title : str
        What the papers call it.
    n_clusters, n_rows, n_columns : int
        k, n and d of the papers' tables.
    fetch : callable or None
        Gives rows, column names and known labels (or None) from scikit-learn, or by its fetchers; None where only a
        file will do.
    bundled : bool
        Whether ``fetch`` needs no network.
    checksum : str
        Of the values, whatever the order of the rows and the precision they are stored in; empty where unknown.
    exshallow_scaling : str
        How the ExShallow paper's Table 2 scaled it.
    note : str
        What was done to the published table.
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


_NO_LABELS = "the label column is left out"
_ON_FILE = "only from a file"

# The two Mice: the papers dealt with missing values in two ways, which gives 552 x 77 and 1080 x 69.
_ALL = (
    RealSet("iris", "Iris", 3, 150, 4, origins.iris, True, "9148c984fed49adf"),
    RealSet("wine", "Wine", 3, 178, 13, origins.wine, True, "cd7c1b5e32d04818"),
    RealSet("breast_cancer", "Breast Cancer", 2, 569, 30, origins.breast_cancer, True, "3111934d170d4fc5"),
    RealSet("digits", "Digits", 10, 1797, 64, origins.digits, True, "1dcf418f0b585c53"),
    RealSet(
        "mice_rows",
        "Mice",
        8,
        552,
        77,
        origins.mice_rows,
        checksum="f138f678e0d41035",
        note="rows with a missing protein are left out (ExShallow paper)",
    ),
    RealSet(
        "mice_1080x69",
        "Mice Protein",
        8,
        1080,
        69,
        origins.mice_columns,
        checksum="9a897897c25c9a96",
        note="proteins with over 10 missing values are left out, other gaps have the column's mean (ExKMC paper)",
    ),
    RealSet(
        "vowel",
        "Vowel",
        11,
        990,
        10,
        origins.vowel,
        checksum="43be0339a32178a3",
        exshallow_scaling="minmax",
        note="speaker, sex and the train/test flag are left out",
    ),
    RealSet("anuran", "Anuran", 10, 7195, 22, checksum="23f9fcbe1eb7f201", note=f"MFCC columns; {_ON_FILE}"),
    RealSet("letter", "Letter", 26, 20000, 16, origins.letter, checksum="2b56a2c58b5ed74c", note=_NO_LABELS),
    RealSet("pendigits", "Pendigits", 10, 10992, 16, origins.pendigits, checksum="44459ec89bfbd5f4", note=_NO_LABELS),
    RealSet(
        "avila",
        "Avila",
        12,
        20867,
        10,
        checksum="fc15d58d25bb9403",
        exshallow_scaling="minmax",
        note=f"train and test rows together; {_ON_FILE}",
    ),
    RealSet("covtype", "Covtype", 7, 581012, 54, origins.covtype, note=_NO_LABELS),
    RealSet(
        "covtype_93k",
        "Covtype, 16 % of its rows",
        7,
        92962,
        54,
        checksum="eca6be7629e7da4e",
        note=f"a random sample, so not the papers' set; {_ON_FILE}",
    ),
    RealSet(
        "newsgroups_tfidf",
        "20Newsgroups",
        20,
        18846,
        1069,
        origins.newsgroups_tfidf,
        note="TF-IDF of words in at least 1 % of the posts, without English stop words (ExShallow paper)",
    ),
    RealSet(
        "newsgroups_counts",
        "20 Newsgroups",
        20,
        18846,
        1893,
        origins.newsgroups_counts,
        note="counts of words in at least 1 % of the posts, without English stop words (ExKMC paper)",
    ),
    RealSet("cifar10", "CIFAR-10", 10, 60000, 3072, origins.cifar10, note="pixels; the ExKMC paper has 50,000 of them"),
    RealSet("poker", "Poker", 10, 1025010, 10, note=_ON_FILE),
    RealSet("sensorless", "Sensorless", 11, 58509, 48, note=_ON_FILE),
    RealSet("beer", "Beer", 104, 1514999, 5, note=_ON_FILE),
    RealSet("bng_audiology", "BNG (audiology)", 24, 1000000, 85, note=_ON_FILE),
    RealSet("collins", "Collins", 30, 1000, 19, note=_ON_FILE),
    RealSet(
        "halfmoons", "Halfmoons", 2, 500, 2, origins.halfmoons, True, "b63e41f8a8cf6787", note="n and noise are ours"
    ),
    RealSet("pathbased", "Pathbased", 3, 300, 2, checksum="07e72698dc8310d6", note=_ON_FILE),
    RealSet("aggregation", "Aggregation", 7, 788, 2, checksum="5db5c635433c0efc", note=_ON_FILE),
    RealSet("flame", "Flame", 2, 240, 2, checksum="7a0f7d1bef9ba429", note=_ON_FILE),
)

CATALOG: dict[str, RealSet] = {each.name: each for each in _ALL}
"""Every real data set of the papers, by name."""


def find_set(name: str) -> RealSet:
    """The set of a name.

    Raises ``UnknownOptionError``: no such set; the error lists them.
    """
    return CATALOG[check_option("name", name, tuple(CATALOG))]


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
        The known kinds of the rows, where they are at hand; no part of clustering.
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
    found = find_set(name)
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
    """Values, column names, known labels and where they are from."""
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
            f"{path} is no data file: it needs an array X of numbers, written by numpy.savez ({error})."
        ) from error
    return values, [str(name) for name in known], labels


def _check(found: RealSet, values: Any, source: str) -> None:
    given = values.shape
    differs = given != (found.n_rows, found.n_columns)
    # Nobody published the values behind the large sets' figures: there the size must do.
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
