"""Summaries: what a variable holds where rows disagree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage.errors import StaleRead, Unsupported
from micrograd.stage.masks import FALSE, Mask

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


PACKAGE = Path(__file__).resolve().parents[1]
WITHIN = tuple([str(PACKAGE / name) for name in ("tape", "compile")])
STAGE = str(PACKAGE / "stage")


class _Unbound:
    """What a variable holds before it is assigned."""

    def __repr__(self) -> str:
        return "<unbound>"


class _Stale:
    """What a variable holds at the beginning of an iteration that assigns it before it is read."""

    def __repr__(self) -> str:
        return "<stale>"


UNBOUND = _Unbound()
STALE = _Stale()


class Summary:
    """Alternatives of which each row has one: [(mask, object)]. Code that is not interpreted must not see it.

    The masks say which alternative it is for the rows that were there when they were joined, and nothing of other rows.
    """

    __slots__ = ("alternatives",)
    kind: Any  # of a Lane
    value: Any

    def __init__(self, alternatives: list[tuple[Mask, Any]]) -> None:
        self.alternatives = alternatives

    def _not_here(self, *_: Any) -> Any:
        raise Unsupported("something that differs by row is handed to code that is not interpreted")

    __bool__ = __len__ = __iter__ = __getitem__ = __call__ = __float__ = __int__ = __index__ = __hash__ = _not_here  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __format__ = __str__ = _not_here  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _not_here
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = (
        _not_here
    )
    __divmod__ = __rdivmod__ = __matmul__ = __rmatmul__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = (
        _not_here
    )
    __complex__ = __setitem__ = __delitem__ = _not_here
    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __neg__ = __abs__ = __pos__ = _not_here


def held(m: Machine, x: Any) -> Any:
    """What a variable holds in the rows here, to be handed on: some of them may not have assigned it."""
    if type(x) is not Summary:
        return x
    found = [(mask, y) for mask, y in x.alternatives if m.masks.both_of(mask, m.here) is not FALSE]
    if any(y is STALE for _, y in found):
        raise StaleRead
    return found[0][1] if len(found) == 1 else Summary(found)


def is_stale(x: Any) -> bool:
    """Whether a variable holds, in some rows, what an iteration has not assigned."""
    return x is STALE or (type(x) is Summary and any(y is STALE for _, y in x.alternatives))


def is_number(x: Any) -> bool:
    """Whether a number of the program: a Value, an int or a float, and no bool."""
    return isinstance(x, (Value, float, int)) and not isinstance(x, bool)


def is_own(why: BaseException) -> bool:
    """Whether an exception says something of this package and not of the program: no `except` of the program may catch it.

    It was raised by the code that makes tapes, or because of an object that only the merger knows. Or it may have been: a
    TypeError of `items[x]` and an AttributeError of `x.bit_length` are raised by a Value, and not by the int in its place.
    """
    if isinstance(why, TypeError) or (isinstance(why, AttributeError) and isinstance(getattr(why, "obj", None), Value)):
        return True
    trace = why.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename if trace is not None else ""
    if file.startswith(WITHIN) or (isinstance(why, AssertionError) and file.startswith(STAGE)):
        return True
    if isinstance(getattr(why, "obj", None), Summary):
        return True
    names = [c.__name__ for c in Summary.__subclasses__()]
    return re.search(rf"\b({'|'.join(names)}|Summary)\b", str(why)) is not None
