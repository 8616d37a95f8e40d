"""A training run as it happened: the loss, the accuracy and the parameters of every step, bounded in memory.

Training appends; pages read at their own pace. Nothing in `append` waits for a reader.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from collections.abc import Sequence
from math import isfinite
from threading import Condition
from typing import Any

from micrograd.engine import Value

ROOM = 8_000_000  # numbers that are kept: 64 MB. Beyond, every second step forgets its parameters
MESSAGE = 24_000  # numbers of parameters in one message, about 250 kB as text
MOST_LOSSES = 5_000  # steps in one message


class Record:
    """The steps of a run. `loss[k]` is that of the parameters after k updates, which `parameters[k]` holds."""

    def __init__(self, parameters: Sequence[Value], room: int = ROOM) -> None:
        self._values, self._room = list(parameters), room
        self.parameters: list[array[float] | None] = [self._snapshot()]
        self.loss: list[float | None] = []
        self.accuracy: list[float | None] = []
        self.rate: list[float | None] = []
        self.ended = False
        self._held = 1
        self._rows: Sequence[
            dict[str, float]
        ] = ()  # the history that is being followed, and where in the record it began
        self._base = 0
        self._changed = Condition()

    def _snapshot(self) -> array[float]:
        return array("d", [p.data for p in self._values])

    def __len__(self) -> int:
        return len(self.parameters)

    def append(self, rows: Sequence[dict[str, float]]) -> None:
        """Take what is new in the rows of a history, and the parameters as they are now. Another history goes on from there."""
        with self._changed:
            if rows is not self._rows:
                self._rows, self._base = rows, len(self.loss)
            for row in rows[len(self.loss) - self._base :]:
                self.loss.append(_finite(row.get("loss")))
                self.accuracy.append(_finite(row.get("accuracy")))
                self.rate.append(_finite(row.get("lr")))
            while len(self.parameters) < len(self.loss):
                self.parameters.append(None)  # steps of a run that was resumed: only their losses are known
            self.parameters.append(self._snapshot())
            self._held += 1
            if self._held * max(1, len(self._values)) > self._room:
                self._forget()
            self._changed.notify_all()

    def _forget(self) -> None:
        kept = [k for k, one in enumerate(self.parameters[:-1]) if one is not None]
        for k in kept[1::2]:
            self.parameters[k] = None
        self._held = sum(one is not None for one in self.parameters)

    def end(self) -> None:
        """Say that no more steps will come."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def after(self, seen: int, sent: set[int], timeout: float) -> dict[str, Any] | None:
        """Return what a reader does not know yet, as one message; None if nothing came within the time.

        `seen` counts the losses that it has, `sent` the steps whose parameters it has. A reader that is behind gets the
        newest parameters first. Those in between follow when the run has ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.ended or len(self.loss) > seen or len(self) - 1 not in sent, timeout)
            stop = min(len(self.loss), seen + MOST_LOSSES)
            last = len(self) - 1
            wanted = [last] if last not in sent else []
            room = max(1, MESSAGE // max(1, len(self._values)))
            if self.ended:
                wanted += [k for k in range(last) if k not in sent and self.parameters[k] is not None][: room - 1]
        if stop <= seen and not wanted:
            return None
        sent.update(wanted)
        return self.message(seen, stop, wanted)  # without the lock: training does not wait while this is put into text

    def message(self, start: int, stop: int, steps: Sequence[int]) -> dict[str, Any]:
        """The losses of some steps and the parameters of some, as the page reads them."""
        return {
            "from": start,
            "loss": self.loss[start:stop],
            "accuracy": self.accuracy[start:stop],
            "rate": self.rate[start:stop],
            "parameters": [[k, encoded(one)] for k in steps if (one := self.parameters[k]) is not None],
        }

    def whole(self, room: int) -> dict[str, Any]:
        """The run in one message with at most so many numbers: where that is too few, not every step has parameters."""
        held = [k for k, one in enumerate(self.parameters) if one is not None]
        most = max(2, room // max(1, len(self._values)))
        every = -(-len(held) // most)
        return self.message(0, len(self.loss), sorted({*held[::every], held[-1]}))


def _finite(x: float | None) -> float | None:
    return x if x is not None and isfinite(x) else None


def encoded(numbers: array[float]) -> str:
    """Doubles as base64, little-endian."""
    if sys.byteorder == "big":
        numbers = array("d", numbers)
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()
