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
from micrograd.compile.kept import Transform, kept
from micrograd.errors import TraceError
from micrograd.jacobians import jacobian
from micrograd.math import dot, stop_gradient
from micrograd.objects import flatten_object
from micrograd.solvers.implicit import at_solution
from micrograd.tape.trace import is_tracing, peek
from micrograd.transforms import grad, hvp, value_and_grad
from micrograd.tree import NUMBER, as_floats, flatten, has_values, name_of, unflatten, wants_function
from micrograd.typed import Fit, Minimum, P, Zeros

K = TypeVar("K")
X = TypeVar("X")
Method = str | Callable[..., Any] | None  # a name of SciPy's, or a solver of one's own

PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")  # methods that take Hessian times vector
HESSIANS = ("dogleg", "trust-exact")  # methods that want the whole Hessian
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")


def _optimize() -> Any:
    return install.require("scipy.optimize", "a call of minimize, least_squares or root", "scipy", "scipy")


def _stays(x: float, bound: tuple[Any, Any], slope: float, bend: float) -> bool:
    """Whether a variable is held by one of its bounds: Newton's step would leave them. Interior methods end before a bound."""
    low, high = bound
    if x in bound:
        return True
    there = x - slope / bend if bend > 0.0 else x
    return (low is not None and there < low) or (high is not None and there > high)


class _Problem:
    """A function of a structure of numbers, as a function of a flat array; its derivatives are compiled once, and kept."""

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
        self.kwargs = kwargs or {}
        if not _told_apart(
            (self.args, self.kwargs)
        ):  # then they belong to the function, which is compiled for this call
            self.f, self.args, self.kwargs = _bound(f, self.args, self.kwargs), (), {}
        self.leaves: list[Any] = []
        self.shape = flatten(x0, self.leaves)
        if not self.leaves:
            raise TypeError(f"x0 holds no real numbers to start from: {x0!r}")
        self.start = np.array([float(stop_gradient(x)) for x in self.leaves])
        self.depends = False  # whether results of f are Values of a function that is being differentiated
        kind = self.shape[0]
        flat_list = kind == "list" and self.shape[1].count(NUMBER) == len(self.leaves)
        self.at: Callable[[Any], Any]  # the argument that f is called with, of a flat array
        if flat_list:
            self.at = lambda x: x.tolist()
        elif kind == "array":
            self.at = lambda x: x.reshape(self.shape[1])
        else:
            self.at = lambda x: unflatten(self.shape, iter(x.tolist()))

    def call(self, name: str, transform: Transform | None = None) -> Callable[..., Any]:
        """The kept kernel of that name, as a function of flat arrays."""
        kernel, args, kwargs = kept(self.f, name, transform), self.args, self.kwargs
        return lambda *x: kernel(*map(self.at, x), *args, **kwargs)

    def numbers(self, found: Any) -> Any:
        """The numbers in a result of f as a flat array."""
        if type(found) is self.np.ndarray and found.dtype == float:
            return found.ravel()
        leaves: list[Any] = []
        flatten(found, leaves)
        if not has_values(leaves):
            return self.np.array(as_floats(leaves), dtype=float)
        if is_tracing():
            self.depends = True
            return self.np.array([self.number(x) for x in leaves])
        return self.np.array(peek(leaves), dtype=float)

    def number(self, found: Any) -> float:
        """One number. In a function that is compiled, to take it out of a Value is an error."""
        if is_tracing() and has_values([found]):
            self.depends = True
            return float(stop_gradient(found))
        return float(found)

    def finish(self, result: Any) -> Any:
        """SciPy's result, with x arranged as x0 was."""
        if self.shape[0] != "array" or len(self.shape[1]) != 1:
            result.x = self.at(self.np.array([float(v) for v in result.x]))
        return result

    def connected(self, result: Any, equation: Callable[[Any], list[Any]], bounds: Any = None) -> Any:
        """SciPy's result with Values as solution, whose derivatives are those that equation(x) = 0 gives.

        A variable that stands at one of its bounds stays there. What else SciPy has computed would be numbers without
        derivatives, and is left out.
        """
        x = result.x.tolist()
        at_bound = [False] * len(x)
        if bounds is not None:
            bends = [peek(row)[i] for i, row in enumerate(jacobian(equation)(x))]
            at_bound = list(map(_stays, x, bounds, peek(equation(x)), bends))

        def free(v: list[Any]) -> list[Any]:
            return [a - b if still else g for a, b, g, still in zip(v, x, equation(v), at_bound)]

        keep = ("success", "status", "message", "nit", "nfev", "njev")
        found = type(result)({name: result[name] for name in keep if name in result})
        found.x = self.arranged(at_solution(free, x))
        return found

    def arranged(self, x: list[Any]) -> Any:
        """Numbers or Values as x0 was arranged."""
        return unflatten(self.shape, iter(x))

    def of_list(self, x: list[Any]) -> Any:
        """The result of f, where its numbers are these."""
        return self.f(self.arranged(x), *self.args, **self.kwargs)


def _with_jacobians(optimize: Any, problem: _Problem, constraints: Any) -> Any:
    """SciPy's constraints, with compiled functions and Jacobians where they have none."""
    if not isinstance(constraints, (list, tuple)):
        return _with_jacobian(optimize, problem, constraints)
    return [_with_jacobian(optimize, problem, each) for each in constraints]


def _with_jacobian(optimize: Any, problem: _Problem, constraint: Any) -> Any:
    if isinstance(constraint, dict) and callable(constraint.get("fun")) and constraint.get("jac") is None:
        args = constraint.get("args", ())
        found = _value_and_jacobian(problem, constraint["fun"], args if isinstance(args, tuple) else (args,))
        return constraint if found is None else {**constraint, "fun": found[0], "jac": found[1]}
    if isinstance(constraint, optimize.NonlinearConstraint) and isinstance(constraint.jac, str):
        found = _value_and_jacobian(problem, constraint.fun, ())
        if found is not None:
            same = {name: getattr(constraint, name) for name in ("lb", "ub", "hess", "keep_feasible")}
            return optimize.NonlinearConstraint(found[0], jac=found[1], **same)
    return constraint


def _value_and_jacobian(
    problem: _Problem, f: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The function of a constraint and its Jacobian, which one call of a kernel computes; None where it cannot be compiled."""
    kernel = kept(f, "value and jacobian", _value_beside_jacobian)
    last: list[Any] = [None, None, None]  # the point of the last call, and what it gave

    def at(x: Any) -> list[Any]:
        point = x.tobytes()
        if last[0] != point:
            value, rows = kernel(problem.np.array(x, dtype=float), *args)
            last[:] = point, problem.numbers(value), problem.numbers(rows).reshape(-1, x.size)
        return last

    try:
        at(problem.start)
    except Exception:  # it is written for arrays alone, say: SciPy runs it as it is, and takes finite differences
        return None
    return lambda x, *_: at(x)[1].copy(), lambda x, *_: at(x)[2].copy()


def _value_beside_jacobian(f: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any, *args: Any) -> Any:
        return f(x, *args), jacobian(f)(x, *args)

    both.__qualname__ = name_of(f)
    return both


def _told_apart(arguments: Any) -> bool:
    """Whether calls with other arguments than these can be recognized."""
    try:
        hash(flatten(arguments, [], flatten_object))
    except (TypeError, ValueError):
        return False
    return True


def _bound(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    def bound(x: Any) -> Any:
        return f(x, *args, **kwargs)

    bound.__name__ = bound.__qualname__ = name_of(f)
    return bound


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
    methods that use second derivatives get a compiled Hessian, or products of the Hessian with a vector. Functions in
    `constraints` are compiled with their Jacobians, unless they bring a `jac` of their own. All other options are SciPy's:
    `bounds`, `tol`, `callback`, `options`.

    >>> from micrograd import minimize
    >>> found = minimize(lambda p: (p["a"] - 3.0) ** 2 + (p["b"] + 1.0) ** 2, {"a": 0.0, "b": 0.0}, method="trust-exact")
    >>> {name: round(x, 6) for name, x in found.x.items()}
    {'a': 3.0, 'b': -1.0}
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options)
    name = method.lower() if isinstance(method, str) else ""
    numbers = problem.numbers
    if name not in WITHOUT_GRADIENT:
        both = problem.call("value_and_grad", value_and_grad)

        def with_gradient(x: Any) -> tuple[float, Any]:
            value, slope = both(x)
            return problem.number(value), numbers(slope)

        options["jac"] = True
        if options.get("constraints") and not is_tracing():
            options["constraints"] = _with_jacobians(optimize, problem, options["constraints"])
        run: Callable[[Any], Any] = with_gradient
    else:
        only = problem.call("value")
        run = lambda x: problem.number(only(x))  # noqa: E731
    if name in PRODUCTS and "hess" not in options and "hessp" not in options:
        product = problem.call("hvp", _product)
        options["hessp"] = lambda x, p: numbers(product(x, p))
    elif name in HESSIANS and "hess" not in options:
        second = problem.call("hessian", _rows_of_hessian)
        options["hess"] = lambda x: numbers(second(x)).reshape(len(x), len(x))
    result = optimize.minimize(run, problem.start, method=method, **options)
    if not problem.depends:
        return problem.finish(result)
    if options.get("constraints"):
        raise TraceError(
            "a minimum under constraints has no derivatives here\n"
            "  They would need the constraints as functions of Values, and SciPy calls them with numbers.\n"
            "  Solve the equations of the minimum and its multipliers by micrograd.solvers.root."
        )
    bounds = options.get("bounds")
    found = problem.connected(result, grad(problem.of_list), bounds and _pairs(bounds, len(problem.start)))
    found.fun = problem.f(found.x, *problem.args, **problem.kwargs)
    return found


def _pairs(bounds: Any, n: int) -> list[tuple[Any, Any]]:
    """Bounds as a pair for each variable, from either form that SciPy takes."""
    import numpy as np

    if hasattr(bounds, "lb"):
        return list(zip(np.broadcast_to(bounds.lb, n).tolist(), np.broadcast_to(bounds.ub, n).tolist()))
    return [tuple(pair) for pair in bounds]


def _product(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Hessian of f times a vector, as a function of the point, the vector and the other arguments."""

    def product(x: Any, p: Any, *args: Any, **kwargs: Any) -> Any:
        return hvp(lambda x: f(x, *args, **kwargs), (x,), (p,))

    product.__qualname__ = name_of(f)
    return product


def _rows_of_hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Hessian of f, row by row, whatever the structure of its argument."""
    return jacobian(_flat(grad(f)))


def _flat(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f with its results as a flat list."""

    def flat(*args: Any, **kwargs: Any) -> list[Any]:
        leaves: list[Any] = []
        flatten(f(*args, **kwargs), leaves)
        return leaves

    flat.__name__ = flat.__qualname__ = name_of(f)
    return flat


def least_squares(
    f: Callable[P, Any], x0: X, args: Any = (), *, kwargs: dict[str, Any] | None = None, **options: Any
) -> Fit[X]:
    """Minimise the sum of squares of the numbers that f returns, by `scipy.optimize.least_squares`, with a compiled Jacobian.

    >>> from micrograd import least_squares
    >>> line = least_squares(lambda p: [p[0] * x + p[1] - y for x, y in [(0, 1), (1, 3), (2, 5)]], [0.0, 0.0])
    >>> [round(float(v), 6) for v in line.x]
    [2.0, 1.0]
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options, kwargs)
    residuals, slopes = _vector(problem)
    result = optimize.least_squares(residuals, problem.start, jac=slopes, **options)
    found: Fit[X]
    if not problem.depends:
        found = problem.finish(result)
        return found
    if options.get("loss", "linear") != "linear":
        raise TraceError(
            f"a fit with loss={options['loss']!r} has no derivatives here\n"
            "  SciPy computes this loss, and not the function that is differentiated.\n"
            "  Write the loss as a function, and minimize it."
        )

    def half(x: list[Any]) -> Any:
        errors = _flat(problem.of_list)(x)
        return 0.5 * dot(errors, errors)

    found = problem.connected(result, grad(half), _both_sides(options.get("bounds"), len(problem.start)))
    found.fun = _flat(problem.f)(found.x, *problem.args, **problem.kwargs)
    found.cost = 0.5 * dot(found.fun, found.fun)
    return found


def _both_sides(bounds: Any, n: int) -> list[tuple[Any, Any]] | None:
    """Bounds as a pair for each variable: least_squares takes all lower and all upper ones."""
    import numpy as np

    if bounds is None or hasattr(bounds, "lb"):
        return bounds and _pairs(bounds, n)
    low, high = (np.broadcast_to(side, n).tolist() for side in bounds)
    return list(zip(low, high))


def root(f: Callable[P, Any], x0: X, args: Any = (), method: str = "hybr", **options: Any) -> Zeros[X]:
    """Find where all numbers that f returns are zero, by `scipy.optimize.root`, with a compiled Jacobian.

    >>> from micrograd import math, root
    >>> [round(float(v), 6) for v in root(lambda x: [x[0] * x[0] - 2.0, x[1] - math.exp(x[0] - x[0])], [1.0, 0.0]).x]
    [1.414214, 1.0]
    """
    optimize, problem = _optimize(), _Problem(f, x0, args, options)
    residuals, slopes = _vector(problem)
    jac = slopes if method.lower() in ("hybr", "lm") else None
    result = optimize.root(residuals, problem.start, method=method, jac=jac, **options)
    found: Zeros[X]
    if not problem.depends:
        found = problem.finish(result)
        return found
    found = problem.connected(result, _flat(problem.of_list))
    found.fun = _flat(problem.f)(found.x, *problem.args, **problem.kwargs)
    return found


def _vector(problem: _Problem) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The numbers that f returns as an array, and their Jacobian."""
    values, slopes = problem.call("value"), problem.call("rows", lambda f: jacobian(_flat(f)))
    numbers = problem.numbers
    return (
        lambda x: numbers(values(x)),
        lambda x: numbers(slopes(x)).reshape(-1, len(x)),
    )


__all__ = ["least_squares", "minimize", "root"]
