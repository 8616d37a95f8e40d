"""The CUDA backend: LLVM text from a tape, PTX from the text by llvmlite, run by NVIDIA's driver. No toolkit is needed."""

from __future__ import annotations

from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile.backend import KernelSource
from micrograd.compile.cuda import device_array as device_array
from micrograd.compile.cuda import driver as driver
from micrograd.compile.cuda import functions, kernels, ptx, run
from micrograd.compile.llvm import emit
from micrograd.compile.pipeline import Goal
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape.tape import Tape


class Cuda:
    """The backend of vmap(f, device="cuda")."""

    name = "cuda"
    regions = True

    def spells(self, op: Op) -> bool:
        """Whether the table has a spelling in LLVM for an op."""
        return emit.spelled(op)

    def registers(self, goal: Goal) -> int:
        """How many sums a thread holds in registers: none, since the rows leave what is summed."""
        return 1

    def fuses(self) -> bool:
        """Whether there is an instruction for a·b + c: in every GPU."""
        return True

    def parameters(self, values: list[Value]) -> Any:
        """Captured Values as they are."""
        return values

    def processor(self) -> dict[str, Any]:
        """What the bits of a result depend on: they are those of a CPU."""
        return {"device": "cuda"}

    def text(self, tape: Tape, goal: Goal) -> KernelSource:
        """The PTX of a tape."""
        if not goal.rows:
            raise CompileError(
                'backend="cuda" runs rows, and this is one point\n  Use vmap(f, device="cuda") for many rows at once.'
            )
        options = goal.options
        plan = self._layout(tape, goal)
        source, called = kernels.text(plan, options.exact, options.fastmath, bool(tape.guards), goal.reduced)
        other = sorted(name.removeprefix("mg_") for name in called if not functions.same_bits(name))
        note = f"on the device, the last bits of {', '.join(other)} may differ from those of the C library"
        return KernelSource(ptx.from_llvm(source), notes=(note,) if other else ())

    def _layout(self, tape: Tape, goal: Goal) -> kernels.Layout:
        return kernels.layout(tape, goal.options.float32, goal.options.exact, goal.reduced)

    def compile(self, text: KernelSource, tape: Tape, goal: Goal, level: int) -> Any:
        """What runs the text; the driver sees it at the first run, so that a text can be had on a machine without a GPU."""
        plan = self._layout(tape, goal)
        return run.DeviceRows(text.source, plan, bool(tape.guards), goal.reduced, goal.options.device)

    def levels(self, text: KernelSource, goal: Goal, wait: bool) -> tuple[int, int]:
        """There is one level."""
        return 2, 2


def number_of(device: str) -> int:
    """The number of a device that is written as "cuda" or "cuda:1"."""
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind != "cuda" or (colon and not number.isdigit()):
        raise ValueError(f'device={device!r}: it must be "cpu", "cuda", or "cuda:1" for the second GPU, and so on')
    return int(number or 0)


backends.register(Cuda())
