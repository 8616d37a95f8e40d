"""Typed tapes made by hand of log-sum-exp, Cholesky, elimination with pivots, k-means, a mixture and Newton's method."""

from __future__ import annotations

import gc
import sys
import threading
from random import Random

import pytest

from micrograd import Value, jit
from micrograd.ir.check import check
from micrograd.ir.forward import tangents
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.reverse import adjoint
from random_programs import needs_llvm
from twins import ROOT

sys.path.insert(0, str(ROOT))
from benchmarks.typed_programs import PROGRAMS

NAMES = list(PROGRAMS)
SIZES = {"lse": 7, "cholesky": 5, "lu": 5, "kmeans": 6, "gmm": 2, "newton": 4}


def eager(program, arguments):
    """The value and the gradients of the plain Python program on Values, a list for each array."""
    given = [list(map(Value, x)) if k in program.wrt else x for k, x in enumerate(arguments)]
    y = program.python(*given)
    y.backward()
    return y.data, [[v.grad for v in given[k]] for k in program.wrt]


@pytest.mark.parametrize("name", NAMES)
def test_the_tape_and_its_adjoint_are_those_of_the_plain_program(name):
    program = PROGRAMS[name]
    made = adjoint(program.tape(), program.wrt)
    check(made)
    for seed in range(3):
        arguments = program.arguments(Random(seed), SIZES[name])
        value, *found = run(made, arguments)
        expected, gradients = eager(program, arguments)
        assert value == pytest.approx(expected, rel=1e-13)
        for x, y in zip(found, gradients, strict=True):
            assert x == pytest.approx(y, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_the_second_order_agrees_forward_over_reverse_and_reverse_over_reverse(name):
    program = PROGRAMS[name]
    tape = program.tape()
    arguments = program.arguments(Random(1), min(SIZES[name], 4))
    back = adjoint(tape, program.wrt)
    of = list(range(1, 1 + len(program.wrt)))
    random = Random(2)
    u = [[random.uniform(-1, 1) for _ in arguments[k]] for k in program.wrt]
    one = run(tangents(back, program.wrt, of), [*arguments, *u])[len(back.yields) :]
    two = run(adjoint(back, program.wrt, of, seeded=True), [*arguments, *u])[len(back.yields) :]
    for x, y in zip(one, two, strict=True):
        assert x == pytest.approx(y, rel=1e-8, abs=1e-10)


@needs_llvm
@pytest.mark.parametrize("name", NAMES)
def test_machine_code_has_the_bits_of_the_interpreter(name):
    from micrograd.compile.typed.kernel import Kernel

    program = PROGRAMS[name]
    made = adjoint(program.tape(), program.wrt)
    kernel = Kernel(made)
    for seed in range(3):
        arguments = program.arguments(Random(seed), SIZES[name] + 20 * (name != "gmm"))
        if name in ("cholesky", "lu"):
            arguments = program.arguments(Random(seed), 9)
        found = [x.tolist() if hasattr(x, "tolist") else x for x in kernel(*arguments)]
        assert repr(found) == repr(run(made, arguments))


@needs_llvm
def test_a_kernel_takes_and_gives_arrays_of_every_kind():
    from array import array

    import micrograd.compile.typed.kernel as typed
    from micrograd.ir.builder import Builder

    b = Builder(["f64[]", "i64[]", "bool[]", "f64", "i64", "bool"])
    xs, ks, flags, x, k, flag = b.params
    stored = (
        b.emit("store", xs, b.const(0), x),
        b.emit("store", ks, b.const(0), k),
        b.emit("store", flags, b.const(0), flag),
    )
    kernel = typed.Kernel(b.finish([*stored, x, k, flag]))
    for arguments in (
        [[1.0, 2.0], [3, 4], [True, True], 0.5, -7, False],
        [array("d", [1.0, 2.0]), array("q", [3, 4]), (True, True), 0.5, -7, False],
    ):
        found = kernel(*arguments)
        assert [list(map(type(y), x)) for x, y in zip(found, (0.5, -7, False))] == [[0.5, 2.0], [-7, 4], [False, True]]
        assert found[3:] == [0.5, -7, False] and list(map(type, found[3:])) == [float, int, bool]
        assert list(arguments[0]) == [1.0, 2.0]  # what was given stays as it was
    np = pytest.importorskip("numpy")
    given = np.arange(8.0)
    given.flags.writeable = False
    found = kernel(given[::2], np.array([3]), np.array([True]), 1.5, 2, True)
    assert found[0].tolist() == [1.5, 2.0, 4.0, 6.0] and found[0].dtype == float and found[2].dtype == bool


@needs_llvm
def test_a_check_that_fails_leaves_the_kernel_as_it_was():
    from micrograd.compile.typed.kernel import Kernel
    from micrograd.ir.builder import Builder

    b = Builder(["f64[]"])
    (xs,) = b.params
    changed = b.emit("store", xs, b.const(0), b.const(2.0))
    b.check(b.emit("lt", b.emit("load", xs, b.const(0)), b.const(10.0)), "too large")
    kernel = Kernel(b.finish([changed]))
    for _ in range(3):
        assert list(kernel([1.0])[0]) == [2.0]
        with pytest.raises(CheckFailed, match="too large"):
            kernel([11.0])
    assert len(kernel._idle) == 1
    with pytest.raises(TypeError, match="1 arguments, not 2"):
        kernel([1.0], 2)


@needs_llvm
def test_a_thousand_calls_keep_no_memory():
    from micrograd.compile.typed.kernel import Kernel

    program = PROGRAMS["cholesky"]
    kernel = Kernel(adjoint(program.tape(), program.wrt))
    arguments = program.arguments(Random(1), 12)
    kernel(*arguments)
    (one,) = kernel._idle
    held = one.context[65]
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(1000):
        kernel(*arguments)
    gc.collect()
    assert kernel._idle == [one] and one.context[65] == held > 0
    assert len(gc.get_objects()) <= objects + 20


@needs_llvm
def test_threads_share_a_kernel():
    from micrograd.compile.typed.kernel import Kernel

    program = PROGRAMS["lu"]
    kernel = Kernel(adjoint(program.tape(), program.wrt))
    given = [program.arguments(Random(seed), 10) for seed in range(4)]
    expected = [repr(kernel(*a)) for a in given]
    wrong = []

    def work(k):
        for _ in range(200):
            if repr(kernel(*given[k])) != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=[k]) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_methods_that_are_replaced_are_seen_by_calls_that_c_answers():
    class Base:
        def scale(self, x):
            return 2.0 * x

    class Length(Base):
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            return Length(self.x + other.x)

    class Other:
        def scale(self, x):
            return 7.0 * x

    @jit(wait=True)
    def total(xs):
        length = Length(0.0)
        for x in xs:
            length = length + Length(x)
        return length.scale(length.x)

    def often():
        return {total([1.0, 2.0, 3.0]) for _ in range(40)}

    assert often() == {12.0}
    Base.scale = lambda self, x: 3.0 * x
    assert often() == {18.0}
    Length.scale = lambda self, x: 5.0 * x
    assert often() == {30.0}
    del Length.scale
    assert often() == {18.0}
    Length.__add__ = lambda self, other: Length(self.x - other.x)
    assert often() == {-18.0}
    Length.__bases__ = (Other,)
    assert often() == {-42.0}


def test_lists_of_lists_are_arranged_by_c():
    import numpy as np

    from micrograd.compile.typed.call import Asked, Variant

    def doubled(rows, first):
        return [[2.0 * v + first[0] for v in row] for row in rows]

    def both(rows, first):
        return [tuple(2.0 * v for v in row) for row in rows], sum(v for row in rows for v in row) + first[1]

    for rows in ([[1.0, 2.0], [3.0, 4.0]], [[1.0]], [[0.5, 1.5, 2.5]] * 3):
        for f in (doubled, both):
            for given in (rows, np.array(rows)):
                compiled = jit(f, wait=True)
                assert {repr(compiled(given, [0.5, 2.0])) for _ in range(40)} == {repr(f(rows, [0.5, 2.0]))}
    args = np.array([[1.0, 2.0]]), [0.5, 2.0]
    assert Variant(doubled, Asked(True, (), False), args).installed(args) is not None
