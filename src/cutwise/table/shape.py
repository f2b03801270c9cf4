"""The number of dimensions, rows and columns, refused in scikit-learn's words."""

from __future__ import annotations

from cutwise.exceptions import InvalidInputError

__all__ = ["RESHAPE_HINT", "check_shape"]

RESHAPE_HINT = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
    "or array.reshape(1, -1) if it contains a single sample."
)

# The core numbers columns by 32-bit integers.
_MOST_COLUMNS = 2**31 - 1


def check_shape(shape: tuple[int, ...], *, what: str = "X") -> None:
    """Raises ``InvalidInputError`` unless the shape is (at least one row, at least one column)."""
    if len(shape) == 0:
        raise InvalidInputError(
            f"Expected 2D array, got scalar array instead: {what} is a single value.\n{RESHAPE_HINT}"
        )
    if len(shape) == 1:
        raise InvalidInputError(f"Expected 2D array, got 1D array instead: {what} has shape {shape}.\n{RESHAPE_HINT}")
    if len(shape) > 2:
        raise InvalidInputError(
            f"Found array with dim {len(shape)}, while dim <= 2 is required: {what} has shape {shape}. "
            "Give one row a sample and one column a feature."
        )
    if shape[0] == 0:
        raise InvalidInputError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required. {what} has no rows."
        )
    if shape[1] > _MOST_COLUMNS:
        raise InvalidInputError(
            f"{what} has {shape[1]} columns, more than the {_MOST_COLUMNS} that can be told apart. Drop empty columns."
        )
    if shape[1] == 0:
        raise InvalidInputError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required. {what} has no columns."
        )
