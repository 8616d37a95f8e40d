"""micrograd workshop: build your own micrograd in plain files, with a check at each save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from micrograd.cli.main import BadArgument
from micrograd.learn.workshop import folder as workshop

ACTIONS = ("start", "check", "hint", "solution")


def add_arguments(parser: Any) -> None:
    """Declare the options: an action, and the exercise or folder that it is for."""
    parser.add_argument(
        "action", nargs="?", default="check", choices=ACTIONS, help="check (the default) watches the files"
    )
    parser.add_argument(
        "which", nargs="?", help="start: the folder to make; hint, solution: an exercise (default: the next)"
    )
    parser.add_argument(
        "--once", action="store_true", help="check once; exit code 0 when all exercises are done, else 1"
    )


def run(args: Any) -> int:
    """Run the action; return the exit code."""
    here = Path.cwd()
    if args.action == "start":
        return _start(Path(args.which or "my_micrograd"))
    workshop.require_workshop(here)
    if args.action == "check":
        if args.which:
            raise BadArgument(f"check takes no argument; got {args.which!r}")
        if args.once:
            return int(workshop.check_in_order(here, _tell) is not None)
        workshop.watch(here, _tell)
        return 0
    try:
        exercise = workshop.find(args.which) if args.which else workshop.current(here)
    except LookupError as reason:
        raise BadArgument(reason.args[0]) from None
    if exercise is None:
        _tell("All exercises are done.")
        return 0
    if args.action == "hint":
        _tell(workshop.hint(exercise, here))
        return 0
    text = workshop.solution(exercise, here)
    if text is None:
        _tell(f"Try {exercise.file} first: a solution is shown once you have changed the file. `hint` gives a hint.")
        return 1
    _tell(text.rstrip())
    return 0


def _start(folder: Path) -> int:
    made = workshop.start(folder)
    _tell(f"{len(made)} exercise files written to {folder}. Files that were there are kept.")
    _tell(f"Next: cd {folder}; micrograd workshop")
    return 0


def _tell(text: str) -> None:
    print(text, flush=True)
