"""tangent and columns: forward sweeps over a tape, and over the bodies of its regions.

A region that moves becomes one that computes its results and, behind them, their tangents. An untaken arm does no harm here:
its tangents are not picked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ops import OPS
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.check import Shape, shapes
from micrograd.tape.passes.arrays import filled
from micrograd.tape.passes.derivatives import active_inputs, active_places, input_places, slopes_of
from micrograd.tape.passes.joined import cost
from micrograd.tape.passes.reverse import adjoint
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    PICK,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Structural,
    Tape,
)

ADD, MUL = OPS["add"], OPS["mul"]


def tangent(tape: Tape, wrt: Sequence[int], seeds: Sequence[int]) -> Tape:
    """The tape with, after its outputs, their derivative in the direction seeds (places of the tape, one for each wrt)."""
    builder = Builder(tape.inputs, tape.params)
    if tape.has_regions() and all(tape.ops[s] in SOURCES for s in seeds):  # they can be written before all else
        sources = [builder.copy(Tape(tape.inputs, tape.params, (tape.ops[s],), (tape.args[s],)))[0] for s in seeds]
        pushed = Push(builder, tape, dict(zip(wrt, sources)), None, None)
    else:
        at = builder.copy(tape)
        pushed = Push(builder, tape, {w: at[s] for w, s in zip(wrt, seeds)}, None, at)
    outputs = [pushed.at[o] for o in tape.outputs]
    outputs += [pushed.moves.get(o, builder.const(0.0)) for o in tape.outputs]
    return builder.finish(outputs, tape, pushed.at)


def columns(tape: Tape, wrt: Sequence[int]) -> Tape:
    """What `adjoint` gives (the outputs, then for each its gradient), by a forward sweep for each of the places wrt.

    The cheaper way where there are more outputs than places: the slopes are written once, and serve all sweeps. A tape with
    loops is left to the adjoint where that is cheaper, as it is where the tangents of a loop are joined.
    """
    builder = Builder(tape.inputs, tape.params)
    at = builder.copy(tape)
    one = builder.const(1.0)
    found = [Push(builder, tape, {w: one}, None, at).moves for w in wrt]
    outputs = [at[o] for o in tape.outputs]
    outputs += [moves.get(o, builder.const(0.0)) for o in tape.outputs for moves in found]
    swept = builder.finish(outputs, tape, at)
    if any(isinstance(op, Loop) for op in tape.ops):  # each sweep runs them again; joined tangents run in one loop
        back = adjoint(tape, wrt)
        return back if cost(back) < cost(swept) else swept
    return swept


class Push:
    """A forward sweep: `moves` has the tangent of each place that has one.

    The tape has been written to `at`; otherwise it is written along with its tangents, so that a region is run once.
    """

    def __init__(
        self,
        builder: Builder,
        tape: Tape,
        moves: dict[int, int],
        given: Sequence[Shape] | None,
        at: list[int] | None,
        inputs: Sequence[int] | None = None,
    ) -> None:
        self.builder, self.tape, self.moves = builder, tape, moves
        self.written = at is not None
        self.at: list[int] = [] if at is None else at
        self.active = active_places(tape, list(moves))
        self.shape: list[Any] = shapes(tape, given) if tape.has_regions() else []
        self.inside: dict[int, dict[int, int]] = {}  # place of a region -> the tangents of its results
        self.primal: dict[int, list[int]] = {}  # place of a rewritten region -> its results
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if not self.written:
                self._write(i, op, args, inputs)
            if op in SOURCES or not self.active[i]:
                continue
            if isinstance(op, Structural):
                self._structural(i, op, args)
            elif op is PICK:
                condition, *arms = args
                if any(a in moves for a in arms):
                    parts = [moves.get(a, builder.const(0.0)) for a in arms]
                    moves[i] = builder.emit(PICK, (self.at[condition], *parts))
            else:
                self._instruction(i, op, args)

    def _write(self, i: int, op: Any, args: tuple[Any, ...], inputs: Sequence[int] | None) -> None:
        b = self.builder
        if op is CONST:
            self.at.append(b.const(args[0]))
        elif op in SOURCES:
            self.at.append(inputs[args[0]] if op is INPUT and inputs is not None else b.source(op, args[0]))
        elif isinstance(op, Region) and self.active[i] and self._moved(op, args):
            self.at.append(-1)  # written with its tangents
        elif isinstance(op, Projection) and args[0] in self.primal:
            self.at.append(self.primal[args[0]][op.number])
        else:
            row = tuple([self.at[a] for a in args])
            self.at.append(b.append(op, *row))
            b.known.setdefault((op, row), self.at[-1])

    def _moved(self, op: Region, args: tuple[int, ...]) -> bool:
        """Whether a region has a tangent; the condition of a choice has none."""
        return any(a in self.moves for a in args[isinstance(op, Choose) :])

    def _instruction(self, i: int, op: Any, args: tuple[int, ...]) -> None:
        b, moves = self.builder, self.moves
        wanted = [a in moves and k not in op.steps for k, a in enumerate(args)]
        slopes = slopes_of(b, op, tuple([self.at[a] for a in args]), self.at[i], wanted)
        total: int | None = None
        for a, slope, want in zip(args, slopes, wanted):
            if want:
                part = (slope * Ref(b, moves[a])).place
                total = part if total is None else b.emit(ADD, (total, part))
        if total is not None:
            moves[i] = total

    def _structural(self, i: int, op: Structural, args: tuple[int, ...]) -> None:
        b, moves = self.builder, self.moves
        if isinstance(op, Choose):
            self._choose(i, op, args)
        elif isinstance(op, Loop):
            self._loop(i, op, args)
        elif op is STACK:
            if any(a in moves for a in args):
                moves[i] = b.emit(STACK, tuple([moves[a] if a in moves else self._zero(a) for a in args]))
        elif op.name == "result":
            assert isinstance(op, Projection)
            found = self.inside.get(args[0], {}).get(op.number)
            if found is not None:
                moves[i] = found
        elif op is BUMP or op is STORE:
            array, index, x = args
            if array in moves or x in moves:
                moves[i] = b.emit(op, (self._tangent(array), self.at[index], self._tangent(x)))
        elif args[0] in moves:
            moves[i] = b.emit(op, (moves[args[0]], *[self.at[a] for a in args[1:]]))

    def _zero(self, a: int) -> int:
        return filled(self.builder, 0.0, self.shape[a])

    def _keep(self, i: int, results: list[int], moving: list[int], primal: list[int]) -> None:
        """Note the results of a region, and behind them the tangents of those that move."""
        self.primal[i] = primal
        self.inside[i] = dict(zip(moving, results))

    def _choose(self, i: int, op: Choose, args: tuple[int, ...]) -> None:
        b, moves = self.builder, self.moves
        condition, *operands = args
        moved = [k for k, a in enumerate(operands) if a in moves]
        if not self._moved(op, args):
            return
        pushed = []
        for body in op.bodies():
            inner = Builder(len(operands) + len(moved))
            given = [inner.input(k) for k in range(inner.inputs)]
            pushed.append(_inside(inner, body, given[: len(operands)], dict(zip(moved, given[len(operands) :])),
                                  [self.shape[a] for a in operands]))  # fmt: skip
        moving = [n for n in range(op.results) if any(p.tape.outputs[n] in p.moves for p in pushed)]
        bodies = [p.finish(list(range(op.results)), moving) for p in pushed]
        given = [*(self.at[a] for a in operands), *(moves[operands[k]] for k in moved)]
        results = b.choose(self.at[condition], given, *bodies)
        self._keep(i, results[op.results :], moving, results[: op.results])

    def _loop(self, i: int, op: Loop, args: tuple[int, ...]) -> None:
        b, moves = self.builder, self.moves
        if not self._moved(op, args):
            return
        active = active_inputs(op, [a in moves for a in args])
        first = op.carried + op.invariants
        moved = [[k for k in group if active[k]] for group in (range(op.carried), range(op.carried, first),
                                                               range(first, len(args)))]  # fmt: skip
        groups = [list(g) for g in op.groups(range(len(args)))]
        inner = Builder(len(args) + 1 + sum(map(len, moved)))
        rest = iter([inner.input(k) for k in range(inner.inputs)])
        given: dict[int, int] = {}
        tangents: dict[int, int] = {}
        for group, of in zip(groups, moved):
            given.update({k: next(rest) for k in group})
            tangents.update({k: next(rest) for k in of})
        last = next(rest)
        primal_inputs = [*(given[k] for k in range(len(args))), last]
        inside: list[Shape] = [self.shape[a] for a in args[:first]]
        inside += [*(self.shape[a][1:] for a in args[first:]), ()]
        pushed = _inside(inner, op.body, primal_inputs, tangents, inside)
        stacked = list(range(op.carried, op.results))
        moving = [n for n in stacked if pushed.tape.outputs[n] in pushed.moves]
        body = pushed.finish([*range(op.carried)], moved[0], stacked, moving)
        condition = op.condition
        if condition is not None:
            test = Builder(inner.inputs)
            numbers = [inner.args[p][0] for p in primal_inputs]
            condition = test.finish(test.inline(condition, [test.input(k) for k in numbers]))
        carry, invariants, over = (
            [self.at[args[k]] for k in g] + [self._tangent(args[k]) for k in m] for g, m in zip(groups, moved)
        )
        results = b.loop(body, carry, invariants, over, op.iterations, condition, op.reverse)
        shown = len(moved[0])
        primal = results[: op.carried] + results[op.carried + shown : op.carried + shown + len(stacked)]
        tangent = results[op.carried : op.carried + shown] + results[op.carried + shown + len(stacked) :]
        self._keep(i, tangent, [*moved[0], *moving], primal)

    def _tangent(self, a: int) -> int:
        return self.moves[a] if a in self.moves else self._zero(a)

    def finish(self, first: list[int], moved: list[int], then: Sequence[int] = (), moving: Sequence[int] = ()) -> Tape:
        """The tape of a body: results, their tangents, then other results and theirs."""
        outputs = self.tape.outputs
        found = []
        for plain, of in ((first, moved), (then, moving)):
            found += [self.at[outputs[n]] for n in plain]
            for n in of:
                place = outputs[n]
                found.append(
                    self.moves[place] if place in self.moves else filled(self.builder, 0.0, self._shape(place))
                )
        return self.builder.finish(found)

    def _shape(self, place: int) -> Shape:
        found: Shape = self.shape[place] if self.shape else ()
        return found


def _inside(
    inner: Builder, body: Tape, inputs: Sequence[int], tangents: dict[int, int], given: Sequence[Shape]
) -> Push:
    """Sweep over a body; `tangents` has, by the number of an input, the place of its tangent."""
    moves = {}
    for place in input_places(body, [k in tangents for k in range(body.inputs)]):
        moves[place] = tangents[body.args[place][0]]
    push = Push(inner, body, moves, given, None, inputs)
    push.shape = shapes(body, given)
    return push
