"""A function of numbers as a function of columns: what the bridges to PyTorch and JAX are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from micrograd import engine
from micrograd.compile.jit import Jit, compiled
from micrograd.compile.kept import owner_of
from micrograd.compile.options import Options
from micrograd.compile.vmap import vmap
from micrograd.engine import Value, no_grad
from micrograd.errors import MicrogradError
from micrograd.jacobians import jacrev
from micrograd.transforms import jvp, vjp
from micrograd.tree import NUMBER, Shape, flatten, name_of, size, unflatten


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
    return args


def refuse_values(bridge: str, f: Callable[..., Any], leaves: Sequence[Any]) -> None:
    """Refuse a Value among the numbers and arrays of the arguments."""
    if any(isinstance(a, Value) for a in leaves):
        raise TypeError(
            f"{bridge}: an argument is a Value, and backward() of the result would not reach it\n"
            f"  Give its number, v.data, or call {name_of(f)} itself."
        )


def in_arrays(
    shapes: Sequence[tuple[int, ...]], tree: Callable[[list[Any]], tuple[Any, ...]]
) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What makes arguments of numbers: a number or an array of each shape, in the order of the leaves of a tree."""

    def arrange(numbers: Sequence[Any]) -> tuple[Any, ...]:
        each = iter(numbers)
        return tree([unflatten(("array", s) if s else NUMBER, each) for s in shapes])

    return arrange


class Rowwise:
    """f over rows: columns in, columns out; and its derivatives, which are functions of the same kind."""

    def __init__(
        self, f: Callable[..., Any], count: int, shape: Shape | None = None,
        arrange: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple,
    ) -> None:  # fmt: skip
        self.f, self.count, self.arrange = f, count, arrange  # arrange: the arguments of f, from numbers
        self.shape = shape  # of f's result
        self._made: dict[str, Rowwise] = {}
        self.jax_call: Any = None  # what the bridge to JAX made of it

        def as_numbers(*args: Any) -> tuple[Any, ...]:
            leaves: list[Any] = []
            flatten(f(*args), leaves)
            return tuple(leaves)

        def flat(*numbers: Any) -> tuple[Any, ...]:
            return as_numbers(*arrange(numbers))

        flat.__qualname__ = flat.__name__ = as_numbers.__qualname__ = as_numbers.__name__ = name_of(f)
        self.as_numbers = as_numbers
        self.flat = as_numbers if arrange is tuple else flat
        self.rows = vmap(self.flat)
        self.derivative_of: tuple[Rowwise, int] = (
            self,
            0,
        )  # the function that has the partial derivatives, and their order
        self._owner: Jit | None = None
        self._pointed: tuple[Any, Any] | None = None  # a variant, and the C function pointer to it

    def result(self, numbers: list[float]) -> Shape:
        """How the result of f is arranged, found by running it on Values, which divide by zero as the kernel does."""
        if self.shape is None:
            leaves: list[Any] = []
            with no_grad():
                self.shape = flatten(self.f(*self.arrange([Value(x) for x in numbers])), leaves)
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

    def pointer(self) -> Any:
        """A C function pointer for rows; None where one function does not serve all rows in every call.

        That is so where paths are compiled one by one, and where Values are captured, whose numbers are read in each call.
        """
        if not engine.NATIVE:
            return None
        try:
            function, order = self.derivative_of
            if function._owner is None:
                function._owner = owner_of(compiled(function.as_numbers, Options(wait=True)))
            owner = function._owner
            if owner is None:
                return None
            owner._follow_modules()
            shape, places = owner._flat(self.arrange([float(k) for k in range(self.count)]), {})
            if places != list(range(self.count)):  # a tree whose leaves come in another order here, or not as numbers
                return None
            leaves = [1.0] * self.count
            variant = owner._taking(shape, leaves)
            if variant.tape.guards or variant.trace.captured:
                return None
            if self._pointed is None or self._pointed[0] is not variant:
                self._pointed = variant, owner.pointer_to(shape, variant.trace, order)
        except MicrogradError:  # which the rows raise when they are run
            return None
        return self._pointed[1]

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
        by_all = jacrev(self.as_numbers, tuple(range(len(self.arrange([1.0] * self.count)))))

        def slopes(*args: Any) -> tuple[Any, ...]:
            leaves: list[Any] = []
            flatten(by_all(*args), leaves)
            return tuple(leaves)

        found = self._derived(slopes, self.count, self.results * self.count, self.arrange)
        found.derivative_of = self.derivative_of[0], self.derivative_of[1] + 1
        return found

    @property
    def results(self) -> int:
        """How many numbers f returns."""
        assert self.shape is not None
        return size(self.shape)

    def _derived(
        self, f: Callable[..., Any], count: int, results: int,
        arrange: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple,
    ) -> Rowwise:  # fmt: skip
        """A derivative, which is made when it is asked for the first time."""
        if f.__name__ not in self._made:
            self._made[f.__name__] = Rowwise(f, count, ("tuple", (NUMBER,) * results), arrange)
        return self._made[f.__name__]
