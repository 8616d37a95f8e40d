"""The mutations of a file: exchanged operators and comparisons, changed numbers, negated conditions, dropped statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

EXCHANGE: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh",
         "log": "exp", "exp": "expm1", "sqrt": "cbrt", "min": "max", "max": "min"}  # fmt: skip

# What only a reader, a type checker or a person who prints an object sees.
UNSEEN = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Assert)
UNSEEN_FUNCTIONS = ("__repr__", "__format__", "__str__", "_repr_html_")
ANNOTATIONS = ("annotation", "returns", "decorator_list", "type_comment", "type_params", "args")


@dataclass(frozen=True)
class Mutation:
    """One change of a file: which node, which of its changes, the lines it is in, and its name for people."""

    node: int
    change: int
    lines: range
    statement: range  # the lines of the whole statement, for a change on a line that a tracer does not see
    name: str  # "text of the line: what is done", which stays the same when lines above come and go


Change = tuple[str, ast.AST, Callable[[Any], Any]]  # what is done, the part that it is done to, and the doing


def mutations(source: str) -> list[Mutation]:
    """Every mutation of a file, in the order of its lines."""
    tree, text = ast.parse(source), source.splitlines()
    found, seen = [], dict[str, int]()
    for i, (node, statement) in enumerate(_places(tree)):
        for k, (what, part, _) in enumerate(_changes(node)):
            name = f"{text[part.lineno - 1].strip()}: {what}"  # type: ignore[attr-defined]
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name += f" ({seen[name]})"
            found.append(Mutation(i, k, _lines(part), _lines(statement), name))
    return found


def mutant(source: str, mutation: Mutation) -> ast.Module:
    """The tree of a file with one change made."""
    tree = ast.parse(source)
    target = _places(tree)[mutation.node][0]
    _changes(target)[mutation.change][2](target)
    return ast.fix_missing_locations(tree)


def exchanged(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The functions that a change has altered, before and after; None where it alters what runs at import."""
    below: list[tuple[CodeType, CodeType]] = []

    def descend(a: CodeType, b: CodeType) -> None:
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (a, b)]
        if len(inner[0]) == len(inner[1]):
            for x, y in zip(*inner, strict=True):
                if x != y:
                    below.append((x, y))
                    descend(x, y)

    descend(old, new)
    same_module = _without_functions(old) == _without_functions(new)
    if not below or not same_module or any(len(a.co_freevars) != len(b.co_freevars) for a, b in below):
        return None
    return below


def key(code: CodeType) -> tuple[Any, ...]:
    """What tells one function of a file from all others, two lambdas on one line included."""
    return code.co_name, code.co_firstlineno, tuple(code.co_positions())


def _without_functions(code: CodeType) -> CodeType:
    """A code object without the functions in it; the bodies of classes are compared as they are."""
    kept = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            c = _without_functions(c) if not c.co_flags & 0x2 else None  # CO_NEWLOCALS: a function, not a class
        kept.append(c)
    return code.replace(co_consts=tuple(kept))


def _lines(node: Any) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _places(tree: ast.Module) -> list[tuple[ast.AST, ast.AST]]:
    """The nodes worth changing, each with its statement: not annotations, messages, docstrings."""
    found: list[tuple[ast.AST, ast.AST]] = []

    def visit(node: ast.AST, statement: ast.AST) -> None:
        if isinstance(node, UNSEEN):
            return
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "TYPE_CHECKING" for t in node.targets
        ):
            return
        if isinstance(node, ast.FunctionDef) and node.name in UNSEEN_FUNCTIONS:
            return
        if isinstance(node, ast.stmt):
            statement = node
        found.append((node, statement))
        for name, value in ast.iter_fields(node):
            if name in ANNOTATIONS and not isinstance(node, (ast.Call, ast.Lambda)):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, statement)

    visit(tree, tree)
    return found


def _changes(node: Any) -> list[Change]:
    found: list[Change] = []
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in EXCHANGE:
        to = EXCHANGE[type(node.op)]
        found.append((f"{type(node.op).__name__} -> {to.__name__}", node, lambda n: setattr(n, "op", to())))
    if isinstance(node, ast.Compare) and type(node.ops[0]) in EXCHANGE:
        other = EXCHANGE[type(node.ops[0])]
        found.append(
            (f"{type(node.ops[0]).__name__} -> {other.__name__}", node, lambda n: n.ops.__setitem__(0, other()))
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        found.append((f"drop {type(node.op).__name__}", node, _drop_sign))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        found.append((f"{node.value!r} -> {node.value + 1!r}", node, lambda n: setattr(n, "value", n.value + 1)))
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        found.append((f"{node.value} -> {not node.value}", node, lambda n: setattr(n, "value", not n.value)))
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        found.append(("negate the condition", node.test, lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))))
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        found.append(("return None", node, lambda n: setattr(n, "value", ast.Constant(None))))
    if (
        isinstance(node, ast.Attribute)
        and node.attr in NAMES
        and isinstance(node.value, ast.Name)
        and node.value.id == "f"
    ):
        found.append((f"f.{node.attr} -> f.{NAMES[node.attr]}", node, lambda n: setattr(n, "attr", NAMES[n.attr])))
    for part in (
        ("body", "orelse", "finalbody") if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef) else ()
    ):
        for i, s in enumerate(getattr(node, part, [])):
            if isinstance(s, (ast.Assign, ast.AugAssign, ast.Continue, ast.Break)) or (
                isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
            ):
                found.append(("drop", s, partial(_drop_statement, part=part, at=i)))
    return found


def _drop_statement(node: ast.stmt, part: str, at: int) -> None:
    getattr(node, part)[at] = ast.Pass()


def _drop_sign(node: ast.UnaryOp) -> None:
    if isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
    else:
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
