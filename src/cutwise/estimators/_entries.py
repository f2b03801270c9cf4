"""The entries of a model file, asked for by kind: errors name the entry, what it holds and what is expected."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import CutwiseError, InvalidInputError

Made = TypeVar("Made")

WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""How a file says what JSON has no number for."""

# Texts of an array are as wide as the widest; a file cannot ask for more memory than this for one of them.
_WIDEST = 1 << 20
_LONGEST = 1 << 31

# What np.dtype makes of other texts may be anything, also a record or a syntax error.
_DTYPE = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1|U[0-9]{1,7}|O)")


class DamagedEntryError(ValueError):
    """An entry is missing, or holds what cannot be there."""


class Entries:
    """One object of a model file.

    ``values``: what the file holds; anything but an object is refused. ``place``: where that is, for messages:
    ``"fitted.reference"``.
    """

    def __init__(self, values: object, place: str) -> None:
        if not isinstance(values, dict):
            raise _damaged(place, values, "an object of entries")
        self.values: Mapping[str, Any] = values
        self.place = place

    def of(self, key: str) -> Any:
        """Whatever the entry holds.

        Raises ``DamagedEntryError``: there is no such entry. All the others raise it too.
        """
        if key not in self.values:
            raise DamagedEntryError(f"{self.name(key)} is missing")
        return self.values[key]

    def name(self, key: str) -> str:
        """The entry as messages call it."""
        return f"{self.place}.{key}"

    def refuse(self, key: str, expected: str) -> DamagedEntryError:
        """The error about an entry that does not hold what is expected."""
        return _damaged(self.name(key), self.of(key), expected)

    def part(self, key: str) -> Entries:
        """The entry as an object of its own."""
        return Entries(self.of(key), self.name(key))

    def optional(self, key: str, read: Callable[[str], Made]) -> Made | None:
        """What ``read`` makes of the entry, or None where it is null."""
        return None if self.of(key) is None else read(key)

    def later(self, key: str, read: Callable[[str], Made]) -> Made | None:
        """The same of an entry that the first files did not have: None where there is none, too."""
        return self.optional(key, read) if key in self.values else None

    def made(self, key: str, make: Callable[[Any], Made]) -> Made:
        """What ``make`` makes of the entry; what it refuses is refused here, with the entry's name."""
        try:
            return make(self.of(key))
        except DamagedEntryError:
            raise
        except (CutwiseError, TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise DamagedEntryError(f"{self.name(key)} cannot be used ({' '.join(str(error).split())})") from error

    def number(self, key: str, *, minimum: float = -math.inf, finite: bool = False) -> float:
        """A number; nan and infinity too, unless it must be finite."""
        value = self.of(key)
        number = WORDS.get(value) if isinstance(value, str) else _number(value)
        if number is None or number < minimum or (finite and not math.isfinite(number)):
            least = "" if minimum == -math.inf else f" of at least {minimum:g}"
            raise self.refuse(key, f"a{' finite' if finite else ''} number{least}")
        return number

    def integer(self, key: str, *, minimum: int) -> int:
        """A whole number."""
        value = self.of(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.refuse(key, f"an integer of at least {minimum}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.of(key)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def text(self, key: str, valid: Sequence[str] = ()) -> str:
        """A text, one of the valid ones where there are some."""
        value = self.of(key)
        if not isinstance(value, str) or (valid and value not in valid):
            raise self.refuse(key, f"one of {', '.join(map(repr, valid))}" if valid else "a text")
        return value

    def texts(self, key: str, length: int) -> list[str]:
        """Different texts, that many."""
        values = self.of(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.refuse(key, "a list of texts")
        if len(values) != length or len(set(values)) != length:
            raise self.refuse(key, f"{length} different texts")
        return values

    def numbers(self, key: str, length: int) -> npt.NDArray[np.float64]:
        """Finite numbers, that many."""
        values = self.of(key)
        found = [_number(value) for value in values] if isinstance(values, list) else []
        if len(found) != length or any(number is None or not math.isfinite(number) for number in found):
            raise self.refuse(key, f"a list of {length} finite numbers")
        return np.array(found, dtype=np.float64)

    def array(self, key: str, kinds: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
        """An array that ``pack_array`` wrote, of one of these kinds of dtype and this shape; None fits any length."""
        array = unpack_array(self.of(key), self.name(key))
        fits = len(array.shape) == len(shape) and all(n in (m, None) for m, n in zip(array.shape, shape, strict=True))
        if array.dtype.kind not in kinds or not fits:
            expected = " x ".join("any" if n is None else str(n) for n in shape)
            raise DamagedEntryError(
                f"{self.name(key)} is an array of dtype {array.dtype} and shape {array.shape}, where {expected} values "
                f"of the kind {' or '.join(kinds)} are expected"
            )
        return array


def pack_float(value: float) -> float | str:
    """A float as JSON can hold it: JSON has no nan and no infinity, so these become words."""
    return float(value) if math.isfinite(value) else str(float(value))


def pack_array(values: npt.NDArray[Any]) -> dict[str, Any]:
    """An array with its dtype and shape; numbers, booleans and texts come back exactly.

    Raises ``InvalidInputError``: values that JSON has no word for.
    """
    kind, flat = values.dtype.kind, values.ravel().tolist()
    if kind == "f":
        flat = [pack_float(value) for value in flat]
    elif kind == "O":
        for value in flat:
            if not isinstance(value, str | bool | int):
                raise InvalidInputError(
                    f"Labels of type {type(value).__name__} ({value!r}) cannot be written to a model file. "
                    "Use texts or integers as labels, or pickle the model instead."
                )
    elif kind not in "iubU":
        raise InvalidInputError(
            f"An array of dtype {values.dtype} cannot be written to a model file. Use numbers or texts, or pickle the "
            "model instead."
        )
    return {"dtype": values.dtype.str, "shape": list(values.shape), "values": flat}


def unpack_array(packed: object, place: str) -> npt.NDArray[Any]:
    """The inverse of :func:`pack_array`; ``place`` is what messages call the entry.

    Raises ``DamagedEntryError``.
    """
    entries = Entries(packed, place)
    values, shape = entries.of("values"), entries.of("shape")
    if not _DTYPE.fullmatch(entries.text("dtype")):
        raise entries.refuse("dtype", "a dtype of numbers, booleans or texts")
    dtype = entries.made("dtype", np.dtype)
    if dtype.itemsize > _WIDEST:
        raise entries.refuse("dtype", "a dtype of shorter texts")
    if not isinstance(values, list):
        raise entries.refuse("values", "a list")
    lengths = shape if isinstance(shape, list) and all(type(n) is int and 0 <= n < _LONGEST for n in shape) else None
    if lengths is None or math.prod(lengths) != len(values):
        raise entries.refuse("shape", f"the shape of {len(values)} values")
    if dtype.kind == "f":
        values = [WORDS.get(value, value) if isinstance(value, str) else value for value in values]
    for value in values:
        if not _fits(value, dtype):
            raise _damaged(f"a value of {place}", value, f"one of dtype {dtype}")
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return entries.made("shape", array.reshape)


def _fits(value: object, dtype: np.dtype[Any]) -> bool:
    if dtype.kind == "f":
        return _number(value) is not None
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return isinstance(value, int) and not isinstance(value, bool) and limits.min <= value <= limits.max
    return isinstance(value, {"b": (bool,), "U": (str,), "O": (str, bool, int)}[dtype.kind])


def _number(value: object) -> float | None:
    """A number of JSON's as a float64; None for anything else, and for integers beyond float64."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _damaged(name: str, value: object, expected: str) -> DamagedEntryError:
    return DamagedEntryError(f"{name} is {reprlib.repr(value)}, where {expected} is expected")
