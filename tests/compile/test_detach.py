"""detach() and stop_gradient: the same number, through which no derivative passes, in every mode."""

from __future__ import annotations

import pytest

from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")


def test_grad_gives_a_number(mg):
    f = lambda x: x.detach() * x  # noqa: E731
    assert mg.grad(f)(3.0) == 3.0
    assert type(mg.grad(f)(3.0)) is float
    assert mg.grad(mg.grad(lambda x: x.detach() * x * x))(3.0) == 6.0
    assert mg.jvp(f, (3.0,), (1.0,)) == (9.0, 3.0)
    assert mg.hessian(lambda x: x.detach() * x)(3.0) == 0.0
    assert mg.grad(lambda v: v[0].detach() * v[1])([2.0, 5.0]) == [0.0, 2.0]


def test_stop_gradient_of_numbers_and_values(mg):
    assert mg.math.stop_gradient(2.0) == 2.0
    v = mg.Value(2.0)
    (mg.math.stop_gradient(v) * v).backward()
    assert v.grad == 2.0


@needs_llvm
@pytest.mark.parametrize("exact", [False, True])
def test_compiled(mg, exact):
    f = mg.jit(lambda x, y: x.detach() * x + mg.math.stop_gradient(x * y) * y, exact=exact, wait=True)
    g = mg.jit(mg.value_and_grad(lambda x, y: x.detach() * x + mg.math.stop_gradient(x * y) * y, (0, 1)), exact=exact)
    for x, y in ((3.0, 2.0), (-1.0, 0.5)):
        assert f(x, y) == x * x + x * y * y
        assert g(x, y) == (x * x + x * y * y, (x, x * y))
    a, b = mg.Value(3.0), mg.Value(2.0)
    f(a, b).backward()
    assert (a.grad, b.grad) == (3.0, 6.0)


@needs_llvm
def test_no_inf_comes_back_through_it(mg):
    """A contribution that is not there is not 0 times something."""
    f = mg.jit(mg.grad(lambda x: mg.math.sqrt(x.detach()) + x), wait=True)
    assert (f(0.0), mg.grad(lambda x: mg.math.sqrt(x.detach()) + x)(0.0)) == (1.0, 1.0)


def test_numbers_of_rows_have_the_methods_of_values(mg):
    w = mg.Value(2.0)
    rows = np.array([1.0, 2.0])
    assert mg.vmap(lambda x: x.detach() * x)(rows).tolist() == [1.0, 4.0]
    assert mg.vmap(lambda x, k: (x.relu() if isinstance(x, float) else 0.0, 3))(rows, rows)[0].tolist() == [1.0, 2.0]
    total = mg.vmap(lambda x: x.detach() * w + w.detach(), reduce="sum")(rows)
    total.backward()
    assert (total.data, w.grad) == (10.0, 3.0)


@needs_llvm
def test_rows_and_parameters():
    from micrograd import Value, vmap

    w = Value(2.0)
    rows = vmap(lambda x: w.detach() * x + w * w.detach(), reduce="sum")
    x = np.array([1.0, 2.0, 3.0])
    for data in (2.0, 5.0):
        w.data, w.grad = data, 0.0
        y = rows(x)
        y.backward()
        assert (y.data, w.grad) == (data * 6.0 + 3 * data * data, 3 * data)
