"""Expressions, compiled to functions of (machine, frame)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from micrograd.stage import arranged, calls, iterate, iterators, lanes, mixed, special
from micrograd.stage.errors import Copied, StaleRead, Unsupported
from micrograd.stage.folds import Folds
from micrograd.stage.functions import definition, makes
from micrograd.stage.generators import Generator
from micrograd.stage.lanes import Lane
from micrograd.stage.language import EXPRESSIONS, Run, expression
from micrograd.stage.machine import Machine
from micrograd.stage.operators import binary, choose, compare, item
from micrograd.stage.packed import Forgotten
from micrograd.stage.scope import Scope, comprehension_scope
from micrograd.stage.state import Frame
from micrograd.stage.summary import STALE, UNBOUND, Summary
from micrograd.stage.targets import target

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.MatMult: operator.matmul,
}  # fmt: skip
UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}


def _constant(node: Any, scope: Scope) -> Run:
    value = node.value
    return lambda m, frame: value


def _name(node: Any, scope: Scope) -> Run:
    return load(node.id, scope)


def load(name: str, scope: Scope) -> Run:
    """Read a variable."""
    hops = scope.hops(name)
    if hops is None:

        def from_outside(m: Machine, frame: Frame) -> Any:
            return frame.lookup(name)

        return from_outside

    def own(m: Machine, frame: Frame) -> Any:
        value = frame.variables.get(name, UNBOUND)
        if type(value) is Summary:
            return m.now(value)
        if value is UNBOUND:
            raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        if value is STALE:
            raise StaleRead(name)
        if type(value) is Forgotten:
            raise Copied(f"`{name}` is read behind a loop that does not carry it", value.loop)
        return value

    def outer(m: Machine, frame: Frame) -> Any:
        for _ in range(hops):
            frame = frame.parent
        return own(m, frame)

    return own if hops == 0 else outer


def _binary(node: Any, scope: Scope) -> Run:
    left, right, op = expression(node.left, scope), expression(node.right, scope), BINARY[type(node.op)]

    def run(m: Machine, frame: Frame) -> Any:
        a = left(m, frame)
        return binary(m, op, a, right(m, frame))

    return run


def _unary(node: Any, scope: Scope) -> Run:
    operand = expression(node.operand, scope)
    if isinstance(node.op, ast.Not):

        def negate(m: Machine, frame: Frame) -> Any:
            x = operand(m, frame)
            return m.answer(m.masks.without(m.here, m.truth(x)))

        return negate
    op = UNARY[type(node.op)]

    def one(m: Machine, x: Any) -> Any:
        if type(x) is Lane:
            return lanes.unary(m, op, x)
        if op is operator.neg:
            mixed.negated(m, x)
        result = special.unary(m, op, x)
        return op(x) if result is special.PLAIN else result

    return lambda m, frame: m.lift(lambda x: one(m, x), operand(m, frame))


def _bool_op(node: Any, scope: Scope) -> Run:
    parts = [expression(v, scope) for v in node.values]
    stops_at = isinstance(node.op, ast.Or)

    def run(m: Machine, frame: Frame, first: int = 0) -> Any:
        value = parts[first](m, frame)
        if first == len(parts) - 1:
            return value
        true = m.truth(value)
        stop = true if stops_at else m.masks.without(m.here, true)
        return choose(m, stop, lambda: m.now(value), lambda: run(m, frame, first + 1))

    return run


def _conditional(node: Any, scope: Scope) -> Run:
    test, yes, no = (expression(x, scope) for x in (node.test, node.body, node.orelse))

    def run(m: Machine, frame: Frame) -> Any:
        mask = m.truth(test(m, frame))
        return choose(m, mask, lambda: yes(m, frame), lambda: no(m, frame))

    return run


def _comparison(node: Any, scope: Scope) -> Run:
    first = expression(node.left, scope)
    rest = [(type(op), expression(right, scope)) for op, right in zip(node.ops, node.comparators)]

    def run(m: Machine, frame: Frame) -> Any:
        return chain(m, frame, first(m, frame), 0)

    def chain(m: Machine, frame: Frame, left: Any, k: int) -> Any:
        kind, operand = rest[k]
        right = operand(m, frame)
        value = compare(m, kind, m.now(left), right)
        if k == len(rest) - 1:
            return value
        stop = m.masks.without(m.here, m.truth(value))
        return choose(m, stop, lambda: m.now(value), lambda: chain(m, frame, m.now(right), k + 1))

    return run


def _attribute(node: Any, scope: Scope) -> Run:
    owner, name = expression(node.value, scope), node.attr
    return lambda m, frame: m.now(m.lift(lambda x: calls.attribute(m, x, name), owner(m, frame)))


def _subscript(node: Any, scope: Scope) -> Run:
    owner, index = expression(node.value, scope), expression(node.slice, scope)

    def run(m: Machine, frame: Frame) -> Any:
        x = owner(m, frame)
        return m.now(m.lift(lambda a, b: item(m, a, b), x, index(m, frame)))

    return run


def _slice(node: Any, scope: Scope) -> Run:
    parts = [expression(p, scope) if p is not None else None for p in (node.lower, node.upper, node.step)]
    return lambda m, frame: slice(*[p(m, frame) if p is not None else None for p in parts])


def _sequence(node: Any, scope: Scope) -> Run:
    kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
    stars = any(isinstance(e, ast.Starred) for e in node.elts)
    parts = [(isinstance(e, ast.Starred), expression(e.value if isinstance(e, ast.Starred) else e, scope))
             for e in node.elts]  # fmt: skip

    def run(m: Machine, frame: Frame) -> Any:
        items: list[Any] = []
        if stars and kind is list:
            m.made(items)
        for starred, part in parts:
            value = part(m, frame)
            if starred and kind is list:
                calls.extend(m, items, value)
            elif starred:
                items += iterate.items(m, value)
            elif stars and kind is list:
                calls.extend(m, items, [value])
            else:
                items.append(value)
        if stars and kind is list:
            return items
        if kind is tuple:
            return tuple(items)
        if kind is set:
            special.refuse_inside(m, *items)
        return m.made(kind(items))

    return run


def _dict(node: Any, scope: Scope) -> Run:
    parts = [(None if key is None else expression(key, scope), expression(value, scope))
             for key, value in zip(node.keys, node.values)]  # fmt: skip

    def run(m: Machine, frame: Frame) -> Any:
        made: dict[Any, Any] = {}
        for key, value in parts:
            if key is None:
                made.update(calls.named(m, value(m, frame)))
            else:
                at = key(m, frame)
                special.refuse_inside(m, at)
                made[at] = value(m, frame)
        return m.made(made)

    return run


def _call(node: Any, scope: Scope) -> Run:
    function = expression(node.func, scope)
    args = [(isinstance(a, ast.Starred), alone(a, expression(a.value if isinstance(a, ast.Starred) else a, scope)))
            for a in node.args]  # fmt: skip
    named = [(k.arg, expression(k.value, scope)) for k in node.keywords]
    if isinstance(node.func, ast.Name) and node.func.id == "super" and scope.hops("super") is None:
        starred = any(star for star, _ in args)
        if not args:
            return _super
        if len(args) == 2 and not starred and not named:
            return lambda m, frame: _super_of(args[0][1](m, frame), args[1][1](m, frame))
    if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "eval", "exec", "vars"):
        raise Unsupported(f"{node.func.id}() is not merged")

    def run(m: Machine, frame: Frame) -> Any:
        f = function(m, frame)
        given: list[Any] = []
        for starred, a in args:
            value = a(m, frame)
            if starred:
                given += iterate.items(m, value)
            else:
                given.append(value)
        names: dict[str, Any] = {}
        for name, a in named:
            value = a(m, frame)
            if name is None:
                names.update(calls.named(m, value))
            else:
                names[name] = value
        result = m.now(calls.call(m, f, given, names))
        m.called = f
        return result

    return run


def alone(node: ast.expr, value: Run) -> Run:
    """An expression; of a call of a generator function, what it gives is held by nobody else."""
    if not isinstance(node, ast.Call):
        return value

    def run(m: Machine, frame: Frame) -> Any:
        found = value(m, frame)
        if isinstance(found, Generator) and makes(m.called, found):
            m.births.pop(id(found), None)
        elif any(m.called is f for f in (zip, enumerate, *arranged.RULES)):
            iterators.release(m, found)
        return found

    return run


def _super(m: Machine, frame: Frame) -> Any:
    if frame.code is None or not frame.code.positional:
        raise Unsupported("super() inside of a comprehension")
    return _super_of(frame.lookup("__class__"), frame.variables[frame.code.positional[0]])


def _super_of(kind: Any, x: Any) -> Any:
    if isinstance(kind, Summary) or isinstance(x, Summary):
        raise Unsupported("super() of an object that differs by row")
    return super(kind, x)


def _lambda(node: Any, scope: Scope) -> Run:
    return definition(node, scope)


def _comprehension(node: Any, scope: Scope) -> Run:
    inner = comprehension_scope(node, scope)
    source = alone(node.generators[0].iter, expression(node.generators[0].iter, scope))
    loops = []
    for k, g in enumerate(node.generators):
        if g.is_async:
            raise Unsupported("an asynchronous comprehension")
        loops.append((target(g.target, inner), expression(g.iter, inner) if k else None,
                      [expression(t, inner) for t in g.ifs]))  # fmt: skip
    if isinstance(node, ast.DictComp):
        pair = ast.Tuple([node.key, node.value], ast.Load())
        element = expression(pair, inner)
    else:
        element = expression(node.elt, inner)
    folds = Folds(node, scope) if isinstance(node, ast.GeneratorExp) else None

    def run(m: Machine, frame: Frame) -> Any:
        first = source(m, frame)
        made = iterate.Comprehension(m, frame, first, loops, element, folds)
        if isinstance(node, ast.GeneratorExp):
            frame.captured = True
            return made
        if isinstance(node, ast.ListComp):
            return m.made(made.collect(m))
        items = made.items(m)
        return m.made(set(items) if isinstance(node, ast.SetComp) else dict(items))

    if isinstance(node, ast.ListComp):  # for a comprehension around this one, of which it makes the rows
        run.opened = lambda m, frame: iterate.Comprehension(m, frame, source(m, frame), loops, element)  # type: ignore[attr-defined]
    return run


def _named(node: Any, scope: Scope) -> Run:
    value, store = expression(node.value, scope), target(node.target, scope)

    def run(m: Machine, frame: Frame) -> Any:
        x = value(m, frame)
        store(m, frame, x)
        return x

    return run


def _text(node: Any, scope: Scope) -> Run:
    parts = [expression(v, scope) for v in node.values]
    return lambda m, frame: m.lift(lambda *texts: "".join(texts), *[p(m, frame) for p in parts])


def _formatted(node: Any, scope: Scope) -> Run:
    value = expression(node.value, scope)
    spec = expression(node.format_spec, scope) if node.format_spec is not None else None
    change: Any = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}[node.conversion]

    def run(m: Machine, frame: Frame) -> Any:
        x = value(m, frame)
        how = spec(m, frame) if spec is not None else ""
        special.refuse(m, *[y for _, y in x.alternatives] if type(x) is Summary else [x])
        return m.lift(lambda y, z: format(change(calls.harmless(y)), z), x, how)

    return run


EXPRESSIONS |= {
    ast.Constant: _constant, ast.Name: _name, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _bool_op,
    ast.IfExp: _conditional, ast.Compare: _comparison, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Slice: _slice, ast.List: _sequence, ast.Tuple: _sequence, ast.Set: _sequence, ast.Dict: _dict, ast.Call: _call,
    ast.Lambda: _lambda, ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.NamedExpr: _named, ast.JoinedStr: _text, ast.FormattedValue: _formatted,
}  # fmt: skip

__all__ = ["alone", "load"]
