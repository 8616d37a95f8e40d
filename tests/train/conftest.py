"""PyTorch as the oracle of the tests that have an argument called torch."""

import pytest


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle here: pip install torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # NAdam keeps a product of its own in the default type
    yield torch
    torch.set_default_dtype(before)
