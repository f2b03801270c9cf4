from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

class Matrix:
    @staticmethod
    def dense(values: npt.NDArray[np.generic]) -> Matrix: ...
    @staticmethod
    def csr(
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        values: npt.NDArray[np.generic],
        n_cols: int,
    ) -> Matrix: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    @property
    def is_sparse(self) -> bool: ...

def apply(
    matrix: Matrix,
    children_left: npt.NDArray[np.int32],
    children_right: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.float64],
    lower: npt.NDArray[np.float64],
    n_jobs: int,
) -> npt.NDArray[np.int32]: ...
def assign(
    matrix: Matrix, centers: npt.NDArray[np.float64], objective: str, keep: bool, n_jobs: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float, npt.NDArray[np.float64] | None]: ...
def assign_given(costs: Matrix, n_jobs: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float, None]: ...
def fixed_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    objective: str,
    scale: float,
    weights: npt.NDArray[np.int64] | None,
    wide: bool,
    wide_base: bool,
    n_jobs: int,
) -> tuple[_Costs, _Costs, _Int64, int]: ...
def fixed_costs_given(
    costs: Matrix, scale: float, weights: npt.NDArray[np.int64] | None, wide: bool, wide_base: bool, n_jobs: int
) -> tuple[_Costs, _Costs, _Int64, int]: ...
def center_costs(
    matrix: Matrix, centers: npt.NDArray[np.float64], objective: str, n_jobs: int
) -> npt.NDArray[np.float64]: ...
def label_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    objective: str,
    n_jobs: int,
) -> npt.NDArray[np.float64]: ...
def cluster_means(
    matrix: Matrix,
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None,
    n_clusters: int,
    n_jobs: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def cluster_medians(
    matrix: Matrix,
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None,
    n_clusters: int,
    n_jobs: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def exact_sum(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None
) -> float: ...

class Encoded:
    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    @property
    def n_slots(self) -> int: ...
    @property
    def n_groups(self) -> int: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def low(self) -> npt.NDArray[np.float64]: ...
    @property
    def high(self) -> npt.NDArray[np.float64]: ...
    @property
    def codes(self) -> npt.NDArray[np.uint8]: ...
    @property
    def group_begin(self) -> npt.NDArray[np.int32]: ...
    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def slots(self) -> npt.NDArray[np.int32]: ...
    @property
    def column_group(self) -> npt.NDArray[np.int32]: ...
    @property
    def slot_begin(self) -> npt.NDArray[np.int32]: ...
    @property
    def n_bins(self) -> npt.NDArray[np.int32]: ...
    @property
    def default_bin(self) -> npt.NDArray[np.int32]: ...
    @property
    def value_begin(self) -> npt.NDArray[np.int64]: ...
    @property
    def exact(self) -> npt.NDArray[np.bool_]: ...
    def take(self, rows: npt.NDArray[np.int32]) -> Encoded: ...

def encode(matrix: Matrix, bundle: bool, n_jobs: int) -> Encoded: ...
def merge_duplicates(
    matrix: Matrix, encoded: Encoded
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None: ...

_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]
_Float64 = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.uint8]
_Costs = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_States = npt.NDArray[np.int16] | npt.NDArray[np.int32] | npt.NDArray[np.int64]

class PackedCodes:
    @property
    def n_packs(self) -> int: ...

def pack_codes(encoded: Encoded, n_jobs: int) -> PackedCodes: ...
def cluster_histogram(
    encoded: Encoded,
    packed: PackedCodes | None,
    rows: _Int32,
    cluster: _Int32,
    first: _Int64 | None,
    second: _Int64 | None,
    histogram: _Int64 | None,
    totals: _Int64,
    sign: int,
    n_jobs: int,
) -> None: ...
def cost_histogram(
    encoded: Encoded,
    packed: PackedCodes | None,
    rows: _Int32,
    costs: _Costs,
    histogram: _Int64 | None,
    totals: _Int64,
    n_jobs: int,
) -> None: ...
def parted_rows(rows: _Int32, cluster: _Int32, survivors: _Int32, k: int) -> tuple[_Int32, _Int32]: ...

class ColumnCuts:
    def __init__(self) -> None: ...

def forget_changed_cuts(
    cuts: ColumnCuts,
    matrix: Matrix,
    lost_rows: _Int32,
    cluster: _Int32,
    coordinates: _Float64,
    lost_centers: _Int32,
    kept_centers: _Int32,
) -> None: ...
def fewest_mistakes(
    encoded: Encoded,
    matrix: Matrix,
    rows: _Int32,
    cluster: _Int32,
    weights: _Int64 | None,
    uncounted: _Int32,
    histogram: _Int64 | None,
    totals: _Int64,
    coordinates: _Float64,
    survivors: _Int32,
    known: ColumnCuts,
    n_jobs: int,
) -> tuple[int, _Int32, _Float64]: ...
def cheapest_tied_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: _Int32,
    costs: _Costs,
    totals: _Int64,
    most_costs: _Costs,
    coordinates: _Float64,
    survivors: _Int32,
    features: _Int32,
    thresholds: _Float64,
) -> int: ...
def best_surrogate_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: _Int32,
    costs: _Costs,
    histogram: _Int64 | None,
    totals: _Int64,
    silent: _Flags | None,
    n_jobs: int,
) -> tuple[int, float, int, float, int, int] | None: ...
def best_disagreement_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: _Int32,
    labels: _Int32,
    weights: _Int64 | None,
    histogram: _Int64 | None,
    totals: _Int64,
    gini: bool,
    n_jobs: int,
) -> tuple[int, float, int, float, int, int] | None: ...
def best_induced_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: _Int32,
    excess: _Costs,
    states: _States,
    weights: _Int64 | None,
    histogram: _Int64 | None,
    totals: _Int64,
    held: _Int64,
    coordinates: _Float64,
    survivors: _Int32,
    penalty: float,
    kills_left: _Flags,
    kills_right: _Flags,
    n_jobs: int,
) -> tuple[float, int, int, float] | None: ...
def hold_by_nearest(
    encoded: Encoded,
    packed: PackedCodes | None,
    excess: _Costs,
    base: _Costs,
    weights: _Int64 | None,
    rows: Sequence[_Int32],
    survivors: Sequence[_Int32],
    states: _States,
    histogram: _Int64 | None,
    totals: _Int64,
    held: _Int64,
    n_jobs: int,
) -> None: ...
def partition(
    encoded: Encoded, matrix: Matrix, rows: _Int32, feature: int, threshold: float
) -> tuple[int, float, float]: ...
def partition_interval(
    matrix: Matrix, rows: _Int32, feature: int, lower: float, upper: float
) -> tuple[int, float, float, float, float]: ...

class Ranks:
    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...

def rank_columns(matrix: Matrix, n_jobs: int) -> Ranks: ...
def best_surrogate_interval(
    ranks: Ranks,
    rows: _Int32,
    weights: _Int64 | None,
    costs: _Costs,
    totals: _Int64,
    limit: int,
    n_jobs: int,
) -> tuple[int, float, int, float, float, int, int] | None: ...
def best_disagreement_interval(
    ranks: Ranks,
    rows: _Int32,
    weights: _Int64 | None,
    labels: _Int32,
    totals: _Int64,
    gini: bool,
    limit: int,
    second_limit: float,
    n_jobs: int,
) -> tuple[int, float, int, float, float, int, int] | None: ...

class FeatureTable:
    @property
    def n_rows(self) -> int: ...
    @property
    def n_clusters(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    def values(self, column: int) -> _Float64: ...
    def is_exact(self, column: int) -> bool: ...
    def add_features(self, column: int, values: _Float64) -> None: ...
    def drop_features(self, column: int) -> None: ...

def feature_table(ranks: Ranks, labels: _Int32, weights: _Int64 | None, k: int, n_jobs: int) -> FeatureTable: ...
def fewest_feature_mistakes(
    table: FeatureTable,
    rows: _Int32,
    cluster: _Int32,
    weights: _Int64 | None,
    survivors: _Int32,
    costs: _Costs | None,
    one_sided: bool,
    any_level: bool,
    n_jobs: int,
) -> tuple[int, int, int, int, float, float, _Int32] | None: ...
def lloyd(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    weights: npt.NDArray[np.int64] | None,
    objective: str,
    max_iter: int,
    tolerance: float,
    n_jobs: int,
) -> tuple[npt.NDArray[np.float64], int]: ...
def plusplus(
    matrix: Matrix, weights: npt.NDArray[np.int64] | None, uniforms: npt.NDArray[np.float64], objective: str
) -> npt.NDArray[np.int64]: ...
def best_means_cut(
    columns: Matrix, rows: Matrix, weights: npt.NDArray[np.int64] | None, n_jobs: int
) -> tuple[int, float, float]: ...
def best_medians_cut(
    columns: Matrix, rows: Matrix, weights: npt.NDArray[np.int64] | None, n_jobs: int
) -> tuple[int, float, float]: ...
