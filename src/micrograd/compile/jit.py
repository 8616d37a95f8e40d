"""jit: the same function, as machine code.

    >>> from micrograd import jit, math, value_and_grad
    >>> f = jit(value_and_grad(lambda x, y: math.exp(x) * y, (0, 1)))
    >>> f(0.0, 2.0)
    (2.0, (2.0, 1.0))

The first call runs the function on Values and answers from that; meanwhile it is compiled, and later calls go to the machine
code. A call whose numbers take another way through an `if` is traced along that way, which gets code of its own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from micrograd import anomaly, engine
from micrograd.compile.kernel import RESULT, Settings, in_background, prepare
from micrograd.compile.llvm import emit as ir
from micrograd.compile.variants import Path
from micrograd.engine import Value
from micrograd.errors import CompileError, TraceError
from micrograd.importable import attribute_of, by_name
from micrograd.tape import passes
from micrograd.tape.trace import Trace, is_tracing, peek, same_way, trace_twice
from micrograd.tree import NUMBER, Shape, fixed, flatten, name_of, not_told_apart, unflatten, wants_function

if engine.NATIVE:
    from micrograd._engine import lay_flat
else:

    def lay_flat(x: Any, leaves: list[Any]) -> bytes | None:
        """Beside the Python twin, flatten does it."""
        return None


MAX_PATHS = 64  # ways through the branches of one function, each compiled on its own


def values_among(leaves: list[Any]) -> tuple[int, ...]:
    """Which of the numbers are Values."""
    return tuple(i for i, x in enumerate(leaves) if isinstance(x, Value))


class Known(tuple[Any, ...]):
    """A shape that remembers its hash (that of a nested tuple is worked out anew each time), and which leaves are Values."""

    _hash: int
    values: tuple[int, ...]

    def __new__(cls, shape: Shape, leaves: list[Any]) -> Known:
        self = super().__new__(cls, shape)
        self._hash = tuple.__hash__(self)
        self.values = values_among(leaves)
        return self

    def __hash__(self) -> int:
        return self._hash


class Fixed:
    """A part of a result that is no number: the same in each call."""

    def __init__(self, x: Any) -> None:
        self.x = x


class Jit:
    """A function and its machine code. Call it as the function; `tape(...)` and `source(...)` show what runs."""

    def __init__(self, f: Callable[..., Any], settings: Settings, static_argnums: tuple[int, ...] = ()) -> None:
        functools.update_wrapper(self, f, updated=())  # type: ignore[arg-type]
        self.f, self.settings = f, settings
        self.static, self.static_names = _static_arguments(f, static_argnums) if static_argnums else ((), set())
        self.paths: dict[Any, list[Path]] = {}
        self.shapes: dict[bytes, Known] = {}
        self.lock = threading.RLock()
        self.kernel: Any = None

    def __repr__(self) -> str:
        return f"<jit of {name_of(self.f)}>"

    def __getattr__(self, name: str) -> Any:
        return attribute_of(self, name)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, by machine code where that is ready."""
        if is_tracing():
            return self.f(*args, **kwargs)  # it becomes part of the outer trace
        if anomaly.looking and anomaly.here():
            return self._watched(args, kwargs)
        return self._call(args, kwargs)

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same inside detect_anomaly(): results are looked at, and found in Python where they are not finite."""
        result = anomaly.without_alarm(lambda: self._call(args, kwargs))
        anomaly.look_at_call(self.f, args, kwargs, result)
        return result

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        shape, leaves = self._known(args) if not kwargs and not self.static else self._flat(args, kwargs)
        try:
            paths = self.paths.get(shape, ())
        except TypeError:
            raise not_told_apart(shape, f"an argument of {self!r}") from None
        wanted = shape.values if type(shape) is Known else values_among(leaves)
        for path in paths:
            flat = path.run(leaves, wanted)
            if flat is not None:
                return unflatten(path.trace.shape, iter(flat))
        path, found = self._path_of(shape, leaves)
        if not wanted and not found.captured:
            flat = path.with_constants(found.numbers)  # the trace has computed them already
        else:
            flat = path.run(leaves, wanted) if path.trace is found else path.interpret(leaves)
        if flat is None:
            raise TraceError(f"{self!r} took another way when it was run again on the same numbers: does it depend on "
                             "something that changes, such as a global variable or the time?")  # fmt: skip
        return unflatten(path.trace.shape, iter(flat))

    def _known(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The same as _flat for lists and tuples of numbers, by a key that C makes: 5 µs for 300 numbers, not 40."""
        leaves: list[Any] = []
        key = lay_flat(args, leaves)
        if key is None:
            return self._flat(args, {})
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = Known(self._flat(args, {})[0], leaves)
        return shape, leaves

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Shape, list[Any]]:
        leaves: list[Any] = []
        static = [i % len(args) for i in self.static if -len(args) <= i < len(args)]
        parts = [fixed(a) if i in static else flatten(a, leaves) for i, a in enumerate(args)]
        named = [fixed(a) if name in self.static_names else flatten(a, leaves) for name, a in kwargs.items()]
        shape: Shape = ("tuple", (("tuple", tuple(parts)), ("dict", tuple(kwargs), tuple(named))))
        return shape, leaves

    def _trace(self, shape: Shape, leaves: list[Any]) -> Trace:
        def spread(args: Any, kwargs: Any) -> Any:
            return self.f(*args, **kwargs)

        spread.__qualname__ = name_of(self.f)
        return trace_twice(spread, self.f, shape, peek(leaves))

    def _path_of(self, shape: Shape, leaves: list[Any]) -> tuple[Path, Trace]:
        """The way that these numbers take, by running the function, and that run.

        It may be a known one, whose machine code refused them: a comparison of numbers that are equal but for a rounding.
        """
        found = self._trace(shape, leaves)
        if engine.NATIVE:  # said now, not by a warning once the compiling thread has found it out
            passes.check_primitives(found.tape, values_among(leaves), ir.spelled)
        with self.lock:
            paths = self.paths.setdefault(shape, [])
            for path in paths:
                if same_way(path.trace, found):
                    return path, found
            if len(paths) >= MAX_PATHS:
                raise TraceError(
                    f"{self!r} has taken {MAX_PATHS} different ways through its branches, and each is compiled on its own\n"
                    "  Write the choice that depends on the numbers as micrograd.math.where(condition, a, b)."
                )
            path = Path(found, self.settings)
            if not paths:
                path.install = functools.partial(self._install, path, shape)
            paths.append(path)
        if engine.NATIVE:
            job = functools.partial(self._compile, path, shape, leaves)
            job() if self.settings.wait else in_background(job)
        return path, found

    def _compile(self, path: Path, shape: Shape, leaves: list[Any]) -> None:
        try:
            self._prepare(path, shape, leaves)
        except BaseException as reason:
            if self.settings.wait:  # the next call begins anew, after Ctrl-C as after an error
                self.paths[shape].remove(path)
                raise
            if not isinstance(reason, CompileError):
                raise
            path.failure = reason

    def _prepare(self, path: Path, shape: Shape, leaves: list[Any]) -> None:
        path.compile_value()
        wanted = values_among(leaves)
        if wanted or path.trace.captured:
            path.compile_gradient(wanted)
        path.install()

    def _install(self, path: Path, shape: Shape) -> None:
        """Let the kernel go straight to the code of this path, where its arguments and results are simple enough."""
        key = None if shape[1][1][1] else _key(shape[1][0])
        if key is None or self.kernel is None:
            return
        if type(path.captured) is not list and path.captured:
            code = path.gradient_codes.get(())
            if code is not None and path.trace.shape == NUMBER and not path.apart(()):
                self.kernel.install_step(code.code.address, key, code.scratch, path.captured, RESULT, code)
        elif not path.trace.captured and set(key[1:-1]) <= {ord("*")} and path.value_code is not None:
            code = path.value_code
            constants = {k: Fixed(x) for k, x in path.constants if type(x) is not float}
            template = _template(path.trace.shape, iter([constants.get(k, k) for k in range(code.outputs)]))
            if template is not None:
                self.kernel.install(code.code.address, len(key) - 2, code.outputs, code.scratch, template, code)

    # ---- looking inside

    def tape(self, /, *args: Any, **kwargs: Any) -> Any:
        """The tape for these arguments, as it was traced."""
        shape, leaves = self._flat(args, kwargs)
        return self._trace(shape, leaves).tape

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """The LLVM text for these arguments."""
        from micrograd.compile.llvm import module as pieces

        return pieces.text(prepare(self.tape(*args, **kwargs), [], self.settings), self.settings.point())[0]

    def __reduce__(self) -> Any:
        return by_name(self.kernel, self.f) or (_again, (self.f, vars(self.settings), self.static))


def _again(f: Any, settings: dict[str, Any], static: tuple[int, ...]) -> Any:
    names = {"exact": "exact", "fast": "fastmath", "single": "float32", "width": "width", "wait": "wait"}
    return jit(f, static_argnums=static, **{names[k]: v for k, v in settings.items()})


def _static_arguments(f: Any, numbers: tuple[int, ...]) -> tuple[tuple[int, ...], set[str]]:
    """Static arguments by number, counted from the front, and by the names under which they may come."""
    from inspect import Parameter, signature

    try:
        parameters = list(signature(f).parameters.values())
    except (TypeError, ValueError):  # a function of C that does not tell
        return numbers, set()
    if any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
        return numbers, set()
    places = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    for n in numbers:
        if not -len(places) <= n < len(places):
            raise ValueError(f"static_argnums has {n}, but {name_of(f)} takes {len(places)} arguments")
    front = tuple(n % len(places) for n in numbers)
    return front, {places[n].name for n in front}


def _key(shape: Shape) -> bytes | None:
    """What lay_flat gives for numbers of this shape; None where it would give none."""
    if shape == NUMBER:
        return b"*"
    if shape[0] not in ("tuple", "list"):
        return None
    parts = [_key(s) for s in shape[1]]
    known = [part for part in parts if part is not None]
    return b"".join([b"(" if shape[0] == "tuple" else b"[", *known, b"]"]) if len(known) == len(parts) else None


def _template(shape: Shape, places: Any) -> Any:
    """How the C side arranges results; None where it cannot (arrays, named tuples)."""
    if shape[0] == "*":
        return next(places)
    if shape[0] in ("tuple", "list"):
        parts = [_template(s, places) for s in shape[1]]
        return None if None in parts else tuple(parts) if shape[0] == "tuple" else parts
    if shape[0] == "dict":
        values = [_template(s, places) for s in shape[2]]
        return None if None in values else dict(zip(shape[1], values))
    return Fixed(shape[1]) if shape[0] == "fixed" else None


def jit(
    f: Callable[..., Any] | None = None, *, exact: bool = False, fastmath: bool = False, wait: bool = False,
    float32: bool = False, width: int | None = None, static_argnums: int | tuple[int, ...] = (),
) -> Any:  # fmt: skip
    """Compile a function of numbers: plain scalar Python, branches and loops included.

    - exact: results equal to eager code to the bit (slower: no vector math, no fused multiply-add).
    - fastmath: also rewrites that hold for real numbers only.
    - wait: compile in the first call, not in the background.
    - static_argnums: arguments that are no numbers to differentiate or vary, such as a count of steps.
    """
    if f is None:
        return lambda g: jit(
            g, exact=exact, fastmath=fastmath, wait=wait, float32=float32, width=width, static_argnums=static_argnums
        )
    wants_function(f, "compile")
    static = tuple(static_argnums) if isinstance(static_argnums, (tuple, list)) else (static_argnums,)
    if not all(isinstance(n, int) for n in static):
        raise TypeError(
            f"static_argnums={static_argnums!r}: the number of an argument, counted from 0, or a tuple of them"
        )
    settings = Settings(exact, fastmath, float32, width, wait)
    from micrograd.compile.vmap import Vmap

    if isinstance(f, Vmap):
        return f.with_settings(settings)
    if float32 or width is not None:
        raise ValueError("float32 and width are for rows: jit(vmap(f), float32=True), or vmap(f, float32=True)")
    owner = Jit(f, settings, static)
    if not engine.NATIVE:
        return _PythonKernel(owner)
    from micrograd import _engine

    owner.kernel = _engine.Kernel(owner, owner.call)
    return owner.kernel


class _PythonKernel:
    """What stands in for the C kernel beside the Python twin: every call is interpreted."""

    def __init__(self, owner: Jit) -> None:
        self.owner = owner
        owner.kernel = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.owner.call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["owner"], name)

    def __get__(self, instance: Any, kind: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return repr(self.owner)

    def __reduce__(self) -> Any:
        return self.owner.__reduce__()
