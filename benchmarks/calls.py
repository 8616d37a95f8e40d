"""What a call of a compiled function costs, by the kind of its arguments and by what it reads: python benchmarks/calls.py

Each function does next to nothing, so that the call itself is timed. The last column is the ratio to a call with plain numbers,
in the same run; with --peers also that of JAX, if it is installed.
"""

from __future__ import annotations

import argparse
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clocks import clock
from micrograd import Value, grad, jit

Pair = namedtuple("Pair", "a b")


@dataclass
class Option:
    """An object that is given as an argument, or whose method is compiled."""

    a: float
    b: float
    kind: str = "call"

    def of(self, x: Any) -> Any:
        """Read two of the attributes."""
        return self.a * x + self.b


def calls() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Name, function, arguments, arguments by name."""
    pair = lambda p: p[0] * p[1]  # noqa: E731
    option, w = Option(1.0, 2.0), Value(2.0)
    flat, table = [0.5] * 10_000, np.arange(10_000.0)
    yield "two numbers", lambda x, y: x * y, (1.0, 2.0), {}
    yield "the same, by name", lambda x, y: x * y, (), {"x": 1.0, "y": 2.0}
    yield "a list", pair, ([1.0, 2.0],), {}
    yield "its gradient, a list", grad(pair), ([1.0, 2.0],), {}
    yield "a dict", lambda p: p["a"] * p["b"], ({"a": 1.0, "b": 2.0},), {}
    yield "a named tuple", lambda p: p.a * p.b, (Pair(1.0, 2.0),), {}
    yield "a dataclass", lambda p: p.a * p.b, (option,), {}
    yield "a method of it", option.of, (1.0,), {}
    yield "an array", pair, (np.array([1.0, 2.0]),), {}
    yield "its gradient, an array", grad(pair), (np.array([1.0, 2.0]),), {}
    yield "a captured Value", lambda x: w * x, (1.0,), {}
    yield "a list of 10,000 outside", lambda x: flat[3] * x, (1.0,), {}
    yield "an array of 10,000 outside", lambda x: table[3] * x, (1.0,), {}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="time jax.jit beside it, where it can take the argument")
    peers = parser.parse_args().peers
    first = None
    print(f"{'argument':28} {'ns':>8} {'ratio':>7}" + ("  jax.jit, us" if peers else ""))
    for name, f, args, kwargs in calls():
        compiled = jit(f, wait=True)
        seconds = best(compiled, args, kwargs)
        first = first or seconds
        beside = f"{peer(f, args, kwargs):>13}" if peers else ""
        print(f"{name:28} {1e9 * seconds:8.0f} {seconds / first:6.1f}x{beside}")
    if peers:
        bridge()


def bridge() -> None:
    """Print what a gradient through `to_jax` takes under jax.jit, beside JAX's own of the same function."""
    import jax

    from micrograd import math, to_jax

    jax.config.update("jax_enable_x64", True)
    ours = jax.jit(jax.grad(to_jax(lambda x, y: math.exp(x) * y)))
    own = jax.jit(jax.grad(lambda x, y: jax.numpy.exp(x) * y))
    times = [best(lambda f=f: jax.block_until_ready(f(0.5, 2.0)), (), {}) for f in (ours, own)]
    print(f"a gradient by to_jax, under jax.jit: {1e6 * times[0]:.1f} us, JAX's own {1e6 * times[1]:.1f} us")


def best(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """Seconds of one call, the least of seven."""
    once = clock(lambda: f(*args, **kwargs))
    return min(once() for _ in range(7))


def peer(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The same with jax.jit, in microseconds; nothing where it does not take such arguments."""
    import jax

    try:
        compiled = jax.jit(f)
        return f"{1e6 * best(lambda *a, **k: jax.block_until_ready(compiled(*a, **k)), args, kwargs):.1f}"
    except (TypeError, ValueError, AttributeError):
        return ""


if __name__ == "__main__":
    main()
