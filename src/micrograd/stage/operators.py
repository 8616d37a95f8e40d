"""What operators, comparisons and subscripts do to what may differ by row, or change from one iteration to the next."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from micrograd.engine import Value
from micrograd.stage import bounds, elements, instances, iterate, iterators, lanes, mixed, packed, special, whole
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.ragged import settle
from micrograd.stage.summary import Summary
from micrograd.values.operand import REFLECTED, bound

COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", operator.lt), ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne),
}  # fmt: skip


def binary(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """a op b for what may differ by row."""
    a, b = settle(m, a), settle(m, b)
    if type(a) is Summary or type(b) is Summary:
        return m.lift(lambda x, y: binary(m, op, x, y), a, b)
    value = m.mixed and (isinstance(a, Value) or isinstance(b, Value))
    plain = value and mixed.may_be_plain(m, a) and mixed.may_be_plain(m, b)
    if plain and op is operator.mul:
        for x, by in ((a, b), (b, a)):
            if type(by) is int and by < 0:
                mixed.negated(m, x)
    if plain and m.limits.coarse:
        return mixed.binary(m, op, a, b)
    if plain and op in mixed.RAISING:
        raise Unsupported("a division or power of numbers of which some are plain ones")
    if (type(a) is Lane or type(b) is Lane) and not special.has_operator(op, a, b):
        return lanes.binary(m, op, a, b)
    result = special.binary(m, op, a, b)
    if result is special.PLAIN:
        result = op(a, b)
    if type(result) is list:
        m.made(result)
    return result


def choose(m: Machine, mask: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two results: that of `yes` in the rows of the mask."""
    yes_rows, no_rows = m.masks.both_of(m.here, mask), m.masks.without(m.here, mask)
    if no_rows is FALSE:
        return yes()
    if yes_rows is FALSE:
        return no()
    m.merged()
    result = m.fork([(yes_rows, yes), (no_rows, no)])
    if m.here is FALSE:
        raise Lost
    return result


def compare(m: Machine, kind: type, a: Any, b: Any) -> Any:
    """One comparison, as a bool or a Summary of bools."""
    if kind is not ast.Is and kind is not ast.IsNot:
        a, b = settle(m, a), settle(m, b)
    if type(a) is Summary or type(b) is Summary:
        return m.lift(lambda x, y: compare(m, kind, x, y), a, b)
    if kind is ast.Is or kind is ast.IsNot:
        if a is not None and b is not None:
            mixed.refuse(m, a, b)
        return _identical(m, a, b) is (kind is ast.Is)
    if kind is ast.In or kind is ast.NotIn:
        if type(b) is Lane or (type(a) is Lane and not isinstance(b, (list, tuple))):
            raise Unsupported("`in` with a plain number that changes from one iteration to the next")
        found = contains(m, b, a)
        return found if kind is ast.In else m.answer(m.masks.without(m.here, m.truth(found)))
    how, plain = COMPARE[kind]
    asked: tuple[Any, Any] | None = None
    if type(a) is Lane or type(b) is Lane:
        known = bounds.decided(how, a, b)
        if known is not None:
            return known
        m.by_iteration += not (isinstance(a, Value) or isinstance(b, Value))
        asked, a, b = (a, b), lanes.plain(a), lanes.plain(b)
        if not all(isinstance(x, (Value, float, int)) for x in (a, b)):
            raise Unsupported("a comparison of a plain number that changes from one iteration to the next")
    if isinstance(a, Value) or isinstance(b, Value):
        other = b if isinstance(a, Value) else a
        if isinstance(other, (Value, float, int)):
            if not isinstance(b, Value):
                b = bound(how, b)
            elif not isinstance(a, Value):
                a = bound(REFLECTED[how], a)
            mask = m.masks.compare(how, a, b)
            if asked is not None:
                bounds.remember(m, mask, how, *asked)
            return m.answer(mask)
    result = special.compare(m, how, a, b)
    return plain(a, b) if result is special.PLAIN else result


def _identical(m: Machine, a: Any, b: Any) -> bool:
    if isinstance(a, Lane) or isinstance(b, Lane):
        if a is None or b is None:
            return False
        raise Unsupported("`is` with a plain number that changes from one iteration to the next")
    if a is b and type(a) in (bool, type(None), Value):
        return True
    for x in (a, b):
        if x is None or x is True or x is False or x is ... or isinstance(x, type):
            return a is b
    if type(a) is type(b) and isinstance(a, (int, float, str, bytes, tuple)):
        raise Unsupported("`is` between numbers, texts or tuples")
    if id(a) in m.stand_ins or id(b) in m.stand_ins:
        return instances.identical(m, a, b)
    if isinstance(a, Value) and isinstance(b, Value) and not (_is_itself(m, a) and _is_itself(m, b)):
        raise Unsupported("`is` between Values that differ by row, or from one iteration to the next")
    return a is b


def _is_itself(m: Machine, x: Value) -> bool:
    """Whether a Value stands for one Value of the program, and not for one by row, or by iteration."""
    return m.rolling is None and x._op not in ("pick", "result", "load")


def contains(m: Machine, items: Any, x: Any) -> Any:
    """x in items, as CPython asks: item by item, for the same object or an equal one."""
    if isinstance(items, (iterators.Iterator, iterate.Comprehension)):
        raise Unsupported("`in` of an iterator, of which it leaves items")
    if type(items) not in (list, tuple):
        result = special.contains(m, items, x)
        return m.lift(operator.contains, items, x) if result is special.PLAIN else result
    total, here = FALSE, m.here
    for item in items:
        both = isinstance(x, Value) and isinstance(item, Value) and item is not x
        if both and not (_is_itself(m, x) and _is_itself(m, item)):
            m.lose(m.masks.both_of(m.here, m.masks.compare("ne", x, x)), "`in` asks whether a nan is the same object")
        mask = m.here if item is x else m.truth(m.lift(lambda y: _same_or_equal(m, y, x), item))
        total = m.masks.either(total, mask)
        m.here = m.masks.without(m.here, mask)
        if m.here is FALSE:
            break
    m.here = here
    return m.answer(total)


def count(m: Machine, items: Any, x: Any) -> Any:
    """items.count(x): how many of the items are x, or equal to it."""
    total: Any = 0
    for item in items:
        total = m.lift(operator.add, m.now(total), m.now(contains(m, (item,), x)))
    return m.now(total)


def _same_or_equal(m: Machine, a: Any, b: Any) -> Any:
    return instances.identical(m, a, b) or compare(m, ast.Eq, a, b)


def item(m: Machine, x: Any, index: Any) -> Any:
    """x[index]"""
    mixed.refuse(m, x, index)
    if isinstance(x, (iterators.Iterator, Value)):
        raise TypeError(f"'{type(x).__name__}' object is not subscriptable")
    if isinstance(index, slice) and any(type(part) is Summary for part in (index.start, index.stop, index.step)):
        return m.lift(lambda *ends: item(m, x, slice(*ends)), index.start, index.stop, index.step)
    array = packed.packed(x)
    if array is not None and whole.differs_by_row(index):
        return whole.item(m, x, index)
    if array is not None:
        return packed.item(m, x, array, index)
    x = settle(m, x)
    if type(x) is Summary:
        return m.lift(lambda y: item(m, y, index), x)
    if type(index) is Lane or (type(index) is tuple and any(type(i) is Lane for i in index)):
        return elements.by_iteration(m, x, index)
    if isinstance(index, slice) and any(type(part) is Lane for part in (index.start, index.stop, index.step)):
        if type(x) is not list:
            raise Unsupported("a slice that changes from one iteration to the next")
        return packed.item(m, x, packed.pack(m, x), index)
    result = special.item(m, x, index)
    if result is special.PLAIN:
        result = x[index]
    if type(x) is list and type(result) is list and isinstance(index, slice):
        m.made(result)
    return result
