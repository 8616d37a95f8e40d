"""A character LSTM with diagonal weights: the loss over a text, and its gradient with respect to all weights."""

import numpy as np
from evaluation import Function

from micrograd import grad, jit, math


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def advance(weight, bias, hidden, cell, x):
    """Let one layer read x: its hidden state and its cell change in place."""
    b = len(x)
    for i in range(b):
        forget = sigmoid(x[i] * weight[i] + bias[i])
        ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i])
        outgate = sigmoid(x[i] * weight[2 * b + i] + bias[2 * b + i])
        change = math.tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i])
        cell[i] = cell[i] * forget + ingate * change
        hidden[i] = outgate * math.tanh(cell[i])


def loss(main, extra, state, sequence):
    state = [list(row) for row in state]
    total = 0.0
    for t in range(len(sequence) - 1):
        x = [a * b for a, b in zip(sequence[t], extra[0])]
        for layer in range(0, len(main), 2):
            advance(main[layer], main[layer + 1], state[layer], state[layer + 1], x)
            x = state[layer]
        y = [a * b + c for a, b, c in zip(x, extra[1], extra[2])]
        normalizer = math.log(sum(math.exp(v) for v in y) + 2.0)
        total += sum(wanted * (v - normalizer) for wanted, v in zip(sequence[t + 1], y))
    return -total / ((len(sequence) - 1) * len(sequence[0]))


def arguments(given):
    return tuple(np.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence"))


def flat(slopes):
    return [v for slope in slopes for v in slope.ravel().tolist()]


objective = Function(jit(loss, wait=True), arguments, float)
jacobian = Function(jit(grad(loss, argnums=(0, 1)), wait=True), arguments, flat)
