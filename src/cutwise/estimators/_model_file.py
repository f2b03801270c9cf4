"""Model files: fitted estimators as versioned JSON, exact to the bit, and nothing that can run when it is read.

A file holds what every answer needs: the tree, the columns, the cluster names, the figures. It leaves out the training
rows' labels and any other estimator (a clusterer given as reference, a preprocessor other than scikit-learn's plain
scalers), which it only describes.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cutwise._whole import write_whole
from cutwise.estimators._columns import RemembersColumns
from cutwise.estimators._entries import (
    Entries,
    UnserializableParam,
    pack_array,
    pack_fitted,
    pack_float,
    pack_kinds,
    pack_param,
    unpack_fitted,
    unpack_kinds,
)
from cutwise.estimators.table_scaler import TableScaler
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.labeled_tree import LeafCounts, read_cluster_names
from cutwise.reference.objective import FEATURE_SPACE, OBJECTIVES, Reference
from cutwise.table.instants import has_instant
from cutwise.table.table import NUMBER, are_plain
from cutwise.tree.threshold_tree import ThresholdTree

FORMAT = "cutwise model"
FORMAT_VERSION = 2
"""Raised by one whenever an older release could misread a newer file: 2 is of columns that are no known numbers."""

SMALLEST = float(np.finfo(np.float64).tiny)


class ModelFileMixin(RemembersColumns, BaseEstimator):  # type: ignore[misc]
    """Part of an estimator: its fitted state, as JSON can hold it."""

    preprocessor: Any

    # Fitted by the subclasses.
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`cutwise.load_model` reads.

        Parameters
        ----------
        path : str or path-like
            Versioned JSON, exact to the bit, without anything that could run when it is read. The file appears whole or
            not at all. Training rows are not part of it, nor is a preprocessor (it is described only) unless it is one
            of scikit-learn's plain scalers: ``labels_`` is gone after loading, and distances need
            ``model.preprocessor_`` set again.

        Raises
        ------
        InvalidInputError
            Labels of a type that JSON has no word for, or half of a character in a text.
        OSError
            The folder is missing or cannot be written.
        """
        check_is_fitted(self, "tree_")
        document = {
            "format": FORMAT,
            "format_version": 1 if self.tree_.is_plain and are_plain(self._columns_of_fit().kinds) else FORMAT_VERSION,
            "written_by": f"cutwise {version('cutwise')}",
            "estimator": type(self).__name__,
            "params": {name: pack_param(value) for name, value in self.get_params(deep=False).items()},
            "fitted": self._fitted_state(),
        }
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
        """What a model file holds of a fitted model, as JSON can hold it."""
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
            "cost": pack_float(self.cost_),
            "surrogate_cost": pack_float(self.surrogate_cost_),
            "cost_ratio": pack_float(self.cost_ratio_),
            "total_cost": pack_float(self.total_cost_),
            **({"intake": self._intake} if self._intake else {}),
        }

    def _restore_fitted(self, state: Entries) -> None:
        """The inverse of ``_fitted_state``.

        Raises ``DamagedEntryError``: an entry is missing, or does not fit the others.
        """
        d = state.integer("n_features_in", minimum=1)
        tree = state.made("tree", ThresholdTree.from_dict)
        if tree.n_features != d:
            raise state.refuse("n_features_in", f"{tree.n_features}, as in the tree,")
        self.tree_, self.n_leaves_, self.depth_, self.n_features_in_ = tree, tree.n_leaves, tree.depth, d
        names = state.optional("feature_names_in", lambda key: state.texts(key, d))
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._kinds = state.later("kinds", lambda key: state.made(key, unpack_kinds)) or ()
        if len(self._kinds) not in (0, d):
            raise state.refuse("kinds", f"the kinds of {d} columns")
        for feature, *bounds in zip(tree.feature.tolist(), tree.lower.tolist(), tree.threshold.tolist(), strict=True):
            kind = self._kinds[feature] if self._kinds and feature >= 0 else NUMBER
            if kind.name == "date" and not all(has_instant(bound, kind) for bound in bounds if np.isfinite(bound)):
                raise state.refuse("tree", f"dates of the years 1 to 9999 as bounds of column {feature}")
        self._frame_library = state.later("frame_library", state.text)
        self._intake = state.later("intake", lambda key: state.made(key, _check_intake)) or {}
        self._restore_clusters(state)
        self._gaps = state.optional("gaps", lambda key: state.array(key, "f", (tree.n_nodes, 4)))
        self._column_spreads = state.later("column_spreads", lambda key: state.array(key, "f", (d,)))
        self._weight_scale = state.number("weight_scale", minimum=SMALLEST, finite=True)
        self._imm_applies = state.flag("imm_applies")
        self.cost_ = state.number("cost")
        self.surrogate_cost_ = state.number("surrogate_cost")
        self.cost_ratio_ = state.number("cost_ratio")
        total_cost = state.later("total_cost", state.number)
        self.total_cost_ = float("nan") if total_cost is None else total_cost
        digest = state.later("digest", state.text)
        if digest is not None and digest != _digest(tree, self._leaf_counts):
            self._clear_figures()
        self._restore_space(state)

    def _clear_figures(self) -> None:
        """Leave out what was true of another tree: the file's was edited after its rows were counted."""
        none = np.zeros(self.tree_.n_nodes, dtype=np.int64)
        self.tree_ = replace(self.tree_, n_node_samples=none, n_node_mistakes=none)
        self._leaf_counts = LeafCounts.unknown(self.tree_.n_leaves, len(self.classes_))
        self._gaps, self._imm_applies = None, False
        self.cost_ = self.surrogate_cost_ = self.cost_ratio_ = float("nan")

    def _restore_clusters(self, state: Entries) -> None:
        """Read what the clusters are called, and how many rows they had."""
        k = int(self.tree_.cluster.max()) + 1
        self.classes_ = state.array("classes", "iufbUO", (None,))
        labels = self.classes_.tolist()
        finite = self.classes_.dtype.kind != "f" or bool(np.isfinite(self.classes_).all())
        if len(labels) < k or len(set(labels)) < len(labels) or not finite:
            raise state.refuse("classes", f"a different label for each of the tree's clusters, at least {k},")
        k = len(labels)

        def names_of(named: Any) -> dict[Any, str]:
            return read_cluster_names(labels, dict(zip(labels, named, strict=True)))

        self.cluster_names_ = state.later("cluster_names", lambda key: state.made(key, names_of)) or {}
        self._leaf_counts = state.made("leaf_counts", LeafCounts.from_dict)
        if self._leaf_counts.n_leaves != self.tree_.n_leaves or len(self._leaf_counts.cluster_weight) != k:
            raise state.refuse("leaf_counts", f"the counts of {self.tree_.n_leaves} leaves and {k} clusters")

    def _restore_space(self, state: Entries) -> None:
        """Read where distances are measured: the reference, the centers and the preprocessor."""
        k, reference = len(self.classes_), state.part("reference")
        objective = reference.text("objective", (*OBJECTIVES, FEATURE_SPACE))
        unknown_space = isinstance(self.preprocessor, UnserializableParam)
        # The feature space of a kernel has no coordinates; a transformer's output may have any number, a scaler's d.
        fitted = state.later("preprocessor", lambda key: unpack_fitted(state.part(key)))
        width = len(fitted.get_feature_names_out()) if isinstance(fitted, TableScaler) else self.n_features_in_
        p = 0 if objective == FEATURE_SPACE else None if unknown_space else width
        centers = reference.array("centers", "f", (k, p))
        # The labels belong to the training rows, which the file does not hold.
        none = np.empty(0, dtype=np.int32)
        self.reference_ = Reference(none, centers, reference.number("cost"), objective)
        if objective != FEATURE_SPACE:
            self.cluster_centers_ = state.array("cluster_centers", "f", centers.shape)
        if unknown_space:
            return
        if (fitted is None) != (self.preprocessor is None) and self.preprocessor != "auto":
            if fitted is not None:
                raise state.refuse("preprocessor", "null, as in params,")
            # It learned what JSON cannot hold.
            self.set_params(preprocessor=UnserializableParam(repr(self.preprocessor)))
            return
        names = self._columns_of_fit().names
        if fitted is not None and (
            fitted.n_features_in_ != len(names) or tuple(getattr(fitted, "feature_names_in_", names)) != names
        ):
            raise state.refuse("preprocessor", f"a scaler of the same {self.n_features_in_} columns")
        self.preprocessor_ = fitted


def _check_intake(intake: Any) -> dict[str, Any]:
    """What was done to a table before fit, as the command line says it, and the options that it had: texts."""
    lists = {name: list(intake.get(name, [])) for name in ("notes", "numbers", "options")}
    left_out = dict(intake["left_out"])
    if not all(isinstance(text, str) for text in [*left_out.values(), *chain(*lists.values())]):
        raise ValueError("notes, reasons, names and options are texts")
    return {**lists, "left_out": left_out}


def _digest(tree: ThresholdTree, counts: LeafCounts) -> str:
    """What tells whether a tree is still the one whose rows were counted."""
    content = json.dumps([tree.to_dict(), counts.to_dict()], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
