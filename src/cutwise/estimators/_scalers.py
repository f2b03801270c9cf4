"""Scalers in model files: the few transformers that are some numbers a column, written out and rebuilt."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cutwise.estimators._entries import Entries

__all__ = ["pack_fitted", "pack_scaler", "unpack_fitted", "unpack_scaler"]

# Class of sklearn.preprocessing -> what fit learns, each an array of one number a column, or None.
_LEARNED = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("max_abs_", "scale_"),
    "RobustScaler": ("center_", "scale_"),
}


def pack_scaler(transformer: Any) -> dict[str, Any] | None:
    """A scaler's class and parameters as JSON can hold them; None for any other object."""
    from sklearn import preprocessing

    name = type(transformer).__name__
    if name not in _LEARNED or type(transformer) is not getattr(preprocessing, name):
        return None
    params = transformer.get_params(deep=False)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}
    return {"class": name, "params": plain}


def unpack_scaler(packed: Entries) -> Any:
    """The inverse of ``pack_scaler``: not fitted."""
    from sklearn import preprocessing

    def make(params: dict[str, Any]) -> Any:
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}
        scaler = getattr(preprocessing, packed.text("class", tuple(_LEARNED)))(**values)
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
    return {
        **packed,
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
    packed.made("learned", lambda _: _try_out(scaler, d))
    return scaler


def _try_out(scaler: Any, n_columns: int) -> None:
    """Transform a row: something that a scaler of these parameters needs may not have been learned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names, which this row has none of
        scaler.transform(np.zeros((1, n_columns)))
