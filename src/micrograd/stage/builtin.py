"""Rules for the builtins that compare and iterate."""

from __future__ import annotations

import ast
import functools
import itertools
import operator
import sys
from collections.abc import Callable
from typing import Any

from micrograd.engine import Value
from micrograd.stage import arranged, digits, iterate, iterators, mixed, packed, questions, special, whole
from micrograd.stage.calls import call, extend
from micrograd.stage.errors import Unsupported
from micrograd.stage.instances import is_plain_class
from micrograd.stage.join import join
from micrograd.stage.lanes import Lane
from micrograd.stage.language import BUILTINS, PLUS
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.operators import binary, compare
from micrograd.stage.ragged import ragged, settle
from micrograd.stage.summary import Summary
from micrograd.tape.kinds import as_float

MAX_SORTED = 64  # a network of more would have thousands of comparisons


def _call(m: Machine, f: Any, *args: Any) -> Any:
    return m.now(call(m, f, list(args), {}))


def _compare(m: Machine, kind: type, a: Any, b: Any) -> Any:
    return compare(m, kind, m.now(a), m.now(b))


def _extreme(kind: type) -> Callable[..., Any]:
    """min and max, as CPython folds them: the next item takes over if it compares as less (greater)."""

    def rule(m: Machine, *args: Any, key: Any = None, **options: Any) -> Any:
        found = packed.packed(m.now(args[0])) if len(args) == 1 and key is None else None
        folded = None if found is None else packed.fold(m, found, "lt" if kind is ast.Lt else "gt", 0.0)
        if folded is not None:
            m.merged()
            return folded
        items = iterate.items(m, args[0]) if len(args) == 1 else list(args)
        if not items:
            if "default" in options:
                return options["default"]
            raise ValueError("arg is an empty sequence")
        best = items[0]
        measure = best if key is None else _call(m, key, best)
        for item in items[1:]:
            value = item if key is None else _call(m, key, item)
            better = m.truth(_compare(m, kind, value, measure))
            rest = m.masks.without(m.here, better)
            best = join(m, [(mask, None, x) for mask, x in ((better, item), (rest, best)) if mask is not FALSE])
            measure = best if key is None else join(
                m, [(mask, None, x) for mask, x in ((better, value), (rest, measure)) if mask is not FALSE])  # fmt: skip
            if better is not FALSE and rest is not FALSE:
                m.merged()
        return m.now(best)

    return rule


def _any(stops_at: bool) -> Callable[..., Any]:
    def rule(m: Machine, source: Any) -> Any:
        source = m.now(source)
        if isinstance(source, iterators.Iterator):
            raise Unsupported("any() or all() of an iterator, of which they leave items")
        here, around = m.here, m.bystanders
        total = FALSE
        if isinstance(source, iterate.Comprehension):
            for item in source.walk(m):
                true = m.truth(item)
                stop = true if stops_at else m.masks.without(m.here, true)
                total = m.masks.either(total, stop)
                source.stopped = total
        else:
            for item in iterate.items(m, source):
                true = m.truth(item)
                stop = true if stops_at else m.masks.without(m.here, true)
                total = m.masks.either(total, stop)
                m.here = m.masks.without(m.here, stop)
                if m.here is FALSE:
                    break
        m.here, m.bystanders = here, around
        return m.answer(total if stops_at else m.masks.without(m.here, total))

    return rule


def _sum(m: Machine, source: Any, start: Any = 0) -> Any:
    source = m.now(source)
    found = packed.packed(source)
    folded = None if found is None or type(m.now(start)) is not int else packed.fold(m, found, "add", float(start))
    if folded is not None:
        return folded
    if isinstance(source, iterate.Comprehension):
        total = start
        here = m.here
        for item in source.walk(m):
            rest = m.masks.without(here, m.here)
            more = _plus(m, m.now(total), item)
            total = join(
                m, [(m.here, None, more), (rest, None, total)] if rest is not FALSE else [(m.here, None, more)]
            )
        m.here = here
        return m.now(total)
    items = iterate.items(m, source)
    if is_plain_class(type(m.now(start))) or any(is_plain_class(type(x)) for x in items):
        return functools.reduce(lambda a, b: _plus(m, m.now(a), m.now(b)), items, start)
    if not any(isinstance(x, (Value, Summary)) for x in items) and type(m.now(start)) is not Summary:
        return sum(items, start)
    first = next(k for k, x in enumerate(items) if isinstance(x, (Value, Summary)))
    total = sum(items[:first], start)
    for item in items[first:]:
        total = _plus(m, m.now(total), m.now(item))
    return total


def _plus(m: Machine, a: Any, b: Any) -> Any:
    if sys.version_info >= (3, 12) and _has_float(m, a) and _has_float(m, b):
        raise Unsupported("sum() of floats and of what differs by row, which CPython adds with a correction")
    return binary(m, operator.add, a, b)


def _operator(op: Callable[[Any, Any], Any], m: Machine, a: Any, b: Any) -> Any:
    return binary(m, op, m.now(a), m.now(b))


def _add(m: Machine, a: Any, b: Any) -> Any:
    return _plus(m, m.now(a), m.now(b))


def _has_float(m: Machine, x: Any) -> bool:
    parts = [y for _, y in x.alternatives] if type(x) is Summary else [x]
    return any(type(y) is float or (type(y) is Lane and y.kind is float) or mixed.is_mixed(m, y) for y in parts)


def sort(m: Machine, items: list[Any], key: Any = None, reverse: Any = False) -> list[Any]:
    """The items in order: a stable network of comparisons, and rows with a nan left to a tape of their own."""
    keys = items if key is None else [_call(m, key, x) for x in items]
    if not any(isinstance(k, (Value, Summary)) for k in keys):
        special.refuse_inside(m, *keys)
        order = sorted(range(len(items)), key=lambda i: keys[i], reverse=reverse)
        return [items[i] for i in order]
    if len(items) > MAX_SORTED:
        raise Unsupported(f"a list of more than {MAX_SORTED} Values is sorted")
    for k in keys:
        nan = m.truth(_compare(m, ast.NotEq, k, k))
        if nan is not FALSE and len(items) > 1:
            m.lose(nan, "a nan is sorted")
    pairs = list(zip(keys, items))
    for end in range(1, len(pairs)):  # insertion: neighbours change places only if one is less, so equal ones never do
        for i in range(end, 0, -1):
            (k1, x1), (k2, x2) = pairs[i - 1], pairs[i]
            swap = m.truth(_compare(m, ast.Lt, *((k1, k2) if reverse else (k2, k1))))
            stay = m.masks.without(m.here, swap)
            if swap is FALSE:
                break
            m.merged()

            def pick(a: Any, b: Any, swap: Any = swap, stay: Any = stay) -> Any:
                return join(m, [(mask, None, x) for mask, x in ((swap, a), (stay, b)) if mask is not FALSE])

            pairs[i - 1] = pick(k2, k1), pick(x2, x1)
            pairs[i] = pick(k1, k2), pick(x1, x2)
    return [x for _, x in pairs]


def _sorted(m: Machine, source: Any, key: Any = None, reverse: Any = False) -> Any:
    return m.made(sort(m, iterate.items(m, source), key, reverse))


def _list(m: Machine, *source: Any) -> Any:
    made = m.made([])
    if source:
        extend(m, made, source[0])
    return made


def _tuple(m: Machine, *source: Any) -> Any:
    return tuple(iterate.items(m, source[0])) if source else ()


def _set(m: Machine, *source: Any) -> Any:
    return m.made(set(iterate.items(m, source[0])) if source else set())


def _dict(m: Machine, *source: Any, **named: Any) -> Any:
    first = m.now(source[0]) if source else {}
    return m.made(dict(first if isinstance(first, dict) else iterate.items(m, first), **named))


def _next(m: Machine, source: Any, *default: Any) -> Any:
    source = m.now(source)
    if not isinstance(source, iterators.Iterator) or id(source) not in m.births:
        raise Unsupported("next() of an iterator from outside")
    rows, item = source.advance(m)
    rest = m.masks.without(m.here, rows)
    if rest is FALSE:
        return item
    if default:
        return join(m, [(mask, None, x) for mask, x in ((rows, item), (rest, default[0])) if mask is not FALSE])
    if rows is FALSE:
        raise StopIteration
    m.lose(rest, "an iterator has no more items")
    return item


def _iter(m: Machine, source: Any, *sentinel: Any) -> Any:
    if sentinel:
        raise Unsupported("iter() of a function that is called until it returns a given object")
    return iterators.adopt(m, iterate.iterator(m, source))


def _bool(m: Machine, x: Any = False) -> Any:
    return m.answer(m.truth(x))


def _len(m: Machine, x: Any) -> Any:
    found = packed.packed(m.now(x))
    return found.length if found is not None else m.lift(lambda y: special.length(m, y), settle(m, m.now(x)))


def _range(m: Machine, *ends: Any) -> Any:
    mixed.refuse(m, *ends)
    special.refuse(m, *ends)
    if any(isinstance(e, Value) for e in ends):
        raise TypeError("'Value' object cannot be interpreted as an integer")
    if any(type(e) is Lane for e in ends):
        return packed.span(m, *ends)
    return m.lift(range, *ends)


def _float(m: Machine, *args: Any) -> Any:
    mixed.refuse(m, *args)
    special.refuse(m, *args)
    return m.lift(
        lambda *every: _as_float(*every) if every and type(every[0]) in (Lane, Value) else float(*every), *args
    )


def _as_float(x: Any) -> Any:
    if type(x) is Value:
        return as_float(x)
    return x if x.kind is float else Lane(float, x.value, most=x.most)


def _print(m: Machine, *args: Any, **options: Any) -> Any:
    raise Unsupported("print() is called")


def _refuse(m: Machine, *args: Any, **options: Any) -> Any:
    raise Unsupported("input(), open(), id(), sys.exc_info() and the like are called")


def _zip(m: Machine, *sources: Any, strict: bool = False) -> Any:
    if strict:
        lists = [iterate.items(m, s) for s in sources]
        if len({len(x) for x in lists}) > 1:
            raise ValueError("zip() arguments have different lengths")
        return m.made(iterators.Sequence(list(zip(*lists))))
    own = not any(isinstance(m.now(s), iterators.Iterator) for s in sources)
    return m.made(iterators.Together([_iter(m, s) for s in sources], None, own))


def _map(m: Machine, f: Any, *sources: Any) -> Any:
    parts = [_iter(m, s) for s in sources]
    return m.made(iterators.Together(parts, lambda items: _call(m, f, *items)))


def _enumerate(m: Machine, source: Any, start: int = 0) -> Any:
    own = not isinstance(m.now(source), iterators.Iterator)
    return m.made(iterators.Counted(_iter(m, source), start, own))


def _reversed(m: Machine, source: Any) -> Any:
    source = m.now(source)
    if ragged(source) is not None:
        raise Unsupported("reversed() of a list whose length differs by row")
    found = packed.packed(source)
    if found is not None:
        return m.made(iterators.Sequence(packed.item(m, source, found, slice(None, None, -1))))
    if not isinstance(source, (list, tuple, range, str)):
        source = iterate.items(m, source)
    return m.made(iterators.Sequence(source, reverse=True))


def _absolute(m: Machine, x: Any) -> Any:
    def one(y: Any) -> Any:
        if type(y) is Lane:
            return Lane(y.kind, abs(y.value))
        own = special.unary(m, abs, y)
        if own is special.PLAIN:
            special.refuse(m, y)
        return abs(y) if own is special.PLAIN else own

    return m.lift(one, x)


def _reduce(m: Machine, f: Any, source: Any, *initial: Any) -> Any:
    items = [*initial, *iterate.items(m, source)]
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for item in items[1:]:
        total = _call(m, f, m.now(total), m.now(item))
    return total


def _listed(f: Any) -> Callable[..., Any]:
    """A function of itertools that arranges items, of lists."""

    def rule(m: Machine, *args: Any, **options: Any) -> Any:
        given = [a if type(a) in (int, type(None)) else iterate.items(m, a) for a in args]
        found = iterators.Sequence(list(f(*given, **options)))
        if f in LAZY:
            found.made_of = [x for x in map(m.now, args) if type(x) is list]
        return m.made(found)

    return rule


def _count(m: Machine, start: Any = 0, step: Any = 1) -> Any:
    if type(start) is not int or type(step) is not int or step < 1:
        raise Unsupported("itertools.count() of other numbers than whole ones")
    return m.made(iterators.Sequence(range(start, start + (1 << 60), step)))


LAZY = {
    itertools.pairwise,
    itertools.chain,
    itertools.zip_longest,
    itertools.islice,
}  # they take items when asked for one
ARRANGED = [itertools.combinations, itertools.combinations_with_replacement, itertools.permutations, itertools.product,
            itertools.pairwise, itertools.chain, itertools.zip_longest, itertools.islice]  # fmt: skip

BUILTINS |= {
    min: _extreme(ast.Lt), max: _extreme(ast.Gt), any: _any(True), all: _any(False), sum: _sum, sorted: _sorted,
    list: _list, tuple: _tuple, set: _set, dict: _dict, next: _next, iter: _iter, bool: _bool, len: _len,
    range: _range, float: _float, print: _print, zip: _zip, map: _map, enumerate: _enumerate,
    reversed: _reversed, abs: _absolute, list.sort: sort, type: questions.type_, isinstance: questions.isinstance_,
    getattr: questions.getattr_, hasattr: questions.hasattr_,
    functools.reduce: _reduce, PLUS: _add,
}  # fmt: skip
BUILTINS |= {op: functools.partial(_operator, op) for op in special.BINARY}
BUILTINS |= dict.fromkeys([id, input, open, sys.getrecursionlimit, dir, vars, locals, globals, eval, exec, compile,
                           sys.exc_info, sys._getframe], _refuse)  # fmt: skip
if sys.version_info >= (3, 11):
    BUILTINS[sys.exception] = _refuse
BUILTINS |= {f: _listed(f) for f in ARRANGED} | {itertools.count: _count} | arranged.RULES | digits.RULES | whole.RULES
