"""Machine code on disk: one file for each kernel, named by a hash of its text, the LLVM version and the processor.

A file begins with a hash of its name and its code, so that a damaged file is not used, and neither is one that was renamed or
exchanged with another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path

DIGEST = 32  # bytes of a SHA-256

LIMIT = 500.0  # megabytes: a kernel takes 3 kB, the training step of a transformer 2 MB
KEPT = 0.75  # the share of the limit that is kept once it was exceeded, so that not every writer has to remove files
LOOK = 16  # how often a process measures the folder while it fills the cache, beside the first time
STALE = 3600.0  # seconds after which the writer of an unfinished file is assumed to be dead

# The names of our files: nothing else in the folder is touched.
KERNEL, UNFINISHED = re.compile("[0-9a-f]{64}[.]o"), re.compile("new-[a-z0-9_]{8}[.]part")

_since_look = float("inf")  # bytes that this process has written since it last measured the folder


def directory() -> Path | None:
    """Where kernels are kept: MICROGRAD_CACHE, else the user's cache directory; None where it is switched off or unsafe.

    Code is loaded from that folder, so it is not used where somebody else may write to it.
    """
    chosen = os.environ.get("MICROGRAD_CACHE")
    if chosen is not None and chosen.lower() in ("0", "off", "no", "false", "none"):  # and not a folder of that name
        return None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        path = Path(chosen).expanduser() if chosen else base / "micrograd"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.stat()
    except (OSError, RuntimeError):  # RuntimeError: this user has no home
        return None
    if os.name == "posix" and (info.st_uid != os.getuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return None
    return path


def name(*parts: str) -> str:
    """The file name of a kernel."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest() + ".o"


def _digest(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + code).digest()


def limit() -> float:
    """How many bytes are kept: MICROGRAD_CACHE_SIZE, in megabytes."""
    try:
        size = float(os.environ.get("MICROGRAD_CACHE_SIZE", LIMIT))
    except ValueError:
        size = LIMIT
    return 1e6 * (size if size >= 0 else LIMIT)


def _content(path: Path) -> bytes:
    """The bytes of a plain file; nothing of anything else, which is not opened: a FIFO would wait for somebody who writes."""
    if not stat.S_ISREG(path.stat().st_mode):
        return b""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:  # it may have been exchanged since
        return file.read() if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def load(key: str) -> bytes | None:
    """The code that is kept under a name, marked as used now; None where there is none, or where the file is not as written."""
    path = directory()
    if path is None:
        return None
    try:
        content = _content(path / key)
    except OSError:
        return None
    code = content[DIGEST:]
    if _digest(key, code) != content[:DIGEST]:
        return None
    with contextlib.suppress(OSError):  # a folder that can only be read
        os.utime(path / key)
    return code


def save(key: str, code: bytes) -> None:
    """Keep code under a name: written to a temporary file and moved into place, so that a reader sees all of it or nothing."""
    global _since_look
    path, most = directory(), limit()
    if path is None or DIGEST + len(code) > most:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=path, prefix="new-", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(key, code) + code)
            os.replace(temporary, path / key)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return  # a full or read-only disk costs time, and changes no result
    _since_look += DIGEST + len(code)
    if _since_look >= most / LOOK:
        _since_look = 0.0
        trim(path, most)


def trim(path: Path, most: float) -> None:
    """Remove what killed writers left; where more than `most` bytes are kept, remove the least recently used files.

    Other processes may read, write and trim at the same time: a reader whose file is gone compiles it again.
    """
    kept: list[tuple[float, int, str]] = []
    try:
        with os.scandir(path) as files:
            for file in files:
                kernel, unfinished = KERNEL.fullmatch(file.name), UNFINISHED.fullmatch(file.name)
                if not kernel and not unfinished:
                    continue
                try:
                    info = file.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process was faster
                if kernel:
                    kept.append((info.st_mtime, info.st_size, file.path))
                elif time.time() - info.st_mtime > STALE:
                    _remove(file.path)
    except OSError:
        return
    total = sum([size for _, size, _ in kept])
    if total <= most:
        return
    for _, size, name in sorted(kept):
        if total <= KEPT * most:
            break
        _remove(name)
        total -= size


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # another process was faster, or the system keeps files that are being read
        os.unlink(path)
