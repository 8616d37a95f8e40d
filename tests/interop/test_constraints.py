"""Constraints of minimize: compiled with their Jacobians, in one call for both."""

import sys

import numpy as np
import pytest

from micrograd import engine, math, minimize

optimize = pytest.importorskip("scipy.optimize")
pytestmark = [
    pytest.mark.skipif(not engine.NATIVE, reason="needs the C engine"),
    pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning"),  # of SciPy, where a constraint is linear
]


def distance(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2


def disc(x):
    return 1.0 - x[0] ** 2 / 4.0 - x[1] ** 2


def line(x, shift):
    return [x[0] - 2.0 * x[1] + shift]


ANSWER = [0.5 * (7.0**0.5 - 1.0), 0.25 * (7.0**0.5 + 1.0)]  # of Hock and Schittkowski's problem 14


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_functions_in_dicts(method):
    calls = []
    both = [{"type": "ineq", "fun": disc}, {"type": "eq", "fun": line, "args": (1.0,)}]
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: calls.append(event) if frame.f_code is disc.__code__ else None)
    try:
        found = minimize(distance, [1.0, 1.0], method=method, constraints=both, tol=1e-12)
    finally:
        sys.setprofile(before)
    assert found.x == pytest.approx(ANSWER, abs=1e-4)
    assert calls.count("call") <= 8  # while it is compiled; then machine code answers


def test_the_jacobian_is_exact_and_computed_with_the_value():
    seen = []
    f = optimize.minimize
    try:
        optimize.minimize = lambda *args, **options: seen.append(options["constraints"]) or f(*args, **options)
        minimize(
            distance,
            [1.0, 1.0],
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: [disc(x), math.exp(x[0])]},
        )
    finally:
        optimize.minimize = f
    x = np.array([0.3, -0.7])
    assert seen[0]["fun"](x).tolist() == pytest.approx([disc(x), np.exp(0.3)])
    assert seen[0]["jac"](x) == pytest.approx(np.array([[-0.15, 1.4], [np.exp(0.3), 0.0]]), rel=1e-14)


def test_nonlinear_constraints_and_those_of_the_user():
    bounded = optimize.NonlinearConstraint(disc, 0.0, np.inf)
    own = {"type": "eq", "fun": lambda x: x[0] - 2.0 * x[1] + 1.0, "jac": lambda x: np.array([1.0, -2.0])}
    found = minimize(distance, [1.0, 1.0], method="trust-constr", constraints=[bounded, own], options={"gtol": 1e-10})
    assert found.x == pytest.approx(ANSWER, abs=1e-4)


def test_a_function_that_cannot_be_compiled_is_scipys():
    def rounded(x):
        return 1.0 - float(np.linalg.norm(np.asarray(x, dtype=np.float64) * [0.5, 1.0])) ** 2

    found = minimize(distance, [1.0, 1.0], method="SLSQP", constraints=[
        {"type": "ineq", "fun": rounded}, {"type": "eq", "fun": line, "args": (1.0,)}])  # fmt: skip
    assert found.x == pytest.approx(ANSWER, abs=1e-4)
