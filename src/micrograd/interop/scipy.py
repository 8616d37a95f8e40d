"""minimize, least_squares and root: SciPy's solvers on compiled values, gradients, Hessians and products with them.

>>> from micrograd import minimize
>>> def rosenbrock(x):
...     return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2
>>> [round(float(v), 6) for v in minimize(rosenbrock, [-1.2, 1.0]).x]
[1.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from micrograd import install
from micrograd.compile.jit import jit
from micrograd.jacobians import hessian, jacobian
from micrograd.transforms import hvp, value_and_grad
from micrograd.tree import flatten, name_of, unflatten, wants_function
from micrograd.typed import Minimum, P, Zeros

K = TypeVar("K")
X = TypeVar("X")
Method = str | Callable[..., Any] | None  # a name of SciPy's, or a solver of one's own

PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")  # methods that take Hessian times vector
HESSIANS = ("dogleg", "trust-exact")  # methods that want the whole Hessian
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")


def _optimize() -> Any:
    return install.require("scipy.optimize", "a call of minimize, least_squares or root", "scipy", "scipy")


class _Problem:
    """A function of a structure of numbers, as a function of a flat array."""

    def __init__(
        self, f: Callable[..., Any], x0: Any, args: Any, options: dict[str, Any], kwargs: dict[str, Any] | None = None
    ) -> None:
        import numpy as np

        wants_function(f, "solve")
        if "jac" in options:
            raise TypeError(
                "jac is not an option here: the derivatives are compiled from the function itself\n"
                "  To use your own, give the function a rule (micrograd.custom_vjp), or call scipy.optimize directly."
            )
        self.np, self.f = np, f
        self.args = args if isinstance(args, tuple) else (args,)  # as SciPy takes them

        named = kwargs or {}

        def value(x: Any) -> Any:
            return f(self.at(x), *self.args, **named)

        value.__name__ = value.__qualname__ = name_of(f)
        self.value = value  # f of a list of numbers or Values
        self.leaves: list[Any] = []
        self.shape = flatten(x0, self.leaves)
        if not self.leaves:
            raise TypeError(f"x0 holds no real numbers to start from: {x0!r}")
        self.start = np.array([float(x) for x in self.leaves])

    def at(self, x: Any) -> Any:
        """The argument that f is called with."""
        return unflatten(self.shape, iter(list(x)))

    def finish(self, result: Any) -> Any:
        """SciPy's result, with x arranged as x0 was."""
        if self.shape[0] != "array" or len(self.shape[1]) != 1:
            result.x = self.at([float(v) for v in result.x])
        return result


@overload
def minimize(
    f: Callable[P, Any], x0: list[float], args: Any = (), method: Method = None, **options: Any
) -> Minimum[list[float]]: ...
@overload
def minimize(
    f: Callable[P, Any], x0: float, args: Any = (), method: Method = None, **options: Any
) -> Minimum[float]: ...
@overload
def minimize(
    f: Callable[P, Any], x0: dict[K, float], args: Any = (), method: Method = None, **options: Any
) -> Minimum[dict[K, float]]: ...
@overload
def minimize(f: Callable[P, Any], x0: X, args: Any = (), method: Method = None, **options: Any) -> Minimum[X]: ...
def minimize(f: Callable[P, Any], x0: Any, args: Any = (), method: Method = None, **options: Any) -> Any:
    """Minimise f from x0 by `scipy.optimize.minimize`, with compiled derivatives.

    x0 is a number, an array, or a nested list, tuple or dict of numbers, and so is `result.x`. The gradient is always given;
    methods that use second derivatives get a compiled Hessian, or products of the Hessian with a vector. All other options
    are SciPy's: `bounds`, `constraints`, `tol`, `callback`, `options`.

    >>> from micrograd import minimize
    >>> found = minimize(lambda p: (p["a"] - 3.0) ** 2 + (p["b"] + 1.0) ** 2, {"a": 0.0, "b": 0.0}, method="trust-exact")
    >>> {name: round(x, 6) for name, x in found.x.items()}
    {'a': 3.0, 'b': -1.0}
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options)
    name = method.lower() if isinstance(method, str) else ""
    np = problem.np
    if name not in WITHOUT_GRADIENT:
        both = jit(value_and_grad(problem.value), wait=True)

        def with_gradient(x: Any) -> tuple[float, Any]:
            value, slope = both(x.tolist())
            return float(value), np.array(slope, dtype=float)

        options["jac"] = True
        run: Callable[[Any], Any] = with_gradient
    else:
        only = jit(problem.value, wait=True)
        run = lambda x: float(only(x.tolist()))  # noqa: E731
    if name in PRODUCTS and "hess" not in options and "hessp" not in options:
        product = jit(lambda x, p: hvp(problem.value, (x,), (p,)), wait=True)
        options["hessp"] = lambda x, p: np.array(product(x.tolist(), p.tolist()), dtype=float)
    elif name in HESSIANS and "hess" not in options:
        second = jit(hessian(problem.value), wait=True)
        options["hess"] = lambda x: np.array(second(x.tolist()), dtype=float)
    return problem.finish(optimize.minimize(run, problem.start, method=method, **options))


def least_squares(
    f: Callable[P, Any], x0: X, args: Any = (), *, kwargs: dict[str, Any] | None = None, **options: Any
) -> Zeros[X]:
    """Minimise the sum of squares of the numbers that f returns, by `scipy.optimize.least_squares`, with a compiled Jacobian.

    >>> from micrograd import least_squares
    >>> line = least_squares(lambda p: [p[0] * x + p[1] - y for x, y in [(0, 1), (1, 3), (2, 5)]], [0.0, 0.0])
    >>> [round(float(v), 6) for v in line.x]
    [2.0, 1.0]
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options, kwargs)
    residuals, slopes = _vector(problem)
    found: Zeros[X] = problem.finish(optimize.least_squares(residuals, problem.start, jac=slopes, **options))
    return found


def root(f: Callable[P, Any], x0: X, args: Any = (), method: str = "hybr", **options: Any) -> Zeros[X]:
    """Find where all numbers that f returns are zero, by `scipy.optimize.root`, with a compiled Jacobian.

    >>> from micrograd import math, root
    >>> [round(float(v), 6) for v in root(lambda x: [x[0] * x[0] - 2.0, x[1] - math.exp(x[0] - x[0])], [1.0, 0.0]).x]
    [1.414214, 1.0]
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options)
    residuals, slopes = _vector(problem)
    jac = slopes if method.lower() in ("hybr", "lm") else None
    found: Zeros[X] = problem.finish(optimize.root(residuals, problem.start, method=method, jac=jac, **options))
    return found


def _vector(problem: _Problem) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The numbers that f returns as an array, and their Jacobian."""
    np = problem.np

    def flat(x: Any) -> list[Any]:
        leaves: list[Any] = []
        flatten(problem.value(x), leaves)
        return leaves

    flat.__name__ = flat.__qualname__ = problem.value.__name__
    values, slopes = jit(flat, wait=True), jit(jacobian(flat), wait=True)
    return (
        lambda x: np.array(values(x.tolist()), dtype=float),
        lambda x: np.array(slopes(x.tolist()), dtype=float).reshape(-1, len(x)),
    )


__all__ = ["least_squares", "minimize", "root"]
