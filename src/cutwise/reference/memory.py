"""How much memory a computation may still take, and the refusal of what would not fit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cutwise.exceptions import InvalidInputError

_SHARE = 0.9
"""Of what is available: the rest is for everything else."""


def available_memory() -> int | None:
    """Bytes that can still be taken without swapping, as far as the system says; None where it does not.

    The smallest of what the machine, the process's control group and its own limits leave.
    """
    candidates = [_of_machine(), _of_group(), _of_process()]
    known = [candidate for candidate in candidates if candidate is not None]
    return min(known) if known else None


def check_fits(n_bytes: int, what: str, instead: str) -> None:
    """Refuse an array that would not fit.

    ``n_bytes``: its size. ``what``: what it is, to begin the message with. ``instead``: a sentence: what to do instead.
    Raises ``InvalidInputError``: gives both sizes.
    """
    available = available_memory()
    if available is not None and n_bytes > _SHARE * available:
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


def _of_machine() -> int | None:
    try:
        # Pages that the system holds as file cache count as available: MemAvailable knows them, sysconf does not.
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        return _of_windows()
    try:
        # Where nothing tells what is free, what the machine has at all is still a bound.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _of_windows() -> int | None:
    import ctypes

    # MEMORYSTATUSEX: length and load, then seven 64-bit numbers, of which the second is what is available.
    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)
    succeeded = getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # noqa: B009
    return int(status[2]) if succeeded else None


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
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        used = 0
    return max(0, limit - used)
