"""A compiled function follows the modules that it reads, however it gets at them, and whichever method of them it calls."""

from __future__ import annotations

import functools
import sys
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from micrograd import Value, grad, jit, nn, vmap
from micrograd.engine import NATIVE
from micrograd.watch.reach import modules_called, modules_of

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is no machine code")


class Line(nn.Module):
    """As in the first lesson: without forward(), so that nothing of micrograd runs when it is called."""

    def __init__(self) -> None:
        self.slope, self.factor = Value(1.5), 2.0

    def __call__(self, x: Any) -> Any:
        return self.slope * x * self.factor

    def twice(self, x: Any) -> Any:
        return self(x) * 2.0


class Both(nn.Module):
    """A module that reads another one, which is no part of it."""

    def __call__(self, x: Any) -> Any:
        return line(x) + 1.0


class Holder:
    __slots__ = ("item",)


class Helper:
    """A class whose methods read the module."""

    kept: Any = None

    def of(self, x: Any) -> Any:
        return line(x)

    @property
    def slope(self) -> Any:
        return line.slope

    @functools.cached_property
    def cached(self) -> Any:
        return line.factor

    @staticmethod
    def alone(x: Any) -> Any:
        return line(x)

    @classmethod
    def all(cls, x: Any) -> Any:
        return line(x)


class Proxy:
    """It can be asked for nothing, as a proxy of a web server outside of a request."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("nothing is here")


line, here, proxy = Line(), sys.modules[__name__], Proxy()
both, helper, holder, space = Both(), Helper(), Holder(), SimpleNamespace(inside=SimpleNamespace(deep=line))
Helper.kept, holder.item = line, line
many, table, waiting = [[line]], {"a": (line,)}, deque([line])


def _with_default(x: Any, *, model: Any = line) -> Any:
    return model(x)


def _enclosed() -> Any:
    models = [line]
    return lambda x: models[0](x)


WAYS: dict[str, Any] = {
    "by its name": lambda x: line(x),
    "by another method": lambda x: line.twice(x),
    "by its attributes": lambda x: (lambda y: y * line.slope * line.factor)(x),
    "in a comprehension": lambda x: sum([line(y) for y in (x, x * 2.0)]),
    "in a generator": lambda x: sum(line(y) for y in (x, x * 2.0)),
    "in a lambda": lambda x: (lambda y: (lambda z: line(z))(y))(x),
    "in a helper in a comprehension": lambda x: sum([WAYS["by its name"](y) for y in [x]]),
    "in a list of lists": lambda x: many[0][0](x),
    "in a dict": lambda x: table["a"][0](x),
    "in a deque": lambda x: waiting[0](x),
    "in an object": lambda x: space.inside.deep(x),
    "in a slot": lambda x: holder.item(x),
    "in a class": lambda x: Helper.kept(x),
    "in a method": lambda x: helper.of(x),
    "in a property": lambda x: helper.slope * x * line.factor,
    "in a static method": lambda x: Helper.alone(x),
    "in a class method": lambda x: Helper.all(x),
    "in a cached property": lambda x: helper.cached * x,
    "in another module": lambda x: both(x),
    "by globals()": lambda x: globals()["line"](x),
    "as a default by name": _with_default,
    "in a list of the function around it": _enclosed(),
    "by its Python module": lambda x: here.line(x),
    "by partial": functools.partial(lambda models, x: models[0](x), [line]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_module_is_found(way: str) -> None:
    assert any(module is line for module in modules_of(WAYS[way]))


@pytest.mark.parametrize("how", ["jit", "vmap", "jit(grad)"])
@pytest.mark.parametrize("way", ["in a generator", "in a list of lists", "in a method"])
def test_a_change_of_a_module_is_seen(way: str, how: str) -> None:
    f = WAYS[way]
    plain = grad(f) if how == "jit(grad)" else f
    compiled = vmap(f) if how == "vmap" else jit(plain, wait=True)

    def both_give(x: float) -> tuple[float, float]:
        found, want = compiled([x])[0] if how == "vmap" else compiled(x), plain(x)
        return tuple(y.data if isinstance(y, Value) else y for y in (found, want))

    line.slope, line.factor = Value(1.5), 2.0
    before, want = both_give(3.0)
    assert before == want
    line.factor = 5.0
    after, want = both_give(3.0)
    assert after == want != before
    line.slope = Value(-1.0)
    after, want = both_give(3.0)
    assert after == want < 0.0


def test_what_cannot_be_asked_is_no_module() -> None:
    assert modules_of(lambda x: line(x) if proxy else x) == [line]
    assert modules_called(lambda x: proxy) == []


def test_lists_with_much_in_them_are_looked_at_in_part() -> None:
    data, models = [[float(k)] * 3 for k in range(5_000)], [line] * 3_000 + [Line()]
    f = lambda x: models[0](x) + data[0][0]  # noqa: E731
    assert {id(m) for m in modules_called(f)} == {id(line), id(models[-1])} == {id(m) for m in modules_of(f)}


def test_the_model_of_a_training_run_is_what_the_function_calls_and_not_all_that_is_near() -> None:
    assert modules_called(lambda x: sum(line(y) for y in [x])) == [line]
    assert modules_called(lambda x: both(x)) == [both]
    assert {id(m) for m in modules_of(lambda x: both(x))} == {id(both), id(line)}
