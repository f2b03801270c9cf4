"""Many cases of one property in one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps

import pytest


def each(names: str, cases: Iterable[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize``, but one test of all cases: it ends at the first that fails, and says which.

    For cases that differ in their draws or sizes only; what a reader may want to run alone stays a parameter of pytest.
    """
    given, cases = [name.strip() for name in names.split(",")], list(cases)
    if not cases:
        raise ValueError(f"no case of {names}")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def run_all(*args: object, **fixtures: object) -> None:
            __tracebackhide__ = True
            for number, case in enumerate(cases, 1):
                values = dict(zip(given, case if len(given) > 1 else [case], strict=True))
                try:
                    test(*args, **fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    said = ", ".join(f"{name}={value!r:.200}" for name, value in values.items())
                    error.add_note(f"case {number} of {len(cases)}: {said}")
                    raise
                except pytest.skip.Exception:
                    raise AssertionError(f"a case of many cannot be skipped: {values}") from None

        left = [parameter for name, parameter in signature.parameters.items() if name not in given]
        run_all.__signature__ = signature.replace(parameters=left)
        return run_all

    return decorate
