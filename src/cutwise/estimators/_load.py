"""Reading model files: fitted estimators from versioned JSON that contains no code."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from cutwise.estimators._base import TreeEstimator
from cutwise.estimators._model_file import FORMAT, FORMAT_VERSION, check_path, checksum, unpack_param
from cutwise.exceptions import CutwiseError, InvalidInputError, ModelFileError

# Names, not classes: the baselines are built upon the estimators, and are imported only for a file that holds one.
_HOMES = dict.fromkeys(
    ("ExplainableKMeans", "ExplainableKMedians", "ExplainableKernelKMeans", "ClusterExplainer"), "cutwise.estimators"
) | dict.fromkeys(("CART", "CLTree", "CUBT", "KDTree"), "cutwise.baselines")


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
        No such file, not a model file, truncated, edited elsewhere than in its tree and its names of clusters (see
        ``recount``), or written by a newer version.
    UnsupportedInputError
        ``path`` is no path.

    Examples
    --------
    >>> import cutwise, tempfile, pathlib
    >>> X = [[1, 0], [2, 0], [8, 1], [9, 1]]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> cutwise.ExplainableKMeans(n_clusters=2, random_state=0).fit(X).save(path)
    >>> bool((cutwise.load_model(path).predict(X)[:2] == cutwise.load_model(path).predict([[0, 0]])).all())
    True
    """
    check_path(path, "load_model")
    document = _read(Path(path))
    name = document.get("estimator")
    if not isinstance(name, str) or name not in _HOMES:
        raise ModelFileError(
            f"{path} holds a model of the kind {name!r}; this release reads {', '.join(_HOMES)}. Upgrade cutwise."
        )
    estimator_class: type[TreeEstimator] = getattr(import_module(_HOMES[name]), name)
    try:
        if document.get("checksum") not in (None, checksum(document)):
            raise InvalidInputError("params, or fitted but for its tree and cluster_names, are not what was saved")
        params = {name: unpack_param(value) for name, value in document["params"].items()}
        model = estimator_class(**params)
        model._restore_fitted(document["fitted"])
    except _DAMAGED as error:
        reason = str(error).rstrip(".") if isinstance(error, CutwiseError) else "an entry is of another kind or length"
        reason = f"{error} is missing or unknown" if isinstance(error, KeyError) else reason
        raise ModelFileError(
            f"{path} is a cutwise model file, but its content does not fit together: {reason}.\n"
            "It was probably edited or damaged: save the model again."
        ) from error
    return model


_DAMAGED = (CutwiseError, TypeError, ValueError, LookupError, AttributeError, OverflowError)
"""Errors that missing or changed entries of a file lead to."""


def _read(path: Path) -> dict[str, Any]:
    """Read the document in a file, and check that this release reads its format and version."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))  # editors may put a mark in front
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror or error}). Give the path of a file written by save(path)."
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
        raise ModelFileError(
            f"{path} is not a cutwise model, or was cut short: it is not valid JSON ({error}). Give a file written by "
            "save(path)."
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{path} holds JSON, but not a cutwise model. Give a file written by save(path).")
    version = document.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has model format {version} (written by {document.get('written_by', 'an unknown release')}); this "
            f"release reads formats up to {FORMAT_VERSION}.\nUpgrade cutwise, or save the model with the older release."
        )
    return document
