"""A variant at one point: run by its kernels, or interpreted until they are there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from micrograd import engine
from micrograd.compile import backend as backends
from micrograd.compile import pipeline, worker
from micrograd.compile.kernel import RESULT, Kernel
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.variants import Variant
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.observed import is_recording
from micrograd.tape import interpret, passes
from micrograd.tape.interpret import program
from micrograd.tape.tape import INPUT, Tape
from micrograd.tape.trace import Trace, peek, user_depth
from micrograd.tree import as_floats


class Interpreted:
    """The tape of a kernel, run by the interpreter until there is machine code: with the same bits."""

    def __init__(self, tape: Tape, captured: list[Value]) -> None:
        self.tape, self.captured = tape, captured
        self.program = program(tape)

    def values(self, numbers: list[Any], params: Any) -> list[float] | None:
        """The outputs, or None where a guard failed."""
        if self.program is not None:
            return self.program(numbers, self.captured)
        try:
            return [float(x) for x in interpret.run(self.tape, peek(numbers), peek(self.captured))]
        except interpret.GuardFailed:
            return None

    def nodes(
        self, numbers: list[Any], params: Any, inputs: list[Value], count: int, unread: bytes | None
    ) -> list[Value] | None:
        """The first `count` outputs as nodes over the inputs and the parameters, or None where a guard failed."""
        found = self.values(numbers, params)
        if found is None:
            return None
        over = [*inputs, *self.captured]
        result = []
        for k in range(count):
            mine = range(k * len(over), (k + 1) * len(over))
            read = [(x, found[count + i]) for x, i in zip(over, mine) if not (unread and unread[i])]
            result.append(engine.node(found[k], RESULT, *zip(*read)) if read else Value(found[k]))
        return result


class PointVariant(Variant):
    """One traced path of a function at one point."""

    def __init__(self, trace: Trace, options: Options, compiled: Callable[[PointVariant], None]) -> None:
        super().__init__(trace)
        self.options = options.for_guards(bool(trace.tape.guards) or trace.merged)
        self.compiled = compiled  # called when there is new code
        self.params = backends.find(options.backend).parameters(trace.captured)
        self.failure: CompileError | None = None
        self._warned = False
        self._asked: set[Goal] = set()  # what is being compiled in the background
        self._plain: dict[tuple[int, ...], list[int]] = {}
        self._reached: set[int] | None = None
        self._unread: dict[tuple[int, ...], bytes | None] = {}
        self._goals: dict[tuple[int, ...] | None, Goal] = {}
        self._waiting: dict[Goal, Interpreted] = {}  # what answers until there are kernels

    def goal(self, wanted: tuple[int, ...] | None) -> Goal:
        """Values alone (None), or also gradients with respect to the wanted inputs that they reach, and all parameters."""
        goal = self._goals.get(wanted)
        if goal is None:
            by = ((), ()) if wanted is None else (self.reached(wanted), tuple(range(self.tape.params)))
            goal = self._goals[wanted] = Goal(self.options, *by)
        return goal

    def compile(self, wanted: tuple[int, ...] | None, why: str, wait: bool) -> Kernel:
        """The kernel for values, or for values and gradients, compiled now if it is not there."""
        kernel = self.kernel(self.goal(wanted), why, wait)
        if kernel.level != kernel.final_level:

            def optimize() -> None:
                kernel.optimize()
                self.compiled(self)

            worker.in_background(optimize)
        self.compiled(self)
        return kernel

    def compile_later(self, wanted: tuple[int, ...] | None, why: str) -> None:
        """Compile in the background; a failure is kept, and calls go on being interpreted."""
        goal = self.goal(wanted)
        if not engine.NATIVE or self.failure is not None or goal in self._asked:
            return
        self.check(wanted or ())
        self._asked.add(goal)

        def job() -> None:
            try:
                self.compile(wanted, why, False)
            except CompileError as reason:
                self.failure = reason

        worker.in_background(job)

    def check(self, wanted: tuple[int, ...]) -> None:
        """Refuse a primitive that cannot be compiled now, and not by a warning when the compiling thread finds it."""
        passes.check_primitives(self.tape, wanted, backends.find(self.options.backend).spells)

    def run(self, leaves: list[Any], wanted: tuple[int, ...], wait: bool) -> list[Any] | None:
        """Results for these arguments, of which `wanted` are Values; None where a guard fails."""
        connected = bool(wanted or self.trace.captured)
        reached = self.reached(wanted)
        gradient = bool(reached or self.trace.captured) and is_recording()
        goal = self.goal(wanted if gradient else None)
        kernel = self.kernels.get(goal)
        if kernel is None and engine.NATIVE and wait:
            self.check(wanted)
            kernel = self.compile(wanted if gradient else None, "it was called", True)
        if kernel is not None and self._waiting:
            self._waiting.pop(goal, None)
        code: Any = self._interpreted(goal) if kernel is None else kernel.code
        if kernel is None and engine.NATIVE:
            self.compile_later(wanted if gradient else None, "it was called")
            self._warn()
        if code is None:
            return self._run_eagerly(leaves)
        if not gradient:
            flat = code.values(leaves, self.params)
            return self._finish(flat if flat is None or not connected else [Value(y) for y in flat], wanted)
        inputs = [leaves[i] for i in reached]
        count, unread = len(self.tape.outputs), self.unread(wanted)
        return self._finish(code.nodes(leaves, self.params, inputs, count, unread), wanted)

    def interpret(self, leaves: list[Any]) -> list[Any] | None:
        """The results for plain numbers without a kernel, with its bits."""
        code = self._interpreted(self.goal(None))
        flat = None if code is None else code.values(leaves, self.params)
        return self._run_eagerly(leaves) if code is None else None if flat is None else self.with_constants(flat)

    def as_eager(self) -> bool:
        """Whether a kernel has the bits of eager code, or there will never be one."""
        return self.options.exact or self._interpreted(self.goal(None)) is None

    def _interpreted(self, goal: Goal) -> Interpreted | None:
        """The tape of a kernel that is not compiled yet, to be interpreted; None where there will never be one."""
        if not engine.NATIVE:
            return None
        waiting = self._waiting.get(goal)
        if waiting is not None:
            return waiting
        tape = self.lowered.get(goal, self.tape)  # asked once: the thread that compiles takes it out when it is done
        if tape is self.tape:
            try:
                tape = pipeline.lower(self.tape, goal, backends.find(goal.options.backend))
            except CompileError:  # the thread that compiles finds the same
                tape = None
            if goal not in self.kernels:
                self.lowered[goal] = tape
        if tape is None:
            return None
        found = Interpreted(tape, self.trace.captured)
        if goal not in self.kernels:
            self._waiting[goal] = found
        return found

    def _run_eagerly(self, leaves: list[Any]) -> list[Any] | None:
        """The same with the results of eager code."""
        try:
            return self.with_constants(interpret.run(self.tape, as_floats(leaves), self.trace.captured))
        except interpret.GuardFailed:
            return None

    def reached(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """Those of these inputs that a gradient reaches: a Value that steps alone read is no input of the result."""
        if not wanted:
            return ()
        if self._reached is None:
            places = passes.reached(self.tape, self.tape.outputs)
            self._reached = {
                k[0] for op, k, there in zip(self.tape.ops, self.tape.args, places) if op is INPUT and there
            }
        return tuple([i for i in wanted if i in self._reached])

    def unread(self, wanted: tuple[int, ...]) -> bytes | None:
        """For each result, a 1 for each Value that its gradient never reaches; None where each reaches all of them."""
        if wanted not in self._unread:
            self._unread[wanted] = passes.unread(self.tape, self.reached(wanted), range(self.tape.params))
        return self._unread[wanted]

    def plain(self, wanted: tuple[int, ...]) -> list[int]:
        """The results that depend on no Value, which in eager code are plain numbers."""
        if wanted not in self._plain:
            connected = passes.connected(self.tape, wanted)
            self._plain[wanted] = [k for k, o in enumerate(self.tape.outputs) if not connected[o]]
        return self._plain[wanted]

    def _finish(self, results: list[Any] | None, wanted: tuple[int, ...]) -> list[Any] | None:
        """Results of a kernel (None where a guard failed) as eager code would give them."""
        if results and isinstance(results[0], Value):
            for k in self.plain(wanted):
                results[k] = results[k]._data
        return self.with_constants(results) if results else results

    def with_constants(self, results: list[Any]) -> list[Any]:
        """Results that are constants, such as whole numbers, stay what they are."""
        for k, x in self.trace.constants:
            results[k] = x
        return results

    def _warn(self) -> None:
        """Say once that there will be no machine code."""
        if self.failure is not None and not self._warned:
            self._warned = True
            warnings.warn(
                f"a function cannot be compiled and runs in Python, which is slow: {self.failure}",
                RuntimeWarning,
                stacklevel=user_depth(),
            )
