"""Who is timed, and where each one's functions are. A contender is imported in a process of its own (worker.py)."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .evals import EVALS

HERE = Path(__file__).resolve().parent

OURS, HAND = "micrograd", "C"
FORMS = {
    "rows": "data as rows of vmap",
    "whole": "one compiled function in place of several",
}  # of the same code, in forms/
PEERS = {"JAX": ("jax", "with_jax"), "PyTorch": ("torch", "with_torch")}
ALL = (OURS, *FORMS, HAND, *PEERS)


def installed() -> list[str]:
    """Return the contenders that can run here."""
    from . import hand_written

    found = [OURS, *FORMS]
    if hand_written.version():
        found.append(HAND)
    return found + [name for name, (package, _) in PEERS.items() if find_spec(package) is not None]


def has(contender: str, name: str) -> bool:
    """Whether a contender may have an eval; a peer is not imported to see."""
    if contender in FORMS:
        return (HERE / "forms" / f"{contender}_{name}.py").exists()
    return True


def find(contender: str, name: str, function: str) -> Any:
    """Return a contender's function, which can prepare, call and finish, or None."""
    if contender == HAND:
        from .hand_written import HandWritten

        return HandWritten(name, function != EVALS[name].value)
    if contender in PEERS:
        made = getattr(import_module(f".peers.{PEERS[contender][1]}", __package__), name, None)
        return made().get(function) if made else None
    sys.path.insert(0, str(HERE / "tool"))
    if contender == OURS:
        return getattr(import_module(name), function)
    return getattr(import_module(f".forms.{contender}_{name}", __package__), function)
