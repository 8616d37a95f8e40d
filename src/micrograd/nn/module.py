"""Module: something with parameters. It finds them in its own attributes, names them, saves them and puts them back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any, TypeVar

from micrograd import scopes
from micrograd.engine import Value, set_scope

M = TypeVar("M", bound="Module")
State = dict[str, Any]  # the name of a parameter -> a float, or nested lists of floats


class Module:
    """Something with parameters. Write `forward`, and keep Values, Modules or lists of them in attributes.

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

    A Value that was computed (`self.last = self(x)`) is no parameter, and neither is what hides behind an underscore.
    """

    _scope: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        object.__setattr__(self, "_scope", scopes.new(""))  # here, so that a subclass need not call super().__init__()
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module):
            scopes.adopt(value._scope, self._scope, name)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                if isinstance(item, Module):  # the third of self.layers is "layer 2"
                    scopes.adopt(item._scope, self._scope, f"{name.removesuffix('s')} {i}")
        object.__setattr__(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward, with each new node stamped as made by this module."""
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
        """Every parameter once, in the order of the attributes."""
        found: dict[int, Value] = {}
        _collect(_public(self), found)
        return list(found.values())

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """Every parameter once, with the way to it: ("layers.0.neurons.3.w.1", Value)."""
        seen: set[int] = set()
        for name, tensor in tensors(self):
            for place, p in _places(name, tensor):
                if id(p) not in seen:
                    seen.add(id(p))
                    yield place, p

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to zero."""
        for p in self.parameters():
            p.grad = 0.0

    # ---- state

    def state_dict(self) -> State:
        """The numbers of all parameters by name: {"layers.0.neurons.3.w": [0.1, ...], ...}."""
        return {name: _numbers(tensor) for name, tensor in tensors(self)}

    def load_state_dict(self, state: State, source: str = "the state") -> None:
        """Take the numbers of a state_dict: all of them, or none and an error that says what does not fit."""
        own = dict(tensors(self))
        missing = [name for name in own if name not in state]
        unknown = [name for name in state if name not in own]
        for names, what in ((missing, f"{source} lacks"), (unknown, f"{source} has what this model lacks:")):
            if names:
                shapes = own if names is missing else state
                told = ", ".join(f"{name} of shape {shape(shapes[name])}" for name in names[:3])
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise ValueError(f"{what} {told}{more}; the model, {_short(self)}, is left as it was")
        new: list[tuple[Value, float]] = []
        for name, tensor in own.items():
            want, got = shape(tensor), shape(state[name])
            if want != got:
                raise ValueError(
                    f"{source} has {name} of shape {got}, and the model's has shape {want}; the model is left as it was"
                )
            for (place, p), (_, x) in zip(_places(name, tensor), _places(name, state[name])):
                if isinstance(x, bool) or not isinstance(x, (int, float)):
                    raise ValueError(f"{source} has no number at {place}, but {x!r}; the model is left as it was")
                new.append((p, float(x)))
        for p, x in new:
            p.data = x

    def save(self, path: str | PathLike[str]) -> None:
        """Write the parameters to a file: `.safetensors` (where installed) or `.json`."""
        from micrograd.nn.files import save

        save(self.state_dict(), path)

    def load(self: M, path: str | PathLike[str]) -> M:
        """Take the parameters of a file that `save` wrote, or refuse one that does not fit; gives the model itself."""
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


def _public(module: Module) -> list[Any]:
    return [value for name, value in vars(module).items() if name[0] != "_"]


def tensors(module: Module, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters of a module as it keeps them: a Value, or a list (of lists ...) of Values, with its name."""
    for name, value in vars(module).items():
        if name[0] != "_":
            yield from _inside(prefix + name, value)


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Module):
        yield from tensors(value, name + ".")
    elif isinstance(value, Value):
        if not value._prev:
            yield name, value
    elif isinstance(value, (list, tuple)):
        if shape(value) is not None and all(not p._prev for _, p in _places(name, value)):
            yield name, value
        else:
            for i, item in enumerate(value):
                yield from _inside(f"{name}.{i}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _inside(f"{name}.{key}", item)


def shape(tensor: Any) -> tuple[int, ...] | None:
    """The lengths of nested lists of Values or numbers, () for one alone; None for ragged lists and anything else."""
    if isinstance(tensor, (Value, int, float)):
        return ()
    if not isinstance(tensor, (list, tuple)) or not tensor:
        return None
    inner = {shape(item) for item in tensor}
    first = inner.pop()
    return None if inner or first is None else (len(tensor), *first)


def _collect(items: Iterable[Any], found: dict[int, Value]) -> None:
    """What named_parameters finds, without the names, which take most of its time."""
    for item in items:
        if isinstance(item, Value):
            if not item._prev:
                found[id(item)] = item
        elif isinstance(item, (list, tuple)):
            _collect(item, found)
        elif isinstance(item, Module):
            _collect(_public(item) if type(item).parameters is Module.parameters else item.parameters(), found)
        elif isinstance(item, dict):
            _collect(item.values(), found)


def _places(name: str, tensor: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tensor, (list, tuple)):
        for i, item in enumerate(tensor):
            yield from _places(f"{name}.{i}", item)
    else:
        yield name, tensor


def _numbers(tensor: Any) -> Any:
    return [_numbers(item) for item in tensor] if isinstance(tensor, (list, tuple)) else tensor.data


def _short(module: Module) -> str:
    text = repr(module)
    return text if len(text) <= 60 else f"{text[:57]}..."
