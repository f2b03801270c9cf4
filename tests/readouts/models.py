"""Fitted models around trees of the tests' own making, and the rows at which a tree's answers change."""

import numpy as np

from cutwise import ClusterExplainer
from cutwise.estimators._model_file import pack_array
from cutwise.readouts.labeled_tree import count_leaves


def model_of(tree, names, classes=None):
    """A model with any tree, made the way a model file makes one; the counts are those of a few rows on its cuts."""
    k = int(tree.cluster.max()) + 1
    classes = np.arange(k) if classes is None else np.asarray(classes)
    X = rows_at_cuts(tree, np.random.default_rng(0))
    counts = count_leaves(tree, tree.apply(X), tree.predict(X), len(classes))
    model = ClusterExplainer()
    held = {
        "n_features_in": tree.n_features,
        "feature_names_in": names,
        "classes": pack_array(classes),
        "tree": tree.to_dict(),
        "gaps": None,
        "leaf_counts": counts.to_dict(),
        "cluster_centers": pack_array(np.zeros((len(classes), tree.n_features))),
        "reference": {
            "centers": pack_array(np.zeros((len(classes), tree.n_features))),
            "cost": 0.0,
            "objective": "kmeans",
        },
        "preprocessor": None,
        "weight_scale": 1.0,
        "imm_applies": False,
        "cost": 0.0,
        "surrogate_cost": 0.0,
        "cost_ratio": "nan",
        "growth": "by hand",
        "candidates": {},
        "agreement": 1.0,
    }
    model._restore_fitted(held)
    return model


def rows_at_cuts(tree, rng, dtype=np.float64, n_each=3):
    """Rows with a value on every cut of the tree and one float step to each side, their other values drawn from those.

    Parameters
    ----------
    dtype : dtype
        Of the rows: a float32 takes its own steps around the float32 next to the cut.
    """
    columns = []
    for feature in range(tree.n_features):
        at = tree.feature == feature
        cuts = np.concatenate([tree.threshold[at], tree.lower[at], [0.0]])
        cuts = np.unique(cuts[np.isfinite(cuts)]).astype(dtype)
        steps = [np.nextafter(cuts, dtype(np.inf)), np.nextafter(cuts, dtype(-np.inf))]
        columns.append(np.concatenate([cuts, *steps]))
    rows = []
    for feature, values in enumerate(columns):
        for value in np.repeat(values, n_each):
            row = [rng.choice(other) for other in columns]
            row[feature] = value
            rows.append(row)
    return np.array(rows, dtype=dtype)
