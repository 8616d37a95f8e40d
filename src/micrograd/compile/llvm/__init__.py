"""The LLVM backend: LLVM text from a tape, machine code from the text by llvmlite, run by the C engine."""

from __future__ import annotations

from typing import Any

from micrograd import engine
from micrograd.compile import backend as backends
from micrograd.compile.backend import KernelSource
from micrograd.compile.llvm import build, emit, machine_code, module, tiled
from micrograd.compile.llvm.build import Target
from micrograd.compile.pipeline import Goal
from micrograd.compile.tuning import TUNING
from micrograd.engine import Value
from micrograd.ops import Op
from micrograd.tape.tape import Tape


class LLVM:
    """The backend that jit and vmap use unless told otherwise."""

    name = "llvm"
    regions = True

    def spells(self, op: Op) -> bool:
        """Whether the table has a spelling in LLVM for an op."""
        return emit.spelled(op)

    def registers(self, goal: Goal) -> int:
        """How many sums over rows this processor holds in registers."""
        return tiled.registers(Target.of(goal))

    def fuses(self) -> bool:
        """Whether this processor has an instruction for a·b + c."""
        return build.fuses()

    def parameters(self, values: list[Value]) -> Any:
        """Captured Values as one object that all results share, if no Value occurs twice among them."""
        if not engine.NATIVE:
            return values
        from micrograd import _engine

        return _engine.captured(values)

    def processor(self) -> dict[str, Any]:
        """The properties of this machine that the bits of a result depend on."""
        return {"vectors": build.vector_bits(), "fma": bool(build.host_features().get("fma"))}

    def text(self, tape: Tape, goal: Goal) -> KernelSource:
        """The LLVM text of a tape."""
        return module.text(tape, goal)

    def compile(self, text: KernelSource, tape: Tape, goal: Goal, level: int) -> Any:
        """Machine code from LLVM text: out of the cache on disk where it was made before."""
        target = Target.of(goal, tape)
        code = build.compile_text(text.source, text.scratch, target, level)
        return machine_code.MachineRows(code, tape, goal, target) if goal.rows else machine_code.Point(code, tape)

    def levels(self, text: KernelSource, goal: Goal, wait: bool) -> tuple[int, int]:
        """The first and the final level of optimization; a short text starts at the final one (see Tuning.long_text).

        All levels give the same bits, except with fastmath, which lets LLVM rewrite sums.
        """
        if text.source.count("\n") <= TUNING.long_text:
            return 2, 2
        return (1, 1) if goal.options.fastmath or wait else (0, 1)


backends.register(LLVM())
