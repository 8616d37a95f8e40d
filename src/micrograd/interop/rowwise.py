"""A function of numbers as a function of columns: what the bridges to PyTorch and JAX are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from micrograd.compile.vmap import vmap
from micrograd.engine import Value, no_grad
from micrograd.transforms import jvp, vjp
from micrograd.tree import NUMBER, Shape, flatten, name_of, size


def in_order(bridge: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments by position, also those that were given by name."""
    if kwargs:
        bound = inspect.signature(f).bind(*args, **kwargs)
        if bound.kwargs:
            raise TypeError(
                f"{bridge}: {name_of(f)} takes {', '.join(bound.kwargs)} by name alone: wrap it in a lambda"
            )
        args = bound.args
    if not args:
        raise TypeError(f"{bridge}: {name_of(f)} was called without arguments, so the result has no shape")
    if any(isinstance(a, Value) for a in args):
        raise TypeError(
            f"{bridge}: an argument is a Value, and backward() of the result would not reach it\n"
            f"  Give its number, v.data, or call {name_of(f)} itself."
        )
    return args


class Rowwise:
    """f over rows: columns in, columns out; and its derivatives, which are functions of the same kind."""

    def __init__(self, f: Callable[..., Any], count: int, shape: Shape | None = None) -> None:
        self.f, self.count = f, count
        self.shape = shape  # of f's result
        self._made: dict[str, Rowwise] = {}
        self.jax_call: Any = None  # what the bridge to JAX made of it

        def flat(*numbers: Any) -> tuple[Any, ...]:
            leaves: list[Any] = []
            flatten(f(*numbers), leaves)
            return tuple(leaves)

        flat.__qualname__ = flat.__name__ = name_of(f)
        self.flat, self.rows = flat, vmap(flat)

    def result(self, numbers: list[float]) -> Shape:
        """How the result of f is arranged, found by running it on Values, which divide by zero as the kernel does."""
        if self.shape is None:
            leaves: list[Any] = []
            with no_grad():
                self.shape = flatten(self.f(*[Value(x) for x in numbers]), leaves)
            if not leaves:
                raise TypeError(f"{name_of(self.f)} returns no numbers: {self.shape[1]!r}")
        return self.shape

    def __call__(self, columns: list[Any]) -> list[Any]:
        """The columns of the results, as arrays of float64."""
        import numpy as np

        rows = len(columns[0])
        outputs = size(self.result([float(c[0]) if rows else 1.0 for c in columns]))
        if not rows:
            return [np.empty(0) for _ in range(outputs)]
        given = [np.ascontiguousarray(c, dtype=np.float64) for c in columns]
        return [np.asarray(np.broadcast_to(c, (rows,)), dtype=np.float64) for c in self.rows(*given)]

    def pulled(self) -> Rowwise:
        """The function from arguments and cotangents to the cotangents of the arguments."""
        count, flat = self.count, self.flat

        def pull(*numbers: Any) -> tuple[Any, ...]:
            _, back = vjp(flat, *numbers[:count])
            gradient: tuple[Any, ...] = back(tuple(numbers[count:]))
            return gradient

        return self._derived(pull, count + self.results, count)

    def pushed(self) -> Rowwise:
        """The function from arguments and their tangents to the tangents of the results."""
        count, flat = self.count, self.flat

        def push(*numbers: Any) -> tuple[Any, ...]:
            tangents: tuple[Any, ...] = jvp(flat, numbers[:count], numbers[count:])[1]
            return tangents

        return self._derived(push, 2 * count, self.results)

    def partials(self) -> Rowwise:
        """The function from arguments to the partial derivatives: those of the first result by each argument, and so on."""
        flat, results = self.flat, self.results

        def slopes(*numbers: Any) -> tuple[Any, ...]:
            _, back = vjp(flat, *numbers)
            units = [tuple([1.0 if i == j else 0.0 for j in range(results)]) for i in range(results)]
            return tuple([slope for unit in units for slope in back(unit)])

        return self._derived(slopes, self.count, results * self.count)

    @property
    def results(self) -> int:
        """How many numbers f returns."""
        assert self.shape is not None
        return size(self.shape)

    def _derived(self, f: Callable[..., Any], count: int, results: int) -> Rowwise:
        """A derivative, which is made when it is asked for the first time."""
        if f.__name__ not in self._made:
            self._made[f.__name__] = Rowwise(f, count, ("tuple", (NUMBER,) * results))
        return self._made[f.__name__]
