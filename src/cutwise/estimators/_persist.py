"""Model files: fitted estimators as versioned JSON, exact to the bit, and nothing that can run when it is read.

A file holds what every answer needs: the tree, the columns, the cluster names, the figures. It leaves out the training
rows' labels and any other estimator (a clusterer given as reference, a preprocessor other than scikit-learn's plain
scalers), which it only describes.
"""

from __future__ import annotations

import json
import math
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cutwise._whole import write_whole
from cutwise.estimators._entries import DamagedEntryError, Entries, pack_array, pack_float, unpack_array
from cutwise.estimators._scalers import pack_scaler, unpack_scaler
from cutwise.exceptions import ModelFileError

if TYPE_CHECKING:
    from cutwise.estimators._base import TreeEstimator

__all__ = [
    "FORMAT_VERSION",
    "Unsaved",
    "load_model",
    "save_model",
]

FORMAT = "cutwise model"
FORMAT_VERSION = 1
"""Raised by one whenever an older release could misread a newer file."""

# Names, not classes: the baselines are built upon the estimators, and are imported only for a file that holds one.
_HOMES = {
    "ExplainableKMeans": "cutwise.estimators",
    "ExplainableKMedians": "cutwise.estimators",
    "ExplainableKernelKMeans": "cutwise.estimators",
    "ClusterExplainer": "cutwise.estimators",
    "CART": "cutwise.baselines",
    "CLTree": "cutwise.baselines",
    "CUBT": "cutwise.baselines",
    "KDTree": "cutwise.baselines",
}


class Unsaved:
    """Stands for a parameter whose value a model file cannot hold: says what it was, and stops a refit without it."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<not in the model file: {self.description}>"


def save_model(model: TreeEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; the file appears whole or not at all.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str or path-like
        Replaced if it exists.

    Raises
    ------
    InvalidInputError
        Labels of a type that JSON has no word for.
    OSError
        The folder is missing or cannot be written.
    """
    from importlib.metadata import version

    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "written_by": f"cutwise {version('cutwise')}",
        "estimator": type(model).__name__,
        "params": {name: _pack_param(value) for name, value in model.get_params(deep=False).items()},
        "fitted": model._fitted_state(),
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)
    write_whole(path, text + "\n")


def load_model(path: str | os.PathLike[str]) -> TreeEstimator:
    """Read a fitted estimator that :meth:`save` wrote.

    The result predicts, applies, scores, prints its rules and explains exactly as the saved one did. It has no
    ``labels_`` (they belong to the training rows). A preprocessor other than scikit-learn's plain scalers is not in the
    file: where distances need one, set ``model.preprocessor_`` to the fitted transformer first.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : estimator of cutwise
        Of the class that was saved.

    Raises
    ------
    ModelFileError
        No such file, not a model file, truncated or edited, or written by a newer version.

    Examples
    --------
    >>> import cutwise, tempfile, pathlib
    >>> X = [[1, 0], [2, 0], [8, 1], [9, 1]]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> cutwise.ExplainableKMeans(n_clusters=2, random_state=0).fit(X).save(path)
    >>> bool((cutwise.load_model(path).predict(X)[:2] == cutwise.load_model(path).predict([[0, 0]])).all())
    True
    """
    document = _read(Path(path))
    estimator_class = _estimator_class(document, path)
    try:
        model = estimator_class(**_read_params(Entries(document.get("params"), "params"), estimator_class))
        model._restore_fitted(Entries(document.get("fitted"), "fitted"))
    except DamagedEntryError as error:
        raise ModelFileError(
            f"{path} is a cutwise model file, but its content does not fit together: {error}.\nIt was probably edited "
            "or damaged: mend that entry, or save the model again."
        ) from error
    return model


def _read(path: Path) -> dict[str, Any]:
    """The document in a file, of a format and version that this release reads."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror or error}). Give the path of a file written by save(path)."
        ) from error
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"{path} is not a text file, so it is not a cutwise model. Give a file written by save(path)."
        ) from error
    if not text.strip():
        raise ModelFileError(f"{path} is empty. Give a file written by save(path).")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        cut_short = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        what = "is cut short" if cut_short else "is not valid JSON"
        raise ModelFileError(
            f"{path} {what} ({error}), so no model can be read from it. Save the model again."
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{path} holds JSON, but not a cutwise model. Give a file written by save(path).")
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{path} does not say which format version it has ({version!r}). Save the model again.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has model format {version} (written by {document.get('written_by', 'an unknown release')}); this "
            f"release reads formats up to {FORMAT_VERSION}.\nUpgrade cutwise, or save the model with the older release."
        )
    return document


def _estimator_class(document: dict[str, Any], path: str | os.PathLike[str]) -> type[TreeEstimator]:
    name = document.get("estimator")
    if not isinstance(name, str) or name not in _HOMES:
        raise ModelFileError(
            f"{path} holds a model of the kind {name!r}; this release reads {', '.join(_HOMES)}. Upgrade cutwise."
        )
    found: type[TreeEstimator] = getattr(import_module(_HOMES[name]), name)
    return found


def _pack_param(value: Any) -> Any:
    """A parameter: plain values as they are, arrays as arrays, anything else described."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": pack_float(value)}
    if isinstance(value, Unsaved):
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


def _read_params(entries: Entries, estimator_class: type[TreeEstimator]) -> dict[str, Any]:
    known = estimator_class._get_param_names()
    for name in entries.held:
        if name not in known:
            raise DamagedEntryError(f"{entries.name(name)} is no parameter of {estimator_class.__name__}")
    return {name: _unpack_param(entries, name) for name in entries.held}


def _unpack_param(entries: Entries, name: str) -> Any:
    """The inverse of :func:`_pack_param`."""
    value = entries.of(name)
    if not isinstance(value, dict):
        return value
    packed = entries.part(name)
    match list(value):
        case ["float"]:
            return packed.number("float")
        case ["described"]:
            return Unsaved(packed.text("described"))
        case ["array"]:
            return unpack_array(packed.of("array"), packed.name("array"))
        case ["scaler"]:
            return unpack_scaler(packed.part("scaler"))
        case _:
            raise entries.refuse(name, "a value, or what stands for one")
