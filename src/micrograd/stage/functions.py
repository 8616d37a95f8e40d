"""Functions: how they are compiled, defined and called."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

from micrograd.core.remembered import PerObject
from micrograd.stage.errors import Bound, Lost, Unsupported
from micrograd.stage.generators import Generator, only_statements
from micrograd.stage.join import number
from micrograd.stage.language import block, expression
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.scope import Scope, _own_nodes, scope_of
from micrograd.stage.source import tree_of
from micrograd.stage.state import Exits, Frame, undo

MAX_DEPTH = 120  # calls inside of each other
MAX_RECURSION = (
    12  # calls of one function inside of each other at level 0 (see Limits.level), where rows decide about it
)


class Code:
    """A compiled function: its parameters and its body."""

    def __init__(self, node: Any, parent: Scope | None, filename: str, name: str, yields: bool = False) -> None:
        self.name, self.filename = name, filename
        self.generator = _yields(node)
        if self.generator and not yields and not only_statements(node):
            raise Unsupported(f"{name} uses what is sent to it, as generators can")
        scope = scope_of(node, parent, filename, yields or self.generator)
        self.names = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name)
        } - scope.own  # those of functions around it
        a = node.args
        self.positional = [x.arg for x in [*a.posonlyargs, *a.args]]
        self.by_position_only = {x.arg for x in a.posonlyargs}
        self.named = [x.arg for x in a.kwonlyargs]
        self.rest = a.vararg.arg if a.vararg else None
        self.others = a.kwarg.arg if a.kwarg else None
        if isinstance(node, ast.Lambda):
            value = expression(node.body, scope)

            def body(m: Machine, frame: Frame) -> Any:
                assert frame.exits is not None
                result = value(m, frame)
                m.leave(frame.exits, result, frame)

            self.body: Callable[[Machine, Frame], None] = body
        else:
            self.body = block(node.body, scope)


def _yields(node: Any) -> bool:
    """Whether a function is a generator function."""
    parts = node.body if isinstance(node.body, list) else [node.body]
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for part in parts for n in _own_nodes(part))


class Function:
    """A function that interpreted code has defined."""

    def __init__(self, m: Machine, code: Code, parent: Frame, defaults: list[Any], named: dict[str, Any]) -> None:
        self.machine, self.code, self.parent = m, code, parent
        self.defaults, self.named = defaults, named
        self.__name__ = self.__qualname__ = code.name
        self.__module__ = "staged"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What code that is not interpreted (grad, functools.reduce) calls."""
        return number(self.machine, enter(self.machine, self, list(args), kwargs))


def definition(node: Any, scope: Scope) -> Callable[[Machine, Frame], Any]:
    """Compile a `def` or a lambda inside of a function."""
    name = getattr(node, "name", "<lambda>")
    defaults = [expression(d, scope) for d in node.args.defaults]
    named = [
        (a.arg, expression(d, scope)) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None
    ]
    if getattr(node, "decorator_list", ()):
        raise Unsupported("a decorated function inside of a function")
    code: list[Code] = []

    def run(m: Machine, frame: Frame) -> Any:
        if not code:
            code.append(Code(node, scope, scope.filename, name))
        frame.captured = True
        given = [d(m, frame) for d in defaults]
        return Function(m, code[0], frame, given, {key: d(m, frame) for key, d in named})

    return run


_compiled: PerObject[Code] = PerObject()


def code_of(function: FunctionType) -> Code:
    """The compiled form of a function of the user's."""
    key = function.__code__
    known = _compiled.get(key)
    if known is None:
        if key.co_flags & 0x280:
            raise Unsupported(f"{function.__qualname__} is a coroutine")
        known = _compiled.set(key, Code(tree_of(function), None, key.co_filename, function.__qualname__))
    return known


def makes(function: Any, generator: Generator) -> bool:
    """Whether a call of this function made the generator, so that nobody else holds it yet."""
    own = getattr(function, "__code__", None)
    code = getattr(function, "code", None) or (None if own is None else _compiled.get(own))
    return code is generator.function


def looker(function: FunctionType) -> Callable[[str], Any]:
    """How a function finds names from outside: its closure, its globals, the builtins."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    around = function.__globals__
    inbuilt = vars(builtins)

    def lookup(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                raise NameError(f"cannot access free variable '{name}'") from None
        if name in around:
            return around[name]
        if name in inbuilt:
            return inbuilt[name]
        raise NameError(f"name '{name}' is not defined")

    return lookup


def enter(m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function of the user's, or one that interpreted code has defined."""
    if isinstance(function, Function):
        if function.machine is not m:
            raise Unsupported("a function from another call")
        code, parent, lookup = function.code, function.parent, function.parent.lookup
        defaults, named = function.defaults, function.named
    else:
        code, parent, lookup = code_of(function), None, looker(function)
        defaults, named = list(function.__defaults__ or ()), dict(function.__kwdefaults__ or {})
    frame = Frame(code, parent, lookup, m.here, m.level)
    bind(m, code, frame, args, kwargs, defaults, named)
    if code.generator:
        return m.made(Generator(code, frame))
    deep, begin = m.calls.get(code, (0, m.here))
    begin = begin if deep else m.here
    if m.depth >= MAX_DEPTH:
        raise Unsupported(f"{code.name} calls itself too often")
    if deep >= m.limits.far(MAX_RECURSION) and m.here is not begin:
        raise Bound(f"{code.name} calls itself more than {deep} times")
    m.calls[code], m.depth = (deep + 1, begin), m.depth + 1
    line = m.line
    try:
        frame.exits = m.enter()
        around, exits = m.bystanders, frame.exits
        try:
            code.body(m, frame)
        except (Exception, Unsupported, Lost) as reason:
            if not exits.states:
                raise
            while len(m.journals) > exits.index + 1:  # the rows that have returned already go on
                undo(m.journals.pop())
            m.bystanders = around
            m.fail(exits.alive, reason)
            m.here = FALSE
        result = finish(m, frame, exits)
    finally:
        m.calls[code], m.depth = (deep, begin), m.depth - 1
    m.line = line
    return result


def finish(m: Machine, frame: Frame, exits: Exits) -> Any:
    """Join what a function returns along all paths."""
    own = None if frame.captured else frame
    result = m.meet(exits, None, own)
    if m.here is FALSE:
        raise Lost
    return result


def bind(
    m: Machine,
    code: Code,
    frame: Frame,
    args: list[Any],
    kwargs: dict[str, Any],
    defaults: list[Any],
    named: dict[str, Any],
) -> None:
    """Give the parameters of a function their arguments, as Python does."""
    variables = frame.variables
    count = len(code.positional)
    if len(args) > count and code.rest is None:
        raise TypeError(f"{code.name}() takes {count} positional arguments but {len(args)} were given")
    variables.update(zip(code.positional, args))
    if code.rest is not None:
        variables[code.rest] = tuple(args[count:])
    others: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in code.named or (name in code.positional and name not in code.by_position_only):
            if name in variables:
                raise TypeError(f"{code.name}() got multiple values for argument '{name}'")
            variables[name] = value
        elif code.others is not None:
            others[name] = value
        else:
            raise TypeError(f"{code.name}() got an unexpected keyword argument '{name}'")
    if code.others is not None:
        variables[code.others] = m.made(others)
    for name, value in zip(reversed(code.positional), reversed(defaults)):
        variables.setdefault(name, value)
    for name in [*code.positional, *code.named]:
        if name not in variables and name in named:
            variables[name] = named[name]
        if name not in variables:
            raise TypeError(f"{code.name}() missing a required argument: '{name}'")
