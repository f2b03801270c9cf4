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
    matrix: Matrix, centers: npt.NDArray[np.float64], objective: str, n_jobs: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float]: ...
def assign_given(costs: Matrix, n_jobs: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float]: ...
def fixed_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    objective: str,
    scale: float,
    weights: npt.NDArray[np.int64] | None,
    wide: bool,
    n_jobs: int,
) -> tuple[npt.NDArray[np.int32] | npt.NDArray[np.int64], npt.NDArray[np.int64], int]: ...
def fixed_costs_given(
    costs: Matrix, scale: float, weights: npt.NDArray[np.int64] | None, wide: bool, n_jobs: int
) -> tuple[npt.NDArray[np.int32] | npt.NDArray[np.int64], npt.NDArray[np.int64], int]: ...
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
def exact_sum(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None
) -> float: ...
