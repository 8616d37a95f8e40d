"""Call every function of the C engine with arguments that are wrong in one place. A program: a crash ends its own process only.

The right calls are those that compiled functions, rows, models and optimizers make. In each of them, every argument, and every
item of an argument that is a list or a tuple, is replaced by something else; arguments are left out and added. Whatever a
function makes of that, it must return or raise an ordinary exception. The last line says how many calls were made.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from micrograd import Value, _engine, jit, nn, optim, value_and_grad, vmap
from micrograd.compile import jit as _jit  # noqa: F401 (all modules that call the engine are imported before it is wrapped)
from micrograd.compile import vmap as _vmap  # noqa: F401
from micrograd.ops import OPS

EXPECTED = (TypeError, ValueError, OverflowError, BufferError, AttributeError, KeyError, IndexError)
ADDRESSES = ("machine_code",)  # takes the address of code, which nobody can check
WRONG: list[Any] = [
    None, True, -1, 0, 2**31, 2**63 - 1, 1 << 70, 3.5, float("nan"), "x", b"ab", bytearray(8), memoryview(b"1234"), [], (), {},
    [1], (1, 2), [None] * 3, object(), int, lambda *args: 1, Value(1.0), [Value(1.0)], (Value(1.0),), OPS["add"], OPS["sum"],
    np.arange(3), np.arange(3, dtype=np.int32), np.zeros((2, 2)).T, np.zeros(0), np.array(["a"]), np.arange(6.0)[::-2],
]  # fmt: skip

Call = tuple[tuple[Any, ...], dict[str, Any]]
seen: dict[str, dict[Any, Call]] = {}


def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        kinds = seen.setdefault(name, {})
        key = tuple([(type(a), len(a) if isinstance(a, (list, tuple)) else 0) for a in args])
        if len(kinds) < 4:
            kinds.setdefault(key, (args, kwargs))
        return function(*args, **kwargs)

    return call


def replace(old: dict[str, Callable[..., Any]], new: dict[str, Callable[..., Any]]) -> None:
    """Put functions in the place of others, in all modules of the package that have imported them."""
    by_id = {id(old[name]): new[name] for name in old}
    for module in [m for name, m in list(sys.modules.items()) if name.startswith("micrograd")]:
        for attribute, value in list(vars(module).items()):
            if id(value) in by_id:
                setattr(module, attribute, by_id[id(value)])


def right_calls() -> None:
    """Programs that call every function of the engine."""
    captured = Value(2.0)

    def f(x: Any, y: Any) -> Any:
        return (x * y + captured).tanh() * x

    for _ in range(3):
        jit(value_and_grad(f), wait=True)(1.0, 2.0)
    jit(f, wait=True)(Value(1.0), Value(2.0)).backward()
    rows = np.arange(50.0)
    mean = vmap(f, reduce="mean")
    for _ in range(4):
        mean(rows, rows).backward()
    vmap(value_and_grad(f))(np.arange(3000.0), np.arange(3000.0))
    model = nn.MLP(2, [3, 1])
    loss = jit(vmap(lambda a, b: model([a, b]), reduce="sum"))
    optimizer = optim.Adam(model.parameters())
    for _ in range(4):
        loss(rows, rows).backward()
        optimizer.step()
        optimizer.zero_grad()
    jit(lambda xs: xs[0] * xs[1], wait=True)([1.0, 2.0])
    model([1.0, 2.0])
    _engine.attributes(captured)
    _engine.zero_grads([captured])
    _engine.unique_leaves([captured])
    _engine.take_values([captured], [])


def mutants(x: Any, wrong: Any, depth: int = 0) -> Iterator[Any]:
    """Something else in the place of x, or of one of its items; an item less, and one more."""
    yield wrong
    if depth < 2 and type(x) in (list, tuple) and 0 < len(x) < 12:
        for i, item in enumerate(x):
            for new in mutants(item, wrong, depth + 1):
                yield type(x)([*x[:i], new, *x[i + 1 :]])
        yield type(x)(x[:-1])
        yield type(x)([*x, wrong])


def wrong_calls(args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for count in range(len(args)):
        yield args[:count]
    yield (*args, None)
    for i, x in enumerate(args):
        for wrong in WRONG:
            for new in mutants(x, wrong):
                yield (*args[:i], new, *args[i + 1 :])


def attempt(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        function(*args, **kwargs)
    except EXPECTED:
        pass
    except BaseException as error:
        print(f"{name}{args!r:.300}: {type(error).__name__}: {error}", flush=True)
        sys.exit(1)
    finally:
        _engine.set_recording(True)
        _engine.set_scope(0)
        _engine.set_trace(0)
        _engine.set_watch(None, None)


def main(seed: int, most: int) -> None:
    real = {name: f for name, f in vars(_engine).items() if callable(f) and not isinstance(f, type)}
    wrapped = {name: watched(name, f) for name, f in real.items()}
    replace(real, wrapped)
    right_calls()
    replace(wrapped, real)
    order, made = random.Random(seed), 0
    slots: Any = _engine.Slots
    values = [Value(1.0), Value(2.0)]
    methods = {"zero": (), "norm": (), "clip_norm": (1.0,), "clip_value": (1.0,), "freeze": (b"\0\1",),
               "copy": ("read", np.zeros(2)), "dot": (np.zeros(2), np.zeros(2)), "add": (0.5, np.zeros(2), np.zeros(2)),
               "rule": ("adam",), "update": (0, np.zeros(8), []), "descend": (Value(1.0), 1.0, ())}  # fmt: skip
    given: dict[str, list[tuple[Callable[..., Any], Call]]] = {
        name: [(real[name], call) for call in calls.values()] for name, calls in seen.items() if name not in ADDRESSES
    }
    given |= {f"Slots.{name}": [(getattr(slots(values), name), (args, {}))] for name, args in methods.items()}
    kernel: Any = _engine.Kernel(object(), len)
    for code, numbers, params, count, scratch, op in [args[:6] for args, _ in seen["point"].values()]:
        if op is None and not len(params):
            n = len(numbers)
            for layout in (b"(" + b"*" * n + b"]", b"([" + b"f" * n + b"]]", b"({" + b"i" * n + b"]]"):
                refs = (tuple(map(str, range(n))),) if b"{" in layout else ()
                args = code, (layout, refs, (), None), count, scratch, tuple(range(count))
                given.setdefault("Kernel.install", []).append((kernel.install, (args, {})))
        elif len(params) and type(params) is not list:
            step = (
                kernel.install_step,
                ((code, (b"(" + b"*" * len(numbers) + b"]", (), (), None), scratch, params, OPS["add"]), {}),
            )
            given.setdefault("Kernel.install_step", []).append(step)
    given |= {"Slots": [(slots, ((values,), {}))], "Kernel": [(_engine.Kernel, ((object(), len), {}))]}
    given |= {
        name: [(f, ((None,), {}))] for name, f in real.items() if name not in (*given, *ADDRESSES, "set_class_of")
    }
    for name, calls in given.items():
        for function, (args, kwargs) in calls:
            every = list(wrong_calls(args))
            for wrong in every if len(every) <= most else order.sample(every, most):
                attempt(name, function, wrong, kwargs)
                made += 1
    print("functions:", *sorted(given))
    print(f"{made} calls")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
