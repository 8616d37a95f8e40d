"""The rule for round(x, digits): a plain number in eager code, and here a number of the tape on which no derivative depends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from micrograd.engine import Value
from micrograd.stage import mixed, special, whole
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import Machine
from micrograd.values.decimals import is_exact, rounded


def _round(m: Machine, number: Any, ndigits: Any = None) -> Any:
    mixed.refuse(m, number, ndigits)
    special.refuse(m, number, ndigits)
    return m.lift(partial(_rounded, m), number, ndigits)


def _rounded(m: Machine, x: Any, digits: Any) -> Any:
    if digits is None:
        return whole.to_int(m, round, "round", x)
    if type(x) is Lane and x.kind is int and type(digits) is int and digits >= 0:
        return x
    if is_exact(digits) and (isinstance(x, Value) or (type(x) is Lane and x.kind is float)):
        return Lane(float, rounded(x.value if type(x) is Lane else x, digits))
    return round(x, digits)


RULES: dict[Any, Callable[..., Any]] = {round: _round}

__all__ = ["RULES"]
