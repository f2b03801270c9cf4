"""The papers' real data sets: what they are called, how large they are, where they come from, how they are scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cutwise.datasets import origins
from cutwise.table import check_option

__all__ = ["CATALOG", "SCALINGS", "RealSet", "find_set"]

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

    Raises
    ------
    UnknownOptionError
        No such set; the error lists them.
    """
    return CATALOG[check_option("name", name, tuple(CATALOG))]
