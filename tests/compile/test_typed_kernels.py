"""Machine code of typed tapes: the bits of the interpreter."""

from __future__ import annotations

import pytest

from micrograd import engine, jit
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.reverse import adjoint
from micrograd.ops import OPS
from random_programs import needs_llvm
from twins import MORE
from typed_tapes import random_arguments, random_tape

pytestmark = needs_llvm


def plain(x):
    """A result as text: nan equals nan, and -0.0 does not equal 0.0."""
    items = x.tolist() if hasattr(x, "tolist") else x
    return repr(items).replace("-nan", "nan")


def outcome(function, arguments):
    try:
        return [plain(x) for x in function(arguments)]
    except CheckFailed as failed:
        return f"check: {failed}"


@pytest.mark.parametrize("seed", range(15 * MORE))
def test_random_tapes_have_the_bits_of_the_interpreter(seed):
    from micrograd.compile.typed.kernel import Kernel

    tape = random_tape(seed, checks=seed % 3 == 0)
    kernel = Kernel(tape)
    for k in range(4):
        arguments = random_arguments(1000 * seed + k)
        assert outcome(lambda a: kernel(*a), arguments) == outcome(lambda a: run(tape, a), arguments)


@pytest.mark.parametrize("seed", range(15 * MORE))
def test_random_gradients_have_the_bits_of_the_interpreter(seed):
    from micrograd.compile.typed.kernel import Kernel

    tape = adjoint(random_tape(seed), [0, 1, 2, 3], [seed % 2])
    kernel = Kernel(tape)
    for k in range(4):
        arguments = random_arguments(1000 * seed + k)
        assert outcome(lambda a: kernel(*a), arguments) == outcome(lambda a: run(tape, a), arguments)


def test_random_draws_have_the_bits_of_eager_code():
    def drawn(key, rows):
        found = []
        for row in rows:
            for draw in (-1.0, 0.0, 1.0, 7.0, 0.5, -2.0):
                found.append(
                    engine.apply(OPS["philox"], key, row, draw) + 2.0 * engine.apply(OPS["normal"], key, draw, row)
                )
        return found

    rows = [
        0.0,
        1.0,
        2.5,
        -1.0,
        2.0**32 + 1.0,
        2.0**53 - 1.0,
        2.0**53,
        float("inf"),
        float("nan"),
        *map(float, range(40)),
    ]
    compiled = jit(drawn)
    for key in (0.0, 3.0, 2.0**40 + 5.0, -1.0, 0.25):
        assert repr(compiled(key, rows)) == repr(drawn(key, rows))
    assert "a typed tape" in compiled.explain(3.0, rows)
