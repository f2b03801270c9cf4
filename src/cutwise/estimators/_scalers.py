"""Scalers in model files: the few transformers that are some numbers a column, written out and rebuilt."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def unpack_scaler(packed: dict[str, Any]) -> Any:
    """The inverse of ``pack_scaler``: not fitted."""
    from sklearn import preprocessing

    name = packed["class"]
    if name not in _LEARNED:
        raise ValueError(f"there is no scaler {name!r}")
    params = {name: tuple(value) if isinstance(value, list) else value for name, value in packed["params"].items()}
    return getattr(preprocessing, name)(**params)


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


def unpack_fitted(packed: dict[str, Any]) -> Any:
    """The inverse of ``pack_fitted``."""
    scaler = unpack_scaler(packed)
    scaler.n_features_in_ = int(packed["n_features_in"])
    if packed["feature_names_in"] is not None:
        scaler.feature_names_in_ = np.array(packed["feature_names_in"], dtype=object)
    for attribute in _LEARNED[packed["class"]]:
        values = packed["learned"][attribute]
        array = None if values is None else np.array(values, dtype=np.float64)
        if array is not None and array.shape != (scaler.n_features_in_,):
            raise ValueError(f"{attribute} of the preprocessor has the shape {array.shape}")
        setattr(scaler, attribute, array)
    return scaler
