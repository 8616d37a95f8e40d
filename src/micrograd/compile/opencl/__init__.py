"""The OpenCL backend: the LLVM text of the CUDA backend as SPIR-V, by llvmlite, run by any runtime of OpenCL (pyopencl)."""

from __future__ import annotations

from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile.backend import KernelSource
from micrograd.compile.cuda import functions, kernels
from micrograd.compile.llvm import emit
from micrograd.compile.opencl import run, spirv
from micrograd.compile.pipeline import Goal
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape.tape import Tape


class OpenCL:
    """The backend of vmap(f, device="opencl")."""

    name = "opencl"
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
        return {"device": "opencl"}

    def text(self, tape: Tape, goal: Goal) -> KernelSource:
        """The LLVM text of a tape for SPIR-V."""
        if not goal.rows:
            raise CompileError(
                'backend="opencl" runs rows, and this is one point\n  Use vmap(f, device="opencl") for many rows at once.'
            )
        options, plan = goal.options, self._layout(tape, goal)
        how = options.exact, options.fastmath, bool(tape.guards), goal.reduced
        source, called = kernels.text(plan, *how, kernels.SPIRV)
        other = sorted(name.removeprefix("mg_") for name in called if not functions.same_bits(name))
        note = f"on the device, the last bits of {', '.join(other)} may differ from those of the C library"
        return KernelSource(source, notes=(note,) if other else ())

    def _layout(self, tape: Tape, goal: Goal) -> kernels.Layout:
        plan = kernels.layout(tape, goal.options.float32, goal.options.exact, goal.reduced)
        return plan._replace(by_value=False)

    def compile(self, text: KernelSource, tape: Tape, goal: Goal, level: int) -> Any:
        """What runs the text; a device sees it at the first run."""
        plan, guarded = self._layout(tape, goal), bool(tape.guards)
        return run.OpenCLRows(spirv.from_llvm(text.source), plan, guarded, goal.reduced, goal.options.device)

    def levels(self, text: KernelSource, goal: Goal, wait: bool) -> tuple[int, int]:
        """There is one level."""
        return 2, 2


def number_of(device: str) -> int:
    """The number of a device that is written as "opencl" or "opencl:1"."""
    kind, colon, number = device.partition(":")
    if kind != "opencl" or (colon and not number.isdigit()):
        raise ValueError(f'device={device!r}: it must be "opencl", or "opencl:1" for the second device, and so on')
    return int(number or 0)


backends.register(OpenCL())
