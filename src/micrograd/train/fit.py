"""fit: the training loop, with progress, a history, an early stop, checkpoints and Ctrl-C around it."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import inf, isfinite
from os import PathLike
from time import perf_counter
from typing import Any

from micrograd.compile.worker import compile_first
from micrograd.engine import no_grad
from micrograd.nn.initial import generator
from micrograd.observed import is_recording
from micrograd.optim import LBFGS, Optimizer
from micrograd.optim.lbfgs import NotFiniteError
from micrograd.train import checkpoints, on_device
from micrograd.train import data_checks as checks
from micrograd.train import first_look as look
from micrograd.train.accumulate import gradients
from micrograd.train.compiled import CompiledObjective
from micrograd.train.history import History, Row
from micrograd.train.identity import identity
from micrograd.train.interrupt import interruptible
from micrograd.train.learned import Learned
from micrograd.train.lowest import Best, Lowest
from micrograd.train.measure import measure
from micrograd.train.mode import evaluating
from micrograd.train.objective import Eager, Given, number_of
from micrograd.train.progress import show
from micrograd.train.remote import rows_of

Loss = Callable[[Any, Any], Any]  # (predictions, targets) -> a Value; an objective takes inputs in place of predictions
Metric = Callable[[Any, Any], float]
Data = tuple[Sequence[Any], Sequence[Any]]  # inputs, targets
ENDED = ("early stop", "callback", "diverged")  # a run that ended so takes no further step when it is resumed


def fit(
    model: Any,
    data: Data,
    loss: Loss,
    optimizer: Optimizer,
    epochs: int = 100,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    compile: bool = False,
    penalty: Callable[[], Any] | None = None,
    objective: Loss | None = None,
    metrics: dict[str, Metric] | None = None,
    validation: Data | None = None,
    clip: float | None = None,
    accumulate: int = 1,
    patience: int | None = None,
    restore_best: bool = False,
    callbacks: Sequence[Callable[[History], Any]] | Callable[[History], Any] | None = (),
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
    resume_settings: str = "same",
    rng: random.Random | int | None = 0,
    quiet: bool = False,
    client: Any = None,
    device: str = "cpu",
) -> History:
    """Train a model: `epochs` times through the data, with one step of the optimizer for each batch.

    >>> from micrograd import data, losses, nn, optim
    >>> from micrograd.train import fit
    >>> X, y = data.moons(20, seed=0)
    >>> model = nn.MLP(2, [8, 2], rng=0)
    >>> fit(model, (X, y), losses.cross_entropy, optim.Adam(model.parameters(), lr=0.1), epochs=30, quiet=True)
    History(30 steps, loss 0.7418 -> 0.1855, stopped: epochs)

    model         anything that is called with one input and returns a prediction
    data          (inputs, targets), two lists or arrays; or a list of pairs (input, target)
    loss          a function of (predictions, targets) that returns a Value
    batch_size    rows in a step; all of them by default. Each epoch draws new batches, using `rng`
    steps         end after this many steps, wherever in the data that is
    compile       run model, loss, metrics and validation as machine code
    penalty       a function without arguments whose Value is added to the loss, such as l2 of the parameters
    objective     a function of (inputs, targets), arrays with rows first, used in place of model and loss
    metrics       more columns of the history, functions of (predictions, targets): {"accuracy": accuracy}
    validation    (inputs, targets) to measure on after each epoch, into "validation_loss" and so on
    clip          the greatest norm that the gradients may have
    accumulate    batches whose gradients are added up before a step, which is then that of their rows together; the means of
                  a loss of your own count by their rows
    patience      end after this many epochs without a lower loss (on the validation data, if there are any)
    restore_best  put the parameters of the epoch with the lowest loss back at the end
    callbacks     called with the history after each step; one that returns True ends the training
    checkpoint    a .json file to write every `checkpoint_every` epochs and at the end. With `resume=True` it is read
                  first, and the run ends with the same bits as one that was never stopped (draw random numbers from `rng`).
                  Data, model, loss, clip and the optimizer's settings must be those of that run, unless `resume_settings`
                  is "own", to go on with what is given now, or "saved", to take settings and clip from the file
    rng           the seed or generator of the batches; None for that of the random module
    quiet         show nothing
    client        a client of dask.distributed, whose workers run model, loss, metrics and validation as machine code, with the
                  same bits as compile=True on one machine; the data may then be Dask arrays, which stay on the cluster
    device        "cuda" or "opencl" runs all of that on a GPU, with the same bits (see "On a GPU" in the documentation).
                  Parameters and the optimizer's state stay there between steps, unless callbacks or metrics look at them

    Ctrl-C ends the training after the current step, a second one at once; the history so far is returned.
    """
    with getattr(
        client, "as_current", nullcontext
    )():  # data on its cluster are fetched by this client, not by the default one
        return _Run(
            model, data, loss, optimizer, epochs, batch_size, steps, compile, penalty, objective, metrics, validation, clip,
            accumulate, patience, restore_best, callbacks, checkpoint, checkpoint_every, resume, resume_settings, rng, quiet,
            client, device,
        ).run()  # fmt: skip


class _Run:
    """One call of fit."""

    def __init__(
        self, model: Any, data: Any, loss: Any, optimizer: Any, epochs: Any, batch_size: Any, steps: Any, compile: bool,
        penalty: Any, objective: Any, metrics: Any, validation: Any, clip: Any, accumulate: Any, patience: Any,
        restore_best: bool, callbacks: Any, checkpoint: Any, checkpoint_every: Any, resume: bool, resume_settings: str,
        rng: Any, quiet: bool, client: Any, device: str,
    ) -> None:  # fmt: skip
        if not is_recording():
            raise RuntimeError("fit inside no_grad(): nothing can be learned there; call it outside")
        X, y = checks.data(data, "data")
        checks.optimizer(model, optimizer)
        self.penalty = checks.penalty(penalty)
        checks.functions(model, loss, objective)
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.epochs = checks.count("epochs", epochs, 0)
        self.limit = None if steps is None else checks.count("steps", steps, 0)
        self.every = checks.count("checkpoint_every", checkpoint_every)
        self.accumulate = checks.count("accumulate", accumulate)
        self.patience = None if patience is None else checks.count("patience", patience)
        size = None if batch_size is None else checks.count("batch_size", batch_size)
        if self.accumulate > 1 and size is None:
            raise ValueError("accumulate adds up the gradients of several batches: give batch_size too")
        self.clip = checks.limit(clip)
        checks.line_search(optimizer, clip, self.accumulate)
        self.metrics = checks.metrics(metrics)
        self.callbacks = checks.callbacks(callbacks)
        self.rng = generator(rng)
        self.quiet, self.checkpoint, self.resume, self.resume_settings = quiet, checkpoint, resume, resume_settings
        if checkpoint is not None:
            checks.writable(checkpoint)
        elif resume:
            raise ValueError("resume=True without a checkpoint to resume from: name its file with checkpoint=")
        elsewhere = client is not None or device != "cpu"
        if objective is not None and (compile or elsewhere):
            raise ValueError(
                "fit takes compile=True, client=... or device=..., or an objective of your own, not both: compile the "
                "objective itself, with jit(vmap(f, client=client)) for a cluster and vmap(f, device=...) for a GPU"
            )
        if client is not None and device != "cpu":
            raise ValueError("fit takes client=... or device=..., not both: a cluster's workers run rows on their CPUs")
        compile = compile or elsewhere
        rows = rows_of(X, y, client, size)
        self.rows = rows
        self.objective: Any = (
            Given(model, rows, objective, penalty)
            if objective is not None
            else CompiledObjective(model, rows, loss, penalty, client=client, device=device)
            if compile
            else Eager(model, rows, loss, penalty)
        )
        self.validation: Any = None
        if validation is not None:
            held = rows_of(*checks.data(validation, "validation data"), client, None)
            self.validation = (
                CompiledObjective(model, held, loss, None, False, self.objective, client, device)  # type: ignore[arg-type]
                if compile
                else Eager(model, held, loss, None, "the validation data")
            )
        self.at = checkpoints.DataPosition(len(X), size, self.accumulate)
        self.history = History()
        self.best = Best(optimizer.parameters) if restore_best else None
        # whether the loss is that of the parameters before a step; LBFGS tells the one after it
        self.before_step = validation is None and self.at.batches == 1 and not isinstance(optimizer, LBFGS)
        self.low = Lowest()
        self.seeks = self.patience is not None or self.best is not None  # whether the lowest loss is asked for
        self.limit = (
            self.epochs * self.at.batches if self.limit is None else min(self.limit, self.epochs * self.at.batches)
        )
        self.started = self.depends = self.drifted = False
        self.resident: on_device.Resident | None = None  # the steps, where they stay on a device
        self.may_stay = device != "cpu" and on_device.may_stay(self, client)
        checks.monitors(self.callbacks, self.metrics, validation is not None, optimizer)
        self.saved = None
        if checkpoint is not None:
            beside = None if self.validation is None else self.validation.rows
            same = identity(model, rows, beside, loss, objective, penalty, self.clip, compile, rng)
            self.saved = checkpoints.Checkpoint(checkpoint, same)
            Learned(model, optimizer)  # refuses a model whose state cannot be written

    # ---- the loop

    def run(self) -> History:
        """Train."""
        history, at = self.history, self.at
        notes = self._resume()
        shown = show(self.limit or 0, len(history), self.quiet)
        for note in notes:
            shown.say(note)
        began = perf_counter()
        with compile_first(), interruptible() as is_interrupted:  # calls of one function all round alike
            try:
                while len(history.rows) < (self.limit or 0) and not history.stopped:
                    if at.batch == 0 and at.batch_size:
                        at.begin(self.rng)
                    for parts in at.rest():
                        if self.best is not None and self.before_step:
                            self._settle()
                            self.best.look()
                        row = self._step(parts)
                        if row is None:
                            history.stopped = "diverged"
                            break
                        at.advance()
                        history.epoch_ended = at.batch == 0
                        if history.epoch_ended and self.validation is not None:
                            row |= self._validate()
                        history.rows.append(row)
                        if self.seeks:
                            self.low.take(row, history.epoch_ended)
                            if self.best is not None and self.low.improved:
                                self._settle()
                                self.best.take(row, self.before_step)
                        shown.step(row)
                        if self.callbacks or self.seeks or is_interrupted():
                            self._after_step(is_interrupted)
                        if history.stopped or len(history.rows) == self.limit:
                            break
                    if at.batch == 0 and at.epoch & (at.epoch - 1) == 0 and look.is_due(at.epoch):
                        self._settle()
                        look.again(self)
                    if self.saved is not None and at.batch == 0 and at.epoch % self.every == 0:
                        self._save()
                self._settle()
                look.again(self)
                history.stopped = history.stopped or ("epochs" if at.epoch >= self.epochs else "steps")
                self._save()
            except KeyboardInterrupt:  # the second Ctrl-C, or one from a callback: no checkpoint of half a step
                history.stopped = "interrupted"
            finally:
                self._leave_device()
                shown.close()
                for objective in (self.objective, self.validation):
                    getattr(objective, "release", lambda: None)()
                for callback in self.callbacks:
                    getattr(callback, "close", lambda: None)()
                history.seconds = perf_counter() - began
        if self.best is not None:
            history.best = self.best.restore()
        if history.stopped == "interrupted":
            shown.say(f"stopped by Ctrl-C after step {len(history)}; the model and the history are as of then")
        elif history.stopped == "early stop":
            shown.say(f"stopped early: no lower loss in {self.patience} epochs")
        return history

    def _after_step(self, is_interrupted: Callable[[], bool]) -> None:
        history = self.history
        stop = False
        for callback in self.callbacks:
            stop |= checks.is_true(callback(history))
        if stop:
            history.stopped = "callback"
        elif self.patience is not None and history.epoch_ended and self.low.since >= self.patience:
            history.stopped = "early stop"
        elif is_interrupted():
            history.stopped = "interrupted"

    def _step(self, parts: list[Any]) -> Row | None:
        """Take one step; return its row of the history, or None where the loss or a gradient was not finite."""
        optimizer = self.optimizer
        number = optimizer.steps + 1  # what is random goes on with other numbers in the next call of fit
        if not self.started:
            self.started = True
            look.first(self, parts)
        row: Row = {"epoch": self.at.epoch + 1, "step": len(self.history.rows) + 1}
        if isinstance(optimizer, LBFGS):
            lr = optimizer.lr
            try:
                row["loss"] = optimizer.step(lambda: self.objective.error(parts[0], number))
            except NotFiniteError as reason:
                self._diverged(
                    str(reason).partition(" where")[0], "micrograd.detect_anomaly() finds where it comes from"
                )
                return None
            return self._measured(row, parts[0], lr)
        if len(parts) == 1:
            if self._stays(parts[0]):
                return self._step_on_device(row, parts[0])
            error = self.objective.error(parts[0], number)
            if not self.depends:
                look.depends(self, error)
            if not isfinite(error.data):
                self._diverged(f"the loss is {error.data}")
                return None
            lr = optimizer.lr
            row["loss"] = error.data
            if self.metrics:
                self._measured(row, parts[0], lr)
            if not optimizer.slots.descend(error, self.clip or inf, optimizer.updates()):
                self._diverged("a gradient is not finite")
                return None
            optimizer.advance()
            row["lr"] = lr
            return row
        return self._accumulated(row, parts, number)

    def _stays(self, part: Any) -> bool:
        """Whether this step is taken on the device, with what is there; the first step is not, which makes its kernels."""
        if not self.may_stay or not self.depends or not self.history.rows:
            return False
        if self.resident is not None and not self.resident.holds():
            self._leave_device()
            self.may_stay = False
        elif self.resident is None and (self.limit or 0) - len(self.history.rows) >= on_device.FEWEST:
            self.resident = on_device.resident(self, part)
            self.may_stay = self.resident is not None
        return self.resident is not None

    def _step_on_device(self, row: Row, part: Any) -> Row | None:
        resident: Any = self.resident
        lr = self.optimizer.lr
        row["loss"], taken = resident.step(part)
        if not taken:
            loss = row["loss"]
            self._diverged("a gradient is not finite" if isfinite(loss) else f"the loss is {loss}")
            return None
        self.optimizer.advance()
        row["lr"] = lr
        return row

    def _settle(self) -> None:
        """Give the model the numbers of steps that were taken on a device."""
        if self.resident is not None:
            self.resident.settle()

    def _leave_device(self) -> None:
        resident, self.resident = self.resident, None
        if resident is not None:
            resident.settle()
            resident.free()

    def _accumulated(self, row: Row, parts: list[Any], number: int) -> Row | None:
        """Add up the gradients of several batches, and take one step."""
        optimizer = self.optimizer
        optimizer.zero_grad()
        row |= gradients(self, parts, number)
        loss = row["loss"]
        norm = optimizer.slots.clip_norm(self.clip) if self.clip else optimizer.slots.norm()
        if not isfinite(loss) or not isfinite(norm):
            self._diverged(f"the loss is {loss}" if not isfinite(loss) else "a gradient is not finite")
            return None
        row["lr"] = optimizer.lr
        optimizer.step()
        return row

    def _diverged(self, fact: str, way_out: str = "try a lower learning rate, or clip=1.0") -> None:
        warnings.warn(
            f"{fact} at step {len(self.history) + 1}, so training ends before it spoils the parameters: {way_out}",
            RuntimeWarning,
            stacklevel=5,
        )

    # ---- numbers for the history

    def _measured(self, row: Row, part: Any, lr: float) -> Row:
        if self.metrics:
            row |= measure(self.metrics, self.objective, part)
        row["lr"] = lr
        return row

    def _validate(self) -> Row:
        self._settle()
        objective = self.validation
        with evaluating(self.model), no_grad():
            row: Row = {"validation_loss": number_of(objective.error(None, 0))}
            return row | {f"validation_{name}": x for name, x in measure(self.metrics, objective, None).items()}

    # ---- checkpoints

    def _resume(self) -> list[str]:
        if self.saved is None or not self.resume:
            return []
        if not self.saved.exists():
            return [f"there is no {self.checkpoint} to resume from: starting at the beginning"]
        history = self.history
        history.rows, stopped, best = self.saved.load(
            self.model, self.optimizer, self.rng, self.at, self.resume_settings, self.callbacks
        )
        self.clip = self.saved.identity["clip"]
        if self.best is not None:
            self.best.load(best)
        batches = self.at.batches
        for row in history.rows:
            self.low.take(row, int(row["step"]) % batches == 0)
        if stopped in ENDED:
            history.stopped = stopped
            return [f"{self.checkpoint} is of a run that has ended ({stopped}): no further step is taken"]
        notes = [f"resumed from {self.checkpoint}, after step {len(history)}"]
        if len(history) >= (self.limit or 0):
            notes.append(f"it has all of the {self.limit} steps that are asked for: no further step is taken")
        return notes

    def _save(self) -> None:
        if self.saved is None:
            return
        self._settle()
        try:
            best = None if self.best is None else self.best.state()
            self.saved.save(self.model, self.optimizer, self.rng, self.at, self.history, best, self.callbacks)
        except OSError as reason:
            warnings.warn(
                f"the checkpoint {self.checkpoint} could not be written ({reason}): the last good one is kept, and "
                "training goes on",
                RuntimeWarning,
                stacklevel=4,
            )
