"""The text of a Value inside a function that is compiled or differentiated.

It is that of a Value, so to print it is harmless, but what it decides is not what the number would decide. While a function is
compiled, a program that looks into the text is refused: `str(x) == "nan"` is false while it is traced, and would stay so. While
one is differentiated, the methods of the text answer for the text of the number: `len(str(x))` is what it is in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.tape import kinds

PRINTING = ("__add__", "__format__", "__mod__", "__repr__", "__rmod__", "__str__", "center", "encode", "join", "ljust",
            "rjust")  # fmt: skip
NEEDED = ("__class__", "__delattr__", "__dir__", "__getattribute__", "__init__", "__init_subclass__", "__new__", "__reduce__",
          "__reduce_ex__", "__getnewargs__", "__getstate__", "__setattr__", "__sizeof__", "__subclasshook__")  # fmt: skip


class TracedText(str):
    """A text that can be printed and be a part of other texts. `meant()` gives the one that answers for everything else."""

    meant: Callable[[], str]

    @classmethod
    def of(cls, text: str, meant: Callable[[], str]) -> TracedText:
        """This text, and a function that gives the one that is meant, or raises an exception."""
        made = cls(text)
        made.meant = meant
        return made


def _asked(name: str) -> Callable[..., Any]:
    """The method of str, of the text that is meant."""
    usual: Any = getattr(str, name)

    def method(self: TracedText, *args: Any, **kwargs: Any) -> Any:
        return usual(self.meant(), *args, **kwargs)

    return method


for _name in dir(str):
    if _name not in PRINTING + NEEDED and callable(getattr(str, _name)):
        setattr(TracedText, _name, _asked(_name))


def text_of(v: Any, text: str) -> str:
    """The text of a Value that stands for a number while a derivative is taken: that of the number answers for it."""
    found = kinds.class_meant(v)
    if found is None:
        return text
    number = repr(found(v._data))
    serial = v._trace
    return TracedText.of(text, lambda: number if kinds.is_under_way(serial) else str.__str__(text))


__all__ = ["TracedText", "text_of"]
