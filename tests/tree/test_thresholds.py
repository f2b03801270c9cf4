"""Thresholds: the shortest decimal between two neighboring values, exactly."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cutwise.tree.growing import choose_threshold
from tests.each import each

finite = st.floats(allow_nan=False, allow_infinity=False)


def printed(x):
    """The decimal that is printed, as an exact fraction."""
    return Fraction(Decimal(repr(x)))


def n_digits(x):
    """Significant digits of the printed decimal; none for 0."""
    return len(repr(x).lstrip("-").split("e")[0].replace(".", "").strip("0")) if x else 0


def is_integer_of(t, a, b):
    return t == math.floor(t) and a <= t < b


def rank(t, middle):
    return n_digits(t), abs(printed(t) - middle), t


def middle_of(a, b, integer):
    if not integer:
        return (printed(a) + printed(b)) / 2
    first = Fraction(math.ceil(a)) if abs(a) < 2**53 else printed(a)
    last = Fraction(math.ceil(b)) - 1 if abs(b) <= 2**53 else printed(b) - 1
    return (first + last) / 2


def floats_from(a, b, most=500):
    values = [a + 0.0]
    while values[-1] < b and len(values) <= most:
        values.append(math.nextafter(values[-1], b) + 0.0)
    return values[:-1] if values[-1] == b else None


def by_looking_at_every_float(a, b, integer):
    """The definition, where the floats from a to b can be listed."""
    values = floats_from(a, b)
    if integer and math.ceil(a) >= b:
        return float(math.floor(a)) + 0.0
    candidates = [t for t in values if is_integer_of(t, a, b)] if integer else values[1:] or values
    return min(candidates, key=lambda t: rank(t, middle_of(a, b, integer)))


def by_trying_short_decimals(a, b, integer, most_digits=6):
    """The definition, where a decimal of a few digits fits; None where none does."""
    if integer and math.ceil(a) >= b:
        return float(math.floor(a)) + 0.0
    if integer:
        middle, fits = middle_of(a, b, True), lambda t: is_integer_of(t, a, b)
    else:
        middle, fits = middle_of(a, b, False), lambda t: a < t < b
    if fits(0.0):
        return 0.0
    largest = max(abs(printed(a)), abs(printed(b)))
    top = len(str(largest.numerator)) - len(str(largest.denominator)) + 1
    for digits in range(1, most_digits + 1):
        found = set()
        for exponent in range(top, top - 4, -1):  # the nearest to the middle is never further down than that
            unit = Fraction(10) ** (exponent - digits + 1)
            center = math.floor(middle / unit)
            for m in range(center - 12, center + 13):
                if abs(m) < 10**digits:
                    with localcontext(prec=400):
                        found.add(float(Decimal(m).scaleb(exponent - digits + 1)))
        found = {t for t in found if fits(t)}
        if found:
            return min(found, key=lambda t: rank(t, middle))
    return None


@st.composite
def near_floats(draw):
    """Two floats at most a few hundred representable numbers apart."""
    a = draw(finite)
    b = a
    for _ in range(draw(st.integers(1, 300))):
        b = math.nextafter(b, math.inf)
    assume(math.isfinite(b))
    return a, b


@st.composite
def short_decimals(draw):
    exponent = draw(st.integers(-320, 300))
    digits = draw(st.sampled_from([20, 200, 3000]))
    a, b = (draw(st.integers(-digits, digits)) for _ in range(2))
    shift = draw(st.integers(0, 3))
    return tuple(sorted((float(f"{a}e{exponent}"), float(f"{b}e{exponent + shift}"))))


@each(
    "a, b, integer, expected",
    [
        (51873.42, 52310.07, False, 52000.0),
        (35.0, 36.0, True, 35.0),
        (35.0, 36.0, False, 35.5),
        (0.0, 1.0, True, 0.0),
        (0.0, 1.0, False, 0.5),
        (-1.0, 0.0, True, -1.0),
        (-3.0, 4.0, True, 0.0),
        (-1.0, 1.0, False, 0.0),
        (-5.0, -2.0, True, -4.0),  # -5, -4 and -3 are as short, -4 is in the middle
        (0.0, 15.0, False, 7.0),  # 7 and 8 are as short and as near: the smaller
        (-15.0, 0.0, False, -8.0),
        (0.1, 0.4, False, 0.2),  # a tie of the printed decimals, if not of the binary ones
        (0.5, 12.0, False, 6.0),  # 10 is as short, and further from the middle
        (4.2, 4.7, True, 4.0),  # centers may lie between two integers, thresholds do not
        (-4.7, -4.2, True, -5.0),
        (4.2, 5.5, True, 5.0),
        (-0.0, 5e-324, False, 0.0),
        (-5e-324, 0.0, False, -5e-324),
        (5e-324, 1.5e-323, False, 1e-323),
        (1e-320, 2e-320, False, 1.5e-320),
        (1e308, 1.7e308, False, 1.3e308),
        (-1.7976931348623157e308, 1.7976931348623157e308, False, 0.0),
        (5e-324, 1e308, False, 5e307),
        (2.0**53, 2.0**53 + 4, True, 2.0**53 + 2),
        (9e15, 2.0**53, True, 9e15),  # the lower end is an integer, and the shortest one
        (9.0001e15, 2.0**53, True, 9.004e15),  # 9.0001 to 9.0072: the middle is 9.0036
        (1e22, 1e23, True, 5e22),
        (0.1, 0.1 + 2**-56, False, 0.1),
        (1e8, 1e8 + 1, False, 100000000.5),
        # Sixteen digits, as dense as the floats: the nearest to the middle is next to the one the middle rounds to.
        (5.203118539824741e-259, 5.203118539824747e-259, False, 5.203118539824743e-259),
        (6.97624140186935e-105, 6.97624140186936e-105, False, 6.976241401869354e-105),
        (1e-9, 2e-9, False, 1.5e-09),
    ],
)
def test_examples_worked_out_by_hand(a, b, integer, expected):
    t = choose_threshold(a, b, integer)
    assert t == expected
    assert math.copysign(1.0, t) == math.copysign(1.0, expected)


@given(finite, finite, st.booleans())
@example(-0.0, 5e-324, False)
@example(-5e-324, -0.0, True)
@example(-1.7976931348623157e308, 1.7976931348623157e308, True)
def test_the_threshold_parts_the_two_values(x, y, integer):
    assume(x != y)
    a, b = min(x, y), max(x, y)
    t = choose_threshold(a, b, integer)
    assert float(repr(t)) == t
    if integer:  # what is parted are integers: rows; a center between two of these may lie above its threshold
        assert t == math.floor(t)
        assert math.floor(a) <= t < b
        assert a <= t or math.ceil(a) >= b
    else:
        assert a <= t < b
        assert t > a or math.nextafter(a, b) == b


@given(near_floats(), st.booleans())
def test_between_near_floats_it_is_the_best_of_them_all(ends, integer):
    a, b = ends
    assert choose_threshold(a, b, integer) == by_looking_at_every_float(a, b, integer)


@pytest.mark.parametrize("power", [-1074, -1060, -1022, -30, 0, 1, 10, 52, 53, 54, 60, 300, 1023])
def test_around_powers_of_two_it_is_the_best_of_all_floats(power):
    # The floats are twice as far apart above a power of two as below it.
    rng = np.random.default_rng(power + 2000)
    for _ in range(12):
        below, above = rng.integers(0, 25, size=2)
        a = b = math.ldexp(1.0, power)
        for _ in range(below):
            a = math.nextafter(a, -math.inf)
        for _ in range(above + 1):
            b = math.nextafter(b, math.inf)
        for integer in (False, True):
            assert choose_threshold(a, b, integer) == by_looking_at_every_float(a, b, integer)
            assert choose_threshold(-b, -a, integer) == by_looking_at_every_float(-b, -a, integer)


@given(short_decimals(), st.booleans())
def test_no_decimal_is_shorter_and_none_as_short_is_nearer_to_the_middle(ends, integer):
    a, b = ends
    assume(a < b)
    expected = by_trying_short_decimals(a, b, integer)
    assume(expected is not None)
    assert choose_threshold(a, b, integer) == expected


@given(st.integers(-(2**70), 2**70), st.integers(1, 2**68), st.integers(0, 60))
def test_on_integer_columns_no_integer_is_shorter(low, width, shift):
    a, b = float(low >> shift), float((low >> shift) + (width >> shift) + 1)
    assume(a < b)
    expected = by_trying_short_decimals(a, b, True, most_digits=17)
    assert choose_threshold(a, b, True) == expected


def test_small_integer_intervals_agree_with_a_list_of_all_integers():
    digits = {t: n_digits(float(t)) for t in range(-40, 113)}
    for low in range(-40, 112, 3):
        for high in range(low + 1, 113):
            twice_middle = low + high - 1
            expected = min(range(low, high), key=lambda t: (digits[t], abs(2 * t - twice_middle), t))
            assert choose_threshold(low, high, True) == expected


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 1.0), (0.0, -0.0), (math.nan, 1.0), (0.0, math.inf)])
def test_ends_that_are_no_interval_are_refused(a, b):
    with pytest.raises(ValueError, match="increasing order"):
        choose_threshold(a, b)


def test_numpy_scalars_are_taken_as_the_float64_they_hold():
    t = choose_threshold(np.float32(0.1), np.float32(0.2))
    assert t == 0.2  # float32(0.2) is a little more than 0.2
    assert type(t) is float
