"""What is given wrongly to jit, vmap and the transforms: each has a message that says what is wanted."""

from __future__ import annotations

import importlib.util

import pytest

from micrograd import (
    CompileError,
    check_grad,
    grad,
    hessian,
    jacobian,
    jit,
    jvp,
    primitive,
    value_and_grad,
    vjp,
    vmap,
)

np = pytest.importorskip("numpy")
needs_llvm = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="machine code needs llvmlite")

Z = np.zeros(3)


def test_an_object_that_is_called_goes_by_its_class():
    """The repr of a model has a line for each of its neurons."""
    from micrograd import nn

    model = nn.MLP(2, [3, 1], rng=0)
    assert [repr(w(model)) for w in (jit, vmap, grad)] == ["<jit of MLP>", "<vmap of MLP>", "<grad of MLP>"]


def product(x, y):
    return x * y


@pytest.mark.parametrize("wrong", [3, "f", [product]])
@pytest.mark.parametrize("transform", [jit, vmap, grad, value_and_grad, jacobian, hessian])
def test_what_is_no_function(transform, wrong):
    with pytest.raises(TypeError, match=rf"a function to [a-z ]+ is needed, not {type(wrong).__name__}"):
        transform(wrong)


def test_what_is_no_function_to_check_or_no_partial():
    with pytest.raises(TypeError, match="a function to check is needed, not int: 3"):
        check_grad(3, 1.0)
    with pytest.raises(TypeError, match="a partial is a function of the inputs and the output, not 3"):
        primitive(3)


@pytest.mark.parametrize("argnums", ["x", 1.0, (0, "y"), None])
@pytest.mark.parametrize("transform", [grad, value_and_grad, jacobian, hessian])
def test_argnums(transform, argnums):
    with pytest.raises(TypeError, match=r"argnums=.*: the number of an argument, counted from 0, or a tuple of them"):
        transform(product, argnums)(1.0, 2.0)


@pytest.mark.parametrize("order", [0, -1, "2", 1.5])
def test_the_order_of_a_check(order):
    with pytest.raises(ValueError, match="the first derivative is order 1"):
        check_grad(product, 1.0, 2.0, order=order)


def test_a_cotangent_of_another_arrangement():
    pull = vjp(product, 1.0, 2.0)[1]
    with pytest.raises(TypeError, match=r"the cotangent has the structure \(\*,\), but the result has \*"):
        pull((1.0,))
    with pytest.raises(TypeError, match="the cotangent has the structure 'a', but the result has"):
        pull("a")
    with pytest.raises(TypeError, match="same structure as the primals"):
        jvp(product, (1.0, 2.0), (1.0,))


class TestStaticArguments:
    @pytest.mark.parametrize("wrong", ["1", 1.5, (0, "n"), None])
    def test_their_numbers(self, wrong):
        with pytest.raises(TypeError, match=r"static_argnums=.*: it must be the number of an argument"):
            jit(product, static_argnums=wrong)

    @pytest.mark.parametrize("n", [2, -3, (1, 5)])
    def test_one_that_there_is_not(self, n):
        with pytest.raises(ValueError, match=r"static_argnums has -?\d, but product takes 2 arguments"):
            jit(product, static_argnums=n)

    @pytest.mark.parametrize("n", [1, -1, (1,), [-1]])
    def test_one_may_come_by_its_name(self, n):
        def times(x, n=2):
            return sum([x for _ in range(n)], 0.0)

        f = jit(times, static_argnums=n)
        assert [f(1.5, 3), f(1.5, n=3), f(1.5), f(n=4, x=1.5)] == [4.5, 4.5, 3.0, 6.0]

    def test_of_any_number_of_arguments(self):
        f = jit(lambda *args: sum([args[0] for _ in range(args[-1])], 0.0), static_argnums=-1)
        assert f(1.5, 3) == 4.5


class TestRows:
    @pytest.mark.parametrize("width", [3, 0, -8, 8.0, "8", True, 128])
    def test_width(self, width):
        with pytest.raises(ValueError, match=r"width=.*: it must be 1, 2, 4, 8, 16, 32 or 64 rows at a time"):
            vmap(product, width=width)

    @pytest.mark.parametrize("axes", ["0", 0.5, (0, True), (0, {"x": 0.5}), (0, (0, True))])
    def test_axes(self, axes):
        with pytest.raises(TypeError, match="an axis is a whole number, or None"):
            vmap(product, in_axes=axes)

    @pytest.mark.parametrize("x", [[[1.0, 2.0], [3.0, 4.0]], [(1.0, 2.0)] * 3, ([1.0, 2.0], [3.0, 4.0])])
    def test_lists_of_lists_are_not_guessed_at(self, x):
        """100 pairs are meant as 100 rows, and a list of columns has as many entries as a row has numbers."""
        with pytest.raises(TypeError, match=r"(?s)rows or as columns.*np.array\(x\).*a list of arrays"):
            vmap(lambda v: v[0])(x)

    @needs_llvm
    def test_lists_in_dicts_are_columns(self):
        assert vmap(lambda d: d["a"] * 2)({"a": [1.0, 2.0]}).tolist() == [2.0, 4.0]

    def test_masked_arrays(self):
        masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
        for f in (vmap(lambda x: x), jit(lambda x: x), grad(lambda x: x[0])):
            with pytest.raises(TypeError, match=r"a masked array: fill it with x.filled"):
                f(masked)


def of_numpy(x):
    return x * np.nextafter(x, 2.0)


@pytest.mark.parametrize("wrap", [jit, grad, lambda f: jit(grad(f)), lambda f: grad(grad(f))])
def test_a_function_of_numpy_on_a_value(wrap):
    line = of_numpy.__code__.co_firstlineno + 1
    with pytest.raises(
        TypeError, match=rf"(?s)np.nextafter has no row.*, at test_refusals.py:{line}\n.*micrograd.math lists"
    ):
        wrap(of_numpy)(1.0)


def test_without_the_c_engine_there_is_no_source(run_python):
    done = run_python(
        "import sys; sys.modules['micrograd._engine'] = None\n"
        "from micrograd import jit\n"
        "f = jit(lambda x: x * 2)\n"
        "print(f(3.0), list(f.tape(3.0).outputs))\n"
        "f.source(3.0)\n",
        "-Wignore",
        check=False,
    )
    assert done.stdout == "6.0 [2]\n"
    assert f"{CompileError.__name__}: compiling needs the C engine, which was not built" in done.stderr


MISSING = {  # what a user calls -> the package that it needs, and the extra that brings it
    "to_torch(abs)": ("torch", ""),
    "to_jax(abs)": ("jax", ""),
    "export_onnx(abs, 1.0)": ("onnx", "onnx"),
    "minimize(lambda x: x[0] * x[0], [1.0])": ("scipy", "scipy"),
    "jacobian(lambda x: [x[0]], sparse=True)([1.0])": ("scipy", "scipy"),
    "data.digits()": ("sklearn", "train"),
    "plots.loss_curve([1.0, 0.5])": ("matplotlib", "train"),
    "vmap(abs)([1.0])": ("numpy", "jit"),
    "jit(abs, wait=True)(1.0)": ("llvmlite", "jit"),
    "nn.MLP(1, [1]).save('model.safetensors')": ("safetensors", "train"),
}


@pytest.mark.parametrize("call", MISSING)
def test_a_missing_package_is_named_with_the_command_that_installs_it(run_python, call, tmp_path):
    package, extra = MISSING[call]
    program = f"""
import os, sys
os.chdir({str(tmp_path)!r})
sys.modules[{package!r}] = None
from micrograd import *
from micrograd import data, plots, install
try:
    {call}
except (ImportError, CompileError) as error:
    wanted = install.command({extra!r}) if {extra!r} else "install {package}"
    assert wanted in str(error) and {package!r}[:5] in str(error).lower().replace("scikit-learn", "sklearn"), error
else:
    raise AssertionError("it needs no package")
"""
    run_python(program)
