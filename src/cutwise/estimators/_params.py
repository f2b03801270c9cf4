"""Parameters in model files: plain values, arrays and scalers as they are, anything else by its description."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from cutwise.estimators._entries import DamagedEntryError, Entries, pack_array, pack_float, unpack_array
from cutwise.estimators._scalers import pack_scaler, unpack_scaler

__all__ = ["UnserializableParam", "pack_param", "unpack_params"]


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
    for name in entries.held:
        if name not in known:
            raise DamagedEntryError(f"{entries.name(name)} is no parameter of {estimator_class.__name__}")
    return {name: _unpack_param(entries, name) for name in entries.held}


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
        case ["array"]:
            return unpack_array(packed.of("array"), packed.name("array"))
        case ["scaler"]:
            return unpack_scaler(packed.part("scaler"))
        case _:
            raise entries.refuse(name, "a value, or what stands for one")
