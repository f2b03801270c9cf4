"""Seeded look-alikes of the four large tables of the ExShallow paper, the real sample of one, and clusters far apart.

The originals cannot be shipped and must not be needed to run a benchmark, so each generator imitates what decides
running time: the number of rows and columns, how many distinct values a column has, how strongly columns depend on each
other (that decides how many distinct rows there are and how deep trees get), and which columns are one-hot. All arrays
are C-contiguous float32, the type in which such tables are usually clustered.

===========  ==============  ===  =================================================================================
shape        size            k    what it imitates
===========  ==============  ===  =================================================================================
covtype      581,012 x 54    7    forest cover: 10 whole-number columns, 4 + 40 one-hot columns
poker        1,025,010 x 10  10   five cards: suits 1-4 and ranks 1-13 in turn
beer         1,514,999 x 5   104  beer ratings in half stars, strongly correlated: about 10,000 distinct rows
beer-jitter  1,514,999 x 5   104  the same ratings spread evenly over their half star: every row distinct
audiology    1,000,000 x 85  24   22 categorical columns as one-hot groups
apart        500,000 x 10    20   clusters far apart, so that many cuts separate no row from its center
covtype-93k  92,962 x 54     7    real: 16 % of the forest cover table, when its file is present
===========  ==============  ===  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["SHAPES", "Shape", "make_shape", "real_data_file"]

# The folder beside the project that holds real data, where there is one; see tests for the same rule.
_DATA_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Shape:
    """One table of the benchmark.

    Attributes
    ----------
    name : str
        What ``--shapes`` calls it.
    n_rows : int
        Rows at scale 1.
    n_columns : int
        Columns.
    n_clusters : int
        k of the clustering.
    generate : callable
        ``generate(rng, n_rows)`` returns the table, float32 of shape ``(n_rows, n_columns)``.
    seed : int
        Seed of the generator; fixed, so that the same scale gives the same bytes on every machine.
    """

    name: str
    n_rows: int
    n_columns: int
    n_clusters: int
    generate: Callable[[np.random.Generator, int], np.ndarray]
    seed: int


# -------------------------------------------------------------------------------------------------------------- covtype

# Quantiles of the real columns' distributions at the levels below: published facts of the forest cover table, rounded.
_LEVELS = np.array([0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0])
_ELEVATION = np.array([1860, 2120, 2400, 2580, 2810, 2995, 3160, 3270, 3335, 3440, 3858])
_SLOPE = np.array([0, 2, 4, 5, 9, 13, 18, 24, 28, 35, 62])
_TO_WATER = np.array([0, 0, 15, 30, 108, 218, 384, 564, 684, 940, 1395])
_TO_ROAD = np.array([0, 150, 380, 590, 1105, 2000, 3330, 4790, 5475, 6110, 7115])
_TO_FIRE = np.array([0, 180, 420, 600, 1025, 1710, 2560, 3770, 4980, 6275, 7170])
_ASPECT = np.array([0, 1, 12, 24, 59, 127, 260, 329, 344, 356, 360])
# Rank correlations of elevation, slope, and the three distances.
_CORRELATION = np.array(
    [
        [1.00, -0.24, 0.31, 0.37, 0.15],
        [-0.24, 1.00, -0.01, -0.22, -0.18],
        [0.31, -0.01, 1.00, 0.07, 0.05],
        [0.37, -0.22, 0.07, 1.00, 0.34],
        [0.15, -0.18, 0.05, 0.34, 1.00],
    ]
)
# Share of each of the 40 soil types and the elevation, in meters, where it is at home.
_SOIL = np.array(
    [
        [0.0056, 2171], [0.0133, 2499], [0.0081, 2397], [0.0209, 2613], [0.0026, 2162], [0.0115, 2395], [0.0002, 2912],
        [0.0003, 2912], [0.0021, 2575], [0.0559, 2468], [0.0220, 2702], [0.0524, 2820], [0.0299, 2889], [0.0010, 2234],
        [1e-05, 2600], [0.0048, 2724], [0.0057, 2561], [0.0033, 2563], [0.0064, 3065], [0.0166, 2863], [0.0015, 3095],
        [0.0572, 3139], [0.1014, 3063], [0.0367, 3038], [0.0007, 3239], [0.0044, 2885], [0.0018, 3194], [0.0017, 2759],
        [0.1979, 3000], [0.0520, 2923], [0.0430, 3053], [0.0898, 3108], [0.0777, 3027], [0.0026, 3022], [0.0031, 3364],
        [0.0002, 3373], [0.0005, 3395], [0.0266, 3325], [0.0228, 3307], [0.0156, 3442],
    ]
)  # fmt: skip
# The same for the four wilderness areas.
_WILDERNESS = np.array([[0.4499, 2998], [0.0515, 3246], [0.4349, 2980], [0.0637, 2293]])


def _normal_ranks(rng: np.random.Generator, n_rows: int, correlation: np.ndarray) -> np.ndarray:
    """Ranks in (0, 1), a row and column each, whose normal scores have the given correlation (a Gaussian copula)."""
    from scipy.special import ndtr

    normal = rng.standard_normal((n_rows, len(correlation))) @ np.linalg.cholesky(correlation).T
    return np.asarray(ndtr(normal))


def _choose_near(rng: np.random.Generator, elevation: np.ndarray, table: np.ndarray, spread: float) -> np.ndarray:
    """Draw a category a row, likelier the nearer its home is to the row's elevation; ``table`` holds (share, home)."""
    share, home = table.T
    steps = np.arange(elevation.min(), elevation.max() + 20.0, 20.0)
    weight = share * np.exp(-0.5 * ((steps[:, None] - home) / spread) ** 2)
    # Drawn level by level of elevation: an n x 40 table of probabilities would be the largest array of the benchmark.
    level = np.searchsorted(steps, elevation, side="right") - 1
    cumulative = np.cumsum(weight, axis=1)
    draw = rng.random(len(elevation)) * cumulative[level, -1]
    chosen = np.empty(len(elevation), dtype=np.intp)
    for at in range(len(steps)):
        rows = np.flatnonzero(level == at)
        chosen[rows] = np.searchsorted(cumulative[at], draw[rows], side="right")
    return np.minimum(chosen, len(share) - 1)


def _hillshade(slope: np.ndarray, aspect: np.ndarray, *, azimuth: float, zenith: float) -> np.ndarray:
    """Shade index, 0..254, of a slope facing ``aspect`` under a sun at ``azimuth`` and ``zenith``, all in degrees."""
    slope, aspect, azimuth, zenith = (np.deg2rad(angle) for angle in (slope, aspect, azimuth, zenith))
    light = np.cos(zenith) * np.cos(slope) + np.sin(zenith) * np.sin(slope) * np.cos(azimuth - aspect)
    return np.clip(254.0 * light, 0.0, 254.0)


def covtype(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Forest cover: lie of the land, distances and shades, then 4 wilderness areas and 40 soil types, one-hot."""
    ranks = _normal_ranks(rng, n_rows, _CORRELATION)
    elevation = np.interp(ranks[:, 0], _LEVELS, _ELEVATION)
    slope = np.interp(ranks[:, 1], _LEVELS, _SLOPE)
    # Distances to water are measured on a 30 m grid, which leaves a few hundred distinct values.
    to_water = 30.0 * np.sqrt(np.rint((np.interp(ranks[:, 2], _LEVELS, _TO_WATER) / 30.0) ** 2))
    aspect = np.interp(rng.random(n_rows), _LEVELS, _ASPECT)
    table = np.zeros((n_rows, 54), dtype=np.float32)
    table[:, 0] = elevation
    table[:, 1] = aspect
    table[:, 2] = slope
    table[:, 3] = to_water
    # Water lies below: the drop grows with the distance and, at a few places, is negative.
    drop = to_water * 0.17 * rng.standard_exponential(n_rows) + rng.normal(0.0, 14.0, n_rows)
    table[:, 4] = np.clip(drop, -173.0, 601.0)
    table[:, 5] = np.interp(ranks[:, 3], _LEVELS, _TO_ROAD)
    table[:, 6] = _hillshade(slope, aspect, azimuth=110.0, zenith=35.0) + rng.normal(0.0, 3.0, n_rows)
    table[:, 7] = _hillshade(slope, aspect, azimuth=180.0, zenith=25.0) + rng.normal(0.0, 3.0, n_rows)
    table[:, 8] = _hillshade(slope, aspect, azimuth=250.0, zenith=55.0) + rng.normal(0.0, 6.0, n_rows)
    table[:, 6:9].clip(0.0, 254.0, out=table[:, 6:9])
    table[:, 9] = np.interp(ranks[:, 4], _LEVELS, _TO_FIRE)
    np.rint(table[:, :10], out=table[:, :10])
    rows = np.arange(n_rows)
    table[rows, 10 + _choose_near(rng, elevation, _WILDERNESS, 260.0)] = 1.0
    table[rows, 14 + _choose_near(rng, elevation, _SOIL, 200.0)] = 1.0
    return table


# ---------------------------------------------------------------------------------------------------------------- poker


def poker(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Five cards drawn without replacement, as suit (1-4) and rank (1-13) in turn."""
    cards = rng.integers(0, 52, size=(n_rows, 5))
    while True:
        ordered = np.sort(cards, axis=1)
        rows = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(rows):
            break
        cards[rows] = rng.integers(0, 52, size=(len(rows), 5))  # a hand that holds a card twice is dealt again
    table = np.empty((n_rows, 10), dtype=np.float32)
    table[:, 0::2] = cards // 13 + 1
    table[:, 1::2] = cards % 13 + 1
    return table


# ----------------------------------------------------------------------------------------------------------------- beer

# Overall, aroma, appearance, palate, taste: mean, standard deviation and correlation of beer ratings in stars.
_RATING_MEAN = np.array([3.82, 3.74, 3.84, 3.74, 3.79])
_RATING_DEVIATION = np.array([0.75, 0.73, 0.66, 0.71, 0.76])
_RATING_CORRELATION = np.array(
    [
        [1.00, 0.62, 0.50, 0.70, 0.79],
        [0.62, 1.00, 0.56, 0.62, 0.72],
        [0.50, 0.56, 1.00, 0.57, 0.55],
        [0.70, 0.62, 0.57, 1.00, 0.73],
        [0.79, 0.72, 0.55, 0.73, 1.00],
    ]
)


def beer(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Ratings from 1 to 5 in steps of a half: correlated, rather good, about 10,000 distinct rows among 1.5 million."""
    score = rng.standard_normal((n_rows, 5)) @ np.linalg.cholesky(_RATING_CORRELATION).T
    stars = _RATING_MEAN + _RATING_DEVIATION * score
    return np.clip(np.rint(2.0 * stars) / 2.0, 1.0, 5.0).astype(np.float32)


def beer_jitter(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """The ratings of :func:`beer`, each spread evenly over its half star: as correlated, but no two rows are equal."""
    ratings = beer(rng, n_rows)
    ratings += rng.uniform(-0.25, 0.25, size=ratings.shape).astype(np.float32)
    return ratings


# ------------------------------------------------------------------------------------------------------------ audiology

# Number of categories of the 22 columns; they add up to 85 one-hot columns.
_CATEGORIES = (2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 6, 7, 7)
_N_CONDITIONS = 24


def audiology(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Findings of hearing tests: 22 categorical columns as one-hot groups, skewed, dependent through 24 conditions."""
    table = np.zeros((n_rows, sum(_CATEGORIES)), dtype=np.float32)
    condition_share = rng.dirichlet(np.full(_N_CONDITIONS, 3.0))
    condition = rng.choice(_N_CONDITIONS, size=n_rows, p=condition_share)
    rows = np.arange(n_rows)
    first = 0
    for n_categories in _CATEGORIES:
        # One order of the categories for everybody, so that a finding is common or rare at large ...
        common = 0.6 ** np.arange(n_categories)
        # ... and a concentrated draw a condition, so that what a condition shows is nearly always the same.
        probability = rng.dirichlet(0.5 * common / common.sum() * n_categories, size=_N_CONDITIONS)
        cumulative = np.cumsum(probability, axis=1)
        category = (rng.random(n_rows)[:, None] > cumulative[condition, :-1]).sum(axis=1)
        table[rows, first + category] = 1.0
        first += n_categories
    return table


# ---------------------------------------------------------------------------------------------------------------- apart


def apart(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Round clusters of equal size, about 30 times as far from each other as they are wide."""
    centers = 30.0 * rng.normal(size=(20, 10))
    return (centers[rng.integers(0, 20, n_rows)] + rng.normal(size=(n_rows, 10))).astype(np.float32)


# ------------------------------------------------------------------------------------------------------------- the list


def real_data_file() -> Path:
    """Where the real sample of the forest cover table would lie (it need not exist)."""
    return _DATA_FOLDER / "covtype_93k.npz"


def _covtype_93k(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    with np.load(real_data_file()) as archive:
        table = np.ascontiguousarray(archive["X"], dtype=np.float32)
    if n_rows < len(table):
        table = table[np.sort(rng.choice(len(table), size=n_rows, replace=False))]
    return table


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("covtype", 581_012, 54, 7, covtype, 1),
        Shape("poker", 1_025_010, 10, 10, poker, 2),
        Shape("beer", 1_514_999, 5, 104, beer, 3),
        Shape("beer-jitter", 1_514_999, 5, 104, beer_jitter, 3),
        Shape("audiology", 1_000_000, 85, 24, audiology, 4),
        Shape("apart", 500_000, 10, 20, apart, 6),
        Shape("covtype-93k", 92_962, 54, 7, _covtype_93k, 5),
    )
}


def make_shape(name: str, scale: float = 1.0) -> np.ndarray:
    """Generate a shape.

    Parameters
    ----------
    name : str
        A key of :data:`SHAPES`.
    scale : float
        Share of the rows, in (0, 1].

    Returns
    -------
    table : ndarray of shape (n_rows, n_columns), float32
        The same bytes for the same name and scale.
    """
    shape = SHAPES[name]
    n_rows = max(shape.n_clusters * 20, round(shape.n_rows * scale))
    return shape.generate(np.random.default_rng(shape.seed), n_rows)
