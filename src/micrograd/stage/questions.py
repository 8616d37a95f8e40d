"""What a program asks of its objects: type, isinstance, getattr and hasattr.

A Value stands for a number here, and answers for it where that is possible. Where it is not, the paths are kept apart: each of
them is then compared with a run on plain numbers.
"""

from __future__ import annotations

from typing import Any

from micrograd.engine import Value
from micrograd.stage import mixed
from micrograd.stage.calls import attribute
from micrograd.stage.errors import Unsupported
from micrograd.stage.instances import is_plain_class
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import OWN, Machine
from micrograd.tape import kinds


def type_(m: Machine, *args: Any) -> Any:
    """The class of something: type(x)."""
    if len(args) != 1:
        raise Unsupported("a class is created by type()")
    x = m.now(args[0])
    mixed.refuse(m, x)
    if isinstance(x, Value) and not _is_told(m) and kinds.class_told(x) is not type(x):
        raise Unsupported("type() of a number, which is a Value here")
    return m.lift(lambda y: y.kind if type(y) is Lane else type(y), x)


def getattr_(m: Machine, x: Any, name: str, *default: Any) -> Any:
    """An attribute by its name."""
    mixed.refuse(m, m.now(x))

    def one(y: Any) -> Any:
        if default:
            _refuse_other(m, y, name)
        try:
            return attribute(m, y, name)
        except AttributeError:
            if not default:
                raise
            return default[0]

    return m.lift(one, x)


def hasattr_(m: Machine, x: Any, name: str) -> Any:
    """Whether there is an attribute of this name."""
    mixed.refuse(m, m.now(x))

    def one(y: Any) -> bool:
        if type(y) is Lane:
            return hasattr(y.kind, name)
        _refuse_other(m, y, name)
        try:
            attribute(m, y, name)
        except AttributeError:
            return False
        return True

    return m.lift(one, x)


def _is_told(m: Machine) -> bool:
    """Whether code of this package asks, which knows about Values."""
    return m.line.startswith(OWN)


def _refuse_other(m: Machine, y: Any, name: str) -> None:
    """Refuse to say whether a Value has an attribute, where it stands for a number for which the answer is another one."""
    if isinstance(y, Value) and not _is_told(m) and hasattr(type(y), name) != hasattr(kinds.class_told(y), name):
        raise Unsupported(f"whether a number has an attribute `{name}` is asked")


def isinstance_(m: Machine, x: Any, classes: Any) -> Any:
    """Whether something is of one of these classes, as a number says of itself."""
    x = m.now(x)
    mixed.refuse(m, x)
    if isinstance(x, Value) and _has_no_numbers(classes):  # of whatever class the number is
        return False
    return m.lift(lambda y, c: issubclass(y.kind, c) if type(y) is Lane else kinds.is_instance(y, c), x, classes)


def _has_no_numbers(classes: Any) -> bool:
    """Whether no number is an object of these classes of the user's, nor of those that inherit from them."""
    if type(classes) is tuple:
        return all(map(_has_no_numbers, classes))
    return type(classes) is type and is_plain_class(classes) and all(map(_has_no_numbers, classes.__subclasses__()))
