"""What a function does to the world outside: a run that is replayed would do it once. Each is loud, with a way out."""

from __future__ import annotations

import array
import collections
import functools
import itertools
import random
import threading
import time

import pytest

COMPILES = True  # read by the fixture mg


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
        generator = random.Random(0)
        hidden = (generator.random() for _ in itertools.count())
        with pytest.raises(mg.TraceError, match=r"run again on the same numbers: `%[0-9]+ = const"):
            mg.jit(lambda x: x * next(hidden))(1.0)

    def test_a_generator_in_what_is_read(self, mg):
        hidden = ((random.Random(0),),)
        with pytest.raises(mg.TraceError, match="a random number was drawn inside a compiled function"):
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
                        (item, r"kept\[0\]"), (model, "last` of a `?Model"), (array_item, r"objects.flat\[0\]"),
                        (of_another, "other.last"),
                        (of_a_class, "Model.seen"), (of_a_function, "item.calls"), (default, r"kept\[0\]"),
                        (named_default, r"kept\['x'\]")]:  # fmt: skip
            with pytest.raises(mg.TraceError, match=rf"(?s)`{name}`? is assigned inside.*store it outside"):
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

    @pytest.mark.parametrize("kind", ["class", "list", "deque", "generator", "map", "closure"])
    def test_an_object_made_from_the_numbers_of_the_first_call(self, mg, kind):
        class Point:
            def __init__(self, x):
                self.x = x

        class Own(list):
            pass

        make = {"class": Point, "list": lambda x: Own([x]), "closure": lambda x: lambda: x,
                "deque": lambda x: collections.deque([x]),
                "generator": lambda x: (x for _ in "a"), "map": lambda x: map(abs, [x])}[kind]  # fmt: skip
        for f in (lambda x: make(x * 2), lambda x: (x, {"inside": make(x)})):
            with pytest.raises(
                mg.TraceError, match=r"(?s)returns a \w+, so it cannot be compiled.*build the object outside"
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
            mg.vmap(lambda x: x * array.array("d", [x])[0])(np.ones(3))
        with pytest.raises(mg.TraceError, match="a random number was drawn"):
            mg.vmap(lambda x: x * random.random())(np.ones(3))

    def test_a_text_with_all_digits_is_no_way_out_of_a_derivative(self, mg):
        for spec in (".15f", ".17g", "+.18e"):
            with pytest.raises(mg.TraceError, match=r"all digits of a Value.*test_outside\.py"):
                mg.grad(lambda x, spec=spec: x * len(format(x, spec)))(0.3)
            assert format(mg.Value(0.3), spec) == format(0.3, spec)
        assert mg.grad(lambda x: x * len(f"{x:.6f}"))(0.3) == 8.0  # to print it
