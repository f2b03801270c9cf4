"""The packages of the papers' authors, where they can be imported: trees on a given reference, made ready to be timed.

ExKMC (https://github.com/navefr/ExKMC) is of the IMM and ExKMC papers, ShallowTree
(https://github.com/lmurtinho/ShallowTree), which needs it, of the ExShallow paper. Neither installs from PyPI on Python
3.11 or newer; ``benchmarks/README.md`` says how to build them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

__all__ = ["exkmc_package", "shallow_tree_package", "why_not_importable"]

Fit = Callable[[], Any]


def why_not_importable(module: str) -> str:
    """Why ``ExKMC`` or ``ShallowTree`` cannot take part; empty where it can."""
    try:
        importlib.import_module({"ExKMC": "ExKMC.Tree", "ShallowTree": "ShallowTree.ShallowTree"}[module])
    except (ImportError, OSError) as error:  # OSError: the compiled library beside ShallowTree is missing
        return str(error)
    return ""


def exkmc_package(X: npt.NDArray[Any], centers: npt.NDArray[np.float64], max_leaves: int, base_tree: str) -> Fit:
    """ExKMC's tree. Its ``fit`` assigns the rows to the centers first: a small part of its time, which is left in.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    centers : ndarray of shape (n_clusters, n_columns)
    max_leaves : int
    base_tree : {"IMM", "NONE"}

    Returns
    -------
    fit : callable
        What is to be timed; returns the fitted tree.
    """
    from ExKMC.Tree import Tree

    tree = Tree(len(centers), max_leaves=max_leaves, base_tree=base_tree, n_jobs=1)
    reference = _holding(X, centers, np.dtype(np.float64))
    return lambda: tree.fit(X, reference)


def shallow_tree_package(X: npt.NDArray[Any], centers: npt.NDArray[np.float64], depth_factor: float) -> Fit:
    """ShallowTree's tree: ExShallow, or ExGreedy with depth factor 0. Parameters and result as of `exkmc_package`."""
    module: Any = importlib.import_module("ShallowTree.ShallowTree")
    # Its fit calls predict on a KMeans that was never fitted; current versions then miss what fitting sets.
    if not hasattr(module.KMeans, "_n_threads"):
        module.KMeans = type("KMeans", (module.KMeans,), {"_n_threads": 1})
    reference = _holding(X, centers, X.dtype)
    if "centers" in inspect.signature(module.ShallowTree.fit).parameters:  # the version on PyPI
        tree = module.ShallowTree(len(centers), depth_factor=depth_factor)
        return lambda: tree.fit(X, reference.cluster_centers_)
    tree = module.ShallowTree(len(centers))
    return lambda: tree.fit(X, reference, depth_factor=depth_factor)


def _holding(X: npt.NDArray[Any], centers: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> KMeans:
    """A KMeans with these centers, of the type in which the package passes rows to it."""
    few = X[: len(centers)]
    model = KMeans(len(centers), init=few, n_init=1, max_iter=1).fit(few)
    model.cluster_centers_ = np.ascontiguousarray(centers, dtype=dtype)
    return model
