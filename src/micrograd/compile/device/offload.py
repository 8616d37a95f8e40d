"""What the backends for devices share: all but their language, and the driver that runs it."""

from __future__ import annotations

import functools
from typing import Any

from micrograd.compile.backend import KernelSource
from micrograd.compile.device import functions, kernels
from micrograd.compile.device.rows import DeviceRows
from micrograd.compile.llvm import emit
from micrograd.compile.pipeline import Goal
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape.tape import Tape


class DeviceBackend:
    """The backend of vmap(f, device=...)."""

    name: str
    dialect: kernels.Dialect
    regions = True

    def spells(self, op: Op) -> bool:
        """Whether the table has a spelling in LLVM for an op."""
        return emit.spelled(op)

    def registers(self, goal: Goal) -> int:
        """How many sums a thread holds in registers: none, since the rows leave what is summed."""
        return 1

    def fuses(self) -> bool:
        """Whether there is an instruction for a·b + c: in every device with double precision."""
        return True

    def parameters(self, values: list[Value]) -> Any:
        """Captured Values as they are."""
        return values

    def processor(self) -> dict[str, Any]:
        """What the bits of a result depend on: they are those of a CPU."""
        return {"device": self.name}

    def translated(self, source: str) -> Any:
        """What the driver loads, made of LLVM text."""
        raise NotImplementedError

    def shown(self, source: str) -> str:
        """The text that `source` shows."""
        return source

    def device(self, number: int) -> Any:
        """A device by its number (see device/rows.py)."""
        raise NotImplementedError

    def _plan(self, tape: Tape, goal: Goal) -> kernels.Layout:
        plan = kernels.layout(tape, goal.options.float32, goal.options.exact, goal.reduced)
        return plan if self.dialect.addresses else plan._replace(by_value=False)

    def _llvm(self, plan: kernels.Layout, goal: Goal, guarded: bool) -> tuple[str, list[str]]:
        return kernels.text(plan, goal.options.exact, goal.options.fastmath, guarded, goal.reduced, self.dialect)

    def text(self, tape: Tape, goal: Goal) -> KernelSource:
        """The program of a tape, as it can be read."""
        if not goal.rows:
            raise CompileError(
                f'backend="{self.name}" runs rows, and this is one point\n'
                f'  Use vmap(f, device="{self.name}") for many rows at once.'
            )
        source, called = self._llvm(self._plan(tape, goal), goal, bool(tape.guards))
        other = sorted(name.removeprefix("mg_") for name in called if not functions.same_bits(name))
        note = f"on the device, the last bits of {', '.join(other)} may differ from those of the C library"
        return KernelSource(self.shown(source), notes=(note,) if other else ())

    def compile(self, text: KernelSource, tape: Tape, goal: Goal, level: int) -> Any:
        """What runs the text; a device sees it at the first run, so that a text can be had on a machine without one."""
        plan, guarded = self._plan(tape, goal), bool(tape.guards)

        def in_memory() -> Any:
            """The code with the tables of parameters and columns in memory, where they may stay between calls."""
            return self.translated(self._llvm(plan._replace(by_value=False), goal, guarded)[0])

        device = functools.partial(self.device, goal.options.device)
        return DeviceRows(self, self._code(text), plan, guarded, goal.reduced, device, in_memory)

    def _code(self, text: KernelSource) -> Any:
        return self.translated(text.source)

    def levels(self, text: KernelSource, goal: Goal, wait: bool) -> tuple[int, int]:
        """There is one level."""
        return 2, 2

    def number_of(self, device: str) -> int:
        """The number of a device that is written as "cuda" or "cuda:1"."""
        kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
        if kind != self.name or (colon and not number.isdigit()):
            raise ValueError(
                f'device={device!r}: it must be "cpu", "cuda" or "opencl", or "{self.name}:1" for the second device, and so on'
            )
        return int(number or 0)
