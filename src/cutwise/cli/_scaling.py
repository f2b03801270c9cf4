"""How columns of different units are made comparable before clustering."""

from __future__ import annotations

from typing import Any

from cutwise.table import check_option

__all__ = ["SCALES", "scaler_of"]

# Option -> what it does, in the words of the screen.
SCALES = {
    "standard": "every column to mean 0 and standard deviation 1",
    "minmax": "every column to the range from 0 to 1",
    "robust": "every column to median 0 and interquartile range 1",
    "none": "columns as they are",
}


def scaler_of(scale: str) -> Any:
    """The scikit-learn transformer of an option of ``--scale``, or None for ``"none"``.

    Raises
    ------
    UnknownOptionError
        No such option.
    """
    check_option("--scale", scale, tuple(SCALES))
    if scale == "none":
        return None
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}[scale]
    return scaler()
