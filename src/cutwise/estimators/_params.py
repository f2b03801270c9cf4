"""Parameters in model files: plain values, arrays and scalers as they are, anything else by its description.

Scalers are the few transformers that are some numbers a column; fitted ones are written out and rebuilt too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from cutwise.estimators._entries import DamagedEntryError, Entries, pack_array, pack_float, unpack_array
from cutwise.estimators.table_scaler import TableScaler
from cutwise.table.table import ColumnKind


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
