"""Solvers that are given nothing to solve for say so."""

import pytest

from micrograd import solvers


@pytest.mark.parametrize(
    "call",
    [
        lambda: solvers.minimize(lambda x: sum(x), []),
        lambda: solvers.minimize(lambda x: sum(x), (), method="newton"),
        lambda: solvers.least_squares(lambda p: [], []),
        lambda: solvers.root(lambda x: [], []),
        lambda: solvers.fixed_point(lambda x: x, []),
        lambda: solvers.curve_fit(lambda x: x, [], [], []),
        lambda: solvers.odeint(lambda t, y: [], [], [0.0, 1.0]),
    ],
)
def test_an_empty_start(call):
    with pytest.raises(ValueError, match="nothing to solve for"):
        call()
