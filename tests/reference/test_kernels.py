"""Kernels against their formulas, their domains and default parameters, and matrices that are refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from cutwise.exceptions import InvalidInputError, UnknownOptionError
from cutwise.reference import resources
from cutwise.reference.feature_space import check_precomputed, matrix_gram
from cutwise.reference.kernels import KERNELS, check_domain, read_kernel
from cutwise.table.intake import read_table
from tests.each import each

RNG = np.random.default_rng(0)
ROWS = np.abs(RNG.normal(size=(12, 3))) * [1.0, 5.0, 0.2]
ROWS[0] = 0.0  # 0/0 in the kernels of histograms
ROWS[1, 1] = 0.0
OTHERS = np.abs(RNG.normal(size=(5, 3)))
OTHERS[2] = 0.0


def ratio(a, b):
    """a / b with 0/0 = 0."""
    return 0.0 if b == 0 else a / b


GAMMA, DEGREE, COEF0, BETA = 0.7, 3, 0.5, 1.5
DEFINITIONS = {
    "rbf": lambda x, y: np.exp(-GAMMA * ((x - y) ** 2).sum()),
    "laplacian": lambda x, y: np.exp(-GAMMA * np.abs(x - y).sum()),
    "additive_chi2": lambda x, y: sum(ratio(2 * a * b, a + b) for a, b in zip(x, y, strict=True)),
    "chi2": lambda x, y: np.exp(-GAMMA * sum(ratio((a - b) ** 2, a + b) for a, b in zip(x, y, strict=True))),
    "hellinger": lambda x, y: np.sqrt(x * y).sum(),
    "histogram_intersection": lambda x, y: np.minimum(x**BETA, y**BETA).sum(),
    "polynomial": lambda x, y: (GAMMA * x @ y + COEF0) ** DEGREE,
    "linear": lambda x, y: x @ y,
}


def settled(name, values=ROWS, **parameters):
    chosen = {"gamma": GAMMA, "degree": DEGREE, "coef0": COEF0, "beta": BETA, **parameters}
    return read_kernel(name, read_table(values), **chosen)


@pytest.mark.parametrize("name", DEFINITIONS)
@each("kind", ["dense", "float32", "sparse", "read-only"])
def test_every_kernel_is_its_formula(name, kind):
    make = {
        "dense": np.asarray,
        "float32": lambda a: a.astype(np.float32),
        "sparse": sparse.csr_array,
        "read-only": lambda a: np.broadcast_to(a, a.shape),
    }[kind]
    values, others = read_table(make(ROWS)).values, read_table(make(OTHERS)).values
    kernel = settled(name, make(ROWS))
    rows, against = kernel.prepare(values), kernel.prepare(others)
    plain = ROWS.astype(np.float32).astype(float) if kind == "float32" else ROWS
    plain_others = OTHERS.astype(np.float32).astype(float) if kind == "float32" else OTHERS
    shift = 0.0 if kernel.shift is None or name != "linear" else kernel.shift
    expected = [[DEFINITIONS[name](x - shift, y - shift) for y in plain_others] for x in plain]
    assert np.allclose(kernel.between(rows, against), expected, rtol=1e-9, atol=1e-12)
    assert np.allclose(kernel.diagonal(rows), [DEFINITIONS[name](x - shift, x - shift) for x in plain])


def test_every_named_kernel_is_tested():
    assert set(DEFINITIONS) == set(KERNELS) - {"precomputed"}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_blocks_and_threads_change_no_bit(name, monkeypatch):
    kernel = settled(name)
    rows = kernel.prepare(ROWS)
    whole = kernel.between(rows, rows)
    monkeypatch.setattr("cutwise.reference.resources.BLOCK", 30)
    assert np.allclose(kernel.between(rows, rows), whole, rtol=1e-14, atol=1e-14)
    assert np.array_equal(kernel.between(rows, rows), kernel.between(rows, rows, n_jobs=3))


def test_an_offset_common_to_all_rows_takes_no_digits_away():
    near = RNG.normal(size=(20, 2))
    rounded = (near + 1e9) - 1e9  # what float64 keeps of them beside the offset
    for name in ("rbf", "linear"):
        plain, moved = settled(name, rounded), settled(name, rounded + 1e9)
        distances = []
        for kernel, values in ((plain, rounded), (moved, rounded + 1e9)):
            matrix = matrix_gram(kernel, kernel.prepare(values)).matrix
            distances.append(np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix)
        assert np.allclose(*distances, rtol=1e-6, atol=1e-12)


def test_a_callable_of_arrays_and_one_of_two_rows_give_the_same():
    def of_arrays(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    def of_rows(a, b):
        return np.exp(-((a - b) ** 2).sum())

    for d in (1, 2, 3, 4):
        values = RNG.normal(size=(6, d))
        for function, in_blocks in ((of_arrays, True), (of_rows, False), (lambda a, b: a @ b, False)):
            kernel = read_kernel(function, read_table(values))
            assert kernel.in_blocks is in_blocks
            expected = [
                [np.float64(function(x[None], y[None])[0, 0] if in_blocks else function(x, y)) for y in values]
                for x in values
            ]
            assert np.allclose(kernel.between(values, values), expected)
            assert np.allclose(kernel.diagonal(values), np.diag(expected))


def test_callables_that_give_no_kernel_are_refused():
    table = read_table(ROWS)
    with pytest.raises(InvalidInputError, match="failed: ZeroDivisionError"):
        read_kernel(lambda a, b: 1 / 0, table)
    with pytest.raises(InvalidInputError, match=r"shape \(3,\) for two rows"):
        read_kernel(lambda a, b: np.zeros(3), table)
    of_ten = read_kernel(lambda A, B: (A @ B.T)[:10], table)
    with pytest.raises(InvalidInputError, match=r"shape \(10, \d+\) for \d+ and \d+ rows. It must be of shape"):
        matrix_gram(of_ten, ROWS)
    not_symmetric = read_kernel(lambda A, B: A[:, :1] - B[:, 0], table)
    with pytest.raises(InvalidInputError, match="must be symmetric, but entry"):
        matrix_gram(not_symmetric, ROWS)
    infinite = read_kernel(lambda A, B: np.full((len(A), len(B)), np.nan), table)
    with pytest.raises(InvalidInputError, match="The kernel function is nan between rows 0 and 0"):
        matrix_gram(infinite, ROWS)


@pytest.mark.parametrize("name", ["additive_chi2", "chi2", "hellinger", "histogram_intersection"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_negative_value_is_refused_by_column_and_first_row(name, make):
    values = ROWS.copy()
    values[[7, 4], 2] = -0.25
    with pytest.raises(InvalidInputError, match=r"column 2 of X holds -0\.25 in row 4"):
        read_kernel(name, read_table(make(values)))
    for any_values in ("rbf", "laplacian", "linear", "polynomial"):
        table = read_table(make(values))
        check_domain(any_values, table.values, table.columns)


def test_unknown_names_and_parameters_out_of_range_are_refused():
    table = read_table(ROWS)
    with pytest.raises(UnknownOptionError, match="Did you mean 'laplacian'"):
        read_kernel("laplacien", table)
    for wrong in ({"gamma": 0}, {"gamma": -1.0}, {"degree": 0}, {"degree": 2.5}, {"coef0": -1}, {"beta": 0.0}):
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            read_kernel("polynomial", table, **wrong)


def test_the_default_gamma_follows_the_spread_and_not_the_place_of_the_rows():
    table = read_table(ROWS)
    variance, deviation = ROWS.var(axis=0), ROWS.std(axis=0)
    assert read_kernel("rbf", table).constants.gamma == pytest.approx(1 / variance.sum())
    assert read_kernel("laplacian", table).constants.gamma == pytest.approx(1 / deviation.sum())
    assert read_kernel("chi2", table).constants.gamma == pytest.approx(1 / (variance / ROWS.mean(axis=0)).sum())
    assert read_kernel("rbf", read_table(ROWS + [0, 50, 900])).constants.gamma == pytest.approx(1 / variance.sum())
    assert read_kernel("rbf", read_table(sparse.csr_array(ROWS))).constants.gamma == pytest.approx(1 / variance.sum())
    weights = np.arange(12.0)
    repeated = np.repeat(ROWS, np.arange(12), axis=0)
    assert read_kernel("rbf", table, weights).constants.gamma == pytest.approx(1 / repeated.var(axis=0).sum())
    assert read_kernel("rbf", read_table(np.ones((4, 2)))).constants.gamma == 1.0


def test_a_matrix_that_would_not_fit_is_refused_with_its_size_and_the_way_out(monkeypatch):
    kernel = settled("rbf")
    monkeypatch.setattr(resources, "available_memory", lambda: 1000)
    with pytest.raises(InvalidInputError, match=r'1\.1 KiB of memory, and 1,000 bytes .*\n.*"nystroem"'):
        matrix_gram(kernel, kernel.prepare(ROWS))
    monkeypatch.setattr(resources, "available_memory", lambda: 2000)
    assert matrix_gram(kernel, kernel.prepare(ROWS)).matrix.shape == (12, 12)


def test_the_memory_that_is_available_is_known_here():
    assert 2**20 < resources.available_memory() < 2**60
    assert [resources.in_words(n) for n in (10, 2**31, 10**15)] == ["10 bytes", "2.0 GiB", "909 TiB"]


def test_matrices_that_are_no_kernel_matrices_are_refused():
    with pytest.raises(InvalidInputError, match=r"square, but its shape is \(3, 4\)"):
        check_precomputed(np.ones((3, 4)))
    matrix = np.eye(4)
    matrix[1, 3] = 0.5
    with pytest.raises(InvalidInputError, match=r"entry \[1, 3\] is 0.5 and entry \[3, 1\] is 0"):
        check_precomputed(matrix)
    rounded = np.eye(4)
    rounded[0, 1] = 1e-12
    assert check_precomputed(rounded) is rounded
    assert np.array_equal(check_precomputed(sparse.csr_array(np.eye(3))), np.eye(3))
    single = np.eye(4, dtype=np.float32)
    single[0, 1] = 1e-7
    assert check_precomputed(single).dtype == np.float64
    single[0, 1] = 1e-3
    with pytest.raises(InvalidInputError, match="symmetric"):
        check_precomputed(single)
    with pytest.raises(InvalidInputError, match="symmetric"):
        check_precomputed(np.arange(9).reshape(3, 3))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_far_row_takes_no_digits_from_the_distances_of_the_others(kernel):
    far = np.vstack([ROWS, np.full(ROWS.shape[1], 1e13)])
    own, beside = (read_kernel(kernel, read_table(X), gamma=GAMMA, degree=2, coef0=1, beta=1) for X in (ROWS, far))
    distances = []
    for of, X in ((own, ROWS), (beside, far)):
        rows = of.prepare(X)[: len(ROWS)]
        K, diagonal = of.between(rows, rows), of.diagonal(rows)
        distances.append(diagonal[:, None] + diagonal - 2 * K)
    np.testing.assert_allclose(distances[1], distances[0], atol=1e-12 * distances[0].max())


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "chi2"])
def test_columns_whose_spread_is_beyond_float64_get_no_gamma_and_one_error(kernel):
    table = read_table(np.array([[0.0], [1.0], [2.0]]) * 1e300)
    with pytest.raises(InvalidInputError, match="beyond float64"):
        read_kernel(kernel, table, gamma=None, degree=2, coef0=1, beta=1)


def test_a_function_of_two_rows_may_give_an_array_of_one_number():
    kernel = read_kernel(lambda a, b: rbf_kernel([a], [b], gamma=GAMMA), read_table(ROWS))
    np.testing.assert_allclose(kernel.between(ROWS, OTHERS), settled("rbf").between(ROWS, OTHERS))
    np.testing.assert_allclose(kernel.diagonal(ROWS), 1.0)


def test_a_function_that_gives_nothing_is_said_to():
    kernel = read_kernel(lambda a, b: None, read_table(ROWS))
    with pytest.raises(InvalidInputError, match="The kernel function is nan between rows 0 and 0"):
        kernel.between(ROWS, OTHERS)
