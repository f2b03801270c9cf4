"""Data of the gallery that scikit-learn does not bundle."""

import os
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml

FILE = "wholesale_customers.csv.gz"


def wholesale_customers() -> pd.DataFrame:
    """440 customers, yearly spending on six kinds of goods."""
    kept = data_folder(FILE)
    table = pd.read_csv(kept / FILE) if kept else fetch_openml("wholesale-customers", version=1, parser="auto").frame
    return table.select_dtypes("number").drop(columns=["Channel", "Region"], errors="ignore")


def data_folder(file: str) -> Path | None:
    """The folder in CUTWISE_DATA, or a data folder beside the checkout, if it has the file."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    for folder in (os.environ.get("CUTWISE_DATA"), beside):
        if folder and (Path(folder) / file).is_file():
            return Path(folder)
    return None
