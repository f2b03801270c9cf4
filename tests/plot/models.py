"""Fitted models of every size that a picture must be readable for."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

from cutwise import ExplainableKMeans

LONG = "average monthly transaction volume of customer segment number {} (thousand $, seasonally adjusted)"


@cache
def model_and_rows(k, *, algorithm="exshallow", extra=0, n_columns=5, name="x_{}"):
    """A model of k clusters, and its table."""
    rows, _ = make_blobs(60 * k + 40, n_columns, centers=k, random_state=k, cluster_std=1.6)
    table = pd.DataFrame(rows.round(3), columns=[name.format(i) for i in range(n_columns)])
    model = ExplainableKMeans(k, algorithm=algorithm, max_leaves=k + extra, n_init=1, random_state=0)
    return model.fit(table), table


def chain(k):
    """A tree as deep as it can be: clusters on a line, parted one by one."""
    centers = (2.0 ** np.arange(k))[:, None]
    table = pd.DataFrame({"a rather long name of the only column": np.repeat(centers[:, 0], 3)})
    return ExplainableKMeans(k, algorithm="imm", reference=centers).fit(table), table
