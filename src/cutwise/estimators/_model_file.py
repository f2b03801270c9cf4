"""Model files: fitted estimators as versioned JSON, exact to the bit, without code that could run on reading.

A file contains the tree, the columns, the cluster names and the figures. It does not contain the training rows' labels,
and only describes other estimators (a clusterer given as reference, a preprocessor other than scikit-learn's plain
scalers).

Parameters that are plain values, arrays or scalers are written exactly, others as a description. Scalers are the few
transformers whose state is some numbers per column; fitted ones are written and rebuilt too. Entries are read without
further checks: a checksum shows that nobody changed them, and entries that do not fit raise errors of Python.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cutwise._whole import write_whole
from cutwise.estimators._clusterer import RemembersColumns
from cutwise.estimators.table_scaler import TableScaler
from cutwise.exceptions import InvalidInputError, UnsupportedInputError, shown
from cutwise.readouts.labeled_tree import LeafCounts, read_cluster_names
from cutwise.reference.objective import Reference
from cutwise.table.instants import has_instant
from cutwise.table.table import NUMBER, ColumnKind, are_plain
from cutwise.tree.threshold_tree import ThresholdTree

# np.dtype of other texts may give anything, including records and syntax errors, or need much memory.
_DTYPE = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1|U[0-9]{1,5}|O)")


def pack_float(value: float) -> float | str:
    """A float for JSON, with nan and infinity as words; ``float`` reads both."""
    return float(value) if math.isfinite(value) else str(float(value))


def pack_array(values: npt.NDArray[Any]) -> dict[str, Any]:
    """An array of numbers, booleans or texts with its dtype and shape; ``unpack_array`` restores it exactly."""
    flat = values.ravel().tolist()
    if values.dtype.kind == "f":
        flat = [pack_float(value) for value in flat]
    return {"dtype": values.dtype.str, "shape": list(values.shape), "values": flat}


def unpack_array(packed: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The inverse of :func:`pack_array`."""
    if not _DTYPE.fullmatch(packed["dtype"]):
        raise InvalidInputError(f"{packed['dtype']!r} is no dtype of numbers, booleans or texts")
    array = np.empty(len(packed["values"]), dtype=packed["dtype"])
    array[:] = packed["values"]
    return array.reshape(packed["shape"])


class UnserializableParam:
    """Placeholder for a parameter that a model file cannot contain: describes it, and prevents a refit without it."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<not in the model file: {self.description}>"


def pack_param(value: Any) -> Any:
    """A parameter for JSON: plain values and arrays exactly, other objects as a description."""
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
    if hasattr(value, "__array__") and (array := np.asarray(value)).dtype.kind in "UO":
        value = array.tolist()  # such as names of columns
    if isinstance(value, list | tuple):
        items = [pack_param(item) for item in value]
        if not any(isinstance(item, dict) and "float" not in item for item in items):  # of plain values
            return {type(value).__name__: items}
    if isinstance(value, list | tuple) or hasattr(value, "__array__"):
        with suppress(TypeError, ValueError):  # lists of different lengths are no centers
            array = np.asarray(value)
            if array.dtype.kind in "iubf" and array.ndim > 0:
                return {"array": pack_array(array)}
    return {"described": " ".join(repr(value).split())[:500]}


def unpack_param(value: Any) -> Any:
    """The inverse of :func:`pack_param`."""
    if not isinstance(value, dict):
        return value
    ((kind, packed),) = value.items()
    read: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "described": UnserializableParam,
        "list": lambda items: [*map(unpack_param, items)],
        "tuple": lambda items: (*map(unpack_param, items),),
        "array": unpack_array,
        "scaler": unpack_scaler,
    }
    return read[kind](packed)


# Class of sklearn.preprocessing -> fitted attributes, each an array with one number per column, or None.
_LEARNED = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("max_abs_", "scale_"),
    "RobustScaler": ("center_", "scale_"),
    "TableScaler": ("center_", "scale_", "missing_"),
}


def _scaler_class(name: str) -> Any:
    """The class of scikit-learn with this name."""
    from sklearn import preprocessing

    return TableScaler if name == "TableScaler" else getattr(preprocessing, name)


def pack_kinds(kinds: Iterable[ColumnKind]) -> list[Any]:
    """The kinds of columns for JSON: a word if the kind has no further attributes."""
    packed = [kind.to_dict() for kind in kinds]
    return [entry["name"] if list(entry) == ["name"] else entry for entry in packed]


def unpack_kinds(packed: Sequence[Any]) -> tuple[ColumnKind, ...]:
    """The inverse of ``pack_kinds``."""
    return tuple(ColumnKind.from_dict({"name": entry} if isinstance(entry, str) else entry) for entry in packed)


def pack_scaler(transformer: Any) -> dict[str, Any] | None:
    """A scaler's class and parameters for JSON; None for any other object."""
    name = type(transformer).__name__
    if name not in _LEARNED or type(transformer) is not _scaler_class(name):
        return None
    params = transformer.get_params(deep=False)
    plain = {key: [*map(pack_param, own)] if isinstance(own, tuple) else pack_param(own) for key, own in params.items()}
    return {"class": name, "params": plain}


def unpack_scaler(packed: Mapping[str, Any]) -> Any:
    """The inverse of ``pack_scaler``: an unfitted scaler."""
    if packed["class"] not in _LEARNED:
        raise InvalidInputError(f"{packed['class']!r} is no scaler that a model file may hold")
    params = packed["params"].items()
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in params}
    return _scaler_class(packed["class"])(**values)


def pack_fitted(transformer: Any) -> dict[str, Any] | None:
    """A fitted scaler with its fitted attributes for JSON; None for any other object."""
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


FORMAT = "cutwise model"
FORMAT_VERSION = 2
"""Raised by one whenever an older release could misread a newer file: 2 added categories and missing values."""

PARAMS_OF_ANSWERS = ("handle_unknown", "n_jobs", "verbose")
"""Parameters of the methods of a fitted model, which do not change the model."""


@cache
def params_of(kind: Any) -> list[str]:
    """The names of an estimator's parameters, sorted; to read a signature takes as long as a small tree."""
    return sorted(signature(kind).parameters)


class ModelFileMixin(RemembersColumns, BaseEstimator):  # type: ignore[misc]
    """Part of an estimator: writes its fitted state to JSON and reads it."""

    _figures: ClassVar[tuple[str, ...]] = ("cost", "surrogate_cost", "cost_ratio", "total_cost")
    """Fitted numbers in a file by name; the attribute has this name and an underscore."""

    _further: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that a file holds as they are, by name."""

    preprocessor: Any

    # Set by the fits of subclasses.
    tree_: ThresholdTree
    classes_: npt.NDArray[Any]
    cluster_centers_: npt.NDArray[np.float64]
    labels_: npt.NDArray[Any]
    reference_: Reference
    cost_: float
    surrogate_cost_: float
    cost_ratio_: float
    total_cost_: float
    n_leaves_: int
    depth_: int
    preprocessor_: Any
    cluster_names_: dict[Any, str]
    _leaf_counts: LeafCounts
    _column_spreads: npt.NDArray[np.float64] | None
    _gaps: npt.NDArray[np.float64] | None
    _imm_applies: bool
    _weight_scale: float

    _params_of_fit: Mapping[str, Any] = {}

    def _remember_params(self) -> None:
        """Store the parameters of the fit, in case they are changed later."""
        kind: Any = type(self)
        names = set(vars(self)).difference(PARAMS_OF_ANSWERS)
        self._params_of_fit = {name: getattr(self, name) for name in params_of(kind) if name in names}

    def _of_fit(self) -> Self:
        """A copy of the model with the parameters of its fit, to describe these."""
        model = copy(self)
        model.__dict__.update(self._params_of_fit)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`cutwise.load_model` reads.

        Parameters
        ----------
        path : str or path-like
            Versioned JSON, exact to the bit, without anything that could run when it is read. The file appears whole or
            not at all. Training rows are not part of it, nor is a preprocessor (it is described only) unless it is one
            of scikit-learn's plain scalers: ``labels_`` is gone after loading, and distances need
            ``model.preprocessor_`` set again. What was set after ``fit`` and is not in the tree is not in the file
            either, and a subclass comes back as the class of cutwise that it is made from.

        Raises
        ------
        InvalidInputError
            Labels of a type that JSON has no word for, half of a character in a text, or ``path`` is no path.
        OSError
            The folder is missing or cannot be written, or ``path`` is a folder.
        """
        check_is_fitted(self, "tree_")
        check_path(path, "save")
        # A user's subclass is saved as its parent class of cutwise, which can be read.
        kind: Any = next(one for one in type(self).__mro__ if one.__module__.startswith("cutwise."))
        own = vars(self._of_fit())
        params = {name: own[name] for name in params_of(kind) if name in own}
        fitted = getattr(self, "preprocessor_", None)
        if isinstance(params.get("preprocessor"), str) and fitted is not None and pack_fitted(fitted) is None:
            params["preprocessor"] = fitted  # "auto" meant a pipeline's steps, which are described
        document: dict[str, Any] = {
            "format": FORMAT,
            "format_version": 1 if self.tree_.is_plain and are_plain(self._columns_of_fit().kinds) else FORMAT_VERSION,
            "written_by": f"cutwise {version('cutwise')}",
            "estimator": kind.__name__,
            "params": {name: pack_param(value) for name, value in params.items()},
            "fitted": self._fitted_state(),
        }
        document["checksum"] = checksum(document)
        text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"The model holds a text that no file can hold: {text[error.start - 20 : error.end + 20]!r} has half "
                "of a character in it. Rename that column or cluster."
            ) from error
        write_whole(path, content)

    def _fitted_state(self) -> dict[str, Any]:
        """The fitted state of a model for JSON."""
        columns = self._columns_of_fit()
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(columns.names) if columns.has_names else None,
            "kinds": pack_kinds(columns.kinds),
            "classes": pack_array(self.classes_),
            "cluster_names": [self.cluster_names_.get(label) for label in self.classes_.tolist()],
            "tree": self.tree_.to_dict(),
            "digest": _digest(self.tree_, self._leaf_counts),
            "gaps": None if self._gaps is None else pack_array(self._gaps),
            "leaf_counts": self._leaf_counts.to_dict(),
            "column_spreads": None if self._column_spreads is None else pack_array(self._column_spreads),
            "frame_library": self._frame_library,
            "cluster_centers": pack_array(self.cluster_centers_) if hasattr(self, "cluster_centers_") else None,
            "reference": {
                "centers": pack_array(self.reference_.centers),
                "cost": pack_float(self.reference_.cost),
                "objective": self.reference_.objective,
            },
            "preprocessor": pack_fitted(getattr(self, "preprocessor_", None)),
            "weight_scale": pack_float(self._weight_scale),
            "imm_applies": self._imm_applies,
            **{name: pack_float(getattr(self, f"{name}_")) for name in self._figures},
            **({"intake": self._intake} if self._intake else {}),
            **({"beside": self._beside} if self._beside else {}),
            **{name: getattr(self, f"{name}_") for name in self._further},
        }

    def _restore_fitted(self, state: Mapping[str, Any]) -> None:
        """The inverse of ``_fitted_state``; entries that were added after the first release may be missing."""
        tree, kinds = ThresholdTree.from_dict(state["tree"]), unpack_kinds(state.get("kinds", ()))
        self.tree_, self.n_leaves_, self.depth_, self._kinds = tree, tree.n_leaves, tree.depth, kinds
        self.n_features_in_, self.classes_ = state["n_features_in"], unpack_array(state["classes"])
        if tree.n_features != self.n_features_in_ or tree.cluster.max() >= len(self.classes_):
            raise InvalidInputError(
                f"fitted.tree is not of {self.n_features_in_} columns and {len(self.classes_)} clusters, as the rest is"
            )
        _check_tests(tree, kinds)
        if (names := state["feature_names_in"]) is not None:
            if len(names) != tree.n_features or not all(isinstance(name, str) for name in names):
                raise InvalidInputError(f"fitted.feature_names_in is not {tree.n_features} names, one a column")
            self.feature_names_in_ = np.array([*names], dtype=object)
        self._frame_library, self._intake = state.get("frame_library"), state.get("intake", {})
        self._beside = state.get("beside", ())
        named = zip(self.classes_.tolist(), state.get("cluster_names", ()), strict="cluster_names" in state)
        self.cluster_names_ = read_cluster_names(self.classes_.tolist(), dict(named))
        self._leaf_counts = LeafCounts(**state["leaf_counts"])
        gaps, spreads = state["gaps"], state.get("column_spreads")
        self._gaps = None if gaps is None else unpack_array(gaps)
        self._column_spreads = None if spreads is None else unpack_array(spreads)
        self._weight_scale, self._imm_applies = float(state["weight_scale"]), state["imm_applies"]
        for name in self._figures:
            setattr(self, f"{name}_", float(state.get(name, "nan")))
        for name in self._further:
            setattr(self, f"{name}_", state[name])
        if state.get("digest") not in (None, _digest(tree, self._leaf_counts)):  # the tree in the file was edited
            none = np.zeros(tree.n_nodes, dtype=np.int64)
            self.tree_ = replace(tree, n_node_samples=none, n_node_mistakes=none)
            self._leaf_counts = LeafCounts.unknown(tree.n_leaves, len(self.classes_))
            self._gaps = None
            self._remove_costs()
        self._restore_space(state)
        self._remember_params()

    def _remove_costs(self) -> None:
        """Drop costs and their certificates, since the tree or the counted rows are not those of fit."""
        self._imm_applies = False
        # What describes the kernel of fit stays.
        for name in set(self._figures).difference(("gamma", "approximation_error")):
            setattr(self, f"{name}_", float("nan"))

    def _restore_space(self, state: Mapping[str, Any]) -> None:
        """Read the reference, the centers and the preprocessor."""
        reference = state["reference"]
        # The file does not contain the training rows or their labels.
        none = np.empty(0, dtype=np.int32)
        centers, cost = unpack_array(reference["centers"]), float(reference["cost"])
        self.reference_ = Reference(none, centers, cost, reference["objective"])
        if state["cluster_centers"] is not None:
            self.cluster_centers_ = unpack_array(state["cluster_centers"])
        fitted = state.get("preprocessor")
        if isinstance(self.preprocessor, UnserializableParam):
            return
        if fitted is not None:
            self.preprocessor_ = unpack_fitted(fitted)
        elif self.preprocessor is None or isinstance(self.preprocessor, str):
            self.preprocessor_ = None
        else:  # its fitted state does not fit in JSON
            self.set_params(preprocessor=UnserializableParam(repr(self.preprocessor)))


def check_path(path: object, function: str) -> None:
    """Raise an error unless this is the path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise UnsupportedInputError(f'{function} takes the path of a file, "model.json", not {type(path).__name__}.')
    if "\0" in os.fsdecode(path):
        raise InvalidInputError(f"{function}: the path {shown(path)} holds a zero character. Give a path without one.")


def checksum(document: Mapping[str, Any]) -> str:
    """Checksum of a model file without its editable parts, the tree and the names of clusters."""
    fitted = {name: entry for name, entry in document["fitted"].items() if name not in ("tree", "cluster_names")}
    return _hashed([document["estimator"], document["params"], fitted])


def _check_tests(tree: ThresholdTree, kinds: Sequence[ColumnKind]) -> None:
    """Raise an error for a test that a column of its kind cannot have; ``kinds``: empty where all are numbers."""
    for node in np.flatnonzero(tree.feature >= 0):
        feature, levels = int(tree.feature[node]), tree.levels[node]
        kind, bounds = kinds[feature] if kinds else NUMBER, (tree.lower[node], tree.threshold[node])
        finite, n_levels = [bound for bound in bounds if np.isfinite(bound)], len(kind.levels or (False, True))
        is_category = kind.name == "category"
        if (is_category and not levels) or (levels and (not is_category or levels[-1] >= n_levels)):
            raise InvalidInputError(f"fitted.tree asks column {feature} for levels that it does not have, or none")
        if kind.name == "date" and not all(has_instant(bound, kind) for bound in finite):
            raise InvalidInputError(f"fitted.tree bounds column {feature} by no dates of the years 1 to 9999")
        if kind.name in ("bool", "ordered") and not all(0 <= bound < n_levels - 1 for bound in finite):
            raise InvalidInputError(f"fitted.tree has bounds of column {feature} between no two of its levels")


def _digest(tree: ThresholdTree, counts: LeafCounts) -> str:
    """Checksum of a tree and the counts of its leaves, to detect edits."""
    return _hashed([tree.to_dict(), counts.to_dict()])


def _hashed(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
