"""The course as one file, and the static site around it: the front door, course, explorer, theatre, and with Pyodide the
workshop and a Python console."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from micrograd.errors import MicrogradError
from micrograd.learn import page, texts
from micrograd.learn.course import wheel
from micrograd.learn.course.lessons import Block, Lesson
from micrograd.learn.course.page import chapters, html, style
from micrograd.learn.explorer import Explorer, lesson_presets
from micrograd.learn.scene import used
from micrograd.learn.scenes import presets
from micrograd.learn.theatre import watch
from micrograd.learn.workshop.catalog import EXERCISES, Exercise, head

NAME = "micrograd-course"  # of the progress that a browser keeps
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SECONDS = 60  # for the learner's code; the longest check takes about 2 s
WORKER = "worker.mjs"
STEMS = (
    "index",
    "course",
    "explore",
    "watch",
    "workshop",
    "console",
    "class",
)  # pages that are there in every language
HOME_WORDS = ("language", "direction", "numbers", "spoken", "frames", "ideas", "page", "orders", "theatre", "home")
CLASS_WORDS = ("language", "direction", "numbers", "spoken", "page", "class")
CONSOLE_WORDS = ("language", "direction", "numbers", "spoken", "page", "course", "console")
EXERCISE = """def __mul__(self, other):
    out = Value(self.data * other.data)
    def _backward():
        self.grad += ...
        other.grad += ...
    return out
"""
CODE = """from micrograd import jit, math, value_and_grad


def cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def price(spot, vol, t):
    width = vol * math.sqrt(t)
    d = math.log(spot / 100.0) / width + 0.5 * width
    return spot * cdf(d) - 100.0 * cdf(d - width)


# exact derivatives, as machine code
greeks = jit(value_and_grad(price, argnums=(0, 1, 2)))
value, (delta, vega, theta) = greeks(105.0, 0.2, 0.5)
"""
CELLS = [
    """from micrograd import Value

a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
loss = a * b + c
loss.backward()
print(a.grad, b.grad, c.grad)
loss
""",
    """from micrograd import data, nn

X, y = data.moons(40)
model = nn.MLP(2, [8, 1], rng=1)

for step in range(20):
    loss = sum((1 - (2 * t - 1) * model(x)).relu() for x, t in zip(X, y)) / len(X)
    for p in model.parameters():
        p.grad = 0.0
    loss.backward()
    for p in model.parameters():
        p.data -= 0.5 * p.grad
    if step % 5 == 4:
        print(step + 1, loss.data)
""",
]
_START = 'startBench(JSON.parse(document.getElementById("lesson").textContent),document.getElementById("micrograd"));\n'


def home() -> Path:
    """Where `micrograd learn` keeps its page: always the same place, so that the browser finds the progress again."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "micrograd-course"


def course(
    links: dict[str, str] | None = None,
    *,
    python: bool = False,
    language: str = "",
    others: Sequence[dict[str, str]] = (),
) -> str:
    """The whole course as one page, in a language, or in the one that is in use.

    `python` says that Pyodide lies beside it, and `others` where the same page is in other languages.
    """
    beside = {"worker": WORKER, "wheel": wheel.name(), "seconds": SECONDS} if python else None
    kept = dict(texts.current())
    try:
        if language and language != kept["language"]:
            texts.use(language)
        words = texts.current()
        lessons = chapters(words["language"])
        return html(lessons, NAME, f"micrograd · {words['course']['title']}", links, python=beside, languages=others)
    finally:
        texts.use(kept)


def page_name(stem: str, language: str) -> str:
    """The file of a page in a language."""
    return f"{stem}.html" if language == "en" else f"{stem}.{language}.html"


def in_every_language(
    stem: str, links: dict[str, str], make: Callable[[dict[str, str], list[dict[str, str]]], str]
) -> dict[str, str]:
    """A page in every language, by the names of its files; each leads to the others, and to pages of its own language.

    `make` writes the page in the language in use, with these links and the same page in other languages.
    """
    kept = dict(texts.current())
    if kept["language"] != "en":  # somebody has chosen one language for all pages
        return {page_name(stem, "en"): make(links, [])}
    spoken = {code: texts.read(code)["name"] for code in sorted(texts.languages(), key=lambda code: code != "en")}
    pages = {}
    try:
        for code in spoken:
            texts.use(code)
            others = [
                {"code": other, "name": name, "to": page_name(stem, other)}
                for other, name in spoken.items()
                if other != code
            ]
            pages[page_name(stem, code)] = make({key: _spoken(to, code) for key, to in links.items()}, others)
    finally:
        texts.use(kept)
    return pages


def _spoken(address: str, language: str) -> str:
    """The address of a page of the site in a language; other addresses stay as they are."""
    file, mark, place = address.partition("#")
    stem = file.removesuffix(".html")
    return f"{page_name(stem, language)}{mark}{place}" if stem in STEMS else address


def courses(links: dict[str, str], *, python: bool = False) -> dict[str, str]:
    """The course in every language, by the names of its files; each has links to the others."""
    return in_every_language("course", links, lambda own, others: course(own, python=python, others=others))


def build(folder: Path, pyodide: Path | None = None, docs: str = "") -> Iterator[Path]:
    """Write the site into a folder, and give the path of each file.

    `pyodide` is the unpacked npm package of that name; without it the site has no workshop and no console in the browser.
    `docs` is where the documentation lies, seen from the folder, such as `../`.
    """
    missing = [] if pyodide is None else [name for name in PYODIDE if not (pyodide / name).exists()]
    if missing:
        raise MicrogradError(
            f"{pyodide} is not the npm package pyodide: it has no {missing[0]}.\n"
            "  `npm install pyodide` fetches it into node_modules/pyodide."
        )
    links = {"explore": "explore.html", "watch": "watch.html#playground"}
    if pyodide is not None:
        links |= {"workshop": "workshop.html", "console": "console.html"}
    (folder / "pyodide").mkdir(parents=True, exist_ok=True) if pyodide else folder.mkdir(parents=True, exist_ok=True)
    back = {"course": "course.html", **links}
    ways = back | ({"docs": f"{docs}index.html", "compile": f"{docs}compile.html"} if docs else {})
    course_page = {"course": "course.html"}
    pages = {
        "alive.html": home_page({}),
        **in_every_language("index", ways, home_page),
        **courses(links, python=pyodide is not None),
        **in_every_language("class", {}, lambda _, others: class_page(languages=others)),
        **in_every_language("explore", course_page, lambda own, others: _explorer(own["course"], others)),
        **in_every_language("watch", {}, lambda _, others: watch().page(languages=others)),
    }
    if pyodide is not None:
        for stem, make in (("workshop", workshop), ("console", console)):
            pages |= in_every_language(stem, {key: to for key, to in back.items() if key != stem}, make)
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


def _explorer(course: str, languages: list[dict[str, str]]) -> str:
    explorer = Explorer([])
    explorer.lesson |= {"course": course, "languages": languages}
    return explorer.html


def home_page(links: dict[str, str], languages: Sequence[dict[str, str]] = ()) -> str:
    """The front door, with a graph that lives; without links the graph alone, for another page to show."""
    made = next(one for one in lesson_presets() if one["key"] == "diamond")
    play: dict[str, Any] = {
        "graph": made["timeline"],
        "scene": presets()[0],
        "texts": {key: words for key, words in texts.current().items() if key in HOME_WORDS},
        "ideas": texts.lesson()["ideas"],
        "links": links,
        "alone": not links,
        "languages": list(languages),
        "code": CODE,
        "exercise": EXERCISE,
    }
    ops = {node["op"] for node in made["timeline"]["nodes"] if "op" in node}
    script = page.module(frozenset(ops | used([play["scene"]])), page.HOME).replace(
        "export default{startHome};\n", _START.replace("startBench", "startHome")
    )
    return page.document(play, script, page.style("page", "home"), "micrograd")


def console(links: dict[str, str], languages: Sequence[dict[str, str]] = ()) -> str:
    """Python in a page, with the package; beside it stand the worker, the wheel and Pyodide."""
    play: dict[str, Any] = {
        "texts": {key: words for key, words in texts.current().items() if key in CONSOLE_WORDS},
        "ideas": [],
        "links": links,
        "worker": WORKER,
        "wheel": wheel.name(),
        "seconds": SECONDS,
        "cells": CELLS,
        "languages": list(languages),
    }
    script = page.module(frozenset(), page.CONSOLE).replace(
        "export default{startConsole};\n", _START.replace("startBench", "startConsole")
    )
    more = ("worker-src 'self'", "img-src data:")
    return page.document(play, script, page.style("page", "console"), "micrograd · Python", "'self'", more)


def class_page(saved: Sequence[tuple[str, str]] = (), languages: Sequence[dict[str, str]] = ()) -> str:
    """A page that merges the progress which the learners of a class have saved; `saved` are names and texts of files."""
    play: dict[str, Any] = {
        "texts": {key: words for key, words in texts.current().items() if key in CLASS_WORDS},
        "plan": {
            "workshop": [{"key": one.name, "title": one.title} for one in EXERCISES],
            "course": [
                {"key": one.key, "title": one.title, "tasks": sum(part.kind == "ask" for part in _blocks(one))}
                for one in chapters(texts.current()["language"])
            ],
        },
        "saved": list(saved),
        "languages": list(languages),
    }
    script = page.module(frozenset(), page.CLASS).replace(
        "export default{startClass};\n", _START.replace("startBench", "startClass")
    )
    return page.document(play, script, page.style("page", "class"), f"micrograd · {texts.get('class.brand')}")


def _blocks(lesson: Lesson) -> list[Block]:
    return [part for step in lesson.steps for part in step.parts if isinstance(part, Block)]


def workshop(links: dict[str, str], languages: Sequence[dict[str, str]] = ()) -> str:
    """The page of the workshop; beside it stand the worker, the wheel and Pyodide."""
    bench: dict[str, Any] = {
        "exercises": [_exercise(exercise) for exercise in EXERCISES],
        "texts": {
            key: words
            for key, words in texts.current().items()
            if key not in ("terminal", "theatre", "quizzes", "home", "console", "class", "glossary")
        },
        "ideas": texts.lesson()["ideas"],
        "links": links,
        "languages": list(languages),
        "worker": WORKER,
        "wheel": wheel.name(),
        "seconds": SECONDS,
    }
    script = page.module(None, page.BENCH).replace("export default{startBench};\n", _START)
    more = ("worker-src 'self'", "img-src data:")
    return page.document(bench, script, style(), f"micrograd · {texts.get('bench.brand')}", "'self'", more)


def _exercise(exercise: Exercise) -> dict[str, Any]:
    own = {} if exercise.milestone else {"task": exercise.task, "solution": exercise.solution}
    return {
        "name": exercise.name,
        "milestone": exercise.milestone,
        "title": exercise.title,
        "about": exercise.about,
        "hints": exercise.hints,
        "heads": [] if exercise.milestone else [head(task) for task in exercise.tasks],
        "task": "",
        "solution": "",
        **own,
    }
