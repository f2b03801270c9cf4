"""Sparse matrices whose arrays do not fit together: name of the damage -> the format, and what does the damage."""

import numpy as np
from scipy import sparse

__all__ = ["DAMAGED", "damaged_matrix"]


def _set(name, at, value):
    def damage(X):
        getattr(X, name)[at] = value

    return damage


def _replace(name, change):
    return lambda X: setattr(X, name, change(getattr(X, name)))


def _coordinates(axis, at, value):
    def damage(X):
        (X.row if axis == 0 else X.col)[at] = value

    return damage


_COMPRESSED = {
    "an index far beyond": _set("indices", 3, 10**6),
    "a negative index": _set("indices", 3, -5),
    "an indptr that falls": _set("indptr", 1, 10**6),
    "an indptr that ends far beyond": _set("indptr", -1, 10**7),
    "a negative indptr": _set("indptr", 1, -40),
    "an indptr that starts late": _set("indptr", 0, 4),
    "too few indices": _replace("indices", lambda x: x[:-3]),
    "too few values": _replace("data", lambda x: x[:-3]),
    "too short an indptr": _replace("indptr", lambda x: x[:-2]),
    "values in another dimension": _replace("data", lambda x: x[None]),
}
_LISTED = {
    "a row far beyond": _coordinates(0, 3, 10**7),
    "a negative row": _coordinates(0, 3, -(10**6)),
    "a column far beyond": _coordinates(1, 3, 10**7),
    "too few values": _replace("data", lambda x: x[:-3]),
    "too many values": _replace("data", lambda x: np.tile(x, 2)),
}
DAMAGED = {
    **{f"{kind}: {name}": (kind, by) for kind in ("csr", "csc", "bsr") for name, by in _COMPRESSED.items()},
    **{f"coo: {name}": ("coo", by) for name, by in _LISTED.items()},
    "dia: too few diagonals": ("dia", _replace("data", lambda x: x[:-1])),
    "lil: an index far beyond": ("lil", _set("rows", 0, [10**6])),
    "lil: more indices than values": ("lil", _set("data", 0, [])),
}


def damaged_matrix(name):
    kind, damage = DAMAGED[name]
    dense = np.where(np.random.default_rng(0).random((40, 6)) < 0.4, 1.5, 0.0)
    dense[0, :2] = 1.0
    X = sparse.bsr_array(dense, blocksize=(2, 3)) if kind == "bsr" else sparse.coo_array(dense).asformat(kind)
    damage(X)
    return X


if __name__ == "__main__":
    from cutwise.exceptions import InvalidInputError
    from cutwise.table.intake import read_table

    for name in DAMAGED:
        try:
            read_table(damaged_matrix(name))
        except InvalidInputError as error:
            print(f"{name}: {error}", flush=True)
