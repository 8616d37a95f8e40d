"""Calls with many numbers: one typed tape serves arrays of every length, with the results of plain Python."""

from __future__ import annotations

import gc
import math
import threading
from typing import NamedTuple

import numpy as np
import pytest

from micrograd import TraceError, Value, grad, jit, value_and_grad
from micrograd.abstract import errors
from random_programs import needs_llvm

COMPILES = True
pytestmark = needs_llvm
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=300)
POINTS, CENTRES = RANDOM.normal(size=(60, 4)), RANDOM.normal(size=(5, 4))


def log_sum_exp(x):
    largest = max(x)
    return largest + math.log(sum(math.exp(v - largest) for v in x))


def k_means(points, centres):
    return sum(min(sum((a - b) ** 2 for a, b in zip(p, c)) for c in centres) for p in points)


def softmax(x):
    largest = max(x)
    e = [math.exp(v - largest) for v in x]
    total = sum(e)
    return [v / total for v in e]


def chain(x, steps):
    y = [0.0] * len(x)
    for _ in range(steps):
        y = [v + 0.1 * (x[i] - v * y[i - 1] if i > 0 else x[i]) for i, v in enumerate(y)]
    return y[-1]


def scaled(p):
    return sum(a * b for a, b in zip(p["a"], p["b"])) * p["scale"]


def is_typed(f, *args):
    return "a typed tape" in str(f.explain(*args))


def plain_slopes(f, args, n, places, h=1e-6):
    """Return some slopes by central differences of the function on plain numbers."""

    def at(d, place):
        changed = np.array(args[n], dtype=float)
        changed[place] += d
        return f(*args[:n], changed if isinstance(args[n], np.ndarray) else changed.tolist(), *args[n + 1 :])

    return [(at(h, place) - at(-h, place)) / (2 * h) for place in places]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (log_sum_exp, (X,)),
        (log_sum_exp, (X.tolist(),)),
        (log_sum_exp, (tuple(X.tolist()),)),
        (k_means, (POINTS, CENTRES)),
        (k_means, (POINTS.tolist(), CENTRES.tolist())),
        (softmax, (X,)),
        (chain, (X, 7)),
        (scaled, ({"a": X, "b": X[::-1], "scale": 2.0},)),
    ],
    ids=["array", "list", "tuple", "two arrays", "lists of lists", "a list as the result", "an int", "a dict"],
)
def test_values_have_the_bits_of_plain_python(f, args):
    compiled = jit(f)
    assert is_typed(compiled, *args)
    found, plain = compiled(*args), f(*args)
    assert repr(found) == repr(plain if not isinstance(plain, np.generic) else plain.item())
    assert type(found) is type(plain) or isinstance(plain, np.generic)


@pytest.mark.parametrize("exact", [False, True])
def test_gradients_have_the_structure_of_the_argument_and_the_slopes_of_differences(exact):
    for args in [(X,), (X.tolist(),)]:
        value, slopes = jit(value_and_grad(log_sum_exp), exact=exact)(*args)
        assert value == log_sum_exp(*args) and type(slopes) is type(args[0])
        places = [0, 17, 299]
        assert [slopes[i] for i in places] == pytest.approx(plain_slopes(log_sum_exp, args, 0, places), abs=1e-8)
    both = jit(grad(k_means, (0, 1)))(POINTS, CENTRES)
    assert [g.shape for g in both] == [(60, 4), (5, 4)]
    for n in (0, 1):
        places = [(0, 0), (3, 2), (4, 3)]
        assert [both[n][p] for p in places] == pytest.approx(
            plain_slopes(k_means, (POINTS, CENTRES), n, places), abs=1e-5
        )


def test_gradients_are_those_of_eager_code():
    for f, args, argnums in [(log_sum_exp, (X,), 0), (k_means, (POINTS, CENTRES), 1), (chain, (X, 5), 0)]:
        compiled = jit(grad(f, argnums))
        assert is_typed(compiled, *args)
        np.testing.assert_allclose(compiled(*args), grad(f, argnums)(*args), rtol=1e-12, atol=1e-15)
    p = {"a": X.tolist(), "b": X.tolist(), "scale": 0.5}
    found, eager = jit(grad(scaled))(p), grad(scaled)(p)
    assert list(found) == ["a", "b", "scale"] and type(found["a"]) is list
    for key in p:
        np.testing.assert_allclose(found[key], eager[key], rtol=1e-12)


def test_one_tape_serves_every_length():
    f = jit(grad(log_sum_exp))
    f(X)
    variants = f.__self__.typed.variants if hasattr(f, "__self__") else None
    for n in (256, 257, 1000, 5000):
        x = RANDOM.normal(size=n)
        np.testing.assert_allclose(f(x), np.exp(x - x.max()) / np.exp(x - x.max()).sum(), rtol=1e-10)
        assert (f(x) == jit(grad(log_sum_exp))(x)).all()
    assert variants is None or len(variants) == 1
    assert len(str(f.tape(X)).splitlines()) == len(str(f.tape(RANDOM.normal(size=4000))).splitlines()) < 100


def test_results_do_not_depend_on_what_was_called_before():
    rows = [RANDOM.normal(size=n) for n in (300, 400, 300, 1000)]
    fresh = [jit(softmax)(x) for x in rows]
    used = jit(softmax)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        for k in order:
            assert used(rows[k]) == fresh[k]


def test_arrays_of_every_layout():
    f = jit(log_sum_exp)
    wide = RANDOM.normal(size=600)
    for x in (wide[::2], wide[::-1], np.asfortranarray(wide), wide.astype(">f8"), wide.astype(np.float32)):
        assert f(x) == pytest.approx(log_sum_exp(x.astype(float).tolist()), rel=1e-14)
    frozen = wide.copy()
    frozen.setflags(write=False)
    assert f(frozen) == log_sum_exp(wide.tolist())
    before = wide.copy()
    jit(grad(log_sum_exp))(wide)
    assert (wide == before).all()  # arguments are never written to


def test_nested_lists_that_are_ragged_or_mixed_are_as_in_plain_python():
    def total(rows):
        s = 0.0
        for row in rows:
            for v in row:
                s = s + v * v
        return s

    f = jit(total)
    regular = RANDOM.normal(size=(40, 10)).tolist()
    assert f(regular) == total(regular)
    ragged = [row[: 3 + i % 5] for i, row in enumerate(regular)] * 3
    assert f(ragged) == pytest.approx(total(ragged), rel=1e-13)
    mixed = [[*row[:-1], 2] for row in regular]
    assert f(mixed) == pytest.approx(total(mixed), rel=1e-13)
    assert f(regular) == total(regular)


def test_errors_of_plain_python_are_raised():
    def picked(x, i):
        return x[i] * 2.0

    f = jit(picked)
    assert f(X.tolist(), 5) == X[5] * 2.0 and f(X.tolist(), -1) == X[-1] * 2.0
    with pytest.raises((IndexError, TraceError)):
        f(X.tolist(), 300)
    with pytest.raises((IndexError, TraceError)):
        f(X.tolist(), -301)


def test_numbers_from_outside_are_followed():
    factor = 2.0

    def weighted(x):
        return sum(v * factor for v in x)

    f = jit(weighted)
    assert f(X.tolist()) == weighted(X.tolist())
    factor = 3.0
    assert f(X.tolist()) == weighted(X.tolist())


WEIGHTS = [1.0, 2.0, 3.0]


def test_lists_from_outside_are_followed():
    def weighted(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * WEIGHTS[i % 3]
        return s

    f = jit(weighted)
    for w in (1.0, 5.0, -1.0):
        WEIGHTS[0] = w
        assert f(X.tolist()) == weighted(X.tolist())


def test_values_among_the_arguments_or_captured_stay_values():
    w = Value(2.0)

    def weighted(x):
        return sum(v * w for v in x)

    y = jit(weighted)(X.tolist())
    y.backward()
    assert isinstance(y, Value) and w.grad == pytest.approx(sum(X.tolist()), rel=1e-12)
    values = [Value(v) for v in X.tolist()]
    z = jit(log_sum_exp)(values)
    z.backward()
    assert values[3].grad == pytest.approx(math.exp(X[3] - z.data), rel=1e-12)


class Data(NamedTuple):
    x: list
    offset: float


def test_named_tuples_and_objects_among_the_arguments():
    def shifted(data):
        return sum((v - data.offset) ** 2 for v in data.x)

    data = Data(X.tolist(), 0.5)
    assert jit(shifted)(data) == shifted(data)
    found = jit(grad(shifted))(data)
    assert type(found) is Data and found.x[7] == pytest.approx(2 * (X[7] - 0.5), rel=1e-13)


def test_ties_and_untaken_branches():
    def largest(x):
        return max(x)

    x = [1.0] * 300
    assert jit(grad(largest))(x) == grad(largest)(x)

    def guarded(x):
        s = 0.0
        for v in x:
            if v > 0.0:
                s += math.log(v)
        return s

    x = [0.0, -1.0, 2.0] * 100
    found = jit(grad(guarded))(x)
    assert found[:3] == [0.0, 0.0, 0.5] and all(map(math.isfinite, found))


def test_while_loops_by_item():
    def newton(x):
        total = 0.0
        for a in x:
            r = 1.0
            while abs(r * r - a) > 1e-12:
                r = 0.5 * (r + a / r)
            total += r
        return total

    x = (X * X + 0.5).tolist()
    assert jit(newton)(x) == newton(x)
    found = jit(grad(newton))(x)
    np.testing.assert_allclose(found, [0.5 / math.sqrt(a) for a in x], rtol=1e-6)


def test_several_threads_at_once():
    f = jit(value_and_grad(log_sum_exp))
    rows = [RANDOM.normal(size=300 + 50 * k) for k in range(8)]
    wanted = [(log_sum_exp(x.tolist()), grad(log_sum_exp)(x)) for x in rows]
    wrong = []

    def work(k):
        for _ in range(30):
            value, slopes = f(rows[k])
            if value != wanted[k][0] or not np.allclose(slopes, wanted[k][1], rtol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_functions_that_print_are_traced_as_before(capsys):
    def told(x):
        print("called")
        return sum(x)

    assert jit(told)(X.tolist()) == pytest.approx(sum(X.tolist()), rel=1e-13)
    assert "called" in capsys.readouterr().out


def test_compiled_functions_are_freed():
    import weakref

    def local(x):
        return sum(v * v for v in x)

    f = jit(local)
    f(X)
    gone = weakref.ref(local)
    del f, local
    gc.collect()
    assert gone() is None


def test_a_tape_that_gives_other_numbers_is_not_used(monkeypatch):
    from micrograd.compile.typed import call
    from micrograd.ir import passes

    def wrong(tape, *args):
        made = passes.gradient(tape, *args)
        made.yields[-1] = made.params[0]
        return made

    monkeypatch.setattr(call, "gradient", wrong)
    with pytest.raises(call.Wrong, match="the typed tape gives another result than eager code"):
        jit(grad(log_sum_exp))(X)
    monkeypatch.setattr(errors, "strict", False)  # as it is outside of the tests
    f = jit(grad(log_sum_exp))
    np.testing.assert_allclose(f(X), grad(log_sum_exp)(X), rtol=1e-12)
    assert "a typed tape" not in str(f.explain(X))


def test_a_crash_while_staging_is_raised_in_tests_and_traced_elsewhere(monkeypatch):
    from micrograd.compile.typed import call

    def crash(*args, **options):
        raise KeyError("a defect")

    monkeypatch.setattr(call, "stage", crash)
    with pytest.raises(KeyError, match="a defect"):
        jit(log_sum_exp)(X)
    monkeypatch.setattr(errors, "strict", False)
    assert jit(log_sum_exp)(X) == pytest.approx(log_sum_exp(X.tolist()), rel=1e-14)


def weighted(x, s):
    total = 0.0
    for v in x:
        total = total + v * s
    return total, s // 2


def test_the_class_of_a_number_beside_an_array_decides_which_variant_answers():
    f, x = jit(weighted), [1.0] * 300
    for s in (2, 2.5, 3, True, np.float64(1.5), np.int64(7), 4.0, 4):
        found, wanted = f(x, s), weighted(x, s)
        assert (found, type(found[1])) == (wanted, type(getattr(wanted[1], "item", lambda w=wanted: w[1])())), s


def test_lists_dicts_arrays_and_names_outside_are_watched_by_content():
    data, table, array = [0.5] * 300, {"a": 1.0, "b": 2.0}, np.full(300, 0.25)
    factor = 3.0

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] * data[i] * array[i] * table["a"] * factor
        return total

    g, x = jit(f), [1.0] * 300
    assert is_typed(g, x) and g(x) == f(x)
    for change in (
        lambda: data.__setitem__(7, 2.0),
        lambda: data.__setitem__(slice(None), [float(str(v)) for v in data]),  # equal numbers in other objects
        lambda: data.__setitem__(8, -0.0),
        lambda: table.__setitem__("a", 5.0),
        lambda: array.__setitem__(3, 9.0),
        lambda: globals().__setitem__("range", lambda n: [0, 1, 2]),
        lambda: globals().pop("range"),
    ):
        change()
        assert g(x) == f(x)
    factor = -1.0
    assert g(x) == f(x)
