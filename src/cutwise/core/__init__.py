"""The C++ core, with one folder per stage.

Signatures, shapes and meanings are in ``_core.pyi``, which is written from the bindings. Throughout, ``rows`` are the
numbers of a node's rows (int32); arrays of shape (n_rows,) have one entry for every row of the table; ``k`` is the
number of clusters and ``d`` that of columns. Costs, losses and weights are integers (fixed point), so no result depends
on the order of the rows or on ``n_jobs``. A ``histogram`` is indexed by slot (see ``Encoded``); None means that the
search sorts every column instead. Functions check shapes and bounds and raise ``ValueError``. They do not check the
values in ``rows``, ``cluster`` and ``labels``, since that would take as long as some searches.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ._core import *  # noqa: F403  all of it: the stub lists the names

MATRIX_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8))
"""The dtypes that the core reads without a conversion; others are converted when a table is made."""

Flags: TypeAlias = npt.NDArray[np.uint8]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

ObjectiveName = Literal["kmeans", "kmedians"]
"""Squared Euclidean distance to the center, or l1 distance."""
