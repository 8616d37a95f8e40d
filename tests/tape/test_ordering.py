"""gather and join: the order of the instructions, against the rule written down plainly, and what it is good for."""

from __future__ import annotations

from random import Random

import pytest

from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.interpret import run
from micrograd.tape.passes.ordering import FEW
from micrograd.tape.tape import SOURCES, Tape
from micrograd.tape.text import parse


def random_tape(random: Random) -> Tape:
    """Instructions over places near and far, with outputs and a guard among them."""
    builder = Builder(3, 1)
    places = [builder.input(k) for k in range(3)] + [builder.const(0.5)]
    for _ in range(random.randint(4, 40)):
        near = places[-6:] if random.random() < 0.7 else places
        if random.random() < 0.2:
            places.append(builder.append(OPS["tanh"], random.choice(near)))
        else:
            places.append(
                builder.append(OPS[random.choice(["add", "mul", "sub"])], random.choice(near), random.choice(places))
            )
    tape = builder.finish([random.choice(places) for _ in range(random.randint(1, 3))])
    return (
        tape.copy(guards=[("lt", random.choice(places), random.choice(places), True)])
        if random.random() < 0.5
        else tape
    )


def order_by_the_rule(tape: Tape) -> list[int]:
    """The order in which `gather` has to put a tape, with nothing counted along: each question is asked again."""
    operands = [() if op in SOURCES else tuple(dict.fromkeys(args)) for op, args in zip(tape.ops, tape.args)]
    readers = [[i for i in range(len(tape)) if a in operands[i]] for a in range(len(tape))]
    kept = set(tape.roots())
    seen_by = [set[int]() for _ in operands]  # the operands that an instruction knows to be there
    order: list[int] = []
    ready: list[int] = []

    def is_missing_some(i: int) -> bool:
        return set(operands[i]) != seen_by[i]

    def let_go(a: int) -> None:
        left = [r for r in readers[a] if r not in order]
        if (
            len(left) <= FEW
            and a not in kept
            and tape.ops[a] not in SOURCES
            and not any(map(is_missing_some, readers[a]))
        ):
            ready.extend(left)

    for first in range(len(tape)):
        ready.append(first)
        while ready:
            i = ready.pop()
            if i in order or is_missing_some(i):
                continue
            order.append(i)
            for a in operands[i]:
                let_go(a)
            for r in readers[i]:
                seen_by[r].add(i)
                if not is_missing_some(r):
                    for a in operands[r]:
                        let_go(a)
    return order


@pytest.mark.parametrize("seed", range(60))
def test_gather_orders_by_its_rule(seed):
    tape = random_tape(Random(seed))
    order = order_by_the_rule(tape)
    at = {i: place for place, i in enumerate(order)}
    found = passes.gather(tape)
    assert [*found.ops] == [tape.ops[i] for i in order]
    assert [*found.args] == [
        tape.args[i] if tape.ops[i] in SOURCES else tuple(at[a] for a in tape.args[i]) for i in order
    ]
    assert [*found.outputs] == [at[o] for o in tape.outputs]
    assert [*found.guards] == [(how, at[a], at[b], went) for how, a, b, went in tape.guards]


def most_in_use(tape: Tape) -> int:
    """The largest number of values that are made and still to be read, inputs and constants left out."""
    last = {a: i for i, args in enumerate(tape.args) if tape.ops[i] not in SOURCES for a in args}
    last |= dict.fromkeys(tape.roots(), len(tape))
    made = [i for i in range(len(tape)) if tape.ops[i] not in SOURCES]
    return max(sum(j <= i < last.get(j, j) for j in made) for i in made)


def test_sums_that_read_all_values_grow_together():
    """Two sums over twenty values, written one after the other: the values need not wait for the second sum."""
    builder = Builder(20)
    xs = [builder.append(OPS["tanh"], builder.input(k)) for k in range(20)]
    sums = []
    for n in range(2):
        total = xs[0]
        for x in xs[1:]:
            total = builder.append(OPS["add"], total, x)
        sums.append(total if n else builder.append(OPS["neg"], total))
    tape = builder.finish(sums)
    assert most_in_use(tape) >= 20
    assert most_in_use(passes.gather(tape)) <= 4
    numbers = [0.1 * k for k in range(20)]
    assert run(passes.gather(tape), numbers) == run(tape, numbers)


GUARDED = """%0 = input 0
%1 = const 2.0
%2 = mul %0 %1
%3 = exp %2
guard lt %0 %1 is true
guard gt %2 %3 is false
guard ne %2 %1 is true
return %3"""
JOINED = """%0 = const 0.0
%1 = const 2.0
%2 = input 0
%3 = const 2.0
%4 = lt %2 %3
%5 = add %0 %4
%6 = mul %2 %3
%7 = ne %6 %3
%8 = add %5 %7
%9 = exp %6
%10 = gt %6 %9
%11 = sub %8 %10
guard eq %11 %1 is true
return %9"""


def test_join_makes_one_guard_of_all():
    assert str(passes.join(parse(GUARDED))) == JOINED
