"""Training: `fit`, the loop with everything around it, and `step`, one compiled training step."""

from micrograd.train.average import EMA
from micrograd.train.callbacks import CSVLog, ReduceOnPlateau, TensorBoard
from micrograd.train.finder import find_lr
from micrograd.train.fit import fit
from micrograd.train.history import History, accuracy
from micrograd.train.step import Step, step

__all__ = ["EMA", "CSVLog", "History", "ReduceOnPlateau", "Step", "TensorBoard", "accuracy", "find_lr", "fit", "step"]
