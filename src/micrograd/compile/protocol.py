"""The types of compiled functions, for editors and type checkers.

>>> from micrograd import jit
>>> from micrograd.compile.protocol import Compiled
>>> def square(x: float) -> float:
...     return x * x
>>> fast: Compiled[[float], float] = jit(square, wait=True)
>>> fast(3.0)
9.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import Self

    from micrograd.engine import Value
    from micrograd.tape.tape import Tape

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
Q = ParamSpec("Q")


class Compiled(Protocol[P, R_co]):
    """What `jit` and `vmap` return: the function itself, three ways to look inside, and C function pointers.

    Called with the arguments of the function. `tape`, `source` and `explain` take the same arguments as a call.
    """

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function, by machine code where that is ready."""
        ...

    def tape(self, *args: P.args, **kwargs: P.kwargs) -> Tape:
        """Return the tape for these arguments, as it was traced."""
        ...

    def source(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the text of the code that runs for these arguments."""
        ...

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return what was traced, the tape after each pass, and the kernels that exist."""
        ...

    def ctypes(self, *args: Any, signature: str = "value", argnums: int | tuple[int, ...] | None = None) -> Any:
        """Return a C function pointer, as a function of ctypes; of `jit` alone."""
        ...

    def address(self, *args: Any, signature: str = "value", argnums: int | tuple[int, ...] | None = None) -> int:
        """Return the address of that C function."""
        ...

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self: Compiled[Concatenate[S, Q], R_co], instance: S, owner: Any = None) -> Callable[Q, R_co]: ...


class Model(Protocol[P, R_co]):
    """A function with parameters: an `nn.Module`, or an object of one's own with these methods."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the model."""
        ...

    def parameters(self) -> list[Value]:
        """Return the parameters."""
        ...

    def zero_grad(self) -> None:
        """Set the gradients of the parameters to zero."""
        ...


class CompiledModel(Compiled[P, R_co], Model[P, R_co], Protocol[P, R_co]):
    """What `jit` makes of a model: compiled, and with the parameters of the model.

    >>> from micrograd import jit, nn
    >>> len(jit(nn.MLP(2, [3, 1])).parameters())
    13
    """
