"""Run machine code: at one point, or over the rows of arrays. The C engine does the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from micrograd.compile.kernel import RESULT
from micrograd.compile.llvm.build import LoadedCode, Target
from micrograd.compile.pipeline import Goal
from micrograd.engine import Value
from micrograd.tape.tape import Tape

if TYPE_CHECKING:
    from micrograd._engine import MachineCode


def machine_code(code: LoadedCode, tape: Tape, width: int = 0, item: int = 8) -> MachineCode:
    """What the C engine runs: it owns the code, and knows how many numbers of each kind the code reads and writes."""
    from micrograd import _engine

    counts = tape.inputs, tape.params, len(tape.outputs), code.scratch
    return _engine.machine_code(code.address, code.engine, code.left, bool(tape.guards), *counts, width, item)


class Point:
    """Machine code for one point."""

    def __init__(self, code: LoadedCode, tape: Tape) -> None:
        self.outputs, self.scratch = len(tape.outputs), -(-code.scratch // 8)
        self.machine_code = machine_code(code, tape)

    def values(self, numbers: Sequence[Any], params: Any) -> list[float] | None:
        """The outputs, or None where a guard failed. params: a list of Values, or what _engine.captured makes of it."""
        from micrograd import _engine

        result: list[float] | None = _engine.point(
            self.machine_code, numbers, params, self.outputs, self.scratch, None, []
        )
        return result

    def nodes(
        self, numbers: Sequence[Any], params: Any, inputs: list[Value], count: int, unread: bytes | None
    ) -> list[Value] | None:
        """The first `count` outputs as nodes over the inputs and the parameters, or None where a guard failed."""
        from micrograd import _engine

        result: list[Value] | None = _engine.point(
            self.machine_code, numbers, params, count, self.scratch, RESULT, inputs, unread
        )
        return result


class MachineRows:
    """Machine code for rows."""

    def __init__(self, code: LoadedCode, tape: Tape, goal: Goal, target: Target) -> None:
        self.scratch, self.width = code.scratch, target.width
        self.item = 4 if target.float32 else 8
        self.machine_code = machine_code(code, tape, self.width, self.item)
        self.sums = len(tape.outputs) if goal.reduced else 0
        self.guarded, self.no_bad = bool(tape.guards), bytearray(1)

    def run(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, outs: list[Any], threads: int,
        blocks: Any = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """Run rows; see backend.RowsCode."""
        bad, result = self._batch(arrays, axes, uniform, rows, outs, threads, blocks, None, 1.0)
        return bad, result

    def node(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, threads: int, scale: float
    ) -> tuple[Any, Value]:
        """The first sum, scaled, as a node over the Values among the parameters, whose partials are the other sums."""
        bad, result = self._batch(arrays, axes, uniform, rows, [], threads, None, RESULT, scale)
        return bad, result

    def _batch(
        self, arrays: Any, axes: Any, uniform: Any, rows: int, outs: Any, threads: int, blocks: Any, op: Any, scale: float
    ) -> tuple[Any, Any]:  # fmt: skip
        from micrograd import _engine

        cells = (rows + self.width - 1) // self.width
        bad = bytearray(cells * ((self.width + 7) // 8)) if self.guarded else self.no_bad
        any_bad, result = _engine.batch(
            self.machine_code, self.width, self.item, arrays, axes, uniform, rows, outs, self.sums, self.scratch, bad,
            threads, op, scale, blocks)  # fmt: skip
        return (self._bad_rows(bad, rows) if any_bad else None), result

    def _bad_rows(self, bad: bytearray, rows: int) -> Any:
        import numpy as np

        bits = np.unpackbits(np.frombuffer(bytes(bad), np.uint8), bitorder="little")
        per_cell = 8 * ((self.width + 7) // 8)
        return np.flatnonzero(bits.reshape(-1, per_cell)[:, : self.width].reshape(-1)[:rows])
