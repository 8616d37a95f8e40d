"""isinstance, match, numbers.Real and singledispatch take the branch inside a trace that they take for plain numbers."""

from __future__ import annotations

import functools
import linecache
import numbers
import warnings

import pytest

from micrograd import grad
from micrograd.tape import kinds
from random_programs import needs_llvm

pytestmark = needs_llvm


@functools.singledispatch
def dispatched(x):
    return -x


@dispatched.register
def _(x: float):
    return x * x


def by_tuple(x):
    return x * x if isinstance(x, (int, float)) else -x


def by_float(x):
    return x * x if isinstance(x, float) else -x


def by_real(x):
    return x * x if isinstance(x, numbers.Real) else -x


def by_int(x):
    return -x if isinstance(x, int) else x * x


def by_match(x):
    match x:
        case float():
            return x * x
        case _:
            return -x


def by_attribute(x):
    return x * x if x.__class__ is float else -x


def by_helper(x):
    return by_float(x + 1.0) + by_real(x)


def by_result(x):
    y = x * x - 1.0
    return y * y if isinstance(y, float) else -y


def in_a_branch(x):
    if x > 1.0:
        return by_float(x)
    return by_float(2.0 * x)


FUNCTIONS = [dispatched, by_tuple, by_float, by_real, by_int, by_match, by_attribute, by_helper, by_result, in_a_branch]
NUMBERS = [3.0, -0.75]


def central(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", NUMBERS)
def test_the_branch_is_that_of_plain_numbers(twin, f, x):
    from micrograd import grad, jit, value_and_grad

    assert grad(f)(x) == pytest.approx(central(f, x), rel=1e-6)
    assert value_and_grad(f)(x)[0] == f(x)
    assert grad(grad(f))(x) == pytest.approx(central(grad(f), x), rel=1e-6)
    for options in ({"wait": True}, {"exact": True, "wait": True}, {}):
        assert jit(f, **options)(x) == pytest.approx(f(x), rel=1e-15)
        assert jit(grad(f), **options)(x) == pytest.approx(grad(f)(x), rel=1e-15)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_rows_take_the_branch_of_plain_numbers(f):
    np = pytest.importorskip("numpy")
    from micrograd import grad, vmap

    rows = np.array([3.0, -0.75, 1.25, 0.0])
    assert vmap(f)(rows).tolist() == pytest.approx([f(x) for x in rows.tolist()], rel=1e-15)
    assert vmap(grad(f))(rows).tolist() == pytest.approx([grad(f)(x) for x in rows.tolist()], rel=1e-15)


def test_a_whole_number_takes_the_branch_of_a_whole_number_whatever_was_called_before():
    from micrograd import Value, grad, jit

    f = jit(by_int, wait=True)
    assert [f(x) for x in (3.0, 3, 3.0, 3, 4.0)] == [9.0, -3.0, 9.0, -3.0, 16.0]
    assert grad(by_int)(3) == -1.0 and grad(by_int)(3.0) == 6.0
    assert f(Value(3.0)).data == by_int(Value(3.0)).data == 9.0
    g = jit(by_float, wait=True)
    assert [float(getattr(y, "data", y)) for y in (g(3.0), g(Value(3.0)), g(3), g(3.0))] == [9.0, -3.0, -3.0, 9.0]


def test_the_class_of_what_was_computed_from_a_whole_number_is_told_with_a_warning():
    from micrograd import grad

    def f(x):
        return x * 2.0 if isinstance(x * 2, float) else -x

    with pytest.warns(RuntimeWarning, match="computed from a whole number") as caught:
        assert grad(f)(3) == 2.0
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(f)(3.0) == 2.0


def test_a_value_from_outside_stays_a_value(twin):
    from micrograd import Value, grad

    w = Value(2.0)

    def f(x):
        return x * w if isinstance(x * w, float) else x * w * x

    assert float(grad(f)(3.0).data) == 12.0
    assert f(3.0).data == 18.0


def test_values_in_eager_code_are_values(twin):
    x = twin.Value(3.0)
    assert not isinstance(x, (int, float)) and isinstance(x, twin.Value) and x.__class__ is twin.Value
    assert by_float(x).data == -3.0
    assert twin.package.grad(by_float)(x) == -1.0  # as by_float(x) itself


def test_the_package_and_copies_are_told_the_truth(twin):
    import copy
    import pickle

    from micrograd import grad

    def f(x):
        assert isinstance(copy.copy(x), twin.Value) and pickle.dumps(copy.copy)
        return copy.deepcopy(x) * x

    assert grad(f)(3.0) == 6.0


def test_the_class_of_a_value_can_still_be_assigned(twin):
    class Mine(twin.Value):
        pass

    v = Mine(2.0)
    assert v.__class__ is Mine
    v.__class__ = type("Other", (Mine,), {})
    assert type(v).__name__ == "Other" and v.__class__ is type(v)
    with pytest.raises(TypeError):
        v.__class__ = int


def by_type(x):
    return x * x if type(x) is float else -x


def by_subclass(x):
    return x * x if issubclass(type(x), (int, float)) else -x


def through_a_helper(x):
    return by_membership(x) + 1.0


def by_membership(x):
    return x * x if type(x) in (int, float) else -x


@pytest.mark.parametrize("f", [by_type, by_subclass, through_a_helper])
@pytest.mark.parametrize("how", ["grad", "jit", "vmap"])
def test_a_comparison_of_type_is_told_at_its_line(f, how):
    import micrograd
    from micrograd.tape import kinds

    kinds._looked_at.clear()
    owner = by_membership if f is through_a_helper else f
    argument = pytest.importorskip("numpy").array([3.0]) if how == "vmap" else 3.0
    refused = pytest.raises(micrograd.TraceError, match=r"for the numbers\s+themselves")
    with pytest.warns(RuntimeWarning, match=r"type\(\) of a number is compared") as caught, refused:
        getattr(micrograd, how)(f)(argument)
    lines = [w.lineno for w in caught if "type()" in str(w.message)]
    assert lines == [owner.__code__.co_firstlineno + 1]


def test_a_type_of_something_else_is_not_told():
    from micrograd import grad

    def f(x, rows=(1, 2)):
        return x * x if type(rows) is tuple and isinstance(x, float) else -x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(f)(3.0) == 6.0


class Strange:
    """An object whose attributes raise what they like."""

    def __getattr__(self, name):
        raise KeyError(name)


STRANGE = Strange()


def test_objects_around_a_function_are_not_asked_for_attributes():
    from micrograd import grad

    def f(x):
        return x * x if STRANGE is not None and isinstance(x, float) else -x

    assert grad(f)(3.0) == 6.0


class Settings(dict):
    """A dict with attribute access, as it is often written: a name that it has not got is a KeyError."""

    __getattr__ = dict.__getitem__


SETTINGS = Settings(scale=2.0)


@pytest.mark.parametrize("how", ["grad", "jit", "vmap"])
def test_a_dict_with_attributes_may_lie_around(how):
    import micrograd

    def f(x):
        return x * SETTINGS.scale if x > 0.0 else x

    argument = pytest.importorskip("numpy").array([3.0]) if how == "vmap" else 3.0
    assert float(
        getattr(micrograd, how)(f)(argument).item() if how == "vmap" else getattr(micrograd, how)(f)(argument)
    ) == (2.0 if how == "grad" else 6.0)
    assert micrograd.jit(lambda x, p: x * p["scale"])(3.0, Settings(scale=2.0)) == 6.0


def test_functions_that_are_gone_are_not_remembered():
    import gc

    from micrograd import grad
    from micrograd.tape import kinds

    for k in range(20):
        space: dict = {}
        exec(compile(f"def f(x):\n    return x * {k}.0", f"<made {k}>", "exec"), space)
        assert grad(space["f"])(3.0) == k
    del space
    gc.collect()
    assert not [ref for ref in kinds._looked_at.values() if (code := ref()) and code.co_filename.startswith("<made")]


class Asker:
    def method(self, x):
        return x if type(x) is float else 2.0 * x


def decorated(f):
    @functools.wraps(f)
    def inner(x):
        return f(x)

    return inner


@decorated
@decorated
def wrapped(x):
    return x if type(x) is int else 3.0 * x


@pytest.mark.parametrize("f", [Asker().method, wrapped])
def test_a_comparison_of_type_in_a_method_and_behind_decorators_is_told(f):
    with pytest.warns(RuntimeWarning, match=r"type\(\) of a number is compared"):
        kinds.look_for_types(f)


def test_a_function_without_a_source_is_not_looked_at():
    space = {"__name__": "made"}
    for name, text in (("nowhere.py", ""), ("<made>", "def (")):
        linecache.cache[name] = (len(text), None, [text], name)
        exec(compile("def f(x): return x if type(x) is float else 2.0 * x", name, "exec"), space)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kinds.look_for_types(space["f"])


def test_a_module_that_is_told_the_truth_is_told_it_by_abstract_classes_too():
    """isinstance(x, numbers.Real) asks by way of the module abc: who has called that counts."""
    asked = {}
    for name in ("copy", "mine"):
        space = {"__name__": name}
        exec("import numbers\ndef ask(x):\n    return isinstance(x, numbers.Real)", space)
        asked[name] = space["ask"]
    found = []

    def f(x):
        found.append((asked["copy"](x), asked["mine"](x)))
        return x * x

    grad(f)(1.5)
    assert found == [(False, True)]


def test_it_is_told_once_for_each_function():
    def f(x):
        return x if type(x) is float else 4.0 * x

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            kinds.look_for_types(f)
    assert len(told) == 1


def test_a_value_that_was_kept_is_one_from_outside_for_the_next_trace():
    kept, found = [], []

    def keeps(x):
        kept.append(x * 2.0)
        return x * x

    def asks(x):
        found.append((isinstance(kept[0], float), isinstance(x, float)))
        return x * x

    grad(keeps)(1.5)
    grad(asks)(1.5)
    assert found == [(False, True)]
    assert kinds._here.traces == {}
