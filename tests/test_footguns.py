"""A catalogue of what a trace cannot see. Each would silently freeze a number; each is loud, with line and way out."""

from __future__ import annotations

import collections
import concurrent.futures
import copy
import dataclasses
import functools
import importlib.util
import itertools
import math
import pickle
import random
import threading
import time

import pytest


@pytest.fixture
def mg(twin):
    """The package with one engine, then with the other."""
    if twin.name == "C" and importlib.util.find_spec("llvmlite") is None:
        pytest.skip("machine code needs llvmlite")
    return twin.package


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
    "float(x)": (lambda x: float(x) * x, "float() of a Value", "Keep it a Value"),
    "int(x)": (lambda x: int(x) * x, "int() of a Value", "Keep it a Value"),
    "round(x)": (lambda x: round(x) * x, "round() of a Value", "floor, round and where"),
    "round(x, 2)": (lambda x: round(x, 2) * x, "round() of a Value", "floor, round and where"),
    "math.floor(x)": (lambda x: math.floor(x) * x, "math.floor() of a Value", "micrograd.math has floor"),
    "math.ceil(x)": (lambda x: math.ceil(x) * x, "math.ceil() of a Value", "Keep it a Value"),
    "math.trunc(x)": (lambda x: math.trunc(x) * x, "math.trunc() of a Value", "Keep it a Value"),
    "math.sin(x)": (lambda x: math.sin(x), "float() of a Value", "micrograd.math"),
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
    "detach()": (lambda x: x.detach() * x, "detach() of a Value", "pass it in as an argument"),
    "copy.copy(x)": (lambda x: copy.copy(x) * x, ".data of a Value read", "Keep it a Value"),
    "copy.deepcopy(x)": (lambda x: copy.deepcopy(x) * x, ".data of a Value read", "Keep it a Value"),
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
        assert "used for every later call" in text


def test_inside_detect_anomaly_too(mg):
    """Which watches as well, and must not keep the trace from seeing."""
    with mg.detect_anomaly():
        for wrap in (mg.jit, lambda g: mg.jit(mg.grad(g))):
            with pytest.raises(mg.TraceError, match=r"float\(\) of a Value inside a compiled function"):
                wrap(lambda x: x * float(x))(2.0)
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
    with pytest.raises(mg.TraceError, match=r"(?s)returns a text with the number of a Value in it.*make the text"):
        mg.jit(f)(1.0)


def test_a_number_may_be_printed(mg, capsys):
    f = mg.jit(lambda x: print(x) or {"sign": "+" if x > 0 else "-"})
    assert [f(1.0), f(-2.0), f(3.0)] == [{"sign": "+"}, {"sign": "-"}, {"sign": "+"}]
    assert "Value(data=-2.0" in capsys.readouterr().out


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
        lambda x: np.array([x], dtype=float)[0] * x,
        lambda x: np.full(2, x, float)[0] * x,
    ):
        with pytest.raises(mg.TraceError, match=r"float\(\) of a Value inside a compiled function, at test_footguns"):
            mg.jit(f)(1.0)


class TestRandom:
    def test_the_global_generator(self, mg):
        for draw in (random.random, lambda: random.gauss(0, 1), lambda: random.choice([1, 2, 3])):
            with pytest.raises(mg.TraceError, match=r"(?s)a random number was drawn.*pass it in as an argument"):
                mg.jit(lambda x, draw=draw: x * draw())(1.0)

    def test_the_global_generator_of_numpy(self, mg):
        np = pytest.importorskip("numpy")
        with pytest.raises(mg.TraceError, match="a random number was drawn"):
            mg.jit(lambda x: x * np.random.rand())(1.0)

    @pytest.mark.parametrize("seed", range(4))  # half of them draw the same side of the coin twice
    @pytest.mark.parametrize("kind", ["random", "numpy", "numpy of old", "attribute", "default"])
    def test_a_generator_of_ones_own(self, mg, kind, seed):
        np = pytest.importorskip("numpy")
        own = {"numpy": np.random.default_rng, "numpy of old": np.random.RandomState}.get(kind, random.Random)(seed)

        class Noisy:
            def __init__(self):
                self.own = own

            def __call__(self, x):
                return x if self.own.random() < 0.5 else 2 * x

        f = {"attribute": Noisy(), "default": lambda x, own=own: x if own.random() < 0.5 else 2 * x}.get(
            kind, lambda x: x if own.random() < 0.5 else 2 * x
        )
        with pytest.raises(mg.TraceError, match="a random number was drawn"):
            mg.jit(f)(1.0)

    def test_a_generator_that_is_out_of_reach(self, mg):
        hidden = ((random.Random(0),),)
        with pytest.raises(mg.TraceError, match=r"run again on the same numbers: `%[0-9]+ = const"):
            mg.jit(lambda x: x * hidden[0][0].random())(1.0)

    def test_another_thread_may_draw(self, mg):
        """While one thread traces; here it draws in every second run of the function."""
        runs = itertools.count()

        def f(x):
            if next(runs) % 2:
                other = threading.Thread(target=random.random)
                other.start()
                other.join()
            return x * 2

        assert mg.jit(f)(3.0) == 6.0

    def test_grad_without_jit_may_draw(self, mg):
        random.seed(3)
        want = random.random()
        random.seed(3)
        assert mg.grad(lambda x: x * random.random())(1.0) == want


class TestWhatChanges:
    def test_time(self, mg):
        with pytest.raises(
            mg.TraceError, match=r"(?s)run again on the same numbers.*the time.*Pass that in as an argument"
        ):
            mg.jit(lambda x: x * time.perf_counter_ns())(1.0)

    def test_a_counter(self, mg):
        count = itertools.count()
        with pytest.raises(mg.TraceError, match="run again on the same numbers"):
            mg.jit(lambda x: x * next(count))(1.0)

    def test_a_cache_of_values(self, mg):
        kept = {}

        class Model:
            def __call__(self, x):
                if "square" not in kept:
                    kept["square"] = x * x
                return kept["square"] + x

        with pytest.raises(mg.TraceError, match="run again on the same numbers"):
            mg.jit(Model())(1.0)

    def test_a_branch_on_something_else(self, mg):
        flip = itertools.cycle([True, False])
        with pytest.raises(mg.TraceError, match="run again on the same numbers"):
            mg.jit(lambda x: x * 2 if next(flip) else x)(1.0)

    def test_an_arrangement_that_changes(self, mg):
        flip = itertools.cycle([True, False])
        with pytest.raises(mg.TraceError, match="a result arranged as"):
            mg.jit(lambda x: (x,) if next(flip) else [x])(1.0)

    def test_a_list_that_grows(self, mg):
        losses = []

        def f(x):
            y = x * x
            losses.append(y)
            return y

        with pytest.raises(mg.TraceError, match=r"(?s)the list `losses` changed its length.*Return what is to be kept"):
            mg.jit(f)(1.0)

    def test_a_dict_of_the_instance_that_grows(self, mg):
        class Model:
            def __init__(self):
                self.seen = {}

            def f(self, x):
                self.seen[len(self.seen)] = 1
                return x * x

        with pytest.raises(mg.TraceError, match=r"the dict `self.seen` changed its length"):
            mg.jit(Model().f)(1.0)

    def test_what_is_assigned_outside(self, mg):
        class Model:
            seen = 0

            def attribute(self, x):
                self.last = x * 2
                return x * 3

            def counter(self, x):
                self.seen += 1
                return x * 3

            def __call__(self, x):
                self.last = x
                return x * 3

        total, kept, other = 0.0, [0.0], Model()
        objects = pytest.importorskip("numpy").empty(1, object)

        def nonlocal_number(x):
            nonlocal total
            total = total + x
            return x * 2

        def item(x):
            kept[0] = x
            return x * 2

        def array_item(x):
            objects[0] = x
            return x * 2

        def of_another(x):
            other.last = x
            return x * 2

        def of_a_class(x):
            Model.seen += 1
            return x * 2

        def of_a_function(x):
            item.calls = getattr(item, "calls", 0) + 1
            return x * 2

        def default(x, kept=[0.0]):  # noqa: B006
            kept[0] = x
            return x * 2

        def named_default(x, *, kept={"x": 0.0}):  # noqa: B006
            kept["x"] = x
            return x * 2

        model = Model()
        for f, name in [(model.attribute, "self.last"), (model.counter, "self.seen"), (nonlocal_number, "total"),
                        (item, r"kept\[0\]"), (model, "self.last"), (array_item, r"objects.flat\[0\]"),
                        (of_another, "other.last"),
                        (of_a_class, "Model.seen"), (of_a_function, "item.calls"), (default, r"kept\[0\]"),
                        (named_default, r"kept\['x'\]")]:  # fmt: skip
            with pytest.raises(mg.TraceError, match=rf"(?s)`{name}` is assigned inside.*store it outside"):
                mg.jit(f)(1.0)

    @pytest.mark.parametrize("how", ["function", "method", "lambda", "comprehension", "decorator", "partial", "bound"])
    def test_what_a_function_further_inside_stores(self, mg, how):
        kept = []

        def note(y):
            kept.append(y)
            return y

        class Notes:
            def note(self, y):
                return note(y)

        def noting(f):
            @functools.wraps(f)
            def wrapper(x):
                kept.append(x)
                return f(x)

            return wrapper

        later = Notes().note
        f = {
            "function": lambda x: note(x * 2),
            "method": lambda x: later(x * 2),
            "lambda": lambda x: (lambda y: kept.append(y) or y)(x * 2),
            "comprehension": lambda x: sum([kept.append(y) or y for y in (x, x)]),
            "decorator": noting(lambda x: x * 2),
            "partial": functools.partial(lambda to, x: to.append(x) or x, kept),
            "bound": functools.partial(lambda x, to: to.append(x) or x, to=kept),
        }[how]
        for g in (f, lambda x: f(x) * 2, mg.grad(f)):
            with pytest.raises(mg.TraceError, match=r"the list `.*` changed its length inside a compiled function"):
                mg.jit(g)(1.0)

    def test_what_is_made_in_the_first_run_alone_may_be(self, mg):
        class Lazy:
            weight = None

            def __call__(self, x):
                if self.weight is None:
                    self.weight = mg.Value(2.0)
                return self.weight * x

        model = Lazy()
        f = mg.jit(model)
        assert f(3.0).data == 6.0
        model.weight.data = 5.0
        assert f(3.0).data == 15.0

    @pytest.mark.parametrize("kind", ["dataclass", "list", "deque", "generator", "map", "closure"])
    def test_an_object_made_from_the_numbers_of_the_first_call(self, mg, kind):
        @dataclasses.dataclass
        class Point:
            x: object

        class Own(list):
            pass

        make = {"dataclass": Point, "list": lambda x: Own([x]), "closure": lambda x: lambda: x,
                "deque": lambda x: collections.deque([x]),
                "generator": lambda x: (x for _ in "a"), "map": lambda x: map(abs, [x])}[kind]  # fmt: skip
        for f in (lambda x: make(x * 2), lambda x: (x, {"inside": make(x)})):
            with pytest.raises(
                mg.TraceError, match=r"(?s)returns a \w+, and is to be compiled.*make the object from them"
            ):
                mg.jit(f)(1.0)

    def test_rows_are_looked_at_in_the_same_way(self, mg):
        np = pytest.importorskip("numpy")
        if not mg.engine.NATIVE:
            pytest.skip("rows are run one by one beside the Python twin: nothing is frozen")
        count = itertools.count()
        with pytest.raises(mg.TraceError, match="run again on the same numbers"):
            mg.vmap(lambda x: x * next(count))(np.ones(3))
        with pytest.raises(mg.TraceError, match=r"float.. of a Value"):
            mg.vmap(lambda x: x * float(x))(np.ones(3))
        with pytest.raises(mg.TraceError, match="a random number was drawn"):
            mg.vmap(lambda x: x * random.random())(np.ones(3))


class TestWholeNumbers:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: sum(x for _ in range(x)),
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

    def test_the_way_out(self, mg):
        f = mg.jit(lambda x, n: sum(x for _ in range(n)), static_argnums=1, wait=True)
        assert [f(2.0, 3), f(2.0, 5), f(1.5, 3)] == [6.0, 10.0, 4.5]


def test_a_hand_written_backward(mg):
    with pytest.raises(mg.TraceError, match=r"(?s)a hand-written _backward \(square\).*@primitive"):
        mg.jit(_own_rule)(1.0)


def test_too_many_ways(mg, monkeypatch):
    monkeypatch.setattr(importlib.import_module("micrograd.compile.jit"), "MAX_PATHS", 3)

    def f(x):
        n = 0
        while x > n:
            n += 1
        return x * n

    g = mg.jit(f)
    for x in (0.5, 1.5, 2.5):
        assert g(x) == f(x)
    with pytest.raises(mg.TraceError, match=r"(?s)taken 3 different ways.*micrograd.math.where"):
        g(3.5)
    assert g(1.5) == f(1.5)


def test_a_global_number_is_a_constant(mg):
    """As documented: a number that the function does not get as an argument is taken as it is in the first call.

    The way out is to make it a Value, which is captured by reference, or an argument.
    """
    scale = {"number": 2.0, "value": mg.Value(2.0)}
    by_number = mg.jit(lambda x: x * scale["number"], wait=True)
    by_value = mg.jit(lambda x: x * scale["value"], wait=True)
    assert (by_number(1.0), by_value(1.0).data) == (2.0, 2.0)
    scale["number"] = 3.0
    scale["value"].data = 3.0
    assert (by_number(1.0), by_value(1.0).data) == (2.0, 3.0)
