"""custom_vjp: a function with a reverse rule of its own, for several inputs and results at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from math import isfinite
from threading import local
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.engine import Value, apply
from micrograd.math import stop_gradient
from micrograd.ops import Op, no_slope
from micrograd.tape.trace import is_tracing, peek
from micrograd.tree import Shape, flatten, map_values, name_of, size, unflatten, wants_function, written

# attach(y, x, slope) is y, and its derivative with respect to x is slope: the rule of a function, input by input, as an op that
# every sweep and every backend knows already. The slope is part of the program, so that it has derivatives of its own.
ATTACH = Op(
    "attach",
    lambda y, x, slope: y,
    [lambda y, x, slope, out: 1.0, lambda y, x, slope, out: slope, no_slope],
)


FACTORS = (
    -(2.0**40),
    2.0**-40,
)  # a rule is tried with these cotangents too: powers of two, by which rounding does not change


def _is_multiple(a: float, b: float, factor: float) -> bool:
    """Whether a is factor·b, or one of them lies beyond the range of floats."""
    expected = factor * b
    return not (isfinite(a) and isfinite(expected)) or abs(a - expected) <= 1e-9 * abs(expected) + 1e-290


def _peek(slopes: list[Any]) -> list[float]:
    return peek([0.0 if slope is None else slope for slope in slopes])


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class _Running(local):
    """The rules that this thread is running: how deep, by the identity of the function."""

    def __init__(self) -> None:
        self.rules: dict[int, int] = {}


RUNNING = _Running()
# A rule may call its own function, as those of jax.custom_vjp do: `return f(x), kept`, or the derivative of exp by exp. In a
# trace the rule holds in there as well, because derivatives of higher order pass through it; below this depth f runs plainly.
NESTED = 2


class CustomVjp(Generic[P, R]):
    """A function whose derivative is computed by a rule, made by `custom_vjp`."""

    def __init__(self, f: Callable[P, R]) -> None:
        wants_function(f, "give a rule to")
        update_wrapper(self, f, updated=())
        self.f = f
        self.forward: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Set the rule: `forward(*args)` returns the result and what `backward(kept, cotangent)` needs of it.

        backward returns a tuple: for each argument the cotangent, arranged as the argument is; None where nothing passes to it.
        """
        wants_function(forward, "run forward")
        wants_function(backward, "run backward")
        self.forward, self.backward = forward, backward

    def __repr__(self) -> str:
        return f"<custom_vjp of {name_of(self.f)}>"

    @overload
    def __get__(self, instance: None, owner: Any = None) -> CustomVjp[P, R]: ...
    @overload
    def __get__(self: CustomVjp[Concatenate[S, Q], R], instance: S, owner: Any = None) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(
                f"{self!r} takes arguments by position: its rule gives a cotangent for each of them, in order"
            )
        result: R = self._call(args)
        return result

    def _call(self, args: tuple[Any, ...]) -> Any:
        if self.forward is None or self.backward is None:
            raise TypeError(f"{self!r} has no rule yet: set it with {name_of(self.f)}.defvjp(forward, backward)")
        leaves: list[Any] = []
        shapes = [flatten(a, leaves) for a in args]
        depth = RUNNING.rules.get(id(self), 0)
        if not any(isinstance(x, Value) for x in leaves) or depth > (NESTED if is_tracing() else 0):
            return self.f(*args)  # type: ignore[call-arg]
        RUNNING.rules[id(self)] = depth + 1
        try:
            return self._by_rule(args, leaves, shapes)
        finally:
            RUNNING.rules[id(self)] = depth

    def _by_rule(self, args: tuple[Any, ...], leaves: list[Any], shapes: list[Shape]) -> Any:
        assert self.forward is not None
        cut = iter([stop_gradient(x) if isinstance(x, Value) else x for x in leaves])
        inside = [unflatten(shape, cut) for shape in shapes]
        made = self.forward(*inside if not is_tracing() else args)
        if not isinstance(made, tuple) or len(made) != 2:
            raise TypeError(f"the forward rule of {self!r} returns (result, kept), not {type(made).__name__}")
        numbers: list[Any] = []
        shape = flatten(made[0], numbers)
        outputs = [self._attached(k, y, leaves, shapes, shape, made[1]) for k, y in enumerate(numbers)]
        return unflatten(shape, iter(outputs))

    def _attached(self, k: int, y: Any, leaves: list[Any], shapes: list[Shape], shape: Shape, kept: Any) -> Any:
        """Result k, with its slopes by all inputs: the rule is linear in the cotangent, and runs on a unit vector."""
        slopes = self._pulled(kept, shape, k, 1.0, shapes)
        numbers = _peek(slopes)
        for factor in FACTORS:
            scaled = _peek(self._pulled(map_values(kept, lambda v: v._data), shape, k, factor, shapes))
            if not all(_is_multiple(a, b, factor) for a, b in zip(scaled, numbers)):
                raise ValueError(
                    f"the backward rule of {self!r} is not linear in the cotangent: {factor:.3g} times the cotangent gives "
                    "another multiple of its result\n"
                    "  A rule is the derivative of a function. To clip or round gradients, change them where they are used."
                )
        out = stop_gradient(y)
        for x, slope in zip(leaves, slopes):
            if isinstance(x, Value) and slope is not None:
                out = apply(ATTACH, out, x, slope if is_tracing() else map_values(slope, lambda v: v.data))
        return out

    def _pulled(self, kept: Any, shape: Shape, k: int, cotangent: float, shapes: list[Shape]) -> list[Any]:
        """What the rule gives for all inputs, where the cotangent of result k is this number and the others are zero.

        None for an input to which nothing passes.
        """
        assert self.backward is not None
        found = self.backward(kept, unflatten(shape, iter([cotangent * (i == k) for i in range(size(shape))])))
        if not isinstance(found, tuple) or len(found) != len(shapes):
            raise TypeError(
                f"the backward rule of {self!r} returns a tuple with a cotangent for each of its {len(shapes)} arguments"
            )
        slopes: list[Any] = []
        for number, (cotangent, wanted) in enumerate(zip(found, shapes)):
            if cotangent is None:
                slopes += [None] * size(wanted)
            elif flatten(cotangent, slopes) != wanted:
                raise TypeError(
                    f"the backward rule of {self!r} gives argument {number} a cotangent of another structure than "
                    f"the argument, which is {written(wanted)}"
                )
        return slopes


def custom_vjp(f: Callable[P, R]) -> CustomVjp[P, R]:
    """Give a function a reverse rule of its own, in place of the derivative of its code.

    The rule is that of `jax.custom_vjp`. It holds in eager code, in every transform, and in compiled functions; derivatives
    of higher order are those of the code of the rule. The rule must be linear in the cotangent, and is called once for each
    number in the result, with a unit cotangent.

    >>> from micrograd import custom_vjp, grad, math
    >>> @custom_vjp
    ... def log1pexp(x):
    ...     return math.log(1.0 + math.exp(x))
    >>> def forward(x):
    ...     return log1pexp.f(x), x
    >>> def backward(x, cotangent):
    ...     return (cotangent * math.sigmoid(x),)
    >>> log1pexp.defvjp(forward, backward)
    >>> grad(log1pexp)(0.0), grad(grad(log1pexp))(0.0)
    (0.5, 0.25)
    """
    return CustomVjp(f)
