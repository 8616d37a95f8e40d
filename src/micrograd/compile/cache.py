"""Machine code on disk: one file a kernel, named by the text it was made from, the LLVM version and the processor."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path

DIGEST = 32  # a file starts with the SHA-256 of the rest: a damaged one is not used

LIMIT = 500.0  # megabytes: a kernel takes 3 kB, the step of a transformer 2 MB
KEPT = 0.75  # of the limit, where it was passed: so that not every writer has to look for the oldest
LOOK = 16  # times that a process looks while it fills the cache, beside its first time
STALE = 3600.0  # seconds after which the writer of an unfinished file is taken for dead

# The names of our files: nothing else in the folder is touched.
KERNEL, UNFINISHED = re.compile("[0-9a-f]{64}[.]o"), re.compile("new-[a-z0-9_]{8}[.]part")

_since_look = float("inf")  # bytes that this process has written since it last looked how much there is


def directory() -> Path | None:
    """Where kernels are kept: MICROGRAD_CACHE, else the user's cache directory; None where it is switched off or unsafe.

    Code is loaded from there, so nobody else may write to it.
    """
    chosen = os.environ.get("MICROGRAD_CACHE")
    if chosen == "0":
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


def limit() -> float:
    """How many bytes are kept: MICROGRAD_CACHE_SIZE, in megabytes."""
    try:
        size = float(os.environ.get("MICROGRAD_CACHE_SIZE", LIMIT))
    except ValueError:
        size = LIMIT
    return 1e6 * (size if size >= 0 else LIMIT)


def load(key: str) -> bytes | None:
    """The code kept under a name, which is now the last one used; None where there is none, or none that is whole."""
    path = directory()
    if path is None:
        return None
    try:
        content = (path / key).read_bytes()
    except OSError:
        return None
    code = content[DIGEST:]
    if hashlib.sha256(code).digest() != content[:DIGEST]:
        return None
    with contextlib.suppress(OSError):  # a folder that can only be read
        os.utime(path / key)
    return code


def save(key: str, code: bytes) -> None:
    """Keep code under a name: written beside and moved into place, so that a reader sees all of it or nothing."""
    global _since_look
    path, most = directory(), limit()
    if path is None or DIGEST + len(code) > most:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=path, prefix="new-", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path / key)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return  # a full disk or a read-only one costs time, not results
    _since_look += DIGEST + len(code)
    if _since_look >= most / LOOK:
        _since_look = 0.0
        trim(path, most)


def trim(path: Path, most: float) -> None:
    """Remove what killed writers left, and of more than `most` bytes what was used longest ago.

    Other processes may read, write and trim meanwhile: a reader that comes too late compiles, and writes it anew.
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
    with contextlib.suppress(OSError):  # another process was faster, or reads it on a system that keeps it then
        os.unlink(path)
