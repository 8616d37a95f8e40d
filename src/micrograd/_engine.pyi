"""The C engine as Python sees it: native/*.c. The functions check their arguments; so does mypy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, final, overload

from micrograd.engine import Value as Value
from micrograd.ops import Op

Layout = tuple[bytes, tuple[Any, ...], tuple[str, ...], Any]  # see native/layout.c

MAX_SCOPE: int
mod_address: int
floordiv_address: int
philox_address: int
pause_address: int
alloc_address: int
free_address: int
enter_address: int
xla_rows_address: int
functions: dict[str, Callable[..., Any]]

@final
class Captured:
    """The Values that a compiled function reads and differentiates by: each of them once."""

    def __len__(self) -> int: ...

@final
class MachineCode:
    """A capsule that owns machine code (in Python its type is PyCapsule)."""

@final
class RowCall:
    """What answers calls on arrays of known kinds; None for others."""

    def __call__(self, *arrays: Any) -> Value | None: ...

class Kernel:
    """A callable that goes straight to machine code when its arguments are plain numbers, else to `slow`."""

    def __init__(self, owner: Any, slow: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def install(self, code: MachineCode, layout: Layout, outputs: int, scratch: int, template: Any) -> bool: ...
    def install_step(
        self, code: MachineCode, layout: Layout, scratch: int, captured: Captured, op: Op | None
    ) -> None: ...
    def look_at(self, key: tuple[Any, ...] | None, /) -> None: ...
    def forget(self) -> None: ...

# ---- Python's own functions

def extend(standard: dict[str, Any], twins: dict[str, Any]) -> list[str]: ...
def extend_makers(numpy: dict[str, Any], make: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None: ...
def set_float_of(function: Callable[[Any], Any]) -> bool: ...

# ---- nodes

def apply(op: Op, *args: Any) -> Any: ...
def node(y: Any, op: Op, inputs: Sequence[Value], slopes: Sequence[Any]) -> Value: ...
def attributes(v: Value) -> dict[str, Any]: ...
def zero_grads(values: list[Value]) -> None: ...
def take_values(holder: list[Any] | tuple[Any, ...] | dict[str, Any], into: list[Value]) -> bool: ...
def fire(neurons: Iterable[Any], x: Any, plain: type | None) -> list[Any]: ...
def unique_leaves(values: list[Value]) -> list[Value]: ...
def linearize(
    roots: list[Any], inputs: list[Value], trace: int, sources: tuple[Op, Op, Op]
) -> tuple[list[Op], list[tuple[Any, ...]], list[Value], list[int]] | tuple[Value]: ...
def interpret(
    ops: tuple[Op, ...],
    args: tuple[tuple[Any, ...], ...],
    inputs: Sequence[Any],
    params: Sequence[Any],
    sources: tuple[Op, Op, Op],
    other: Callable[[Op, tuple[int, ...], list[Any]], Any],
) -> list[Any]: ...

@final
class Program:
    """A tape of numbers alone, called with the numbers of its inputs and its parameters; None where a guard fails."""

    @overload
    def __call__(self, inputs: list[Any], params: list[Any], /) -> list[float] | None: ...
    @overload
    def __call__(
        self, inputs: list[Any], params: list[Any], choices: Literal[True], /
    ) -> tuple[list[float] | None, bytes]: ...

def program(
    ops: tuple[Any, ...],
    args: tuple[tuple[Any, ...], ...],
    outputs: tuple[int, ...],
    guards: tuple[tuple[str, int, int, bool], ...],
    special: tuple[Any, ...],
) -> Program | None: ...
def pull(
    roots: list[Any], inputs: list[Value], trace: int, end: Op, cotangent: list[float] | None = None
) -> list[float] | None: ...
def push(
    roots: list[Any], inputs: list[Value], trace: int, end: Op, direction: list[float] | None = None
) -> list[float] | None: ...

# ---- derivatives at one point

class Derivative:
    """What a transform makes of a function; called like it."""

    def _prepare(
        self,
        f: Callable[..., Any],
        slow: Callable[..., Any],
        how: str,
        argnums: Any,
        aux: bool,
        hooks: tuple[Callable[..., Any], ...],
        ends: Op,
    ) -> None: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

@final
class EagerRun:
    """A run of a function that C differentiates, for those who ask meanwhile."""

    f: Callable[..., Any]
    frame: Any
    refused: list[Exception] | None
    kinds: Any
    serial: int
    inputs: list[Value]
    origins: list[Any]
    def __call__(self, how: str, v: Any, other: Any, result: Any, /) -> Any: ...

def next_trace() -> int: ...
def running(serial: int, /) -> EagerRun | None: ...
def set_staged(on: bool, /) -> None: ...
def set_arrays(array: type, empty: Callable[..., Any], carrying: type) -> None: ...

# ---- what this thread is doing

class NoGrad:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def set_recording(on: bool) -> bool: ...
def is_recording() -> bool: ...
def set_scope(scope: int) -> int: ...
def set_trace(trace: int) -> int: ...
def set_watch(
    watcher: Callable[[str, Any, Any, Any], Any] | None,
    maker: Callable[[Value], None] | None,
    only_differences: bool = False,
) -> tuple[Callable[[str, Any, Any, Any], Any] | None, Callable[[Value], None] | None, bool]: ...
def set_class_of(function: Callable[[Any], Any]) -> None: ...
def is_plain() -> bool: ...
def scopes_in_use() -> set[int]: ...
def after_collection(phase: str, info: dict[str, int], /) -> None: ...

# ---- machine code

def machine_code(
    address: int,
    owner: object,
    left: bool,
    guarded: bool,
    inputs: int,
    params: int,
    outputs: int,
    scratch: int,
    width: int = 0,
    item: int = 8,
    /,
) -> MachineCode: ...
def compiling(on: bool, /) -> bool: ...
def captured(values: list[Value]) -> Captured | list[Value]: ...
def lay_flat(x: Any, leaves: list[Any]) -> bytes | None: ...
def point(
    code: MachineCode,
    numbers: Sequence[Any],
    params: list[Value] | Captured,
    n_out: int,
    n_scratch: int,
    op: Op | None,
    inputs: list[Value],
    unread: bytes | None = None,
) -> list[Any] | None: ...
def batch(
    code: MachineCode,
    width: int,
    item: Literal[4, 8] | int,
    arrays: tuple[Any, ...],
    axes: tuple[int, ...],
    uniform: list[Any] | Captured,
    rows: int,
    outs: list[Any],
    n_acc: int,
    scratch: int,
    bad: Any,
    threads: int,
    op: Op | None,
    scale: float,
    blocks: Any = None,
) -> tuple[bool, Any]: ...
def row_call(
    args: tuple[Any, ...],
    current: tuple[Mapping[Any, Any], Any, Any],
    captured: Captured,
    work: tuple[MachineCode, int, int, int, int, int],
    op: Op | None,
    mean: bool,
    watch: tuple[Any, ...] | None,
) -> RowCall | None: ...
def unchanged(key: tuple[Any, ...], /) -> bool: ...

# ---- optimizers (optim.c)

@final
class Slots:
    """Parameters in one go: their data and gradients, and what a rule keeps of each."""

    def __init__(self, values: Iterable[Value]) -> None: ...
    def zero(self) -> None: ...
    def norm(self) -> float: ...
    def clip_norm(self, limit: float) -> float: ...
    def clip_value(self, limit: float) -> None: ...
    def freeze(self, frozen: bytes) -> None: ...
    def update(self, rule: int, constants: Any, kept: Any) -> None: ...
    def descend(self, root: Value, limit: float, updates: Any) -> bool: ...
    def copy(self, how: Literal["read", "write", "gradients"], buffer: Any) -> None: ...
    @staticmethod
    def dot(a: Any, b: Any) -> float: ...
    @staticmethod
    def add(factor: float, x: Any, y: Any) -> None: ...
    @staticmethod
    def rule(name: str) -> int: ...
