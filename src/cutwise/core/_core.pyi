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
