"""A catalogue of what a trace cannot see. Each would silently freeze a number; each is loud, with line and way out."""

from __future__ import annotations

import array
import cmath
import concurrent.futures
import contextlib
import functools
import importlib.util
import pickle
import threading

import pytest

COMPILES = True  # read by the fixture mg


def _own_rule(x):
    out = type(x)(x._data**2, (x,), "square")
    out._backward = lambda: None
    return out


def _backward(x):
    (x * x).backward()
    return x


def _assign(x):
    x.data = 3.0
    return x


def _clear(x):
    x.grad = 0.0
    return x


NUMBERS_THAT_LEAVE = {
    "array(x)": (lambda x: array.array("d", [x])[0] * x, "float() of a Value", "Keep it a Value"),
    'f"{x:.2f}"': (lambda x: x * len(f"{x:.2f}"), "format() of a Value", "build the text outside"),
    "round(x, 30)": (lambda x: round(x, 30) * x, "round() to digits of a Value", "-22 to 22 digits"),
    "cmath.sin(x)": (lambda x: cmath.sin(x).real, "float() of a Value", "micrograd.math has the functions of math"),
    "x.data": (lambda x: x.data * x, ".data of a Value read", "Keep it a Value"),
    "x.data = 3": (_assign, ".data of a Value assigned", "Return the new number"),
    "x.grad": (lambda x: x.grad * x, ".grad of a Value read", "jit(grad(f))"),
    "x.grad = 0": (_clear, ".grad of a Value assigned", "outside of the compiled function"),
    "backward()": (_backward, "backward() called", "jit(value_and_grad(f))"),
    "x.zero_grad()": (
        lambda x: (x * x).zero_grad() or x,
        ".grad of a Value assigned",
        "outside of the compiled function",
    ),
    "pickle": (lambda x: pickle.loads(pickle.dumps(x)) * x, ".data of a Value read", "Keep it a Value"),
}


@pytest.mark.parametrize("what", NUMBERS_THAT_LEAVE)
def test_a_number_that_leaves_the_graph_is_an_error_with_line_and_way_out(mg, what):
    f, fact, way_out = NUMBERS_THAT_LEAVE[what]
    for wrap in (mg.jit, lambda g: mg.jit(mg.grad(g))):
        with pytest.raises(mg.TraceError) as caught:
            wrap(f)(2.5)
        text = str(caught.value)
        assert fact in text
        assert way_out in text
        first = f.__code__.co_firstlineno
        lines = [f"test_footguns.py:{n}" for n in range(first, first + 4)]
        assert any(line in text for line in lines), text
        assert "reused in every later call" in text


def test_inside_detect_anomaly_too(mg):
    """Which watches as well, and must not keep the trace from seeing."""
    with mg.detect_anomaly():
        for wrap in (mg.jit, lambda g: mg.jit(mg.grad(g))):
            with pytest.raises(mg.TraceError, match=r"float\(\) of a Value inside a compiled function"):
                wrap(lambda x: x * array.array("d", [x])[0])(2.0)
        with pytest.raises(mg.TraceError, match="no_grad"):
            mg.jit(mg.no_grad()(lambda x: x * 2))(2.0)


def test_a_captured_value_is_watched_too(mg, Value):
    w = Value(2.0)
    with pytest.raises(mg.TraceError, match=r"\.data of a Value read"):
        mg.jit(lambda x: x * w.data)(1.0)
    with pytest.raises(mg.TraceError, match=r"\.grad of a Value read"):
        mg.jit(lambda x: x - 0.1 * w.grad)(1.0)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_an_optimizer_inside(mg, Value, kind):
    w = Value(2.0)
    w.grad = 1.0
    optimizer = getattr(mg.optim, kind)([w], lr=0.1)
    for work, fact in (
        (optimizer.zero_grad, r"\.grad of a Value assigned"),
        (optimizer.step, r"of a Value (assigned|read)"),
    ):
        with pytest.raises(mg.TraceError, match=rf"{fact} inside a compiled function, at test_footguns.py"):
            mg.jit(lambda x, work=work: work() or w * x)(1.0)
    assert (w.data, w.grad) == (2.0, 1.0)


LOOKED_UP = {
    "set": lambda x: 1.0 if x in {1.0, 2.0} else 0.0,
    "dict": lambda x: {1.0: 5.0}.get(x, 0.0),
    "key": lambda x: {x * 2: 5.0}.get(x * 2, 0.0),
    "cache": functools.lru_cache(lambda x: x * 2),
}


@pytest.mark.parametrize("what", LOOKED_UP)
def test_a_number_is_looked_up(mg, what):
    """A set has a Value in it by its identity, so plain numbers would go another way."""
    for wrap in (mg.jit, lambda g: mg.jit(mg.value_and_grad(g))):
        with pytest.raises(mg.TraceError, match=r"(?s)hash\(\) of a Value.*not by its number.*x in \(1, 2\)"):
            wrap(LOOKED_UP[what])(1.0)
    assert mg.jit(lambda x: 1.0 if x in (1.0, 2.0) else 0.0)(1.0) == 1.0


def test_captured_values_may_be_looked_up(mg, Value):
    shift = {Value(2.0): 3.0}
    assert mg.jit(lambda x: sum(w * x + shift[w] for w in shift))(1.0).data == 5.0


@pytest.mark.parametrize("f", [lambda x: f"{x}", lambda x: (x, ["found " + str(x * 2)])])
def test_a_text_made_from_a_number(mg, f):
    with pytest.raises(mg.TraceError, match=r"(?s)returns a text with the number of a Value in it.*build the text"):
        mg.jit(f)(1.0)


def test_a_number_may_be_printed(mg, capsys):
    f = mg.jit(lambda x: print(x) or {"sign": "+" if x > 0 else "-"})
    assert [f(1.0), f(-2.0), f(3.0)] == [{"sign": "+"}, {"sign": "-"}, {"sign": "+"}]
    assert "Value(data=-2.0" in capsys.readouterr().out


LOOKS = {
    "==": lambda x: 0.0 if str(x) == "nan" else x,
    "equal to": lambda x: 0.0 if "nan" == f"{x}" else x,  # noqa: SIM300
    "in": lambda x: 2.0 * x if "1" in repr(x) else x,
    "one of": lambda x: 0.0 if str(x) in ("inf", "-inf") else x,
    "key": lambda x: {"1.5": 2.0}.get(str(x), 1.0) * x,
    "length": lambda x: len(str(x)) * x,
    "part": lambda x: 0.0 if str(x)[0] == "-" else x,
    "split": lambda x: len(str(x).split(".")) * x,
    "starts with": lambda x: 0.0 if str(x).startswith("-") else x,
    "order": lambda x: x if str(x) < "9" else 0.0,
}


@pytest.mark.parametrize("what", LOOKS)
def test_the_text_of_a_number_decides(mg, what):
    """It has the number of the traced run in it, and the choice would hold for that number alone."""
    f = LOOKS[what]

    def guarded(x):
        try:
            return f(x)
        except Exception:  # which must not catch the refusal
            return -1.0

    for g in (f, guarded):
        for wrap in (mg.jit, lambda g: mg.jit(mg.grad(g)), lambda g: mg.jit(lambda x: mg.grad(g)(x))):
            with pytest.raises(
                mg.TraceError, match=r"(?s)the text of a Value read.*at test_footguns.py:\d+.*math.isnan\(x\)"
            ):
                wrap(g)(1.5)


def test_a_text_is_like_any_other_after_the_trace(mg, capsys):
    kept = []

    def f(x):
        kept.append(str(x))
        print("x is", x, f"and {x}", [x], "; ".join([str(x), str(x)]).upper())
        return x * 2.0

    with contextlib.suppress(mg.TraceError):  # an outer list is changed
        mg.jit(f)(1.5)
    assert kept[0] == "Value(data=1.5, grad=0.0)" and "1.5" in kept[0]
    assert "x is Value(data=1.5, grad=0.0) and Value" in capsys.readouterr().out


def _append(xs):
    xs.append(1.0)
    return sum(xs)


def _sort(xs):
    xs.sort()
    return xs[0]


def _item(xs):
    xs[0] = xs[0] * 2
    return xs[0]


@pytest.mark.parametrize(
    ("f", "args"),
    [(_append, ([3.0, 2.0],)), (_sort, ([3.0, 2.0],)), (_item, ([3.0],)), (_item, ({0: 3.0},)), (_item, ("array",))],
)
def test_an_argument_that_is_changed(mg, f, args):
    if args == ("array",):
        args = (pytest.importorskip("numpy").ones(2),)
    kind = type(args[0]).__name__
    for g, given in ((f, args), (lambda pair: f(pair[0]), ((*args, 1.0),))):
        with pytest.raises(mg.TraceError, match=rf"(?s)changes a {kind} that it gets as an argument.*Change a copy"):
            mg.jit(g)(*given)
    assert mg.jit(lambda xs: _append(list(xs)))([3.0, 2.0]) == 6.0


def test_another_thread_makes_a_part(mg):
    """Its nodes are not of the trace: values would be frozen, gradients zero."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for f in (
            lambda x: sum(pool.map(lambda k: x * k, [1.0, 2.0])),
            lambda x: pool.submit(lambda: x * x + 1.0).result(),
            lambda x: pool.submit(mg.grad(lambda y: y * y), x).result() * x,
        ):
            for g in (mg.jit(f), mg.grad(f), mg.jit(mg.grad(f))):
                with pytest.raises(mg.TraceError, match=r"(?s)that another thread has made.*in the same thread"):
                    g(2.0)
            assert f(mg.Value(2.0)).data > 0.0  # eager code may do so


def test_another_thread_makes_values_of_its_own(mg, Value):
    w = Value(3.0)
    made = []

    def f(x):
        other = threading.Thread(target=lambda: made.append(w * 2.0))
        other.start()
        other.join()
        return x * x

    assert mg.grad(f)(3.0) == 6.0
    assert mg.grad(lambda x: x * made[0])(1.0).data == 6.0


def test_no_grad_inside(mg):
    def f(x):
        with mg.no_grad():
            s = x * 2
        return s * x

    with pytest.raises(mg.TraceError, match=r"no_grad.. entered inside a compiled function, at test_footguns.py"):
        mg.jit(f)(1.0)


def test_numpy_takes_numbers_out(mg):
    np = pytest.importorskip("numpy")
    for f in (
        lambda x: np.float64(x) * x,
        lambda x: np.array([x], dtype=np.float32)[0] * x,
        lambda x: np.bincount([0], weights=[x])[0] * x,
    ):
        with pytest.raises(mg.TraceError, match=r"float\(\) of a Value inside a compiled function, at test_footguns"):
            mg.jit(f)(1.0)


class TestWholeNumbers:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: [1.0, 2.0, 3.0][x] * x,
            lambda x: "abc"[x],
            lambda x: x * len([0] * x),
            lambda x: x * len(x * (0, 1)),
            lambda x: "ab" * x,
            lambda x: [1.0, 2.0, 3.0][:x],
        ],
    )
    def test_a_value_where_a_whole_number_is_wanted(self, mg, f):
        with pytest.raises(mg.TraceError) as caught:
            mg.jit(f)(2)
        assert "static_argnums" in str(caught.value)
        assert f"test_footguns.py:{f.__code__.co_firstlineno}" in str(caught.value)
        assert mg.jit(f, static_argnums=0)(2) == f(2)

    def test_a_loop_of_so_many_iterations(self, mg):
        """A typed tape has whole numbers; without one, there is the error above."""
        f = mg.jit(lambda x: sum(x for _ in range(x)))
        try:
            assert [f(2), f(5)] == [4, 25]
        except mg.TraceError as error:
            assert "static_argnums" in str(error) and not mg.engine.NATIVE

    def test_the_way_out(self, mg):
        f = mg.jit(lambda x, n: sum(x for _ in range(n)), static_argnums=1, wait=True)
        assert [f(2.0, 3), f(2.0, 5), f(1.5, 3)] == [6.0, 10.0, 4.5]


def test_a_hand_written_backward(mg):
    with pytest.raises(mg.TraceError, match=r"(?s)a hand-written _backward \(square\).*@primitive"):
        mg.jit(_own_rule)(1.0)


def test_more_paths_than_are_kept(mg, monkeypatch, traced_at_points):
    """The least recently used one is dropped, a warning says so once, and every call is still right."""
    monkeypatch.setattr(importlib.import_module("micrograd.compile.tuning").TUNING, "max_variants", 3)
    monkeypatch.setattr(importlib.import_module("micrograd.stage.attempt"), "merged", lambda *_, **__: None)
    monkeypatch.setattr(importlib.import_module("micrograd.stage.ahead"), "rolled", lambda *_, **__: None)

    def f(x):
        n = 0
        while x > n:
            n += 1
        return x * n

    g = mg.jit(f)
    for x in (0.5, 1.5, 2.5):
        assert g(x) == f(x)
    with pytest.warns(RuntimeWarning, match=r"(?s)more than 3 different paths.*micrograd.math.where") as told:
        assert g(3.5) == f(3.5)
    assert told[0].filename == __file__
    for x in (1.5, 0.5, 3.5, 4.5, 9.5, 2.5):
        assert g(x) == f(x)
    assert len(list(g.variants)) == 3


def test_a_number_from_outside_is_followed(mg):
    """As documented: a number that changes outside is seen in the next call, which traces again; a Value needs no trace."""
    scale = {"number": 2.0, "value": mg.Value(2.0)}
    by_number = mg.jit(lambda x: x * scale["number"], wait=True)
    by_value = mg.jit(lambda x: x * scale["value"], wait=True)
    assert (by_number(1.0), by_value(1.0).data) == (2.0, 2.0)
    variants = by_value.variants
    scale["value"].data = 3.0
    assert by_value(1.0).data == 3.0 and by_value.variants is variants
    scale["number"] = 3.0
    assert by_number(1.0) == 3.0
