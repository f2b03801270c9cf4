"""Which Python files of cutwise a reader passes from ``ExplainableKMeans(3).fit(X)`` to the first threshold.

Prints every file that runs between the call and the choice of a stored threshold, with how many of its functions did,
the deepest nesting, and the limit; with ``--check`` it exits 1 above it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import cutwise
from cutwise.tree import growing

PACKAGE = Path(cutwise.__file__).parent
MOST_FILES = 14


class FoundThresholdError(Exception):
    """The first threshold is chosen: nothing after it counts."""


def trace() -> tuple[dict[Path, set[CodeType]], int]:
    """The functions that ran, by file, and how deeply they were nested."""
    choose = growing.choose_threshold.__code__
    functions: dict[Path, set[CodeType]] = {}
    deepest = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal deepest
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        if event == "call":
            functions.setdefault(path.relative_to(PACKAGE), set()).add(frame.f_code)
            deepest = max(deepest, depth(frame))
        elif event == "return" and frame.f_code is choose:
            sys.setprofile(None)
            raise FoundThresholdError

    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(center, 1.0, (50, 2)) for center in (0.0, 8.0, 16.0)])
    model = cutwise.ExplainableKMeans(3, random_state=0)
    sys.setprofile(seen)
    try:
        model.fit(X)
    except FoundThresholdError:
        return functions, deepest
    finally:
        sys.setprofile(None)
    raise SystemExit("no threshold was chosen in cutwise.tree.growing: say in this script where it is now")


def depth(frame: FrameType | None) -> int:
    """Frames of cutwise below and with this one."""
    n = 0
    while frame is not None:
        n += Path(frame.f_code.co_filename).is_relative_to(PACKAGE)
        frame = frame.f_back
    return n


if __name__ == "__main__":
    functions, deepest = trace()
    for path, codes in functions.items():
        print(f"{path.as_posix():36} {len(codes):3} functions")
    n_functions = sum(map(len, functions.values()))
    print(f"{len(functions)} files (at most {MOST_FILES}), {n_functions} functions, {deepest} deep")
    sys.exit("--check" in sys.argv and len(functions) > MOST_FILES)
