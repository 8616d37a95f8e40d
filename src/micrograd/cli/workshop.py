"""micrograd workshop: build your own micrograd in plain files, with a check at each save."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from micrograd.cli.main import BadArgument
from micrograd.learn import texts
from micrograd.learn.workshop import folder as workshop
from micrograd.learn.workshop.catalog import Exercise
from micrograd.learn.workshop.messages import say

ACTIONS = ("start", "check", "list", "hint", "solution", "reset", "class")


def add_arguments(parser: Any) -> None:
    """Declare the options: an action, and the exercise, folder or files that it is for."""
    parser.add_argument(
        "action",
        nargs="?",
        default="check",
        choices=ACTIONS,
        help="check (the default) watches the files; list shows how far you are; reset brings a task back; "
        "class makes one page of the saved progress of many learners",
    )
    parser.add_argument(
        "which",
        nargs="*",
        help="start: the folder to make; check: the exercise to begin at; hint, solution, reset: an exercise "
        "(default: the next); class: the files",
    )
    parser.add_argument(
        "--once", action="store_true", help="check once; exit code 0 when all exercises are done, else 1"
    )
    parser.add_argument(
        "--json", action="store_true", help="check: every exercise once, as JSON with a state and a message for each"
    )
    parser.add_argument(
        "--lang",
        choices=texts.languages(),
        help="the language of tasks and messages; a folder remembers it (default: that of the folder, else en)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="class: the page to write (default: class.html)")


def run(args: Any) -> int:
    """Run the action; return the exit code."""
    here = Path.cwd()
    if args.output and args.action != "class":
        raise BadArgument(f"--output belongs to class, not to {args.action}")
    if (args.json or args.once) and args.action != "check":
        raise BadArgument(f"--json and --once belong to check, not to {args.action}")
    if args.action == "class":
        texts.use(args.lang or "en")
        return _class([Path(name) for name in args.which], Path(args.output or "class.html"))
    if len(args.which) > 1:
        raise BadArgument(f"{args.action} takes one argument; got {', '.join(map(repr, args.which))}")
    which = args.which[0] if args.which else ""
    if args.action == "start":
        return _start(Path(which or "my_micrograd"), args.lang or "")
    workshop.require_workshop(here)
    workshop.speak(here, args.lang or "")
    if args.action == "list":
        if which:
            raise BadArgument(f"list takes no argument; got {which!r}")
        _tell(workshop.listing(here))
        return 0
    chosen = _find(which) if which else None
    if args.action == "check":
        return _check(here, chosen, args)
    exercise = chosen or workshop.current(here)
    if exercise is None:
        _tell(say("All exercises are done."))
        return 0
    if args.action == "hint":
        _tell(workshop.hint(exercise, here))
        return 0
    if args.action == "reset":
        return _reset(exercise, here)
    text = workshop.solution(exercise, here)
    if text is None:
        _tell(
            say(
                "Try {file} first: a solution is shown once you have changed the file. `hint` gives a hint.",
                file=exercise.file,
            )
        )
        return 1
    _tell(text.rstrip())
    return 0


def _find(word: str) -> Exercise:
    try:
        return workshop.find(word)
    except LookupError as reason:
        raise BadArgument(reason.args[0]) from None


def _check(here: Path, first: Exercise | None, args: Any) -> int:
    if args.json:
        if first is not None:
            raise BadArgument("--json checks every exercise; leave the exercise out")
        found = workshop.report_all(here)
        _tell(json.dumps(found, indent=1, ensure_ascii=False))
        return int(any(row["state"] != "passed" for row in found["exercises"]))
    if args.once:
        missing = workshop.check_in_order(here, _tell, first=first) is not None
        _tell(f"\n{workshop.progress(here)}")
        return int(missing)
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        workshop.watch(here, _tell, first=first)
        return 0
    from micrograd.learn.terminal import Keyboard

    with Keyboard() as keyboard:
        workshop.watch(here, _tell, wait=keyboard.key_within, first=first, keys=True)
    return 0


def _reset(exercise: Exercise, here: Path) -> int:
    if exercise.milestone:
        _tell(say("A milestone has no file to write: it runs your earlier files together."))
        return 1
    kept = workshop.reset(exercise, here)
    _tell(
        say("{file} is the task again.", file=exercise.file)
        + (say(" Your file is kept as {name}.", name=kept.name) if kept else "")
    )
    return 0


def _class(files: list[Path], page: Path) -> int:
    from micrograd.learn.course import site

    saved = []
    for path in files:
        try:
            saved.append((path.stem, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            raise OSError(f"{path} is not a text file; class takes files that learners have saved") from None
    page.write_text(site.class_page(saved), encoding="utf-8")
    _tell(
        say(
            "wrote {page}: {count} saved files. Drop more of them on the page; nothing leaves it.",
            page=page,
            count=len(saved),
        )
    )
    return 0


def _start(folder: Path, language: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    workshop.speak(folder, language)
    made = workshop.start(folder)
    _tell(
        say(
            "{count} exercise files written to {folder}. Files that were there are kept.",
            count=len(made),
            folder=folder,
        )
    )
    _tell(say("Next: cd {folder}; micrograd workshop", folder=folder))
    return 0


def _tell(text: str) -> None:
    print(text, flush=True)
