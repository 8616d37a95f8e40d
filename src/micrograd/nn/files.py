"""Parameters in a file: safetensors where installed, JSON always, pickle never.

Each file is written beside its place and moved there in one step, so a crash leaves the old one or the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import tempfile
import zlib
from os import PathLike
from typing import Any

from micrograd import install
from micrograd.nn.parameters import State, shape

FORMAT = "micrograd parameters 1"


def save(state: State, path: str | PathLike[str]) -> None:
    """Write a state_dict; the ending of the path, .json or .safetensors, says how."""
    if _ending(path) == ".safetensors":
        write(path, _pack(state))
    else:
        content = json.dumps(state)
        write(path, f'{{"format": "{FORMAT}", "check": {_check(content)}, "parameters": {content}}}'.encode())


def load(path: str | PathLike[str]) -> State:
    """Read a state_dict; a damaged file is a ValueError that names it."""
    if _ending(path) == ".safetensors":
        return _unpack(path)
    try:
        return _load_json(path)
    except RecursionError:
        raise ValueError(f"{path} is damaged: its lists are nested too deeply") from None


def _load_json(path: str | PathLike[str]) -> State:
    content = read_json(path, FORMAT)
    if not isinstance(content.get("parameters"), dict):
        raise ValueError(f"{path} is damaged: it has no table of parameters")
    if content.get("check", None) not in (None, _check(json.dumps(content["parameters"]))):
        raise ValueError(
            f'{path} is damaged: its numbers do not agree with its checksum (to edit them, remove "check")'
        )
    for name, tensor in content["parameters"].items():
        if shape(tensor) is None:
            raise ValueError(
                f"{path} is damaged: parameter {name} is neither a number nor a rectangular list of numbers"
            )
    state: State = content["parameters"]
    return state


def _check(content: str) -> int:
    return zlib.crc32(content.encode())


def write(path: str | PathLike[str], content: bytes) -> None:
    """Write a file in one step: a reader, or a crash, sees the old content or the new one, never a part."""
    path = os.path.realpath(path)  # what a link points to is written, and the link stays
    folder = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)}.{_writer()}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _writer() -> str:
    """Name this process: which machine, and which process there."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}-{os.getpid()}"


def remove_leftovers(path: str | PathLike[str]) -> None:
    """Remove the temporary files of writers of this path that were killed on this machine."""
    folder, name = os.path.split(os.path.realpath(path))
    machine = _writer().partition("-")[0]
    pattern = re.compile(re.escape(f".{name}.{machine}-") + r"(\d+)-.*\.tmp")
    for entry in os.listdir(folder):
        found = pattern.fullmatch(entry)
        if found and not _is_running(int(found[1])):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, entry))


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless signal to ask with
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _mode(path: str | PathLike[str]) -> int:
    """The permissions of the file that is replaced, or what a plain open() would give."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: str) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: str | PathLike[str], form: str) -> dict[str, Any]:
    """Read a JSON file of ours, of the stated format."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        table = json.loads(content)
    except (ValueError, RecursionError) as reason:
        raise ValueError(f"{path} is damaged or cut short: it is not JSON ({reason})") from None
    if not isinstance(table, dict) or table.get("format") != form:
        found = table.get("format") if isinstance(table, dict) else None
        raise ValueError(f"{path} is no file of {form!r}: its format is {found!r}")
    return table


# ---- safetensors


def _ending(path: str | PathLike[str]) -> str:
    ending = os.path.splitext(os.fspath(path))[1]
    if ending not in (".json", ".safetensors"):
        raise ValueError(
            f"{path}: parameters are saved as .json or .safetensors, and this ends in {ending or 'neither'!r}"
        )
    return ending


def _safetensors() -> Any:
    try:
        import numpy
        import safetensors
        import safetensors.numpy
    except ImportError as reason:
        raise ImportError(
            f".safetensors files need safetensors and NumPy ({reason}): {install.command('train')}, or use .json"
        ) from None
    return numpy, safetensors


def _pack(state: State) -> bytes:
    numpy, safetensors = _safetensors()
    arrays = {name: numpy.array(tensor, dtype=numpy.float64) for name, tensor in state.items()}
    packed: bytes = safetensors.numpy.save(
        arrays, metadata={"format": FORMAT, "check": str(_check(json.dumps(state, sort_keys=True)))}
    )
    return packed


def _unpack(path: str | PathLike[str]) -> State:
    _, safetensors = _safetensors()
    with open(path, "rb") as file:
        content = file.read()
    try:
        arrays = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError) as reason:
        raise ValueError(f"{path} is damaged or cut short: safetensors says {reason}") from None
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    state = {name: arrays[name].tolist() for name in header if name in arrays}
    check = header.get("__metadata__", {}).get("check")
    if check not in (None, str(_check(json.dumps(state, sort_keys=True)))):
        raise ValueError(f"{path} is damaged: its numbers do not agree with its checksum")
    return state
