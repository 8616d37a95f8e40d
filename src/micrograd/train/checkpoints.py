"""Checkpoints: all that a training run needs to go on as if it had never stopped.

A checkpoint is a JSON file with the state, and beside it a file of the same name with the ending `.history`, to which the
rows of the history are appended: the cost of a checkpoint does not grow with the length of the run. The state says how many
bytes of the history belong to it, so that a crash between the two writes does no harm. A run that starts over in the
checkpoint of another one writes its history behind that one's, which stays good until it is replaced. Both have a checksum.
"""

from __future__ import annotations

import json
import os
import random
import zlib
from collections.abc import Iterable, Iterator
from math import isfinite
from os import PathLike
from typing import Any

from micrograd.nn.files import read_json, remove_leftovers, write
from micrograd.optim import Optimizer
from micrograd.train.history import History, Row
from micrograd.train.identity import Identity, check
from micrograd.train.learned import Learned

FORMAT = "micrograd checkpoint 2"
Path = str | PathLike[str]


class DataPosition:
    """Where in the data a run is: the epoch, the batch in it, and the seed of the epoch's order."""

    def __init__(self, items: int, batch_size: int | None, accumulate: int = 1) -> None:
        self.items, self.batch_size, self.accumulate = items, batch_size, accumulate
        self.batches = -(-items // ((batch_size or items) * accumulate))
        self.epoch = self.batch = 0
        self.seed = 0

    def begin(self, rng: random.Random) -> None:
        """Begin an epoch of batches: draw the seed of its order."""
        self.seed = rng.getrandbits(64)

    def rest(self) -> Iterable[list[Any]]:
        """Give the steps of the epoch that are left, each as a list of batches of row numbers; [None] is all rows."""
        return ([None],) if self.batch_size is None else self._batches(self.batch_size)

    def _batches(self, size: int) -> Iterator[list[Any]]:
        order = list(range(self.items))
        random.Random(self.seed).shuffle(order)
        for start in range(self.batch * size * self.accumulate, self.items, size * self.accumulate):
            stop = min(start + size * self.accumulate, self.items)
            yield [order[i : min(i + size, stop)] for i in range(start, stop, size)]

    def advance(self) -> None:
        """Count a step that was taken."""
        self.batch += 1
        if self.batch == self.batches:
            self.epoch, self.batch = self.epoch + 1, 0


class Checkpoint:
    """The checkpoint of one run, on disk."""

    def __init__(self, path: Path, identity: Identity | None = None) -> None:
        self.path, self.identity = path, identity or {}
        self.beside = f"{os.path.realpath(path)}.history"
        self.rows = self.bytes = self.check = 0  # of the history that is on disk
        self.start = 0  # where it begins in its file: behind the history of another run, which this one replaces

    def exists(self) -> bool:
        """Whether there is a checkpoint."""
        return os.path.exists(self.path)

    # ---- writing

    def save(
        self,
        model: Any,
        optimizer: Optimizer,
        rng: random.Random,
        at: DataPosition,
        history: History,
        best: dict[str, Any] | None = None,
        callbacks: Iterable[Any] = (),
    ) -> None:
        """Write a checkpoint; a crash, a full disk or a state that is not finite leaves the one before."""
        state, moments = Learned(model, optimizer, callbacks).state(), optimizer.state_dict()
        if not (_finite(state) and _finite(moments)):
            return
        remove_leftovers(self.path)
        new = self._append(history.rows)
        content = {
            "items": at.items,
            "batch_size": at.batch_size,
            "accumulate": at.accumulate,
            "epoch": at.epoch,
            "batch": at.batch,
            "seed": at.seed,
            "rng": rng.getstate(),
            **state,
            "optimizer": moments,
            "stopped": history.stopped,
            "best": best,
            "run": self.identity,
            "history": {"start": self.start, "rows": new[0], "bytes": new[1], "check": new[2]},
        }
        text = json.dumps(content)
        check = zlib.crc32(text.encode())
        write(self.path, f'{{"format": "{FORMAT}", "check": {check}, "content": {text}}}'.encode())
        self.rows, self.bytes, self.check = new

    def _append(self, rows: list[Row]) -> tuple[int, int, int]:
        """Append what is new to the history on disk; return its new number of rows, bytes and checksum."""
        text = "".join(json.dumps(row) + "\n" for row in rows[self.rows :]).encode()
        handle = os.open(self.beside, os.O_RDWR | os.O_CREAT, 0o666)
        with os.fdopen(handle, "r+b") as file:
            if not self.bytes:
                self.start = os.fstat(file.fileno()).st_size if self.exists() else 0
            end = self.start + self.bytes
            file.truncate(end)  # what a run that was killed wrote behind its last checkpoint
            file.seek(end)
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
        return len(rows), self.bytes + len(text), zlib.crc32(text, self.check)

    # ---- reading

    def load(
        self,
        model: Any,
        optimizer: Optimizer,
        rng: random.Random,
        at: DataPosition,
        settings: str = "same",
        callbacks: Iterable[Any] = (),
    ) -> tuple[list[Row], str, dict[str, Any] | None]:
        """Put model, optimizer, generator and place back, all or none; return the history, why it stopped, and the best."""
        content = self._read()
        for name in ("items", "batch_size", "accumulate"):
            if content[name] != getattr(at, name):
                raise ValueError(
                    f"{self.path} is of a run with {name}={content[name]}, and this one has {name}={getattr(at, name)}"
                )
        saved = content.get("run", {})
        if not isinstance(saved, dict):
            raise self._damaged("it does not say which run it belongs to")
        check(saved, self.identity, self.path, settings)
        if content["batch"] >= at.batches:
            raise self._damaged(f"batch {content['batch']} of {at.batches}")
        if content["history"]["rows"] != content["epoch"] * at.batches + content["batch"]:
            raise self._damaged("the length of its history is not that of its place in the data")
        rows = self._history(content["history"])
        version, numbers, gauss = content["rng"]
        state = version, tuple(numbers), gauss  # as `random` has it: JSON has no tuples
        try:
            random.Random().setstate(state)
        except (TypeError, ValueError, OverflowError):
            raise self._damaged("the state of its random generator is invalid") from None
        best = content["best"]
        if best is not None and len(best["data"]) != len(optimizer.parameters):
            raise self._damaged("the number of its best parameters is wrong")
        learned = Learned(model, optimizer, callbacks)
        learned.check(content, str(self.path))
        before = learned.state()
        learned.load(content, str(self.path))
        try:
            optimizer.load_state_dict(content["optimizer"], source=str(self.path), settings=settings)
        except BaseException:
            learned.load(before, "the state")
            raise
        rng.setstate(state)
        at.epoch, at.batch, at.seed = content["epoch"], content["batch"], content["seed"]
        if settings == "saved":
            self.identity = self.identity | saved
        kept = content["history"]
        self.start = kept.get("start", 0)
        self.rows, self.bytes, self.check = kept["rows"], kept["bytes"], kept["check"]
        return rows, content["stopped"], best

    def _read(self) -> dict[str, Any]:
        """Return the content of the file, with its checksum and the kind of every part checked."""
        table = read_json(self.path, FORMAT)
        content = table.get("content")
        if not isinstance(content, dict):
            raise self._damaged("it has no content")
        if table.get("check") != zlib.crc32(json.dumps(content).encode()):
            raise self._damaged("its content does not agree with its checksum")
        for name, kinds in KINDS.items():
            if name not in content:
                raise self._damaged(f"{name} is missing")
            if not isinstance(content[name], kinds) or isinstance(content[name], bool):
                raise self._damaged(f"{name} is a {type(content[name]).__name__}")
        for name in ("items", "epoch", "batch", "seed", "accumulate"):
            if content[name] < 0:
                raise self._damaged(f"{name} is {content[name]}")
        for name in ("start", "rows", "bytes", "check"):
            number = content["history"].get(name, 0 if name == "start" else None)
            if not isinstance(number, int) or number < 0:
                raise self._damaged(f"its history has no {name}")
        if len(content["rng"]) != 3 or not isinstance(content["rng"][1], list):
            raise self._damaged("the state of its random generator is invalid")
        for name in ("outside", "means", "keys"):  # which a file of an earlier version does not have
            if not isinstance(content.get(name, []), list):
                raise self._damaged(f"{name} is a {type(content[name]).__name__}")
        best = content["best"]
        if best is not None and not (
            isinstance(best.get("data"), list) and isinstance(best.get("row"), dict) and _finite(best["data"])
        ):
            raise self._damaged("its best parameters are invalid")
        return content

    def _history(self, kept: dict[str, int]) -> list[Row]:
        try:
            with open(self.beside, "rb") as file:
                file.seek(kept.get("start", 0))
                text = file.read(kept["bytes"])
        except FileNotFoundError:
            raise ValueError(
                f"{self.path} belongs to {self.beside}, which holds the history and does not exist"
            ) from None
        lines = text.splitlines()
        if len(text) != kept["bytes"] or len(lines) != kept["rows"] or zlib.crc32(text) != kept["check"]:
            raise ValueError(f"{self.beside} is damaged: it does not agree with its checksum in {self.path}")
        return [json.loads(line) for line in lines]

    def _damaged(self, reason: str) -> ValueError:
        return ValueError(f"{self.path} is damaged: {reason}")


KINDS: dict[str, Any] = {
    "items": int,
    "batch_size": (int, type(None)),
    "accumulate": int,
    "epoch": int,
    "batch": int,
    "seed": int,
    "rng": list,
    "model": dict,
    "optimizer": dict,
    "stopped": str,
    "best": (dict, type(None)),
    "history": dict,
}


def _finite(x: Any) -> bool:
    """Whether all numbers in nested lists and dicts are finite."""
    if isinstance(x, float):
        return isfinite(x)
    if isinstance(x, dict):
        return all(map(_finite, x.values()))
    return all(map(_finite, x)) if isinstance(x, (list, tuple)) else True
