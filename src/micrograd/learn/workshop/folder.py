"""A learner's folder: start it, check it in order, watch it, list and reset exercises, and give hints and solutions."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from micrograd.learn import texts
from micrograd.learn.workshop.catalog import EXERCISES, Exercise
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.process import JudgedRun, check

STATE = ".workshop.json"  # how many hints were shown for each exercise, and with which files it has passed
PASSED = "passed"  # the key of the latter
LANGUAGE = "language"  # the key of the language in which the folder was started
BAR = 22  # signs of the progress bar
MARKS = {"passed": "✓", "tried": "→", "open": "·"}


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


def speak(folder: Path, language: str = "") -> None:
    """Use a language, or the one in which the folder was started, and remember it for the folder."""
    known = _state(folder).get(LANGUAGE)
    chosen = language or (known if known in texts.languages() else "en")
    if chosen != texts.current()["language"]:
        texts.use(chosen)
    if language and language != known:
        with contextlib.suppress(OSError):
            (folder / STATE).write_text(json.dumps({**_state(folder), LANGUAGE: language}), encoding="utf-8")


def require_workshop(folder: Path) -> None:
    """Raise unless the folder was started."""
    if not (folder / EXERCISES[0].file).exists():
        raise NoWorkshop(
            f"{folder} has no exercises. Make a folder with `micrograd workshop start FOLDER`, and go there."
        )


def touched(exercise: Exercise, folder: Path) -> bool:
    """Whether the learner has changed the file."""
    path = folder / exercise.file
    if exercise.milestone:
        return True
    return path.exists() and path.read_text(encoding="utf-8", errors="replace") not in exercise.tasks


def check_in_order(
    folder: Path,
    tell: Callable[[str], None],
    passed: dict[str, tuple[float, ...]] | None = None,
    first: Exercise | None = None,
) -> Exercise | None:
    """Check exercise after exercise up to the first that does not pass; gives that one, or None when all are done.

    `passed` remembers exercises that passed with these files, and is kept up to date. `first` is where to begin.
    """
    passed = {} if passed is None else passed
    for place, exercise in enumerate(EXERCISES):
        if first is not None and place < EXERCISES.index(first):
            continue
        stamp = stamps(folder, place + 1)
        if passed.get(exercise.name) == stamp:
            continue
        if not exercise.milestone and not (folder / exercise.file).exists():
            tell(say("{file} is missing. `micrograd workshop start .` brings back missing files.", file=exercise.file))
            return exercise
        if not touched(exercise, folder):
            tell(say("\nNext: {file}\n\n{task}", file=exercise.file, task=_docstring(exercise)))
            return exercise
        run = check(exercise.name, folder)
        if not run.verdict.passed:
            tell(report(exercise, run))
            return exercise
        passed[exercise.name] = stamp
        _remember(folder, exercise)
        tell(say("passed  {name}  {message}", name=exercise.name, message=run.verdict.message).rstrip())
    tell(say("All exercises are done. You have built an engine, a network, an optimizer and attention."))
    return None


def report(exercise: Exercise, run: JudgedRun) -> str:
    """A failed check in words: what is wrong first, then the steps that led there and what the code printed."""
    where = exercise.milestone and say("milestone: {about}", about=exercise.about)
    lines = [say("\nnot yet {file}", file=where or exercise.file), "", run.verdict.message]
    if run.verdict.timeline:
        lines += ["", texts.get("bench.steps"), *[f"  {line}" for line in run.verdict.timeline]]
    if run.printed.strip():
        lines += ["", texts.get("bench.printed"), run.printed.rstrip()]
    if not exercise.milestone:
        lines += ["", say("`micrograd workshop hint` gives a hint, `micrograd workshop solution` a solution.")]
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


ENDS = "Ctrl-C ends."
KEYS = "Keys: h a hint, s a solution, l the list, r this task again, c check again, q quit."


def watch(
    folder: Path,
    tell: Callable[[str], None],
    pause: float = 0.3,
    wait: Callable[[float], Any] = time.sleep,
    first: Exercise | None = None,
    keys: bool = False,
) -> None:
    """Check, and check again after each save, until all is done or Ctrl-C; from the exercise `first` on.

    `keys` says that `wait` gives the key that was pressed meanwhile, or "".
    """
    passed: dict[str, tuple[float, ...]] = {}
    while True:
        seen = stamps(folder)
        exercise = check_in_order(folder, tell, passed, first)
        if exercise is None:
            return
        tell(say("\n{bar}\nWaiting for a save; {way}", bar=progress(folder), way=say(KEYS if keys else ENDS)))
        sure = False  # a reset is asked for twice
        while stamps(folder) == seen:
            key = wait(pause)
            if not keys or not key:
                continue
            if key in ("q", "\x03", "\x04"):
                return
            if key == "c":
                break
            if key == "r" and not sure and not exercise.milestone and touched(exercise, folder):
                tell(
                    say(
                        "{file} would be the task again, and your file kept beside it. Press r once more.",
                        file=exercise.file,
                    )
                )
                sure = True
                continue
            _pressed(key, exercise, folder, tell)
            sure = False


def _pressed(key: str, exercise: Exercise, folder: Path, tell: Callable[[str], None]) -> None:
    """Do what a key stands for."""
    if key == "h":
        tell(hint(exercise, folder))
    elif key == "s":
        found = solution(exercise, folder)
        tell(
            say("Try {file} first: a solution is shown once you have changed the file.", file=exercise.file)
            if found is None
            else found.rstrip()
        )
    elif key == "l":
        tell(listing(folder))
    elif key == "r":
        kept = reset(exercise, folder)
        tell(
            say("{file} is the task again.", file=exercise.file)
            + (say(" Your file is kept as {name}.", name=kept.name) if kept else "")
        )
    else:
        tell(say(KEYS))


def _state(folder: Path) -> dict[str, Any]:
    """What the folder remembers; nothing where there is no such file, or somebody has edited it."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return state if isinstance(state, dict) else {}


def _digest(folder: Path, exercise: Exercise) -> str:
    """What the check of an exercise reads: its file and those before it."""
    found = sha256()
    for one in EXERCISES[: EXERCISES.index(exercise) + 1]:
        path = folder / one.file
        found.update(one.name.encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


def _remember(folder: Path, exercise: Exercise) -> None:
    state = _state(folder)
    before = state.get(PASSED)
    kept = before if isinstance(before, dict) else {}
    state[PASSED] = {**kept, exercise.name: _digest(folder, exercise)}
    with contextlib.suppress(OSError):  # a folder that cannot be written has no list, and all else
        (folder / STATE).write_text(json.dumps(state), encoding="utf-8")


def states(folder: Path) -> dict[str, str]:
    """Say of each exercise whether it has passed with the present files, was tried, or is open; nothing is run."""
    known = _state(folder).get(PASSED)
    passed = known if isinstance(known, dict) else {}
    found = {}
    for exercise in EXERCISES:
        done = passed.get(exercise.name) == _digest(folder, exercise)
        tried = not exercise.milestone and touched(exercise, folder)
        found[exercise.name] = "passed" if done else "tried" if tried else "open"
    return found


def progress(folder: Path) -> str:
    """How far the learner is, as a bar."""
    done = sum(state == "passed" for state in states(folder).values())
    full = BAR * done // len(EXERCISES)
    return say("[{bar}] {done} of {all}", bar="#" * full + "-" * (BAR - full), done=done, all=len(EXERCISES))


def listing(folder: Path) -> str:
    """Every exercise with its state: ✓ has passed, → was tried, · is open."""
    found = states(folder)
    rows = [f"  {MARKS[found[one.name]]} {one.name:<18} {one.title}" for one in EXERCISES]
    return "\n".join([*rows, "", f"  {progress(folder)}", "  " + texts.get("bench.marks")])


def reset(exercise: Exercise, folder: Path) -> Path | None:
    """Write the task again; the learner's file is kept beside it, under the name that is given back."""
    if exercise.milestone:
        return None
    path = folder / exercise.file
    kept = None
    if path.exists() and touched(exercise, folder):
        kept = folder / f"{exercise.file}.old"
        for k in range(2, 1000):
            if not kept.exists():
                break
            kept = folder / f"{exercise.file}.old{k}"
        path.replace(kept)
    path.write_text(exercise.task, encoding="utf-8")
    return kept


def report_all(folder: Path) -> dict[str, Any]:
    """Check every exercise that was tried, and give the verdicts as plain data, for a teacher's program."""
    rows = []
    for exercise in EXERCISES:
        there = exercise.milestone or (folder / exercise.file).exists()
        row = {
            "exercise": exercise.name,
            "title": exercise.title,
            "state": "open" if there else "missing",
            "message": "",
        }
        if there and touched(exercise, folder):
            run = check(exercise.name, folder)
            row["state"] = "passed" if run.verdict.passed else "open" if exercise.milestone else "failed"
            row["message"] = run.verdict.message
        rows.append(row)
    return {"version": 1, "kind": "micrograd workshop", "learner": folder.resolve().name, "exercises": rows}


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
        return say(
            "A milestone runs your earlier files together and has no hints of its own: read the message of the check."
        )
    state = _state(folder)
    try:
        number = int(state.get(exercise.name, 0))
    except (ValueError, TypeError, OverflowError):  # somebody has edited the file
        number = 0
    hints = exercise.hints
    number = min(max(number, 0), len(hints) - 1)
    (folder / STATE).write_text(json.dumps({**state, exercise.name: number + 1}), encoding="utf-8")
    return say("{file}, hint {k} of {n}: {hint}", file=exercise.file, k=number + 1, n=len(hints), hint=hints[number])


def solution(exercise: Exercise, folder: Path) -> str | None:
    """A solution, or None when the learner has not tried yet."""
    if exercise.milestone:
        return say("A milestone has no file to write: it runs your earlier files together.")
    return exercise.solution if touched(exercise, folder) else None
