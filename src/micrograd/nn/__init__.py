"""Neural networks out of Values: Neuron, Layer and MLP, and the parts of a small transformer.

`module.py` has what they share (parameters, state, scopes), `mlp.py` the perceptron, `transformer.py` what comes next.
"""

from micrograd.nn.initial import INITIALISERS
from micrograd.nn.mlp import ACTIVATIONS, MLP, Layer, Neuron
from micrograd.nn.module import Module
from micrograd.nn.transformer import GPT, Attention, Block, Embedding, LayerNorm, Linear, RMSNorm

__all__ = [
    "ACTIVATIONS",
    "GPT",
    "INITIALISERS",
    "MLP",
    "Attention",
    "Block",
    "Embedding",
    "Layer",
    "LayerNorm",
    "Linear",
    "Module",
    "Neuron",
    "RMSNorm",
]
