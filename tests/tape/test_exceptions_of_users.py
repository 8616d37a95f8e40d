"""Exceptions that a function raises itself show the numbers that it was called with, however it is run."""

from __future__ import annotations

import pytest

from micrograd import grad, hessian, jit, math, value_and_grad, vmap
from random_programs import needs_llvm


class TooSmall(Exception):
    def __init__(self, x):
        super().__init__(str(x))
        self.x = x


def with_text(x):
    if x < 0:
        raise ValueError(f"negative {x}, twice {2 * x!r}")
    return math.sqrt(x)


def with_the_number(x):
    if x < 0:
        raise ValueError("negative", x)
    return math.sqrt(x)


def with_an_attribute(x):
    if x < 0:
        raise TooSmall(x)
    return math.sqrt(x)


def shown(call):
    with pytest.raises((ValueError, TooSmall)) as caught:
        call()
    error = caught.value
    assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__)
    return type(error), error.args, getattr(error, "x", None)


@pytest.mark.parametrize("f", [with_text, with_the_number, with_an_attribute])
@pytest.mark.parametrize("transform", [grad, value_and_grad, hessian])
def test_derivatives_raise_what_plain_numbers_raise(f, transform):
    derived = transform(f)
    assert shown(lambda: derived(-1.5)) == shown(lambda: f(-1.5))
    derived(4.0)
    assert shown(lambda: derived(-2.5)) == shown(lambda: f(-2.5))
    assert shown(lambda: derived(-3)) == shown(lambda: f(-3))


@needs_llvm
@pytest.mark.parametrize("f", [with_text, with_the_number, with_an_attribute])
@pytest.mark.parametrize("transform", [lambda f: f, grad, lambda f: grad(grad(f))])
def test_compiled_functions_raise_what_plain_numbers_raise(f, transform):
    compiled = jit(transform(f))
    assert shown(lambda: compiled(-1.5)) == shown(lambda: f(-1.5))
    compiled(4.0)
    assert shown(lambda: compiled(-2.5)) == shown(lambda: f(-2.5))
    with pytest.raises((ValueError, TooSmall), match=r"-2\.5"):
        vmap(transform(f))([1.0, -2.5])
