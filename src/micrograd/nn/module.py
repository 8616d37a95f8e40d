"""Module: an object with parameters. It finds them in its own attributes, names them, saves them and loads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from os import PathLike
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from micrograd.engine import Value
from micrograd.nn import parameters as found
from micrograd.nn.parameters import State
from micrograd.observed import set_scope, zero_grads
from micrograd.values import module_scopes as scopes
from micrograd.watch import modules as watched

if TYPE_CHECKING:
    from typing_extensions import Self


def _is_part(x: Any) -> bool:
    """Whether what an attribute held is part of the structure; a Value that was computed is not."""
    return x is not None and not (isinstance(x, Value) and x._prev)


M = TypeVar("M", bound="Module")


def _each_once(written: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a method parameters() of a subclass list each parameter once.

    `super().parameters() + [self.scale]` would list the scale twice, because the walk over the attributes has found it
    already, and a loop over the parameters would update it twice.
    """

    @wraps(written)
    def parameters(self: Any) -> Any:
        listed = written(self)
        return list({id(p): p for p in listed}.values()) if isinstance(listed, list) else listed

    return parameters


class Module(watched.Structured):
    """An object with parameters. Write `forward`, and keep Values, Modules or lists of them in attributes.

    >>> from micrograd import Value, nn
    >>> class Line(nn.Module):
    ...     def __init__(self):
    ...         self.slope, self.start = Value(2.0), Value(1.0)
    ...     def forward(self, x):
    ...         return self.slope * x + self.start
    >>> line = Line()
    >>> line(3.0).data
    7.0
    >>> line.state_dict()
    {'slope': 2.0, 'start': 1.0}

    The parameters of a module are the Values that its attributes hold, directly or in lists, tuples, dicts and other
    modules, in that order. Two things are not parameters: a Value that was computed (`self.last = self(x)`), and
    anything in an attribute whose name begins with an underscore.
    """

    _scope: int
    _lists_parameters = False  # whether the class, or one that it is made from, has written parameters() itself

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._lists_parameters = cls._lists_parameters or "parameters" in vars(cls)
        written = vars(cls).get("parameters")
        if isinstance(written, FunctionType):
            setattr(cls, "parameters", _each_once(written))  # noqa: B010

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = object.__new__(cls)
        object.__setattr__(
            self, "_scope", scopes.new("", self)
        )  # here, so that a subclass need not call super().__init__()
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_":
            found.check(self, name, value)
            if not isinstance(value, Value) or not value._prev or _is_part(vars(self).get(name)):
                watched.CHANGES[0] += 1
            if isinstance(value, Module):
                scopes.adopt(value._scope, self._scope, name)
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if isinstance(item, Module):  # the third of self.layers is "layer 2"
                        scopes.adopt(item._scope, self._scope, f"{name.removesuffix('s')} {i}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        watched.CHANGES[0] += 1
        object.__delattr__(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward, with each new node stamped as made by this module."""
        if watched.reading:
            watched.note(self)
        before = set_scope(self._scope)
        try:
            return self.forward(*args, **kwargs)
        finally:
            set_scope(before)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output from the inputs: write this in a subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(): a Module says there what it computes")

    # ---- parameters

    def parameters(self) -> list[Value]:
        """Return every parameter once, in the order of the attributes."""
        return found.collect(self)

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """Give every parameter once with its path, such as ("layers.0.neurons.3.w.1", Value)."""
        seen: set[int] = set()
        for name, tensor in found.tensors(self):
            for place, p in found.places(name, tensor):
                if id(p) not in seen:
                    seen.add(id(p))
                    yield place, p

    def modules(self) -> Iterator[tuple[str, Module]]:
        """Give this module and every module inside it once, with its path; the path of this one is ""."""
        return found.modules(self)

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to zero."""
        zero_grads(self.parameters())

    # ---- training and evaluation

    @property
    def training(self) -> bool:
        """Whether this module is in training mode, which is what Dropout asks; `train` and `eval` set it."""
        if watched.reading:
            watched.asked.add(id(self))
            watched.note(self)
        return self._training

    def train(self: M, mode: bool = True) -> M:
        """Put this module and all modules inside it into training mode, or into evaluation mode with `mode=False`."""
        for _, module in self.modules():
            watched.set_mode(module, bool(mode))
        return self

    def eval(self: M) -> M:
        """Put this module and all modules inside it into evaluation mode."""
        return self.train(False)

    def summary(self) -> str:
        """Describe the module as a table: each part, and how many parameters it has.

        >>> from micrograd import nn
        >>> print(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).summary())
        part       what            parameters
        parts.0    Linear(2, 3)             9
        parts.1    Tanh()                   0
        parts.2    Linear(3, 1)             4
        total                              13
        """
        return found.summary(self)

    # ---- state

    def state_dict(self) -> State:
        """Return the numbers of all parameters by name: {"layers.0.neurons.3.w": [0.1, ...], ...}."""
        return {name: found.numbers(tensor) for name, tensor in found.tensors(self)}

    def load_state_dict(self, state: State, source: str = "the state") -> None:
        """Load the numbers of a state_dict: all of them, or none and an error that says what does not fit."""
        found.load(self, state, source)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters to a file: `.safetensors` (where installed) or `.json`."""
        from micrograd.nn.files import save

        save(self.state_dict(), path)

    def load(self: M, path: str | PathLike[str]) -> M:
        """Load the parameters of a file that `save` wrote, and return the module; a file that does not fit is refused."""
        from micrograd.nn.files import load

        self.load_state_dict(load(path), source=str(path))
        return self

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={value!r}" for name, value in vars(self).items() if isinstance(value, Module) and name[0] != "_"
        )
        return f"{type(self).__name__}({parts})"

    # ---- copies (pickle, deepcopy) get scopes of their own

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_scope"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
