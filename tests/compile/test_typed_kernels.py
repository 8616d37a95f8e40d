"""Machine code of typed tapes: the bits of the interpreter."""

from __future__ import annotations

import pytest

from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.reverse import adjoint
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
