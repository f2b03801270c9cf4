"""Descriptions that several classes share: a line ``{name, other}`` of a docstring becomes these entries.

An entry ``a = b : ...`` is written for b, and asked for as a: one parameter may differ between classes.

n_clusters : int, default=8
    Number of clusters k.
max_leaves : int, default=None
    Number of leaves at most, at least ``n_clusters``. None means one leaf a cluster. More leaves follow the
    reference more closely, and a cluster may then have several; of the trees that growth passes from one leaf a
    cluster on, the one of lowest ``cost_`` is returned, so that more leaves never cost more.
algorithm : {"search", "exshallow", "exgreedy", "imm", "exkmc", "optimal"}, default="search"
    How the tree grows to ``n_clusters`` leaves. ``"search"`` grows the trees of the four papers, and searches for a
    cheaper one from there: it chooses every cut anew and moves leaves elsewhere. ``"imm"`` cuts where the fewest
    rows are separated from their reference center; ``"exgreedy"`` where the rows, each served by the best center left
    on its side, cost the least; ``"exshallow"`` also looks at how deep the tree would become; ``"exkmc"`` grows to
    ``max_leaves`` from an empty tree, best cut first, and need not give every cluster a leaf. ``"optimal"`` is for
    2 clusters: the single cut that costs least of all, each side with its own center; it takes only the numbers of
    the clusters from the reference.
search_effort : float, default=1.0
    How long ``"search"`` searches, counted in work and never in seconds, so that the same tree is found everywhere. 0
    grows the tree of ``"exshallow"`` alone, 0.3 takes two thirds of the time of 1; up to 3 it starts from more trees,
    and above 3 it goes on from its result, ``search_effort - 3`` times as long as it took; above 1 it goes on in the
    end by up to 24,000 rows in place of some thousand. Where clusters have means and one leaf each, and sizes no bound,
    more than 1 never finds a tree that costs more than that of 1.
size_penalty : float, default=0.0
    What ``"search"`` pays for one more condition in every rule, as a share of the reference's cost; a further level of
    depth counts a quarter of it. 0 looks at cost alone.
max_size : float, tuple of two floats or "exshallow", default=None
    Bounds for ``"search"`` on the conditions of a row's rule and on the tests that it passes, in the mean over the
    rows, one number for both; ``"exshallow"`` stands for those of that algorithm's tree with ``n_clusters`` leaves. Of
    the trees that keep both the cheapest is taken; where none does, the one that comes closest. Leaves beyond one a
    cluster are added to that tree without a look at its size.
expansion : {"exkmc", "expand"}, default="exkmc"
    How a tree with one leaf a cluster grows to ``max_leaves``. ``"exkmc"`` looks at cost under the reference
    centers, ``"expand"`` at the rows whose cluster differs from the reference.
depth_penalty : float or "auto", default=0.03
    Weight of the expected depth for ``"exshallow"``, also where ``"search"`` starts from it; 0 looks at cost alone.
    ``"auto"`` (ExShallow*) searches between 0 and 1 for a tree of ``n_clusters`` leaves that keeps both targets: from
    0.03 lower where a tree costs too much, higher where its explanations are too long, up to the first that keeps both,
    20 trees at most. Where none does, it is the tree with the shortest explanations of those that keep the cost; where
    none keeps the cost, the cheapest. The other algorithms do not use it.
target_cost : float, default=None
    What the tree may cost, in the units of ``cost_``. None means what ExKMC's tree with ``n_clusters`` leaves on
    the same reference costs. Only for ``depth_penalty="auto"`` with ``"exshallow"``: an error without them.
target_waes : float, default=None
    How many conditions a row's explanation may have on average; None means as many as in ExKMC's tree. Only for
    ``depth_penalty="auto"``, as ``target_cost``.
degree : int, default=3
    Of the polynomial kernel.
coef0 : float, default=1
    Of the polynomial kernel; not negative.
beta : float, default=1
    Of the histogram intersection.
n_components : int, default=100
    Landmark rows of the approximation. As many as there are rows make it exact.
reference : clusterer or array-like of shape (n_clusters, n_features), default=None
    The clustering to approximate: centers, or a clusterer (fitted or not). None means k-means. Centers are in the
    preprocessor's output where there is one. Of a clusterer that was fitted on these rows, the same scaled or not
    as distances are here, ``labels_`` are taken; of another what it predicts. Its cost is by ``cluster_centers_`` where
    it has them and they serve its labels (MiniBatchKMeans, KMedians), else by its clusters' own means or medians
    (GaussianMixture, AgglomerativeClustering). Of a pipeline the last step is the clusterer, and distances are measured
    in the output of the others, unless ``preprocessor`` is another than "auto".
preprocessor : transformer, default=None
    Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. A copy is
    fitted; weights are passed on where its ``fit`` takes them. One that is not scikit-learn's may write into its
    input, so it is given a copy of the rows.
mixed_preprocessor = preprocessor : transformer or "auto", default="auto"
    Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. ``"auto"``
    takes numbers without missing values as they are, and any other table through a :class:`TableScaler`. A copy of a
    transformer is fitted, on the table as it was passed; weights are passed on where its ``fit`` takes them. One that
    is not scikit-learn's may write into its input, so it is given a copy of the rows.
cut_features : array-like, default=None
    The columns that may be cut: names, positions or a mask; all others are not asked about. None means all. Clusters
    are found by all columns either way.
max_depth : int, default=None
    Tests on the way to a leaf at most.
min_samples_leaf : int or float, default=1
    Rows that every leaf holds at least, or a share of the weight between 0 and 1.
categorical_features : "from_dtype" or array-like, default="from_dtype"
    The columns of texts or numbers to take as categories: names, positions or a mask. ``"from_dtype"``: columns of
    text and unordered categorical ones.
handle_unknown : {"outside", "error"}, default="outside"
    What to do with levels never seen at fit: such a row counts as none of the levels that a rule names, with a
    warning, or it is an error.
n_init : int, default=10
    Number of starts of the reference, by k-means++: fewer where some of them agree, up to three times as many where
    they do not, and up to eight times on tables that take next to no time.
random_state : int, RandomState instance or None, default=None
    Seeds the reference. The tree uses no randomness.
n_jobs : int, default=None
    Threads, by joblib's rule: None means 1, -1 all cores. The result does not depend on it.
verbose : int, default=0
    1 prints each stage and its seconds to standard error; 2 also prints the reference's restarts, and the leaves as
    they come, where there are any.
tree_ : ThresholdTree
    The model.
labels_ : ndarray of shape (n_samples,), int32
    Cluster of each training row, by the tree. Numbers are those of the reference; that of a cluster without rows is
    skipped.
cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
    Means of the tree's clusters, in the preprocessor's output where there is one. A cluster without rows keeps the
    reference's center.
cost_, inertia_ : float
    Weighted sum of squared distances to ``cluster_centers_``.
surrogate_cost_ : float
    The same with the reference's centers.
cost_ratio_ : float
    ``cost_`` over ``reference_.cost``; nan where the latter is 0.
total_cost_ : float
    Cost of all rows as a single cluster.
explained_ : float
    Share of what the reference explains that the tree keeps: ``(total_cost_ - cost_) / (total_cost_ -
    reference_.cost)``; nan where the reference costs no less than a single cluster.
reference_explained_ : float
    What the reference itself explains: ``1 - reference_.cost / total_cost_``; nan where the latter is 0.
reference_ : Reference
    The clustering that the tree approximates: ``labels``, ``centers``, ``cost``.
n_leaves_, depth_ : int
    Size of the tree.
depth_penalty_ : float
    The depth penalty that was used; only with ``algorithm="exshallow"``.
search_ : SearchRecord
    What a search did: ``start_cost`` and ``cost`` of the cheapest tree before and after, ``n_starts``, ``n_steps`` and
    the ``path`` of (work, cost); only with ``algorithm="search"``.
gamma_ : float
    The gamma that was used.
approximation_error_ : float
    0 without an approximation. Otherwise what the features lack, as a share: the trace norm of the difference of
    exact and approximate kernel matrix over that of the exact one.
classes_ : ndarray of shape (n_clusters,), int32
    The cluster numbers 0 .. k-1.
preprocessor_ : transformer
    The fitted preprocessor; None without one.
n_features_in_ : int
cluster_names_ : dict of label to str
    The names that ``name_clusters`` gave; empty after a fit.
feature_names_in_ : ndarray of shape (n_features,)
    Only when ``X`` has column names that are all strings.
column_kinds_ : dict of str to str
    What every column was taken for: number, integer, bool, category, ordered, date or duration.
limits_price_ : float
    What ``cut_features``, ``max_depth`` and ``min_samples_leaf`` cost: ``cost_`` over that of the tree that grows
    without them on the same reference, less 1; nan without limits.
left_out_ : dict of str to str
    Columns that take no part, each with the reason: texts of which most rows have their own, and no value at all.
X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    Rows with the columns of fit, in their own units.
y : ignored
    There for scikit-learn's sake.
feature_names : sequence of str, default=None
    Names of the columns of a matrix that brings none; data frames and AnnData objects have theirs.
sample_weight : array-like of shape (n_samples,), default=None
    How much each row counts; none negative, not all 0.
names : mapping of label to str, default=None
    Names for this time, on top of those of :meth:`name_clusters`.
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
    re.split(" : | = |,", entry)[0]: re.sub(r"^\w+ = ", "", entry)
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
