"""`try`, `raise`, `assert` and `with`: an exception is one more way for rows to leave a part of the program.

Rows that raise wait at the nearest `try` of the same differentiated function, with their exception; its clauses then run for
the rows whose exception they name. A `finally` and the end of a `with` run for each way of leaving: at the end, by an
exception, by `return`, by `break` and by `continue`. Where no `try` is around, rows that raise are left to a tape of their own.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from micrograd.stage import calls, managers
from micrograd.stage.errors import Unsupported
from micrograd.stage.join import join
from micrograd.stage.language import block, expression
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.scope import Scope
from micrograd.stage.state import Exits, Frame
from micrograd.stage.summary import UNBOUND, Summary
from micrograd.stage.targets import target
from micrograd.tape.arithmetic import ERRORS, ERRORS_OF_FUNCTIONS, catches

Step = Callable[[Machine, Frame], None]
ERROR = ".error"  # the variable that holds the exception that is being handled


class Traceback:
    """What a context manager is given as the traceback of an exception."""

    def __getattr__(self, name: str) -> Any:
        raise Unsupported("a traceback is read")


def throw(m: Machine, error: Any) -> None:
    """Let the rows here raise an exception."""
    handler = m.handler()
    if handler is None:
        m.lose(m.here, "an exception is raised")
        m.here = FALSE
        return
    error = m.now(error)
    here = m.here
    for mask, one in error.alternatives if type(error) is Summary else [(here, error)]:
        rows = m.masks.both_of(mask, here)
        if rows is FALSE:
            continue
        if isinstance(one, type) and issubclass(one, BaseException):
            one = one()
        if not isinstance(one, Exception):
            raise Unsupported("something is raised that is not an Exception")
        m.here = rows
        m.leave(handler, one)
    m.here = FALSE


def raise_(node: Any, scope: Scope) -> Step:
    """Compile `raise`."""
    value = expression(node.exc, scope) if node.exc is not None else None
    cause = expression(node.cause, scope) if node.cause is not None else None

    def run(m: Machine, frame: Frame) -> None:
        if m.handler() is None:
            throw(m, None)
        elif value is not None:
            error = value(m, frame)
            if cause is not None:
                cause(m, frame)  # for what it changes; nobody can read the cause of an exception (special.py)
            throw(m, m.now(error))
        elif ERROR in frame.variables:
            throw(m, frame.variables[ERROR])
        else:
            raise Unsupported("a bare `raise` outside of an `except`")

    return run


def assert_(node: Any, scope: Scope) -> Step:
    """Compile `assert`."""
    test = expression(node.test, scope)
    message = expression(node.msg, scope) if node.msg is not None else None

    def broken(m: Machine, frame: Frame) -> None:
        throw(m, AssertionError() if message is None or m.handler() is None else AssertionError(message(m, frame)))

    def run(m: Machine, frame: Frame) -> None:
        if not __debug__:
            return
        fails = m.masks.without(m.here, m.truth(test(m, frame)))
        if fails is FALSE:
            return
        rest = m.masks.without(m.here, fails)
        m.merged()
        m.fork([(fails, lambda: broken(m, frame)), *([(rest, lambda: None)] if rest is not FALSE else [])])

    return run


def try_(node: Any, scope: Scope) -> Step:
    """Compile `try`."""
    body = block(node.body, scope)
    orelse = block(node.orelse, scope) if node.orelse else None
    clauses = []
    for h in node.handlers:
        store = target(ast.Name(h.name, ast.Store()), scope) if h.name else None
        clauses.append((expression(h.type, scope) if h.type is not None else None, store, h.name, block(h.body, scope)))
    final = _final(node.finalbody, scope)

    def caught(m: Machine, frame: Frame, error: Any, k: int) -> None:
        if k == len(clauses):
            throw(m, error)
            return
        kinds, store, name, handle = clauses[k]
        classes = (Exception,) if kinds is None else kinds(m, frame)
        yes = _is(m, error, classes)
        no = m.masks.without(m.here, yes)

        def handled() -> None:
            outer = frame.variables.get(ERROR)
            frame.variables[ERROR] = m.now(error)
            if store is not None:
                store(m, frame, m.now(error))
            try:
                handle(m, frame)
            finally:
                frame.variables.pop(ERROR)
                if outer is not None:
                    frame.variables[ERROR] = outer
            if name is not None and m.here is not FALSE:
                m.assign(frame, name, UNBOUND)

        if no is FALSE:
            handled()
        elif yes is FALSE:
            caught(m, frame, error, k + 1)
        else:
            m.fork([(yes, handled), (no, lambda: caught(m, frame, error, k + 1))])

    def guarded(m: Machine, frame: Frame) -> None:
        if not clauses:
            body(m, frame)
            return
        found = [_arithmetic(m, frame, kinds) for kinds, *_ in clauses]
        arithmetic = any(f[0] for f in found), any(f[1] for f in found)
        run_guarded(m, frame, lambda: body(m, frame), orelse, lambda error: caught(m, frame, error, 0), arithmetic)

    if final is None:
        return guarded
    last = final
    return lambda m, frame: with_end(m, frame, lambda: guarded(m, frame), lambda error: last(m, frame))


def _arithmetic(m: Machine, frame: Frame, kinds: Any) -> tuple[bool, bool]:
    """Whether an `except` may catch errors of operators, and of the functions of math."""
    try:
        return (True, True) if kinds is None else _catches(kinds(m, frame))
    except Exception:  # what is not known before the exception is there
        return True, True


def _catches(classes: Any) -> tuple[bool, bool]:
    return catches(classes, ERRORS), catches(classes, ERRORS_OF_FUNCTIONS)


def _final(body: list[ast.stmt], scope: Scope) -> Step | None:
    if not body:
        return None
    if any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for part in body for n in ast.walk(part)):
        raise Unsupported("a `finally` that leaves the function or the loop")
    return block(body, scope)


def _is(m: Machine, error: Any, classes: Any) -> Mask:
    rows = FALSE
    for mask, one in error.alternatives if type(error) is Summary else [(m.here, error)]:
        if isinstance(one, classes):
            rows = m.masks.either(rows, m.masks.both_of(mask, m.here))
    return rows


def run_guarded(
    m: Machine, frame: Frame, body: Any, orelse: Any, caught: Callable[[Any], None], arithmetic: tuple[bool, bool]
) -> None:
    """Run a body; then, for the rows that raise, what handles their exceptions: `arithmetic` ones, too, perhaps."""
    done = m.enter()
    errors = Exits(done.index, m.here, m.level)
    errors.arithmetic = arithmetic
    m.handlers.append(errors)
    try:
        body()
    finally:
        m.handlers.remove(errors)
    if orelse is not None and m.here is not FALSE:
        orelse(m, frame)
    if m.here is not FALSE:
        m.leave(done)
    if errors.states:
        m.merged()
        caught(m.rejoin(errors))
        if m.here is not FALSE:
            m.leave(done)
    m.meet(done)


def with_end(m: Machine, frame: Frame, body: Any, end: Callable[[Any], Any]) -> None:
    """Run a body, and what must run after it, however rows leave it. `end` is given the exception or None.

    If `end` gives a mask, the exceptions of these rows are dropped.
    """
    names = frame.variables
    done = m.enter()
    errors, returns, breaks, continues = (Exits(done.index, m.here, m.level) for _ in range(4))
    returns.whole = True  # the end may read the variables of the function
    outer = frame.exits, names.get(".break"), names.get(".continue")
    m.handlers.append(errors)
    frame.exits = returns
    for key, exits in ((".break", breaks), (".continue", continues)):
        if key in names:
            names[key] = exits
    try:
        body()
    finally:
        m.handlers.remove(errors)
        frame.exits = outer[0]
        for key, before in ((".break", outer[1]), (".continue", outer[2])):
            if before is not None:
                names[key] = before
    if m.here is not FALSE:
        end(None)
        if m.here is not FALSE:
            m.leave(done)
    to: Any
    for exits, to in ((returns, outer[0]), (breaks, outer[1]), (continues, outer[2])):
        if exits.states:
            result = m.rejoin(exits)
            end(None)
            if m.here is not FALSE:
                m.leave(to, result, None if frame.captured or exits is not returns else frame)
    if errors.states:
        error = m.rejoin(errors)
        dropped = end(error)
        rows = FALSE if dropped is None else m.masks.both_of(dropped, m.here)
        rest = m.masks.without(m.here, rows)
        if rest is not FALSE:
            m.here = rest
            throw(m, error)
        if rows is not FALSE:
            m.here = rows
            m.leave(done)
    m.meet(done)


def with_(node: Any, scope: Scope) -> Step:
    """Compile `with`."""
    items = [(expression(i.context_expr, scope), target(i.optional_vars, scope) if i.optional_vars else None)
             for i in node.items]  # fmt: skip
    body = block(node.body, scope)

    def run(m: Machine, frame: Frame, k: int = 0) -> None:
        if k == len(items):
            body(m, frame)
            return
        make, store = items[k]
        manager = m.now(make(m, frame))

        def inside(value: Any) -> None:
            if store is not None:
                store(m, frame, value)
            run(m, frame, k + 1)

        _manage(m, frame, manager, inside)

    return run


def _manage(m: Machine, frame: Frame, manager: Any, inside: Callable[[Any], None]) -> None:
    kind = type(manager)
    if kind is contextlib.nullcontext:
        inside(manager.enter_result)
        return
    if kind is contextlib.suppress:
        classes = manager._exceptions

        def caught(error: Any) -> None:
            rest = m.masks.without(m.here, _is(m, error, classes))
            if rest is not FALSE:
                m.fork([(rest, lambda: throw(m, error)), *([(yes, lambda: None)] if (yes := m.masks.without(m.here, rest))
                        is not FALSE else [])])  # fmt: skip

        run_guarded(m, frame, lambda: inside(None), None, caught, _catches(classes))
        return
    if kind is managers.Managed:
        value = manager.begin(m)
        with_end(m, frame, lambda: inside(value), lambda error: manager.end(m, error))
        return
    begin, end = getattr(kind, "__enter__", None), getattr(kind, "__exit__", None)
    if kind is Summary or type(begin) is not FunctionType or type(end) is not FunctionType:
        raise Unsupported(f"`with` of a {kind.__name__}")
    value = calls.call(m, begin, [manager], {})

    def leave(error: Any) -> Any:
        if error is None:
            calls.call(m, end, [manager, None, None, None], {})
            return None
        here, dropped = m.here, []

        def one(e: Any) -> None:
            answer = calls.call(m, end, [manager, type(e), e, Traceback()], {})
            dropped.append((m.here, m.truth(answer)))

        if type(error) is Summary:
            parts = [(m.masks.both_of(mask, here), e) for mask, e in error.alternatives]
            m.fork([(rows, functools.partial(one, e)) for rows, e in parts if rows is not FALSE])
        else:
            one(error)
        total = FALSE
        for _, mask in dropped:
            total = m.masks.either(total, mask)
        return total

    with_end(m, frame, lambda: inside(value), leave)


__all__ = ["assert_", "join", "raise_", "throw", "try_", "with_", "with_end"]
