"""Neural networks out of Values: Neuron, Layer and MLP, Sequential, and the parts of a small transformer.

>>> from micrograd import nn
>>> model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
>>> len(model.parameters())
33

`module.py` has what all modules share, `parameters.py` the definition of what their parameters are, `mlp.py` the perceptron,
`transformer.py` the parts of a transformer, `sequential.py` and `dropout.py` what is put between layers.
"""

from micrograd.nn.dropout import Dropout
from micrograd.nn.initial import INITIALISERS
from micrograd.nn.mlp import ACTIVATIONS, MLP, Layer, Neuron
from micrograd.nn.module import Module
from micrograd.nn.sequential import GELU, ReLU, Sequential, Sigmoid, SiLU, Softmax, Tanh
from micrograd.nn.transformer import GPT, Attention, Block, Embedding, LayerNorm, Linear, RMSNorm

__all__ = [
    "ACTIVATIONS",
    "GELU",
    "GPT",
    "INITIALISERS",
    "MLP",
    "Attention",
    "Block",
    "Dropout",
    "Embedding",
    "Layer",
    "LayerNorm",
    "Linear",
    "Module",
    "Neuron",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
]
