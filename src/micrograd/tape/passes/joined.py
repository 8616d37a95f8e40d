"""Tangents in place of an adjoint: a loop that computes its derivatives by its few active inputs along with its results.

The adjoint of a loop keeps the carried values of all iterations, and computes each iteration again. A loop that depends on
few numbers has a cheaper way: it carries, for each carried value and each active input, the derivative of the one by the other.
The reverse sweep around it then multiplies those with the cotangents of the loop's results. Nothing is kept of an iteration,
so a `while` loop needs no memory that grows with the number of its iterations, and a thread of a GPU none at all. `joined`
says for a loop whether this is cheaper, and gives the loop.

A tangent has a reach, as a cotangent has (reverse.py): whether the value depends on the input at all, for these numbers. A
carried value depends on an invariant from the second iteration on, for instance. A slope may be infinite (that of sqrt at 0): a
tangent that is not reached is not multiplied with it, which would give nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from micrograd.observed import STOP
from micrograd.ops import OPS, Op
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.check import Shape
from micrograd.tape.passes.arrays import Reach, either, flag, is_flag, known, single_inputs
from micrograd.tape.passes.contract import contract
from micrograd.tape.passes.derivatives import active_inputs, active_results, slopes_of
from micrograd.tape.passes.prune import prune
from micrograd.tape.tape import CONST, PICK, SOURCES, Choose, Loop, Projection, Structural, Tape

ADD = OPS["add"]
CALL, DIVISION = 20, 5  # the cost of a function of the C library, and of a division or root, in additions
# The cost of keeping a number of an iteration for the reverse loop: it is stored once and read once.
KEPT = 2

Directions = dict[int, tuple[int, Reach]]  # the number of an active input -> the place of a tangent, and its reach


class Slope(NamedTuple):
    """The derivative of a carried result by an active input: a number, or a result of the joined loop; and its reach."""

    constant: float | None
    result: int
    reach: bool | int  # True, or the number of the result that is its flag


class Joined(NamedTuple):
    """A loop with its tangents, which are carried behind the carried values, and what they are at its beginning."""

    op: Loop
    begin: tuple[float, ...]
    slopes: dict[tuple[int, int], Slope]  # the numbers of a carried value and of an active input


class _Unsuited(Exception):
    """A body has active arrays."""


def joined(op: Loop, given: Sequence[Shape], active: Sequence[bool]) -> Joined | None:
    """Return the loop with its tangents by those operands that are active, where that is cheaper than its adjoint.

    `given` has the shapes of the operands.
    """
    by = [k for k, a in enumerate(active) if a]
    inner = active_inputs(op, active)
    moved = [k for k, a in enumerate(inner) if a]
    if any(k >= op.carried + op.invariants or given[k] for k in moved):
        return None
    if any(active_results(op, active)[op.carried :]):
        return None
    try:
        made = _Loop(op, by)
    except _Unsuited:
        return None
    found = made.finish()
    return found if cost(found.op.body) <= _cost_of_adjoint(op, moved, made.pairs, made.slopes) else None


class _Loop:
    """The joined loop, being made: which tangents are carried is found by trying, with no more than is known to be needed."""

    def __init__(self, op: Loop, by: Sequence[int]) -> None:
        self.op, self.by, self.body = op, by, single_inputs(op.body)
        self.varying: list[
            tuple[int, int]
        ] = []  # tangents that are carried; others are absent, or 1.0 by the value itself
        self.begun: set[tuple[int, int]] = (
            set()
        )  # of those: absent in the first iteration, there from the second one on
        self.flagged: list[tuple[int, int]] = []  # of those: whether it is there must be carried along
        while not self._settled():
            pass

    def _settled(self) -> bool:
        """Write the body; whether it confirms what was assumed. Else assume the next weaker thing."""
        op = self.op
        count = op.body.inputs + len(self.varying) + bool(self.begun) + len(self.flagged)
        b = self.builder = Builder(count)
        rest = iter([b.input(k) for k in range(count)])
        given = [next(rest) for _ in range(op.carried)]
        carried = {pair: next(rest) for pair in self.varying}
        begun = next(rest) if self.begun else -1
        flags = {pair: next(rest) for pair in self.flagged}
        given += rest
        moves: dict[int, Directions] = {}
        for k in self.by:
            if k >= op.carried or (k, k) not in carried:
                moves[k] = {k: (b.const(1.0), True)}
        for (c, k), place in carried.items():
            reach: Reach = begun if (c, k) in self.begun else flags.get((c, k), True)
            moves.setdefault(c, {})[k] = place, reach
        sweep = _Tangents(b, self.body, given, moves)
        self.pairs, self.slopes = sweep.pairs, sweep.slopes
        self.given, self.found = given, [sweep.of(o) for o in self.body.outputs[: op.carried]]
        self.outputs = [sweep.at[o] for o in self.body.outputs]
        changed = False
        for c, found in enumerate(self.found):
            for k in self.by:
                changed |= self._weaker((c, k), found.get(k))
        return not changed

    def _weaker(self, pair: tuple[int, int], out: tuple[int, Reach] | None) -> bool:
        """Compare a tangent after an iteration with what was assumed of it before; whether more must be assumed now."""
        c, k = pair
        certain = out is not None and out[1] is True
        if pair not in self.varying:
            if out is None and c != k:
                return False
            if c == k and out is not None and certain and self.builder.number(out[0]) == 1.0:
                return False
            self.varying.append(pair)
            if c != k and certain:
                self.begun.add(pair)
            elif not certain:
                self.flagged.append(pair)
            return True
        if certain or pair in self.flagged:
            return False
        self.begun.discard(pair)
        self.flagged.append(pair)
        return True

    def finish(self) -> Joined:
        """Return the joined loop."""
        op, b = self.op, self.builder
        zero, one = b.const(0.0), b.const(1.0)
        tangents = [self.found[c][k][0] if k in self.found[c] else zero for c, k in self.varying]
        begin = [1.0 if c == k else 0.0 for c, k in self.varying]
        if self.begun:
            tangents.append(one)
            begin.append(0.0)
        for c, k in self.flagged:
            tangents.append(flag(b, self.found[c][k][1] if k in self.found[c] else None))
            begin.append(1.0 if c == k else 0.0)
        body = b.finish([*self.outputs[: op.carried], *tangents, *self.outputs[op.carried :]])
        condition = op.condition
        if condition is not None:
            test = Builder(body.inputs)
            numbers = [b.args[p][0] for p in self.given]
            condition = test.finish(test.inline(condition, [test.input(k) for k in numbers]))
        loop = Loop(body, op.carried + len(begin), op.invariants, op.iterations, condition, op.reverse)
        certain = op.condition is None and bool(op.iterations)
        slopes: dict[tuple[int, int], Slope] = {}
        behind = op.carried + len(self.varying)
        for number, (c, k) in enumerate(self.varying, op.carried):
            reach: bool | int = True
            if (c, k) in self.begun:
                reach = certain or behind
            elif (c, k) in self.flagged:
                reach = behind + bool(self.begun) + self.flagged.index((c, k))
            slopes[c, k] = Slope(None, number, reach)
        for k in self.by:
            if k < op.carried and (k, k) not in slopes:
                slopes[k, k] = Slope(1.0, -1, True)
        return Joined(loop, tuple(begin), slopes)


class _Tangents:
    """A body written together with its tangents in all directions: `moves` has those of each place."""

    def __init__(self, builder: Builder, body: Tape, inputs: Sequence[int], moves: dict[int, Directions]) -> None:
        self.builder, self.body = builder, body
        self.at: list[int] = []
        self.moves: dict[int, Directions] = {}
        self.pairs, self.slopes = 0, 0.0  # operands that an adjoint gives something, and what their slopes cost
        self.results: dict[int, list[int]] = {}  # place of a choice or a loop that moves -> its results,
        self.inside: dict[int, list[Directions]] = {}  # and their tangents
        for i, (op, args) in enumerate(zip(body.ops, body.args)):
            if op is CONST:
                self.at.append(builder.const(args[0]))
            elif op in SOURCES:
                self.at.append(inputs[args[0]])
                if args[0] in moves:
                    self.moves[i] = moves[args[0]]
            elif isinstance(op, Choose) and any(a in self.moves for a in args[1:]):
                self._choose(i, op, args)
            elif isinstance(op, Loop) and any(a in self.moves for a in args):
                self._loop(i, op, args)
            else:
                self._write(i, op, args)

    def of(self, place: int) -> Directions:
        """The tangents of a place."""
        return self.moves.get(place, {})

    def _write(self, i: int, op: Op, args: tuple[int, ...]) -> None:
        b = self.builder
        row = tuple([self.at[a] for a in args])
        if isinstance(op, Projection) and args[0] in self.inside:
            self.at.append(self.results[args[0]][op.number])
            found = self.inside[args[0]][op.number]
            if found:
                self.moves[i] = found
            return
        self.at.append(b.append(op, *row))
        b.known.setdefault((op, row), self.at[-1])
        if op is STOP or not any(a in self.moves for a in args):
            return
        if isinstance(op, Structural):
            raise _Unsuited
        if op is PICK:
            self._pick(i, args)
        else:
            self._instruction(i, op, args)

    def _instruction(self, i: int, op: Op, args: tuple[int, ...]) -> None:
        b = self.builder
        wanted = [a in self.moves and n not in op.steps for n, a in enumerate(args)]
        if not any(wanted):
            return
        before = len(b.ops)
        row = tuple([self.at[a] for a in args])
        slopes = slopes_of(b, op, row, self.at[i], wanted)
        self.slopes += sum(_price(o) for o in b.ops[before:])
        self.pairs += sum(wanted)
        found: Directions = {}
        for a, slope, want in zip(args, slopes, wanted):
            if not want:
                continue
            constant = slope.__class__ is float
            for k, (tangent, reach) in self.moves[a].items():
                part = (slope * Ref(b, tangent)).place
                if is_flag(reach) and not constant:
                    part = b.emit(PICK, (int(reach), part, b.const(0.0)))
                if k in found:
                    total, other = found[k]
                    found[k] = b.emit(ADD, (total, part)), either(b, other, reach)
                else:
                    found[k] = part, reach
        self.moves[i] = found

    def _pick(self, i: int, args: tuple[int, ...]) -> None:
        b, (condition, *arms) = self.builder, args
        found: Directions = {}
        zero = b.const(0.0)
        for k in dict.fromkeys([k for a in arms for k in self.of(a)]):
            one, two = (self.of(a).get(k) for a in arms)
            parts = [zero if x is None else x[0] for x in (one, two)]
            flags = [flag(b, None if x is None else x[1]) for x in (one, two)]
            here = b.emit(PICK, (self.at[condition], *flags))
            found[k] = b.emit(PICK, (self.at[condition], *parts)), known(b, here)
        if found:
            self.moves[i] = found

    def _choose(self, i: int, op: Choose, args: tuple[int, ...]) -> None:
        """A choice that moves is one that computes its results, behind them their tangents, and flags of those."""
        b, (condition, *operands) = self.builder, args
        moving = [(n, k) for n, a in enumerate(operands) for k in self.of(a)]
        flagged = [(n, k) for n, k in moving if is_flag(self.of(operands[n])[k][1])]
        arms = []
        for body in op.bodies():
            inner = Builder(len(operands) + len(moving) + len(flagged))
            rest = iter([inner.input(n) for n in range(inner.inputs)])
            places = [next(rest) for _ in operands]
            tangents = {pair: next(rest) for pair in moving}
            flags = {pair: next(rest) for pair in flagged}
            moves: dict[int, Directions] = {}
            for (n, k), place in tangents.items():
                moves.setdefault(n, {})[k] = place, flags.get((n, k), True)
            arms.append(_Tangents(inner, single_inputs(body), places, moves))
        self.pairs += max(arm.pairs for arm in arms)
        self.slopes += max(arm.slopes for arm in arms)
        out = [[arm.of(o) for o in arm.body.outputs] for arm in arms]
        wanted = [(n, k) for n in range(op.results) for k in dict.fromkeys([k for found in out for k in found[n]])]
        told = [(n, k) for n, k in wanted if any(k not in found[n] or found[n][k][1] is not True for found in out)]
        bodies = []
        for arm, found in zip(arms, out):
            inner, zero = arm.builder, arm.builder.const(0.0)
            results = [arm.at[o] for o in arm.body.outputs]
            results += [found[n][k][0] if k in found[n] else zero for n, k in wanted]
            results += [flag(inner, found[n][k][1] if k in found[n] else None) for n, k in told]
            bodies.append(inner.finish(results))
        given = [self.at[a] for a in operands]
        given += [self.of(operands[n])[k][0] for n, k in moving]
        given += [int(self.of(operands[n])[k][1]) for n, k in flagged]
        results = b.choose(self.at[condition], given, *bodies)
        self.at.append(-1)  # nothing but its results is read
        self.results[i] = results[: op.results]
        inside: list[Directions] = [{} for _ in range(op.results)]
        for number, (n, k) in enumerate(wanted, op.results):
            reach: Reach = True
            if (n, k) in told:
                reach = results[op.results + len(wanted) + told.index((n, k))]
            inside[n][k] = results[number], reach
        self.inside[i] = inside

    def _loop(self, i: int, op: Loop, args: tuple[int, ...]) -> None:
        """A loop that moves is one that carries the tangents of its carried values too, and those of invariants along."""
        b = self.builder
        carried, invariants, over = op.groups(args)
        inner = _Inside(op, [self.of(a) for a in carried], [self.of(a) for a in invariants])
        times, body = op.iterations or 10, inner.sweep.body
        kept = len({c for c, _ in inner.pairs}) + _calls(body) + 1
        self.pairs += round(times * inner.sweep.pairs)
        self.slopes += times * (inner.sweep.slopes + KEPT * kept)
        zero = b.const(0.0)
        begin = [self.of(carried[c]).get(k) for c, k in inner.pairs]
        ways = dict(zip(inner.pairs, begin))
        carry = [self.at[a] for a in carried] + [zero if way is None else way[0] for way in begin]
        carry += [flag(b, None if (way := ways[pair]) is None else way[1]) for pair in inner.flagged]
        steady = [self.at[a] for a in invariants] + [self.of(invariants[n])[k][0] for n, k in inner.steady]
        steady += [int(self.of(invariants[n])[k][1]) for n, k in inner.steady_flags]
        results = b.loop(
            inner.body(), carry, steady, [self.at[a] for a in over], op.iterations, inner.condition(), op.reverse
        )
        self.at.append(-1)  # nothing but its results is read
        self.results[i] = results[: op.carried] + results[len(carry) :]
        found: list[Directions] = [{} for _ in range(op.results)]
        for number, (c, k) in enumerate(inner.pairs, op.carried):
            reach: Reach = True
            if (c, k) in inner.flagged:
                reach = results[op.carried + len(inner.pairs) + inner.flagged.index((c, k))]
            found[c][k] = results[number], reach
        self.inside[i] = found


class _Inside:
    """A loop in a body, with tangents in the directions of its operands; which of them it carries is found by trying."""

    def __init__(self, op: Loop, carried: Sequence[Directions], invariants: Sequence[Directions]) -> None:
        self.op, tape = op, single_inputs(op.body)
        self.pairs = [(c, k) for c, found in enumerate(carried) for k in found]
        self.flagged = [
            (c, k) for c, k in self.pairs if is_flag(carried[c][k][1])
        ]  # whether it is there is carried too
        self.steady = [(n, k) for n, found in enumerate(invariants) for k in found]
        self.steady_flags = [(n, k) for n, k in self.steady if is_flag(invariants[n][k][1])]
        while not self._settled(tape):
            pass

    def _settled(self, tape: Tape) -> bool:
        """Write the body; whether it gives no more tangents than were assumed, and those as surely."""
        op = self.op
        parts = [
            op.carried,
            len(self.pairs),
            len(self.flagged),
            op.invariants,
            len(self.steady),
            len(self.steady_flags),
        ]
        self.inputs = sum(parts) + op.elements + 1
        b = self.builder = Builder(self.inputs)
        rest = iter([b.input(n) for n in range(self.inputs)])
        values, tangents, flags, invariants, steady, steady_flags = ([next(rest) for _ in range(n)] for n in parts)
        self.given = [*values, *invariants, *rest]
        moves: dict[int, Directions] = {}
        for first, pairs, places, flagged, told in (
            (0, self.pairs, tangents, self.flagged, flags),
            (op.carried, self.steady, steady, self.steady_flags, steady_flags),
        ):
            reaches = dict(zip(flagged, told))
            for (n, k), place in zip(pairs, places):
                moves.setdefault(first + n, {})[k] = place, reaches.get((n, k), True)
        self.sweep = _Tangents(b, tape, self.given, moves)
        self.found = [self.sweep.of(o) for o in tape.outputs]
        if any(self.found[op.carried :]):
            raise _Unsuited
        new = [(c, k) for c in range(op.carried) for k in self.found[c] if (c, k) not in self.pairs]
        unsure = [(c, k) for c, k in self.pairs if k not in self.found[c] or self.found[c][k][1] is not True]
        unsure = [pair for pair in unsure if pair not in self.flagged]
        self.pairs += new
        self.flagged += new + unsure
        return not (new or unsure)

    def body(self) -> Tape:
        """The body with tangents."""
        b, op, zero = self.builder, self.op, self.builder.const(0.0)
        outputs = [self.sweep.at[o] for o in self.sweep.body.outputs]
        ways = [self.found[c].get(k) for c, k in self.pairs]
        told = [self.found[c].get(k) for c, k in self.flagged]
        tangents = [zero if way is None else way[0] for way in ways]
        flags = [flag(b, None if way is None else way[1]) for way in told]
        return b.finish([*outputs[: op.carried], *tangents, *flags, *outputs[op.carried :]])

    def condition(self) -> Tape | None:
        """The condition, which reads no tangents."""
        if self.op.condition is None:
            return None
        test = Builder(self.inputs)
        numbers = [self.builder.args[p][0] for p in self.given]
        return test.finish(test.inline(self.op.condition, [test.input(n) for n in numbers]))


def _calls(body: Tape) -> int:
    """How many functions of the C library an iteration calls, outside of choices."""
    inner = sum((op.iterations or 10) * _calls(op.body) for op in body.ops if isinstance(op, Loop))
    return inner + sum(price == CALL for price in map(_price, body.ops))


def _price(op: Op) -> float:
    """What an instruction costs, in additions; that of a region, of all its instructions."""
    if isinstance(op, Loop):
        return (op.iterations or 10) * sum(map(cost, op.bodies()))
    if isinstance(op, Choose):
        return sum(map(cost, op.bodies()))
    if op in SOURCES or isinstance(op, Projection):
        return 0
    if op.llvm.startswith("@") and not op.llvm.startswith("@llvm."):
        return CALL
    return DIVISION if op.name in ("div", "quotient", "sqrt", "mod") else 1


def cost(body: Tape) -> float:
    """What an iteration costs, with products and sums fused."""
    return sum(map(_price, prune(contract(prune(body))).ops))


def _cost_of_adjoint(op: Loop, moved: Sequence[int], pairs: int, slopes: float) -> float:
    """What an iteration and its adjoint cost together: one that keeps its states, and calls of functions."""
    plain = cost(op.body)
    calls = _calls(op.body)
    kept = sum(k < op.carried for k in moved) + calls + 1
    return plain + (plain - calls * CALL) + slopes + 2 * pairs + KEPT * kept
