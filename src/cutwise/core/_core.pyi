# Written by scripts/stub.py from the compiled core, and checked by the tests: change the bindings instead.
from collections.abc import Sequence
from typing import overload

import numpy
from numpy.typing import NDArray

class Matrix:
    """
    The caller's table, read in place and kept alive: dense with any strides, or CSR.

    derived: columns that are computed from float64 values (n_rows, d) as they are read. Column j is 1 where x, the value in column
    source[j], is level[j], and 0 elsewhere. If level[j] is -1, it is x, and missing[j] where x is nan.
    """

    @staticmethod
    def dense(values: NDArray[numpy.generic]) -> Matrix: ...

    @staticmethod
    def csr(
        indptr: NDArray[numpy.int64],
        indices: NDArray[numpy.int32],
        values: NDArray[numpy.generic],
        n_cols: int,
    ) -> Matrix: ...

    @staticmethod
    def derived(
        values: NDArray[numpy.generic],
        source: NDArray[numpy.int32],
        level: NDArray[numpy.int32],
        missing: NDArray[numpy.float64],
    ) -> Matrix: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_cols(self) -> int: ...

    @property
    def is_sparse(self) -> bool: ...

def gather_rows(
    matrix: Matrix,
    rows: NDArray[numpy.int64],
    columns: NDArray[numpy.int64] | None = None,
) -> NDArray[numpy.float64]:
    """Some rows of a matrix, in some columns or all, dense, as float64."""

class Encoded:
    """
    A table encoded as one-byte codes; its arrays are read-only views.

    Column f has n_bins[f] bins, whose least and largest values are low and high from value_begin[f] on; exact[f] says that each has
    one value. Its slots begin at slot_begin[f], without one for default_bin[f] (-1: every bin has a slot). Codes are uint8. Dense:
    (n_rows, n_groups), and the slot is group_begin[g] + code. CSR: (n_stored, 1), and the slot is slot_begin[f] + code.
    """

    @property
    def n_rows(self) -> int: ...

    @property
    def n_slots(self) -> int: ...

    @property
    def n_groups(self) -> int: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def n_cols(self) -> int: ...

    @property
    def requested(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """
        Of bins without rows: the bins inside which the best cut may lie, and bounds on the cuts inside.
        """

    @property
    def low(self) -> NDArray[numpy.float64]: ...

    @property
    def high(self) -> NDArray[numpy.float64]: ...

    @property
    def codes(self) -> NDArray[numpy.uint8]: ...

    @property
    def group_begin(self) -> NDArray[numpy.int32]: ...

    @property
    def column_group(self) -> NDArray[numpy.int32]: ...

    @property
    def slot_begin(self) -> NDArray[numpy.int32]: ...

    @property
    def n_bins(self) -> NDArray[numpy.int32]: ...

    @property
    def default_bin(self) -> NDArray[numpy.int32]: ...

    @property
    def value_begin(self) -> NDArray[numpy.int64]: ...

    @property
    def exact(self) -> NDArray[numpy.bool_]: ...

def encode(matrix: Matrix, n_jobs: int = 1) -> Encoded:
    """
    Encode a table of finite values: every column as bins, every row as slots of one flat histogram.

    Bins are in increasing order of value; bin b has the values in [low[b], high[b]], and both ends occur. A column of at most 256
    distinct values is exact, with one value per bin. Other columns have up to 256 bins with about the same number of rows. Values
    are compared as float64, and -0.0 equals 0.0. Exact columns of few values, of which at most one differs from its default value in
    any row (one-hot columns), share one byte per row. Bins are chosen on a sample of rows that depends on the shape only, and
    corrected while all rows are read.
    """

def bins_alone(begin: NDArray[numpy.int64], low: NDArray[numpy.float64], high: NDArray[numpy.float64]) -> Encoded:
    """
    Bins without rows, each with a slot: searches find the best cut between them from histograms.

    begin (d + 1,): the first bin of each column. low, high (n_bins,): the least and the largest value in each bin.
    """

def encode_levels(
    matrix: Matrix,
    of: NDArray[numpy.int32],
    level: NDArray[numpy.int32],
    missing: NDArray[numpy.int32],
    n_jobs: int = 1,
) -> Encoded:
    """
    The same for a dense table some of whose columns are codes of levels, at most 256 each, or have missing values, NaN.

    Where level[j] is -1, column j of the result is column of[j] of the matrix; otherwise it is 1 where that column is level[j], and
    0 elsewhere. Missing values become infinity, or -infinity where missing[j] is -1. All result columns of one matrix column share a byte.
    """

def group_rows(matrix: Matrix) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]] | None:
    """
    Groups of equal rows, if at most half of the rows are distinct; otherwise None.

    Values are compared as float64, and -0.0 equals 0.0. Returns the first row of every group, increasing, (n_groups,), and the group
    of every row, (n_rows,). With more than 4096 rows, a sample of 4 * sqrt(n_rows) rows decides first whether there seem to be
    repeats enough.
    """

def count_distinct_rows(matrix: Matrix, limit: int, weights: NDArray[numpy.float64] | None = None) -> int:
    """
    The number of distinct rows of positive weight, counted up to the limit; rows are compared as in group_rows.
    """

def distinct_rows(
    matrix: Matrix,
    weights: NDArray[numpy.int64] | None = None,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.uint64]]:
    """
    The distinct rows of positive weight, compared as in group_rows.

    Returns three arrays, (n_distinct,): the number of the first of all equal rows, their total weight, and a hash of their values,
    which does not depend on dtype or layout. With them, a clustering does not depend on the order of the rows, nor on whether equal
    rows are repeated or weighted. weights: not negative.
    """

def hash_uniforms(hashes: NDArray[numpy.uint64], seed: int) -> NDArray[numpy.float64]:
    """A pseudorandom number in (0, 1) for every hash; seed is below 2^64."""

def assign(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    objective: str = 'kmeans',
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64], float]:
    """
    The nearest center of every row (the lowest number on ties), its cost, and the largest excess.

    centers (k, d). objective: "kmeans" for squared Euclidean distance, "kmedians" for l1 distance, summed over the columns in order in
    float64 from the differences, so that a common offset of all values loses no digits. CSR rows of up to 64 columns give the same
    bits as dense rows; with more columns the costs may differ in the last bits, and the labels do not. The excess of a row is its
    largest minus its smallest cost; it is infinite where costs overflow float64. The numbers of a row depend on that row and the
    centers only.
    """

def assign_given(costs: Matrix, n_jobs: int = 1) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64], float]:
    """assign for given costs, (n_rows, k), finite."""

def fixed_costs(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    objective: str,
    scale: float,
    weights: NDArray[numpy.int64] | None = None,
    wide: bool = True,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], int]:
    """
    Costs of the rows by every center in fixed point.

    scale: units per unit of cost; a power of two keeps equal costs equal and integer costs exact. wide: the excess is int64 and not
    int32; weights need that. An unweighted excess may be at most 2**30 units, or 2**51 with wide; larger ones raise ValueError.
    Returns excess (n_rows, k) = weight * rint(scale * (cost - smallest cost of the row)), base (n_rows,) = weight * rint(scale *
    smallest cost), the sums of the excess (k,), and the sum over the rows of weight times the number of binary digits of the
    unweighted excess of the second nearest center.
    """

def fixed_costs_given(
    costs: Matrix,
    scale: float,
    weights: NDArray[numpy.int64] | None = None,
    wide: bool = True,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], int]:
    """fixed_costs for given costs, (n_rows, k)."""

def center_costs(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    objective: str = 'kmeans',
    n_jobs: int = 1,
) -> NDArray[numpy.float64]:
    """
    The cost of every row by every center, (n_rows, k), with the same bits that assign and fixed_costs use.
    """

def label_costs(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    labels: NDArray[numpy.int32],
    objective: str = 'kmeans',
    n_jobs: int = 1,
) -> NDArray[numpy.float64]:
    """
    The cost of every row by the center of its label, (n_rows,), with the same bits as assign; 0 where the label is negative. The last bits may differ where a sparse row of more than 64 columns is about equally far from two centers.
    """

def exact_sum(
    values: NDArray[numpy.float64],
    weights: NDArray[numpy.int64] | NDArray[numpy.float64] | None = None,
) -> float:
    """
    The (weighted) sum of values, which does not depend on their order; int64 weights equal repeated values exactly.
    """

def cluster_sums(
    matrix: Matrix,
    labels: NDArray[numpy.int32],
    n_clusters: int,
    weights: NDArray[numpy.int64] | None,
    sizes: NDArray[numpy.float64],
    total_weight: float,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """
    Exact sums of a batch of rows by cluster, as high and low parts, (n_clusters, d), and the weights, (n_clusters,).

    The sums of all batches add up for means_of_sums. sizes (d,), total_weight: the largest absolute value of every column, and the
    weight, over all batches.
    """

def means_of_sums(
    high: NDArray[numpy.int64],
    low: NDArray[numpy.int64],
    weight: NDArray[numpy.int64],
    sizes: NDArray[numpy.float64],
    total_weight: float,
) -> NDArray[numpy.float64]:
    """
    The means, (n_clusters, d), with the same bits as those of cluster_means, from the added sums of all batches.
    """

def cluster_means(
    matrix: Matrix,
    labels: NDArray[numpy.int32],
    n_clusters: int,
    weights: NDArray[numpy.int64] | NDArray[numpy.float64] | None = None,
    n_jobs: int = 1,
    column_sizes: NDArray[numpy.float64] | None = None,
    squares_around: NDArray[numpy.float64] | None = None,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Weighted means of the rows of each cluster, (n_clusters, d), and the weight of each cluster.

    Rows with a negative label are left out; clusters without weight are nan. Terms are split into integers and summed exactly (to
    2**-80 of a column's largest value for a million rows): offsets lose no digits, threads and the order of rows do not change a bit,
    and an int64 weight equals a repeated row. Integer weights add up to 2**45 at most. column_sizes (d,): the largest absolute value
    of every column, if it is known, which saves a pass over the rows. squares_around (d,), for dense rows: returns means of the
    squared differences from these numbers in place of the values; nan where one overflows float64.
    """

def cluster_medians(
    matrix: Matrix,
    labels: NDArray[numpy.int32],
    n_clusters: int,
    weights: NDArray[numpy.int64] | NDArray[numpy.float64] | None = None,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Weighted median of every column over the rows of each cluster, (n_clusters, d), and the weight of each cluster.

    The lower median: the smallest value such that the rows at or below it have at least half of the cluster's weight. Rows with a
    negative label are left out; clusters without weight are nan. Integer weights add up to less than 2**61. Fractional weights are
    rounded to at least 40 binary digits of the largest for a million rows; equal ones stay equal, and only 0 becomes 0.
    """

def lloyd(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    weights: NDArray[numpy.int64] | None = None,
    max_iter: int = 300,
    tolerance: float = 0.0,
    n_jobs: int = 1,
    objective: str = 'kmeans',
    costed: bool = False,
    column_sizes: NDArray[numpy.float64] | None = None,
) -> tuple[NDArray[numpy.float64], int, NDArray[numpy.int64], float]:
    """
    Lloyd's iterations from centers (k, d), which skip rows whose nearest center cannot have changed (Hamerly 2010).

    objective: "kmeans" for Euclidean distance and means, "kmedians" for l1 distance and medians. weights: positive; a weight equals a
    repeated row to the bit. The iterations stop after max_iter; when no row changes its center; or when moving the centers lowers the
    cost by no more than tolerance times the first cost (for k-medians: cannot lower it by more). column_sizes: as for cluster_means.

    Returns the centers, the number of iterations, the weight of each cluster in the last of them, (k,), and, if costed, the mean cost
    at the end, each row by the center that it was assigned to last, otherwise nan. Mean costs that overflow float64 are its largest
    number. A center that loses all its rows moves to the row farthest from all centers. Results do not depend on threads or the
    order of the rows.
    """

def plusplus(
    matrix: Matrix,
    uniforms: NDArray[numpy.float64],
    weights: NDArray[numpy.int64] | None = None,
    objective: str = 'kmeans',
    centers: NDArray[numpy.float64] | None = None,
) -> NDArray[numpy.int64]:
    """
    The numbers of the rows to start Lloyd's iterations from, (k,), by greedy k-means++ (Arthur, Vassilvitskii 2007).

    uniforms (k, n_trials): numbers in [0, 1), one for each candidate. Candidates are drawn with a probability proportional to their
    cost, and for each seed the candidate that lowers the cost most is kept. Seeds are distinct points as long as there are any. centers
    (n_centers, d): existing centers; the first candidate of each seed is then the row of largest cost.
    """

def drop_centers(
    matrix: Matrix,
    centers: NDArray[numpy.float64],
    n_left: int,
    weights: NDArray[numpy.int64] | None = None,
    objective: str = 'kmeans',
) -> NDArray[numpy.float64]:
    """
    n_left of the centers (k, d): one center at a time is dropped, each time the one whose rows add least cost elsewhere.

    That cost is after the centers that get the rows have moved. Weights are positive.
    """

def principal_axes(
    matrix: Matrix,
    rows: NDArray[numpy.int64],
    weights: NDArray[numpy.int64] | None,
    n_axes: int,
    n_rounds: int,
    largest: float = -1.0,
) -> NDArray[numpy.float64]:
    """
    Approximate principal axes of some rows about the origin, (n_cols, n_axes), orthonormal.

    They come from n_rounds of subspace iteration (Halko, Martinsson, Tropp 2011), started from pseudorandom signs that depend on the
    number of columns only. n_axes: a multiple of 16; axes beyond the rank of the rows are zero. largest: the largest absolute value, if
    it is known, which saves a pass over the rows.
    """

def project(
    matrix: Matrix,
    rows: NDArray[numpy.int64],
    axes: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    The coordinates of some rows along orthonormal axes, (len(rows), n_axes), and the squared distance of each row from the
    span of the axes.
    """

def apply(
    matrix: Matrix,
    children_left: NDArray[numpy.int32],
    children_right: NDArray[numpy.int32],
    feature: NDArray[numpy.int32],
    threshold: NDArray[numpy.float64],
    lower: NDArray[numpy.float64],
    sets: NDArray[numpy.uint8] | None = None,
    n_jobs: int = 1,
) -> NDArray[numpy.int32]:
    """
    The node number of the leaf that every row reaches in a threshold tree, (n_rows,).

    The arrays are of shape (n_nodes,), with the nodes in preorder: the left child of inner node i is i + 1, and children of -1 mark
    a leaf. A row goes left when lower < value <= threshold, compared as float64; without a lower end, -inf, also where the value is
    -inf. feature is not read at leaves. sets (n_nodes, 257) or None: for nodes whose threshold is nan, which levels go left; and in
    the last column, for any node, whether a missing value goes left. Without sets missing values go right.
    """

@overload
def add_to_cluster_histogram(
    encoded: Encoded,
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    first: NDArray[numpy.int64] | None,
    second: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    sign: int,
    n_jobs: int = 1,
) -> None:
    """
    Add one or two numbers per row to the cells of its slots and its cluster, in place.

    cluster (n_rows,): rows with a negative cluster are left out. first, second (n_rows,): the numbers that a row adds; None: 1 each.
    histogram (n_slots, k, 1 or 2) or None: int64, or uint16 where the table is sparse and the sums fit. totals (k, 1 or 2): the
    sums by cluster. sign: 1, or -1 to take rows out again.
    """

@overload
def add_to_cluster_histogram(
    encoded: Encoded,
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    first: NDArray[numpy.int64] | None,
    second: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.uint16] | None,
    totals: NDArray[numpy.int64],
    sign: int,
    n_jobs: int = 1,
) -> None: ...

@overload
def add_to_cost_histogram(
    encoded: Encoded,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int32],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    n_jobs: int = 1,
) -> None:
    """
    Add every row's costs, (n_rows, k), to each of its slots, in place.

    histogram (n_slots, k) or None, and totals (k,), are zeros before.
    """

@overload
def add_to_cost_histogram(
    encoded: Encoded,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int64],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    n_jobs: int = 1,
) -> None: ...

def mistaken_rows(
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    survivors: NDArray[numpy.int32],
    k: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    The rows that the last cut separated from their cluster, and all rows of a child without a surviving cluster.

    rows: those of the child. cluster (n_rows,): the cluster of every row, -1 if an earlier cut separated them.
    """

@overload
def fewest_mistakes(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    already_mistaken: NDArray[numpy.int32],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[int, NDArray[numpy.int32], NDArray[numpy.float64]]:
    """
    The cuts that separate the fewest rows from their centers and leave a surviving center on each side (IMM's Algorithm 1).

    rows: all rows routed to the node. cluster (n_rows,): the surviving cluster of every row, -1 if an earlier cut separated them.
    already_mistaken: those of the rows with cluster -1; they are no mistakes, but cuts on their two sides are different cuts.
    histogram (n_slots, k, 1) int64 or uint16, or None, totals (k, 1): weights by slot and cluster. coordinates (k, d). survivors:
    two or more clusters whose centers reached the node, increasing. Returns the fewest mistakes (-1 when no cut separates the
    centers), and the features and thresholds (left ends of gaps) of every cut with so few, in order.
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020).
    """

@overload
def fewest_mistakes(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    already_mistaken: NDArray[numpy.int32],
    histogram: NDArray[numpy.uint16] | None,
    totals: NDArray[numpy.int64],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[int, NDArray[numpy.int32], NDArray[numpy.float64]]: ...

@overload
def best_surrogate_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int32],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    is_zero_cost: NDArray[numpy.uint8] | None,
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, int, int] | None:
    """
    The cut whose two sides cost least, each served by its best cluster (Frost, Moshkovitz, Rashtchian 2020, Algorithm 2).

    costs (n_rows, k). histogram (n_slots, k) or None, totals (k,): summed costs of the node's rows, by slot and over all.
    is_zero_cost (n_rows,) or None: 1 for rows whose costs are all 0, which the histogram does not show. Returns (cost, 0.0, feature,
    threshold, left label, right label), where the threshold is the left end of the gap, or None when no cut separates the rows.
    """

@overload
def best_surrogate_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int64],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    is_zero_cost: NDArray[numpy.uint8] | None,
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, int, int] | None: ...

class NodeLimits:
    """The user's limits on the cuts of a node."""

    def __init__(
        self,
        columns: NDArray[numpy.uint8] | None,
        counts: NDArray[numpy.int64] | None,
        least: int,
        most_centers: int,
    ) -> None:
        """
        columns (d,): 1 where a column may be cut; None: all may. counts (n_rows,): the count of each row, such as its weight;
        None: 1 each. least: the least count of a side, times its number of centers where the cut separates centers. most_centers: the
        most centers on a side.
        """

@overload
def best_disagreement_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    labels: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    gini: bool,
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
    gini_alone: bool = False,
) -> tuple[int, float, int, float, int, int] | None:
    """
    The cut that leaves the fewest rows outside their side's commonest label.

    labels (n_rows,): 0 to k - 1. histogram (n_slots, k) int64 or uint16, or None, totals (k,): weights of the node's rows by label.
    gini: impurity decides between equals. gini_alone: the disagreement is replaced by impurity times weight, in units of 2^-30,
    rounded down on each side. Returns (disagreement, impurity, feature, threshold, left label, right label), or None when no cut
    separates the rows.
    """

@overload
def best_disagreement_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    labels: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.uint16] | None,
    totals: NDArray[numpy.int64],
    gini: bool,
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
    gini_alone: bool = False,
) -> tuple[int, float, int, float, int, int] | None: ...

class Levels:
    """The level of every row of an encoded table in one categorical column."""

    def __init__(self, encoded: Encoded, columns: NDArray[numpy.int32], n_levels: int) -> None:
        """
        columns: the encoded 0/1 columns of the levels; of two levels, that of the second only.
        """

    @property
    def size(self) -> int: ...

    def codes(self, rows: NDArray[numpy.int32]) -> NDArray[numpy.int32]:
        """The level of each of the given rows."""

    def sums(self, histogram: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """
        Sums by level, (n_levels, k, width), from a histogram, (n_slots, k, width).
        """

    def count(
        self,
        rows: NDArray[numpy.int32],
        weights: NDArray[numpy.int64] | None,
        labels: NDArray[numpy.int32] | None = None,
        k: int = 1,
    ) -> NDArray[numpy.int64]:
        """
        The weight of the given rows by level and label, (n_levels, k); rows with a negative label are left out.
        """

    def partition(self, rows: NDArray[numpy.int32], inside: Sequence[int]) -> int:
        """
        Bring the rows of the levels `inside` to the front, keep the order of both parts, and return their number.
        """

@overload
def level_costs(
    codes: NDArray[numpy.int32],
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int32],
    n_levels: int,
) -> NDArray[numpy.int64]:
    """
    Summed costs of the given rows by level and cluster, (n_levels, k); codes (len(rows),): the level of each given row.
    """

@overload
def level_costs(
    codes: NDArray[numpy.int32],
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int64],
    n_levels: int,
) -> NDArray[numpy.int64]: ...

def least_costs_of_sets(
    levels: Sequence[Levels],
    histogram: NDArray[numpy.int64],
    is_counts: bool,
) -> NDArray[numpy.int64]:
    """
    For every category the least cost of a set of levels and its complement, each served by one cluster.

    histogram (n_slots, k, 1): summed costs of the rows by slot and cluster or, with is_counts, their weight by slot and label.
    """

def best_level_set(
    sums: NDArray[numpy.int64],
    is_counts: bool,
    gini: bool = False,
    counts: NDArray[numpy.int64] | None = None,
    limits: NodeLimits | None = None,
) -> tuple[int, float, list[int], int, int] | None:
    """
    The set of levels for which it and its complement cost least, each served by one cluster.

    sums (n_levels, k): summed costs of the rows by level and cluster or, with is_counts, their weight by level and label. gini:
    impurity decides between equal costs, among the sets of pairs of labels and, for every label, the sets of the levels where its
    share is largest. counts (n_levels,): of the node's rows, for the limits. Returns (cost, impurity, levels of the left side, left
    label, right label), or None when there is no set with levels on both sides.
    """

MOST_MODE_GROUPS: int = 16

def may_separate(
    levels: Sequence[Levels],
    histogram: NDArray[numpy.int64],
    survivors: NDArray[numpy.int32],
    modes: NDArray[numpy.int32],
    most: int,
) -> NDArray[numpy.int32]:
    """
    For every category, which centers are on one side in all sets of levels that may lose at most `most` by separating rows
    from the modes of their centers.

    histogram (n_slots, k, width): losses, in the first of the width numbers. modes (n_categories, k): the mode of each center.
    Returns (n_categories, n_survivors): the number of every survivor's part; all 0 where no set loses so little, -1 if unknown.
    """

def may_induce(
    levels: Sequence[Levels],
    histogram: NDArray[numpy.int64],
    survivors: NDArray[numpy.int32],
    modes: NDArray[numpy.int32],
    columns: NDArray[numpy.int32],
    current: int,
    penalty: float,
    kills_left: NDArray[numpy.uint8],
    kills_right: NDArray[numpy.uint8],
    known_score: float,
) -> NDArray[numpy.int32]:
    """
    For every category, which centers are on one side in all sets of levels that may have at most a known score.

    histogram (n_slots, k, 1 or 2): losses, and weights where there is a penalty. columns: one encoded column of each category.
    Returns (n_categories, n_survivors): the number of every survivor's part; all 0 where least_induced_modes finds no such set, -1
    if that is unknown.
    """

def fewest_mode_mistakes(
    sums: NDArray[numpy.int64],
    weight: NDArray[numpy.int64],
    survivors: NDArray[numpy.int32],
    modes: NDArray[numpy.int32],
    costs: NDArray[numpy.int64] | None = None,
    counts: NDArray[numpy.int64] | None = None,
    limits: NodeLimits | None = None,
) -> tuple[int, int, list[int], int] | None:
    """
    The set of levels, against all others, that separates the fewest rows from the modes of their centers.

    sums (n_levels, k): weight of the node's rows by level and surviving cluster; weight (n_levels,): of all rows of the node. modes
    (n_survivors,): the mode of each survivor. costs (n_levels, k) or None: summed costs of the node's rows. Among equal sets the one
    wins whose sides cost least, each served by its best survivor. counts (n_levels,): for the limits. Returns (mistakes, cost of
    the sides, levels of the left side, how many partitions have so few mistakes), or None when no allowed partition has modes on
    both sides.
    """

@overload
def mode_shares(
    codes: NDArray[numpy.int32],
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int32],
    weight: NDArray[numpy.int64],
    survivors: NDArray[numpy.int32],
    modes: NDArray[numpy.int32],
    parts: NDArray[numpy.int32] | None = None,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint64], NDArray[numpy.int64]]:
    """
    The losses of rows by level and set of groups of centers, in order of levels; least_induced_modes takes those of all rows.

    rows (n,): of excess (m, k). codes (n,): the level of each. weight (n_levels,): of the node's rows. parts
    (n_survivors,) or None: of may_induce; a part is one group. Returns arrays (level, groups, loss): the loss when the nearest groups
    of a row, those of the bit mask `groups`, are on the other side, beyond that of its smaller sets.
    """

@overload
def mode_shares(
    codes: NDArray[numpy.int32],
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int64],
    weight: NDArray[numpy.int64],
    survivors: NDArray[numpy.int32],
    modes: NDArray[numpy.int32],
    parts: NDArray[numpy.int32] | None = None,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint64], NDArray[numpy.int64]]: ...

def distinct_by_level(
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    codes: NDArray[numpy.int32],
    n_levels: int,
    most: int,
) -> NDArray[numpy.int64]:
    """
    The number of distinct rows among the given rows by level, (n_levels,), counted up to `most`; codes: their levels.
    """

def least_induced_modes(
    level: NDArray[numpy.int32],
    groups: NDArray[numpy.uint64],
    loss: NDArray[numpy.int64],
    weight: NDArray[numpy.int64],
    distinct: NDArray[numpy.int64],
    modes: NDArray[numpy.int32],
    current: int,
    penalty: float,
    kills_left: bool,
    kills_right: bool,
    known_score: float | None,
    counts: NDArray[numpy.int64] | None,
    limits: NodeLimits | None,
    parts: NDArray[numpy.int32] | None = None,
) -> tuple[bool, float, int, list[int]] | None:
    """
    The set of levels of one category, against its other levels, of least Price + penalty * DExp; centers are on their mode's side.

    level, groups, loss, parts: of mode_shares. weight, distinct (n_levels,): weight and number of distinct rows of every level.
    modes (n_survivors,): the mode of each survivor. current: the cost of the node. known_score: the score of a valid cut; worse ones
    are not returned. Returns (whether each side has at least as many distinct rows as centers, score, induced cost, levels of the left
    side), or None.
    """

def best_clique_cuts(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    labels: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    sizes: NDArray[numpy.int64],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> list[tuple[int, int, int, int, int, float, int, int]]:
    """
    The cuts that may separate the fewest pairs of rows of one cluster, for the size of their sides (SpEx).

    labels (n_rows,): the cluster of every row. sizes (k,): the weight of each cluster over all rows of the table. Returns one tuple
    per cut: separated pairs and degree of the left side, the same of the right, feature, threshold (the left end of the gap), left
    label, right label; by column, then by threshold. Their scores differ by no more than rounding.
    """

def divide_alike(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    features: NDArray[numpy.int32],
    thresholds: NDArray[numpy.float64],
) -> bool:
    """
    Whether all cuts divide rows and surviving centers as the first does; their sides may be exchanged.

    Arguments as in cheapest_tied_cut.
    """

@overload
def cheapest_tied_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int32],
    totals: NDArray[numpy.int64],
    of_clusters: NDArray[numpy.int64] | None,
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    features: NDArray[numpy.int32],
    thresholds: NDArray[numpy.float64],
) -> int:
    """
    The index of the first of the given cuts whose sides cost least, each served by its best surviving center.

    costs (n_rows, k): none negative. totals (k,): their sums over the node's rows. of_clusters (k, k): the sums over the rows of each
    cluster, where all of them are on the side of their center in every cut; rows are then the node's other rows. features, thresholds
    (n_cuts,): the cuts, by column, then by threshold. Other arguments as in fewest_mistakes.
    """

@overload
def cheapest_tied_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    costs: NDArray[numpy.int64],
    totals: NDArray[numpy.int64],
    of_clusters: NDArray[numpy.int64] | None,
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    features: NDArray[numpy.int32],
    thresholds: NDArray[numpy.float64],
) -> int: ...

@overload
def best_induced_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int32],
    states: NDArray[numpy.int16],
    weights: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    penalty: float,
    kills_left: NDArray[numpy.uint8],
    kills_right: NDArray[numpy.uint8],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[float, int, int, float, bool] | None:
    """
    The cut of least Price + penalty * DExp with a surviving center on each side (Laber, Murtinho, Oliveira 2023, Algorithms 1-3).

    excess (n_rows, k): costs above the row's base. states: the records of update_two_nearest with the two cheapest surviving
    clusters of every row, and its loss when it is separated from the first; (n_rows, 4) int16 or, from 2**15 clusters on,
    (n_rows, 3) int32 for int32 costs, (n_rows, 2) int64 for int64 costs. histogram (n_slots, k, 1 or 2) or None: losses, and
    weights when penalty is not 0, by slot and nearest cluster; totals (k, 1 or 2): the same by nearest cluster. nearest_costs
    (k, 2): base, and excess by the nearest cluster, summed over the rows by nearest cluster. coordinates (k, d). kills_left,
    kills_right (d,): 1 where a cut of the column makes an ancestor's condition redundant on that side.

    Returns (score, induced cost, feature, threshold, whether each side has at least as many distinct rows as centers), or None when
    no cut separates the centers.
    """

@overload
def best_induced_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int32],
    states: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    penalty: float,
    kills_left: NDArray[numpy.uint8],
    kills_right: NDArray[numpy.uint8],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[float, int, int, float, bool] | None: ...

@overload
def best_induced_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    excess: NDArray[numpy.int64],
    states: NDArray[numpy.int64],
    weights: NDArray[numpy.int64] | None,
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    penalty: float,
    kills_left: NDArray[numpy.uint8],
    kills_right: NDArray[numpy.uint8],
    limits: NodeLimits | None = None,
    n_jobs: int = 1,
) -> tuple[float, int, int, float, bool] | None: ...

def best_cut_of_sides(
    bins: Encoded,
    matrix: Matrix,
    sums: NDArray[numpy.int64],
    base: int,
    coordinates: NDArray[numpy.float64],
    survivors: NDArray[numpy.int32],
    penalty: float,
    kills_left: NDArray[numpy.uint8],
    kills_right: NDArray[numpy.uint8],
    valid: NDArray[numpy.float64],
    limits: NodeLimits | None,
) -> tuple[float, int, int, float] | None:
    """
    The best cut between bins without rows, by the score of best_induced_cut; bins inside which a better one may lie are requested.

    sums (n_bins, 2 k + 1): as add_to_tallies gives them with an order. base: the cost of all rows that no cut changes. valid
    (2, d, k): the first valid threshold, and the end of them, by column and number of centers on the left. Returns (score, induced
    cost, feature, threshold), or None when no valid cut separates the centers.
    """

@overload
def update_two_nearest(
    encoded: Encoded,
    excess: NDArray[numpy.int32],
    base: NDArray[numpy.int64],
    weights: NDArray[numpy.int64] | None,
    rows: Sequence[NDArray[numpy.int32]],
    survivors: Sequence[NDArray[numpy.int32]],
    states: NDArray[numpy.int16],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    n_jobs: int = 1,
) -> None:
    """
    Update every row's two nearest surviving clusters, and the histogram of losses, in place.

    excess (n_rows, k): costs above base (n_rows,). rows, survivors: one entry for the root, with zeros in all sums and -1 in all
    states; later two, for the children of a node that was cut. states, histogram, totals, nearest_costs: as in best_induced_cut.
    They are not updated for a child with one survivor, which is never cut.
    """

@overload
def update_two_nearest(
    encoded: Encoded,
    excess: NDArray[numpy.int32],
    base: NDArray[numpy.int64],
    weights: NDArray[numpy.int64] | None,
    rows: Sequence[NDArray[numpy.int32]],
    survivors: Sequence[NDArray[numpy.int32]],
    states: NDArray[numpy.int32],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    n_jobs: int = 1,
) -> None: ...

@overload
def update_two_nearest(
    encoded: Encoded,
    excess: NDArray[numpy.int64],
    base: NDArray[numpy.int64],
    weights: NDArray[numpy.int64] | None,
    rows: Sequence[NDArray[numpy.int32]],
    survivors: Sequence[NDArray[numpy.int32]],
    states: NDArray[numpy.int64],
    histogram: NDArray[numpy.int64] | None,
    totals: NDArray[numpy.int64],
    nearest_costs: NDArray[numpy.int64],
    n_jobs: int = 1,
) -> None: ...

def partition(
    encoded: Encoded,
    matrix: Matrix,
    rows: NDArray[numpy.int32],
    feature: int,
    lower: float,
    threshold: float,
) -> tuple[int, tuple[float, float], tuple[float, float]]:
    """
    Bring the rows with lower < x[feature] <= threshold to the front, and keep the order of both parts.

    Returns their number, the two values next to the threshold, and the two values next to the lower end: infinite where there is no
    row, nan where lower is -inf.
    """

def bin_codes(
    matrix: Matrix,
    edges: NDArray[numpy.float64],
    begin: NDArray[numpy.int64],
    low: NDArray[numpy.float64],
    high: NDArray[numpy.float64],
) -> NDArray[numpy.uint8]:
    """
    The bin of every value, (n_rows, d) uint8: how many edges of its column are below it.

    edges: sorted, those of one column after those of another. begin (d + 1,): the first bin of each column, which has one bin more
    than it has edges. low, high (begin[d],): the least and the largest value in each bin so far; they are updated.
    """

@overload
def interleave(
    of_columns: Sequence[NDArray[numpy.float32]],
    columns: NDArray[numpy.int64],
    first: int,
    rows: NDArray[numpy.float32],
) -> NDArray[numpy.uint32]:
    """
    Write some columns, each (n_rows,), into a table of rows, (n_rows, d).

    columns: the numbers of the columns in the table. first: the number of the first row. Returns a checksum of each column modulo
    2^32, which depends on the order of the rows as well; the checksums of batches add up.
    """

@overload
def interleave(
    of_columns: Sequence[NDArray[numpy.float64]],
    columns: NDArray[numpy.int64],
    first: int,
    rows: NDArray[numpy.float64],
) -> NDArray[numpy.uint32]: ...

@overload
def interleave(
    of_columns: Sequence[NDArray[numpy.int32]],
    columns: NDArray[numpy.int64],
    first: int,
    rows: NDArray[numpy.int32],
) -> NDArray[numpy.uint32]: ...

@overload
def interleave(
    of_columns: Sequence[NDArray[numpy.int64]],
    columns: NDArray[numpy.int64],
    first: int,
    rows: NDArray[numpy.int64],
) -> NDArray[numpy.uint32]: ...

@overload
def interleave(
    of_columns: Sequence[NDArray[numpy.uint8]],
    columns: NDArray[numpy.int64],
    first: int,
    rows: NDArray[numpy.uint8],
) -> NDArray[numpy.uint32]: ...

@overload
def add_to_tallies(
    codes: NDArray[numpy.uint8],
    begin: NDArray[numpy.int64],
    node: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    payload: NDArray[numpy.int32],
    order: NDArray[numpy.int32] | None,
    n_survivors: NDArray[numpy.int32],
    sums: NDArray[numpy.int64],
) -> None:
    """
    Add a batch of rows to the sums of their nodes, by column and bin, in place.

    codes (n, d), begin: as bin_codes returns and takes them. node (n,): the node of each row, -1 for none. payload (n, k).

    Without order every row adds 1, its weight and its payload to sums (n_nodes, n_bins, 2 + k).

    With order (n_nodes, d, k), the clusters of each node by coordinate in each column, of which the first n_survivors (n_nodes,)
    are the node's, payload is costs, and sums is of shape (n_nodes, n_bins, 2 k + 1). Every row adds 1 and its weight; then at 2
    its least cost among all survivors of the node; at 2 + s, for s = 1 .. n_survivors - 1, that among the first s along the column;
    and at 1 + k + s that among the others.
    """

@overload
def add_to_tallies(
    codes: NDArray[numpy.uint8],
    begin: NDArray[numpy.int64],
    node: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    payload: NDArray[numpy.int64],
    order: NDArray[numpy.int32] | None,
    n_survivors: NDArray[numpy.int32],
    sums: NDArray[numpy.int64],
) -> None: ...

def rows_in_ranges(
    matrix: Matrix,
    node: NDArray[numpy.int32],
    first: NDArray[numpy.int64],
    column: NDArray[numpy.int32],
    low: NDArray[numpy.float64],
    high: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]:
    """
    The rows of a batch whose values lie in given ranges, as three arrays: number of the row, number of the range, and value.

    node (n,): the node of each row, -1 for none. first (n_nodes + 1,): the first range of each node. column, low, high (n_ranges,):
    the ranges, by node, then by column, then by value.
    """

def step_down(
    matrix: Matrix,
    node: NDArray[numpy.int32],
    column: NDArray[numpy.int32],
    threshold: NDArray[numpy.float64],
    left: NDArray[numpy.int32],
    right: NDArray[numpy.int32],
    gaps: NDArray[numpy.float64],
) -> None:
    """
    Move every row from its node, (n,), down to a leaf, in place.

    column (n_nodes,): -1 at leaves. threshold, left, right (n_nodes,): children come after their parents. gaps (n_nodes, 2): the
    largest value that went left, and the least that went right, at each node so far; they are updated.
    """

class Ranks:
    """
    The rank of every value among the distinct values of its column, in two bytes.

    In a column of more than 65,536 distinct values neighboring ones share a rank.
    """

def rank_columns(matrix: Matrix, n_jobs: int = 1) -> Ranks:
    """The Ranks of a table."""

@overload
def best_surrogate_interval(
    ranks: Ranks,
    rows: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    costs: NDArray[numpy.int32],
    totals: NDArray[numpy.int64],
    limit: int,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, float, int, int] | None:
    """
    The interval whose inside and outside cost least, each served by its best cluster (Fleissner et al. 2024, Section 5).

    costs (n_rows, k): not negative, with the weights multiplied in; weights (n_rows,) only decide how values are grouped. totals
    (k,): summed costs of the node's rows. limit: the cost that the interval has to beat, such as that of the best one-sided cut.
    Returns (cost, 0.0, feature, lower, upper, inside label, outside label), or None: lower is the largest value of the node below
    the interval, upper the largest inside. Ties: the lowest feature, then lower, then upper.

    In columns of at most 1,000 distinct values in the node all pairs of values are compared. Other columns are searched on 256 or
    more groups of equal weight, and the ends of the best pair moved to the best single values next to them.
    """

@overload
def best_surrogate_interval(
    ranks: Ranks,
    rows: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    costs: NDArray[numpy.int64],
    totals: NDArray[numpy.int64],
    limit: int,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, float, int, int] | None: ...

def best_disagreement_interval(
    ranks: Ranks,
    rows: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    labels: NDArray[numpy.int32],
    totals: NDArray[numpy.int64],
    gini: bool,
    limit: int,
    second_limit: float,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, float, int, int] | None:
    """
    The interval that leaves the fewest rows outside their side's commonest label.

    labels (n_rows,): 0 to k - 1. totals (k,): weights of the node's rows by label. gini: impurity decides between equals, and
    second_limit is the impurity that an interval has to beat whose disagreement equals limit. Returns (disagreement, impurity,
    feature, lower, upper, inside label, outside label), or None.
    """

class FeatureTable:
    """
    The surrogate features of every column, for fewest_feature_mistakes.

    values(column): the values at which features have to be computed, increasing: all distinct values of the column if there are at
    most 1,000, so that is_exact(column) is true, and otherwise the medians of 512 or more groups of equal weight.
    add_features(column, values): adds features, (n_features, n_values). drop_features(column): frees their memory.
    """

    @property
    def n_cols(self) -> int: ...

    def values(self, column: int) -> NDArray[numpy.float64]: ...

    def is_exact(self, column: int) -> bool: ...

    def add_features(self, column: int, values: NDArray[numpy.float64]) -> None: ...

    def drop_features(self, column: int) -> None: ...

def feature_table(
    ranks: Ranks,
    labels: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    k: int,
    n_jobs: int = 1,
) -> FeatureTable:
    """
    A FeatureTable without features yet.

    labels (n_rows,): reference clusters, 0 to k - 1. A center's coordinate in a feature is the mean over the rows of its cluster.
    """

def fewest_feature_mistakes(
    table: FeatureTable,
    rows: NDArray[numpy.int32],
    cluster: NDArray[numpy.int32],
    weights: NDArray[numpy.int64] | None,
    survivors: NDArray[numpy.int32],
    one_sided: bool,
    any_level: bool,
    n_jobs: int = 1,
) -> tuple[int, int, int, float, float, NDArray[numpy.int32]] | None:
    """
    The cut of a surrogate feature that separates the fewest rows from their centers (Fleissner et al. 2024, Algorithm 1).

    A cut at a level has rows and surviving centers on both sides, above the level and at or below it, and one of its sides is an
    interval of the node's values in the column. Columns without features are left out. cluster (n_rows,): the surviving cluster of
    every row, -1 if an earlier cut separated them. one_sided: only cuts that are thresholds on the column. any_level: levels lie
    anywhere between neighboring values, so that centers between two values can be separated too; otherwise half way between values
    of rows with a cluster. Ties: the lowest column, feature, level.

    Returns (mistakes, column, feature, lower, upper, left), or None when there is no such cut: rows with lower < x <= upper go left,
    lower is -inf for a threshold, and left are the survivors that go left.
    """

def near_best_means_cuts(
    matrix: Matrix,
    weights: NDArray[numpy.int64] | None = None,
    columns: Matrix | None = None,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    The cuts of a dense table that may cost least when each side is served by its mean, by column, then by value.

    weights: positive; a weight equals a repeated row. columns: the same rows in the columns that may be cut; None: the matrix itself.
    Returns three arrays, (n_cuts,): the feature, the largest value on the left and the smallest on the right. There is one cut, or
    several where float64 cannot decide between them, or none where all rows are equal in the columns. Takes O(n d c + n (c + d)
    log n) time for n rows, d columns of the matrix and c that may be cut.
    """

def near_best_medians_cuts(
    matrix: Matrix,
    weights: NDArray[numpy.int64] | None = None,
    columns: Matrix | None = None,
    n_jobs: int = 1,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    The same as near_best_means_cuts for 2-medians: each side is served by its coordinate-wise median.

    It takes the same time for equal weights, and 56 bytes per value.
    """

def sample_bins(
    values: NDArray[numpy.float64],
    weights: NDArray[numpy.float64],
    cut_columns: NDArray[numpy.int32],
    cuts: NDArray[numpy.float64],
    max_bins: int,
    n_jobs: int,
) -> tuple[NDArray[numpy.uint8], NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    Put rows in bins, about max_bins a column, with an edge wherever a cut is.

    Gives codes of the shape of the values, the edges of all columns, where those of each begin, and the last bin on the left of
    every cut (-1: none). A value is in bin b or below when it is at most edge b of its column.
    """

def row_hashes(matrix: Matrix, n_jobs: int) -> NDArray[numpy.uint64]:
    """
    A number for every row, the same for equal rows of any dtype and layout.
    """

def grid_rows(
    coordinates: NDArray[numpy.float64],
    weights: NDArray[numpy.int64],
    origin: NDArray[numpy.float64],
    reach: float,
    scale: float,
    weigh_first: bool,
    directions: NDArray[numpy.float64] | None,
) -> NDArray[numpy.float64]:
    """
    Rows as whole numbers: the weight, then the coordinates from an origin times the scale, rounded, times the weight.

    Coordinates beyond the reach count as the reach. weigh_first: rounded after the weight is multiplied. With directions, a row
    has one coordinate along each. Zeros fill a row up to a multiple of four.
    """

class TreeSearch:
    """
    Searches for better trees on rows in few bins.

    rows (n, w) are whole numbers, w a multiple of four: the weight, then what leaf_cost needs ("squares": coordinates, "counts":
    a weight in the entry of the row's label, "least": what it costs by each center). Trees are (column, threshold, right) in preorder: a row goes left, to the next node, when
    its code is at most threshold; column is -1 at leaves. Changes by less than threshold do not count. Leaves weigh at least
    least_weight and are no deeper than max_depth. size_price: what a condition in the rule of weight 1 costs, and a level of
    depth; and how many conditions and levels are free.
    """

    def __init__(
        self,
        codes: NDArray[numpy.uint8],
        n_bins: NDArray[numpy.int32],
        rows: NDArray[numpy.float64],
        leaf_cost: str,
        threshold: float,
        least_weight: float = 0.0,
        max_depth: int = 2147483647,
        size_price: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0)),
    ) -> None: ...

    def run(
        self,
        starts: Sequence[tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]]],
        n_leaves: int,
        swaps: bool,
        tolerance: float,
        n_jobs: int,
        n_deletions: int = 5,
        n_insertions: int = 3,
        work: int = 0,
        progress: object | None = None,
        most_work: int = 9223372036854775807,
    ) -> list[tuple[int, list[tuple[int, float, tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]]]]]]:
        """
        Improve trees: for each the work done, and every better tree with the work and its value then.

        Leaves without rows give way to others, and every cut is chosen anew. With swaps, trees come with their best cuts, and leaves
        are moved elsewhere; with work, all this again and again from the best tree with some leaves moved at random. A start ends after
        most_work. No step for a tree that cannot have n_leaves.
        Calls progress with the lowest value so far, twice a second.
        """

    def value(self, cuts: tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]]) -> float:
        """What the tree's leaves cost, infinite where one has no rows."""

    def best_recut(
        self,
        cuts: tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]],
        node: int,
    ) -> tuple[float, int, int]:
        """
        The best cut of an inner node: what it changes the value by, its column and bin.
        """

    def best_insertion(
        self,
        cuts: tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]],
        node: int,
    ) -> tuple[float, int, int, bool]:
        """
        The best new leaf above a node: what it changes the value by, column, bin, and whether the leaf is on the left.
        """

    def deletion_change(
        self,
        cuts: tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]],
        leaf: int,
    ) -> float:
        """
        What the value changes by when the leaf's sibling takes its parent's place.
        """

def polish(
    values: NDArray[numpy.float64],
    rows: NDArray[numpy.float64],
    tree: tuple[NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.int32]],
    edges: NDArray[numpy.float64] | None,
    edge_begin: NDArray[numpy.int32] | None,
    least_gain: float,
    size_price: tuple[tuple[float, float], tuple[float, float]],
) -> NDArray[numpy.float64]:
    """
    Choose the threshold of every node anew, in its own column.

    The tree is (column, threshold, right) in preorder. values (n, d) are in the columns that it cuts; rows are those of TreeSearch,
    with coordinates. With edges, thresholds move among the few bins next to them; otherwise anywhere. Prices of the length of rules
    are those of TreeSearch. Gives the thresholds: each a value of the rows on its left.
    """
