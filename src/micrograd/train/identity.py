"""What a training run is: the things that have to be the same for a resumed run to go on as if it had never stopped."""

from __future__ import annotations

import functools
import zlib
from array import array
from typing import Any

from micrograd.train.data_checks import known
from micrograd.train.objective import Examples, leaves
from micrograd.train.remote import RemoteRows

Identity = dict[str, Any]
WORDS = {"data": "on other data", "validation": "with other validation data", "model": "of another model"}


def identity(
    model: Any, rows: Examples, validation: Examples | None, loss: Any, objective: Any, penalty: Any, clip: float | None,
    compiled: bool, rng: Any,
) -> Identity:  # fmt: skip
    """Describe a run. None is what cannot be told, such as data that are no numbers or stay on a cluster."""
    return {
        "data": checksum(rows),
        "validation": 0 if validation is None else checksum(validation),
        "model": structure(model),
        "loss": "" if objective is not None else name_of(loss),
        "objective": name_of(objective),
        "penalty": name_of(penalty),
        "clip": clip,
        "compile": compiled,
        "rng": rng if isinstance(rng, int) else None,
    }


def check(saved: Identity, own: Identity, path: Any, mode: str) -> None:
    """Refuse to resume a run that is another one; `mode` is that of `load_state_dict`."""
    taken = {"same": (), "saved": ("clip", "rng"), "own": tuple(own)}.get(mode, ())
    for name, mine in own.items():
        theirs = saved.get(name, mine)  # a file of an earlier version does not have all of them
        if name in taken or theirs == mine or (None in (theirs, mine) and name != "clip"):
            continue
        fact = WORDS.get(name) or f"with {name}={theirs!r}, and this one has {name}={mine!r}"
        raise ValueError(
            f"{path} belongs to a run {fact}, so the resumed run would differ from an uninterrupted one: give fit the same "
            'arguments, or resume_settings="own" to continue with the new ones'
        )


def structure(model: Any) -> int | None:
    """Return a number that tells models apart by what they print; None where a class prints itself in a way of its own."""
    parts = [part for _, part in model.modules()] if hasattr(model, "modules") else []
    if not parts or not all(
        str(getattr(type(m).__repr__, "__module__", "")).startswith("micrograd.") for m in (model, *parts)
    ):
        return None
    return zlib.crc32(repr(model).encode())


def name_of(function: Any) -> str:
    """Return the name of a function with the options that functools.partial has given it; "" for None."""
    if function is None:
        return ""
    options = dict(known(function)[1])
    while isinstance(function, functools.partial):
        options = dict(function.keywords) | options
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    texts = {key: repr(options[key]) for key in sorted(options)}
    told = ", ".join(f"{key}={text}" for key, text in texts.items() if " at 0x" not in text and "Value(" not in text)
    return f"{name}({told})" if told else str(name)


def checksum(rows: Examples) -> int | None:
    """Return a number that tells data apart; None where they are something else than numbers and text."""
    if isinstance(rows, RemoteRows):
        return None
    arrays = rows.arrays()
    if arrays is not None:
        return zlib.crc32(arrays[1].tobytes(), zlib.crc32(arrays[0].tobytes()))
    found = 0
    for part in (rows.X, rows.y):
        for x in leaves(part):
            if isinstance(x, str):
                found = zlib.crc32(x.encode("utf-8", "surrogatepass"), found)
            elif hasattr(x, "__float__"):
                found = zlib.crc32(array("d", [float(x)]).tobytes(), found)
            else:
                return None
    return found
