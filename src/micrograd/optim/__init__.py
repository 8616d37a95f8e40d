"""Optimizers: how gradients change parameters, with PyTorch's arguments and PyTorch's numbers.

SGD, Adam, AdamW, NAdam, RMSprop, Adagrad and Lion take one step for each gradient; LBFGS minimizes a function with a line
search. A learning rate is a number, or a function of the number of steps taken: `constant`, `linear`, `cosine`, `step`,
`exponential`, `warm_restarts`, `one_cycle` and `warmup` make the usual ones. `clip_norm` and `clip_value` bound the
gradients before a step.

>>> from micrograd import Value, optim
>>> x = Value(3.0)
>>> optimizer = optim.SGD([x], lr=0.25)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (x * x).backward()
...     optimizer.step()
>>> x.data
0.75
"""

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.optim.clip import clip_norm, clip_value
from micrograd.optim.groups import Group
from micrograd.optim.lbfgs import LBFGS
from micrograd.optim.optimizer import Optimizer, decay_groups
from micrograd.optim.optimizers import SGD, Adagrad, Adam, AdamW, Lion, NAdam, RMSprop
from micrograd.optim.schedules import (
    Schedule,
    constant,
    cosine,
    exponential,
    linear,
    one_cycle,
    step,
    warm_restarts,
    warmup,
)

__all__ = [
    "LBFGS",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Group",
    "Lion",
    "NAdam",
    "Optimizer",
    "RMSprop",
    "Schedule",
    "clip_norm",
    "clip_value",
    "constant",
    "cosine",
    "decay_groups",
    "exponential",
    "linear",
    "one_cycle",
    "step",
    "warm_restarts",
    "warmup",
]
