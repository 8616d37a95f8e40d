"""What a run has learned, for its checkpoint: the model, parameters that are not part of it, running means, and random keys."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from micrograd.nn import Module
from micrograd.nn.dropout import dropouts
from micrograd.nn.parameters import tensors
from micrograd.optim import Optimizer
from micrograd.train.average import EMA
from micrograd.tree import flatten


class Learned:
    """All numbers that a step changes, beside those of the optimizer itself.

    The parameters of the optimizer that the state of the model does not hold are kept too: those of a loss, of private
    attributes, and all of them where the model is a function or a class without a state_dict.
    """

    def __init__(self, model: Any, optimizer: Optimizer, callbacks: Iterable[Any] = ()) -> None:
        has_state = hasattr(model, "state_dict") and hasattr(model, "load_state_dict")
        self.model = model if has_state else None
        inside = _in_state(model)
        self.outside = [p for p in optimizer.parameters if id(p) not in inside]
        self.means = [callback for callback in callbacks if isinstance(callback, EMA)]
        self.dropouts = dropouts(model)
        if has_state and not isinstance(model, Module):
            try:
                json.dumps(model.state_dict())
            except (TypeError, ValueError) as reason:
                raise TypeError(
                    f"a checkpoint is a JSON file, and the state_dict() of {type(model).__name__} does not fit into one "
                    f"({reason}): return plain numbers, texts, lists and dicts from it"
                ) from None

    def state(self) -> dict[str, Any]:
        """Return the numbers as they are now."""
        return {
            "model": {} if self.model is None else self.model.state_dict(),
            "outside": [p.data for p in self.outside],
            "means": [mean.state_dict() for mean in self.means],
            "keys": [part._key for part in self.dropouts],
        }

    def check(self, content: dict[str, Any], source: str) -> None:
        """Refuse numbers that do not fit; those of the model are checked where they are loaded."""
        saved = content.get("outside")  # None in a file of an earlier version, which did not keep them
        if saved is None and self.outside:
            raise ValueError(
                f"{source} lacks {len(self.outside)} parameters of the optimizer that are not part of the model's state: it "
                "was written by an earlier version, which did not keep them; start again, without resume=True"
            )
        if not _are_numbers(saved or [], len(self.outside)):
            count = len(saved) if isinstance(saved, list) else "no"
            raise ValueError(
                f"{source} has {count} parameters beside the model's, and this optimizer has {len(self.outside)}"
            )
        keys = content.get("keys", [])  # none in a file of an earlier version
        if not _are_numbers(keys, len(keys)):
            raise ValueError(f"{source} has invalid random keys: {keys!r}")
        for mean, numbers in zip(self.means, content.get("means", [])):
            mean.check(numbers, source)

    def load(self, content: dict[str, Any], source: str) -> None:
        """Put the numbers back; a mean that the file does not have begins with the parameters that were loaded."""
        if isinstance(self.model, Module):
            self.model.load_state_dict(content["model"], source=source)
        elif self.model is not None:
            self.model.load_state_dict(content["model"])
        for p, x in zip(self.outside, content.get("outside", [])):
            p.data = x
        keys = content.get("keys", [])
        if len(keys) == len(self.dropouts):
            for part, key in zip(self.dropouts, keys):
                part._key = key
        saved = content.get("means", [])
        for k, mean in enumerate(self.means):
            if k < len(saved):
                mean.load_state_dict(saved[k], source)
            else:
                mean.restart()


def _in_state(model: Any) -> set[int]:
    """Return which Values the state_dict of a model holds; none where somebody has written it himself."""
    if not isinstance(model, Module) or type(model).state_dict is not Module.state_dict:
        return set()
    found: list[Any] = []
    for _, tensor in tensors(model):
        flatten(tensor, found)
    return {id(p) for p in found}


def _are_numbers(saved: Any, count: int) -> bool:
    return isinstance(saved, list) and len(saved) == count and all(isinstance(x, float) and isfinite(x) for x in saved)
