"""Where a cut is placed between two neighboring values: the only place that picks a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from cutwise.table import ColumnKind
from cutwise.table.instants import choose_boundary, choose_length

__all__ = ["choose_threshold", "place_threshold"]

# Wide enough for the exact sum of 1e308 and 5e-324; short sums stay short, so the width costs them nothing.
_EXACT = Context(prec=800, Emax=MAX_EMAX, Emin=MIN_EMIN)
_HALF = Decimal("0.5")
_ONE = Decimal(1)
_DENSE_DIGITS = 16  # decimals of so many digits can be as dense as float64; 17 digits tell any two of these apart
_WHOLE_FROM = 2.0**53  # from here on every float64 is an integer, and not every integer a float64
_NEAR = 8  # up to so many float64 are looked at one by one


def place_threshold(a: float, b: float, kind: ColumnKind) -> float:
    """Place the threshold of a cut between two neighboring values of a column, in the words of its kind."""
    if kind.name == "date" and math.isfinite(a) and math.isfinite(b):
        return choose_boundary(a, b, kind)
    if kind.name == "duration":
        return choose_length(a, b)
    return choose_threshold(a, b, kind.is_integer)


def choose_threshold(a: float, b: float, integer: bool = False) -> float:
    """Place the threshold of a cut between two neighboring values: the number that is shortest to say.

    Every ``t`` with ``a <= t < b`` parts the values at most ``a`` from those at least ``b`` alike, so the choice is
    free, and goes to the number that reads best. Numbers are taken as they are printed, by the shortest decimal that
    parses back to the same float64 (``repr``); 0 has no significant digit.

    ``a``, ``b``: the neighboring values, finite, ``a < b``. ``integer``: whether the column holds integers. The
    integers in ``[ceil(a), b - 1]`` are then preferred to anything else (up to the largest integer below ``b`` where
    ``b`` is the coordinate of a center and no integer itself). Returns ``t``: ``a <= t < b``, never ``-0.0``. On an
    integer column that has one, the integer of the interval with the fewest significant digits; else the float64
    strictly between ``a`` and ``b`` with the fewest; of several the nearest to the middle of the interval, then the
    smaller. ``a`` itself when no float64 lies between. Raises ``ValueError``: ``a`` and ``b`` that are not finite, or
    not in increasing order.

    Examples
    --------
    >>> choose_threshold(51873.42, 52310.07)
    52000.0
    >>> choose_threshold(35, 36, integer=True)
    35.0
    >>> choose_threshold(0.1, 0.2)
    0.15
    """
    a, b = float(a) + 0.0, float(b) + 0.0  # adding 0.0 turns -0.0 into 0.0
    if not (math.isfinite(a) and math.isfinite(b) and a < b):
        raise ValueError(f"a cut lies between two finite values in increasing order, not a={a!r} and b={b!r}.")
    if integer:
        first, last = _first_integer(a), _last_integer(b)
        if first <= 0 <= last:
            return 0.0
        if first <= last:
            return _shortest(a, b, _half_way(first, last), whole=True)
    if a < 0.0 < b:
        return 0.0
    if math.nextafter(a, b) == b:
        return a
    return _shortest(a, b, _half_way(_printed(a), _printed(b)), whole=False)


def _shortest(a: float, b: float, middle: Decimal, *, whole: bool) -> float:
    """Find the shortest number of at least one: the integers from ``a`` on below ``b``, or the floats between them."""

    def best(candidates: Iterable[float]) -> float | None:
        inside = {t for t in candidates if (t.is_integer() and a <= t < b if whole else a < t < b)}
        # The digits and distances of a single candidate are of no interest, and most often there is only one.
        return inside.pop() if len(inside) == 1 else min(inside, key=lambda t: _rank(t, middle), default=None)

    near = _floats_from(a, b)
    found = best(near) if near[-1] == b else None  # so few that each can be looked at
    n_digits = 0
    while found is None:
        # Of the numbers with at most n_digits digits, the nearest below and above the middle are inside if any is: the
        # first success has the fewest digits, and is nearest to the middle.
        n_digits += 1
        unit = _ONE.scaleb(middle.adjusted() - n_digits + 1, _EXACT)
        below = float(middle.quantize(unit, ROUND_FLOOR, _EXACT))
        above = float(middle.quantize(unit, ROUND_CEILING, _EXACT))
        if n_digits < _DENSE_DIGITS:
            found = best((below, above))
        else:
            # Decimals are as dense as floats here: another one, next to these, can print nearer to the middle.
            found = best((math.nextafter(below, -math.inf), below, above, math.nextafter(above, math.inf)))
    return found


def _rank(t: float, middle: Decimal) -> tuple[int, Decimal, float]:
    """Fewest digits first, then nearest to the middle, then smallest."""
    printed = _printed(t)
    n_digits = len(printed.normalize(_EXACT).as_tuple().digits)
    return n_digits, abs(_EXACT.subtract(printed, middle)), t


def _floats_from(a: float, b: float) -> list[float]:
    """List ``a`` and the float64 after it, in order, until ``b`` or ``_NEAR`` of them are reached."""
    values = [a]
    while values[-1] < b and len(values) < _NEAR:
        values.append(math.nextafter(values[-1], b))
    return values


def _printed(value: float) -> Decimal:
    return Decimal(repr(value))


def _half_way(low: Decimal, high: Decimal) -> Decimal:
    return _EXACT.multiply(_EXACT.add(low, high), _HALF)


def _first_integer(a: float) -> Decimal:
    """``ceil(a)``, as it is printed."""
    return Decimal(math.ceil(a)) if abs(a) < _WHOLE_FROM else _printed(a)


def _last_integer(b: float) -> Decimal:
    """The largest integer below ``b``, as it is printed."""
    return Decimal(math.ceil(b) - 1) if abs(b) <= _WHOLE_FROM else _EXACT.subtract(_printed(b), _ONE)
