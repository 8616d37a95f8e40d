"""Machine code on disk: one file a kernel, named by the text it was made from, the LLVM version and the processor."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

DIGEST = 32  # a file starts with the SHA-256 of the rest: a damaged one is not used


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


def load(key: str) -> bytes | None:
    """The code kept under a name; None where there is none, or none that is whole."""
    path = directory()
    if path is None:
        return None
    try:
        content = (path / key).read_bytes()
    except OSError:
        return None
    code = content[DIGEST:]
    return code if hashlib.sha256(code).digest() == content[:DIGEST] else None


def save(key: str, code: bytes) -> None:
    """Keep code under a name: written beside and moved into place, so that a reader sees all of it or nothing."""
    path = directory()
    if path is None:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=path, prefix="new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path / key)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        pass  # a full disk or a read-only one costs time, not results
