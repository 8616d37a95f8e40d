"""Sequential: modules one after the other; and the activations as modules, to put between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from micrograd.math import gelu, relu, sigmoid, silu, softmax, tanh
from micrograd.nn.elementwise import Elementwise
from micrograd.nn.module import Module
from micrograd.typed import N, Vector

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from micrograd.typed import Outputs

R = TypeVar("R")
Part = Callable[[Any], Any]
Gives = Callable[[Any], R]


class Sequential(Module, Generic[R]):
    """Modules or plain functions, each applied to the result of the one before it.

    >>> from micrograd import nn
    >>> model = nn.Sequential(nn.Linear(2, 8, rng=0), nn.Tanh(), nn.Dropout(0.1, rng=1), nn.Linear(8, 1, rng=2))
    >>> len(model.parameters()), len(model), model[1]
    (33, 4, Tanh())
    """

    # The type of the result is that of the last part.
    @overload
    def __init__(self: Sequential[Outputs], *parts: Elementwise) -> None: ...
    @overload
    def __init__(self: Sequential[Outputs], *parts: Unpack[tuple[Unpack[tuple[Part, ...]], Elementwise]]) -> None: ...
    @overload
    def __init__(self: Sequential[R], *parts: Unpack[tuple[Unpack[tuple[Part, ...]], Gives[R]]]) -> None: ...
    @overload
    def __init__(self: Sequential[Any], *parts: Part) -> None: ...
    def __init__(self, *parts: Callable[[Any], Any]) -> None:  # type: ignore[misc]  # mypy: not for overloads with Unpack
        for part in parts:
            if not callable(part):
                raise TypeError(
                    f"the parts of a Sequential are modules or functions, not {type(part).__name__}: {part!r}"
                )
        self.parts = list(parts)

    if TYPE_CHECKING:

        def __call__(self, x: Any, /) -> R: ...

    def forward(self, x: Any) -> Any:
        """Run the parts in order."""
        for part in self.parts:
            x = part(x)
        return x

    def __getitem__(self, i: int) -> Any:
        return self.parts[i]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.parts))})"


class _Activation(Elementwise):
    """An activation of each number of a vector, or of a single number."""

    function: Callable[[Any], Any]

    def forward(self, x: Any) -> Any:
        """Apply the activation."""
        f = type(self).function
        return [f(v) for v in x] if hasattr(x, "__len__") else f(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ReLU(_Activation):
    """max(x, 0) of each number.

    >>> from micrograd import nn
    >>> nn.ReLU()([-1.0, 2.0])
    [0.0, 2.0]
    """

    function = staticmethod(relu)


class Tanh(_Activation):
    """tanh of each number.

    >>> from micrograd import nn
    >>> nn.Tanh()([0.0])
    [0.0]
    """

    function = staticmethod(tanh)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)) of each number.

    >>> from micrograd import nn
    >>> nn.Sigmoid()([0.0])
    [0.5]
    """

    function = staticmethod(sigmoid)


class GELU(_Activation):
    """gelu of each number.

    >>> from micrograd import nn
    >>> nn.GELU()([0.0])
    [0.0]
    """

    function = staticmethod(gelu)


class SiLU(_Activation):
    """x · sigmoid(x) of each number.

    >>> from micrograd import nn
    >>> nn.SiLU()([0.0])
    [0.0]
    """

    function = staticmethod(silu)


class Softmax(Module):
    """exp(x) / Σ exp(x) of a vector.

    >>> from micrograd import nn
    >>> nn.Softmax()([0.0, 0.0])
    [0.5, 0.5]
    """

    if TYPE_CHECKING:

        @overload
        def __call__(self, x: Sequence[N], /) -> list[N]: ...
        @overload
        def __call__(self, x: Vector, /) -> Any: ...
        def __call__(self, x: Any, /) -> Any: ...

    def forward(self, x: Any) -> Any:
        """Return the probabilities."""
        return softmax(list(x))

    def __repr__(self) -> str:
        return "Softmax()"
