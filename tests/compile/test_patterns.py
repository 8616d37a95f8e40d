"""Tapes full of what unrolled loops leave behind, as machine code on memory that ends where it should end.

Each buffer lies between pages that cannot be touched: what is read or written outside of it is a crash, and not luck.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from math import fsum
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import module, packed
from micrograd.compile.llvm.emit import spelled
from micrograd.compile.pipeline import Goal
from micrograd.compile.schedule import pack
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape import interpret as python
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape
from random_programs import needs_llvm, same

pytestmark = [
    needs_llvm,
    pytest.mark.skipif(os.name != "posix", reason="pages are made untouchable by mprotect"),
]

FILL = b"\xa5"
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25]
ROWS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 71]


class Patterns:
    """A tape that grows by vectors of places, each made from others that are read in some regular way."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tape = Builder(random.choice([1, 3, 8, 9, 24, 33]), random.choice([0, 3, 8, 17, 64, 81]))
        numbers = [0.5, 1.25, -0.75, 2.0, -1.0, 0.0, 0.3]
        self.vectors = [
            [self.tape.append(INPUT, k) for k in range(self.tape.inputs)],
            [self.tape.append(CONST, random.choice(numbers)) for _ in range(random.choice([1, 2, 9]))],
        ]
        if self.tape.params:
            self.vectors.append([self.tape.append(PARAM, k) for k in range(self.tape.params)])

    def op(self, name: str, *args: int) -> int:
        return self.tape.append(OPS[name], *args)

    def read(self, n: int = 0) -> list[int]:
        """n places of some vector: in a row, with a stride, backwards, one for all, anywhere; some are of another."""
        n, random = n or self.random.choice(SIZES), self.random
        vector = random.choice(self.vectors[-5:])
        first, step = random.randrange(len(vector)), random.choice([1, 1, 1, -1, 0, 2, 3, 4, 8, 9])
        places = [vector[(first + step * k) % len(vector)] for k in range(n)]
        if random.random() < 0.15:
            places = [random.choice(vector) for _ in range(n)]
        for _ in range(random.choice([0, 0, 0, 1, n])):
            places[random.randrange(n)] = random.choice(random.choice(self.vectors))
        return places

    def add(self, terms: list[int], kind: int) -> int:
        total = terms[0]
        for term in terms[1:]:
            total = self.op("add", *((term, total) if kind else (total, term)))
        return total

    def grow(self) -> None:
        random = self.random
        kind, order = random.randrange(8), random.randrange(2)
        if kind == 0:  # a matrix times a vector
            rows, columns = random.choice(SIZES[:-2]), random.choice(SIZES[:9])
            weights, x, across = self.read(rows * columns), self.read(columns), random.randrange(2)
            at = [[j * rows + i if across else i * columns + j for j in range(columns)] for i in range(rows)]
            made = [self.add([self.op("mul", weights[k], v) for k, v in zip(row, x)], order) for row in at]
        elif kind == 1:
            name, a = random.choice(["add", "mul", "sub", "div", "lt", "atan2"]), self.read()
            made = [self.op(name, x, y) for x, y in zip(a, self.read(len(a)))]
        elif kind == 2:
            name = random.choice(["tanh", "neg", "abs", "sin", "relu", "exp"])
            made = [self.op(name, x) for x in self.read()]
        elif kind == 3:  # neighbours
            a, weights = self.read(random.choice([5, 10, 18])), self.read(3)
            made = [
                self.add([self.op("mul", a[i + k], weights[k]) for k in range(3)], order) for i in range(len(a) - 2)
            ]
        elif kind == 4:  # a recurrence
            made = self.read(2)
            for x in self.read():
                made.append(self.op("add", self.op("mul", made[-1], made[0]), x))
        elif kind == 5:  # all pairs
            made = [self.op("mul", x, y) for x in self.read(random.choice([2, 5, 8])) for y in self.read(4)]
        elif kind == 6:
            a = self.read()
            made = [self.op("where", *abc) for abc in zip(a, self.read(len(a)), self.read(len(a)))]
        else:
            made = [self.add(self.read(), order)]
        self.vectors.append(made)


def a_tape(random: Random) -> Tape:
    """Of spelled ops; with gradients, guards, results that are sources or are there twice."""
    p = Patterns(random)
    while len(p.tape.ops) < random.choice([100, 200, 400]):
        p.grow()
    every = [place for vector in p.vectors for place in vector]
    outputs = [*p.vectors[-1], *p.vectors[-2], *(random.choice(every) for _ in range(random.choice([1, 9, 40])))]
    tape = p.tape.finish(outputs)
    if random.random() < 0.5:
        tape = tape.copy(outputs=outputs[:1])
        tape = passes.adjoint(tape, random.sample(range(tape.inputs), random.randint(1, tape.inputs)), exact=True)
    if random.random() < 0.3:
        pairs = [(random.randrange(len(tape)), random.randrange(len(tape))) for _ in range(random.choice([1, 4]))]
        guards = [(random.choice(["lt", "ge", "ne"]), a, b, random.random() < 0.8) for a, b in pairs]
        tape = tape.copy(guards=guards)
    return passes.prune(passes.expand(tape, spelled))


class Memory:
    """n bytes right before (or behind) a page that cannot be touched."""

    def __init__(self, n: int, align: int, at_end: bool) -> None:
        page = mmap.PAGESIZE
        self.n, inner = n, (n // page + 2) * page
        self.map = mmap.mmap(-1, inner + 2 * page)
        self.low = ctypes.addressof(ctypes.c_char.from_buffer(self.map)) + page
        self.high = self.low + inner
        self.address = (self.high - n) // align * align if at_end else self.low
        ctypes.memset(self.low, FILL[0], inner)
        self.protect(0)

    def protect(self, how: int) -> None:
        for page in (self.low - mmap.PAGESIZE, self.high):
            assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), how) == 0

    def free(self) -> None:
        """Whoever wrote around it is found now."""
        around = ctypes.string_at(self.low, self.address - self.low)
        around += ctypes.string_at(self.address + self.n, self.high - self.address - self.n)
        self.protect(mmap.PROT_READ | mmap.PROT_WRITE)
        assert not around.strip(FILL)


class Machine:
    """Machine code and the memory that it runs on."""

    def __init__(self, source: str, scratch: int, options: llvm.Target, at_end: bool) -> None:
        self.code, self.at_end, self.all = llvm.compile_text(source, scratch, options, 1), at_end, []
        self.scratch = self.make(-(-scratch // 64) * 64, 64).address

    def make(self, n: int, align: int = 8) -> Memory:
        self.all.append(Memory(n, align, self.at_end))
        return self.all[-1]

    def doubles(self, xs: list[float], align: int = 8) -> int:
        memory = self.make(8 * len(xs), align)
        (ctypes.c_double * len(xs)).from_address(memory.address)[:] = xs
        return memory.address

    def pointers(self, addresses: list[int]) -> int:
        memory = self.make(8 * len(addresses))
        (ctypes.c_void_p * len(addresses)).from_address(memory.address)[:] = addresses
        return memory.address

    def run(self, *args: int) -> int:
        kinds = [ctypes.c_int64 if k == 3 and len(args) == 6 else ctypes.c_void_p for k in range(len(args) + 1)]
        status: int = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.code.address)(*args, self.scratch)
        return status


def numbers(address: int, n: int) -> list[float]:
    return list((ctypes.c_double * n).from_address(address))


def all_places(tape: Tape, xs: list[float], params: list[float]) -> list[float]:
    return python.run(tape.copy(outputs=range(len(tape)), guards=()), xs, params)


def takes_another_way(tape: Tape, values: list[float]) -> bool:
    return any(python.compare(how, values[a], values[b]) != went for how, a, b, went in tape.guards)


def check_at_a_point(tape: Tape, xs: list[float], params: list[float], m: Machine) -> None:
    """Run machine code at one point, and compare its guards and results with the definition."""
    out = m.doubles([0.0] * len(tape.outputs))
    status = m.run(m.doubles(xs), m.doubles(params), out)
    values = all_places(tape, xs, params)
    assert bool(status) == takes_another_way(tape, values)
    assert all(same(y, values[place]) for y, place in zip(numbers(out, len(tape.outputs)), tape.outputs, strict=True))
    for memory in m.all:
        memory.free()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_point_has_the_bits_of_the_definition(seed):
    random = Random(seed)
    tape = a_tape(random)
    xs, params = ([random.uniform(-1, 1) for _ in range(n)] for n in (tape.inputs, tape.params))
    bits = random.choice([b for b in (128, 256, 512) if b <= llvm.vector_bits()])
    options = llvm.Target(1, False, True, False, bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "pack_lines", random.choice([2000, 50]))
        patch.setattr(TUNING, "longest_chain", random.choice([512, 3]))
        patch.setattr(TUNING, "gather_cost", random.choice([1.0, 0.0]))  # 0.0: whatever can go side by side does
        plan = pack.plan(tape, bits // 64, random.choice([1, 4, 8]))
        source, scratch = packed.text(tape, options, plan)
    check_at_a_point(tape, xs, params, Machine(source, scratch, options, random.random() < 0.7))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_rows_have_the_bits_of_the_definition(seed):
    random = Random(seed)
    tape, rows = a_tape(random), random.choice(ROWS)
    columns = [[random.uniform(-1, 1) for _ in range(rows)] for _ in range(tape.inputs)]
    params = [random.uniform(-1, 1) for _ in range(tape.params)]
    width = random.choice([1, 2, 4, 8, 16, 64])
    options = llvm.Target(width, False, True, False, min(llvm.vector_bits(), max(128, 64 * width)))
    reduced = [random.random() < 0.5] * len(tape.outputs)
    if random.random() < 0.3:
        source, scratch = packed.rows_text(tape, options, pack.plan(tape, options.bits // 64, 4), reduced)
    else:
        with pytest.MonkeyPatch.context() as patch:
            for name, choices in (
                ("chunk", [2000, 2000, 30]), ("guards_at_once", [100, 0]), ("cached_steps", [65536, 0]),
                ("prefetched_columns", [16, 1]), ("shortest_span", [16, 2]), ("far_chunks", [4, 1]), ("tiled_sums", [1]),
            ):  # fmt: skip
                patch.setattr(TUNING, name, random.choice(choices))
            source, scratch = module.text(tape, Goal(rows=True, reduced=reduced[:1] == [True]), options)[:2]
    m = Machine(source, scratch, options, random.random() < 0.7)
    outs = [m.doubles([0.0] * rows) for summed in reduced if not summed]
    sums = m.doubles([0.0] * (sum(reduced) * 8), 64)  # eight lanes, whatever the width is
    bad = m.make(-(-rows // width) * -(-width // 8), 1)
    ctypes.memset(bad.address, 0, bad.n)
    status = m.run(
        m.pointers([m.doubles(c) for c in columns]), m.doubles(params), m.pointers(outs), rows, sums, bad.address
    )
    values = [all_places(tape, list(xs), params) for xs in zip(*columns)]
    failed = [takes_another_way(tape, row) for row in values]
    cells = ctypes.string_at(bad.address, bad.n)
    found = [cells[r // width * -(-width // 8) + r % width // 8] >> (r % width % 8) & 1 for r in range(rows)]
    assert found == failed and bool(status) == any(failed)
    for k, place in enumerate(tape.outputs):
        want = [row[place] for row, other in zip(values, failed) if not other]
        if reduced[k]:
            if all(abs(y) < 1e300 for y in want):
                got = fsum(numbers(sums + 64 * k, 8))
                assert got == pytest.approx(fsum(want), abs=1e-12 * fsum(map(abs, want)) + 1e-300)
        else:
            got = [y for y, other in zip(numbers(outs[k], rows), failed) if not other]
            assert all(map(same, got, want))
    for memory in m.all:
        memory.free()
