"""Loops: each iteration runs for the rows that are still in the loop; those that leave wait at its end."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from micrograd.stage import iterate
from micrograd.stage.errors import Bound, Copied, Lost, NotYet, Outside, Unsupported
from micrograd.stage.items import Items, left, made_of
from micrograd.stage.language import block, expression
from micrograd.stage.limits import MANY
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.records import is_record
from micrograd.stage.roll import FEW, Roll
from micrograd.stage.row import packable
from micrograd.stage.scope import Scope, _own_nodes
from micrograd.stage.state import Exits, Frame
from micrograd.stage.tables import restore
from micrograd.stage.targets import target

ROLLED = "a loop in the tape"  # how the note of a loop begins that is one
WRITTEN = 8  # iterations that are written out at level 0 (see Limits.level) where rows leave a loop in different ones


class Loop:
    """A loop that is running: where `break` and `continue` lead to."""

    def __init__(self, m: Machine, frame: Frame, orelse: Any) -> None:
        self.m, self.frame, self.orelse = m, frame, orelse
        self.line = m.line
        self.merged, self.iterations = False, 0

    def __enter__(self) -> Loop:
        names, self.lent = self.frame.variables, self.m.lent
        self.around = [(key, names.get(key)) for key in (".break", ".continue")]
        self.breaks = self.ends = names[".break"] = self.m.enter()
        if self.orelse is not None:
            self.ends = Exits(self.breaks.index, self.m.here)  # rows whose loop ended by itself
        return self

    def __exit__(self, *_: Any) -> None:
        self.m.lent = self.lent
        for key, value in self.around:
            if value is None:
                self.frame.variables.pop(key, None)
            else:
                self.frame.variables[key] = value

    def iteration(self, body: Any) -> None:
        """Run the body once, for the rows that are here."""
        m, names = self.m, self.frame.variables
        self.iterations += 1
        names[".continue"] = exits = m.enter()
        body(m, self.frame)
        m.meet(exits)

    def end(self, go_on: Mask) -> bool:
        """Let rows whose loop ends wait; True where none is left that goes on."""
        m = self.m
        done = m.masks.without(m.here, go_on)
        if done is m.here:
            return True
        if done is not FALSE:
            self.merged = True
            m.here = done
            m.leave(self.ends)
            m.here = go_on
        return False

    def finish(self) -> None:
        """Join the rows that leave the loop, after its `else` for those that did not break."""
        m = self.m
        if not m.notes.get(self.line, "").startswith(ROLLED):
            why = m.not_rolled.get(self.line)
            ends = "rows that are done are masked" if self.merged else "the same in all rows"
            m.notes[self.line] = f"a loop of {self.iterations} iterations, unrolled, {ends}{f' ({why})' if why else ''}"
        if self.orelse is not None:
            self.__exit__()
            m.rejoin(self.ends)
            if m.here is not FALSE:
                self.orelse(m, self.frame)
        m.meet(self.breaks)


def assigned(body: list[Any], scope: Scope) -> list[str] | None:
    """The variables that the body of a loop assigns; None where it assigns those of another function."""
    names: dict[str, None] = dict.fromkeys(sorted(scope.shared))
    for part in body:
        for inner in _own_nodes(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                names[inner.id] = None
            elif isinstance(inner, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and inner.name:
                names[inner.name] = None
            elif isinstance(inner, ast.MatchMapping) and inner.rest:
                names[inner.rest] = None
            elif isinstance(inner, (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
                return None
    return list(names) if all(scope.hops(name) == 0 for name in names) else None


def read_first(parts: list[Any], found: dict[str, bool] | None = None) -> set[str]:
    """The variables that are read before they are assigned, if statements run one after the other."""
    found = {} if found is None else found
    for part in parts:
        if isinstance(part, ast.Name):
            found.setdefault(part.id, isinstance(part.ctx, ast.Load))
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            found.setdefault(part.target.id, True)
            read_first([part.value], found)
        elif isinstance(part, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            read_first([*([part.value] if part.value is not None else []), *targets], found)
        elif isinstance(part, ast.For):
            read_first([part.iter, part.target, *part.body, *part.orelse], found)
        else:
            read_first(list(ast.iter_child_nodes(part)), found)
    return {name for name, read in found.items() if read}


def roll(
    m: Machine,
    frame: Frame,
    key: Any,
    names: list[str],
    read: set[str],
    run: Callable[[Roll], None],
    source: Any = None,
) -> bool:
    """Let the rest of a loop be a loop in the tape; False where it cannot be, or not yet."""
    line = m.line
    if id(key) in m.unrolled and (m.unrolled[id(key)] != FEW or source is None or left(source) < MANY):
        m.not_rolled[line] = m.unrolled[id(key)]
        return False
    reason: BaseException | None = None
    told = m.reasons, m.notes  # of which nothing is left that was tried in vain
    packs = [True, False] if packable(m, frame, names) else [False]
    for pack in packs:
        attempt: Roll | None = None
        m.reasons, m.notes = map(dict, told)
        try:
            attempt = Roll(m, frame, names, None if source is None else Items(source, m), read, pack, id(key))
            run(attempt)
            attempt.in_vain.clear()
            return True
        except NotYet:
            m.line, (m.reasons, m.notes) = line, told
            return False
        except Outside as why:
            m.line = line
            if type(why.changed) is list and True not in packs:
                packs.append(True)
                continue
            carries = (type(why.changed) is list and pack) or is_record(why.changed)
            if carries and m.rolling is not None and m.births[id(why.changed)][2] != m.level:
                raise  # one of a loop around, which must carry it
            reason = reason or why
        except Copied as why:
            m.line = line
            if why.loop not in (None, id(key)):
                raise  # that loop is unrolled, and not this one
            reason = reason or why
        except (Unsupported, Lost, Exception) as why:
            m.line = line
            reason = reason or why
        finally:
            if attempt is not None:
                restore(attempt.in_vain)
    m.reasons, m.notes = told
    m.unrolled[id(key)] = m.not_rolled[line] = str(reason) or type(reason).__name__
    return False


def loop_while(node: Any, scope: Scope) -> Any:
    """Compile a `while` loop."""
    test, body = expression(node.test, scope), block(node.body, scope)
    orelse = block(node.orelse, scope) if node.orelse else None
    names = assigned([*node.body, node.test], scope)

    def run(m: Machine, frame: Frame) -> None:
        iterations, begin = 0, m.here
        with Loop(m, frame, orelse) as loop:
            while m.here is not FALSE:
                m.line = loop.line
                if iterations == 1 and names is not None and roll(
                    m, frame, node, names, set(names), lambda r: r.run(test, body, None)
                ):  # fmt: skip
                    break
                go_on = m.truth(test(m, frame))
                if loop.end(go_on):
                    break
                if iterations >= m.limits.far(WRITTEN) and m.here is not begin:
                    m.lose(m.here, Bound(f"more than {iterations} iterations, which are unrolled"))
                    m.here = FALSE
                    break
                loop.iteration(body)
                iterations += 1
            loop.finish()

    return run


def loop_for(node: Any, scope: Scope) -> Any:
    """Compile a `for` loop."""
    source, store, body = expression(node.iter, scope), target(node.target, scope), block(node.body, scope)
    orelse = block(node.orelse, scope) if node.orelse else None
    names = assigned([*node.body, node.target], scope)
    read = read_first([node.target, *node.body])

    def run(m: Machine, frame: Frame) -> None:
        iterations = 0
        items = iterate.iterator(m, source(m, frame))
        with Loop(m, frame, orelse) as loop:
            m.lent = [*m.lent, *made_of(items)]
            while m.here is not FALSE:
                m.line = loop.line
                count = left(items)
                if iterations <= 1 and names is not None and count >= m.limits.iterations:
                    first = not iterations and count < MANY
                    go = partial(Roll.run, test=None, body=body, store=store, first=first)
                    if roll(m, frame, node, names, read, go, items):
                        break
                iterations += 1
                go_on, item = items.advance(m)
                if loop.end(go_on):
                    break
                store(m, frame, item)
                loop.iteration(body)
            loop.finish()

    return run
