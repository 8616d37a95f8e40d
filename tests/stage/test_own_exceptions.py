"""A row for which the function raises an exception of its own: that one is raised, also where its text reads the numbers."""

import numpy as np
import pytest

from micrograd import TraceError, jit, value_and_grad, vmap


def formatted(x):
    if x < 1.0:
        raise ValueError(f"{x:.2f} is too small")
    return x * x


def by_percent(x):
    if x < 1.0:
        raise ValueError("%.2f is too small" % x)  # noqa: UP031
    return x * x


def read(x):
    if x < 1.0:
        raise ArithmeticError(f"{round(float(x), 2):.2f} is too small")
    return x * x


@pytest.mark.parametrize("f", [formatted, by_percent, read])
@pytest.mark.parametrize("rows", [[2.0, 0.5, 0.25], [0.5, 2.0], [3.0, 2.0, 0.5]])
def test_the_text_of_an_exception_may_read_the_numbers(f, rows, recwarn):
    row = rows.index(0.5)
    for g in (f, value_and_grad(f)):
        for run in (lambda g=g: vmap(g)(np.array(rows)), lambda g=g: jit(g)(0.5)):
            with pytest.raises((ValueError, ArithmeticError), match=r"^0.50 is too small") as caught:
                run()
            if hasattr(caught.value, "__notes__"):  # Python 3.11
                assert f"in row {row} " in caught.value.__notes__[0]
            assert not isinstance(caught.value.__context__, TraceError)
    assert [str(w.message) for w in recwarn] == []


def test_a_text_that_is_made_of_a_number_and_not_raised_is_refused_as_before():
    def f(x):
        return x * len(f"{x:.2f}")

    with pytest.raises(TraceError, match=r"format\(\) of a Value"):
        vmap(f)(np.array([1.0, 2.0]))
