"""Callbacks for fit: a learning rate that falls when the loss no longer does, a CSV file, TensorBoard."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import Any

from micrograd.optim import Optimizer
from micrograd.train.history import History


class ReduceOnPlateau:
    """Multiply the learning rate, of every group, by a factor whenever the loss has not improved for `patience` epochs.

    monitor   the column that counts, by its mean over an epoch: "loss", "validation_loss" or a metric
    greatest  whether a greater number is better, as with accuracy

    >>> from micrograd import Value, optim, train
    >>> optimizer = optim.SGD([Value(0.0)], lr=0.1)
    >>> plateau = train.ReduceOnPlateau(optimizer, factor=0.5, patience=1)
    >>> history = train.History()
    >>> for epoch in (1, 2, 3):
    ...     history.rows.append({"epoch": epoch, "step": epoch, "loss": 1.0})
    ...     history.epoch_ended = True
    ...     plateau(history)
    >>> optimizer.lr
    0.05
    """

    changes_lr = True

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 0.1,
        patience: int = 10,
        monitor: str = "loss",
        greatest: bool = False,
        threshold: float = 1e-4,
        least: float = 0.0,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceOnPlateau takes an optimizer of micrograd.optim, not {type(optimizer).__name__}")
        if not 0.0 < factor < 1.0:
            raise ValueError(f"factor is between 0 and 1, not {factor}")
        if patience < 0:
            raise ValueError(f"patience counts epochs and is 0 or more, not {patience}")
        self.optimizer, self.factor, self.patience = optimizer, factor, patience
        self.monitor, self.greatest, self.threshold, self.least = monitor, greatest, threshold, least
        self._seen = 0  # rows of the history
        self._epoch, self._sum, self._count = 0.0, 0.0, 0
        self._best: float | None = None
        self._bad = 0

    def __call__(self, history: History) -> None:
        """Look at the rows that are new. In a resumed run the old ones are gone through, but the learning rate stays."""
        new = history.rows[self._seen :]
        for k, row in enumerate(new):
            if row["epoch"] != self._epoch and self._count:
                self._end_of_epoch(change=k == len(new) - 1 and k == 0)
            self._epoch = row["epoch"]
            if self.monitor in row:
                self._sum, self._count = self._sum + row[self.monitor], self._count + 1
        self._seen = len(history.rows)
        if history.epoch_ended and self._count:
            self._end_of_epoch(change=True)
        elif history.epoch_ended and new:
            history[self.monitor]  # raises KeyError, with the columns that there are, where none of the rows has it

    def _end_of_epoch(self, change: bool) -> None:
        mean = self._sum / self._count
        self._sum, self._count = 0.0, 0
        if self._best is None or self._improves(mean, self._best):
            self._best, self._bad = mean, 0
            return
        self._bad += 1
        if self._bad > self.patience:
            self._bad = 0
            if change:
                self.optimizer.scale_lr(self.factor, self.least)

    def _improves(self, mean: float, best: float) -> bool:
        if self.greatest:
            return mean > best + abs(best) * self.threshold
        return mean < best - abs(best) * self.threshold


class CSVLog:
    """Write each row of the history to a CSV file as it comes; its columns are those of the first row and the validation.

    >>> import pathlib, tempfile
    >>> from micrograd import train
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> log = train.CSVLog(path)
    >>> log(train.History([{"epoch": 1, "step": 1, "loss": 0.5}]))
    >>> log.close()
    >>> path.read_text().split()
    ['epoch,step,loss', '1,1,0.5']
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        folder = Path(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(
                f"CSVLog({str(path)!r}): there is no folder {str(folder)!r}; make it before the training begins"
            )
        if Path(path).is_dir():
            raise IsADirectoryError(f"CSVLog({str(path)!r}) is a folder: give the name of a file in it")
        self.path = path
        self._file: Any = None
        self._columns: list[str] = []
        self._rows: list[dict[str, float]] = []  # that are in the file
        self._run = 0  # where those of this run begin
        self._of: Any = None  # the rows of the run that is written

    def __call__(self, history: History) -> None:
        """Write the rows that are new. A run that starts over is written below those of the runs before it."""
        if history.rows is not self._of:
            seen, self._of = self._rows[self._run :], history.rows
            if repr(history.rows[: len(seen)]) != repr(seen):  # not the same run resumed; a nan is not equal to itself
                self._run = len(self._rows)
        for row in history.rows[len(self._rows) - self._run :]:
            new = [name for name in row if name not in self._columns]
            if new or self._file is None:  # the file is begun again, with all columns
                self._columns += new
                self._begin(self._rows)
            self._writer.writerow(row)
            self._rows.append(dict(row))
        if self._file is not None:
            self._file.flush()

    def _begin(self, rows: list[dict[str, float]]) -> None:
        if self._file is not None:
            self._file.close()
        self._file = open(self.path, "w", newline="", encoding="utf-8")  # noqa: SIM115 (open as long as the run goes on)
        self._writer = csv.DictWriter(self._file, self._columns)
        self._writer.writeheader()
        self._writer.writerows(rows)

    def close(self) -> None:
        """Close the file; `fit` does so when it ends, and another run opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None


class TensorBoard:
    """Write each column of the history as a scalar for TensorBoard, with tensorboardX or PyTorch's writer.

    >>> from micrograd import train
    >>> callable(train.TensorBoard)
    True
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._writer = _writer(folder)
        self._seen = 0

    def __call__(self, history: History) -> None:
        """Write the rows that are new."""
        for row in history.rows[self._seen :]:
            for name, x in row.items():
                if name not in ("epoch", "step"):
                    self._writer.add_scalar(name, x, int(row["step"]))
        self._seen = len(history.rows)
        self._writer.flush()


def _writer(folder: Any) -> Any:
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return __import__(module, fromlist=["SummaryWriter"]).SummaryWriter(str(folder))
        except ImportError:
            continue
    from micrograd import install

    how = install.command_for("tensorboardX")
    raise ImportError(f"TensorBoard files are written by tensorboardX or PyTorch\n  Install it with: {how}")
