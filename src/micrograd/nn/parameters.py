"""The parameters of a module, found by walking its attributes. This walk is the only definition of what they are.

Values are looked for in lists, tuples, deques, dicts, NumPy arrays of objects and other modules. Values in any other
collection, such as a set, which has no order, are refused when they are assigned and again when the walk meets them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.observed import take_values, unique_leaves
from micrograd.tree import is_array

if TYPE_CHECKING:
    from micrograd.nn.module import Module

State = dict[str, Any]  # the name of a parameter -> a float, or nested lists of floats
_NEVER = (str, bytes, bytearray, range, memoryview)  # collections that cannot hold a Value


def _is_module(x: Any) -> bool:
    return hasattr(x, "_lists_parameters")


def _items(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a collection with their names, or None for anything that is not one."""
    if isinstance(value, (list, tuple, deque)):
        return [(f"{name}.{i}", item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        texts = [str(key) for key in value]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise ValueError(
                f"{name} has two keys that are written {twice!r}: parameters are named by the text of their keys, "
                "so each text may occur once"
            )
        return [(f"{name}.{text}", item) for text, item in zip(texts, value.values())]
    if is_array(value):
        return [(f"{name}.{i}", item) for i, item in enumerate(value.tolist())] if value.dtype == object else []
    if isinstance(value, (GeneratorType, map, filter, zip)):
        raise TypeError(
            f"{name} is a {type(value).__name__}, which can be gone through once, so that parameters in it would be lost: "
            "make a list of it, or give it a name that begins with an underscore if there are none"
        )
    if not isinstance(value, Collection) or isinstance(value, (Value, *_NEVER)) or _is_module(value):
        return None
    if any(isinstance(item, Value) or _is_module(item) for item in value):
        raise TypeError(
            f"{name} is a {type(value).__name__} with Values or modules in it, in which they cannot be named: "
            "keep them in a list, a tuple or a dict"
        )
    return None


def check(module: Module, name: str, value: Any) -> None:
    """Refuse what is assigned to an attribute if its parameters could not be found or named afterwards."""
    if isinstance(value, (Value, float, int, str)) or value is None:
        return
    if any(inner is module for inner in _modules_in(name, value)):
        raise ValueError(
            f"{type(module).__name__}.{name} would hold the module itself, so its parameters would have no end: "
            f"keep a reference to a parent under a name that begins with an underscore, such as _{name}"
        )


def _modules_in(name: str, value: Any) -> Iterator[Any]:
    """Give every module in a value and in the modules inside it; a loop is followed once."""
    stack, seen = [(name, value)], set()
    while stack:
        at, x = stack.pop()
        if _is_module(x):
            if id(x) in seen:
                continue
            seen.add(id(x))
            yield x
            stack += _public(x)
        elif not isinstance(x, (Value, float, int)):
            stack += [item for item in _items(at, x) or [] if not isinstance(item[1], (Value, float, int))]


def _public(module: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(module).items() if name[0] != "_"]


def _own_list(module: Any) -> list[Value] | None:
    """Return what `parameters()` says where a class has written its own, as in Karpathy's micrograd; otherwise None."""
    return list(module.parameters()) if module._lists_parameters else None


def collect(module: Any) -> list[Value]:
    """Return every parameter once: what `tensors` finds, without the names, which take most of its time."""
    values: list[Value] = []
    _collect_inside(module, values, [])
    return unique_leaves(values)


def _collect_inside(module: Any, values: list[Value], inside: list[Any]) -> None:
    _enter(module, inside)
    _collect([value for _, value in _public(module)], values, inside)
    inside.pop()


def _collect(items: Any, values: list[Value], inside: list[Any]) -> None:
    for item in items:
        if isinstance(item, Value):
            values.append(item)
        elif _is_module(item):
            own = _own_list(item)
            if own is not None:
                _collect(own, values, inside)
            elif not take_values(vars(item), values):  # there are other modules in it, or collections of another kind
                _collect_inside(item, values, inside)
        elif isinstance(item, (list, tuple)):
            if not take_values(item, values):
                _collect(item, values, inside)
        elif not isinstance(item, (float, int, str)):
            _collect([part for _, part in _items("an attribute", item) or []], values, inside)


def _enter(module: Any, inside: list[Any]) -> None:
    if any(module is outer for outer in inside):
        raise ValueError(
            f"a {type(module).__name__} is inside itself, so its parameters have no end: keep a reference to a parent "
            "under a name that begins with an underscore"
        )
    inside.append(module)


def tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """Give the parameters of a module as it keeps them: a Value, or a list (of lists ...) of Values, with its name."""
    names: set[str] = set()
    for name, tensor in _tensors(module, "", [module]):
        if name in names:
            raise ValueError(f"two parameters are called {name}: rename an attribute or a key, so that each is unique")
        names.add(name)
        yield name, tensor


def _tensors(module: Any, prefix: str, inside: list[Any]) -> Iterator[tuple[str, Any]]:
    own = _own_list(module)
    chosen = None if own is None else {id(p): p for p in own}
    for name, value in _public(module):
        for path, tensor in _inside(prefix + name, value, inside):
            if chosen is None:
                yield path, tensor
                continue
            values = list(places(path, tensor))
            if all(id(p) in chosen for _, p in values):
                yield path, tensor
            else:
                yield from ((place, p) for place, p in values if id(p) in chosen)
            for _, p in values:
                chosen.pop(id(p), None)
    for i, p in enumerate((chosen or {}).values()):  # named by parameters() alone
        yield f"{prefix}parameters.{i}", p


def _inside(name: str, value: Any, inside: list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Value):
        if not value._prev:
            yield name, value
    elif _is_module(value):
        _enter(value, inside)
        yield from _tensors(value, name + ".", inside)
        inside.pop()
    elif isinstance(value, (list, tuple)) and _is_tensor(value):
        yield name, value
    elif is_array(value) and value.dtype == object and _is_tensor(value.tolist()):
        yield name, value.tolist()
    elif not isinstance(value, (float, int, str)):
        for path, item in _items(name, value) or []:
            yield from _inside(path, item, inside)


def _is_tensor(value: Any) -> bool:
    """Whether nested lists hold parameters alone and have equal lengths."""
    if shape(value) is None:
        return False
    return all(isinstance(p, Value) and not p._prev for _, p in places("", value))


def modules(module: Any) -> Iterator[tuple[str, Any]]:
    """Give a module and every module inside it once, with its path."""
    seen: set[int] = set()

    def walk(name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if _is_module(value):
            if id(value) in seen:
                return
            seen.add(id(value))
            yield name, value
            for part, inner in _public(value):
                yield from walk(f"{name}.{part}" if name else part, inner)
        elif not isinstance(value, (Value, float, int, str)):
            for path, item in _items(name, value) or []:
                if not isinstance(item, (Value, float, int)):
                    yield from walk(path, item)

    return walk("", module)


def parts(module: Any) -> list[Any]:
    """Return a module and every module inside it once, as `modules` does, without the paths, which take most of its time."""
    found: dict[int, Any] = {}
    stack = [module]
    while stack:
        x = stack.pop()
        inside: Any = ()
        if _is_module(x):
            if id(x) in found:
                continue
            found[id(x)] = x
            inside = [value for name, value in vars(x).items() if name[0] != "_"]
        elif isinstance(x, (list, tuple, deque)):
            inside = x
        elif isinstance(x, dict):
            inside = x.values()
        elif is_array(x) and x.dtype == object:
            inside = x.tolist()
        stack += [item for item in inside if not isinstance(item, (Value, float, int, str))][::-1]
    return list(found.values())


def summary(module: Any) -> str:
    """Describe a module as a table of its parts and their numbers of parameters."""
    rows = [("part", "what", "parameters")]
    direct = [(name, part) for name, part in modules(module) if name and "." not in _below(name)]
    for name, part in direct:
        text = repr(part)
        rows.append((name, text if len(text) <= 60 else f"{text[:57]}...", f"{len(part.parameters()):,}"))
    inner = {id(p) for _, part in direct for p in part.parameters()}
    mine = [p for p in module.parameters() if id(p) not in inner]
    if mine and direct:
        rows.append(("(its own)", "", f"{len(mine):,}"))
    rows.append(("total", "" if direct else type(module).__name__, f"{len(module.parameters()):,}"))
    wide = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(f"{a:<{wide[0]}}    {b:<{wide[1]}}    {c:>{wide[2]}}".rstrip() for a, b, c in rows)


def _below(name: str) -> str:
    """The path without the index of a list: "layers.0" is a direct part, "layers.0.neurons" is not."""
    rest = name.partition(".")[2]
    return rest if rest.isdigit() or not rest else name


# ---- numbers in and out


def shape(tensor: Any) -> tuple[int, ...] | None:
    """Return the lengths of nested lists of Values or numbers, () for one alone, None for ragged lists and the rest."""
    if isinstance(tensor, (Value, int, float)):
        return ()
    if not isinstance(tensor, (list, tuple)) or not tensor:
        return None
    inner = {shape(item) for item in tensor}
    first = inner.pop()
    return None if inner or first is None else (len(tensor), *first)


def places(name: str, tensor: Any) -> Iterator[tuple[str, Any]]:
    """Give each item of nested lists with its path."""
    if isinstance(tensor, (list, tuple)):
        for i, item in enumerate(tensor):
            yield from places(f"{name}.{i}", item)
    else:
        yield name, tensor


def numbers(tensor: Any) -> Any:
    """Return the data of nested lists of Values."""
    return [numbers(item) for item in tensor] if isinstance(tensor, (list, tuple)) else tensor.data


def load(module: Any, state: Any, source: str) -> None:
    """Assign the numbers of a state to the parameters: all of them, or none and an error that says what does not fit."""
    if not isinstance(state, dict):
        raise TypeError(
            f"{source} is a {type(state).__name__}: a state is a dict from names to numbers, as state_dict()"
        )
    own = dict(tensors(module))
    given = {name: _plain(x) for name, x in state.items()}
    missing = [name for name in own if name not in given]
    unknown = [name for name in given if name not in own]
    for names, what in ((missing, f"{source} lacks"), (unknown, f"{source} has what this model lacks:")):
        if names:
            shapes = own if names is missing else given
            told = ", ".join(f"{name} of shape {shape(shapes[name])}" for name in names[:3])
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise ValueError(f"{what} {told}{more}; the model, {_short(module)}, is left as it was")
    new: list[tuple[Value, float]] = []
    for name, tensor in own.items():
        want, got = shape(tensor), shape(given[name])
        if got is None:
            raise ValueError(
                f"{source} has {name} with something else than numbers in rows of one length; the model is left as it was"
            )
        if want != got:
            raise ValueError(
                f"{source} has {name} of shape {got}, and the model's has shape {want}; the model is left as it was"
            )
        for (place, p), (_, x) in zip(places(name, tensor), places(name, given[name])):
            if isinstance(x, bool) or not isinstance(x, (int, float)):
                raise ValueError(f"{source} has no number at {place}, but {x!r}; the model is left as it was")
            try:
                new.append((p, float(x)))
            except OverflowError:
                raise ValueError(
                    f"{source} has a number beyond the range of a float at {place}; the model is left as it was"
                ) from None
    for p, x in new:
        p.data = x


def _plain(x: Any) -> Any:
    """Turn arrays and tensors into nested lists."""
    if hasattr(x, "tolist"):
        return x.tolist()
    return [_plain(item) for item in x] if isinstance(x, (list, tuple)) else x


def _short(module: Any) -> str:
    text = repr(module)
    return text if len(text) <= 60 else f"{text[:57]}..."
