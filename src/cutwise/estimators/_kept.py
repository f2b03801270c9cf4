"""What a model file holds of a fitted tree, and how a model is made of it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from cutwise.estimators._columns import RemembersColumns
from cutwise.estimators._persist import Unsaved, pack_array, pack_float, unpack_array, unpack_float
from cutwise.estimators._scalers import pack_fitted, unpack_fitted
from cutwise.readouts.counts import LeafCounts
from cutwise.readouts.names import read_cluster_names
from cutwise.reference import Reference
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["KeptInFiles"]


class KeptInFiles(RemembersColumns, BaseEstimator):  # type: ignore[misc]
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
    n_leaves_: int
    depth_: int
    preprocessor_: Any
    cluster_names_: dict[Any, str]
    _leaf_counts: LeafCounts
    _column_spreads: npt.NDArray[np.float64] | None
    _gaps: npt.NDArray[np.float64] | None
    _imm_applies: bool
    _weight_scale: float

    def _fitted_state(self) -> dict[str, Any]:
        """What a model file holds of a fitted model, as JSON can hold it."""
        columns = self._columns_of_fit()
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(columns.names) if columns.has_names else None,
            "classes": pack_array(self.classes_),
            "cluster_names": [self.cluster_names_.get(label) for label in self.classes_.tolist()],
            "tree": self.tree_.to_dict(),
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
        }

    def _restore_fitted(self, state: dict[str, Any]) -> None:
        """The inverse of ``_fitted_state``; any ``ValueError``, ``KeyError`` or ``TypeError`` means a damaged file."""
        self.tree_ = ThresholdTree.from_dict(state["tree"])
        self.n_leaves_, self.depth_ = self.tree_.n_leaves, self.tree_.depth
        self.n_features_in_ = int(state["n_features_in"])
        names = state["feature_names_in"]
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        self.classes_ = unpack_array(state["classes"])
        labels = self.classes_.tolist()
        named = state.get("cluster_names", [None] * len(labels))  # the first files had no names
        self.cluster_names_ = read_cluster_names(labels, dict(zip(labels, named, strict=True)))
        self._gaps = None if state["gaps"] is None else unpack_array(state["gaps"])
        self._leaf_counts = LeafCounts.from_dict(state["leaf_counts"])
        # The first files had neither of these two.
        spreads, library = state.get("column_spreads"), state.get("frame_library")
        self._column_spreads = None if spreads is None else unpack_array(spreads)
        self._frame_library = None if library is None else str(library)
        if state["cluster_centers"] is not None:
            self.cluster_centers_ = unpack_array(state["cluster_centers"])
        packed = state["reference"]
        # The labels belong to the training rows, which the file does not hold.
        self.reference_ = Reference(
            np.empty(0, dtype=np.int32),
            unpack_array(packed["centers"]),
            unpack_float(packed["cost"]),
            packed["objective"],
        )
        self._weight_scale = unpack_float(state["weight_scale"])
        self._imm_applies = bool(state["imm_applies"])
        self.cost_ = unpack_float(state["cost"])
        self.surrogate_cost_ = unpack_float(state["surrogate_cost"])
        self.cost_ratio_ = unpack_float(state["cost_ratio"])
        if not isinstance(self.preprocessor, Unsaved):
            fitted = state.get("preprocessor")
            self.preprocessor_ = None if fitted is None else unpack_fitted(fitted)
            if fitted is None and self.preprocessor is not None:  # a scaler that learned what JSON cannot hold
                self.set_params(preprocessor=Unsaved(repr(self.preprocessor)))
        k = len(self.classes_)
        fits_together = (
            self.tree_.n_features == self.n_features_in_
            and (names is None or len(names) == self.n_features_in_)
            and int(self.tree_.cluster.max()) < k
            and self.reference_.n_clusters == k
            and (state["cluster_centers"] is None or len(self.cluster_centers_) == k)
            and len(self._leaf_counts.cluster_weight) == k
            and self._leaf_counts.n_leaves == self.n_leaves_
            and (self._gaps is None or self._gaps.shape == (self.tree_.n_nodes, 4))
            and (self._column_spreads is None or self._column_spreads.shape == (self.n_features_in_,))
        )
        if not fits_together:
            raise ValueError("the numbers of columns, clusters or leaves differ between its parts")
