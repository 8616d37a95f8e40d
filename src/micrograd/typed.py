"""The types of what functions of this package take and return, for editors and type checkers.

>>> from micrograd import Value, losses
>>> loss: Value = losses.mse([Value(1.0), Value(2.0)], [0.0, 0.0])
>>> number: float = losses.mse([1.0, 2.0], [0.0, 0.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, Union

from micrograd.engine import Value

N = TypeVar("N", Value, float)  # in this order, because type checkers take the first one for Any
X_co = TypeVar("X_co", covariant=True)
# Callable[P, Any] where Callable[..., Any] would do: from `...` mypy cannot infer the lambda in vmap(grad(lambda x: x * x)).
P = ParamSpec("P")


class Array(Protocol):
    """An array of NumPy, or an object that can become one: a tensor, a column of pandas."""

    def __array__(self) -> Any:
        """Return the array."""
        ...


Vector = Sequence[float | Value] | Array  # one input of a model
Batch = Union[N, Sequence[N], Sequence[Sequence[N]], Sequence[Sequence[Sequence[N]]]]  # noqa: UP007 (mypy needs Union)
Numbers = float | Sequence[float] | Sequence[Sequence[float]] | Array
Table = float | Value | Sequence[Any] | Array
One = Literal["mean", "sum"]
Each = Literal["none"]

if TYPE_CHECKING:

    class Outputs(Value, list[Value]):  # type: ignore[misc]
        """What `Layer` and `MLP` return: a Value if the last layer has one neuron, else a list of Values.

        The sizes of the layers are not part of a type, so type checkers accept both uses and nothing else. Operators give Any,
        because `sum((model(x) - y) ** 2 for ...)` of Values would be `Value | int`, which has no `backward`.
        """

        def __add__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __radd__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __sub__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __rsub__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __mul__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __rmul__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __truediv__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __rtruediv__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __pow__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __rpow__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __neg__(self) -> Any: ...


class Solution(Protocol[X_co]):
    """What `minimize`, `least_squares` and `root` return: SciPy's result, with `x` in the structure of the starting point."""

    success: bool
    status: int
    message: str
    nfev: int

    @property
    def x(self) -> X_co:
        """The solution."""
        ...

    def __getitem__(self, name: str, /) -> Any: ...
    def keys(self) -> Any:
        """Return the names of all entries."""
        ...


class Minimum(Solution[X_co], Protocol[X_co]):
    """What `minimize` returns: `fun` is the value of the function at `x`."""

    fun: float
    nit: int
    jac: Any


class Zeros(Solution[X_co], Protocol[X_co]):
    """What `root` returns: `fun` is the array of the numbers that the function gives at `x`."""

    fun: Any


class Fit(Solution[X_co], Protocol[X_co]):
    """What `least_squares` returns: `fun` is the array of the residuals at `x`, and `cost` half the sum of their squares."""

    fun: Any
    cost: float
    jac: Any
    grad: Any
    optimality: float
    active_mask: Any
    njev: int | None
