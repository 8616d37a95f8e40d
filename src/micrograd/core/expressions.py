"""Expressions, lowered: operators, displays, comprehensions, calls, f-strings.

`value` lowers an expression. `test` lowers one of which only the truth matters: what it returns has the same truth, and the
truth of no object in it is asked for twice.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from typing import Any

from micrograd.core.errors import Unsupported
from micrograd.core.forms import (
    DOUBLE_STAR,
    KEYWORD_ONLY,
    NAMESPACE,
    POSITIONAL,
    POSITIONAL_ONLY,
    RAISE,
    RETURN,
    STAR,
    Alloc,
    Argument,
    Block,
    Call,
    Const,
    Function,
    Get,
    Global,
    Handle,
    If,
    Keyword,
    Leave,
    Let,
    Loop,
    Make,
    Next,
    Node,
    Parameter,
    Position,
    Prim,
    Seq,
    Set,
    SetGlobal,
    SetVar,
    Var,
    Yield,
    YieldFrom,
)
from micrograd.core.scopes import CLASS_CELL, Scope

ITERATOR = ".0"  # the parameter of a comprehension that is a function, as Python calls it

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
          ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}  # fmt: skip
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
               ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}  # fmt: skip
MAX_DISPLAY = 15  # items of a dict display that Python evaluates before it makes the dict of them

Then = Callable[[Node], Node]


class Expressions:
    """Lowers the expressions of a piece of source."""

    def __init__(self, file: str, scopes: dict[ast.AST, Scope], scope: Scope) -> None:
        self.file = file
        self.scopes = scopes
        self.scope = scope
        self.numbers = itertools.count()

    def refuse(self, what: str, at: Position) -> Unsupported:
        return Unsupported(f"{what} is not supported, at {self.file}:{at.line}")

    # ---- names and temporary variables

    def new(self, of: str = "") -> str:
        """Return a new name for a temporary variable or a label."""
        return f"{of}%{next(self.numbers)}"

    def bound(self, value: Node, then: Then, at: Position) -> Node:
        """Evaluate `value` once, and go on with what stands for it; constants stand for themselves."""
        if isinstance(value, Const):
            return then(value)
        name = self.new()
        return Let(at, name, value, then(Var(at, name, 0)))

    def read(self, name: str, at: Position) -> Node:
        name = self.scope.mangle(name)
        found = self.scope.find(name)
        if not self.in_namespace(name):
            return Global(at, name) if found is None else Var(at, *found)
        # The body of a class: the namespace first, then what the name means outside. A class that binds a name passes
        # over the functions around it.
        outside = Global(at, name) if found is None or name in self.scope.bound else Var(at, *found)
        label, error = self.new("found"), self.new()
        item = Get(at, "item", Var(at, NAMESPACE, 0), Const(at, name))
        missing = Prim(at, "catches", (Var(at, error, 0), Const(at, KeyError)))
        again = If(at, missing, Const(at, None), Leave(at, RAISE, Var(at, error, 0)))
        return Block(at, label, Seq(at, (Handle(at, Leave(at, label, item), error, again), outside)))

    def write(self, name: str, value: Node, at: Position) -> Node:
        name = self.scope.mangle(name)
        if self.in_namespace(name):
            return Set(at, "item", value, Var(at, NAMESPACE, 0), Const(at, name))
        found = self.scope.find(name)
        return SetGlobal(at, name, value) if found is None else SetVar(at, *found, value)

    def in_namespace(self, name: str) -> bool:
        scope = self.scope
        return scope.kind == "class" and name not in scope.globals and name not in scope.nonlocals

    # ---- expressions

    def value(self, node: ast.expr) -> Node:
        """Lower an expression."""
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        rule = _VALUES.get(type(node))
        if rule is None:
            raise self.refuse(_WORDS.get(type(node).__name__, type(node).__name__), at)
        return rule(self, node, at)

    def value_or_none(self, node: ast.expr | None, at: Position) -> Node:
        return Const(at, None) if node is None else self.value(node)

    def constant(self, node: ast.Constant, at: Position) -> Node:
        return Const(at, node.value)

    def name(self, node: ast.Name, at: Position) -> Node:
        return self.read(node.id, at)

    def binary(self, node: ast.BinOp, at: Position) -> Node:
        return Prim(at, BINARY[type(node.op)], (self.value(node.left), self.value(node.right)))

    def unary(self, node: ast.UnaryOp, at: Position) -> Node:
        if isinstance(node.op, ast.Not):
            return Prim(at, "not", (self.test(node.operand),))
        operand = self.value(node.operand)
        if (
            isinstance(node.op, ast.USub)
            and isinstance(operand, Const)
            and type(operand.value) in (int, float, complex)
        ):
            return Const(at, -operand.value)
        return Prim(at, UNARY[type(node.op)], (operand,))

    def conditional(self, node: ast.IfExp, at: Position) -> Node:
        return If(at, self.test(node.test), self.value(node.body), self.value(node.orelse))

    def attribute(self, node: ast.Attribute, at: Position) -> Node:
        return Get(at, "attr", self.value(node.value), Const(at, self.scope.mangle(node.attr)))

    def item(self, node: ast.Subscript, at: Position) -> Node:
        return Get(at, "item", self.value(node.value), self.value(node.slice))

    def slice(self, node: ast.Slice, at: Position) -> Node:
        return Alloc(at, "slice", tuple(self.value_or_none(n, at) for n in (node.lower, node.upper, node.step)))

    def walrus(self, node: ast.NamedExpr, at: Position) -> Node:
        value = self.value(node.value)
        return self.bound(value, lambda v: Seq(at, (self.write(node.target.id, v, at), v)), at)

    def yielded(self, node: ast.Yield, at: Position) -> Node:
        return Yield(at, self.value_or_none(node.value, at))

    def yielded_from(self, node: ast.YieldFrom, at: Position) -> Node:
        return YieldFrom(at, self.value(node.value))

    # ---- truth

    def test(self, node: ast.expr) -> Node:
        """Lower an expression of which only the truth matters."""
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        if isinstance(node, ast.BoolOp):
            *firsts, result = [self.test(n) for n in node.values]
            for first in reversed(firsts):
                ways = (result, Const(at, False)) if isinstance(node.op, ast.And) else (Const(at, True), result)
                result = If(at, first, *ways)
            return result
        if isinstance(node, ast.IfExp):
            return If(at, self.test(node.test), self.test(node.body), self.test(node.orelse))
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self._chain(node, at, lambda first, rest: If(at, first, rest, Const(at, False)))
        return self.value(node)

    def either(self, node: ast.BoolOp, at: Position) -> Node:
        """Lower `a and b`, or `a or b`, whose value is one of the operands."""
        operands = _flat(node)
        if any(isinstance(n, ast.BoolOp) for n in operands[:-1]):
            label = self.new("found")
            leaving = [self._leave_if(n, isinstance(node.op, ast.Or), label) for n in operands[:-1]]
            return Block(at, label, Seq(at, (*leaving, self.value(operands[-1]))))
        result = self.value(operands[-1])
        for operand in reversed(operands[:-1]):
            name = self.new()
            itself = Var(at, name, 0)
            ways = (result, itself) if isinstance(node.op, ast.And) else (itself, result)
            result = Let(at, name, self.value(operand), If(at, itself, *ways))
        return result

    def _leave_if(self, node: ast.expr, wanted: bool, label: str) -> Node:
        """Lower an expression: leave the label with its value if its truth is `wanted`, and go on else."""
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        none = Const(at, None)
        if not isinstance(node, ast.BoolOp):
            return self.bound(
                self.value(node),
                lambda v: If(at, v, *((Leave(at, label, v), none) if wanted else (none, Leave(at, label, v)))),
                at,
            )
        operands = _flat(node)
        if isinstance(node.op, ast.Or) is wanted:
            return Seq(at, tuple(self._leave_if(n, wanted, label) for n in operands))
        result = self._leave_if(operands[-1], wanted, label)
        for operand in reversed(operands[:-1]):
            test = self.test(operand)
            result = If(at, test, *((result, none) if wanted else (none, result)))
        return result

    def compare(self, node: ast.Compare, at: Position) -> Node:
        if len(node.ops) == 1:
            return Prim(at, COMPARISONS[type(node.ops[0])], (self.value(node.left), self.value(node.comparators[0])))

        def both(first: Node, rest: Node) -> Node:
            name = self.new()
            return Let(at, name, first, If(at, Var(at, name, 0), rest, Var(at, name, 0)))

        return self._chain(node, at, both)

    def _chain(self, node: ast.Compare, at: Position, both: Callable[[Node, Node], Node]) -> Node:
        def rest(left: Node, i: int) -> Node:
            op, right = COMPARISONS[type(node.ops[i])], self.value(node.comparators[i])
            if i == len(node.ops) - 1:
                return Prim(at, op, (left, right))
            return self.bound(right, lambda middle: both(Prim(at, op, (left, middle)), rest(middle, i + 1)), at)

        return self.bound(self.value(node.left), lambda left: rest(left, 0), at)

    # ---- displays

    def sequence(self, node: ast.List | ast.Tuple | ast.Set, at: Position) -> Node:
        kind = type(node).__name__.lower()
        stars = [isinstance(n, ast.Starred) for n in node.elts]
        if not any(stars) and (kind != "set" or len(stars) <= 2 * MAX_DISPLAY):
            items = tuple(self.value(n) for n in node.elts)
            if kind == "tuple" and all(isinstance(item, Const) for item in items):
                return Const(at, tuple(item.value for item in items if isinstance(item, Const)))
            return Alloc(at, kind, items)
        first = stars.index(True) if any(stars) else 0
        name = self.new()
        made, steps = Var(at, name, 0), []
        one, many = ("add", "update") if kind == "set" else ("append", "extend")
        for n in node.elts[first:]:
            star = isinstance(n, ast.Starred)
            steps.append(
                Prim(at, many if star else one, (made, self.value(n.value if isinstance(n, ast.Starred) else n)))
            )
        before = tuple(self.value(n) for n in node.elts[:first])
        result = Prim(at, "tuple", (made,)) if kind == "tuple" else made
        return Let(at, name, Alloc(at, "set" if kind == "set" else "list", before), Seq(at, (*steps, result)))

    def dict(self, node: ast.Dict, at: Position) -> Node:
        parts: list[Node] = []  # mappings, that are merged one after the other
        items: list[Node] = []
        constant = all(isinstance(k, ast.Constant) for k in node.keys)
        for k, v in zip(node.keys, node.values):
            if k is None or (len(items) > 2 * MAX_DISPLAY and not constant):
                parts += [Alloc(at, "dict", tuple(items))] if items else []
                items = []
            if k is None:
                parts.append(self.value(v))
            else:
                items += (self.value(k), self.value(v))
        if items or not parts:
            parts.append(Alloc(at, "dict", tuple(items)))
        if None in node.keys[:1]:
            parts.insert(0, Alloc(at, "dict", ()))
        if len(parts) == 1:
            return parts[0]
        name = self.new()
        made = Var(at, name, 0)
        return Let(at, name, parts[0], Seq(at, (*(Prim(at, "merge", (made, part)) for part in parts[1:]), made)))

    def joined(self, node: ast.JoinedStr, at: Position) -> Node:
        parts = tuple(self.value(n) for n in node.values)
        if len(parts) == 1:
            return parts[0]
        return Prim(at, "join", parts) if parts else Const(at, "")

    def formatted(self, node: ast.FormattedValue, at: Position) -> Node:
        value, spec = (
            self.value(node.value),
            Const(at, "") if node.format_spec is None else self.value(node.format_spec),
        )
        if node.conversion < 0:
            return Prim(at, "format", (value, spec))
        conversion = {"s": "str", "r": "repr", "a": "ascii"}[chr(node.conversion)]
        if sys.version_info >= (3, 13) or isinstance(spec, Const):
            return Prim(at, "format", (Prim(at, conversion, (value,)), spec))
        return self.bound(  # older Pythons convert after the format has been evaluated
            value,
            lambda v: self.bound(spec, lambda s: Prim(at, "format", (Prim(at, conversion, (v,)), s)), at),
            at,
        )

    def template(self, node: Any, at: Position) -> Node:
        from string.templatelib import Interpolation, Template  # type: ignore[import-not-found,unused-ignore]

        parts: list[Argument] = []
        for n in node.values:
            if isinstance(n, ast.Constant):
                parts.append(Argument(self.value(n)))
                continue
            conversion = None if n.conversion < 0 else chr(n.conversion)
            spec = Const(at, "") if n.format_spec is None else self.value(n.format_spec)
            row = (self.value(n.value), Const(at, n.str), Const(at, conversion), spec)
            parts.append(Argument(Call(at, Const(at, Interpolation), tuple(Argument(x) for x in row))))
        return Call(at, Const(at, Template), tuple(parts))

    # ---- calls

    def call(self, node: ast.Call, at: Position) -> Node:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            return self._super(node.func, at)
        function = self.value(node.func)
        args = [
            Argument(self.value(n.value), True) if isinstance(n, ast.Starred) else Argument(self.value(n))
            for n in node.args
        ]
        return Call(at, function, tuple(args), tuple(Keyword(k.arg, self.value(k.value)) for k in node.keywords))

    def _super(self, function: ast.Name, at: Position) -> Node:
        """Lower `super()`: Python passes the class around and the first argument."""
        scope = self.scope.function() if sys.version_info >= (3, 12) else self.scope
        if scope is not self.scope and self.scope.kind != "comprehension":
            scope = self.scope
        cell, first = self.scope.find(CLASS_CELL), self.scope.find(scope.first) if scope.first else None
        wrong = "super(): no arguments" if scope.first is None else "super(): __class__ cell not found"
        error = Call(at, Const(at, RuntimeError), (Argument(Const(at, wrong)),))

        def made(called: Node) -> Node:
            right: Node = Leave(at, RAISE, error)
            if cell is not None and scope.first is not None:
                # Before Python 3.12, the first argument of a comprehension is its iterator.
                itself = Const(at, iter(())) if first is None else Var(at, *first)
                right = Call(at, called, (Argument(Var(at, *cell)), Argument(itself)))
            return If(at, Prim(at, "is", (called, Const(at, super))), right, Call(at, called, ()))

        return self.bound(self.read(function.id, at), made, at)

    # ---- comprehensions

    def collected(self, node: Any, at: Position) -> Node:
        """Lower a list, set or dict comprehension."""
        kind, op = {"ListComp": ("list", "append"), "SetComp": ("set", "add"), "DictComp": ("dict", "insert")}[
            type(node).__name__
        ]
        scope, first = self.scopes[node], Prim(at, "iter", (self.value(node.generators[0].iter),))

        def body(iterator: Node) -> Node:
            name = self.new()
            made = Var(at, name, 0)

            def step() -> Node:
                items = (node.key, node.value) if kind == "dict" else (node.elt,)
                return Prim(at, op, (made, *(self.value(n) for n in items)))

            return Let(at, name, Alloc(at, kind, ()), Seq(at, (self._loops(node, iterator, step), made)))

        if not scope.inline:
            return self._comprehension(node, first, body)
        around = self.scope
        self.scope = scope
        scope.renamed = {name: self.new(name) for name in scope.bound}
        name = self.new()
        result: Node = Let(at, name, first, body(Var(at, name, 0)))
        self.scope = around
        for variable in scope.renamed.values():
            result = Let(at, variable, None, result)
        return result

    def generated(self, node: ast.GeneratorExp, at: Position) -> Node:
        first = Prim(at, "iter", (self.value(node.generators[0].iter),))

        def body(iterator: Node) -> Node:
            loops = self._loops(node, iterator, lambda: Yield(at, self.value(node.elt)))
            return Seq(at, (loops, Const(at, None)))

        return self._comprehension(node, first, body)

    def _comprehension(self, node: Any, first: Node, body: Then) -> Node:
        """Lower a comprehension to a call of a function of its own."""
        at, scope = first.at, self.scopes[node]
        parameters = (Parameter(ITERATOR, POSITIONAL_ONLY),)
        made = self.function(scope, at, at.line, parameters, None, lambda: body(Var(at, ITERATOR, 0)))
        return Call(at, Make(at, made, (), ()), (Argument(first),))

    def _loops(self, node: Any, first: Node, step: Callable[[], Node]) -> Node:
        """Lower the `for` and `if` of a comprehension, around what is done in each iteration."""

        def build(i: int, iterator: Node) -> Node:
            generator = node.generators[i]
            at = iterator.at
            if generator.is_async:
                raise self.refuse("an asynchronous comprehension", at)
            end = self.new("end")
            target = self.assign(generator.target, Next(at, iterator, end))
            tests = [self.test(n) for n in generator.ifs]
            if i + 1 == len(node.generators):
                result = step()
            else:
                inner = Prim(at, "iter", (self.value(node.generators[i + 1].iter),))
                result = self.bound(inner, lambda it: build(i + 1, it), at)
            for test in reversed(tests):
                result = If(at, test, result, Const(at, None))
            return Block(at, end, Loop(at, Seq(at, (target, result))))

        return build(0, first)

    def assign(self, target: ast.expr, value: Node) -> Node:
        """Lower an assignment of a value to a target."""
        raise NotImplementedError

    # ---- functions

    def anonymous(self, node: ast.Lambda, at: Position) -> Node:
        defaults = self.defaults(node.args)
        return Make(at, self.lambda_function(node, at), defaults, ())

    def lambda_function(self, node: ast.Lambda, at: Position) -> Function:
        """Return the function that a lambda makes."""
        parameters = self.signature(node.args)
        return self.function(self.scopes[node], at, at.line, parameters, None, lambda: self.value(node.body))

    def signature(self, a: ast.arguments) -> tuple[Parameter, ...]:
        """Return the parameters of a function."""
        kinds: list[tuple[list[ast.arg], str]] = [
            (a.posonlyargs, POSITIONAL_ONLY),
            (a.args, POSITIONAL),
            ([a.vararg] if a.vararg else [], STAR),
            (a.kwonlyargs, KEYWORD_ONLY),
            ([a.kwarg] if a.kwarg else [], DOUBLE_STAR),
        ]
        return tuple(Parameter(self.scope.mangle(p.arg), kind) for parameters, kind in kinds for p in parameters)

    def defaults(self, a: ast.arguments) -> tuple[tuple[str, Node], ...]:
        """Lower the default arguments of a function, which are evaluated where it is made."""
        positional = [*a.posonlyargs, *a.args]
        pairs = list(zip(positional[len(positional) - len(a.defaults) :], a.defaults))
        pairs += [(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None]
        return tuple((self.scope.mangle(p.arg), self.value(d)) for p, d in pairs)

    def function(
        self,
        scope: Scope,
        at: Position,
        first_line: int,
        parameters: tuple[Parameter, ...],
        doc: str | None,
        body: Callable[[], Node],
    ) -> Function:
        """Return the function that a scope is, with what `body` lowers in that scope."""
        around, self.scope = self.scope, scope
        lowered = body()
        self.scope = around
        names = dict.fromkeys(p.name for p in parameters)
        if scope.kind == "class":
            names.update({CLASS_CELL: None} if CLASS_CELL in scope.cells else {})
        elif scope.kind != "module":
            names.update(scope.bound)
        return Function(
            name=scope.name,
            qualname=scope.qualname,
            file=self.file,
            first_line=first_line,
            at=at,
            kind=scope.kind,
            parameters=parameters,
            variables=tuple(names),
            cells=frozenset(scope.cells),
            free=tuple(sorted(scope.free)),
            generator=scope.generator or scope.kind == "generator expression",
            doc=doc,
            body=Block(at, RETURN, lowered),
        )


def _flat(node: ast.BoolOp) -> list[ast.expr]:
    """Return the operands of `a and b and (c and d)`."""
    found: list[ast.expr] = []
    for n in node.values:
        found += _flat(n) if isinstance(n, ast.BoolOp) and type(n.op) is type(node.op) else [n]
    return found


_WORDS = {"Await": "await"}
_VALUES: dict[type, Callable[[Expressions, Any, Position], Node]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.BoolOp: Expressions.either,
    ast.Compare: Expressions.compare,
    ast.IfExp: Expressions.conditional,
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.item,
    ast.Slice: Expressions.slice,
    ast.NamedExpr: Expressions.walrus,
    ast.Yield: Expressions.yielded,
    ast.YieldFrom: Expressions.yielded_from,
    ast.List: Expressions.sequence,
    ast.Tuple: Expressions.sequence,
    ast.Set: Expressions.sequence,
    ast.Dict: Expressions.dict,
    ast.JoinedStr: Expressions.joined,
    ast.FormattedValue: Expressions.formatted,
    ast.Call: Expressions.call,
    ast.Lambda: Expressions.anonymous,
    ast.ListComp: Expressions.collected,
    ast.SetComp: Expressions.collected,
    ast.DictComp: Expressions.collected,
    ast.GeneratorExp: Expressions.generated,
}
if sys.version_info >= (3, 14):
    _VALUES[ast.TemplateStr] = Expressions.template
