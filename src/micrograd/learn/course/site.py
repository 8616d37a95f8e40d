"""The course as one file, and the static site around it: course, explorer, theatre, and the workshop in the browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from micrograd.errors import MicrogradError
from micrograd.learn import page, texts
from micrograd.learn.course import wheel
from micrograd.learn.course.page import chapters, html, style
from micrograd.learn.explorer import Explorer
from micrograd.learn.theatre import watch
from micrograd.learn.workshop.catalog import EXERCISES, Exercise

NAME = "micrograd-course"  # of the progress that a browser keeps
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SECONDS = 60  # for the learner's code; the longest check takes about 2 s
WORKER = "worker.mjs"
_START = 'startBench(JSON.parse(document.getElementById("lesson").textContent),document.getElementById("micrograd"));\n'


def home() -> Path:
    """Where `micrograd learn` keeps its page: always the same place, so that the browser finds the progress again."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "micrograd-course"


def course(links: dict[str, str] | None = None) -> str:
    """The whole course as one page."""
    return html(chapters(), NAME, "micrograd · the course", links)


def build(folder: Path, pyodide: Path | None = None) -> Iterator[Path]:
    """Write the site into a folder, and give the path of each file.

    `pyodide` is the unpacked npm package of that name; without it the site has no workshop in the browser.
    """
    missing = [] if pyodide is None else [name for name in PYODIDE if not (pyodide / name).exists()]
    if missing:
        raise MicrogradError(
            f"{pyodide} is not the npm package pyodide: it has no {missing[0]}.\n"
            "  `npm install pyodide` fetches it into node_modules/pyodide."
        )
    links = {"explore": "explore.html", "watch": "watch.html"}
    if pyodide is not None:
        links["workshop"] = "workshop.html"
    (folder / "pyodide").mkdir(parents=True, exist_ok=True) if pyodide else folder.mkdir(parents=True, exist_ok=True)
    back = {"course": "index.html", **links}
    explorer = Explorer([])
    explorer.lesson["course"] = "index.html"
    pages = {"index.html": course(links), "explore.html": explorer.html, "watch.html": watch().html}
    if pyodide is not None:
        pages["workshop.html"] = workshop({key: to for key, to in back.items() if key != "workshop"})
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
        yield folder / name
    if pyodide is None:
        return
    (folder / wheel.name()).write_bytes(wheel.build())
    shutil.copyfile(page.STATIC / WORKER, folder / WORKER)
    for name in PYODIDE:
        shutil.copyfile(pyodide / name, folder / "pyodide" / name)
    yield from (folder / name for name in (wheel.name(), WORKER, "pyodide"))


def workshop(links: dict[str, str]) -> str:
    """The page of the workshop; beside it stand the worker, the wheel and Pyodide."""
    bench: dict[str, Any] = {
        "exercises": [_exercise(exercise) for exercise in EXERCISES],
        "texts": {
            key: words for key, words in texts.current().items() if key not in ("terminal", "theatre", "quizzes")
        },
        "ideas": texts.lesson()["ideas"],
        "links": links,
        "worker": WORKER,
        "wheel": wheel.name(),
        "seconds": SECONDS,
    }
    script = page.module(None, page.BENCH).replace("export default{startBench};\n", _START)
    more = ("worker-src 'self'", "img-src data:")
    return page.document(bench, script, style(), "micrograd · the workshop", "'self'", more)


def _exercise(exercise: Exercise) -> dict[str, Any]:
    own = {} if exercise.milestone else {"task": exercise.task, "solution": exercise.solution}
    return {
        "name": exercise.name,
        "milestone": exercise.milestone,
        "title": exercise.title,
        "about": exercise.about,
        "hints": exercise.hints,
        "task": "",
        "solution": "",
        **own,
    }
