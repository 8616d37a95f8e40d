"""What a backend is: a text, a compiler and a runner, which meet at a string.

A backend receives a tape whose ops it can spell and a Goal that says what to compute. `text` writes the program, which can be
printed and tested on any machine; `compile` makes it runnable. Everything else (tracing, passes, variants, guards, the
arrangement of results) is shared. tests/c_backend.py is a complete small one, in C through the system's compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from micrograd.compile.pipeline import Abilities, Goal
from micrograd.errors import CompileError
from micrograd.tape.tape import Tape

if TYPE_CHECKING:
    from micrograd.engine import Value


class KernelSource(NamedTuple):
    """The text of a kernel, how many bytes of scratch memory it needs, and what `explain` tells of it."""

    source: str
    scratch: int = 0
    notes: tuple[str, ...] = ()


class PointCode(Protocol):
    """Compiled code for one point."""

    def values(self, numbers: Sequence[Any], params: Any) -> list[float] | None:
        """The outputs of the tape for these inputs and parameters; None where a guard failed."""

    def nodes(
        self, numbers: Sequence[Any], params: Any, inputs: list[Value], count: int, unread: bytes | None
    ) -> list[Value] | None:
        """The first `count` outputs as nodes over the inputs and all parameters, whose partials are the other outputs.

        `unread` has a 1, where it is given, for each partial that no node gets: a gradient of that output never reaches that
        input or parameter. Its partial is 0, which would make nan of an infinite gradient.
        """


class RowsCode(Protocol):
    """Compiled code for the rows of arrays."""

    def run(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, outs: list[Any], threads: int,
        blocks: Any = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """Run the rows of `arrays`, each along its axis, with the parameters `uniform`.

        Each output goes to its array in `outs`; or, where the goal is reduced, into a sum over the rows. `blocks` is then an
        array that gets the sums of each block of BLOCK rows, in order. Returns the numbers of the rows for which a guard failed
        (None where there are none), and the sums over the other rows.
        """


class Backend(Abilities, Protocol):
    """One way of running tapes: what it can spell (see Machine), its text, and its compiler."""

    name: str
    regions: bool  # whether it can write choices and loops; without them, each path is compiled on its own

    def parameters(self, values: list[Value]) -> Any:
        """Captured Values in the form that its code for one point reads; the list itself will do."""

    def processor(self) -> dict[str, Any]:
        """What of this machine decides about the bits of a result, such as the width of its vectors."""

    def text(self, tape: Tape, goal: Goal) -> KernelSource:
        """Write a tape of spelled ops as a program."""

    def compile(self, text: KernelSource, tape: Tape, goal: Goal, level: int) -> Any:
        """Make a PointCode or, where the goal has rows, a RowsCode of a program; `level` says how hard to optimize."""

    def levels(self, text: KernelSource, goal: Goal, wait: bool) -> tuple[int, int]:
        """How hard to optimize at first, and in the end. All levels give the same bits."""


BLOCK = 2048  # rows that are summed together, in a fixed order; blocks are then added in their order
SEGMENT = 256  # rows of a block: each segment is added in eight lanes (row mod 8; 16 of floats), and then lane by lane

_backends: dict[str, Backend] = {}


def register(backend: Backend) -> None:
    """Make a backend available under its name, as the option `backend=` of jit and vmap."""
    _backends[backend.name] = backend


def find(name: str) -> Backend:
    """The backend of that name."""
    if name not in _backends:
        known = ", ".join(sorted(_backends)) or "none is installed"
        raise CompileError(f"backend={name!r}: there is no such backend; known backends: {known}")
    return _backends[name]
