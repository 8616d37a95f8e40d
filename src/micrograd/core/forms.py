"""The core language: the forms that every Python function is lowered to.

    e = const value                      a Python object that is known when the function is lowered
      | var name up                      a variable of the frame `up` frames out
      | setvar name up e | delvar name up
      | global name                      a variable of the module, or else a builtin, read when it is evaluated
      | setglobal name e | delglobal name
      | let name [e] e                   a variable for the second e alone; it is gone when e is left, in whichever way
      | prim op e*                       an operation of the table PRIMS: arithmetic, comparison, iter, unpack ...
      | alloc kind e*                    a new list | tuple | dict (key, value, key, value ...) | set | slice
      | make function                    a new function object, over the frame it is made in
             (name e)* (name e)*         its default arguments, then attributes such as __annotations__
      | get how e e                      how = item | attr | special (an attribute of the type, bound to the object)
      | set how e e e                    the value, the object, the key
      | del how e e
      | call e [*]e* (name e | ** e)*
      | if e e e
      | loop e                           e again and again, until something in it leaves
      | next e label                     the next item of an iterator; leaves `label` with None when there is none
      | block label e                    the value of e, or what something in it leaves `label` with
      | leave label e                    return, break, continue and raise are all `leave`
      | handle e name e                  where the first e leaves `raise`, the second runs with the exception in `name`
      | finally e e                      the second e runs whenever the first is left, and then it is left in the same way
      | yield e | yieldfrom e            what the consumer sends; what the inner generator returns
      | seq e*                           the value of the last one; None where there is none

Operands are evaluated in the order of the fields, from left to right, each once. There is one exception: in a call whose
only positional argument is starred, the items of that argument are taken after the keywords have been evaluated.

A name that the program wrote is a variable of exactly one frame, which is known when the function is lowered: `up` counts
frames, starting with that of the function itself. A function from outside has one frame around it, that of its closure:
the variables `free`. The names that lowering makes up contain "%"; what stands in front of it is the name in the program.

The labels of a function differ from each other. Two mean the same in every function: `return` ends the function with
a value (its whole body is `block return`), and `raise` goes on to the innermost `handle` or `finally` around it, if need be
in the caller. The operand of `leave raise` is an exception object.

The body of a class is a function, too. Its only parameter is the namespace, a mapping, whose items the names in the class
are; `__class__` is a variable of its frame. `call (const builtins.__build_class__) function name base*` makes the class.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

RETURN = "return"
RAISE = "raise"
NAMESPACE = "%namespace"  # the parameter of the body of a class


class Position(NamedTuple):
    """Where a form is in the source: lines from 1, columns from 0 in UTF-8 bytes, as Python's `ast` counts them."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


# A dataclass makes a __repr__ of its own, and the text of a missing docstring, in twice the time of all else: it is imported in
# the first call of a process.
@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A form. Two forms are never equal, so that they can be keys."""

    at: Position

    def __repr__(self) -> str:
        return show(self)


@dataclass(slots=True, eq=False, repr=False)
class Const(Node):
    """A Python object that is known when the function is lowered."""

    value: Any


@dataclass(slots=True, eq=False, repr=False)
class Var(Node):
    """A variable of the frame `up` frames out."""

    name: str
    up: int


@dataclass(slots=True, eq=False, repr=False)
class SetVar(Node):
    """Give a variable a value."""

    name: str
    up: int
    value: Node


@dataclass(slots=True, eq=False, repr=False)
class DelVar(Node):
    """Delete a variable."""

    name: str
    up: int


@dataclass(slots=True, eq=False, repr=False)
class Global(Node):
    """A variable of the module, or else a builtin."""

    name: str


@dataclass(slots=True, eq=False, repr=False)
class SetGlobal(Node):
    """Give a variable of the module a value."""

    name: str
    value: Node


@dataclass(slots=True, eq=False, repr=False)
class DelGlobal(Node):
    """Delete a variable of the module."""

    name: str


@dataclass(slots=True, eq=False, repr=False)
class Let(Node):
    """A variable of the function's own frame. Without a value, it is unbound until `setvar` gives it one."""

    name: str
    value: Node | None
    body: Node


@dataclass(slots=True, eq=False, repr=False)
class Prim(Node):
    """An operation of the table PRIMS."""

    op: str
    args: tuple[Node, ...]


@dataclass(slots=True, eq=False, repr=False)
class Alloc(Node):
    """A new container with these items."""

    kind: str
    args: tuple[Node, ...]


@dataclass(slots=True, eq=False, repr=False)
class Make(Node):
    """A new function object. Its decorators are calls around it."""

    function: Function
    defaults: tuple[tuple[str, Node], ...]
    attributes: tuple[tuple[str, Node], ...]


@dataclass(slots=True, eq=False, repr=False)
class Get(Node):
    """Read an item, an attribute or a special method."""

    how: str
    obj: Node
    key: Node


@dataclass(slots=True, eq=False, repr=False)
class Set(Node):
    """Assign to an item or an attribute."""

    how: str
    value: Node
    obj: Node
    key: Node


@dataclass(slots=True, eq=False, repr=False)
class Del(Node):
    """Delete an item or an attribute."""

    how: str
    obj: Node
    key: Node


class Argument(NamedTuple):
    """A positional argument, or several: the items of an iterable."""

    value: Node
    star: bool = False


class Keyword(NamedTuple):
    """A keyword argument, or several (name None): the items of a mapping."""

    name: str | None
    value: Node


@dataclass(slots=True, eq=False, repr=False)
class Call(Node):
    """Call a function."""

    function: Node
    args: tuple[Argument, ...]
    keywords: tuple[Keyword, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class If(Node):
    """Take one of two ways, by the truth of an object: `test` need not be a bool."""

    test: Node
    then: Node
    orelse: Node


@dataclass(slots=True, eq=False, repr=False)
class Loop(Node):
    """Evaluate the body again and again, until something in it leaves."""

    body: Node


@dataclass(slots=True, eq=False, repr=False)
class Next(Node):
    """The next item of an iterator; None leaves `label` where there is none."""

    iterator: Node
    label: str


@dataclass(slots=True, eq=False, repr=False)
class Block(Node):
    """The value of the body, or what something in it leaves `label` with."""

    label: str
    body: Node


@dataclass(slots=True, eq=False, repr=False)
class Leave(Node):
    """Leave the block with this label: return, break, continue or raise."""

    label: str
    value: Node


@dataclass(slots=True, eq=False, repr=False)
class Handle(Node):
    """Catch every exception of `body`. `name` is a variable of the function's own frame, for `catch` alone."""

    body: Node
    name: str
    catch: Node


@dataclass(slots=True, eq=False, repr=False)
class Finally(Node):
    """Evaluate `final` whenever the body is left."""

    body: Node
    final: Node


@dataclass(slots=True, eq=False, repr=False)
class Yield(Node):
    """Give the consumer a value; what it sends back."""

    value: Node


@dataclass(slots=True, eq=False, repr=False)
class YieldFrom(Node):
    """Give the consumer the items of an inner generator; what that returns."""

    value: Node


@dataclass(slots=True, eq=False, repr=False)
class Seq(Node):
    """One form after the other; the value of the last one."""

    items: tuple[Node, ...]


# How a parameter takes arguments.
POSITIONAL_ONLY = "positional only"
POSITIONAL = "positional"
STAR = "*"
KEYWORD_ONLY = "keyword only"
DOUBLE_STAR = "**"


class Parameter(NamedTuple):
    name: str
    kind: str


@dataclass(slots=True, eq=False, repr=False)
class Function:
    """A lowered function, method, generator function, lambda, generator expression, class body or module.

    `variables` are the names in the program that its frame has: the parameters first. `cells` are those of them that
    functions inside of it use, and `free` those that it, or a function inside of it, takes from frames further out.
    """

    name: str
    qualname: str
    file: str
    first_line: int  # that of the first decorator, or else that of `at`
    at: Position
    kind: str  # function | lambda | comprehension | generator expression | class | module | annotations
    parameters: tuple[Parameter, ...]
    variables: tuple[str, ...]
    cells: frozenset[str]
    free: tuple[str, ...]
    generator: bool
    doc: str | None
    body: Node
    notes: dict[str, Any] = field(default_factory=dict)  # what an interpreter keeps for this function

    def positional(self) -> tuple[str, ...]:
        """Return the names of the parameters that take positional arguments, one each."""
        return tuple(p.name for p in self.parameters if p.kind in (POSITIONAL_ONLY, POSITIONAL))

    def __str__(self) -> str:
        return "\n".join(_function(self, ""))


# What `prim op` does with its operands, in Python.
UNARY = {"neg": "-a", "pos": "+a", "~": "~a", "not": "not a"}
BINARY = {op: f"a {op} b" for op in ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")}
IN_PLACE = {f"{op}=": f"a {op}= b, and then a" for op in BINARY}
COMPARISONS = {op: f"a {op} b" for op in ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")}
PRIMS = {
    **UNARY,
    **BINARY,
    **IN_PLACE,
    **COMPARISONS,
    "iter": "iter(a), for `for`",
    "unpack": "a tuple of b items of the iterable a: `x, y = a`. Where c is not None, a list of those after the first b "
    "items and before the last c items is between them: `x, *y, z = a`",
    "append": "a.append(b) of a list",
    "extend": "a.extend(b) of a list, for `[*b]`",
    "add": "a.add(b) of a set",
    "update": "a.update(b) of a set, for `{*b}`",
    "insert": "a[b] = c of a dict",
    "merge": "a.update(b) of a dict, for `{**b}`",
    "tuple": "tuple(a) of a list",
    "str": "str(a), for `f'{a!s}'`",
    "repr": "repr(a)",
    "ascii": "ascii(a)",
    "format": "format(a, b)",
    "join": "the strings, one after the other",
    "exception": "the exception that `raise a` raises, or `raise a from b`",
    "handled": "the exception that is being handled, for a `raise` without operands",
    "catches": "whether `except b` catches the exception a",
    "import": "__import__(a, fromlist=b, level=c): a module",
    "import from": "the name b of the module a",
    "import *": "all names of the module a become global variables",
    "is sequence": "whether a sequence pattern may match a",
    "is mapping": "whether a mapping pattern may match a",
    "match keys": "the tuple of the values that the mapping a has for the keys in the tuple b, or None where one is missing",
    "match class": "the tuple of attributes of a that a class pattern b(...) tests, or None where a is not an instance of b "
    "or an attribute is missing; c is the number of positional patterns, d the tuple of the names of the others",
}


def unbound(name: str, free: bool) -> NameError:
    """Return the exception that Python raises where a variable without a value is read or deleted.

    free: whether it is a variable of a function further out.
    """
    name = name.partition("%")[0]
    old = sys.version_info < (3, 11)
    if free:
        text = f"free variable '{name}' referenced before assignment in enclosing scope"
        new = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        error = NameError(text if old else new)
        error.name = name
        return error
    text = f"local variable '{name}' referenced before assignment"
    new = f"cannot access local variable '{name}' where it is not associated with a value"
    return UnboundLocalError(text if old else new)


def undefined(name: str) -> NameError:
    """Return the exception that Python raises where there is neither a global variable nor a builtin of this name."""
    error = NameError(f"name '{name}' is not defined")
    error.name = name
    return error


def children(node: Node) -> Iterator[Node]:
    """Yield the operands of a form, in the order in which they are evaluated; the body of a function is not among them."""
    for name in OPERANDS[type(node)]:
        yield from _nodes(getattr(node, name))


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


FORMS: dict[str, type[Node]] = {c.__name__.lower(): c for c in Node.__subclasses__()}
# The fields of each form that hold other forms.
OPERANDS: dict[type[Node], tuple[str, ...]] = {
    form: tuple(f.name for f in fields(form) if "Node" in str(f.type) or "tuple" in str(f.type))
    for form in FORMS.values()
}


def show(node: Node, indent: str = "") -> str:
    """Return the text of a form, one operand to a line."""
    return "\n".join(_lines(node, indent))


def _lines(node: Node, indent: str) -> Iterator[str]:
    head = [type(node).__name__.lower()]
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(node, Const) and f.name == "value":
            head.append(_constant(value))
        elif f.name not in ("at", "function") and isinstance(value, str | int):
            head.append(f"{value}")
    yield indent + " ".join(head)
    inner = indent + "  "
    if isinstance(node, Make):
        yield from _function(node.function, inner)
        for name, value in (*node.defaults, *node.attributes):
            yield f"{inner}{name} ="
            yield from _lines(value, inner + "  ")
    elif isinstance(node, Call):
        yield from _lines(node.function, inner)
        for argument in node.args:
            if argument.star:
                yield inner + "*"
            yield from _lines(argument.value, inner)
        for keyword in node.keywords:
            yield f"{inner}{keyword.name} =" if keyword.name else inner + "**"
            yield from _lines(keyword.value, inner)
    else:
        for child in children(node):
            yield from _lines(child, inner)


def _constant(value: Any) -> str:
    name = getattr(value, "__name__", "")
    return str(name) if name and getattr(builtins, name, None) is value else repr(value)


def _function(function: Function, indent: str) -> Iterator[str]:
    marks = {STAR: "*", DOUBLE_STAR: "**"}
    names = ", ".join(marks.get(p.kind, "") + p.name for p in function.parameters)
    yield f"{indent}{function.kind} {function.qualname}({names}):"
    yield from _lines(function.body, indent + "  ")
