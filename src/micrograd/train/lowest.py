"""The lowest loss of a run: when it was, and the parameters that had it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import inf
from typing import Any

from micrograd.engine import Value
from micrograd.optim.slots import Slots
from micrograd.train.history import Row


class Lowest:
    """The lowest mean loss of an epoch so far, and how many epochs ago it was; kept as rows come, not read from all rows."""

    def __init__(self) -> None:
        self.best, self.since, self.improved = inf, 0, False
        self._sum, self._count = 0.0, 0

    def take(self, row: Row, ended: bool) -> None:
        """Take one more row of the history; `ended` says that it is the last of its epoch."""
        self._sum, self._count, self.improved = self._sum + row["loss"], self._count + 1, False
        if not ended:
            return
        mean = row.get("validation_loss", self._sum / self._count)
        self._sum, self._count = 0.0, 0
        if mean < self.best:
            self.best, self.since, self.improved = mean, 0, True
        else:
            self.since += 1


class Best:
    """The parameters of the epoch with the lowest loss."""

    def __init__(self, parameters: Sequence[Value]) -> None:
        self._slots: Any = Slots(parameters)
        self._data: Any = array("d", bytes(8 * len(parameters)))
        self._before: Any = array("d", self._data)
        self.row: Row | None = None

    def look(self) -> None:
        """Note the parameters before a step."""
        self._slots.copy("read", self._before)

    def take(self, row: Row, before: bool) -> None:
        """Keep the parameters as they are now, or as they were before the step."""
        if before:
            self._data, self._before = self._before, self._data
        else:
            self._slots.copy("read", self._data)
        self.row = row

    def restore(self) -> Row | None:
        """Put the best parameters back; return the row of the history that they are of."""
        if self.row is not None:
            self._slots.copy("write", self._data)
        return self.row

    def state(self) -> dict[str, Any] | None:
        """Return what a checkpoint keeps."""
        return None if self.row is None else {"row": self.row, "data": self._data.tolist()}

    def load(self, state: dict[str, Any] | None) -> None:
        """Take what a checkpoint kept."""
        if state is not None:
            self._data, self.row = array("d", state["data"]), state["row"]
