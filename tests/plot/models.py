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


@cache
def people():
    """Rows with a column of every kind, and a model whose tree asks about most of them."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    levels = ["primary", "secondary", "bachelor", "master"]
    income = np.where(rng.random(300) < 0.1, np.nan, (np.array([14.0, 52, 28])[kind] + rng.normal(0, 4, 300)).round(1))
    table = {
        "income": income,
        "region": np.array(["north", "east", "south", "west"])[(kind + rng.integers(0, 2, 300)) % 4],
    }
    table["owns_home"] = rng.random(300) < np.array([0, 0.8, 0.6])[kind]
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, 300) + 300 * kind, unit="D")
    school = np.array(levels)[np.clip(kind + rng.integers(0, 2, 300), 0, 3)]
    table["school"] = pd.Categorical(school, categories=levels, ordered=True)
    table["visit"] = pd.to_timedelta(rng.integers(10, 200, 300) + 60 * kind, unit="min")
    table["children"] = rng.integers(0, 5, 300)
    frame = pd.DataFrame(table)
    return ExplainableKMeans(5, max_leaves=10, random_state=0).fit(frame), frame
