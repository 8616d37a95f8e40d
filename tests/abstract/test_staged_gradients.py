"""Plain programs over arrays, staged, differentiated and compiled: the gradients of eager code, the bits of the interpreter."""

from __future__ import annotations

import math
import random

import array_programs
import pytest
import running

from eager_tapes import gradient as eager_gradient
from micrograd.ir.check import check
from micrograd.ir.interpret import run
from micrograd.ir.passes import gradient
from random_programs import needs_llvm


def _flat(values):
    return [x for v in values for x in (v if isinstance(v, list) else [v])]


def _plain(values):
    return repr([x.tolist() if hasattr(x, "tolist") else x for x in values]).replace("-nan", "nan")


@needs_llvm
@pytest.mark.parametrize("function", list(array_programs.PROGRAMS), ids=lambda f: f.__name__)
def test_a_program_over_arrays_is_staged_differentiated_and_compiled(function):
    from micrograd.compile.typed.kernel import Kernel

    make = array_programs.PROGRAMS[function]
    staged = running.staged(function, make(20, random.Random(1)))
    tape = staged.tape
    wrt = [k for k, p in enumerate(tape.params) if p.kind in ("f64", "f64[]")]
    numbers = [k for k, y in enumerate(tape.yields) if y.kind == "f64" and y.op != "const"][:1]
    of = numbers or [k for k, y in enumerate(tape.yields) if y.kind == "f64[]"][:1]
    if not of:
        pytest.skip("its results are whole numbers")
    made = gradient(tape, wrt, of, seeded=not numbers)
    check(made)
    kernel = Kernel(made)
    for n in (20, 9, 12):
        arguments = running.inputs(staged.params, make(n, random.Random(n)))
        seeds = [] if numbers else [[1.0] * len(run(tape, arguments)[of[0]])]
        found = run(made, [*arguments, *seeds])
        assert _plain(kernel(*arguments, *seeds)) == _plain(found)
        if numbers:
            _, expected = eager_gradient(tape, arguments, of[0], wrt)
            for x, y in zip(_flat(found[len(tape.yields) :]), _flat(expected), strict=True):
                assert math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)
