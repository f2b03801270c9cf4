"""The entries of a model file, written and asked for by kind: numbers, arrays, parameters, columns and scalers.

Errors name the entry, what it holds and what is expected. Parameters are plain values, arrays and scalers as they are,
anything else by its description; scalers are the few transformers that are some numbers a column, and fitted ones are
written out and rebuilt too.
"""

from __future__ import annotations

import math
import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from cutwise.estimators.table_scaler import TableScaler
from cutwise.exceptions import CutwiseError, InvalidInputError
from cutwise.table.table import ColumnKind

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


class UnserializableParam:
    """Stands for a parameter whose value a model file cannot hold: says what it was, and stops a refit without it."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<not in the model file: {self.description}>"


def pack_param(value: Any) -> Any:
    """A parameter: plain values as they are, arrays as arrays, anything else described."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": pack_float(value)}
    if isinstance(value, UnserializableParam):
        return {"described": value.description}
    scaler = pack_scaler(value)
    if scaler is not None:
        return {"scaler": scaler}
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return {"texts": list(value)}
    array = _as_plain_array(value)
    if array is not None:
        return {"array": pack_array(array)}
    return {"described": " ".join(repr(value).split())[:500]}


def _as_plain_array(value: Any) -> np.ndarray | None:
    """Centers given as an array, nested lists or a data frame; None for anything else."""
    if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array if array.dtype.kind in "iubf" and array.ndim > 0 else None


def unpack_params(entries: Entries, estimator_class: type[BaseEstimator]) -> dict[str, Any]:
    """The parameters of a model file, by name; one that the class does not have is refused."""
    known = estimator_class._get_param_names()
    for name in entries.values:
        if name not in known:
            raise DamagedEntryError(f"{entries.name(name)} is no parameter of {estimator_class.__name__}")
    return {name: _unpack_param(entries, name) for name in entries.values}


def _unpack_param(entries: Entries, name: str) -> Any:
    """The inverse of :func:`pack_param`."""
    value = entries.of(name)
    if not isinstance(value, dict):
        return value
    packed = entries.part(name)
    match list(value):
        case ["float"]:
            return packed.number("float")
        case ["described"]:
            return UnserializableParam(packed.text("described"))
        case ["texts"]:
            texts = packed.of("texts")
            return packed.texts("texts", len(texts) if isinstance(texts, list) else 0)
        case ["array"]:
            return unpack_array(packed.of("array"), packed.name("array"))
        case ["scaler"]:
            return unpack_scaler(packed.part("scaler"))
        case _:
            raise entries.refuse(name, "a value, or what stands for one")


# Class of sklearn.preprocessing -> what fit learns, each an array of one number a column, or None.
_LEARNED = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("max_abs_", "scale_"),
    "RobustScaler": ("center_", "scale_"),
    "TableScaler": ("center_", "scale_", "missing_"),
}


def _scaler_class(name: str) -> Any:
    """The class of that name."""
    from sklearn import preprocessing

    return TableScaler if name == "TableScaler" else getattr(preprocessing, name)


def pack_kinds(kinds: Iterable[ColumnKind]) -> list[Any]:
    """The kinds of columns as JSON can hold them: a word where there is no more to say."""
    packed = [kind.to_dict() for kind in kinds]
    return [entry["name"] if list(entry) == ["name"] else entry for entry in packed]


def unpack_kinds(packed: list[Any]) -> tuple[ColumnKind, ...]:
    """The inverse of ``pack_kinds``."""
    entries = [{"name": entry} if isinstance(entry, str) else entry for entry in packed]
    return tuple(ColumnKind.from_dict(entry) for entry in entries)


def pack_scaler(transformer: Any) -> dict[str, Any] | None:
    """A scaler's class and parameters as JSON can hold them; None for any other object."""
    name = type(transformer).__name__
    if name not in _LEARNED or type(transformer) is not _scaler_class(name):
        return None
    params = transformer.get_params(deep=False)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}
    return {"class": name, "params": plain}


def unpack_scaler(packed: Entries) -> Any:
    """The inverse of ``pack_scaler``: not fitted."""

    def make(params: dict[str, Any]) -> Any:
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}
        scaler = _scaler_class(packed.text("class", tuple(_LEARNED)))(**values)
        scaler._validate_params()
        return scaler

    return packed.made("params", make)


def pack_fitted(transformer: Any) -> dict[str, Any] | None:
    """A fitted scaler with what it learned; None for any other object."""
    packed = pack_scaler(transformer)
    if packed is None:
        return None
    learned: dict[str, list[float] | None] = {}
    for attribute in _LEARNED[packed["class"]]:
        values = getattr(transformer, attribute, None)
        if values is not None and not np.isfinite(values).all():
            return None
        learned[attribute] = None if values is None else np.asarray(values, dtype=np.float64).tolist()
    names = getattr(transformer, "feature_names_in_", None)
    kinds = {"kinds": pack_kinds(transformer._kinds)} if isinstance(transformer, TableScaler) else {}
    return {
        **packed,
        **kinds,
        "learned": learned,
        "n_features_in": int(transformer.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
    }


def unpack_fitted(packed: Entries) -> Any:
    """The inverse of ``pack_fitted``."""
    scaler = unpack_scaler(packed)
    d = scaler.n_features_in_ = packed.integer("n_features_in", minimum=1)
    names = packed.optional("feature_names_in", lambda key: packed.texts(key, d))
    if names is not None:
        scaler.feature_names_in_ = np.array(names, dtype=object)
    learned = packed.part("learned")
    for attribute in _LEARNED[packed.of("class")]:
        setattr(scaler, attribute, learned.optional(attribute, lambda key: learned.numbers(key, d)))
    if isinstance(scaler, TableScaler):
        scaler._kinds = packed.made("kinds", unpack_kinds)
        if len(scaler._kinds) != d:
            raise packed.refuse("kinds", f"the kinds of {d} columns")
    else:
        packed.made("learned", lambda _: _try_out(scaler, d))
    return scaler


def _try_out(scaler: Any, n_columns: int) -> None:
    """Transform a row: something that a scaler of these parameters needs may not have been learned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names, which this row has none of
        scaler.transform(np.zeros((1, n_columns)))
