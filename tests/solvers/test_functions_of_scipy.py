"""Splines, interpolation, quadrature and roots of SciPy's, in functions that are differentiated and compiled."""

from __future__ import annotations

import inspect
import math
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

from micrograd import TraceError, engine, grad, jit, value_and_grad, vmap
from micrograd.testing import check

np = pytest.importorskip("numpy")
interpolate = pytest.importorskip("scipy.interpolate")
integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")
pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")
COMPILES = True

X = np.linspace(0.0, 5.0, 12)
Y = np.sin(X) + 0.1 * X**2
Z = np.sin(X)[:, None] * np.cos(X[:9])[None, :]
CURVE = interpolate.splrep(X, Y)
ROUGH = interpolate.splrep(X, Y, k=2, s=0.1)
PLACES = np.repeat(X, 9), np.tile(X[:9], 12)
SURFACE = interpolate.bisplrep(*PLACES, Z.ravel(), s=0.01)
RECTANGLE = interpolate.RectBivariateSpline(X, X[:9], Z)
CUBIC = interpolate.CubicSpline(X, Y)
PERIODIC = interpolate.CubicSpline(X, [*Y[:-1], Y[0]], bc_type="periodic")
BOTH = interpolate.CubicSpline(X, np.stack([Y, Y * Y], axis=1))
LINES = interpolate.interp1d(X, Y)
FILLED = interpolate.interp1d(X, Y, bounds_error=False, fill_value=(7.0, 8.0))
GOING_ON = interpolate.interp1d(X, Y, fill_value="extrapolate")
CUBES = interpolate.interp1d(X, Y, kind="cubic")
GRID = interpolate.RegularGridInterpolator((X, X[:9]), Z)

FUNCTIONS = {
    "splev": (lambda x: float(interpolate.splev(x, CURVE)) * x, (1.3,)),
    "splev, a derivative": (lambda x: float(interpolate.splev(x * x, ROUGH, der=1)), (1.3,)),
    "splev, going on outside": (lambda x: float(interpolate.splev(x, CURVE)), (6.3,)),
    "splev, 0 outside": (lambda x: float(interpolate.splev(x, CURVE, ext=1)) + x, (6.3,)),
    "splev, constant outside": (lambda x: float(interpolate.splev(x, CURVE, ext=3)) + x, (-0.3,)),
    "splev of an array": (lambda x: np.sum(interpolate.splev(np.array([x, 2.0 * x, 1.0]), CURVE)), (1.3,)),
    "bisplev": (lambda x, y: float(interpolate.bisplev(x, y, SURFACE)), (1.3, 2.2)),
    "bisplev, derivatives": (lambda x, y: float(interpolate.bisplev(x, y, SURFACE, dx=1, dy=2)), (1.3, 2.2)),
    "bisplev on a grid": (lambda x, y: np.sum(interpolate.bisplev([x, 2.0 * x], [y, 3.0], SURFACE)), (1.3, 2.2)),
    "bisplev outside": (lambda x, y: float(interpolate.bisplev(x, y, SURFACE)) + x, (9.3, 2.2)),
    "RectBivariateSpline": (lambda x, y: float(RECTANGLE(x, y)[0, 0] + RECTANGLE.ev(x, y)), (1.3, 2.2)),
    "CubicSpline": (lambda x: CUBIC(x) * CUBIC(x, 1) + CUBIC.derivative()(x), (1.3,)),
    "CubicSpline in math": (lambda x: math.exp(CUBIC(x)), (1.3,)),
    "CubicSpline outside": (lambda x: float(CUBIC(x)), (-1.3,)),
    "CubicSpline, periodic": (lambda x: float(PERIODIC(x)), (8.3,)),
    "CubicSpline of two curves": (lambda x: np.sum(BOTH(x) * np.array([1.0, 2.0])), (1.3,)),
    "PchipInterpolator": (interpolate.PchipInterpolator(X, Y), (1.3,)),
    "Akima1DInterpolator": (interpolate.Akima1DInterpolator(X, Y), (1.3,)),
    "UnivariateSpline": (interpolate.UnivariateSpline(X, Y, s=0.01), (1.3,)),
    "make_interp_spline": (interpolate.make_interp_spline(X, Y), (1.3,)),
    "interp1d": (lambda x: float(LINES(x)) * x, (1.3,)),
    "interp1d, filled": (lambda x: float(FILLED(x)) + x, (11.3,)),
    "interp1d, going on": (lambda x: float(GOING_ON(x)), (11.3,)),
    "interp1d, cubic": (lambda x: float(CUBES(x)), (1.3,)),
    "RegularGridInterpolator": (lambda x, y: float(GRID([x, y])[0]), (1.3, 2.2)),
    "KroghInterpolator": (interpolate.KroghInterpolator(X[:5], Y[:5]), (1.3,)),
    "quad": (lambda a: integrate.quad(lambda x: math.exp(-a * x * x), 0.0, a)[0], (1.3,)),
    "quad without ends": (lambda a: integrate.quad(lambda x: math.exp(-a * x * x), -math.inf, math.inf)[0], (1.3,)),
    "quad with arguments": (lambda a: integrate.quad(lambda x, k: np.exp(-k * x), 0, 1, args=(a,))[0], (1.3,)),
    "quad, infinite at an end": (
        lambda a: integrate.quad(lambda x: math.cos(a * x) / math.sqrt(x), 0.0, 1.0)[0],
        (1.3,),
    ),
    "dblquad": (lambda a: integrate.dblquad(lambda y, x: a * x * y, 0, 1, 0, lambda x: x)[0], (1.3,)),
    "brentq": (lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 5.0), (1.3,)),
    "brenth": (lambda a: optimize.brenth(lambda x: math.cos(x) - a * x, 0.0, 5.0), (1.3,)),
    "bisect": (lambda a: optimize.bisect(lambda x, k: math.cos(x) - k * x, 0.0, 5.0, args=(a,)), (1.3,)),
    "root_scalar": (lambda a: optimize.root_scalar(lambda x: math.cos(x) - a * x, bracket=(0.0, 5.0)).root, (1.3,)),
    "newton": (lambda a: optimize.newton(lambda x: math.cos(x) - a * x, 0.5), (1.3,)),
    "a bracket alone": (lambda a: optimize.brentq(lambda x: x * x - 2.0, 0.0, a) * a, (1.8,)),
    "numbers beside": (lambda x: x * float(CUBIC(2.0) + LINES(1.0) + integrate.quad(math.sin, 0, 1)[0]), (1.3,)),
}


OFTEN = ("splev", "bisplev", "CubicSpline in math", "interp1d", "quad", "brentq")  # the others in all ways take minutes


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_scipy_takes_values(name):
    f, args = FUNCTIONS[name]
    report = check(f, args, order=2, ways=("eager value", "eager gradient", "second derivative"))
    assert report.ok and not report.of("refused") and not report.of("kink"), str(report)


@pytest.mark.parametrize("name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in FUNCTIONS])
def test_a_function_of_scipy_is_compiled(name):
    f, args = FUNCTIONS[name]
    report = check(f, args, rows=3)
    assert report.ok and not report.of("refused") and not report.of("kink"), str(report)


EQUATIONS = {
    "fsolve": lambda a: optimize.fsolve(lambda v: [v[0] * v[0] - a], [1.0])[0],
    "fsolve with slopes": lambda a: optimize.fsolve(lambda v: v * v - a, [1.0], fprime=lambda v: np.array([[2.0 * v[0]]]))[0],
    "root": lambda a: optimize.root(lambda v: [v[0] ** 2 + v[1] ** 2 - 2.0 * a, v[0] - v[1]], [1.0, 0.5]).x[0],
}  # fmt: skip


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_have_the_derivatives_of_the_solution(name):
    f = EQUATIONS[name]
    assert value_and_grad(f)(2.0) == pytest.approx((math.sqrt(2.0), 0.5 / math.sqrt(2.0)), rel=1e-9)
    assert grad(grad(f))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-9)
    for way in (jit(f), jit(grad(f)), lambda x: vmap(grad(f))(np.array([x, x]))):
        with pytest.raises(TraceError, match=r"micrograd.solvers.root"):
            way(2.0)


def test_roots_are_those_of_scipy_to_the_bit():
    several = lambda x: math.sin(5.0 * x) + 0.1 * x  # noqa: E731
    for solve in (optimize.brentq, optimize.brenth, optimize.bisect):
        value, _ = value_and_grad(lambda a, solve=solve: solve(lambda x: several(x) - a, -7.0, 8.2))(0.05)
        assert value == solve(lambda x: several(x) - 0.05, -7.0, 8.2)
    with pytest.raises(ValueError, match="different signs"):
        grad(lambda a: optimize.brentq(lambda x: x * x + a, 0.0, 1.0))(1.0)
    with pytest.raises(RuntimeError, match="converge"):
        grad(lambda a: optimize.brentq(lambda x: math.exp(x) - a, -9.0, 9.0, maxiter=2))(2.0)
    found = grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 5.0, full_output=True)[0])(4.0)
    assert found == pytest.approx(0.25, rel=1e-12)


def test_errors_of_scipy_stay_errors():
    with pytest.raises(ValueError, match="domain"):
        grad(lambda x: float(interpolate.splev(x, CURVE, ext=2)))(9.0)
    with pytest.raises(ValueError, match="range"):
        grad(lambda x: float(LINES(x)))(9.0)
    with pytest.raises((TraceError, TypeError), match="Value"):
        grad(lambda a: optimize.ridder(lambda x: x * x - a, 0.0, 5.0))(2.0)
    inside = interpolate.CubicSpline(X, Y, extrapolate=False)
    assert math.isnan(grad(lambda x: float(inside(x)))(9.0))


def test_numbers_and_values_outside_of_transforms_go_on_as_before():
    assert grad(FUNCTIONS["splev"][0])(1.3)
    assert interpolate.splev(1.3, CURVE).dtype == float and CUBIC(np.array([1.0, 2.0])).dtype == float
    assert integrate.quad(math.sin, 0.0, 1.0)[0] == pytest.approx(1.0 - math.cos(1.0), rel=1e-14)
    assert list(inspect.signature(integrate.quad).parameters)[:4] == ["func", "a", "b", "args"]
    assert inspect.getsource(integrate.quad).startswith(("def quad", "@"))
    assert pickle.loads(pickle.dumps(integrate.quad)) is integrate.quad
    assert integrate.quad.__doc__ and integrate.quad.__defaults__
    with pytest.raises(TypeError, match="missing"):
        optimize.brentq(math.sin)


def test_threads_meet_a_function_of_scipy_for_the_first_time_together():
    program = """
        import sys, threading
        sys.setswitchinterval(1e-6)
        from scipy import interpolate, optimize
        from micrograd import grad, value_and_grad
        curve = interpolate.CubicSpline([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 8.0, 64.0])
        code, start, found = optimize.brentq.__code__, threading.Barrier(8), []
        def run(k):
            start.wait()
            try:
                if k % 2:  # eager Python, and numbers beside it
                    found.append((grad(lambda x: float(curve(x)))(3.0), grad(grad(lambda x: float(curve(x))))(3.0)))
                else:
                    root = value_and_grad(lambda a: optimize.brentq(lambda t: t * t - a, 0.0, 9.0))
                    found.append((root(9.0), float(curve(3.0))))
            except Exception as error:
                found.append(repr(error))
        threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        for x in sorted(map(str, found)): print(x)
        again = optimize.brentq.__code__
        assert again is not code and (again.co_name, again.co_filename) == (code.co_name, code.co_filename)
        grad(lambda a: optimize.bisect(lambda t: t * t - a, 0.0, 9.0))(9.0)
        assert optimize.brentq.__code__ is again
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=os.environ, check=True
    )
    rows = found.stdout.splitlines()
    assert len(rows) == 8 and len(set(rows)) == 2, found.stdout
    assert [eval(row) for row in (rows[0], rows[-1])] == [
        ((pytest.approx(3.0), pytest.approx(1.0 / 6.0)), pytest.approx(27.0)), (pytest.approx(27.0), pytest.approx(18.0))
    ]  # fmt: skip


@pytest.mark.parametrize(
    "way", ["grad(f)(3.0)", "jit(grad(f))(3.0)", "grad(f)(Value(3.0)).data", "vmap(grad(f))([3.0])[0]"]
)
def test_a_function_that_imports_scipy_itself(way):
    program = f"""
        import sys
        from micrograd import Value, grad, jit, vmap
        def f(x):
            from scipy.interpolate import CubicSpline
            return float(CubicSpline([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 8.0, 64.0])(x))
        assert "scipy" not in sys.modules
        print({way})
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=os.environ, check=True
    )
    assert [float(x) for x in found.stdout.split()] == pytest.approx([27.0], rel=1e-12)
