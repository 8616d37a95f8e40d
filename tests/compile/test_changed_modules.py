"""Compiled functions follow the modules that they read: layers, parameters, attributes and modes may change after the trace."""

from __future__ import annotations

import types
from collections import deque

import numpy as np
import pytest

from micrograd import (
    Value,
    engine,
    jit,
    losses,
    math,
    nn,
    no_grad,
    optim,
    train,
    value_and_grad,
    vmap,
)
from micrograd.watch import guards, modules, owners

pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="machine code needs the C engine")
pytest.importorskip("llvmlite")

POINT = [0.3, -0.7]


def mlp():
    return nn.MLP(2, [3, 2, 1], activation="tanh", rng=0)


class Warm(nn.Module):
    """A module with a plain number, a dict of modules, a tuple and an array of Values."""

    def __init__(self):
        self.temperature = 2.0
        self.parts = {"first": nn.Linear(2, 2, rng=1), "last": nn.Linear(2, 1, rng=2)}
        self.pair = ([Value(0.5)], [Value(1.5)])
        self.gains = np.array([Value(1.0), Value(2.0)])

    def forward(self, x):
        for part in self.parts.values():
            x = [v * gain for v, gain in zip(part(x), self.gains)]
        return math.tanh(x[0] / self.temperature) + self.pair[0][0] * self.pair[1][0]


CHANGES = {
    "a layer more": (mlp, lambda m: m.layers.append(nn.Layer(1, 1, rng=5))),
    "a layer less": (mlp, lambda m: m.layers.pop(1) and m.layers.__setitem__(1, nn.Layer(3, 1, rng=4))),
    "another layer": (mlp, lambda m: m.layers.__setitem__(1, nn.Layer(3, 2, rng=9))),
    "a neuron less": (mlp, lambda m: (m.layers[0].neurons.pop(), [n.w.pop() for n in m.layers[1].neurons])),
    "another weight": (mlp, lambda m: m.layers[0].neurons[1].w.__setitem__(0, Value(0.123))),
    "other weights": (mlp, lambda m: setattr(m.layers[0].neurons[1], "w", [Value(0.5), Value(0.25)])),
    "another bias": (mlp, lambda m: setattr(m.layers[0].neurons[1], "b", Value(0.75))),
    "another activation": (mlp, lambda m: setattr(m.layers[0].neurons[0], "activation", "sigmoid")),
    "a number": (Warm, lambda m: setattr(m, "temperature", 5.0)),
    "a module in a dict": (Warm, lambda m: m.parts.__setitem__("last", nn.Linear(2, 1, rng=7))),
    "a key more": (Warm, lambda m: m.parts.__setitem__("more", nn.Linear(1, 1, rng=7))),
    "a Value in a list in a tuple": (Warm, lambda m: m.pair[1].__setitem__(0, Value(9.0))),
    "a Value in an array": (Warm, lambda m: m.gains.__setitem__(0, Value(3.0))),
    "all by attribute": (Warm, lambda m: setattr(m, "parts", {"only": nn.Linear(2, 1, rng=3)})),
}


def used(how, model):
    """The model as machine code in one of the ways that people use, as a function without arguments that gives numbers."""
    rows, holder = np.array([POINT] * 3), {"model": [model]}
    f, args = {
        "jit(model)": lambda: (jit(model, wait=True), (POINT,)),
        "in the background": lambda: (jit(model), (POINT,)),
        "jit of a function": lambda: (jit(lambda a, b: model([a, b]), wait=True), POINT),
        "jit of value_and_grad": lambda: (jit(value_and_grad(lambda x: model(x)), wait=True), (POINT,)),
        "a method": lambda: (jit(model.forward, wait=True), (POINT,)),
        "without gradients": lambda: (no_grad()(jit(model, wait=True)), (POINT,)),
        "rows": lambda: (no_grad()(vmap(model)), (rows,)),
        "hidden in an object": lambda: (vmap(lambda x: holder["model"][0](x), reduce="mean"), (rows,)),
        "a mean of rows": lambda: (jit(vmap(model, reduce="mean"), wait=True), (rows,)),
    }[how]()

    def call():
        found = f(*args)
        found = found[0] if isinstance(found, (tuple, list, np.ndarray)) else found
        return float(found)

    return call


WAYS = ["jit(model)", "in the background", "jit of a function", "jit of value_and_grad", "a method", "without gradients",
        "rows", "hidden in an object", "a mean of rows"]  # fmt: skip


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_compiling_is_followed(change, how):
    make, alter = CHANGES[change]
    model = make()
    call = used(how, model)
    for _ in range(3):  # the third call goes straight to machine code
        assert call() == pytest.approx(float(model(POINT)), rel=1e-12)
    before = call()
    alter(model)
    after = float(model(POINT))
    assert after != before
    for _ in range(3):
        assert call() == pytest.approx(after, rel=1e-12)


def test_gradients_go_to_the_new_parameters():
    model = mlp()
    f = jit(vmap(model, reduce="mean"), wait=True)
    rows = np.array([POINT] * 4)
    f(rows).backward()
    old = model.layers[0].neurons[0].w[0]
    new = model.layers[0].neurons[0].w[0] = Value(old.data)  # the same number in another Value
    model.zero_grad()
    old.grad = 0.0
    f(rows).backward()
    assert old.grad == 0.0 and new.grad != 0.0


def test_a_mode_is_followed_where_it_matters():
    class Moody(nn.Module):
        def __init__(self):
            self.w = Value(2.0)

        def forward(self, x):
            return self.w * x if self.training else -self.w * x

    model = Moody()
    f, rows = jit(model, wait=True), vmap(model, reduce="sum")
    for mode in (True, True, False, False, True):
        model.train(mode)
        want = 6.0 if mode else -6.0
        assert f(3.0).data == want and rows(np.array([1.0, 2.0])).data == want


def test_dropout_is_gone_after_eval_and_refused_after_train():
    model = nn.Sequential(nn.Linear(2, 4, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(4, 1, rng=2)).eval()
    f = jit(model, wait=True)
    assert f(POINT)[0].data == pytest.approx(model(POINT)[0].data)
    model.train()
    with pytest.raises(Exception, match="Dropout"):
        f(POINT)


def test_a_change_that_does_not_matter_keeps_the_machine_code():
    model = mlp()
    f, rows = jit(model, wait=True), vmap(model, reduce="mean")
    f(POINT), rows(np.array([POINT]))
    kernels = [next(iter(v.variants)).kernels for v in (f, rows)]
    assert all(kernels)
    for k in range(3):
        model.note = f"epoch {k}"
        f(POINT), rows(np.array([POINT]))
    assert [next(iter(v.variants)).kernels for v in (f, rows)] == kernels
    assert next(iter(f.variants)).kernels is kernels[0]


def test_a_module_with_much_data_costs_little_to_watch():
    class Holder(nn.Module):
        def __init__(self):
            self.rows = [[float(i), 1.0] for i in range(10_000)]
            self.w = Value(1.0)

        def forward(self, x):
            return self.w * x

    watch = guards.Watch([Holder()])
    assert len(watch.key) == 2 and not watch.changed()


def test_what_is_computed_and_kept_is_no_change():
    class Keeping(nn.Module):
        def __init__(self):
            self.w = Value(2.0)

        def forward(self, x):
            return self.w * x

    model = Keeping()
    model.last = model(1.0)
    f = jit(model, wait=True)
    f(3.0)
    variants = f.variants
    for k in range(3):
        model.last = model(float(k))
        f(3.0)
    assert f.variants is variants


@pytest.mark.parametrize("name", ["unchanged", "_unchanged"])
def test_both_definitions_of_unchanged(name):
    same = getattr(guards, name)
    a, b, count = Value(1.0), Value(2.0), [7]
    items, names = [a, b], {"a": a}
    word = "a"  # keys are compared by identity, too
    key = (count, count[0], items, (a, b), names, (word, a))
    assert same(key)
    for change, back in (
        (lambda: items.append(a), lambda: items.pop()),
        (lambda: items.__setitem__(0, b), lambda: items.__setitem__(0, a)),
        (lambda: names.__setitem__("b", b), lambda: names.pop("b")),
        (lambda: names.__setitem__("a", b), lambda: names.__setitem__("a", a)),
        (lambda: names.__setitem__("c", names.pop("a")), lambda: names.__setitem__("a", names.pop("c"))),
        (lambda: count.__setitem__(0, 8), lambda: count.__setitem__(0, 7)),
    ):
        change()
        assert not same(key)
        back()
        assert same(key)
    assert same((*key, {a}, (a,))) and not same((*key, {a}, (b,)))


@pytest.mark.parametrize("name", ["unchanged", "_unchanged"])
def test_both_definitions_of_unchanged_for_names_and_arrays(name):
    class Holder:
        k = 1.5

    def around():
        x = 2.5

        def get():
            return x

        def put(y=None, gone=False):
            nonlocal x
            x = y
            if gone:
                del x

        return get.__closure__[0], put

    same = getattr(guards, name)
    cell, put = around()
    x, space, array = cell.cell_contents, {"k": 1.5, "other": 1}, np.array([1.0, 0.0])
    k, of_class, text, holder = space["k"], Holder.k, bytearray(b"ab"), Holder()
    defaults, code = put.__defaults__, put.__code__
    Other = type("Other", (Holder,), {})
    slanted, small = np.arange(12.0).reshape(3, 4).T[::2], np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::-2]
    things, queue, some = np.array([[1.5, None], ["a", x]], dtype=object), deque([k, x, "b"]), {k, "c"}
    key = (
        modules.CHANGES,
        modules.CHANGES[0],
        space,
        {"k": k},
        Holder,
        {"k": of_class},
        cell,
        (x,),
        array,
        owners.as_bytes(array),
        text,
        owners.as_bytes(text),
        put,
        guards.parts_of(put),
        Holder,
        Holder.__mro__,
        holder,
        Holder,
        *(part for array in (slanted, small) for part in (array, owners.as_bytes(array))),
        *(part for container in (things, queue, some) for part in (container, guards._items(container))),
    )
    assert same(key)
    space["other"] = space["new"] = 2
    assert same(key)
    for change, back in (
        (lambda: space.__setitem__("k", 2.5), lambda: space.__setitem__("k", k)),
        (lambda: space.pop("k"), lambda: space.__setitem__("k", k)),
        (lambda: setattr(Holder, "k", 2.5), lambda: setattr(Holder, "k", of_class)),
        (lambda: delattr(Holder, "k"), lambda: setattr(Holder, "k", of_class)),
        (lambda: put(3.5), lambda: put(x)),
        (lambda: put(gone=True), lambda: put(x)),
        (lambda: array.__setitem__(1, -0.0), lambda: array.__setitem__(1, 0.0)),
        (lambda: array.resize((2, 1), refcheck=False), lambda: array.resize(2, refcheck=False)),
        (lambda: text.__setitem__(1, 5), lambda: text.__setitem__(1, ord("b"))),
        (lambda: text.append(5), lambda: text.pop()),
        (lambda: setattr(put, "__defaults__", (1.0, False)), lambda: setattr(put, "__defaults__", defaults)),
        (lambda: setattr(put, "__kwdefaults__", {}), lambda: setattr(put, "__kwdefaults__", None)),
        (lambda: setattr(put, "__code__", code.replace(co_name="p")), lambda: setattr(put, "__code__", code)),
        (lambda: setattr(holder, "__class__", Other), lambda: setattr(holder, "__class__", Holder)),
        (lambda: slanted.__setitem__((1, 2), -1.0), lambda: slanted.__setitem__((1, 2), 10.0)),
        (lambda: small.__setitem__((2, 1), -1), lambda: small.__setitem__((2, 1), 9)),
        (lambda: things.__setitem__((1, 1), None), lambda: things.__setitem__((1, 1), x)),
        (lambda: things.resize((4, 1), refcheck=False), lambda: things.resize((2, 2), refcheck=False)),
        (lambda: things.resize(4, refcheck=False), lambda: things.resize((2, 2), refcheck=False)),
        (lambda: queue.append(1), lambda: queue.pop()),
        (lambda: queue.rotate(1), lambda: queue.rotate(-1)),
        (lambda: queue.pop(), lambda: queue.append("b")),
        (lambda: some.remove(k), lambda: some.add(k)),
        (lambda: some.add("d"), lambda: some.remove("d")),
    ):
        change()
        assert not same(key)
        back()
        assert same(key)
    put(gone=True)
    assert same((*key[:2], cell, ())) and not same((*key[:2], cell, (x,)))


@pytest.mark.parametrize("bad", [None, (), ([1],), (1, 1), ([1], 1, []), ([1], 1, [], []), ([1], 1, {}, set())])
def test_a_key_that_is_none_is_refused_in_c(bad):
    with pytest.raises(TypeError, match="key of a Watch"):
        guards.unchanged(bad)


def test_training_with_other_parameters_than_the_optimizers_is_refused():
    model = mlp()
    move = train.step(lambda x, y: losses.mse(model(x), y), optim.SGD(model.parameters(), lr=0.1))
    move(POINT, 1.0)
    model.layers[0].neurons[0].w[0] = Value(1.0)
    with pytest.raises(RuntimeError, match="other parameters"):
        move(POINT, 1.0)


class Named(nn.Module):
    """Parameters in a dict, and numbers; it has no forward()."""

    def __init__(self):
        self.a, self.b = Value(1.5), Value(2.5)
        self.table = {"low": Value(0.5), "high": Value(4.0)}
        self.data = [float(k) for k in range(1000)]
        self.weights = [Value(float(k)) for k in range(300)]


def turn(found):
    """Exchange the names of two things, which stay where they are."""
    (one, x), (two, y) = found.items()
    found.clear()
    found.update({two: x, one: y})


def exchange(model):
    """The same for two attributes, by assignments."""
    a, b = model.a, model.b
    del model.a, model.b
    model.b, model.a = a, b


@pytest.mark.parametrize(
    ("read", "change"),
    [
        (lambda m, x: m.table["low"] * x, lambda m: turn(m.table)),
        (lambda m, x: m.a * x, exchange),
        (lambda m, x: m.a * x, lambda m: setattr(m, "a", Value(m.a.data + 1.0))),
        (lambda m, x: m.a * x * len(m.data), lambda m: setattr(m, "data", m.data[1:])),
        (lambda m, x: m.weights[7] * x, lambda m: m.weights.__setitem__(7, Value(m.weights[7].data + 1.0))),
    ],
    ids=["keys of a dict", "names of attributes", "before data", "data", "in a long list of Values"],
)
def test_changes_of_each_kind_are_seen(read, change):
    """Of a model that is read as it is, or by way of a Python module that an enclosing function has imported."""
    model = Named()
    mine, inner = types.ModuleType("mine"), types.ModuleType("mine.inner")
    mine.model, mine.inner, inner.other = model, inner, model

    def by_default(x, module=mine):
        return read(module.model, x)

    for f in (lambda x: read(model, x), lambda x: read(mine.model, x), lambda x: read(mine.inner.other, x), by_default):
        point, rows = jit(f, wait=True), vmap(f)
        before = f(2.0).data
        for _ in range(2):
            assert point(2.0).data == rows([2.0, 1.0])[0].data == before
        change(model)
        after = f(2.0).data
        assert after != before
        for _ in range(2):
            assert point(2.0).data == rows([2.0, 1.0])[0].data == after


def test_modules_are_noted_by_all_blocks_that_are_open():
    one, two, three = Named(), Named(), Named()
    with modules.noting() as outer:
        with modules.noting() as inner:
            modules.note(one)
        modules.note(two)
    modules.note(three)
    assert list(outer.values()) == [one, two] and list(inner.values()) == [one]
    assert not [found for found in modules.reading if found is outer or found is inner]  # other threads may trace


def test_a_parameter_in_a_long_list_of_a_layer_is_replaced():
    """A list of more Values than numbers make data is no data."""
    count = guards.DATA + 44
    model, point = nn.MLP(count, [1], rng=0), [0.01 * k for k in range(count)]
    f = jit(lambda xs: model(xs), wait=True)
    weights = model.layers[0].neurons[0].w
    assert len(weights) == count
    for _ in range(2):
        assert f(point).data == pytest.approx(model(point).data, rel=1e-12)
        weights[7] = Value(weights[7].data + 5.0)
