"""@primitive: an op of the user's own, with its partials, beside the rows of the table."""

from __future__ import annotations

from micrograd import engine
from micrograd.ops import Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from micrograd.engine import Value


class Primitive:
    """A function of numbers and Values that is one node, made by `@primitive`."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.__name__ = op.name
        self.__doc__ = op.value.__doc__
        self.__wrapped__ = op.value

    if TYPE_CHECKING:

        @overload
        def __call__(self, *args: float) -> float: ...  # type: ignore[overload-overlap]
        @overload
        def __call__(self, *args: float | Value) -> Value: ...

    def __call__(self, *args: Any) -> Any:
        return engine.apply(self.op, *args)

    def __repr__(self) -> str:
        return f"<primitive {self.op.name} of {self.op.arity} input{'s'[: self.op.arity != 1]}>"


def primitive(*partials: Callable[..., Any], name: str = "") -> Callable[[Callable[..., Any]], Primitive]:
    """Declare an op: decorate its value, and give one partial for each input.

    A partial is d(output)/d(that input), a function of the inputs and the output:

    >>> from micrograd import Value, primitive
    >>> @primitive(lambda x, y: 3 * x * x)
    ... def cube(x):
    ...     return x * x * x
    >>> x = Value(2.0)
    >>> cube(x).backward()
    >>> x.grad
    12.0

    Value and partials get plain floats. Written with operators and `micrograd.math`, they can also be compiled.
    """

    def declare(value: Callable[..., Any]) -> Primitive:
        inputs = value.__code__.co_argcount if hasattr(value, "__code__") else len(partials)
        if not partials or len(partials) != inputs:
            raise TypeError(
                f"{value.__name__} has {inputs} input{'s'[: inputs != 1]} and {len(partials)} partials were given: "
                f"write @primitive({', '.join(f'd{i}' for i in range(inputs)) or 'd0'}), one for each input"
            )
        return Primitive(Op(name or value.__name__, value, list(partials)))

    for p in partials:
        if not callable(p):
            raise TypeError(f"a partial is a function of the inputs and the output, not {p!r}: write lambda x, y: ...")
    if len(partials) == 1 and not getattr(partials[0], "__name__", "<").startswith("<") and _is_bare(partials[0]):
        raise TypeError(
            f"@primitive needs the partials: write @primitive(lambda x, y: ...) above def {partials[0].__name__}"
        )
    return declare


def _is_bare(function: Callable[..., Any]) -> bool:
    """Whether this is `@primitive` without its parentheses: a partial takes the output too, so two inputs or more."""
    return hasattr(function, "__code__") and function.__code__.co_argcount < 2


# Functions of this package that make one node for a whole sum -> the same as loops over numbers, which typed tapes run instead.
AS_LOOPS: dict[Any, Any] = {}
