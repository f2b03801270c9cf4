"""Numbers in SQL that an engine reads as the very same float64.

Every engine but one reads the text in ``CAST('4.95' AS DOUBLE)`` as the nearest float64, as the standard of floating
point asks. SQLite reads numbers by its own arithmetic, which differs between releases (long double, or pairs of
doubles) and is then off by one float64 for some numbers with many digits. There, a decimal is written only where all of
them are right, and otherwise a product or quotient of a whole number and powers of two, which no rounding can touch.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from .words import number

__all__ = ["exact_factors", "sqlite_reads_exactly"]

_EXACT_INTEGERS = 2**53
_STEP = 62  # 2**62 is the largest power of two that a 64-bit integer holds


def sqlite_reads_exactly(value: float) -> bool:
    """Whether every release of SQLite reads the shortest decimal of a number as that number.

    Parameters
    ----------
    value : float
        Finite.

    Returns
    -------
    exactly : bool
        True for whole numbers of up to 15 digits and decimals of few digits: SQLite divides a whole number by a power
        of ten, both exact, and the quotient is rounded once, or once to 64 bits and then again to the same number.
    """
    _, digits, exponent = Decimal(number(abs(value))).as_tuple()
    assert isinstance(exponent, int)  # else nan or infinity
    whole = int("".join(map(str, digits)))
    if exponent >= 0:
        return bool(whole * 10**exponent < _EXACT_INTEGERS)
    if whole >= _EXACT_INTEGERS or exponent < -22:  # 10**22 is the largest power of ten that a float64 holds
        return False
    return _rounded_twice(Fraction(whole, 10**-exponent)) == abs(value)


def exact_factors(value: float) -> tuple[int, list[int], bool]:
    """A positive float64 as a whole number, times or divided by powers of two.

    Parameters
    ----------
    value : float
        Positive and finite.

    Returns
    -------
    whole : int
        Odd, below 2**53.
    powers : list of int
        Powers of two, each at most 2**62.
    divide : bool
        Whether ``whole`` is divided by them one after the other, or multiplied.
    """
    numerator, denominator = value.as_integer_ratio()
    twos = (numerator & -numerator).bit_length() - 1
    exponent = twos - (denominator.bit_length() - 1)
    steps, rest = divmod(abs(exponent), _STEP)
    return numerator >> twos, [2**_STEP] * steps + ([2**rest] if rest else []), exponent < 0


def _rounded_twice(value: Fraction) -> float:
    """A positive number rounded to 64 significant bits, to even on ties, and then to a float64."""
    shift = 64 - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    while scaled >= 2**64:
        scaled, shift = scaled / 2, shift - 1
    while scaled < 2**63:
        scaled, shift = scaled * 2, shift + 1
    return float(round(scaled) * Fraction(1, 2) ** shift)
