"""How much memory a computation may still take, and the refusal of what would not fit."""

from __future__ import annotations

from pathlib import Path

import psutil

from cutwise.exceptions import InvalidInputError

_SHARE = 0.9
"""Of what is available: the rest is for everything else."""


def available_memory() -> int:
    """Bytes that can still be taken without swapping.

    The smallest of what the machine, the process's control group and its own limits leave.
    """
    candidates: list[int | None] = [psutil.virtual_memory().available, _of_group(), _of_process()]
    return min(candidate for candidate in candidates if candidate is not None)


def check_fits(n_bytes: int, what: str, instead: str) -> None:
    """Refuse an array that would not fit.

    ``n_bytes``: its size. ``what``: what it is, to begin the message with. ``instead``: a sentence: what to do instead.
    Raises ``InvalidInputError``: gives both sizes.
    """
    available = available_memory()
    if n_bytes > _SHARE * available:
        raise InvalidInputError(
            f"{what} takes {in_words(n_bytes)} of memory, and {in_words(available)} are available.\n{instead}"
        )


def in_words(n_bytes: int) -> str:
    """``"74.5 GiB"``."""
    size, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:,.0f} {units[0]}" if size >= 100 or units[0] == "bytes" else f"{size:.1f} {units[0]}"


def _of_group() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return max(0, int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such group, or "max": no limit
    return None


def _of_process() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - int(psutil.Process().memory_info().vms))
