"""One way through a function: its trace, and the machine code of its values and of its gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from micrograd import engine
from micrograd.compile.kernel import PointCode, Settings, in_background, is_recording, prepare, wrt_places
from micrograd.compile.llvm import emit as ir
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.tape import interpret as python
from micrograd.tape import passes
from micrograd.tape.trace import Trace
from micrograd.tree import as_floats

if engine.NATIVE:
    from micrograd._engine import captured as captured
else:

    def captured(values: list[Any]) -> Any:
        """Beside the Python twin there is no machine code to read them."""
        return values


class Path:
    """One way through a function: its trace, and its machine code when that is ready."""

    def __init__(self, found: Trace, settings: Settings) -> None:
        self.trace, self.settings = found, settings
        self.captured = captured(found.captured)  # as the machine code reads them
        self.install: Callable[[], None] = lambda: None  # tell the kernel of new code
        self.value_code: PointCode | None = None
        self.gradient_codes: dict[tuple[int, ...], PointCode] = {}
        self.failure: CompileError | None = None
        self.told = False
        self.constants = found.constants
        self.numbers: dict[tuple[int, ...], list[int]] = {}  # see apart()

    def compile_value(self) -> PointCode:
        """The code for values, made on the first call of this."""
        if self.value_code is None:
            self._compile([], lambda code: setattr(self, "value_code", code))
        return self.value_code  # type: ignore[return-value]

    def compile_gradient(self, wanted: tuple[int, ...]) -> PointCode:
        """The code for values and gradients with respect to the wanted arguments and all captured Values."""
        if wanted not in self.gradient_codes:
            wrt = wrt_places(self.trace.tape, list(wanted))
            self._compile(wrt, lambda code: self.gradient_codes.__setitem__(wanted, code))
        return self.gradient_codes[wanted]

    def _compile(self, wrt: Sequence[int | None], keep: Callable[[PointCode], None]) -> None:
        def replace() -> None:
            keep(code.optimised())
            self.install()

        code = PointCode(prepare(self.trace.tape, wrt, self.settings), self.settings)
        keep(code)
        if code.level != code.final:
            in_background(replace)

    def run(self, leaves: list[Any], wanted: tuple[int, ...]) -> list[Any] | None:
        """Results for these arguments, of which `wanted` are Values; None where a guard fails."""
        connected = bool(wanted or self.trace.captured)
        if not connected or not is_recording():
            if self.value_code is None:
                self._tell()
                return self.interpret(leaves)
            flat = self.value_code.run(leaves, self.captured)
            return self._finish(flat if flat is None or not connected else [Value(y) for y in flat], wanted)
        code = self.gradient_codes.get(wanted)
        if code is None:
            if engine.NATIVE:
                passes.check_primitives(self.trace.tape, wanted, ir.spelled)
            if self.failure is None and self.value_code is not None:
                in_background(lambda: self.attempt(wanted))
            self._tell()
            return self.interpret(leaves)
        nodes = code.nodes(leaves, self.captured, [leaves[i] for i in wanted], len(self.trace.tape.outputs))
        return self._finish(nodes, wanted)

    def interpret(self, leaves: list[Any]) -> list[Any] | None:
        try:
            return self.with_constants(python.run(self.trace.tape, as_floats(leaves), self.trace.captured))
        except python.GuardFailed:
            return None

    def apart(self, wanted: tuple[int, ...]) -> list[int]:
        """The results that no Value has a part in, which in eager code are numbers."""
        if wanted not in self.numbers:
            connected = passes.connected(self.trace.tape, wanted)
            self.numbers[wanted] = [k for k, o in enumerate(self.trace.tape.outputs) if not connected[o]]
        return self.numbers[wanted]

    def _finish(self, results: list[Any] | None, wanted: tuple[int, ...]) -> list[Any] | None:
        """Results of machine code (None where it did not take the numbers) as eager code would give them."""
        if results and isinstance(results[0], Value):
            for k in self.apart(wanted):
                results[k] = results[k]._data
        return self.with_constants(results) if results else results

    def with_constants(self, results: list[Any]) -> list[Any]:
        """Results that are constants, such as whole numbers, stay what they are."""
        for k, x in self.constants:
            results[k] = x
        return results

    def attempt(self, wanted: tuple[int, ...]) -> None:
        """Compile the gradient; a failure is kept, and the interpreter goes on."""
        try:
            self.compile_gradient(wanted)
        except CompileError as reason:
            self.failure = reason

    def _tell(self) -> None:
        """Say once that there will be no machine code."""
        if self.failure is not None and not self.told:
            self.told = True
            warnings.warn(
                f"a compiled function goes on in Python, slowly: {self.failure}", RuntimeWarning, stacklevel=5
            )
