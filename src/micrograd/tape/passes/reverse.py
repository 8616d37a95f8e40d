"""adjoint: the reverse sweep over a tape, and over the bodies of its regions.

For each place the sweep keeps two things: its cotangent, and its *reach*, which says whether the place has a part in the
outputs for these numbers at all. In eager code, what an untaken arm of an `if` alone would have used gets no gradient; here it
is on the tape, and its cotangent is 0. A slope of inf times that 0 would be nan, so what a place with a reach of its own hands
on is taken by `pick` and not by multiplication. Reach is True where it holds for all numbers, else the place of a flag (1.0
or 0.0; of an array, an array of flags).

The adjoint of a loop is a loop in the other direction (reverse_loop.py): the forward loop also stacks the carried values at the
beginning of each iteration, and the reverse loop computes an iteration again from those, then sweeps back over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ops import OPS, Op
from micrograd.tape.builder import Builder
from micrograd.tape.check import NUMBER, Shape
from micrograd.tape.passes import reverse_loop
from micrograd.tape.passes.arm import Arm
from micrograd.tape.passes.arrays import (
    Reach,
    cut,
    either,
    elementwise,
    filled,
    flag,
    is_flag,
    known,
    single_inputs,
)
from micrograd.tape.passes.derivatives import active_inputs, input_places, slopes_of, visiting_order
from micrograd.tape.passes.primal import Forward, Skipped
from micrograd.tape.tape import (
    BUMP,
    LOAD,
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
    element,
    result,
)

ADD, MUL = OPS["add"], OPS["mul"]


def adjoint(
    tape: Tape, wrt: Sequence[int | None], seeds: Sequence[int] | None = None, exact: bool = False,
    told: Sequence[int | None] = (),
) -> Tape:  # fmt: skip
    """The tape with, after its outputs, the gradient of each output with respect to the places wrt (0.0 for None).

    With `seeds` (a place of the tape for each output) there is one gradient: that of Σ seed · output.
    After all gradients there is, for each of them and each of the places `told`, whether the gradient reaches it: 1.0 or 0.0.
    `exact` adds as backward() adds: in its order, which each output has for itself, and from 0.0 on, for the sign of a zero.
    """
    builder = Builder(tape.inputs, tape.params)
    forward = Forward(builder, tape, wrt)
    at = forward.at
    outputs, flags = [at[o] for o in tape.outputs], []
    if seeds is not None:
        sweeps = [[(o, at[s]) for o, s in zip(tape.outputs, seeds)]]
    else:
        one = builder.const(1.0)
        sweeps = [[(o, one)] for o in tape.outputs]
    for seeded in sweeps:
        sweep = Sweep(forward, exact)
        for o, seed in seeded:
            sweep.grads[o] = builder.emit(ADD, (sweep.grads[o], seed)) if o in sweep.grads else seed
            sweep.reach[o] = True
        last = max(sweep.grads, default=-1)
        in_order = exact and seeds is None and not forward.regions
        sweep.run(reversed(visiting_order(tape, last)) if in_order else range(last, -1, -1))
        outputs += [builder.const(0.0) if w is None else sweep.gradient(w) for w in wrt]
        flags += [flag(builder, None if w is None else sweep.reach_of(w)) for w in told]
    return builder.finish(outputs + flags, tape, at)


class Sweep:
    """One reverse sweep over a tape that a Forward has written."""

    def __init__(self, forward: Forward, exact: bool) -> None:
        self.forward, self.builder, self.tape, self.exact = forward, forward.builder, forward.tape, exact
        self.grads: dict[int, int] = {}
        self.reach: dict[int, Reach] = {}
        # Of an array: element -> its cotangent and its reach, where it was read by `element`.
        self.parts: dict[int, dict[int, tuple[int, Reach]]] = {}
        # A cotangent that was picked by a flag, and the flag -> the same cotangent before, which is equal where the flag holds.
        self.unpicked: dict[tuple[int, int], int] = {}

    # ---- what a place is given

    def give(self, a: int, part: int, reach: Reach) -> None:
        """Add a part to the cotangent of a place."""
        if a in self.grads:
            part = self.plus(self.grads[a], part, self._shape(a))
        elif self.exact and not self._shape(a):
            part = self.builder.emit(ADD, (self.builder.const(0.0), part))
        self.grads[a] = part
        self.reached(a, reach)

    def reached(self, a: int, reach: Reach) -> None:
        """A place is (also) reached where this holds."""
        self.reach[a] = either(self.builder, self.reach.get(a), reach, self._shape(a))

    def total(self, a: int, default: int) -> int:
        """The cotangent of a place after the sweep; of an array, of all its elements."""
        if a not in self.parts:
            return self.grads.get(a, default)
        length = self._shape(a)[0] or 0
        zero = self.zero(self._shape(a)[1:])
        parts = self.parts[a]
        found = self.builder.emit(STACK, tuple([parts[k][0] if k in parts else zero for k in range(length)]))
        return self.plus(self.grads[a], found, self._shape(a)) if a in self.grads else found

    def gradient(self, a: int) -> int:
        """The gradient by a number: 0.0, and not -0.0, where it is not reached."""
        zero = self.builder.const(0.0)
        total, reach = self.total(a, zero), self.reach.get(a, True)
        return total if reach is True or self._shape(a) else self.builder.emit(PICK, (reach, total, zero))

    def reach_of(self, a: int) -> Reach | None:
        """Whether a place is reached; None where it never is."""
        if not self.forward.regions:
            return True if a in self.grads else None
        found = self.reach.get(a)
        if a in self.parts and found is not True:
            parts, b, shape = self.parts[a], self.builder, self._shape(a)
            flags = []
            for k in range(shape[0] or 0):
                reach = parts[k][1] if k in parts else None
                flags.append(flag(b, reach, shape[1:]))
            return either(b, found, b.emit(STACK, tuple(flags)), shape)
        return found

    def plus(self, a: int, b: int, shape: Shape) -> int:
        """The sum of two numbers, or of two arrays element by element."""
        if not shape:
            return self.builder.emit(ADD, (a, b))
        return elementwise(self.builder, ADD, (a, b), shape)

    def zero(self, shape: Shape) -> int:
        """The place of a zero of this shape."""
        return filled(self.builder, 0.0, shape)

    def _shape(self, a: int) -> Shape:
        if not self.forward.regions:
            return NUMBER
        found: Shape = self.forward.shape[a]
        return found

    def into(
        self, builder: Builder, body: Tape, active: Sequence[bool], given: Sequence[Shape], inputs: Sequence[int],
        known: dict[int, int] | None = None, skipped: dict[int, Skipped] | None = None,
    ) -> Sweep:  # fmt: skip
        """A sweep over the body of a region, written into another builder, where these places are its inputs.

        `known` has the places of what need not be computed, `skipped` the results of loops that need not be.
        """
        body = single_inputs(body)
        return Sweep(Forward(builder, body, input_places(body, active), given, inputs, known, skipped), self.exact)

    # ---- the sweep

    def run(self, order: Any = None) -> None:
        """Sweep over the places of the tape from the last to the first, or in another order."""
        active, ops = self.forward.active, self.tape.ops
        for i in range(len(self.tape) - 1, -1, -1) if order is None else order:
            if not active[i] or ops[i] in SOURCES:
                continue
            op = ops[i]
            if isinstance(op, Structural):
                self._structural(i, op)
            elif i in self.grads:
                self._instruction(i, op)

    def _instruction(self, i: int, op: Op) -> None:
        args, b, active, g = self.tape.args[i], self.builder, self.forward.active, self.grads[i]
        reach = self.reach[i] if self.forward.regions else True
        if op is PICK:
            self._pick(args, g, reach)
            return
        wanted = [active[a] and k not in op.steps for k, a in enumerate(args)]
        if not any(wanted):
            return
        slopes = slopes_of(b, op, tuple([self.forward.at[a] for a in args]), self.forward.at[i], wanted)
        for a, slope, want in zip(args, slopes, wanted):
            constant = slope.__class__ is float
            if not want:
                continue
            if reach is True or (constant and abs(slope) < float("inf")):
                part = b.emit(MUL, (b.place(slope), g))
            else:
                part = self._picked(b.emit(MUL, (b.place(slope), self._before(g, reach))), reach)
            if self.forward.regions:
                self.give(a, part, reach)
                continue
            if a in self.grads:
                part = b.emit(ADD, (self.grads[a], part))
            elif self.exact:
                part = b.emit(ADD, (b.const(0.0), part))
            self.grads[a] = part

    def _picked(self, x: int, reach: int) -> int:
        """A part of a cotangent where it is reached; elsewhere it adds nothing."""
        part = self.builder.emit(PICK, (reach, x, self.builder.const(-0.0)))
        self.unpicked[part, reach] = x
        return part

    def _before(self, g: int, reach: Reach) -> int:
        """What a cotangent is where it is reached: not picked twice, which would take an instruction more."""
        return self.unpicked.get((g, reach), g) if reach is not True else g

    def _pick(self, args: tuple[int, ...], g: int, reach: Reach) -> None:
        """The chosen operand gets all, and the other one is not reached."""
        b, condition = self.builder, self.forward.at[args[0]]
        flagged, no = flag(b, reach), b.const(0.0)
        nothing, before = b.const(-0.0), self._before(g, reach)
        if self.forward.active[args[1]]:
            here, part = b.emit(PICK, (condition, flagged, no)), b.emit(PICK, (condition, g, nothing))
            self.unpicked[part, here] = before
            self.give(args[1], part, known(b, here))
        if self.forward.active[args[2]]:
            here, part = b.emit(PICK, (condition, no, flagged)), b.emit(PICK, (condition, nothing, g))
            self.unpicked[part, here] = before
            self.give(args[2], part, known(b, here))

    def _structural(self, i: int, op: Structural) -> None:
        args, b, active = self.tape.args[i], self.builder, self.forward.active
        if isinstance(op, Region):
            outs = self._outs(i)
            if not outs:
                return
            if isinstance(op, Choose):
                self._choose(op, args, outs)
            elif i in self.forward.joined:
                self._joined(i, args, outs)
            else:
                reverse_loop.sweep(self, i, outs)
            return
        if (i not in self.grads and i not in self.parts) or op.name == "result":
            return
        g, reach = self.total(i, -1), self.reach_of(i)
        assert reach is not None
        if op is LOAD:
            self._load(args, g, reach)
        elif op is BUMP:
            array, index, x = args
            self.give(array, g, reach)
            if active[x]:
                at = self.forward.at[index]
                self.give(x, b.emit(LOAD, (g, at)), reach if reach is True else b.emit(LOAD, (reach, at)))
        elif op is STORE:
            self._store(args, g, reach)
        elif op is STACK:
            for k, a in enumerate(args):
                if active[a]:
                    here = reach if reach is True else b.emit(element(k), (reach,))
                    self.give(a, b.emit(element(k), (g,)), here)
        elif op.name == "element":
            assert isinstance(op, Projection)
            parts = self.parts.setdefault(args[0], {})
            if op.number in parts:
                shape = self._shape(i)
                g = self.plus(parts[op.number][0], g, shape)
                reach = either(b, parts[op.number][1], reach, shape)
            parts[op.number] = g, reach
        else:  # pad: what was filled up gets nothing
            length = self._length(args[0])
            self.give(args[0], cut(b, g, length), reach if reach is True else cut(b, reach, length))

    def _length(self, array: int) -> int:
        """The place of an array that is as long as this one: if it came out of a loop, its iteration numbers."""
        at, (made, *_) = self.forward.at, self.tape.args[array]
        op = self.tape.ops[made] if self.tape.ops[array].name == "result" else None
        if isinstance(op, Loop):
            return self.builder.emit(result(op.results + op.carried), (at[made],))
        return at[array]

    def _load(self, args: tuple[int, ...], g: int, reach: Reach) -> None:
        """One element of an array gets all."""
        b, (array, index) = self.builder, args
        at, shape = self.forward.at[index], self._shape(array)
        total = self.grads[array] if array in self.grads else self.zero(shape)
        self.grads[array] = b.emit(BUMP, (total, at, g))
        before = self.reach.get(array)
        if before is not True:
            flags = flag(b, before, shape)
            self.reach[array] = b.emit(BUMP, (flags, at, flag(b, reach, shape[1:])))

    def _store(self, args: tuple[int, ...], g: int, reach: Reach) -> None:
        """What was written gets all of one element, which the array before gets nothing of."""
        b, (array, index, x) = self.builder, args
        at, shape = self.forward.at[index], self._shape(array)
        if self.forward.active[x]:
            self.give(x, b.emit(LOAD, (g, at)), reach if reach is True else b.emit(LOAD, (reach, at)))
        if self.forward.active[array]:
            flags = b.emit(STORE, (flag(b, reach, shape), at, flag(b, None, shape[1:])))
            self.give(array, b.emit(STORE, (g, at, self.zero(shape[1:]))), flags)

    def _outs(self, i: int) -> dict[int, tuple[int, Reach]]:
        """The results of a region that have a cotangent: it, and their reach."""
        found: dict[int, tuple[int, Reach]] = {}
        for number, place in self.forward.results.get(i, ()):
            reach = self.reach_of(place)
            if reach is None:
                continue
            g, shape = self.total(place, -1), self._shape(place)
            if number in found:
                g = self.plus(found[number][0], g, shape)
                reach = either(self.builder, found[number][1], reach, shape)
            found[number] = g, reach
        return found

    def _joined(self, i: int, args: tuple[int, ...], outs: dict[int, tuple[int, Reach]]) -> None:
        """The adjoint of a loop that carries its tangents: they times the cotangents of its results."""
        b, forward = self.builder, self.forward
        for (n, k), slope in forward.joined[i].slopes.items():
            if n not in outs:
                continue
            g, reach = outs[n]
            here: Reach = reach
            if slope.reach is not True:
                flagged = forward.result(i, slope.reach)
                here = flagged if reach is True else b.emit(PICK, (reach, flagged, b.const(0.0)))
            by = b.const(slope.constant) if slope.constant is not None else forward.result(i, slope.result)
            part = b.emit(MUL, (by, self._before(g, reach)))
            self.give(args[k], part if here is True else self._picked(part, here), here)

    # ---- choose

    def _choose(self, op: Choose, args: tuple[int, ...], outs: dict[int, tuple[int, Reach]]) -> None:
        """The adjoint of a choice is a choice between the adjoints of its arms."""
        b, at = self.builder, self.forward.at
        condition, *operands = args
        wanted = [k for k, a in enumerate(operands) if self.forward.active[a]]
        flags = [n for n, (_, reach) in outs.items() if reach is not True]
        begun = {k: self.grads[a] for k, a in enumerate(operands) if k in wanted and a in self.grads}
        for k, a in enumerate(operands):  # the sum goes on inside, unless it could be in two ways
            if k in begun and (operands.count(a) > 1 or self._shape(a) or a in self.parts):
                del begun[k]
        given = [*(at[a] for a in operands), *(outs[n][0] for n in outs), *(int(outs[n][1]) for n in flags)]
        given += begun.values()
        arms = []
        inside = [self._shape(a) for a in operands]
        active = active_inputs(op, [self.forward.active[a] for a in args])
        for body in op.bodies():
            inner = Builder(len(given))
            places = [inner.input(k) for k in range(len(given))]
            sweep = self.into(inner, body, active, inside, places)
            rest = iter(places[len(operands) :])
            cotangents = {n: next(rest) for n in outs}
            reaches: dict[int, Reach] = {n: next(rest) for n in flags}
            arm = Arm(sweep, {k: next(rest) for k in begun})
            for n, g in cotangents.items():
                sweep.give(sweep.tape.outputs[n], g, reaches.get(n, True))
            sweep.run()
            arms.append(arm)
        kept = [k for k in wanted if any(arm.reach(k) is not None for arm in arms)]
        differing = [k for k in kept if any(is_flag(arm.reach(k)) for arm in arms)]
        differing += [k for k in kept if k not in differing and inside[k] and arms[0].reach(k) is not arms[1].reach(k)]
        bodies = [arm.finish(kept, differing, inside) for arm in arms]
        results = b.choose(at[condition], given, *bodies)
        for n, k in enumerate(kept):
            one, two = (arm.reach(k) for arm in arms)
            reach: Reach = True
            if k in differing:
                reach = results[len(kept) + differing.index(k)]
            elif one is None or two is None:
                reach = b.emit(PICK, (at[condition], flag(b, one), flag(b, two)))
            if k in begun:
                self.grads[operands[k]] = results[n]
                self.reached(operands[k], reach)
            else:
                self.give(operands[k], results[n], reach)
