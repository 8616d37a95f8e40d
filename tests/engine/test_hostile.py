"""Operands that change, clear or re-enter what they are part of while the engine reads them: an error or the right result.

`make sanitize` runs this file too: there a read or write out of bounds ends the process.
"""

from __future__ import annotations

import copy
import gc
import numbers
import pickle
import threading

import pytest

from twins import NATIVE


@numbers.Real.register
class Hostile:
    """A real number whose conversion runs a function."""

    def __init__(self, number, act):
        self.number, self.act = number, act

    def __float__(self):
        self.act()
        return self.number


class Raising:
    """Refuses everything that it is asked."""

    def __bool__(self):
        raise ZeroDivisionError("no truth")

    def __repr__(self):
        raise ZeroDivisionError("no text")

    def __iter__(self):
        raise ZeroDivisionError("no items")

    def __hash__(self):
        raise ZeroDivisionError("no hash")


LISTS = ("sum", "mean", "prod", "logsumexp")


class TestListsThatChangeWhileTheyAreRead:
    @pytest.mark.parametrize("name", LISTS)
    def test_one_that_is_cleared(self, Value, mgmath, name):
        xs = [Value(0.5) for _ in range(200)]
        expected = getattr(mgmath, name)([*xs, 0.25, *xs]).data
        items = [*xs, Hostile(0.25, lambda: (items.clear(), gc.collect())), *xs]
        assert getattr(mgmath, name)(items).data == expected and items == []

    @pytest.mark.parametrize("name", LISTS)
    def test_one_that_grows(self, Value, mgmath, name):
        xs = [Value(0.5), Value(0.25)]
        expected = getattr(mgmath, name)([*xs, 2.0]).data
        items = [*xs, Hostile(2.0, lambda: items.extend(Value(9.0) for _ in range(5_000)))]
        assert getattr(mgmath, name)(items).data == expected

    def test_both_lists_of_a_dot(self, Value, mgmath):
        def clear():
            xs.clear()
            ys.clear()
            gc.collect()

        xs = [Value(1.0), Hostile(2.0, clear), Value(3.0)]
        ys = [Value(1.0), Value(10.0), Hostile(100.0, clear)]
        assert mgmath.dot(xs, ys).data == 321.0

    def test_numbers_read_late_are_those_at_the_end(self, Value, mgmath):
        x = Value(1.0)
        y = mgmath.sum([x, Hostile(0.0, lambda: setattr(x, "data", 7.0))])
        assert y.data == 7.0
        y = mgmath.prod([x, Hostile(3.0, lambda: setattr(x, "data", 2.0))])
        y.backward()
        assert (y.data, x.grad) == (6.0, 3.0)

    def test_an_operator_too(self, Value):
        x = Value(1.0)
        assert (x * Hostile(3.0, lambda: setattr(x, "data", 2.0))).data == 6.0
        assert (Hostile(3.0, lambda: setattr(x, "data", 5.0)) - x).data == -2.0

    def test_one_that_calls_the_same_op_again(self, Value, mgmath):
        x, inner = Value(2.0), []
        items = [x, Hostile(1.0, lambda: inner.append(mgmath.sum([x, x, 1.0])) or items.clear())]
        assert mgmath.sum(items).data == 3.0 and inner[0].data == 5.0

    def test_one_that_is_iterated_and_raises(self, Value, mgmath):
        for name in LISTS:
            with pytest.raises(ZeroDivisionError):
                getattr(mgmath, name)(Raising())
        with pytest.raises(TypeError):
            mgmath.sum(3.0)

    def test_children_that_change(self, Value):
        class Children:
            def __init__(self, items):
                self.items = items

            def __iter__(self):
                for x in self.items:
                    yield x
                    gc.collect()

        a, b = Value(1.0), Value(2.0)
        assert Value(3.0, Children([a, b]), "mine")._prev == (a, b)

    def test_what_node_is_given(self, engine, twin, Value):
        x, y = Value(1.0), Value(2.0)
        inputs, slopes = [x, y], []
        slopes += [Hostile(1.0, lambda: (inputs.clear(), slopes.clear(), gc.collect())), 5.0]
        out = engine.node(4.0, twin.ops.OPS["mul"], inputs, slopes)
        assert out._prev == (x, y)
        out.backward()
        assert (x.grad, y.grad) == (1.0, 5.0)


class TestWrongCalls:
    @pytest.mark.parametrize("name", [*LISTS, "dot"])
    @pytest.mark.parametrize("count", [0, 2, 3, 4])
    def test_a_list_op_takes_one_list(self, engine, twin, Value, name, count):
        v = Value(1.0)
        if name == "dot" and count == 2:
            return
        with pytest.raises(TypeError):
            engine.apply(twin.ops.OPS[name], *[[v]] * count)
        if count:
            with pytest.raises(TypeError):
                v._apply(twin.ops.OPS[name], tuple([[v]] * count))

    def test_the_fixed_ones_take_their_inputs(self, engine, twin, Value):
        v = Value(1.0)
        for op in twin.ops.OPS.values():
            if op.arity > 0:
                for count in {0, op.arity + 1, op.arity + 3}:
                    with pytest.raises(TypeError):
                        engine.apply(op, *[v] * count)

    def test_an_op_that_is_none(self, engine, Value):
        for wrong in ("add", None, 3, Raising()):
            with pytest.raises((TypeError, AttributeError, ZeroDivisionError)):
                engine.apply(wrong, Value(1.0), Value(2.0))

    @pytest.mark.skipif(not NATIVE, reason="the C twin is not built")
    def test_the_functions_of_the_c_twin_check_what_they_get(self):
        from micrograd import _engine
        from micrograd.ops import OPS
        from micrograd.tape.tape import SOURCES

        v = _engine.Value(1.0)
        for call in (
            lambda: _engine.linearize([v], [3.0], 1, SOURCES),
            lambda: _engine.linearize([Raising()], [v], 1, SOURCES),
            lambda: _engine.pull([v], [3.0], 1, None),
            lambda: _engine.pull([v], [v], 0, None),
            lambda: _engine.pull([v], [v * v], 1, None),
            lambda: _engine.push([v], [v], 1, None, [1.0, 2.0]),
            lambda: _engine.push([v], [v], 1, None, [Raising()]),
            lambda: _engine.pull([v], [v], 1, None, [1.0, 2.0]),
            lambda: _engine.pull([v], [v], 1, None, [Raising()]),
            lambda: _engine.interpret((OPS["add"],), ((0, 1),), [], [], SOURCES, len),
            lambda: _engine.interpret((OPS["add"],), (("a", 1),), [], [], SOURCES, len),
            lambda: _engine.interpret((OPS["add"],), (3,), [], [], SOURCES, len),
            lambda: _engine.interpret((OPS["add"],), (), [], [], SOURCES, len),
            lambda: _engine.interpret((SOURCES[0],), ((),), [], [], SOURCES, len),
            lambda: _engine.interpret((SOURCES[2], OPS["exp"]), ((1.0,), (0, 0)), [], [], SOURCES, len),
            lambda: _engine.interpret((SOURCES[2], OPS["exp"]), ((1.0,), (-1,)), [], [], SOURCES, len),
            lambda: _engine.interpret((SOURCES[2], SOURCES[2]), ((1.0,), (1.0,)), [], [], (1, 2), len),
            lambda: _engine.interpret((3,), ((),), [], [], SOURCES, lambda: None),
            lambda: _engine.zero_grads([v, 3.0]),
            lambda: _engine.zero_grads([3.0]),
            lambda: _engine.captured((v,)),
            lambda: _engine.node(1.0, None, [v], [1.0, 2.0]),
            lambda: _engine.set_trace(-1),
            lambda: _engine.set_watch(1),
            lambda: _engine.point(1),
            lambda: _engine.batch(1),
            lambda: _engine.lay_flat(1),
        ):
            with pytest.raises((TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError)):
                call()


class TestLabels:
    def test_one_whose_truth_raises(self, Value):
        with pytest.raises(ZeroDivisionError, match="no truth"):
            Value(1.0, label=Raising())

    def test_one_that_is_set_later_and_shown(self, Value):
        v = Value(1.0)
        v.label = Raising()
        with pytest.raises(ZeroDivisionError):
            repr(v)

    def test_a_number_without_a_text(self, Value):
        for use in (Value, lambda x: Value(1.0) + [x], lambda x: Value(1.0, (x,))):
            with pytest.raises((ZeroDivisionError, TypeError)):
                use(Raising())


class TestTheCollectorBesideIt:
    def test_nodes_that_wait_to_be_freed_are_not_seen(self, Value, small_heap):
        """What dies with a graph looks for all objects: none of them may be a node that is about to be freed."""
        seen = []

        class Last:
            def __del__(self):
                seen.extend(v for v in gc.get_objects() if type(v) is Value)

        for _ in range(20):
            x = Value(1.0)
            x.keep = Last()
            y = x
            for _ in range(50):
                y = y * 2 + x
                y.token = [y]
            for _ in range(3):
                y = y * 1.5
            del x, y
            gc.collect()
            for v in seen:
                v.data, v.grad, v._prev, repr(v)
            seen.clear()

    def test_a_thread_that_looks_at_all_objects(self, twins):
        # The C engine alone: beside gc.get_objects() CPython's own tuple(generator) fails, which the Python engine calls.
        Value, mgmath = twins[0].Value, twins[0].math
        stop, errors = threading.Event(), []

        def look():
            try:
                while not stop.is_set():
                    for v in gc.get_objects():
                        if type(v) is Value:
                            assert len(getattr(v, "_prev", ())) < 100  # one that is just being made has none yet
                    v = None
            except Exception as error:  # pragma: no cover
                errors.append(error)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for _ in range(30):
                x = Value(0.5)
                x.me = [x]
                y = x
                for _ in range(60):
                    y = mgmath.sum([y * 0.5, x, 1.0]).tanh()
                    y.note = object()
                y.backward()
                assert x.grad > 0
        finally:
            stop.set()
            thread.join()
        assert not errors


class TestCyclesByHand:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_an_attribute_that_refers_to_a_later_node(self, Value, duplicate):
        a = Value(2.0)
        b = a * 3
        a.ref = b
        new = duplicate(b)
        assert new is not b and new._prev[0].ref is new and new._prev[0] is not a
        new.backward()
        assert (new._prev[0].grad, a.grad) == (3.0, 0.0)
        new = duplicate(a)
        assert new.ref._prev[0] is new and new.ref.data == 6.0

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_attributes_of_nodes_between(self, Value, duplicate):
        a = Value(2.0)
        b = a * 3
        c = b + 1
        b.later, c.self = c, c
        new = duplicate(c)
        assert new.self is new and new._prev[0].later is new and new._prev[0]._prev[0].data == 2.0
