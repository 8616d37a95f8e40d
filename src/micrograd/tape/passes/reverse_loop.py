"""The adjoint of a loop: a loop in the other direction.

The forward loop also stacks its carried values, as they are at the beginning of each iteration (and of a short loop, the
results of functions such as exp, which take longer to compute than to read). The reverse loop takes the iterations from the
last to the first: it computes an iteration again from those values, and sweeps back over it. It carries the cotangents of the
carried values, and the sums of those of the invariants; the cotangents of elements are stacked.

Reach (see reverse.py) is carried as flags where it is not the same in all iterations. Whether it is shows when the body is
swept: begin with what is known after the last iteration, and sweep again with flags for what has changed after one iteration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from micrograd.tape.builder import Builder
from micrograd.tape.check import Shape
from micrograd.tape.passes.arrays import Reach, flag, inputs_at, is_flag
from micrograd.tape.passes.derivatives import active_inputs
from micrograd.tape.passes.primal import Skipped
from micrograd.tape.passes.states import inside as shapes_inside
from micrograd.tape.passes.states import kept, numbers_of
from micrograd.tape.tape import INPUT, Loop, Tape, pad

if TYPE_CHECKING:
    from micrograd.tape.passes.reverse import Sweep

FLAG = -1  # the reach of something is a flag that is carried along, or (of an element) stacked


class Iteration(NamedTuple):
    """One reverse iteration: its body, and what is known of the reach of the forward body's inputs."""

    body: Tape
    reach: dict[int, Reach | None]


class Backward:
    """The reverse loop of one forward loop, being made."""

    def __init__(self, sweep: Sweep, i: int, outs: dict[int, tuple[int, Reach]]) -> None:
        self.sweep, self.outs = sweep, outs
        op = sweep.tape.ops[i]
        assert isinstance(op, Loop)
        self.op, self.args = op, sweep.tape.args[i]
        forward = sweep.forward
        self.active = active_inputs(op, [forward.active[a] for a in self.args])
        self.given: list[Shape] = [forward.shape[a] for a in self.args]
        self.wanted = [k for k in range(len(self.args)) if self.active[k]]
        carried = op.carried
        self.carried = [k for k in self.wanted if k < carried]
        self.invariants = [k for k in self.wanted if carried <= k < carried + op.invariants]
        self.elements = [k for k in self.wanted if k >= carried + op.invariants]
        self.stacked = [n for n in outs if n >= carried]
        self.also = forward.skipped[i].also if i in forward.skipped else frozenset()
        self.kept = kept(op, self.given, self.also)
        # A loop that may take no iteration at all reaches nothing for certain.
        self.uncertain = op.condition is not None or not op.iterations
        self.reach: dict[int, Reach | None] = {}
        for k in self.carried:
            known = outs[k][1] if k in outs else None
            self.reach[k] = FLAG if is_flag(known) else known
        for k in [*self.invariants, *self.elements]:
            self.reach[k] = None

    def flags(self, of: list[int]) -> list[int]:
        return [k for k in of if self.reach[k] == FLAG]

    def iteration(self) -> Iteration:
        """The body of the reverse loop, with the flags that are known to be needed."""
        op, inside = self.op, shapes_inside(self.op, self.given)
        stacked_flags = [n for n in self.stacked if is_flag(self.outs[n][1])]
        carried_flags, invariant_flags = self.flags(self.carried), self.flags(self.invariants)
        count = len(self.carried) + len(carried_flags) + len(self.invariants) + len(invariant_flags)
        count += (
            op.invariants + op.carried + self.kept.results() + op.elements + len(self.stacked) + len(stacked_flags) + 1
        )
        inner = Builder(count)
        rest = iter([inner.input(k) for k in range(count)])
        cotangents = {k: next(rest) for k in self.carried}
        flags = {k: next(rest) for k in carried_flags}
        sums = {k: next(rest) for k in self.invariants}
        flags.update({k: next(rest) for k in invariant_flags})
        invariants = [next(rest) for _ in range(op.invariants)]
        states = [next(rest) for _ in range(op.carried)]
        known = {i: next(rest) for i in self.kept.places}
        skipped = {
            i: Skipped(inner.also, {n: next(rest) for n in inner.numbers}) for i, inner in self.kept.loops.items()
        }
        elements = [next(rest) for _ in range(op.elements)]
        stacked = {n: next(rest) for n in self.stacked}
        reached = {n: next(rest) for n in stacked_flags}
        given = [*states, *invariants, *elements, next(rest)]
        sweep = self.sweep.into(inner, op.body, self.active, inside, given, known, skipped)
        at, outputs = inputs_at(sweep.tape), sweep.tape.outputs
        for k, total in sums.items():
            if k in at:
                sweep.grads[at[k]] = total
        for k in invariant_flags:  # they go on from one iteration to the next
            sweep.reach[at[k]] = flags[k]
        for k, g in cotangents.items():
            if self.reach[k] is not None:
                sweep.give(outputs[k], g, flags.get(k, True))
        for n, g in stacked.items():
            sweep.give(outputs[n], g, reached.get(n, True))
        sweep.run()
        reach = {k: sweep.reach_of(at[k]) if k in at else None for k in self.wanted}
        found = []
        for k in self.carried:
            found.append(sweep.total(at[k], sweep.zero(inside[k])) if k in at else sweep.zero(inside[k]))
        found += [flag(inner, reach[k], inside[k]) for k in carried_flags]
        found += [sweep.total(at[k], sums[k]) if k in at else sums[k] for k in self.invariants]
        found += [flag(inner, reach[k], inside[k]) for k in invariant_flags]
        for k in self.elements:
            found.append(sweep.total(at[k], sweep.zero(inside[k])) if k in at else sweep.zero(inside[k]))
        found += [flag(inner, reach[k], inside[k]) for k in self.flags(self.elements)]
        return Iteration(inner.finish(found), reach)

    def settle(self) -> Tape:
        """The body of the reverse loop, with flags for all whose reach is not the same in all iterations."""
        while True:
            iteration = self.iteration()
            before = dict(self.reach)
            for k in self.carried:
                now = FLAG if is_flag(iteration.reach[k]) else iteration.reach[k]
                self.reach[k] = now if now is before[k] else FLAG
            if all(self.reach[k] is before[k] for k in self.carried):
                break
        for k in [*self.invariants, *self.elements]:
            here = iteration.reach[k]
            self.reach[k] = None if here is None else True if here is True and not self.uncertain else FLAG
        return self.iteration().body


def sweep(outer: Sweep, i: int, outs: dict[int, tuple[int, Reach]]) -> None:
    """Sweep back over the loop at place i, of whose results `outs` have a cotangent and a reach."""
    back = Backward(outer, i, outs)
    if not back.wanted:
        return
    b, op, at = outer.builder, back.op, outer.forward.at
    body = back.settle()
    _, invariants, arrays = op.groups(back.args)
    carry = [outs[k][0] if k in outs else outer.zero(back.given[k]) for k in back.carried]
    carry += [flag(b, outs[k][1] if k in outs else None, back.given[k]) for k in back.flags(back.carried)]
    begun = [_begins(outer, back, k) for k in back.invariants]
    carry += [outer.grads[back.args[k]] if go else outer.zero(back.given[k]) for k, go in zip(back.invariants, begun)]
    # The flags of an array go on, too: to begin again, and to add them later, would take longer than the loop.
    ready = {k: outer.reach.get(back.args[k]) for k, go in zip(back.invariants, begun) if go and back.given[k]}
    carry += [flag(b, ready.get(k), back.given[k]) for k in back.flags(back.invariants)]
    numbers = [*range(op.carried), *(op.carried + 1 + k for k in range(back.kept.results()))]
    states = [outer.forward.result(i, op.results + k) for k in numbers]
    values = [outer.forward.value(a) for a in invariants]
    over = [*states, *(at[a] for a in arrays), *(outs[n][0] for n in back.stacked)]
    over += [int(outs[n][1]) for n in back.stacked if is_flag(outs[n][1])]
    dynamic = op.condition is not None or op.iterations is None
    if dynamic:  # the number of iterations
        skips = i in outer.forward.skipped
        count = numbers_of(b, op, values) if skips else outer.forward.result(i, op.results + op.carried)
        over.insert(0, count)
        body = _with_another_array(body, len(carry) + len(invariants))
    iterations = None if dynamic else op.iterations
    results = iter(b.loop(body, carry, values, over, iterations, reverse=not op.reverse))
    cotangents = {k: next(results) for k in back.carried}
    flags = {k: next(results) for k in back.flags(back.carried)}
    sums = {k: next(results) for k in back.invariants}
    flags.update({k: next(results) for k in back.flags(back.invariants)})
    of_elements = {k: next(results) for k in back.elements}
    flags.update({k: next(results) for k in back.flags(back.elements)})
    for k, go in zip(back.invariants, begun):
        reach = back.reach[k]
        if reach is None:
            continue
        reach = flags[k] if reach == FLAG else True
        if go:
            outer.grads[back.args[k]] = sums[k]
            if k in ready:
                outer.reach[back.args[k]] = reach
            else:
                outer.reached(back.args[k], reach)
        else:
            outer.give(back.args[k], sums[k], reach)
    for k, g in {**of_elements, **cotangents}.items():
        reach = back.reach[k]
        if reach is None:
            continue
        found = True if reach is True else flags[k]
        length = back.given[k][0] if k >= op.carried and dynamic else None
        if length is not None:  # the elements behind the last iteration get nothing
            g, found = b.emit(pad(length), (g,)), b.emit(pad(length), (found,))
        outer.give(back.args[k], g, found)


def _begins(outer: Sweep, back: Backward, k: int) -> bool:
    """Whether the sum for an invariant goes on from what its place has been given already."""
    a = back.args[k]
    return a in outer.grads and back.args.count(a) == 1


def _with_another_array(body: Tape, at: int) -> Tape:
    """The body with one more input, that it does not use."""
    args = [(a[0] + 1,) if op is INPUT and a[0] >= at else a for op, a in zip(body.ops, body.args)]
    return body.copy(inputs=body.inputs + 1, args=tuple(args))
