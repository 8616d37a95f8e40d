"""minimize, least_squares, root, and sparse derivatives, against SciPy alone, SymPy-free closed forms and dense derivatives."""

from __future__ import annotations

from functools import partial

import pytest

from micrograd import (
    TraceError,
    Value,
    grad,
    hessian,
    jacobian,
    jit,
    least_squares,
    math,
    minimize,
    root,
    sparse_hessian,
    sparse_jacobian,
    vmap,
)

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")
pytest.importorskip("llvmlite")


def rosenbrock(x):
    return math.sum([100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1)])


@pytest.mark.parametrize(
    "method",
    [None, "BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg", "Nelder-Mead"],
)
def test_minimize_by_each_method(method):
    start = np.array([0.9, 1.1, 0.95]) if method == "dogleg" else np.array([-1.2, 1.0, 0.5])
    found = minimize(rosenbrock, start, method=method)
    assert found.x == pytest.approx([1.0, 1.0, 1.0], abs=1e-3)
    assert isinstance(found.x, np.ndarray)


def test_options_and_arguments_are_passed_on():
    found = minimize(lambda x, a: (x[0] - a) ** 2, [0.0], args=(5.0,), bounds=[(0.0, 2.0)], options={"maxiter": 50})
    assert found.x == [pytest.approx(2.0)]


def test_the_result_is_arranged_as_the_start():
    found = minimize(lambda p: (p["a"] - 3.0) ** 2 + (p["b"][0] + p["b"][1] - 1.0) ** 2, {"a": 0.0, "b": (0.0, 2.0)})
    assert found.x["a"] == pytest.approx(3.0, abs=1e-5) and sum(found.x["b"]) == pytest.approx(1.0, abs=1e-5)


def test_least_squares_finds_the_parameters_of_a_decay():
    t = [0.1 * i for i in range(30)]
    y = [2.0 * math.exp(-0.7 * s) + 0.3 for s in t]
    found = least_squares(lambda p: [p[0] * math.exp(-p[1] * s) + p[2] - v for s, v in zip(t, y)], [1.0, 1.0, 0.0])
    assert found.x == pytest.approx([2.0, 0.7, 0.3], abs=1e-8)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root(method):
    found = root(lambda x: [x[0] * x[0] + x[1] - 3.0, x[0] - x[1] + 1.0], [1.0, 1.0], method=method)
    assert found.x == pytest.approx([1.0, 2.0], abs=1e-6)


def test_a_start_without_numbers_is_refused():
    with pytest.raises(TypeError, match="x0 holds no real numbers"):
        minimize(rosenbrock, [])


# ---- derivatives of solutions


def by_root(a):
    return root(lambda x: [x[0] * x[1] - a, x[1] - x[0] * x[0]], [1.0, 1.5]).x[0]


def by_root_of_arguments(a):
    return root(lambda x, a: [x["x"] ** 3 - a], {"x": 1.0}, args=(a,)).x["x"]


def by_least_squares(a):
    return least_squares(lambda x: [x[0] ** 3 - a], np.array([1.0])).x[0]


def by_minimize(a):
    return minimize(lambda x: 0.25 * x[0] ** 4 - a * x[0], [1.0 + 0.0 * a], method="trust-exact", tol=1e-10).x[0]


def by_minimize_without_gradient(a):
    return minimize(lambda x: 0.25 * x**4 - a * x, 1.0, method="nelder-mead", tol=1e-9).x


CUBE_ROOTS = [by_root, by_root_of_arguments, by_least_squares, by_minimize, by_minimize_without_gradient]


@pytest.mark.parametrize("f", CUBE_ROOTS)
def test_solutions_in_a_differentiated_function_have_implicit_derivatives(f):
    assert f(8.0) == pytest.approx(2.0, rel=1e-6)
    assert grad(f)(8.0) == pytest.approx(1 / 12, rel=1e-6)
    assert grad(grad(f))(8.0) == pytest.approx(-1 / 144, rel=1e-5)


@pytest.mark.parametrize("f", CUBE_ROOTS)
def test_a_compiled_function_cannot_keep_the_solution_of_its_first_call(f):
    for compiled in (jit(f), jit(grad(f))):
        with pytest.raises(TraceError, match="inside a compiled function"):
            compiled(8.0)
    with pytest.raises(TraceError, match="inside a compiled function"):
        vmap(f)(np.array([8.0, 27.0]))


def test_values_at_the_solution_have_derivatives_too():
    assert grad(lambda a: minimize(lambda x: (x[0] - a) ** 2 + a * a, [0.0]).fun)(3.0) == pytest.approx(6.0)
    assert grad(lambda a: least_squares(lambda x: [x[0] - a, x[0] + a], [1.0]).cost)(3.0) == pytest.approx(6.0)
    with pytest.raises(AttributeError):
        grad(lambda a: minimize(lambda x: (x[0] - a) ** 2, [0.0]).jac[0])(3.0)


def test_a_variable_at_its_bound_has_no_derivative():
    def fit(a, bounds):
        return minimize(lambda x: (x[0] - a) ** 2 + (x[1] - x[0]) ** 2, [0.0, 0.0], bounds=bounds, tol=1e-12).x

    scipys = pytest.importorskip("scipy.optimize").Bounds
    for bounds in ([(0.0, 2.0), (None, None)], scipys([0.0, -9.0], [2.0, 9.0])):
        second = partial(lambda bounds, a: fit(a, bounds)[1], bounds)
        assert grad(second)(1.5) == pytest.approx(1.0, rel=1e-5)
        assert grad(second)(5.0) == 0.0


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "Powell", "trust-constr"])
def test_each_method_that_takes_bounds_knows_where_one_holds(method):
    def inside(a):
        return minimize(lambda x: (x[0] - a) ** 2, [0.5], bounds=[(0.0, 2.0)], method=method, tol=1e-8).x[0]

    assert grad(inside)(1.5) == pytest.approx(1.0) and grad(inside)(3.0) == 0.0


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_fits_with_bounds(method):
    def square_root(a):
        return least_squares(lambda x: [x[0] ** 2 - a], [1.0], bounds=(0.0, [2.0]), method=method).x[0]

    assert grad(square_root)(1.44) == pytest.approx(0.5 / 1.2) and grad(square_root)(9.0) == 0.0


def test_what_has_no_derivative_is_refused():
    with pytest.raises(TraceError, match="under constraints"):
        constraint = {"type": "eq", "fun": lambda x: x[0] - 1.0}
        grad(lambda a: minimize(lambda x: (x[0] - a) ** 2, [0.0], constraints=constraint).x[0])(3.0)
    with pytest.raises(TraceError, match="loss='cauchy'"):
        grad(lambda a: least_squares(lambda x: [x[0] - a, x[0]], [0.0], loss="cauchy").x[0])(3.0)


# ---- sparse


def laplace(u):
    n = len(u)
    return [(u[i - 1] if i else 0.0) - 2.0 * u[i] + (u[i + 1] if i < n - 1 else 0.0) + math.sin(u[i]) for i in range(n)]


def test_a_tridiagonal_jacobian_takes_three_sweeps():
    x = np.linspace(0.0, 1.0, 40)
    J = sparse_jacobian(laplace)
    found = J(x)
    assert J.sweeps == 3 and found.format == "csr" and found.nnz == 118
    assert found.toarray() == pytest.approx(np.array(jacobian(laplace)(list(x))), rel=1e-15, abs=0)


def test_ten_thousand_unknowns_take_three_sweeps():
    J = sparse_jacobian(laplace)
    found = J(np.linspace(0.0, 1.0, 10_000))
    assert J.sweeps == 3 and found.shape == (10_000, 10_000) and found.nnz == 29_998


@pytest.mark.parametrize("seed", range(5))
def test_random_patterns_agree_with_the_dense_jacobian(seed):
    rng = np.random.default_rng(seed)
    picks = [rng.choice(12, size=rng.integers(0, 4), replace=False).tolist() for _ in range(9)]

    def f(x):
        return [math.sum([math.exp(0.1 * x[k]) * x[(k + 1) % 12] for k in ks]) if ks else 1.0 for ks in picks]

    x = rng.normal(size=12).tolist()
    assert sparse_jacobian(f)(x).toarray() == pytest.approx(np.array(jacobian(f)(x)), rel=1e-14)


def test_hessian():
    x = [0.3, -0.5, 1.2, 0.7, -1.0]
    H = sparse_hessian(rosenbrock)
    assert H(x).toarray() == pytest.approx(np.array(hessian(rosenbrock)(x)), rel=1e-13)
    assert H.sweeps == 3


def test_another_path_has_its_own_pattern():
    J = sparse_jacobian(lambda x: [x[0] if x[0] > 0 else x[1]])
    assert J([1.0, 2.0]).indices.tolist() == [0] and J([-1.0, 2.0]).indices.tolist() == [1]


def test_entries_behind_steps_and_stop_gradient_are_none():
    def f(x):
        return [math.floor(x[0]) + x[1], math.stop_gradient(x[0] * x[1]) * x[2], x[1].detach() if x[2] > 9.0 else x[0]]

    J = sparse_jacobian(f)
    assert J([1.5, 2.5, 3.0]).toarray().tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 3.75], [1.0, 0.0, 0.0]]
    assert J.pattern.toarray().tolist() == [[False, True, False], [False, False, True], [True, False, False]]
    assert jit(J)([1.5, 2.5, 3.0]).nnz == 3


def test_the_pattern_and_its_colours_are_found_once_for_each_path(monkeypatch):
    from micrograd import sparse

    coloured, original = [], sparse.colour
    monkeypatch.setattr(sparse, "colour", lambda *args: [coloured.append(1), original(*args)][1])

    def f(x):
        return [x[0] * x[1] if x[0] > 0 else x[1], x[2]]

    J = sparse_jacobian(f)
    with pytest.raises(TypeError, match="has no pattern yet"):
        J.pattern  # noqa: B018
    for x in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [-2.0, 1.0, 0.0]):
        assert J(x).toarray() == pytest.approx(np.array(jacobian(f)(x)))
    assert len(coloured) == 2


def test_compiled_sparse_derivatives():
    rng = np.random.default_rng(0)

    def f(x, scale):
        return [scale * math.sin(x[k]) * x[k + 1] if x[k] > 0 else x[k] + x[k + 1] for k in range(len(x) - 1)]

    J, H = jit(sparse_jacobian(f), wait=True), jit(sparse_hessian(rosenbrock), exact=True, wait=True)
    for _ in range(6):
        x = rng.normal(size=4).tolist()
        found = J(x, 2.0)
        assert found.toarray() == pytest.approx(np.array(jacobian(f)(x, 2.0)), rel=1e-13)
        assert J.pattern.nnz == found.nnz == sparse_jacobian(f)(x, 2.0).nnz
        assert H(x).toarray() == pytest.approx(np.array(hessian(rosenbrock)(x)), rel=1e-13)
    assert H.sweeps == 3
    assert jit(sparse_jacobian(lambda x: [x[0], 5.0]))([1.0]).toarray().tolist() == [[1.0], [0.0]]


def test_a_value_from_outside_is_a_number_in_a_sparse_jacobian():
    w = Value(3.0)
    for J in (sparse_jacobian(lambda x: [w * x[0], x[1]]), jit(sparse_jacobian(lambda x: [w * x[0], x[1]]))):
        assert J([1.0, 2.0]).toarray().tolist() == [[3.0, 0.0], [0.0, 1.0]]


def test_inside_a_compiled_function_it_is_refused():
    with pytest.raises(TraceError, match="a sparse Jacobian is not a number"):
        jit(lambda x: sparse_jacobian(lambda y: [y[0]])([x])[0, 0])(1.0)


class TestWhatIsGivenToSciPy:
    def test_an_argument_that_is_no_tuple_is_one_argument(self):
        assert minimize(lambda x, a: (x[0] - a) ** 2, [0.0], args=3.0).x == pytest.approx([3.0])
        assert root(lambda x, a: [x[0] - a], [0.0], args=3.0).x == pytest.approx([3.0])
        assert least_squares(lambda x, a: [x[0] - a], [0.0], args=3.0).x == pytest.approx([3.0])

    def test_a_solver_of_ones_own_gets_the_gradient(self):
        from scipy.optimize import OptimizeResult

        def descend(fun, x0, args=(), jac=None, **_):
            x = x0
            for _ in range(100):
                x = x - 0.1 * jac(x)
            return OptimizeResult(x=x, fun=fun(x), success=True)

        assert minimize(lambda x: (x[0] - 1.0) ** 2, [0.0], method=descend).x == pytest.approx([1.0])

    @pytest.mark.parametrize("solve", [minimize, least_squares, root])
    @pytest.mark.parametrize("jac", [lambda x: np.zeros(1), True, "2-point"])
    def test_a_gradient_of_ones_own_is_refused_and_not_ignored(self, solve, jac):
        with pytest.raises(TypeError, match=r"jac is not an option here(?s:.*)custom_vjp"):
            solve(lambda x: x[0] ** 2, [1.0], jac=jac)

    @pytest.mark.parametrize("solve", [minimize, least_squares, root])
    def test_errors_name_the_function(self, solve):
        def cost(x):
            return hash(x[0]) * x[0]

        with pytest.raises(TraceError, match=r"so TestWhatIsGivenToSciPy.*cost would not find it"):
            solve(cost, [1.0])
        with pytest.raises(TypeError, match=r"a function to solve is needed, not float: 3\.0"):
            solve(3.0, [1.0])

    def test_names_of_methods_in_capitals(self):
        assert root(lambda x: [x[0] ** 2 - 2.0], [1.0], method="HYBR").njev >= 1


def test_least_squares_hands_on_kwargs_as_scipy_does():
    found = least_squares(
        lambda p, t, y: p[0] * t + p[1] - y, np.zeros(2), kwargs={"t": np.arange(3.0), "y": np.array([1.0, 3.0, 5.0])}
    )
    assert found.x.tolist() == pytest.approx([2.0, 1.0])
    with pytest.raises(TypeError, match="kwargs"):
        minimize(lambda p: p[0] ** 2, [1.0], kwargs={})


class TestKernelsAreKept:
    @pytest.fixture
    def first_calls(self, monkeypatch):
        """The functions that were traced, or interpreted, for a call which no kernel holds for."""
        from micrograd.compile.jit import Jit
        from micrograd.compile.typed import call

        calls, original, variant = [], Jit._first_call, call.Variant.__init__

        def first(self, *args):
            calls.append(self)
            return original(self, *args)

        def typed(self, function, *args):
            calls.append(function)
            variant(self, function, *args)

        monkeypatch.setattr(Jit, "_first_call", first)
        monkeypatch.setattr(call.Variant, "__init__", typed)
        return calls

    @pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact", "Nelder-Mead"])
    def test_minimize_compiles_once(self, first_calls, method):
        def f(x):
            return rosenbrock(x)

        once = minimize(f, [0.5, 0.9], method=method)
        assert first_calls
        first_calls.clear()
        again = minimize(f, [0.5, 0.9], method=method)
        assert first_calls == [] and again.x == once.x
        minimize(f, [0.5, 0.9, 0.7], method=method)  # of another signature: the same kernels, with another variant
        count = len(first_calls)
        minimize(f, [0.4, 0.9, 0.8], method=method)
        assert len(first_calls) == count > 0

    @pytest.mark.parametrize("solve", [least_squares, root])
    def test_and_so_do_the_others_also_with_other_arguments(self, first_calls, solve):
        def f(x, a, scale=1.0):
            return [scale * (x[0] - a[0]), x[1] * x[1] - a[1]]

        assert solve(f, [1.0, 1.0], args=([3.0, 4.0],)).x == pytest.approx([3.0, 2.0])
        first_calls.clear()
        assert solve(f, [1.0, 1.0], args=([-1.0, 9.0],)).x == pytest.approx([-1.0, 3.0])
        assert first_calls == []

    def test_data_in_arrays_are_arguments_too(self, first_calls):
        def line(p, t, y):
            return p[0] * t + p[1] - y

        t = np.linspace(0.0, 1.0, 20)
        assert least_squares(line, np.zeros(2), args=(t, 2.0 * t + 1.0)).x == pytest.approx([2.0, 1.0])
        first_calls.clear()
        assert least_squares(line, np.zeros(2), args=(t, 5.0 * t - 1.0)).x == pytest.approx([5.0, -1.0])
        assert first_calls == []

    def test_a_jit_function_is_used_with_its_options(self):
        from micrograd.compile.kept import kept, owner_of
        from micrograd.transforms import value_and_grad

        f = jit(rosenbrock, exact=True)
        assert kept(f, "value") is f
        derivative = kept(f, "value_and_grad", value_and_grad)
        assert owner_of(derivative).options.exact
        assert minimize(f, [0.5, 0.9], method="BFGS").x == pytest.approx([1.0, 1.0], abs=1e-5)
        assert kept(f, "value_and_grad", value_and_grad) is derivative

    def test_what_wraps_a_function_has_kernels_of_its_own(self):
        import functools

        def f(x):
            return (x[0] - 1.0) ** 2

        @functools.wraps(f)
        def shifted(x):
            return f([x[0] - 1.0])

        assert minimize(f, [0.0]).x == pytest.approx([1.0])
        shifted = functools.wraps(f)(shifted)  # now with the attributes that f has got
        assert minimize(shifted, [0.0]).x == pytest.approx([2.0])

    def test_methods_of_two_objects(self, first_calls):
        class Model:
            def __init__(self, a):
                self.a = a

            def cost(self, x):
                return (x[0] - self.a) ** 2

        one, two = Model(1.0), Model(2.0)
        assert minimize(one.cost, [0.0]).x == pytest.approx([1.0])
        assert minimize(two.cost, [0.0]).x == pytest.approx([2.0])
        first_calls.clear()
        assert minimize(one.cost, [0.0]).x == pytest.approx([1.0])
        assert first_calls == []
        one.a = 5.0
        assert minimize(one.cost, [0.0]).x == pytest.approx([5.0])

    def test_a_list_that_changes_between_calls_is_read_anew(self):
        data = [1.0, 3.0]

        def f(p):
            return [p[0] - y for y in data]

        assert least_squares(f, [0.0]).x == pytest.approx([2.0])
        data.append(8.0)
        assert least_squares(f, [0.0]).x == pytest.approx([4.0])

    def test_arguments_that_cannot_be_told_apart_belong_to_the_function(self):
        assert minimize(lambda x, s: (x[0] - max(s)) ** 2, [0.0], args=({1.0, 2.0},)).x == pytest.approx([2.0])

    def test_they_go_with_the_function_and_stay_out_of_its_pickle(self):
        import gc
        import weakref

        cloudpickle = pytest.importorskip("cloudpickle")
        shift = 3.0

        def f(x):
            return (x[0] - shift) ** 2

        minimize(f, [0.0])
        copy = cloudpickle.loads(cloudpickle.dumps(f))
        assert minimize(copy, [0.0]).x == pytest.approx([3.0])
        alive = weakref.ref(f)
        del f
        gc.collect()
        assert alive() is None
