"""odeint and odeint_event: values beside SciPy and closed forms, derivatives beside differences and closed forms."""

from __future__ import annotations

import importlib
import math as plain

import pytest

from micrograd import grad, jit, math, value_and_grad, vmap
from micrograd.solvers import odeint, odeint_dense, odeint_event
from micrograd.solvers.ode import METHODS
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
integrate = pytest.importorskip("scipy.integrate")

ADAPTIVE = ["tsit5", "dopri5", "rodas"]


# Problems of DETEST (Hull, Enright, Fellen and Sedgwick, 1972): its classes A, B, C, D and E
def a2(t, y):
    return [-0.5 * y[0] * y[0] * y[0]]


def a3(t, y):
    return [y[0] * math.cos(t)]


def a4(t, y):
    return [0.25 * y[0] * (1.0 - y[0] / 20.0)]


def b1(t, y):
    return [2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]


def b2(t, y):
    return [-y[0] + y[1], y[0] - 2.0 * y[1] + y[2], y[1] - y[2]]


def b5(t, y):
    return [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]


def c1(t, y):
    return [-y[0], *(y[k - 1] - y[k] for k in range(1, 9)), y[8]]


def d1(t, y):  # an orbit with an eccentricity of 0.1
    r3 = (y[0] * y[0] + y[1] * y[1]) ** 1.5
    return [y[2], y[3], -y[0] / r3, -y[1] / r3]


def e2(t, y):
    return [y[1], (1.0 - y[0] * y[0]) * y[1] - y[0]]


DETEST = [
    (a2, [1.0]),
    (a3, [1.0]),
    (a4, [1.0]),
    (b1, [1.0, 3.0]),
    (b2, [2.0, 0.0, 1.0]),
    (b5, [0.0, 1.0, 1.0]),
    (c1, [1.0, *[0.0] * 9]),
    (d1, [0.9, 0.0, 0.0, plain.sqrt(1.1 / 0.9)]),
    (e2, [2.0, 0.0]),
]


def reference(f, y0, times):
    found = integrate.solve_ivp(
        lambda t, y: np.array(f(t, list(y)), dtype=float),
        (times[0], times[-1]),
        y0,
        "DOP853",
        times,
        rtol=1e-12,
        atol=1e-13,
    )
    return found.y.T


@pytest.mark.parametrize(("f", "y0"), DETEST, ids=[f.__name__ for f, _ in DETEST])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_problems_of_detest(f, y0, method):
    times = [0.0, 1.0, 5.0, 10.0]
    tight = method != "rodas"
    found = odeint(f, y0, times, method=method, rtol=1e-9 if tight else 1e-6, atol=1e-9 if tight else 1e-6)
    wanted = reference(f, y0, times)
    assert np.abs(np.array(found) - wanted).max() < (2e-6 if tight else 2e-3)
    assert np.array(found[0]).tolist() == y0


def test_tighter_tolerances_give_smaller_errors():
    wanted = reference(e2, [2.0, 0.0], [0.0, 10.0])[-1]
    for method in ADAPTIVE:
        errors = [
            np.abs(np.array(odeint(e2, [2.0, 0.0], [0.0, 10.0], method=method, rtol=tol, atol=tol)[-1]) - wanted).max()
            for tol in (1e-4, 1e-6, 1e-8)
        ]
        assert errors[0] > 8 * errors[1] > 64 * errors[2] > 0.0


def bent(t, y):
    return [y[1] * math.cos(t), -math.sin(y[0]) - 0.3 * t * y[1]]


@pytest.mark.parametrize(("method", "order"), [("dopri5", 5), ("tsit5", 5), ("rodas", 4), ("rk4", 4)])
def test_the_order_of_a_method(method, order):
    wanted = reference(bent, [1.0, 0.2], [0.0, 2.0])[-1]
    errors = []
    for n in (20, 80):
        y, slopes = [1.0, 0.2], bent(0.0, [1.0, 0.2])
        for k in range(n):
            y, slopes, _ = METHODS[method].step(bent, k * 2.0 / n, y, 2.0 / n, slopes)
        errors.append(np.linalg.norm(np.array(y) - wanted))
    assert order - 0.6 < 0.5 * np.log2(errors[0] / errors[1]) < order + 1.0


@pytest.mark.parametrize(("method", "order"), [("verlet", 2), ("yoshida4", 4)])
def test_symplectic_methods_have_their_order_and_keep_the_energy(method, order):
    def pendulum(t, y):
        return [y[1], -math.sin(y[0])]

    wanted = reference(pendulum, [1.0, 0.2], [0.0, 2.0])[-1]
    errors = [
        np.linalg.norm(np.array(odeint(pendulum, [1.0, 0.2], [0.0, 2.0], method=method, steps=n)[-1]) - wanted)
        for n in (40, 80)
    ]
    assert order - 0.3 < np.log2(errors[0] / errors[1]) < order + 0.3

    def energy(y):
        return 0.5 * y[1] ** 2 - plain.cos(y[0])

    late = odeint(pendulum, [1.0, 0.2], [0.0, 200.0], method=method, steps=2000)[-1]
    assert energy(late) == pytest.approx(energy([1.0, 0.2]), rel=5e-3)


def test_a_stiff_equation_is_solved_in_few_steps():
    calls = []

    def van_der_pol(t, y):
        calls.append(t)
        return [y[1], 1000.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]

    found = odeint(van_der_pol, [2.0, 0.0], [0.0, 1.0], method="rodas", rtol=1e-7, atol=1e-9)[-1]
    wanted = integrate.solve_ivp(
        lambda t, y: [y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]],
        (0, 1),
        [2.0, 0.0],
        "Radau",
        rtol=1e-10,
        atol=1e-12,
    ).y[:, -1]
    assert found == pytest.approx(wanted, rel=1e-6)
    assert len(calls) < 1000


def test_backwards_in_time_and_times_that_are_equal():
    found = odeint(lambda t, y: -y, 1.0, [0.0, 1.0, 1.0, 0.0, -1.0])
    assert found == pytest.approx([1.0, plain.exp(-1), plain.exp(-1), 1.0, plain.e], rel=1e-7)
    assert found[1] == found[2]


def exact(t0, t1, y):
    return y * math.exp(math.cos(t0) - math.cos(t1))


@pytest.mark.parametrize("method", [*ADAPTIVE, "rk4"])
def test_derivatives_by_times_and_the_start(method):
    options = {"steps": 200} if method == "rk4" else {"rtol": 1e-10, "atol": 1e-10}

    def solved(t0, t1, y):
        return odeint(lambda t, y: math.sin(t) * y, y, [t0, t1], method=method, **options)[-1]

    point = (0.3, 2.0, 1.5)
    for i in range(3):
        assert grad(solved, i)(*point) == pytest.approx(grad(exact, i)(*point), rel=1e-7)
        for j in range(3):
            wanted = grad(grad(exact, i), j)(*point)
            assert grad(grad(solved, i), j)(*point) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_the_derivative_by_an_end_at_the_start_is_the_slope():
    def solved(t):
        return odeint(lambda s, y: -s * y, 3.0, [2.0, t])[-1]

    assert grad(solved)(2.0) == pytest.approx(-6.0)
    assert grad(grad(solved))(2.0) == pytest.approx(9.0)


def volterra(a):
    return odeint(lambda t, y: [a * y[0] - y[0] * y[1], y[0] * y[1] - y[1]], [1.0, 0.5], [0.0, 3.0, 7.0])[-1][0]


def difference(f, x, h=1e-4):
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)


def test_derivatives_by_a_parameter_beside_differences():
    def sharp(a):
        return integrate.solve_ivp(
            lambda t, y: [a * y[0] - y[0] * y[1], y[0] * y[1] - y[1]],
            (0, 7),
            [1.0, 0.5],
            "DOP853",
            rtol=1e-13,
            atol=1e-13,
        ).y[0, -1]

    assert volterra(1.5) == pytest.approx(sharp(1.5), rel=1e-6)
    assert grad(volterra)(1.5) == pytest.approx(difference(sharp, 1.5), rel=1e-5)
    assert grad(grad(volterra))(1.5) == pytest.approx(difference(grad(volterra), 1.5), rel=1e-3)


def test_a_stiff_method_has_derivatives():
    def solved(mu):
        return odeint(
            lambda t, y: [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]], [2.0, 0.0], [0.0, 3.0], method="rodas"
        )[-1][0]

    assert grad(solved)(20.0) == pytest.approx(difference(solved, 20.0, 1e-2), rel=1e-4)


@needs_llvm
class TestCompiled:
    def test_jit(self):
        assert jit(volterra)(1.5) == pytest.approx(volterra(1.5), rel=1e-12)
        compiled = jit(value_and_grad(volterra))
        assert compiled(1.2) == pytest.approx(value_and_grad(volterra)(1.2), rel=1e-11)
        assert len(list(compiled.variants)) == 1

    def test_each_row_takes_its_own_steps(self):
        rows = np.array([1.5, 0.2, 6.0])
        mapped = vmap(value_and_grad(volterra))
        values, slopes = mapped(rows)
        for k, a in enumerate(rows):
            assert (values[k], slopes[k]) == pytest.approx(value_and_grad(volterra)(float(a)), rel=1e-9)
            assert mapped(rows[k : k + 1])[0][0] == values[k]
        assert len(list(mapped.variants)) == 1

    def test_many_times_are_a_loop(self):
        def total(a, times):
            return sum(y[0] for y in odeint(b1, [a, 3.0], times, rtol=1e-6, atol=1e-6))

        compiled, times = jit(total), np.linspace(0.0, 2.0, 40)
        assert compiled(1.0, times) == pytest.approx(total(1.0, times.tolist()), rel=1e-10)
        assert len(compiled.tape(1.0, times)) < 2000

    def test_an_event_of_each_row(self):
        mapped = vmap(value_and_grad(landing))
        speeds = np.array([3.0, 5.0, 9.0])
        values, slopes = mapped(speeds)
        for k, v in enumerate(speeds):
            assert (values[k], slopes[k]) == pytest.approx(value_and_grad(landing)(float(v)), rel=1e-9)
        assert len(list(mapped.variants)) == 1


def fall(speed):
    """A ball that is thrown up, with drag."""
    return odeint_event(
        lambda t, y: [y[1], -9.81 - 0.1 * y[1]], [0.0, speed], 0.0, 10.0, lambda t, y: y[0], direction=-1,
        rtol=1e-11, atol=1e-11,
    )  # fmt: skip


def landing(speed):
    return fall(speed)[0]


def speed_at_the_landing(speed):
    return fall(speed)[1][1]


def exact_landing(speed):
    import mpmath

    g, k = mpmath.mpf("9.81"), mpmath.mpf("0.1")
    return mpmath.findroot(lambda t: (speed + g / k) / k * (1 - mpmath.exp(-k * t)) - g * t / k, 2 * speed / g)


def test_the_time_of_an_event_and_its_derivatives_beside_mpmath():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(30):
        assert landing(5.0) == pytest.approx(float(exact_landing(5)), rel=1e-9)
        f = landing
        for order in (1, 2, 3):
            f = grad(f)
            assert f(5.0) == pytest.approx(float(mpmath.diff(exact_landing, 5, order)), rel=1e-6)

        def exact_speed(v):
            t = exact_landing(v)
            return (v + mpmath.mpf("98.1")) * mpmath.exp(-t / 10) - mpmath.mpf("98.1")

        for order, f in (
            (0, speed_at_the_landing),
            (1, grad(speed_at_the_landing)),
            (2, grad(grad(speed_at_the_landing))),
        ):
            assert f(5.0) == pytest.approx(float(mpmath.diff(exact_speed, 5, order)), rel=1e-6)
    assert fall(5.0)[1][0] == pytest.approx(0.0, abs=1e-12)


def test_events_that_rise_and_fall_and_never_come():
    def wave(direction, t1=10.0):
        return odeint_event(lambda t, y: [y[1], -y[0]], [1.0, 0.0], 0.0, t1, lambda t, y: y[0], direction=direction)

    assert wave(0)[0] == wave(-1)[0] == pytest.approx(plain.pi / 2)
    assert wave(1)[0] == pytest.approx(1.5 * plain.pi)
    assert wave(1)[1] == pytest.approx([0.0, 1.0], abs=1e-7)
    t, y = wave(1, 2.0)
    assert plain.isnan(t) and all(map(plain.isnan, y))
    backwards = odeint_event(lambda t, y: -y, 1.0, 0.0, -3.0, lambda t, y: y - 2.0)
    assert backwards == pytest.approx((-plain.log(2.0), 2.0))


def test_what_cannot_be_solved_is_nan():
    assert plain.isnan(odeint(lambda t, y: y * y, 1.0, [0.0, 1.5])[-1])  # infinite at t = 1
    assert plain.isnan(odeint(lambda t, y: y, 1.0, [0.0, 1.5], max_steps=3)[-1])


def test_wrong_options_are_errors():
    with pytest.raises(ValueError, match="no method 'euler'"):
        odeint(lambda t, y: y, 1.0, [0.0, 1.0], method="euler")
    with pytest.raises(TypeError, match="give steps="):
        odeint(lambda t, y: y, 1.0, [0.0, 1.0], method="rk4")
    with pytest.raises(ValueError, match="the first of its times"):
        odeint(lambda t, y: y, 1.0, [])
    with pytest.raises(ValueError, match="returns 1 numbers for 2"):
        odeint(lambda t, y: [y[0]], [1.0, 2.0], [0.0, 1.0])
    with pytest.raises(TypeError, match="not steps="):
        odeint(lambda t, y: y, 1.0, [0.0, 1.0], steps=10)


def test_values_of_both_engines_get_the_gradient(twin):
    solvers = importlib.import_module("micrograd.solvers")
    a = twin.Value(0.5)
    solvers.odeint(lambda t, y: -a * y, 1.0, [0.0, 2.0])[-1].backward()
    assert a.grad == pytest.approx(-2.0 * plain.exp(-1.0), rel=1e-6)
    a.grad = 0.0
    t, _ = solvers.odeint_event(lambda t, y: -a * y, 1.0, 0.0, 5.0, lambda t, y: y - 0.5)
    t.backward()
    assert a.grad == pytest.approx(-plain.log(2.0) / 0.25, rel=1e-6)


def test_a_dense_solution():
    for method in ADAPTIVE:
        y = odeint_dense(lambda t, y: [y[1], -y[0]], [1.0, 0.0], 0.0, 5.0, method=method, knots=9)
        back = odeint_dense(lambda t, y: [y[1], -y[0]], [1.0, 0.0], 0.0, -5.0, method=method)
        for t in (0.0, 0.3, 2.5, 4.9, 5.0):
            assert y(t) == pytest.approx([plain.cos(t), -plain.sin(t)], abs=2e-6)
            assert back(-t) == pytest.approx([plain.cos(t), plain.sin(t)], abs=2e-6)
        assert grad(lambda t: y(t)[0])(3.3) == pytest.approx(-plain.sin(3.3), rel=1e-5)  # noqa: B023
        assert grad(grad(lambda t: y(t)[0]))(3.3) == pytest.approx(-plain.cos(3.3), rel=1e-5)  # noqa: B023
