"""A tape and a goal as a thing to send: pickled, and compiled once in each process."""

from __future__ import annotations

import pickle

import pytest

from micrograd import Value, math, vmap
from micrograd.compile.backend import BLOCK
from micrograd.compile.batch import add_blocks, sum_blocks
from micrograd.compile.kernel import Program
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.rows import Rows
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


def test_it_survives_a_pickle_and_is_compiled_once():
    tape = vmap(lambda x: math.sin(x) * x + 1.0).tape(np.array([0.5]))
    program = Program(tape, Goal(Options(wait=True)))
    copy = pickle.loads(pickle.dumps(program))
    assert copy.digest == program.digest
    assert copy.kernel() is program.kernel()
    assert copy.kernel().code.values([0.5], []) == [pytest.approx(math.sin(0.5) * 0.5 + 1.0)]
    assert Program(tape, Goal(Options(exact=True))).digest != program.digest


def test_blocks_summed_by_several_processes_give_the_bits_of_one():
    w = Value(0.7)
    f = vmap(lambda x, y: math.tanh(w * x) * y, reduce="sum")
    x, y = np.random.default_rng(0).normal(size=(2, 3 * BLOCK + 100))
    whole = f(x, y)
    whole.backward()
    program = Program(f.tape(x, y), Goal(Options(wait=True), (), (0,), rows=True, reduced=True))
    parts = []
    for start in (0, BLOCK, 2 * BLOCK, 3 * BLOCK):
        sent = pickle.loads(pickle.dumps(program))
        rows = Rows((x[start : start + BLOCK], y[start : start + BLOCK]), {}, 0)
        sums, failed = sum_blocks(sent.kernel(), rows, [w], threads=1)
        assert failed is None
        parts.append(sums)
    assert add_blocks(np.concatenate(parts)) == [whole.data, w.grad]
