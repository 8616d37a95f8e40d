"""Tapes that do the same several times, as machine code in which equal pieces are one function with a table of places."""

from __future__ import annotations

from random import Random

import pytest
from test_patterns import Machine, Patterns, check_at_a_point

from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import packed
from micrograd.compile.llvm.emit import spelled
from micrograd.compile.schedule import pack
from micrograd.compile.tuning import TUNING
from micrograd.tape import passes
from micrograd.tape.tape import Tape
from random_programs import needs_llvm

pytestmark = needs_llvm


def a_repeating_tape(random: Random) -> Tape:
    """The same growth two to five times, from the same state of the generator, over other places each time."""
    patterns, length = Patterns(random), random.choice([300, 600])
    while len(patterns.tape.ops) < length:
        if random.random() < 0.5 and len(patterns.vectors) > 4:
            state = random.getstate()
            for _ in range(random.choice([2, 3, 5])):
                random.setstate(state)
                patterns.grow()
        else:
            patterns.grow()
    places = [x for vector in patterns.vectors for x in vector]
    outputs = [
        *patterns.vectors[-1],
        *patterns.vectors[-2],
        *(random.choice(places) for _ in range(random.choice([1, 9, 40]))),
    ]
    tape = patterns.tape.finish(outputs)
    if random.random() < 0.5:
        wrt = random.sample(range(tape.inputs), random.randint(1, tape.inputs))
        tape = passes.adjoint(tape.copy(outputs=outputs[:1]), wrt, exact=True)
    if random.random() < 0.3:
        pairs = [(random.randrange(len(tape)), random.randrange(len(tape))) for _ in range(random.choice([1, 4]))]
        tape = tape.copy(guards=[(random.choice(["lt", "ge", "ne"]), a, b, random.random() < 0.8) for a, b in pairs])
    return passes.prune(passes.expand(tape, spelled))


def compare_with_the_definition(seed: int) -> bool:
    """Run a tape as packed code and by the interpreter; whether pieces of the code are functions."""
    random = Random(seed)
    tape = a_repeating_tape(random)
    xs, params = ([random.uniform(-1, 1) for _ in range(n)] for n in (tape.inputs, tape.params))
    bits = min(random.choice([128, 256, 512]), llvm.vector_bits())
    options = llvm.Target(1, False, True, False, bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "pack_lines", random.choice([2000, 50]))
        patch.setattr(TUNING, "longest_chain", random.choice([512, 3]))
        patch.setattr(TUNING, "gather_cost", random.choice([1.0, 0.5, 0.0]))
        patch.setattr(TUNING, "rolled_call", random.choice([TUNING.rolled_call, 0, -5]))  # from when on a function pays
        plan = pack.plan(tape, bits // 64, random.choice([1, 4, 8]))
        if plan is None:
            return False
        source, scratch = packed.text(tape, options, plan)
    check_at_a_point(tape, xs, params, Machine(source, scratch, options, random.random() < 0.7))
    return "@form" in source


def test_repeated_pieces_have_the_bits_of_the_definition():
    assert sum(compare_with_the_definition(seed) for seed in range(12)) >= 1
