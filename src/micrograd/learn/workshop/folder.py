"""A learner's folder: start it, check it in order, watch it, and give hints and solutions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from micrograd.learn import texts
from micrograd.learn.workshop.catalog import EXERCISES, Exercise
from micrograd.learn.workshop.process import Run, check

STATE = ".workshop.json"  # how many hints were shown for each exercise


class NoWorkshop(OSError):
    """The folder has no exercises."""


def start(folder: Path) -> list[Path]:
    """Write the exercise files. Files that are already there are kept; gives the new ones."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for exercise in EXERCISES:
        path = folder / exercise.file
        if not exercise.milestone and not path.exists():
            path.write_text(exercise.task, encoding="utf-8")
            made.append(path)
    return made


def require_workshop(folder: Path) -> None:
    """Raise unless the folder was started."""
    if not (folder / EXERCISES[0].file).exists():
        raise NoWorkshop(
            f"{folder} has no exercises. Make a folder with `micrograd workshop start FOLDER`, and go there."
        )


def touched(exercise: Exercise, folder: Path) -> bool:
    """Whether the learner has changed the file."""
    path = folder / exercise.file
    return exercise.milestone or (path.exists() and path.read_text(encoding="utf-8", errors="replace") != exercise.task)


def check_in_order(
    folder: Path, tell: Callable[[str], None], passed: dict[str, tuple[float, ...]] | None = None
) -> Exercise | None:
    """Check exercise after exercise up to the first that does not pass; gives that one, or None when all are done.

    `passed` remembers exercises that passed with these files, and is kept up to date.
    """
    passed = {} if passed is None else passed
    for place, exercise in enumerate(EXERCISES):
        stamp = stamps(folder, place + 1)
        if passed.get(exercise.name) == stamp:
            continue
        if not exercise.milestone and not (folder / exercise.file).exists():
            tell(f"{exercise.file} is missing. `micrograd workshop start .` brings back missing files.")
            return exercise
        if not touched(exercise, folder):
            tell(f"\nNext: {exercise.file}\n\n{_docstring(exercise)}")
            return exercise
        run = check(exercise.name, folder)
        if not run.verdict.passed:
            tell(report(exercise, run))
            return exercise
        passed[exercise.name] = stamp
        tell(f"passed  {exercise.name}" + (f"  {run.verdict.message}" if run.verdict.message else ""))
    tell("All exercises are done. You have built an engine, a network, an optimizer and attention.")
    return None


def report(exercise: Exercise, run: Run) -> str:
    """A failed check in words: what is wrong first, then the steps that led there and what the code printed."""
    where = exercise.milestone and f"milestone: {exercise.about}"
    lines = [f"\nnot yet {where or exercise.file}", "", run.verdict.message]
    if run.verdict.timeline:
        lines += ["", texts.get("bench.steps"), *[f"  {line}" for line in run.verdict.timeline]]
    if run.printed.strip():
        lines += ["", texts.get("bench.printed"), run.printed.rstrip()]
    if not exercise.milestone:
        lines += ["", "`micrograd workshop hint` gives a hint, `micrograd workshop solution` a solution."]
    return "\n".join(lines)


def _docstring(exercise: Exercise) -> str:
    return exercise.task.split('"""')[1].strip()


def stamps(folder: Path, count: int | None = None) -> tuple[float, ...]:
    """When the first files were last written; -1 for a missing one."""
    found = []
    for exercise in EXERCISES[:count]:
        try:
            found.append(-1.0 if exercise.milestone else float((folder / exercise.file).stat().st_mtime_ns))
        except OSError:
            found.append(-1.0)
    return tuple(found)


def watch(
    folder: Path, tell: Callable[[str], None], pause: float = 0.3, wait: Callable[[float], None] = time.sleep
) -> None:
    """Check, and check again after each save, until all is done or Ctrl-C."""
    passed: dict[str, tuple[float, ...]] = {}
    while True:
        seen = stamps(folder)
        if check_in_order(folder, tell, passed) is None:
            return
        tell("\nWaiting for a save; Ctrl-C ends.")
        while stamps(folder) == seen:
            wait(pause)


def current(folder: Path) -> Exercise | None:
    """The exercise that the learner is at."""
    return check_in_order(folder, lambda text: None)


def find(word: str) -> Exercise:
    """An exercise by its number or name."""
    for exercise in EXERCISES:
        name = exercise.name
        if not exercise.milestone and word in (name, exercise.file, name[:3], name[4:], str(int(name[1:3]))):
            return exercise
    raise LookupError(f"there is no exercise {word!r}; they are numbered from 1 to 20")


def hint(exercise: Exercise, folder: Path) -> str:
    """The next hint; the last one is given again."""
    if exercise.milestone:
        return (
            "A milestone runs your earlier files together and has no hints of its own: read the message of the check."
        )
    path = folder / STATE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        number = int(state.get(exercise.name, 0))
    except (
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):  # no hint yet, or a file that somebody has edited
        state, number = {}, 0
    hints = exercise.hints
    number = min(max(number, 0), len(hints) - 1)
    path.write_text(json.dumps({**state, exercise.name: number + 1}), encoding="utf-8")
    return f"{exercise.file}, hint {number + 1} of {len(hints)}: {hints[number]}"


def solution(exercise: Exercise, folder: Path) -> str | None:
    """A solution, or None when the learner has not tried yet."""
    if exercise.milestone:
        return "A milestone has no file to write: it runs your earlier files together."
    return exercise.solution if touched(exercise, folder) else None
