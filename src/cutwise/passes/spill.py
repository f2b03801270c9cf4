"""Copies of rows on disk: one file per array, in a temporary folder that is removed after the fit."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise._whole import new_name
from cutwise.exceptions import InvalidInputError


class Copies:
    """A temporary folder for copies of the rows, removed after the fit or, if ``persistent``, with this object.

    A new one first removes the folders of killed processes of this machine, since others may share the place.
    """

    def __init__(self, *, persistent: bool = False) -> None:
        named = os.environ.get("TMPDIR")  # Python ignores it where it cannot write there, or looked before
        if named and not os.access(named, os.W_OK | os.X_OK):
            raise InvalidInputError(f"TMPDIR names {named}, where nothing can be written. Set it to one with room.")
        self.folder = new_name(Path(named or tempfile.gettempdir()).absolute(), "cutwise-rows-")
        self.folder.mkdir(mode=0o700)
        self._persistent = persistent
        self._remove = weakref.finalize(self, _remove_own, self.folder, os.getpid())

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None or not self._persistent:
            self._remove()


def _remove_own(folder: Path, process: int) -> None:
    """Remove a folder, but not in a forked child, whose parent may still use it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


_CONVERTED_ROWS = 1 << 16
"""Rows converted to another dtype at a time."""


class Column:
    """One array of all rows, in a file: written batch by batch, read by slices."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.path = path
        self.width: tuple[int, ...] = ()
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self.n = 0
        self.renamed: npt.NDArray[Any] | None = None  # values are positions in this array

    def append(self, values: npt.NDArray[Any]) -> None:
        """Append rows."""
        dtype = np.promote_types(self.dtype, values.dtype) if self.n else values.dtype
        try:
            if self.n and dtype != self.dtype:
                self._convert(dtype)
            with self.path.open("ab") as file:
                file.write(np.ascontiguousarray(values, dtype=dtype).data)
        except OSError as error:
            raise InvalidInputError(
                f"The copy of the rows could not be written to {self.path.parent}: {error.strerror}. It takes the "
                "table's values and about 4 k + d + 9 bytes a row, and is removed. Set TMPDIR to a folder with room."
            ) from error
        self.width, self.dtype, self.n = values.shape[1:], dtype, self.n + len(values)

    def _convert(self, dtype: np.dtype[Any]) -> None:
        """Rewrite the file in another dtype."""
        other = self.path.with_suffix(".converted")
        with other.open("wb") as file:
            for first in range(0, self.n, _CONVERTED_ROWS):
                file.write(self.mapped(first, min(_CONVERTED_ROWS, self.n - first)).astype(dtype).data)
        other.replace(self.path)

    def read(self, first: int, n: int) -> npt.NDArray[Any]:
        """Read n rows, looked up in ``renamed`` where it is set."""
        values = self.mapped(first, n)
        return values if self.renamed is None else self.renamed[values]

    def mapped(self, first: int = 0, n: int | None = None) -> npt.NDArray[Any]:
        """Memory map of all rows, or of a slice."""
        shape = (self.n - first if n is None else n, *self.width)
        if 0 in shape:
            return np.empty(shape, dtype=self.dtype)
        start = first * math.prod(self.width) * self.dtype.itemsize
        return np.asarray(np.memmap(self.path, self.dtype, "r", start, shape))
