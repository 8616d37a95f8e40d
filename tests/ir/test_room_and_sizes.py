"""Arrays that loops append to get their room before, their sizes are on the tape, and no loop copies a whole array."""

from __future__ import annotations

import pytest

from micrograd.ir.builder import Builder
from micrograd.ir.check import check
from micrograd.ir.forms import CHANGES, F64, I64, is_array, walk
from micrograd.ir.interpret import run
from micrograd.ir.passes import gradient, simplified
from micrograd.ir.reserve import reserve
from micrograd.ir.text import parse, write
from twins import MORE, ROOT
from typed_tapes import random_arguments, random_tape

np = pytest.importorskip("numpy")


def ops(tape):
    return [place.op for place in walk(tape)]


def copies_in_loops(tape):
    """The arrays that are copied whole in a loop: (what makes it, what reads it). Arrays of few known items are not counted."""
    from micrograd.compile.typed.emit import expand
    from micrograd.compile.typed.inplace import Ownership

    tape = expand(tape)
    plan, found = Ownership(tape), []

    def visit(body, inside):
        for place in body.code:
            operands = [0] if place.op in CHANGES else []
            if place.op == "loop":
                operands = [n for n, x in enumerate(place.args) if is_array(x.kind)]
            for n in operands:
                made = place.args[n].op
                if inside and (place, n) not in plan.moves and made not in ("const", "array"):
                    found.append((made, place.op))
            for inner in place.bodies:
                visit(inner, inside or place.op == "loop")
                for n, y in enumerate(inner.yields):
                    if is_array(y.kind) and (inside or place.op == "loop") and (inner, n) not in plan.moves:
                        found.append((y.op, "yield"))

    visit(tape, False)
    return found


def comprehension(b, xs, n, start):
    def step(params, k):
        x = b.emit("load", xs, k)
        return b.const(True), [b.emit("append", params[0], b.emit("mul", x, x))]

    return b.loop(n, [start], step)[0]


def test_a_list_of_known_length_is_stored_and_not_appended():
    b = Builder(["f64[]", "f64[]"])
    xs, start = b.params
    made = reserve(b.finish([comprehension(b, xs, b.emit("size", xs), start)]))
    check(made)
    assert "append" not in ops(made) and ops(made).count("grow") == 1
    assert run(made, [[1.0, 2.0, 3.0], [7.0]]) == [[7.0, 1.0, 4.0, 9.0]]
    assert run(made, [[], [7.0]]) == [[7.0]]


def test_a_list_made_by_two_loops_around_each_other_gets_its_room_once():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def row(params, k):
        return b.const(True), [comprehension(b, xs, b.emit("size", xs), params[0])]

    made = simplified(b.finish([b.loop(n, [b.const([], "f64[]")], row)[0]]))
    assert "append" not in ops(made) and [p.op for p in made.code].count("grow") == ops(made).count("grow") == 1
    assert run(made, [[1.0, 2.0], 3]) == [[1.0, 4.0] * 3]
    assert run(made, [[1.0, 2.0], -1]) == [[]]


def test_an_array_that_is_read_by_something_else_is_appended_as_before():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def step(params, k):
        longer = b.emit("append", params[0], b.emit("float", k))
        return b.const(True), [longer, b.emit("append", params[0], b.const(-1.0))]

    tape = b.finish(b.loop(n, [xs, xs], step)[:2])
    assert ops(reserve(tape)).count("append") == 2
    assert run(reserve(tape), [[5.0], 2]) == run(tape, [[5.0], 2])


def test_sizes_that_do_not_change_are_on_the_tape():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def step(params, k):
        return b.const(True), [comprehension(b, params[0], b.emit("size", params[0]), b.const([], "f64[]"))]

    made = simplified(b.finish([b.loop(n, [xs], step)[0]]))
    assert all(p.attr for place in walk(made) for body in place.bodies for p in body.params if is_array(p.kind))
    assert write(parse(write(made))) == write(made)
    assert run(made, [[1.0, 2.0], 2]) == [[1.0, 16.0]]


def test_a_size_that_is_said_to_be_steady_and_is_not_is_found_by_the_interpreter():
    b = Builder(["f64[]"])
    grown = b.loop(b.const(1), b.params, lambda p, k: (b.const(True), [b.emit("append", p[0], b.const(1.0))]), [0])
    with pytest.raises(AssertionError, match="steady"):
        run(b.finish(grown[:1]), [[1.0]])


@pytest.mark.parametrize("seed", range(60 * MORE))
def test_random_tapes_with_room_give_the_same(seed):
    tape = random_tape(seed)
    made = reserve(tape)
    check(made)
    for k in range(3):
        arguments = random_arguments(1000 * seed + k)
        assert repr(run(made, arguments)).replace("-nan", "nan") == repr(run(tape, arguments)).replace("-nan", "nan")


def test_the_random_tapes_have_lists_of_known_length():
    assert (
        sum(
            "append" in ops(t) and ops(reserve(t)).count("append") < ops(t).count("append")
            for t in map(random_tape, range(60))
        )
        > 10
    )


def test_the_least_of_two_numbers_of_items_that_are_left_is_one_minimum_less_what_was_taken():
    b = Builder([I64, I64, I64])
    n, m, k = b.params
    both = b.emit("imin", b.sum(b.sum(n, k, -1), -1), b.sum(b.sum(m, k, -1), -1))
    apart = b.sum(b.sum(b.emit("imin", n, m), k, -1), -1)
    assert both is apart
    assert run(b.finish([both]), [7, 5, 2]) == [2]


def test_an_item_whose_index_is_in_range_is_loaded_before_the_loop():
    def tape(times):
        b = Builder(["f64[]", "f64[]"])
        xs, ys = b.params

        def outer(params, k):
            def inner(params, j):
                return b.const(True), [
                    b.emit("add", params[0], b.emit("mul", b.emit("load", xs, k), b.emit("load", ys, j)))
                ]

            return b.const(True), [b.loop(b.emit("size", ys), params, inner)[0]]

        return simplified(b.finish([b.loop(times(b, xs), [b.const(0.0)], outer)[0]]))

    def loads(tape):
        (outer,) = (p for p in tape.code if p.op == "loop")
        (inner,) = (p for p in outer.bodies[0].code if p.op == "loop")
        return [p.op for p in inner.bodies[0].code].count("load")

    assert loads(tape(lambda b, xs: b.emit("size", xs))) == 1
    assert loads(tape(lambda b, xs: b.const(2))) == 2  # there may be no such item where ys is empty


CASES = {
    ("ode", "last"): lambda: (np.arange(1.0, 6.0), 4),
    ("lse", "logsumexp"): lambda: (np.arange(1.0, 6.0),),
    ("llsq", "half_sum_of_squares"): lambda: (np.arange(1.0, 6.0), 9),
    ("kmeans", "total_distance"): lambda: (np.arange(12.0).reshape(4, 3), np.arange(6.0).reshape(2, 3)),
    ("lstm", "loss"): lambda: tuple(np.linspace(-1, 1, n * m).reshape(n, m) for n, m in ((4, 16), (3, 4), (4, 4), (5, 4))),
    ("gmm", "log_posterior"): lambda: (
        {"alpha": np.ones(3), "mu": np.ones((3, 2)), "q": np.ones((3, 2)), "l": np.ones((3, 1))}, np.ones((4, 2)), 2, 0.7,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_gradients_of_programs_over_arrays_copy_no_array_in_a_loop(case, monkeypatch):
    import importlib

    from micrograd.abstract import stage

    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "gradbench" / "tool"))
    module, name = case
    found = stage(getattr(importlib.import_module(module), name), CASES[case]())
    made = gradient(
        found.tape, [k for k, p in enumerate(found.params) if p.kind in (F64, "f64[]") and p.what != "length"]
    )
    assert "append" not in ops(made) or case == ("lstm", "loss")  # there the length depends on the layer
    assert copies_in_loops(made) == []
