"""The mode of a model: evaluation for as long as it is measured, and afterwards for each module the mode that it had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from micrograd.watch.modules import set_mode
from micrograd.watch.reach import modules_called


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put the modules that a model consists of or calls into evaluation mode in the block."""
    roots = modules_called(model)
    modes = {id(part): (part, part._training) for root in roots for _, part in root.modules()}
    switched = [root for root in roots if any(part._training for _, part in root.modules())]
    trained = [root for root in switched if root._training]
    own = all(root is not model for root in roots)
    if own and getattr(model, "training", False) and hasattr(model, "eval"):
        switched.append(model)  # a class that keeps a mode of its own
        trained.append(model)
    for root in switched:
        root.eval()
    try:
        yield
    finally:
        for root in trained:
            root.train()
        for part, mode in modes.values():
            set_mode(part, mode)
