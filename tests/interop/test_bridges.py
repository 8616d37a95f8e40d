"""What the bridges to PyTorch and JAX share, and the arguments of the exporters."""

from __future__ import annotations

import pickle

import pytest

import micrograd
from micrograd import Value, export_c, export_onnx, export_text, to_jax, to_torch

np = pytest.importorskip("numpy")


def wave(x, y):
    return x * y + x


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_bridges_are_pickled_with_their_function(library):
    pytest.importorskip(library)
    f = pickle.loads(pickle.dumps(getattr(micrograd, f"to_{library}")(wave)))
    assert f(np.array([2.0]), np.array([3.0])).tolist() == [8.0]


@pytest.mark.parametrize("library", ["torch", "jax"])
class TestArguments:
    @pytest.fixture
    def bridge(self, library):
        pytest.importorskip(library)
        return getattr(micrograd, f"to_{library}")

    def test_by_name(self, bridge):
        assert bridge(wave)(y=np.array([3.0]), x=2.0).tolist() == [8.0]
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            bridge(wave)(2.0, 1.0, z=1.0)

    def test_by_name_alone_is_refused(self, bridge):
        with pytest.raises(TypeError, match="takes y by name alone: wrap it in a lambda"):
            bridge(lambda x, *, y: x * y)(2.0, y=1.0)

    def test_none_is_refused(self, bridge):
        with pytest.raises(TypeError, match="was called without arguments"):
            bridge(wave)()


def test_checkpoints_of_torch():
    torch = pytest.importorskip("torch")
    checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    checkpoint(to_torch(wave), x, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


@pytest.mark.parametrize("export", [export_c, export_onnx, export_text])
def test_exporters_take_the_arguments_one_by_one(export):
    with pytest.raises(TypeError, match=r"wave takes 2 arguments: give them one by one, export\(f, \*args\)"):
        export(wave, (2.0, 3.0))


def test_names_of_pythons_random_are_explained():
    with pytest.raises(AttributeError, match=r"no attribute 'seed'\n  Python's own random has it"):
        micrograd.random.seed(0)
    assert not hasattr(micrograd.random, "nothing")


def bridge(library):
    """A bridge, and what makes an array of its library."""
    pytest.importorskip(library)
    if library == "torch":
        import torch

        return to_torch, lambda x: torch.tensor(x, dtype=torch.float64)
    import jax.numpy as jnp

    return to_jax, jnp.array


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_value_among_the_arguments_is_refused(library):
    # torch.as_tensor would take its number, and no gradient would reach it
    to_library, array = bridge(library)
    with pytest.raises(TypeError, match=f"to_{library}: an argument is a Value, and backward"):
        to_library(lambda x, y: x * y)(Value(2.0), array([1.0, 2.0]))


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_pole_in_the_first_row_or_at_one_is_infinite(library):
    to_library, array = bridge(library)
    assert to_library(lambda x: 1 / (x - 1))(array([1.0, 3.0])).tolist() == [float("inf"), 0.5]
    assert to_library(lambda x: 1 / (x - 1))(array([3.0, 1.0])).tolist() == [0.5, float("inf")]


def test_tensors_without_axes_do_not_decide_the_dtype():
    torch = pytest.importorskip("torch")
    times = to_torch(lambda x, y: x * y)
    for a in (torch.float32, torch.float64, torch.float16):
        for b in (torch.float32, torch.float64):
            for x, y in ((torch.ones(2, dtype=a), torch.tensor(2.0, dtype=b)), (torch.tensor(2.0, dtype=a),) * 2):
                assert times(x, y).dtype == (x * y).dtype


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_captured_values_are_constants_that_are_read_in_each_call(library):
    to_library, array = bridge(library)
    weight = Value(2.0)
    times = to_library(lambda x: x * weight)
    assert times(array([1.0, 3.0])).tolist() == [2.0, 6.0]
    weight.data = 5.0
    assert times(array([1.0, 3.0])).tolist() == [5.0, 15.0]
    assert weight.grad == 0.0


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")  # by torch itself
class TestGraphsThatPyTorchRecords:
    """The kernel runs on NumPy's arrays, which are constants in a recorded graph: it is recorded as an op of its own."""

    @pytest.fixture
    def torch(self):
        torch = pytest.importorskip("torch")
        if not hasattr(torch.library, "custom_op"):
            pytest.skip("torch before 2.4 has no custom_op")
        return torch

    def points(self, torch):
        return torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([3.0, 4.0], dtype=torch.float64)

    @pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # by const_fold of torch
    def test_linearize(self, torch):
        x, y = self.points(torch)
        value, push = torch.func.linearize(to_torch(lambda x, y: x * x * y), x, y)
        assert value.tolist() == [0.75, 16.0]
        for a, b in ((x, y), (y, x)):
            assert push(a, b).tolist() == (2.0 * x * y * a + x * x * b).tolist()

    def test_make_fx(self, torch):
        record = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
        x, y = self.points(torch)
        assert record(to_torch(wave))(x, y)(y, x).tolist() == [4.5, 12.0]
        slope = record(torch.func.grad(lambda x, y: to_torch(lambda x, y: x * x * y)(x, y).sum()))(x, y)
        assert slope(y, x).tolist() == [3.0, 16.0]

    def test_jit_trace(self, torch):
        x, y = self.points(torch)
        assert torch.jit.trace(to_torch(wave), (x, y))(y, x).tolist() == [4.5, 12.0]


def test_whole_numbers_become_floats_of_the_default_dtype_of_torch():
    torch = pytest.importorskip("torch")
    f = to_torch(lambda x, y: x / y)
    for x, y in ((torch.arange(1, 3), torch.arange(1, 3)), (torch.arange(1, 3), 2.0), (torch.tensor([True]), 4)):
        assert f(x, y).dtype == (x / y).dtype == torch.float32
