"""Files and folders that appear complete or not at all: written next to their place, then moved."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

fcntl: Any = import_module("fcntl") if os.name == "posix" else None  # Windows has other locks


def place_of(path: str | os.PathLike[str]) -> Path:
    """The file that a path refers to.

    Links are followed, so that a file is replaced and not the link; but the path of a device or a pipe is unchanged,
    because ``/dev/stdout`` refers to an object without a name.

    Raises ``IsADirectoryError``: the path has the form of a folder.
    """
    if str(path).endswith(("/", os.sep)):
        raise IsADirectoryError(
            errno.EISDIR, "This names a folder, not a file; leave out the last character", str(path)
        )
    return Path(path) if _is_stream(Path(path)) else Path(os.path.realpath(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, which replaces ``path``, with its mode, if the block succeeds.

    Devices and pipes are written directly, since they cannot be replaced. Parts left by processes that were killed are
    removed.

    Raises ``OSError``: the folder is missing or cannot be written, or the path has the form of a folder; the error
    names ``path``.
    """
    place = place_of(path)
    if _is_stream(place):
        yield place
        return
    part = _new_part(place)
    try:
        _remove_abandoned(place)
        mode = stat.S_IMODE(place.stat().st_mode) if place.is_file() else None
        open(part, "xb").close()
        with _in_use(part):
            if mode is not None:
                part.chmod(mode | stat.S_IWUSR)  # before there is content to read
            yield part
            with open(part, "r+b") as file:
                os.fsync(file.fileno())
            if mode is not None:
                part.chmod(mode)
            os.replace(part, place)
    except OSError as error:
        if error.errno is None or error.filename != str(part):
            raise  # about something else: the block may do more than write this file
        reason = os.strerror(error.errno)
        if not place.parent.is_dir():
            reason = f"There is no folder {str(place.parent)!r}; create it first"
        elif error.errno == errno.ENOENT:  # as for folders that cannot contain files, such as /proc
            reason = f"Nothing can be written in {str(place.parent)!r}"
        raise OSError(error.errno, reason, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to fill, which appears as ``path`` if the block succeeds; ``path`` must not exist."""
    place = Path(os.path.abspath(path))
    part = _new_part(place)
    _remove_abandoned(place)
    part.mkdir()
    try:
        with _in_use(part):
            yield part
            part.rename(place)
    except OSError as error:
        if error.filename != str(part) or not place.exists():
            raise
        reason = "Another process made this folder meanwhile, and nothing in it is replaced; name a new one"
        raise OSError(error.errno, reason, str(path)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _in_use(part: Path) -> Iterator[None]:
    """Lock a file or folder, so that other processes see that it is being written."""
    if fcntl is None:  # Windows cannot move open files
        yield
        return
    descriptor = _opened(part)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _opened(part: Path) -> int:
    """A descriptor to lock; some file systems require one that is open for writing."""
    return os.open(os.fspath(part), os.O_RDONLY if part.is_dir() else os.O_RDWR)


def _new_part(place: Path) -> Path:
    """A new name beside a file or folder; 50 of its characters, since names may have 255 bytes."""
    return place.with_name(f".{place.name[:50]}.{uuid.uuid4().hex}.part")


_SOON = 10
"""Seconds in which a process locks what it made."""


def _remove_abandoned(place: Path) -> None:
    """Remove abandoned parts of a file or folder, which can be locked since nobody writes them."""
    ours = re.compile(rf"\.{re.escape(place.name[:50])}\.[0-9a-f]{{32}}\.part")
    if fcntl is None or not place.parent.is_dir():
        return
    for name in filter(ours.fullmatch, os.listdir(place.parent)):
        left = place.with_name(name)
        with suppress(OSError), ExitStack() as stack:
            if left.stat().st_mtime > time.time() - _SOON:
                continue  # perhaps another process is about to lock it
            descriptor = _opened(left)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, text as UTF-8, that appears whole or not at all; see :func:`whole_file`."""
    with whole_file(path) as part:
        try:
            part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        except OSError as error:
            error.filename = error.filename or str(part)  # a full disk names no file
            raise


def _is_stream(path: Path) -> bool:
    return path.exists() and not (path.is_file() or path.is_dir())
