"""What a merged function is told of the class of a number, and how it reads its own source, is what plain Python gives."""

from __future__ import annotations

import functools
import importlib
import warnings

import numpy as np
import pytest

from micrograd import Value, value_and_grad, vmap
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.filterwarnings("error")]

XS = [-2.0, 3.0, 0.5]


@functools.singledispatch
def shown(x):
    return 1.0


@shown.register
def _(x: float):
    return x * x


def dispatched(x):
    return shown(x) if x > 0.0 else x


def compared(x):
    if x > 0.0:
        return x * x if x.__class__ is float else -x
    return x


def read_by_name(x):
    return x * x if x > 0.0 and getattr(x, "__class__") in (int, float) else -x  # noqa: B009


def counter(x):
    n = 0
    for k in range(60):
        if x * k > n:
            n += 1
    return x * (2.0 if n.__class__ is int else 3.0)


class Absolute:
    def cost(self, x):
        return x if x > 0.0 else -x


class Scaled(Absolute):
    def cost(self, x):
        return 2.0 * super(Scaled, self).cost(x - 1.0)


def old_super(x):
    return Scaled().cost(x)


@pytest.mark.parametrize("f", [dispatched, compared, read_by_name, counter, old_super], ids=lambda f: f.__name__)
def test_a_branch_that_a_later_call_takes_first_gives_what_plain_python_gives(f):
    shown(1.0), shown(Value(1.0))  # singledispatch remembers the function for a class
    rows = vmap(value_and_grad(f))
    for xs in (XS[:1], XS):
        values, slopes = rows(np.array(xs))
        assert [(y, d) for y, d in zip(values, slopes)] == [value_and_grad(f)(x) for x in xs]
    assert len(list(rows.variants)) == 1


def test_warnings_about_the_source_are_not_given_again(tmp_path, monkeypatch):
    text = '"""A \\ d."""\ndef f(x):\n    try:\n        return x if x > 0.0 else -x\n    except ZeroDivisionError:\n        return 0.0 is 1\n'
    (tmp_path / "with_an_escape.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("with_an_escape")
    rows = vmap(module.f)
    assert rows(np.array([-1.0, 2.0])).tolist() == [1.0, 2.0]
    assert len(list(rows.variants)) == 1
