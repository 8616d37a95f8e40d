"""micrograd demo: train a small network on moons, spirals, digits or names, and show what it learned."""

from __future__ import annotations

import argparse
import copy
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd import data, install, losses, nn, optim
from micrograd.cli import BadArgument
from micrograd.cli.request import KeptRun, Request, offer
from micrograd.engine import NATIVE, no_grad
from micrograd.train import History, accuracy, fit
from micrograd.train.compiled import missing as compiler_missing

Picture = tuple[str, Callable[[Any], Any]]  # what it shows, and a function that draws it into axes


def add_arguments(parser: Any) -> None:
    """What can be chosen."""
    parser.add_argument("--task", choices=list(TASKS), default="moons", help="what to learn (default: %(default)s)")
    parser.add_argument(
        "--steps", type=_steps, metavar="N", help="steps of the optimizer (default: what the task needs)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", default=0, help="another one gives other data and weights (default: 0)"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="demo-output", help="where pictures and parameters go (default: demo-output)"
    )
    parser.add_argument(
        "--jit",
        action=argparse.BooleanOptionalAction,
        help="compile the training step (default: where it pays, with the time of the eager engine beside it)",
    )
    parser.add_argument(
        "--watch", action="store_true", help="draw boundary, loss and gradients in the terminal as it learns"
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        help="open the page of the run in the browser at the end (default: ask, in a terminal)",
    )
    parser.add_argument("--quiet", action="store_true", help="show the result alone, without progress")


def _steps(text: str) -> int:
    try:
        steps = int(text)
    except ValueError:
        steps = 0
    if steps < 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"a whole number above 0, not {text!r}")
    return steps


def run(args: Any) -> int:
    """Train, tell, draw, save."""
    out = Path(args.out)
    if out.exists() and not out.is_dir():
        raise BadArgument(f"--out {args.out} is a file; give a folder")
    _writable(out)
    missing = compiler_missing()
    if args.jit and args.task not in COMPILED:
        raise BadArgument(f"--jit: {args.task} is trained eagerly")
    if args.watch and args.jit:
        raise BadArgument("--watch shows every gradient, which compiled code does not keep; leave --jit out")
    if args.jit and missing:
        raise BadArgument(f"--jit: {missing}")
    jit = args.task in COMPILED and not missing and not args.watch if args.jit is None else args.jit
    task = TASKS[args.task](Request(args.steps, args.seed, args.quiet, jit, args.watch))
    history = task.history
    print()
    if history.rows:
        recent = history.loss[-task.window :]
        mean = f" (mean of the last {len(recent)})" if len(recent) > 1 else ""
        print(task.timing or f"{len(history)} steps in {history.seconds:.1f} s on the {ENGINE} engine")
        print(f"loss {sum(recent) / len(recent):.4f}{mean}, {task.result}")
    for line in task.shown if not (args.watch and task.theatre) else [""]:
        print(line)
    saved = out / f"{args.task}.json"
    task.model.save(saved)
    wide = max(len(os.fspath(out / f"{args.task}-{name}.png")) for name in task.pictures)
    _draw(out, args.task, task.pictures, wide)
    print(f"wrote {os.fspath(saved):<{wide}}  the parameters: {task.maker}.load({os.fspath(saved)!r})")
    if task.theatre is not None and history.rows:
        told = task.theatre.save(out / f"{args.task}-watch.html")
        print(f"wrote {told:<{wide}}  this run to watch, step by step: open it in a browser")
        if history.stopped != "interrupted":
            offer(Path(told), False if args.open is None and args.quiet else args.open)
    return 130 if history.stopped == "interrupted" else 0


def _writable(out: Path) -> None:
    """Raise OSError before the training, not after it, where nothing can be written to the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as reason:
        raise OSError(f"{out} cannot be written to ({reason.strerror}); give another folder with --out") from None


class Trained:
    """What a task leaves behind."""

    def __init__(
        self,
        model: nn.Module,
        maker: str,
        history: History,
        result: str,
        shown: list[str],
        pictures: dict[str, Picture],
        window: int = 1,
        timing: str = "",
        theatre: Any = None,
    ) -> None:
        self.model, self.maker, self.history, self.theatre = model, maker, history, theatre
        self.result, self.shown, self.pictures, self.timing = result, shown, pictures, timing
        self.window = window  # steps to take the mean of the loss over, where a step sees a part of the data


def _introduce(what: str, model: nn.Module, maker: str) -> None:
    print(f"{what}\n{maker}: {len(model.parameters()):,} parameters\n", flush=True)


ENGINE = "C" if NATIVE else "Python"


def train(
    model: nn.Module,
    points: tuple[Any, Any],
    loss: Any,
    penalty: Callable[[Any], Any] | None,
    optimizer: Callable[[Any], optim.Optimizer],
    steps: int,
    asked: Request,
) -> tuple[History, str, Any]:
    """Fit a model to points: eagerly, or compiled and then a copy of it eagerly too, for the time of both.

    Returns the history, what to say about the time, and the run as a page.
    """
    from micrograd.learn import watch

    decay = None if penalty is None else lambda: penalty(model)
    theatre = watch(model, points, loss, optimizer(model), penalty=decay, steps=steps, open=False)
    kept = KeptRun(theatre)

    def run(model: Any, compile: bool, quiet: bool, callbacks: Any = ()) -> History:
        return fit(
            model,
            points,
            loss,
            optimizer(model),
            epochs=steps,
            compile=compile,
            penalty=None if penalty is None else lambda: penalty(model),
            metrics={"accuracy": accuracy},
            quiet=quiet,
            callbacks=callbacks,
        )

    if not asked.jit:
        history = run(model, False, asked.hushed, [kept, *asked.callbacks(model, points, steps)])
        return history, "", theatre
    twin = copy.deepcopy(model)
    history = run(model, True, asked.quiet, [kept])
    beside = run(twin, False, True).seconds
    running = history.seconds - history.compiling - kept.seconds
    told = (
        f"{len(history)} steps in {running:.3f} s as machine code, after {history.compiling:.1f} s of compiling;\n"
        f"the same steps on the {ENGINE} engine: {beside:.2f} s, {beside / running:.0f} times as long"
    )
    return history, told, theatre


def moons(asked: Request) -> Trained:
    """micrograd's recipe: two half circles, max-margin, a learning rate that falls from 1 to 0.1."""
    X, y = data.moons(100, noise=0.1, seed=asked.seed)
    signs = [2 * c - 1 for c in y]
    maker = "nn.MLP(2, [16, 16, 1])"
    model = nn.MLP(2, [16, 16, 1], rng=asked.seed)
    _introduce("moons: tell 100 points on two half circles apart", model, maker)
    steps = asked.steps or 100
    history, timing, theatre = train(
        model,
        (X, signs),
        losses.max_margin,
        lambda model: losses.l2(model.parameters(), 1e-4),
        lambda model: optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, steps)),
        steps,
        asked,
    )
    return _points(model, maker, history, timing, X, signs, theatre)


def spirals(asked: Request) -> Trained:
    """Three arms that wind around each other: three classes, cross-entropy, Adam."""
    X, y = data.spirals(150, seed=asked.seed)
    maker = 'nn.MLP(2, [16, 16, 3], activation="tanh")'
    model = nn.MLP(2, [16, 16, 3], activation="tanh", init="xavier", rng=asked.seed)
    _introduce("spirals: tell 150 points on three arms apart", model, maker)
    steps = asked.steps or 300
    history, timing, theatre = train(
        model,
        (X, y),
        losses.cross_entropy,
        None,
        lambda model: optim.Adam(model.parameters(), lr=optim.cosine(0.05, 0.001, steps)),
        steps,
        asked,
    )
    return _points(model, maker, history, timing, X, y, theatre)


def _points(
    model: nn.Module, maker: str, history: History, timing: str, X: list[list[float]], y: list[int], theatre: Any
) -> Trained:
    from micrograd import plots

    with no_grad():
        share = accuracy([model(x) for x in X], y)
    pictures: dict[str, Picture] = {
        "boundary": ("what the model decides where", lambda ax: plots.decision_boundary(model, X, y, ax)),
        "loss": ("how the loss fell", lambda ax: plots.loss_curve(history, ax)),
    }
    return Trained(
        model, maker, history, f"accuracy {share:.1%}", text_map(model, X, y), pictures, timing=timing, theatre=theatre
    )


def text_map(model: Any, X: list[list[float]], y: list[int], width: int = 60, height: int = 18) -> list[str]:
    """The plane in characters: what the model decides where, in faint marks, and the points, in bold ones."""
    low, high = ([pick(x[axis] for x in X) for axis in (0, 1)] for pick in (min, max))
    at = [(high[0] - low[0]) / (width - 1) or 1.0, (high[1] - low[1]) / (height - 1) or 1.0]
    grid = []
    with no_grad():
        for row in range(height):
            xs = [[low[0] + at[0] * column, high[1] - at[1] * row] for column in range(width)]
            grid.append([" .:"[_decide(model(x))] for x in xs])
    for x, c in zip(X, y):
        grid[round((high[1] - x[1]) / at[1])][round((x[0] - low[0]) / at[0])] = "o+x"[max(c, 0)]
    return ["", *("  " + "".join(row).rstrip() for row in grid), ""]


def _decide(output: Any) -> int:
    if isinstance(output, list):
        scores = [float(score) for score in output]
        return scores.index(max(scores))
    return int(float(output) > 0)


def digits(asked: Request) -> Trained:
    """Handwritten digits of 8 by 8 pixels: 1,000 to learn from, 200 others to be tested on."""
    X, y = data.digits(1200, seed=asked.seed)
    seen, unseen = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    maker = "nn.MLP(64, [32, 10])"
    model = nn.MLP(64, [32, 10], init="kaiming", rng=asked.seed)
    _introduce("digits: read 1,000 handwritten digits of 8 by 8 pixels", model, maker)
    steps = asked.steps or 500
    history = fit(
        model,
        seen,
        losses.cross_entropy,
        optim.Adam(model.parameters(), lr=optim.cosine(0.01, 0.0005, steps)),
        epochs=steps,
        steps=steps,
        batch_size=32,
        compile=asked.jit,
        metrics={"accuracy": accuracy},
        rng=asked.seed,
        quiet=asked.hushed,
        callbacks=asked.callbacks(model, seen, steps),
    )
    from micrograd import plots

    with no_grad():
        read = [model(x) for x in unseen[0]]
    result = f"accuracy {accuracy(read, unseen[1]):.1%} on 200 digits that it never saw"
    guesses = [_decide(scores) for scores in read]
    pictures: dict[str, Picture] = {
        "read": ("what it read, wrong ones in red", lambda ax: _sheet(ax, unseen[0], unseen[1], guesses)),
        "loss": ("how the loss fell", lambda ax: plots.loss_curve(history, ax)),
    }
    timing = ""
    if asked.jit:
        running = history.seconds - history.compiling
        timing = (
            f"{len(history)} steps in {running:.2f} s as machine code, after {history.compiling:.1f} s of compiling"
        )
    return Trained(model, maker, history, result, [], pictures, window=30, timing=timing)


def _sheet(ax: Any, images: list[list[float]], classes: list[int], guesses: list[int]) -> None:
    """Draw digits in rows, with the guess under each; wrong ones come first."""
    order = sorted(range(len(images)), key=lambda i: guesses[i] == classes[i])[:40]
    for place, i in enumerate(order):
        left, top = place % 10, -1.35 * (place // 10)
        pixels = [images[i][row * 8 : row * 8 + 8] for row in range(8)]
        ax.imshow(pixels, cmap="gray_r", extent=(left, left + 0.9, top - 0.9, top), vmin=0, vmax=1)
        wrong = guesses[i] != classes[i]
        told = f"{guesses[i]}, is {classes[i]}" if wrong else str(guesses[i])
        ax.text(
            left + 0.45, top - 1.05, told, ha="center", va="center", fontsize=9, color="#c0281c" if wrong else "#1f2430"
        )
    ax.set_xlim(-0.1, 10)
    ax.set_ylim(-1.35 * 4 + 0.1, 0.1)
    ax.set_title("Digits that it never saw", color="#1f2430")
    ax.axis("off")


def names(asked: Request) -> Trained:
    """A transformer that reads one name at each step, and then makes up its own."""
    words = data.names()
    letters = data.Alphabet(words)
    tokens = [letters.encode(word) for word in words]
    maker = f"nn.GPT({len(letters)})"
    model = nn.GPT(len(letters), rng=asked.seed)
    _introduce(f"names: learn how {len(words):,} names are made, letter by letter", model, maker)
    steps = asked.steps or 2000
    history = fit(
        model,
        ([t[:-1] for t in tokens], [t[1:] for t in tokens]),
        losses.cross_entropy,
        optim.Adam(model.parameters(), lr=optim.linear(0.01, 0.0, steps), betas=(0.85, 0.99)),
        epochs=steps,
        steps=steps,
        batch_size=1,
        rng=asked.seed,
        quiet=asked.hushed,
        callbacks=asked.callbacks(model, (tokens, tokens), steps),
    )
    from micrograd import plots

    rng = random.Random(asked.seed)
    made: list[str] = []
    while len(made) < 20:
        name = letters.decode(model.generate([letters.end], letters.end, 0.6, rng))
        made += [name] if name else []
    new = sum(name not in words for name in made)
    shown = ["", *("  " + "".join(f"{name:<15}" for name in made[i : i + 5]).rstrip() for i in range(0, 20, 5)), ""]
    pictures: dict[str, Picture] = {"loss": ("how the loss fell", lambda ax: plots.loss_curve(history, ax))}
    result = f"20 names of its own, {new} of them new:"
    return Trained(model, maker, history, result, shown, pictures, window=100)


COMPILED = (
    "moons",
    "spirals",
    "digits",
)  # names have many lengths, each with a transformer's code of its own to wait for
TASKS: dict[str, Callable[[Request], Trained]] = {
    "moons": moons,
    "spirals": spirals,
    "digits": digits,
    "names": names,
}


def _draw(out: Path, task: str, pictures: dict[str, Picture], wide: int) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print(f"pictures are drawn by matplotlib, which is not installed: {install.command('train')}")
        return
    for name, (what, draw) in pictures.items():
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        draw(figure.add_subplot())
        path = out / f"{task}-{name}.png"
        figure.savefig(path, dpi=150)
        print(f"wrote {os.fspath(path):<{wide}}  {what}")
