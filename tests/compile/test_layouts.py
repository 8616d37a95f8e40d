"""Arguments of every kind go straight to machine code, and those that lie otherwise are answered rightly, too."""

from __future__ import annotations

import collections
import dataclasses
import gc
import types

import numpy as np
import pytest

from micrograd import Value, engine, grad, jit
from micrograd.compile.jit import Jit
from micrograd.compile.signature import layout_of
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.skipif(not engine.NATIVE, reason="the C engine calls machine code")]

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")


@dataclasses.dataclass
class Point:
    a: float
    b: float
    n: int = 3
    how: str = "sum"

    def of(self):
        return self.a * self.n


class Closer(Point):
    def of(self):
        return self.b * self.n


@dataclasses.dataclass(slots=True)
class Slotted:
    a: float
    b: float
    n: int = 3

    def of(self):
        return self.a * self.n


OtherSlots = dataclasses.make_dataclass(
    "OtherSlots",
    [field.name if field.name != "n" else ("n", int, 3) for field in dataclasses.fields(Slotted)],
    namespace={"of": lambda self: self.b * self.n},
    slots=True,
)


class Holder:
    def __init__(self, a, b=None):
        self.a, self.rest = a, b

    def of(self, x):
        return self.a * x + self.rest[0]

    def __call__(self, x):
        return self.of(x)


def two(a, b):
    return a * 3.0 - b * b


def point(p):
    return (p.a + p.b) * p.n if p.how == "sum" else p.a * p.b


def less(p):
    return p.a * 2.0 - p.b


def nested(p):
    return p["a"] * p["b"][0] + p["b"][1][1]


def whole(p):
    return sum(x * x for x in p)


def text(x, how):
    return x if how == "plain" else -x


# What is compiled, the arguments that it is compiled for, and others: positional, and by name.
KINDS = {
    "by name": (two, ([2.0], {"b": 3.0}), [([], {"a": 1.0, "b": 3.0}), ([], {"b": 1.0, "a": 3.0}), ([1.0, 2.0], {})]),
    "all by name": (two, ([], {"a": 2.0, "b": 3.0}), [([], {"b": 2.0, "a": 5.0}), ([1.0], {"b": 2.0})]),
    "a list": (whole, ([[1.0, 2.0]], {}), [([[1.0]], {}), ([[1.0, 2.0, 3.0]], {}), ([(1.0, 2.0)], {}), ([[1.0, 2]], {}),
                                           ([[1.0, True]], {}), ([[]], {}), ([[Value(1.0), 2.0]], {}), ([[2**60, 2.0]], {})]),
    "a long list": (whole, ([[0.5] * 100], {}), [([[0.5] * 99], {}), ([[0.5] * 99 + [1]], {})]),
    "many numbers": (lambda *xs: whole(xs), ([0.5] * 80, {}), [([0.5] * 79, {}), ([0.5] * 79 + [2], {})]),
    "a tuple": (whole, ([(1.0, 2.0)], {}), [([[1.0, 2.0]], {}), ([Pair(1.0, 2.0)], {})]),
    "lists in lists": (lambda p: p[0][1] * p[1][0], ([[[1.0, 2.0], (3.0,)]], {}), [([[[1.0, 2.0, 4.0], (3.0,)]], {}),
                                                                                  ([[[1.0, 2.0], [3.0]]], {})]),
    "a dict": (nested, ([{"a": 2.0, "b": [1.0, (2.0, 3.0)]}], {}), [
        ([{"b": [1.0, (2.0, 3.0)], "a": 2.0}], {}), ([{"a": 2.0, "b": [1.0, (2.0, 3.0)], "c": 1.0}], {}),
        ([collections.OrderedDict(a=2.0, b=[1.0, (2.0, 3.0)])], {}), ([{"".join("a"): 4.0, "b": [1.0, (2.0, 3.0)]}], {})]),
    "a dict by numbers": (lambda p: p[1] * p[1000], ([{1: 2.0, 1000: 3.0}], {}), [([{1: 2.0, int("1000"): 5.0}], {})]),
    "a named tuple": (less, ([Pair(1.0, 2.0)], {}), [([Other(3.0, 2.0)], {}), ([Point(3.0, 2.0)], {})]),
    "an object": (point, ([Point(1.0, 2.0)], {}), [
        ([Point(1.0, 2.0, 4)], {}), ([Point(1.0, 2.0, 3, "product")], {}), ([Closer(5.0, 2.0)], {}), ([Point(1, 2.0)], {}),
        ([Point(1.0, 2.0, 3, "".join(["s", "um"]))], {}), ([Point(1.0, 2.0, int("1000"))], {}), ([Point(1.0, 2.0, 3.0)], {})]),
    "a namespace": (less, ([types.SimpleNamespace(a=1.0, b=2.0)], {}), [([types.SimpleNamespace(b=1.0, a=2.0)], {}),
                                                                        ([types.SimpleNamespace(a=1.0, b=2.0, c=3.0)], {})]),
    "an object with slots": (lambda p: (p.a - p.b) * p.n, ([Slotted(1.0, 2.0)], {}), [
        ([Slotted(1.0, 2.0, 5)], {}), ([Slotted(1, 2.0)], {}), ([Point(1.0, 2.0)], {})]),
    "a method of an argument": (lambda p: p.of(), ([Point(1.0, 2.0)], {}), [
        ([Closer(1.0, 2.0)], {}), ([Slotted(4.0, 2.0)], {})]),
    "a method and slots": (lambda p: p.of(), ([Slotted(1.0, 2.0)], {}), [
        ([OtherSlots(1.0, 2.0)], {}), ([Point(4.0, 2.0)], {})]),
    "an object in a list": (lambda p: p[0].a * p[1]["x"].b, ([[Point(1.0, 2.0), {"x": Point(3.0, 4.0)}]], {}), [
        ([[Point(1.0, 2.0), {"x": Closer(3.0, 5.0)}]], {}), ([[Point(1.0, 2.0), {"x": Point(3.0, 5.0, 4)}]], {})]),
    "an array": (whole, ([np.array([1.0, 2.0])], {}), [
        ([np.array([1.0, 2.0, 3.0])], {}), ([np.array([1, 2])], {}), ([np.array([1.0, 2.0], dtype=np.float32)], {}),
        ([np.arange(4.0)[::2]], {}), ([np.array([1.5, 2.0], dtype=">f8")], {}), ([np.array([1.5, 2.0], dtype=object)], {}),
        ([[1.0, 2.0]], {})]),
    "a table": (lambda p: p[0, 1] * p[1, 0] - p[1, 1] * len(p), ([np.arange(6.0).reshape(2, 3)], {}), [
        ([np.arange(6.0).reshape(3, 2).T], {}), ([np.arange(6.0).reshape(3, 2)], {}),
        ([np.arange(9.0).reshape(3, 3)], {}), ([np.arange(6).reshape(2, 3)], {})]),
    "a text": (text, ([2.0, "plain"], {}), [([2.0, "other"], {}), ([2.0], {"how": "plain"}), ([2, "plain"], {})]),
    "None and True": (lambda x, a, b: x if a is None and b else -x, ([2.0, None, True], {}), [
        ([2.0, None, False], {}), ([2.0, 0.0, True], {}), ([2.0, None, 1], {})]),
}  # fmt: skip


def plain(x):
    """A result as plain numbers."""
    return x.data if isinstance(x, Value) else x


@pytest.fixture
def in_c(monkeypatch):
    """Let every call fail that C does not answer."""

    def only():
        monkeypatch.setattr(Jit, "_call", lambda self, args, kwargs: pytest.fail("the call left C"))

    yield only
    monkeypatch.undo()


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_of_each_kind_go_straight_to_machine_code(kind, in_c):
    f, (args, kwargs), _ = KINDS[kind]
    g = jit(f, wait=True)
    want = f(*args, **kwargs)
    for _ in range(3):
        assert g(*args, **kwargs) == want
    in_c()
    assert g(*args, **kwargs) == want


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_lie_otherwise_are_answered_rightly(kind):
    f, first, others = KINDS[kind]
    g = jit(f, wait=True)
    for args, kwargs in (first, *others, first, *others):
        assert plain(g(*args, **kwargs)) == plain(f(*args, **kwargs))
    for args, kwargs in others:
        g = jit(f, wait=True)
        for given, named in (first, first, first, first, (args, kwargs), first):
            assert plain(g(*given, **named)) == plain(f(*given, **named))


def test_the_numbers_are_read_in_each_call(in_c):
    p, xs, a, d = Point(1.0, 2.0), [1.0, 2.0], np.array([1.0, 2.0]), {"k": 1.0}
    g = jit(lambda p, xs, a, d: p.a * xs[1] + a[0] * d["k"], wait=True)
    g(p, xs, a, d), g(p, xs, a, d)
    in_c()
    p.a, xs[1], a[0], d["k"] = 3.0, 5.0, 7.0, 11.0
    assert g(p, xs, a, d) == 3.0 * 5.0 + 7.0 * 11.0


@pytest.mark.parametrize("way", ["of", "__call__"])
def test_methods_read_their_object_in_each_call(way, in_c):
    h = Holder(2.0, [1.0, "note"])
    f = h if way == "__call__" else h.of
    g = jit(f, wait=True)
    assert g(3.0) == g(3.0) == 7.0
    h.a, h.rest[1] = 3.0, "other"
    assert g(3.0) == g(3.0) == 10.0
    in_c()
    h.a, h.rest[0] = 4.0, 2.0
    assert g(3.0) == 14.0


@pytest.mark.parametrize("argument", [[1.0, 2.0], (1.0, 2.0), Pair(1.0, 2.0), np.array([1.0, 2.0]), np.array([[1.0], [2.0]]),
                                      {"a": 1.0, "b": [2.0]}, np.array(1.5)], ids=str)  # fmt: skip
def test_gradients_have_the_structure_of_the_argument(argument, in_c):
    def square(p):
        if isinstance(p, dict):
            return p["a"] * p["a"] + p["b"][0] * p["b"][0]
        return sum(x * x for x in np.ravel(p).tolist()) if isinstance(p, np.ndarray) else p[0] * p[0] + p[1] * p[1]

    want, g = grad(square)(argument), jit(grad(square), wait=True)
    g(argument), g(argument)
    in_c()
    for _ in range(3):
        found = g(argument)
        assert type(found) is type(want) and str(found) == str(want)
        if isinstance(found, np.ndarray):
            assert found.dtype == float and found.flags.owndata and found.flags.writeable and found.shape == want.shape


@pytest.mark.filterwarnings("ignore:type.. of a number is compared")
def test_a_named_tuple_that_refuses_its_items_raises_its_own_error():
    class Positive(Pair):
        def __new__(cls, a, b):
            if type(a) is float and a < 0.0:
                raise OverflowError("a is negative")
            return super().__new__(cls, a, b)

    g = jit(lambda x: Positive(x, 2.0 * x), wait=True)
    assert g(1.0) == g(1.0) == (1.0, 2.0)
    with pytest.raises(OverflowError, match="a is negative"):
        g(-1.0)
    assert g(3.0) == (3.0, 6.0) and type(g(3.0)) is Positive


def test_an_object_that_changes_its_class_or_its_attributes():
    p = Point(1.0, 2.0)
    g = jit(point, wait=True)
    for _ in range(3):
        assert g(p) == 9.0
    p.more = 1.0
    assert g(p) == 9.0
    del p.more
    assert g(p) == 9.0
    p.__class__ = Closer
    assert g(p) == 9.0
    del p.a
    with pytest.raises(AttributeError):
        g(p)


def test_a_slot_that_is_empty():
    p = Slotted(1.0, 2.0)
    g = jit(lambda p: p.a * p.b, wait=True)
    assert g(p) == g(p) == 2.0
    del p.n
    assert g(p) == 2.0
    del p.b
    with pytest.raises(AttributeError):
        g(p)


class Computing:
    """Its attributes are not what is in its __dict__."""

    def __init__(self):
        self.a = 2.0

    def __getattribute__(self, name):
        return 5.0 if name == "b" else object.__getattribute__(self, name)


class Asking:
    def __init__(self):
        self.a = 2.0

    def __getattr__(self, name):
        if name != "b":
            raise AttributeError(name)
        return 5.0


@pytest.mark.parametrize("kind", [Computing, Asking])
def test_classes_that_compute_attributes_take_the_general_way(kind):
    p, g = kind(), jit(lambda p: p.a * p.b, wait=True)
    for _ in range(3):
        assert g(p) == 10.0
    p.a = 3.0
    assert g(p) == 15.0


def test_captured_values_with_arguments_by_name_and_in_objects(in_c):
    w = Value(2.0)
    f = jit(lambda p, k: w * p.a * k["x"], wait=True)
    for _ in range(2):
        f(Point(1.0, 2.0), k={"x": 3.0})
    in_c()
    y = f(Point(5.0, 2.0), k={"x": 3.0})
    y.backward()
    assert (y.data, w.grad) == (30.0, 15.0)


def test_a_compiled_method_keeps_its_object_only_as_long_as_it_lives():
    h = Holder(2.0, [1.0])
    g = jit(h.of, wait=True)
    h.compiled = g  # a cycle
    g(1.0), g(1.0)
    refs = [r for r in gc.get_objects() if r is h]
    assert refs
    del refs, h, g
    gc.collect()
    assert not [r for r in gc.get_objects() if type(r) is Holder]


def key(text, refs=(), names=(), bound=None):
    return text, refs, names, bound


@pytest.mark.parametrize("bad", [
    key(b""), key(b"*"), key(b"("), key(b"(*"), key(b"(]]"), key(b"(x]"), key(b"([*]"), key(b"(="), key(b"(=]"),
    key(b"({*]]"), key(b"({*]]", ((),)), key(b"({*]]", (("a", "b"),)), key(b"(n*]]", (1,)), key(b"(o*]]", (Point,)),
    key(b"(o*]]", (Point, "a")), key(b"(o*]]", (Point, ("a", "b"))), key(b"(s*]]", (1, ("a",))), key(b"(*]", (1,)),
    key(b"(a*]]", (np.ndarray, (-1,))), key(b"(a*]]", (np.ndarray, ("a",))), key(b"(a[]]]", (np.ndarray, (1,))),
    key(b"(*]", (), (1,)),
    key(b"(t]"), key(b"(t]", (1,)), key(b"(at]]", (np.ndarray, (1,), float)),
    key(b"(*]\0"), key(b"(" + b"[" * 100 + b"*" + b"]" * 101),
])  # fmt: skip
def test_what_is_no_layout_is_refused(bad):
    from micrograd import _engine

    f = jit(lambda x: x * x, wait=True)
    f(1.0)
    code = next(iter(f.variants)).kernels.popitem()[1].code.machine_code
    with pytest.raises((ValueError, TypeError), match=r"no layout|layout"):
        _engine.Kernel(object(), len).install(code, bad, 1, 0, 0)


def test_layouts_as_they_are_written():
    shape = (
        "tuple",
        (
            (
                "tuple",
                (("*",), ("list", (("*",), ("fixed", "a", ())))),
            ),
            ("dict", ("k",), (("*",),)),
        ),
    )
    assert layout_of(shape, iter([b"f", b"i", b"*"]), ()) == (b"(f[i=]*]", ("a",), ("k",), None)
    assert layout_of(shape, iter([b"f", b"i"]), ()) is None  # of one number, nothing is known
    assert layout_of(("tuple", (("tuple", (("held", 1, None),)), ("dict", (), ()))), iter([]), ()) is None


class TestNumbersOfNumPy:
    """Scalars and arrays of other types than float64 are answered in C, once they were compared with the function."""

    @pytest.mark.parametrize(
        "one", [np.float64(3.5), np.float32(3.5), np.int64(3), np.int32(-3), np.uint8(3), np.float16(3.5), 3.5, 3]
    )
    def test_scalars(self, one):
        f = jit(lambda x, y: x[0] * y + 2.0 * x[1], wait=True)
        owner = f.call.__self__
        calls, original = [], owner._call
        f([1.0, 2.0], 3.0)
        f([one, 2.0], one)  # compared with the function
        owner._call = lambda *args: [calls.append(1), original(*args)][1]
        try:
            want = float(one) * float(one) + 4.0
            assert f([one, 2.0], one) == want and f([1.0, 2.0], 3.0) == 7.0
            assert calls == []
            assert f([one, one], one) == float(one) * float(one) + 2.0 * float(one)  # another arrangement
        finally:
            del owner._call

    @pytest.mark.parametrize(
        "dtype",
        ["float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "longlong"],
    )
    def test_arrays(self, dtype):
        f = jit(lambda x: x[0] * x[1] - x[2], wait=True)
        x = np.array([3, 5, 7], dtype=dtype)
        f(x)
        owner = f.call.__self__
        calls, original = [], owner._call
        owner._call = lambda *args: [calls.append(1), original(*args)][1]
        try:
            assert f(x) == 8.0 and f(x + x) == 46.0
            assert calls == []
            assert f(np.repeat(x, 2)[::2]) == 8.0  # with gaps: the general way
        finally:
            del owner._call

    def test_whole_numbers_that_no_float_holds_go_the_general_way(self):
        f = jit(lambda x: x[0] + x[1], wait=True)
        f(np.array([1, 2]))
        for large in (np.array([2**53 + 1, 2]), np.array([-(2**60), 1]), np.array([2**64 - 1, 0], dtype=np.uint64)):
            assert f(large) == float(large[0]) + float(large[1])

    def test_a_function_that_divides_is_compared_first(self):
        """Scalars of NumPy's raise nothing where floats do."""

        def f(x, y):
            try:
                return x / y
            except ZeroDivisionError:
                return -1.0

        g = jit(f, wait=True)
        with np.errstate(all="ignore"):
            for _ in range(3):
                assert g(1.0, 0.0) == -1.0
                assert g(np.float64(1.0), np.float64(0.0)) == np.inf
                assert g(2.0, 4.0) == g(np.float64(2.0), np.float64(4.0)) == 0.5
