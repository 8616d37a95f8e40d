"""What each operation of the core does with Python's objects.

An interpreter of the core calls these where all operands are Python objects. What is difficult to copy is left to Python
itself, by a small function in its own language: unpacking, class patterns and imports then raise Python's own messages.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from micrograd.core.forms import BINARY, COMPARISONS, IN_PLACE, UNARY


def _set_item(obj: Any, key: Any, value: Any) -> None:
    obj[key] = value


def _del_item(obj: Any, key: Any) -> None:
    del obj[key]


def _get_item(obj: Any, key: Any) -> Any:
    return obj[key]


def _special(obj: Any, name: str) -> Any:
    """Return a method that Python looks up in the type, such as __enter__."""
    for owner in type(obj).__mro__:
        if name in vars(owner):
            method = vars(owner)[name]
            bind = getattr(type(method), "__get__", None)
            return method if bind is None else bind(method, obj, type(obj))
    with obj:  # raises the error that Python has for this
        raise AssertionError(f"{name} is missing")


def _exception(value: Any, *causes: Any) -> BaseException:
    if isinstance(value, type) and issubclass(value, BaseException):
        kind, value = value, value()
        if not isinstance(value, BaseException):
            raise TypeError(f"calling {kind!r} should have returned an instance of BaseException, not {type(value)!r}")
    elif not isinstance(value, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    for cause in causes:
        if isinstance(cause, type) and issubclass(cause, BaseException):
            cause = cause()
        elif cause is not None and not isinstance(cause, BaseException):
            raise TypeError("exception causes must derive from BaseException")
        value.__cause__ = cause
    return value


def _handled() -> BaseException:
    error = sys.exc_info()[1]
    if error is None:
        raise RuntimeError("No active exception to reraise")
    return error


def _catches(error: BaseException, kinds: Any) -> bool:
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return any(kind in type(error).__mro__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))


def _is_sequence(value: Any) -> bool:
    match value:
        case [*_]:
            return True
    return False


def _is_mapping(value: Any) -> bool:
    match value:
        case {}:
            return True
    return False


@cache
def _made(text: str) -> Callable[..., Any]:
    """Return the function f that a text defines: Python itself does what is difficult to copy, with its own messages."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def _unpack(value: Any, before: int, after: int | None) -> tuple[Any, ...]:
    names = [f"a{i}" for i in range(before)]
    targets = names if after is None else [*names, "*a", *(f"b{i}" for i in range(after))]
    if not targets:
        return _made("def f(v):\n [] = v\n return ()")(value)  # type: ignore[no-any-return]
    listed = "".join(f"{t}, " for t in targets)
    return _made(f"def f(v):\n {listed}= v\n return ({listed.replace('*', '')})")(value)  # type: ignore[no-any-return]


def _match_keys(mapping: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    pattern = ", ".join(f"k.k{i}: v{i}" for i in range(len(keys)))
    values = "".join(f"v{i}, " for i in range(len(keys)))
    names = types.SimpleNamespace(**{f"k{i}": key for i, key in enumerate(keys)})
    run = _made(f"def f(v, k):\n match v:\n  case {{{pattern}}}: return ({values})")
    return run(mapping, names)  # type: ignore[no-any-return]


def _match_class(value: Any, kind: Any, count: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    patterns = [*(f"a{i}" for i in range(count)), *(f"{name}=b{i}" for i, name in enumerate(names))]
    values = "".join(f"{name}, " for name in (*(f"a{i}" for i in range(count)), *(f"b{i}" for i in range(len(names)))))
    run = _made(f"def f(v, kind):\n match v:\n  case kind({', '.join(patterns)}): return ({values})")
    return run(value, kind)  # type: ignore[no-any-return]


def _import_from(module: Any, name: str) -> Any:
    namespace: dict[str, Any] = {"__builtins__": {"__import__": lambda *_: module}}
    exec(f"from m import {name} as found", namespace)
    return namespace["found"]


def _slice(args: list[Any]) -> slice:
    return slice(*args)


def _set_of(args: list[Any]) -> set[Any]:
    made = set()
    for item in args:
        made.add(item)
    return made


def _dict_of(args: list[Any]) -> dict[Any, Any]:
    made = {}
    for key, value in zip(args[::2], args[1::2]):
        made[key] = value
    return made


ALLOC: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": _set_of,
    "dict": _dict_of,
    "slice": _slice,
}
GET: dict[str, Callable[[Any, Any], Any]] = {"item": _get_item, "attr": getattr, "special": _special}
SET: dict[str, Callable[[Any, Any, Any], None]] = {"item": _set_item, "attr": setattr}  # object, key, value
DEL: dict[str, Callable[[Any, Any], None]] = {"item": _del_item, "attr": delattr}
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{op: _made(f"def f(a): return {text}") for op, text in UNARY.items()},
    **{op: _made(f"def f(a, b): return a {op} b") for op in (*BINARY, *COMPARISONS)},
    **{op: _made(f"def f(a, b):\n a {op} b\n return a") for op in IN_PLACE},
    "iter": iter,
    "unpack": _unpack,
    "append": list.append,
    "extend": lambda made, items: made.extend([*items]),  # `*` has its own message for what cannot be iterated over
    "add": set.add,
    "update": set.update,
    "insert": dict.__setitem__,
    "merge": lambda made, items: made.update({**items}),
    "tuple": tuple,
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "format": format,
    "join": lambda *parts: "".join(parts),
    "exception": _exception,
    "handled": _handled,
    "catches": _catches,
    "import from": _import_from,
    "is sequence": _is_sequence,
    "is mapping": _is_mapping,
    "match keys": _match_keys,
    "match class": _match_class,
}
