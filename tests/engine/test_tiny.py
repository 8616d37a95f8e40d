"""The package in ten seconds of reading: if one of these fails, look here first."""

from __future__ import annotations


def test_a_product_and_a_sum(Value):
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    d = a * b + c
    d.backward()
    assert (d.data, a.grad, b.grad, c.grad) == (4.0, -3.0, 2.0, 1.0)


def test_the_readme_of_micrograd(Value):
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    assert f"{g.data:.4f}" == "24.7041"
    g.backward()
    assert f"{a.grad:.4f}" == "138.8338"
    assert f"{b.grad:.4f}" == "645.5773"


def test_functions_of_numbers_and_values(Value, mgmath):
    assert mgmath.exp(0.0) == 1.0 and type(mgmath.exp(0.0)) is float
    x = Value(0.0)
    y = mgmath.exp(x)
    y.backward()
    assert isinstance(y, Value) and (y.data, x.grad) == (1.0, 1.0)


def test_a_long_chain_does_not_recurse(Value):
    x = Value(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward()
    assert (y.data, x.grad) == (20_001.0, 1.0)
