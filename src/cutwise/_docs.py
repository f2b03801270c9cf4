"""Descriptions that several classes share: a line ``{name, other}`` of a docstring becomes these entries.

An entry ``a = b : ...`` is written for b, and asked for as a: one parameter may differ between classes.

n_clusters : int, default=8
    Number of clusters k.
max_leaves : int, default=None
    Maximum number of leaves, at least ``n_clusters``. None means one leaf per cluster. With more leaves the tree
    follows the reference more closely, and a cluster may have several; of the trees that growth passes from one leaf
    per cluster on, the one of lowest ``cost_`` is returned, so that more leaves never cost more.
algorithm : {"search", "exshallow", "exgreedy", "imm", "exkmc", "optimal"}, default="search"
    How the tree grows to ``n_clusters`` leaves. ``"search"`` grows the trees of the four papers, and searches for a
    cheaper one from there: it chooses every cut anew and moves leaves elsewhere. ``"imm"`` cuts where the fewest
    rows are separated from their reference center; ``"exgreedy"`` where the rows, each served by the best center left
    on its side, cost the least; ``"exshallow"`` also weighs how deep the tree becomes; ``"exkmc"`` grows to
    ``max_leaves`` from an empty tree, best cut first, and need not give every cluster a leaf. ``"optimal"`` is for
    2 clusters: the single cut that costs least of all, each side with its own center; it takes only the numbers of
    the clusters from the reference.
search_effort : float, default=1.0
    Effort of ``"search"``, counted in work and not in seconds, so that every machine finds the same tree. 0 grows the
    tree of ``"exshallow"`` alone; 0.3 takes two thirds of the time of 1. Up to 3 the search starts from more trees;
    above 3 it goes on from its result, for ``search_effort - 3`` times as long as it took. Above 1 its last steps use
    up to 24,000 rows instead of some thousand. Where clusters have means and one leaf each, and sizes have no bound, an
    effort above 1 never finds a tree that costs more than that of 1.
size_penalty : float, default=0.0
    Price in ``"search"`` of one more condition in every rule, as a share of the reference's cost; one more level of
    depth costs a quarter of it. 0 minimizes cost alone.
max_size : float, tuple of two floats or "exshallow", default=None
    Bounds for ``"search"`` on the mean number of conditions in a row's rule and of tests that the row passes; a single
    number bounds both. ``"exshallow"`` stands for the sizes of that algorithm's tree with ``n_clusters`` leaves. The
    cheapest tree within both bounds is taken; if there is none, the one that comes closest. Leaves beyond one per
    cluster are added to that tree regardless of its size.
expansion : {"exkmc", "expand"}, default="exkmc"
    How a tree with one leaf per cluster grows to ``max_leaves``. ``"exkmc"`` lowers the cost under the reference
    centers, ``"expand"`` the number of rows whose cluster differs from the reference.
depth_penalty : float or "auto", default=0.03
    Weight of the expected depth for ``"exshallow"``, also where ``"search"`` starts from it; 0 minimizes cost alone.
    ``"auto"`` (ExShallow*) searches between 0 and 1 for a tree of ``n_clusters`` leaves that meets both targets: from
    0.03 downwards where a tree costs too much, upwards where its explanations are too long, until one meets both, for
    20 trees at most. If none does, the tree with the shortest explanations among those that meet the cost is taken; if
    none meets the cost, the cheapest. The other algorithms do not use it.
target_cost : float, default=None
    Maximum cost of the tree, in the units of ``cost_``. None means the cost of ExKMC's tree with ``n_clusters`` leaves
    on the same reference. Only for ``depth_penalty="auto"`` with ``"exshallow"``: an error otherwise.
target_waes : float, default=None
    Maximum of the mean number of conditions in a row's explanation; None means that of ExKMC's tree. Only for
    ``depth_penalty="auto"``, as ``target_cost``.
degree : int, default=3
    Degree of the polynomial kernel.
coef0 : float, default=1
    Constant term of the polynomial kernel; not negative.
beta : float, default=1
    Exponent of the histogram intersection kernel.
n_components : int, default=100
    Number of landmark rows of the approximation. As many as there are rows make it exact.
reference : clusterer or array-like of shape (n_clusters, n_features), default=None
    The clustering to approximate: centers, or a clusterer (fitted or not). None means k-means. Centers are in the
    preprocessor's output where there is one. From a clusterer that was fitted on these rows, scaled or not as distances
    are here, ``labels_`` are taken; from any other, its predictions. Its cost is computed by ``cluster_centers_`` if it
    has them and they serve its labels (MiniBatchKMeans, KMedians), else by the means or medians of its clusters
    (GaussianMixture, AgglomerativeClustering). The clusterer of a pipeline is its last step, and distances are measured
    in the output of the other steps, unless ``preprocessor`` is another than "auto".
preprocessor : transformer, default=None
    Distances are measured in its output (a scaler's, say); rules stay in the columns and units of ``X``. A copy is
    fitted; weights are passed on if its ``fit`` takes them. A transformer that is not scikit-learn's may write into its
    input, so it gets a copy of the rows.
mixed_preprocessor = preprocessor : transformer or "auto", default="auto"
    Distances are measured in its output (a scaler's, say); rules stay in the columns and units of ``X``. ``"auto"``
    takes numbers without missing values as they are, and any other table through a :class:`TableScaler`. A copy of a
    transformer is fitted, on the table as it was passed; weights are passed on if its ``fit`` takes them. A transformer
    that is not scikit-learn's may write into its input, so it gets a copy of the rows.
cut_features : array-like, default=None
    Columns that may be cut: names, positions (negative ones from the end) or a mask; no test asks about other columns.
    None means all. Clusters are found by all columns either way.
max_depth : int, default=None
    Maximum number of tests on the way to a leaf.
min_samples_leaf : int or float, default=1
    Minimum number of rows in every leaf, or minimum share of the weight, between 0 and 1.
categorical_features : "from_dtype" or array-like, default="from_dtype"
    Columns of texts or numbers to take as categories: names, positions (negative ones from the end) or a mask.
    ``"from_dtype"``: columns of text and unordered categorical columns.
handle_unknown : {"outside", "error"}, default="outside"
    How to treat levels never seen at fit: such a row has none of the levels that a rule names, with a warning, or it
    is an error.
n_init : int or "auto", default=10
    Number of starts of the reference (``"auto"`` is 10), by k-means++: fewer where some of them agree or many do not
    improve the best, up to three times as many on tables of up to 3,000 rows, and a fifth as many, two at least, where
    a start takes more than 12,000 rows, as only hundreds of clusters need.
random_state : int, RandomState instance or None, default=None
    Seeds the reference. The tree uses no randomness.
n_jobs : int, default=None
    Number of threads, by joblib's rule: None means 1, -1 all cores. The result does not depend on it.
verbose : int, default=0
    1 prints each stage and its seconds to standard error; 2 also prints the restarts of the reference, and the leaves
    as they are added.
tree_ : ThresholdTree
    The model.
labels_ : ndarray of shape (n_samples,), int32
    Cluster of each training row, by the tree. Numbers are those of the reference; the number of a cluster without rows
    is skipped.
cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    Means of the tree's clusters, in the preprocessor's output where there is one. A cluster without rows keeps the
    reference's center.
cost_, inertia_ : float
    Weighted sum of squared distances to ``cluster_centers_``.
surrogate_cost_ : float
    ``cost_`` by the reference's centers instead of the tree's.
cost_ratio_ : float
    ``cost_`` divided by ``reference_.cost``; nan where the latter is 0.
total_cost_ : float
    Cost of all rows as a single cluster.
explained_ : float
    Share of what the reference explains that the tree keeps: ``(total_cost_ - cost_) / (total_cost_ -
    reference_.cost)``; nan where the reference costs no less than a single cluster.
reference_explained_ : float
    Share that the reference explains: ``1 - reference_.cost / total_cost_``; nan where ``total_cost_`` is 0.
reference_ : Reference
    The clustering that the tree approximates: ``labels``, ``centers``, ``cost``.
n_leaves_, depth_ : int
    Number of leaves, and depth, of the tree.
depth_penalty_ : float
    The depth penalty that was used; only with ``algorithm="exshallow"``.
search_ : SearchRecord
    Record of the search: ``start_cost`` and ``cost`` of the cheapest tree before and after, ``n_starts``, ``n_steps``
    and the ``path`` of (work, cost); only with ``algorithm="search"``.
gamma_ : float
    The gamma that was used.
approximation_error_ : float
    0 without an approximation. Otherwise the trace norm of the difference between the exact and the approximate kernel
    matrix, divided by that of the exact matrix.
classes_ : ndarray of shape (n_clusters,), int32
    The cluster numbers 0 .. k-1.
preprocessor_ : transformer
    The fitted preprocessor; None without one.
n_features_in_ : int
cluster_names_ : dict of label to str
    Names given by ``name_clusters``; empty after a fit.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the columns; only if ``X`` has column names that are all strings.
column_kinds_ : dict of str to str
    Kind of every column: number, integer, bool, category, ordered, date or duration.
limits_price_ : float
    Price of ``cut_features``, ``max_depth`` and ``min_samples_leaf``: ``cost_`` divided by that of the tree that grows
    without them on the same reference, minus 1; nan without limits.
left_out_ : dict of str to str
    Columns that take no part, each with the reason: texts that differ in most rows, or no value at all.
X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    Rows with the columns of fit, in their own units.
y : ignored
    Not used, present for consistency with scikit-learn.
feature_names : sequence of str, default=None
    Column names of a matrix that has none; data frames and AnnData objects have their own.
sample_weight : array-like of shape (n_samples,), default=None
    Weight of each row; not negative, not all 0.
names : mapping of label to str, default=None
    Names for this call, in addition to those of :meth:`name_clusters`.
NotFittedError
    The model is not fitted yet.
ColumnMismatchError
    Other columns than those of fit.
InvalidInputError
    No rows, or a value that cannot be used: infinity, a missing value or a text in a column that had none at fit, or a
    level never seen at fit where such levels are refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

Class = TypeVar("Class", bound=type)

LINE = re.compile(r"^\{(\w+(?:, \w+)*)\}$", re.MULTILINE)
# There are no docstrings under python -OO, here or in classes.
ENTRIES = {
    re.split(" : | = |,|\n", entry)[0]: re.sub(r"^\w+ = ", "", entry)
    for entry in re.split(r"\n(?=\S)", (__doc__ or "").partition("between classes.\n\n")[2].rstrip())
}


def fill_doc(cls: Class) -> Class:
    """Fill the shared entries into the docstrings of a class and of the methods that it defines."""
    for documented in (cls, *filter(inspect.isfunction, vars(cls).values())):
        if documented.__doc__:
            documented.__doc__ = re.sub(LINE, _entries, inspect.cleandoc(documented.__doc__))
    return cls


def table_html(head: Sequence[str], rows: Iterable[Sequence[float]]) -> str:
    """Figures as a table for notebooks."""
    cells = ["".join(f"<th>{name}</th>" for name in head)]
    cells += ["".join(f"<td>{figure:.6g}</td>" for figure in row) for row in rows]
    return f"<table><tr>{'</tr><tr>'.join(cells)}</tr></table>"


def _entries(line: re.Match[str]) -> str:
    return "\n".join(ENTRIES[name] for name in line[1].split(", "))
