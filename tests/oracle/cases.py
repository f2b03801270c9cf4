"""Random small problems with what makes a search fail: ties, duplicates, constants, one-hot columns, odd scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Case:
    """Rows, given centers, and whether fixed point holds every cost exactly (then ties are checked too)."""

    name: str
    values: np.ndarray
    centers: np.ndarray
    exact: bool
    weights: np.ndarray | None = None

    def __repr__(self) -> str:
        return self.name


def _means(rng: np.random.Generator, values: np.ndarray, k: int) -> np.ndarray:
    """Means of a random partition into k parts, none of them empty."""
    n = len(values)
    parts = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    rng.shuffle(parts)
    wide = values.astype(np.float64)
    return np.array([wide[parts == j].mean(axis=0) for j in range(k)])


def _shape(rng: np.random.Generator) -> tuple[int, int, int]:
    return int(rng.integers(8, 31)), int(rng.integers(1, 5)), int(rng.integers(2, 6))


def integer_grid(rng: np.random.Generator) -> Case:
    """Small integers and integer centers: many equal values, many exact ties."""
    n, d, k = _shape(rng)
    top = int(rng.integers(2, 8))
    values = rng.integers(0, top, (n, d)).astype([np.int64, np.float64, np.float32][rng.integers(3)])
    return Case("integer grid", values, rng.integers(0, top, (k, d)).astype(float), True)


def half_grid(rng: np.random.Generator) -> Case:
    """Integer rows, centers at halves: gaps with centers inside."""
    n, d, k = _shape(rng)
    values = rng.integers(-4, 5, (n, d)).astype(float)
    return Case("half grid", values, rng.integers(-8, 9, (k, d)) / 2, True)


def centers_are_rows(rng: np.random.Generator) -> Case:
    """Every center is a row: a center moves with the value it equals."""
    n, d, k = _shape(rng)
    values = rng.integers(0, 6, (n, d)).astype(float)
    return Case("centers are rows", values, values[rng.choice(n, k, replace=False)].copy(), True)


def equal_coordinates(rng: np.random.Generator) -> Case:
    """Centers share coordinates in most columns, sometimes in all of them."""
    n, d, k = _shape(rng)
    centers = rng.integers(0, 2, (k, d)) * 3.0
    return Case("equal center coordinates", rng.integers(0, 5, (n, d)).astype(float), centers, True)


def duplicates(rng: np.random.Generator) -> Case:
    """Few distinct rows, many times each."""
    _, d, k = _shape(rng)
    distinct = rng.integers(0, 9, (k + 2, d)).astype(float)
    values = distinct[rng.integers(0, len(distinct), 40)]
    return Case("duplicates", values, distinct[rng.choice(len(distinct), k, replace=False)] + 0.5, True)


def constant_columns(rng: np.random.Generator) -> Case:
    """Columns without any variation, in the rows or in the centers too."""
    n, d, k = _shape(rng)
    values = rng.integers(0, 6, (n, d + 2)).astype(float)
    values[:, 0] = 7.0
    values[:, -1] = -0.0
    centers = rng.integers(0, 6, (k, d + 2)).astype(float)
    centers[:, -1] = 0.0
    return Case("constant columns", values, centers, True)


def one_hot(rng: np.random.Generator) -> Case:
    """A one-hot block and a number: several centers inside the one gap of each indicator."""
    n, _, k = _shape(rng)
    levels = int(rng.integers(3, 7))
    block = np.eye(levels)[rng.integers(0, levels, n)]
    values = np.column_stack([block, rng.integers(0, 4, n)])
    centers = np.column_stack([rng.integers(0, 9, (k, levels)) / 8, rng.integers(0, 7, k) / 2])
    return Case("one-hot", values.astype([np.float64, np.float32][rng.integers(2)]), centers, True)


def boolean(rng: np.random.Generator) -> Case:
    """Indicators by type."""
    n, d, k = _shape(rng)
    values = rng.random((n, d + 2)) < 0.4
    return Case("boolean", values, rng.integers(0, 5, (k, d + 2)) / 4, True)


def outside(rng: np.random.Generator) -> Case:
    """Centers beyond the range of the rows: cuts with no row on one side."""
    n, d, k = _shape(rng)
    values = rng.integers(0, 6, (n, d)).astype(float)
    return Case("centers outside", values, rng.integers(-9, 15, (k, d)).astype(float), True)


def weighted(rng: np.random.Generator) -> Case:
    """Integer weights, some of them zero."""
    n, d, k = _shape(rng)
    weights = rng.integers(0, 5, n).astype(float)
    weights[: k + 1] += 1
    return Case(
        "integer weights", rng.integers(0, 6, (n, d)).astype(float), rng.integers(0, 6, (k, d)) + 0.5, True, weights
    )


def grid_means(rng: np.random.Generator) -> Case:
    """Small integers and means of a random partition: costs that fixed point rounds."""
    n, d, k = _shape(rng)
    values = rng.integers(0, 6, (n, d))
    return Case("grid means", values, _means(rng, values, k), False)


def continuous(rng: np.random.Generator) -> Case:
    n, d, k = _shape(rng)
    values = rng.normal(size=(n, d))
    return Case("continuous", values, _means(rng, values, k), False)


def float32(rng: np.random.Generator) -> Case:
    n, d, k = _shape(rng)
    values = rng.normal(size=(n, d)).astype(np.float32)
    return Case("float32", values, _means(rng, values, k), False)


def large(rng: np.random.Generator) -> Case:
    """Near 1e8 with a spread of about one."""
    n, d, k = _shape(rng)
    values = 1e8 + rng.normal(size=(n, d)).round(int(rng.integers(0, 7)))
    return Case("near 1e8", values, _means(rng, values, k), False)


def tiny(rng: np.random.Generator) -> Case:
    """Near 1e-9."""
    n, d, k = _shape(rng)
    values = rng.normal(size=(n, d)) * 1e-9
    return Case("near 1e-9", values, _means(rng, values, k), False)


def uneven_scales(rng: np.random.Generator) -> Case:
    """Columns whose scales differ by many orders."""
    n, d, k = _shape(rng)
    values = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5, d)
    return Case("uneven scales", values, _means(rng, values, k), False)


def fractional_weights(rng: np.random.Generator) -> Case:
    n, d, k = _shape(rng)
    values = rng.normal(size=(n, d)).round(1)
    return Case("fractional weights", values, _means(rng, values, k), False, rng.integers(1, 64, n) / 16)


def a_center_a_row(rng: np.random.Generator) -> Case:
    """k = n: every row is a center of its own."""
    d = int(rng.integers(1, 4))
    values = np.unique(rng.integers(0, 9, (7, d)), axis=0).astype(float)
    return Case("k = n", values, values[rng.permutation(len(values))].copy(), True)


def one_cluster(rng: np.random.Generator) -> Case:
    n, d, _ = _shape(rng)
    values = rng.integers(0, 6, (n, d)).astype(float)
    return Case("k = 1", values, rng.integers(0, 6, (1, d)).astype(float), True)


def patterned_centers(rng: np.random.Generator) -> Case:
    """Unit vectors, a chain or few-valued rows, each a center: nearly every cut ties, at nearly every node."""
    k = int(rng.integers(9, 14))
    spread = [1.0, 2.0, 3.0][rng.integers(3)]
    centers = [
        np.eye(k)[rng.permutation(k)] * spread,
        np.sort(rng.choice(2**k, k, replace=False)).astype(float)[:, None],
        2.0 ** np.arange(k)[rng.permutation(k), None],
        np.column_stack([np.arange(k) % 2, np.arange(k) // 2, np.full(k, 5)]).astype(float),
        (rng.random((k, 5)) < 0.3) * spread,
    ][rng.integers(5)]
    values = np.concatenate([centers, centers[rng.integers(0, k, int(rng.integers(0, 6)))]])
    # Some rows astray make mistakes, and other columns than theirs stay as they were.
    for row in rng.integers(0, len(values), int(rng.integers(0, 3))):
        values[row, rng.integers(values.shape[1])] += 1.0
    return Case("patterned centers", values[rng.permutation(len(values))], centers, True)


def hardly_enough_rows(rng: np.random.Generator) -> Case:
    """As many distinct rows as centers, or one or two more, repeated: most cuts leave a side too few of them."""
    k, d = int(rng.integers(3, 8)), int(rng.integers(1, 5))
    levels = np.eye(d + 1) if rng.random() < 0.3 else rng.integers(0, 5, (40, d)).astype(float)
    distinct = np.unique(levels, axis=0)
    distinct = distinct[rng.permutation(len(distinct))[: k + int(rng.integers(0, 3))]]
    k = min(k, len(distinct))
    values = distinct[np.concatenate([np.arange(len(distinct)), rng.integers(0, len(distinct), 15)])]
    centers = values[rng.choice(len(values), k)] + rng.integers(-2, 3, (k, values.shape[1])) / 4
    return Case("hardly enough rows", values[rng.permutation(len(values))], centers, True)


SMALL = (
    integer_grid,
    half_grid,
    centers_are_rows,
    equal_coordinates,
    duplicates,
    constant_columns,
    one_hot,
    boolean,
    outside,
    weighted,
    grid_means,
    continuous,
    float32,
    large,
    tiny,
    uneven_scales,
    fractional_weights,
    a_center_a_row,
    one_cluster,
    patterned_centers,
    hardly_enough_rows,
)


def small_case(kind: int, seed: int) -> Case:
    """One case of a kind whose rows have at least as many distinct values as there are centers."""
    make = SMALL[kind]
    for attempt in range(1000):
        case = make(np.random.default_rng([kind, seed, attempt]))
        rows = case.values if case.weights is None else case.values[case.weights > 0]
        if len(np.unique(rows.astype(np.float64), axis=0)) >= len(case.centers):
            return case
    raise AssertionError(f"no {make.__name__} case for seed {seed}")


def many_values(seed: int) -> Case:
    """Hundreds of distinct values a column, integers so that float64 sums are exact; coarse bins must be refined."""
    rng = np.random.default_rng([77, seed])
    n, d, k = 700, 3, int(rng.integers(3, 7))
    middles = rng.integers(0, 3000, (k, d))
    values = middles[rng.integers(0, k, n)] + rng.integers(-900, 900, (n, d))
    dtype = [np.int64, np.float64, np.float32][seed % 3]
    return Case("many values", values.astype(dtype), middles.astype(float), True)


def many_values_continuous(seed: int) -> Case:
    rng = np.random.default_rng([78, seed])
    n, d, k = 700, 3, int(rng.integers(3, 7))
    middles = rng.normal(size=(k, d)) * 2
    part = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    values = middles[part] + rng.standard_t(3, size=(n, d))
    centers = np.array([values[part == j].mean(axis=0) for j in range(k)])
    return Case("many values, continuous", values, centers, False)
