"""What the bridges to PyTorch and JAX share, and the arguments of the exporters."""

from __future__ import annotations

import pickle

import pytest

import micrograd
from micrograd import export_c, export_onnx, export_text, to_torch

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
