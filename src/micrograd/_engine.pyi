"""The C engine as Python sees it: native/*.c. The functions check their arguments; so does mypy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, final

from micrograd.engine import Value as Value
from micrograd.ops import Op

MAX_SCOPE: int
mod_address: int
floordiv_address: int
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
    def install(self, code: MachineCode, inputs: int, outputs: int, scratch: int, template: Any) -> bool: ...
    def install_step(self, code: MachineCode, key: bytes, scratch: int, captured: Captured, op: Op) -> None: ...

# ---- nodes

def apply(op: Op, *args: Any) -> Any: ...
def node(y: Any, op: Op, inputs: Sequence[Value], slopes: Sequence[Any]) -> Value: ...
def attributes(v: Value) -> dict[str, Any]: ...
def zero_grads(values: list[Value]) -> None: ...
def linearize(
    roots: list[Any], inputs: list[Value], trace: int, sources: tuple[Op, Op, Op]
) -> tuple[list[Op], list[tuple[Any, ...]], list[Value], list[int]] | tuple[Value]: ...

# ---- what this thread is doing

def set_recording(on: bool) -> bool: ...
def set_scope(scope: int) -> int: ...
def set_trace(trace: int) -> int: ...
def set_watch(
    watcher: Callable[[str, Any, Any, Any], None] | None, maker: Callable[[Value], None] | None
) -> tuple[Callable[[str, Any, Any, Any], None] | None, Callable[[Value], None] | None]: ...
def is_plain() -> bool: ...
def scopes_in_use() -> set[int]: ...

# ---- machine code

def machine_code(address: int, owner: object) -> MachineCode: ...
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
    op: Op,
    mean: bool,
) -> RowCall | None: ...

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
