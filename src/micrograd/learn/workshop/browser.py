"""The checker for a page that runs Python in the browser: files come and verdicts go as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from micrograd.learn import texts
from micrograd.learn.workshop.catalog import BY_NAME
from micrograd.learn.workshop.judge import judge

SHOWN = 2000  # characters of the learner's own output


class Beginning(io.StringIO):
    """The beginning of what is printed; the rest is dropped, so that a loop that prints does not fill the page's memory."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, SHOWN - self.tell())])
        return len(text)


def check(name: str, files: str, language: str = "en") -> str:
    """Judge one exercise; `files` has the learner's files by exercise, and missing ones are the untouched tasks.

    >>> import json
    >>> from micrograd.learn.workshop.browser import check
    >>> from micrograd.learn.workshop.catalog import BY_NAME
    >>> json.loads(check("e01_slope", json.dumps({"e01_slope": BY_NAME["e01_slope"].solution})))["passed"]
    True
    """
    given = json.loads(files)
    texts.use(language)
    printed = Beginning()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for exercise in BY_NAME.values():
            if not exercise.milestone:
                (folder / exercise.file).write_text(given.get(exercise.name, exercise.task), encoding="utf-8")
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            verdict = judge(name, folder, show=True)
        drawn = next(folder.glob("my_*.svg"), None)  # by a milestone
        picture = drawn.read_text(encoding="utf-8") if drawn else ""
    if (
        verdict.replay is not None and not verdict.passed
    ):  # the page has a stage of its own, and there is no file to open
        verdict.timeline = verdict.timeline[:-1]
    return json.dumps({**asdict(verdict), "printed": printed.getvalue(), "picture": picture})


def check_written(asked: str) -> str:
    """Judge a few lines that the learner wrote in the course: `asked` has the pieces before them, their code and the tests.

    >>> import json
    >>> from micrograd.learn.workshop.browser import check_written
    >>> asked = {"pieces": ["a = 1"], "code": "b = a +", "tests": ""}
    >>> json.loads(check_written(json.dumps(asked)))["line"]
    1
    """
    given = json.loads(asked)
    printed, space = Beginning(), {"__name__": "__main__"}
    message, line, own = "", 0, "your code"
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            for name, text in (
                *(("piece", one) for one in given["pieces"]),
                (own, given["code"]),
                ("tests", given["tests"]),
            ):
                exec(compile(text, name, "exec"), space)
    except AssertionError as error:
        message = str(error)
    except SyntaxError as error:
        line = error.lineno or 0
        message = texts.say("course.write.syntax", line=str(line), text=error.msg)
    except Exception as error:
        line = next(
            (one.lineno or 0 for one in reversed(traceback.extract_tb(error.__traceback__)) if one.filename == own), 0
        )
        said: dict[str, Any] = {"kind": type(error).__name__, "text": str(error), "line": str(line)}
        message = texts.say("course.write.raised" if line else "course.write.raised_outside", **said)
    return json.dumps(
        {"passed": not message, "message": message, "line": line, "printed": printed.getvalue(), "outside": False}
    )
