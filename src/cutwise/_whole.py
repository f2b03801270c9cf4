"""Files and folders that appear complete or not at all: written next to their place, then moved."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import stat
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


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
        mode = stat.S_IMODE(place.stat().st_mode) if place.is_file() else None
        open(part, "xb").close()
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
        reason = "This is a folder; name a file in it" if place.is_dir() else os.strerror(error.errno)
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
    part.mkdir()
    try:
        yield part
        part.rename(place)
    except OSError as error:
        if error.filename != str(part) or not place.exists():
            raise
        reason = "Another process made this folder meanwhile, and nothing in it is replaced; name a new one"
        raise OSError(error.errno, reason, str(path)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _new_part(place: Path) -> Path:
    """A new name beside a file or folder; 50 of its characters, since names may have 255 bytes."""
    return new_name(place.parent, f".{place.name[:50]}.", ".part")


def _machine() -> str:
    """Whose process numbers these are; containers of one machine may have numbers of their own."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32((platform.node() + space).encode()):08x}"


_MACHINE = _machine()


def new_name(folder: Path, start: str, end: str = "") -> Path:
    """A new name in a folder for what this process writes; what killed processes of this machine left is removed.

    Processes of other machines and containers may share the folder.
    """
    name = re.compile(rf"{re.escape(start)}(\d+)-{_MACHINE}-[0-9a-f]{{8}}{re.escape(end)}")
    for found in filter(None, map(name.fullmatch, os.listdir(folder) if folder.is_dir() else ())):
        if not psutil.pid_exists(int(found[1])):
            left = folder / found[0]
            with suppress(OSError):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return folder / f"{start}{os.getpid()}-{_MACHINE}-{uuid.uuid4().hex[:8]}{end}"


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
