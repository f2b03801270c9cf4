"""The entries of a model file: floats, arrays, parameters, columns and scalers as JSON can hold them, and back.

Parameters are plain values, arrays and scalers as they are, anything else by its description; scalers are the few
transformers that are some numbers a column, and fitted ones are written out and rebuilt too. Entries are read as they
were written: a checksum says that nobody changed them, and what does not fit ends as an error of Python's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.estimators.table_scaler import TableScaler
from cutwise.exceptions import InvalidInputError
from cutwise.table.table import ColumnKind

# What np.dtype makes of other texts may be anything, also a record or a syntax error, or ask for much memory.
_DTYPE = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1|U[0-9]{1,5}|O)")


def pack_float(value: float) -> float | str:
    """A float as JSON can hold it, nan and infinity as words; ``float`` reads both."""
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


def unpack_array(packed: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The inverse of :func:`pack_array`."""
    if not _DTYPE.fullmatch(packed["dtype"]):
        raise ValueError(f"{packed['dtype']!r} is no dtype of numbers, booleans or texts")
    array = np.empty(len(packed["values"]), dtype=packed["dtype"])
    array[:] = packed["values"]
    return array.reshape(packed["shape"])


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


def unpack_param(value: Any) -> Any:
    """The inverse of :func:`pack_param`."""
    if not isinstance(value, dict):
        return value
    ((kind, packed),) = value.items()
    read: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "described": UnserializableParam,
        "texts": list,
        "array": unpack_array,
        "scaler": unpack_scaler,
    }
    return read[kind](packed)


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


def unpack_kinds(packed: Sequence[Any]) -> tuple[ColumnKind, ...]:
    """The inverse of ``pack_kinds``."""
    return tuple(ColumnKind.from_dict({"name": entry} if isinstance(entry, str) else entry) for entry in packed)


def pack_scaler(transformer: Any) -> dict[str, Any] | None:
    """A scaler's class and parameters as JSON can hold them; None for any other object."""
    name = type(transformer).__name__
    if name not in _LEARNED or type(transformer) is not _scaler_class(name):
        return None
    params = transformer.get_params(deep=False)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}
    return {"class": name, "params": plain}


def unpack_scaler(packed: Mapping[str, Any]) -> Any:
    """The inverse of ``pack_scaler``: not fitted."""
    if packed["class"] not in _LEARNED:
        raise ValueError(f"{packed['class']!r} is no scaler that a model file may hold")
    params = packed["params"].items()
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in params}
    return _scaler_class(packed["class"])(**values)


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


def unpack_fitted(packed: Mapping[str, Any]) -> Any:
    """The inverse of ``pack_fitted``."""
    scaler = unpack_scaler(packed)
    scaler.n_features_in_ = packed["n_features_in"]
    if packed["feature_names_in"] is not None:
        scaler.feature_names_in_ = np.array(packed["feature_names_in"], dtype=object)
    for attribute in _LEARNED[packed["class"]]:
        values = packed["learned"][attribute]
        setattr(scaler, attribute, None if values is None else np.array(values, dtype=np.float64))
    if isinstance(scaler, TableScaler):
        scaler._kinds = unpack_kinds(packed["kinds"])
    return scaler
