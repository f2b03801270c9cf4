"""Reports of every size, made once."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs

import cutwise
from cutwise import ExplainableKMeans
from cutwise.exceptions import CutwiseWarning

EVIL = "<script>alert(1)</script>"
NASTY = [
    EVIL,
    '"><img src=x onerror=alert(2)>',
    "'; alert(3); '",
    "{{ 7 * 7 }}",
    "</style><script>alert(4)</script>",
    "javascript:alert(5)",
    "&lt;b&gt; & <!--",
    "]]> \\u2028 \u2028 `x`",
]
LONG = "average monthly transaction volume of customer segment number {} (thousand $, seasonally adjusted)"


def table_of(k, names, n_rows=None, seed=0):
    rows, _ = make_blobs(n_rows or 30 * k + 60, len(names), centers=k, random_state=seed, cluster_std=4.0)
    return pd.DataFrame(rows.round(3), columns=names)


@cache
def made(k, *, long=False, n_columns=30, extra=0, algorithm="exshallow"):
    """A fitted model, its table and the report."""
    names = [(LONG if long else "column_{}").format(i) for i in range(n_columns)]
    table = table_of(k, names)
    model = ExplainableKMeans(k, max_leaves=k + extra, algorithm=algorithm, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutwiseWarning)  # further leaves may take a cluster's last rows
        model.fit(table)
    return model, table, cutwise.report(model, table, source="table.csv")


@cache
def nasty():
    """A report in which every name tries to be more than a name."""
    table = table_of(4, NASTY)
    labels = np.array(["<b>bold</b>", EVIL, 'x" onclick="alert(6)', "plain"])[
        ExplainableKMeans(4, n_init=1, random_state=0).fit_predict(table)
    ]
    model = cutwise.ClusterExplainer().fit(table, labels)
    model.name_clusters({"plain": "</title><script>alert(7)</script>"})
    return (
        model,
        table,
        cutwise.report(model, table, title=EVIL, source='"><script>alert(8)</script>', reproduce=[EVIL]),
    )
