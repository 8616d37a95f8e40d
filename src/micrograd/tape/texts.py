"""The text of a Value inside a compiled function.

The text has the number of the traced run in it. To print it is harmless, but what it decides would hold for that number alone:
`str(x) == "nan"` is false while the function is traced, and would stay so. So a program that looks into it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PRINTING = ("__add__", "__format__", "__mod__", "__repr__", "__rmod__", "__str__", "center", "encode", "join", "ljust",
            "rjust")  # fmt: skip
NEEDED = ("__class__", "__delattr__", "__dir__", "__getattribute__", "__init__", "__init_subclass__", "__new__", "__reduce__",
          "__reduce_ex__", "__getnewargs__", "__getstate__", "__setattr__", "__sizeof__", "__subclasshook__")  # fmt: skip


class TracedText(str):
    """A text that can be printed and be a part of other texts. `refuse` is called before anything else is asked of it."""

    refuse: Callable[[], None]

    @classmethod
    def of(cls, text: str, refuse: Callable[[], None]) -> TracedText:
        """This text, guarded by a function that raises an exception."""
        made = cls(text)
        made.refuse = refuse
        return made


def _asked(name: str) -> Callable[..., Any]:
    """The method of str, which is refused while the function is traced."""
    usual: Any = getattr(str, name)

    def method(self: TracedText, *args: Any, **kwargs: Any) -> Any:
        self.refuse()
        return usual(self, *args, **kwargs)

    return method


for _name in dir(str):
    if _name not in PRINTING + NEEDED and callable(getattr(str, _name)):
        setattr(TracedText, _name, _asked(_name))


__all__ = ["TracedText"]
