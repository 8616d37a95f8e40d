"""Checkpoints: all that a training run needs to go on as if it had never stopped, in one JSON file."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from os import PathLike
from typing import Any

from micrograd.nn.files import read_json, write
from micrograd.optim import Optimizer

FORMAT = "micrograd checkpoint 1"
Path = str | PathLike[str]


class Place:
    """Where in the data a run is: the epoch, the batch in it, and the seed of the epoch's order."""

    def __init__(self, items: int, batch_size: int | None) -> None:
        self.items, self.batch_size = items, batch_size
        self.batches = -(-items // (batch_size or items))
        self.epoch = self.batch = 0
        self.seed = 0

    def begin(self, rng: random.Random) -> None:
        """Begin an epoch: draw the seed of its order."""
        self.seed = rng.getrandbits(64) if self.batch_size else 0

    def order(self) -> random.Random | None:
        """A generator that gives this epoch's order, the same as often as one asks; None for all data in one batch."""
        return random.Random(self.seed) if self.batch_size else None

    def rest(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches of the epoch that have not been seen."""
        for _ in range(self.batch):
            next(batches)
        return batches

    def advance(self) -> None:
        """One batch is done."""
        self.batch += 1
        if self.batch == self.batches:
            self.epoch, self.batch = self.epoch + 1, 0


def exists(path: Path) -> bool:
    """Whether there is a checkpoint."""
    return os.path.exists(path)


def save(
    path: Path, model: Any, optimizer: Optimizer, rng: random.Random, at: Place, rows: list[dict[str, float]]
) -> None:
    """Write a checkpoint, in one step: a crash leaves the one before or this one."""
    content = {
        "format": FORMAT,
        "items": at.items,
        "batch_size": at.batch_size,
        "epoch": at.epoch,
        "batch": at.batch,
        "seed": at.seed,
        "rng": rng.getstate(),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "history": rows,
    }
    write(path, json.dumps(content).encode())


def load(path: Path, model: Any, optimizer: Optimizer, rng: random.Random, at: Place) -> list[dict[str, float]]:
    """Put model, optimizer, generator and place back to where they were, all or none; gives the history."""
    content = read_json(path, FORMAT)
    try:
        for name in ("items", "batch_size"):
            if content[name] != getattr(at, name):
                raise ValueError(
                    f"{path} is of a run with {name}={content[name]}, and this one has {name}={getattr(at, name)}"
                )
        version, numbers, gauss = content["rng"]
        state = version, tuple(numbers), gauss  # as `random` has it: JSON has no tuples
        rows: list[dict[str, float]] = content["history"]
        where = int(content["epoch"]), int(content["batch"]), int(content["seed"])
        random.Random().setstate(state)
        before = model.state_dict()
        model.load_state_dict(content["model"], source=str(path))
        try:
            optimizer.load_state_dict(content["optimizer"], source=str(path))
        except BaseException:
            model.load_state_dict(before)
            raise
    except (KeyError, TypeError, AttributeError) as reason:
        raise ValueError(f"{path} is damaged: a part of it is missing or of another kind ({reason})") from None
    rng.setstate(state)
    at.epoch, at.batch, at.seed = where
    return rows
