"""The number that is printed for a cut between two neighboring values ``a < b``.

On a column of integers: the integer ``t`` with ``a <= t < b`` that has the fewest significant digits, then the
nearest to the middle of the first and the last such integer, then the smaller; where there is none (both ends are
centers between two integers) the largest integer below ``a``. Otherwise: the float64 strictly between ``a`` and ``b``
whose shortest decimal has the fewest significant digits, then the nearest to the middle, then the smaller; ``a`` itself
when no float64 lies strictly between. Zero counts as no digits. Numbers and middles are those of the printed decimals.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction


def significant_digits(number: float) -> int:
    """How many significant digits the shortest decimal of a float has; 0 for zero."""
    digits = Decimal(repr(float(number))).normalize().as_tuple().digits
    return 0 if number == 0 else len(digits)


def _order_of(number: Fraction) -> int:
    """An exponent ``e`` with ``10**(e - 1) <= |number| < 10**(e + 1)``; the smallest float's for zero."""
    if number == 0:
        return -330
    return len(str(abs(number.numerator))) - len(str(number.denominator))


def _nearest_with_digits(low: Fraction, high: Fraction, closed: bool, digits: int, integer: bool) -> Fraction | None:
    """The number in an interval that needs at most ``digits`` significant digits and is nearest to the middle."""
    middle = (low + high) / 2
    if digits == 0:
        inside = low <= 0 <= high if closed else low < 0 < high
        return Fraction(0) if inside else None
    largest = max(_order_of(low), _order_of(high)) + 1
    smallest = 0 if integer else max(-345, _order_of(high - low) - digits - 1)
    best: tuple[Fraction, Fraction] | None = None
    for exponent in range(smallest, largest + 1):
        unit = Fraction(10) ** exponent
        if closed:
            first, last = math.ceil(low / unit), math.floor(high / unit)
        else:
            first, last = math.floor(low / unit) + 1, math.ceil(high / unit) - 1
        first, last = max(first, 1 - 10**digits), min(last, 10**digits - 1)
        if first > last:
            continue
        for multiple in (math.floor(middle / unit), math.ceil(middle / unit)):
            number = min(max(multiple, first), last) * unit
            if best is None or (abs(number - middle), number) < best:
                best = (abs(number - middle), number)
    return None if best is None else best[1]


def printed(number: float) -> Fraction:
    """The value of the shortest decimal that parses back to a float."""
    return Fraction(Decimal(repr(float(number))))


def floats_between(a: float, b: float, limit: int) -> list[float] | None:
    """All float64 strictly between two; None when there are more than ``limit``."""
    found, at = [], math.nextafter(a, math.inf)
    while at < b:
        if len(found) == limit:
            return None
        found.append(at)
        at = math.nextafter(at, math.inf)
    return found


def choose_among(floats: list[float], middle: Fraction) -> float:
    """The convention, word by word, over listed numbers."""
    return min(floats, key=lambda t: (significant_digits(t), abs(printed(t) - middle), t))


def choose_threshold(a: float, b: float, integer: bool) -> float:
    """The threshold of a cut between ``a < b``, by the convention of this module."""
    a, b = float(a), float(b)
    if integer:
        first, last = Fraction(math.ceil(Fraction(a))), Fraction(math.ceil(Fraction(b)) - 1)
        if first <= last:
            for digits in range(400):
                number = _nearest_with_digits(first, last, True, digits, True)
                if number is not None:
                    return float(number)
        return float(math.floor(Fraction(a)))
    middle = (printed(a) + printed(b)) / 2
    floats = floats_between(a, b, 200)
    if floats is not None:
        return choose_among(floats, middle) if floats else a
    return choose_by_digits(a, b)


def choose_by_digits(a: float, b: float) -> float:
    """The same for gaps with many floats: fewer digits first."""
    for digits in range(18):
        number = _nearest_with_digits(printed(a), printed(b), False, digits, False)
        if number is not None and a < float(number) < b:
            return float(number)
    raise AssertionError(f"no decimal of 17 digits between {a!r} and {b!r}")
