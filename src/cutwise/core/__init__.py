"""The C++ core, a folder a stage.

Signatures, shapes and meanings are in ``_core.pyi``, which is written from the bindings. Throughout, ``rows`` are the
numbers of a node's rows (int32); per-row arrays have one entry for every row of the table; ``k`` is a number of
clusters, ``d`` of columns. Costs, losses and weights are integers (fixed point), so no result depends on the order of
rows or on ``n_jobs``. A ``histogram`` is indexed by slot (see ``Encoded``), and None stands for "sort every column
instead". Functions check shapes and bounds and raise ``ValueError``; but what ``rows``, ``cluster`` and ``labels`` hold
is taken on trust by the searches: looking through them at every node would cost as much as many a search.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ._core import *  # noqa: F403  all of it: the stub lists the names

MATRIX_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8))
"""The dtypes that the core reads as they are; every other one is converted at intake."""

Flags: TypeAlias = npt.NDArray[np.uint8]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

ObjectiveName = Literal["kmeans", "kmedians"]
"""Squared Euclidean distance to the center, or l1 distance."""
