"""Training: `fit`, the loop with everything around it, and `step`, one compiled training step.

>>> from micrograd import data, losses, nn, optim, train
>>> model = nn.MLP(2, [4, 1], rng=0)
>>> X, y = data.moons(20)
>>> history = train.fit(model, (X, y), losses.mse, optim.Adam(model.parameters(), lr=0.05), epochs=5, quiet=True)
>>> history.loss[-1] < history.loss[0]
True
"""

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.train.average import EMA
from micrograd.train.callbacks import CSVLog, ReduceOnPlateau, TensorBoard
from micrograd.train.finder import find_lr
from micrograd.train.fit import fit
from micrograd.train.history import History, accuracy
from micrograd.train.step import Step, step

__all__ = ["EMA", "CSVLog", "History", "ReduceOnPlateau", "Step", "TensorBoard", "accuracy", "find_lr", "fit", "step"]
