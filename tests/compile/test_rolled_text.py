"""Packed code that repeats itself becomes a loop over a table, and memory is used again: with the same bits in all results."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import packed, reuse, rolled
from micrograd.compile.llvm.emit import Access, Address
from micrograd.compile.llvm.machine_code import Point
from micrograd.compile.schedule import pack
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape import interpret
from micrograd.tape.builder import Builder
from micrograd.tape.tape import INPUT, PARAM, Tape
from random_programs import needs_llvm

pytestmark = needs_llvm
BITS = [128, 256, 512]


def layers(width: int, positions: int, depth: int, guarded: bool = False) -> Tape:
    """Matrix products of several vectors, one layer after the other, with exponentials in between."""
    builder = Builder(width * positions, width * width * depth)
    xs = [[builder.source(INPUT, p * width + i) for i in range(width)] for p in range(positions)]
    weights = [builder.source(PARAM, k) for k in range(width * width * depth)]
    early = xs[0]
    for layer in range(depth):
        rows = [weights[(layer * width + o) * width :][:width] for o in range(width)]
        for p, x in enumerate(xs):
            sums = []
            for row in rows:
                total = builder.append(OPS["mul"], row[0], x[0])
                for w, a in zip(row[1:], x[1:]):
                    total = builder.append(OPS["add"], total, builder.append(OPS["mul"], w, a))
                sums.append(builder.append(OPS["exp"], total) if (layer + p) % 2 else builder.append(OPS["neg"], total))
            xs[p] = sums
            if layer == 0 and p == 0:
                early = sums
    tape = builder.finish([y for x in xs for y in x])
    if guarded:  # on what the first layer has computed, whose memory is free long before the guard is looked at
        tape = replace(tape, guards=(("gt", early[0], early[1], True),))
    return tape


def numbers(tape: Tape, seed: int = 0) -> tuple[list[float], list[float]]:
    rng = random.Random(seed)
    return [rng.uniform(-0.5, 0.5) for _ in range(tape.inputs)], [rng.uniform(-0.1, 0.1) for _ in range(tape.params)]


def compiled(tape: Tape, bits: int) -> tuple[str, int, pack.PackedSchedule]:
    if bits > llvm.vector_bits():
        pytest.skip(f"this processor has no vectors of {bits} bits")
    plan = pack.plan(tape, bits // 64, TUNING.pack_strip[bits])
    assert plan is not None
    source, scratch = packed.text(tape, llvm.Target(1, False, True, False, bits), plan)
    return source, scratch, plan


def run(tape: Tape, source: str, scratch: int, bits: int, xs: list[float], params: list[float]) -> list[float] | None:
    return Point(llvm.compile_text(source, scratch, llvm.Target(1, False, True, False, bits), 1), tape).values(
        xs, params
    )


@pytest.mark.parametrize("bits", BITS)
def test_repeated_matrix_products_share_a_function_and_give_the_same_bits(bits: int) -> None:
    tape = layers(16, 5, 3)
    source, scratch, _ = compiled(tape, bits)
    assert "call void @form" in source
    xs, params = numbers(tape)
    assert run(tape, source, scratch, bits, xs, params) == interpret.run(tape, xs, params)


@pytest.mark.parametrize("bits", BITS)
def test_rolled_code_is_much_shorter(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = layers(16, 8, 4)
    short = compiled(tape, bits)[0].count("\n")
    monkeypatch.setattr(TUNING, "rolled_call", 10**9)
    long, scratch, _ = compiled(tape, bits)
    assert "@form" not in long
    assert 2 * short < long.count("\n")
    xs, params = numbers(tape)
    assert run(tape, long, scratch, bits, xs, params) == interpret.run(tape, xs, params)


@pytest.mark.parametrize("bits", BITS)
def test_memory_of_early_layers_is_used_again(bits: int) -> None:
    tape = layers(16, 4, 8)
    source, scratch, _ = compiled(tape, bits)
    few, many = (compiled(layers(16, 4, depth), bits)[1] - 8 * 16 * 16 * depth for depth in (4, 12))
    assert many < few + 4096  # the columns of the parameters are kept, and no more for three times as many layers
    xs, params = numbers(tape)
    assert run(tape, source, scratch, bits, xs, params) == interpret.run(tape, xs, params)


@pytest.mark.parametrize("bits", BITS)
def test_guards_read_early_results_in_the_end(bits: int) -> None:
    tape = layers(8, 3, 6, guarded=True)
    source, scratch, _ = compiled(tape, bits)
    outcomes = set()
    for seed in range(12):
        xs, params = numbers(tape, seed)
        try:
            expected: list[float] | None = interpret.run(tape, xs, params)
        except interpret.GuardFailed:
            expected = None
        outcomes.add(expected is None)
        assert run(tape, source, scratch, bits, xs, params) == expected
    assert outcomes == {True, False}


def test_addresses_at_fixed_distances_share_a_column() -> None:
    forms = rolled.Forms()
    pieces = []
    for k in range(4):
        lines = []
        for j in range(30):  # a row of numbers that moves on, one that jumps about, and one that stays
            for base, offset in (("%scratch", 800 * k + 8 * j), ("%scratch", 8 * (k * k + 7)), ("%params", 16)):
                name = f"%t{1000 * k + len(lines)}"
                lines += [Address.of(name, base, offset), f"  call void @f(ptr {name})"]
        pieces.append(forms.add(lines))
    forms.settle()
    [form] = forms.all.values()
    assert form.columns is not None and len(form.columns) == 2
    assert form.call(pieces[:3]).endswith("i64 3)") and form.call(pieces[3:]).endswith(", i64 24), i64 1)")
    assert "[8 x i32] [i32 0, i32 56, i32 800, i32 64, i32 1600, i32 88, i32 2400, i32 128]" in form.text()


def test_other_texts_are_other_forms() -> None:
    forms = rolled.Forms()
    for base, op in (("%scratch", "fadd"), ("%params", "fadd"), ("%scratch", "fmul")):
        forms.add([Address.of("%t1", base, 8), f"  %t2 = {op} double %t1, 0x0"])
    forms.add([Address.of("%t7", "%scratch", 80), "  %t9 = fadd double %t7, 0x0"])
    assert [len(form.pieces) for form in forms.all.values()] == [2, 1, 1]


def access(stores: bool, offset: int) -> list[str]:
    """The lines that store or load four numbers."""
    use = "  store <4 x double> zeroinitializer, ptr %t1" if stores else "  %t2 = load <4 x double>, ptr %t1"
    return [Address.of("%t1", "%scratch", offset), Access.of(use, stores, 4, "%t1")]


def test_lines_that_live_at_one_time_are_apart() -> None:
    """Random programs of loads and stores: no line is given away while its number is still wanted."""
    rng = random.Random(7)
    for _ in range(200):
        count, pieces = rng.randint(1, 40), []
        forms = rolled.Forms()
        spans: dict[int, tuple[int, int]] = {}
        for line in range(count):
            start = rng.randint(0, 20)
            spans[line] = start, start + rng.randint(0, 8)
            for time, stores in zip(spans[line], (True, False)):
                pieces.append((float(time), forms.add(access(stores, 32 * line))))
        found = reuse.lines_of(pieces, [], 4)
        assert found is not None
        moved, total = found
        assert max(moved.values()) < total <= count
        for a in range(count):
            for b in range(a):
                if moved[a] == moved[b]:
                    assert spans[a][1] < spans[b][0] or spans[b][1] < spans[a][0]


def test_lines_that_a_vector_crosses_stay_neighbours() -> None:
    forms = rolled.Forms()
    pieces = []
    for time, kind, offset in (
        (0.0, "store", 0),
        (1.0, "store", 32),
        (2.0, "store", 64),
        (3.0, "load", 16),
        (4.0, "load", 64),
    ):
        pieces.append((time, forms.add(access(kind == "store", offset))))
    found = reuse.lines_of(pieces, [], 4)
    assert found is not None
    assert found[0][1] == found[0][0] + 1
    assert found[1] == 3


def test_a_place_whose_address_goes_elsewhere_moves_nothing() -> None:
    forms = rolled.Forms()
    piece = forms.add([Address.of("%t1", "%scratch", 0), "  call void @f(ptr %t1)"])
    assert reuse.lines_of([(0.0, piece)], [], 4) is None
