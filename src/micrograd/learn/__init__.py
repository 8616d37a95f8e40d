"""See every gradient flow: frames of a forward and a backward pass, drawings, pages and a terminal that show them.

>>> from micrograd import Value, learn
>>> a = Value(2.0, label="a")
>>> steps = learn.frames(a * a + 1.0)
>>> len(steps) > 4
True
"""

from typing import TYPE_CHECKING, Any

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.learn.frames import frames  # at once, so that the function and not its module has the name

if TYPE_CHECKING:
    from micrograd.learn.draw import Drawing as Drawing
    from micrograd.learn.draw import draw_dot as draw_dot
    from micrograd.learn.explorer import explore as explore
    from micrograd.learn.expression import ExpressionError as ExpressionError
    from micrograd.learn.expression import build as build
    from micrograd.learn.expression import parse as parse
    from micrograd.learn.frames import Timeline as Timeline
    from micrograd.learn.theatre import watch as watch

_HOME = {
    "Drawing": "draw",
    "ExpressionError": "expression",
    "Timeline": "frames",
    "build": "expression",
    "draw_dot": "draw",
    "explore": "explorer",
    "parse": "expression",
    "watch": "theatre",
}

__all__ = ["frames", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
