"""Training: the loop, its checkpoints and its progress bar."""

from micrograd.train.loop import History, accuracy, fit

__all__ = ["History", "accuracy", "fit"]
