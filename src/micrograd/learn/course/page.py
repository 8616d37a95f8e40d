"""Lessons as one HTML file that needs nothing else: the texts as HTML, the graphs for the stage, the front-end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from micrograd.learn import page, texts
from micrograd.learn.course import markdown
from micrograd.learn.course.asks import Ask, number, read_ask
from micrograd.learn.course.drill import SKILLS, DrillGraph, shapes
from micrograd.learn.course.lessons import Block, Lesson, LessonError, LessonScreen, Problem, Prose, read, unused
from micrograd.learn.course.pictures import picture
from micrograd.learn.course.scenes import Scene, scenes
from micrograd.learn.course.training import moons, training
from micrograd.learn.course.translation import translated
from micrograd.learn.course.written import builds, pieces, written
from micrograd.learn.expression import ExpressionError, parse, read_values
from micrograd.learn.frames import frames
from micrograd.learn.nodes import Node
from micrograd.learn.scene import used

CHAPTERS = Path(__file__).parent / "chapters"
_START = (
    'startCourse(JSON.parse(document.getElementById("lesson").textContent),document.getElementById("micrograd"));\n'
)


def chapters(language: str = "en") -> list[Lesson]:
    """The chapters of the course, in order; in English where a chapter is not translated, which its `language` says."""
    found = []
    for path in sorted((CHAPTERS / "en").glob("*.md")):
        own = CHAPTERS / language / path.name
        lesson = read(path) if language == "en" or not own.is_file() else translated(own)
        lesson.language = "en" if language != "en" and not own.is_file() else ""
        found.append(lesson)
    return found


def data(lessons: Sequence[Lesson], name: str, title: str, links: dict[str, str] | None = None) -> dict[str, Any]:
    """What the page shows, as plain data; raises LessonError where a lesson cannot be shown."""
    graphs: dict[str, dict[str, Any]] = {}
    for k, lesson in enumerate(lessons):
        if lesson.key in [other.key for other in lessons[:k]]:
            told = f"another lesson has the key {lesson.key!r} too; the key is the name of the file, so give it another name"
            raise LessonError(lesson.name, [Problem(1, told)])
    rows = [_chapter(lesson, graphs) for lesson in lessons]
    for lesson, before, row in zip(lessons, (None, *lessons), rows):
        row["newcomers"] = newcomers(lesson, before) if before else []
    if not graphs:
        _add(graphs, Scene("none", "y = x + 1", (("x", 1.0),), ()))
    return {
        "name": name,
        "title": title,
        "chapters": rows,
        "graphs": list(graphs.values()),
        "pieces": _pieces(lessons),
        "points": moons(),
        "texts": {
            key: words
            for key, words in texts.current().items()
            if key not in ("terminal", "quizzes", "bench", "home", "console", "class")
        },
        "ideas": texts.lesson()["ideas"],
        "links": links or {},
    }


def html(
    lessons: Sequence[Lesson],
    name: str,
    title: str,
    links: dict[str, str] | None = None,
    *,
    saved: int = 0,
    python: dict[str, Any] | None = None,
    languages: Sequence[dict[str, str]] = (),
) -> str:
    """One self-contained page with these lessons; `saved` counts the saves of lessons that are being written.

    `python` says where a Python lies that runs what the page cannot (see python.js), and `languages` where this page is in
    other languages.
    """
    course = data(lessons, name, title, links)
    if languages:
        course["languages"] = list(languages)
    if python:
        course["python"] = python
    played = [
        part["train"]
        for row in course["chapters"]
        for step in row["steps"]
        for part in step["parts"]
        if "train" in part
    ]
    ops = {node["op"] for graph in course["graphs"] for node in graph["timeline"]["nodes"] if "op" in node}
    names: tuple[str, ...] = (*page.COURSE[:-1], "preview", page.COURSE[-1]) if saved else page.COURSE
    if not any(
        "start" in part.get("task", ()) for row in course["chapters"] for step in row["steps"] for part in step["parts"]
    ):
        names = tuple(name for name in names if name != "codemirror")  # 300 kB, for pages on which code is written
    start = _START + (f"reloadWhenSaved({saved});\n" if saved else "")
    script = page.module(frozenset(ops | used(played)), names).replace("export default{startCourse};\n", start)
    more = ("img-src data:", *(("worker-src 'self'",) if python else ()))
    return page.document(course, script, style(), title, "'self'" if saved or python else "'none'", more)


@cache
def style() -> str:
    """The style of the stage, and that of the course around it."""
    return page.style("page", "theatre", "course")


def _chapter(lesson: Lesson, graphs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    problems: list[Problem] = []
    steps: list[dict[str, Any]] = []
    for step, scene in scenes(lesson, problems):
        if scene is not None:
            _add(graphs, scene)
        shown = None if scene is None else _scene(scene)
        parts = _parts(step, scene, problems, lesson)
        steps.append(
            {"key": step.key, "title": step.title, "milestone": step.milestone, "parts": parts, "scene": shown}
        )
    unknown = [skill for skill in lesson.drill if skill not in SKILLS]
    if unknown:
        problems.append(Problem(1, f"there is no skill {unknown[0]!r} to drill; there are: {', '.join(SKILLS)}"))
    try:
        end = _end(lesson, graphs)
    except (ExpressionError, ValueError) as error:
        problems.append(Problem(1, f"the graph after `grows:` cannot be shown: {getattr(error, 'message', error)}"))
    if problems:
        raise LessonError(lesson.name, problems)
    drill = [_drill(lesson.key, k, shape, graphs) for k, shape in enumerate(shapes(lesson.drill, lesson.key))]
    row = {"key": lesson.key, "title": lesson.title, "about": lesson.about, "minutes": lesson.minutes}
    row["language"] = lesson.language
    return {**row, "steps": steps, "drill": drill, "plain": lesson.plain, **end}


def _end(lesson: Lesson, graphs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the end of a lesson shows: what the learner can do, and the graph of the course as it is then."""
    end = {"can": [markdown.inline(one) for one in lesson.can], "fresh": markdown.inline(lesson.new), "grown": ""}
    if lesson.grows:
        values = tuple(read_values(lesson.values.replace(",", " ").split()).items())
        grown = Scene(f"{lesson.key}-grown", lesson.grows, values, values)
        _add(graphs, grown)
        end["grown"] = grown.key
    return end


def known_as(name: str, names: Sequence[str]) -> str:
    """What a node of the growing graph was called before; "" for a new one. Where a twin arrives, `h` becomes `h1`."""
    return name if name in names else name[:-1] if name.endswith("1") and name[:-1] in names else ""


def newcomers(lesson: Lesson, before: Lesson) -> list[str]:
    """The nodes of the growing graph that it did not have at the end of the lesson before; none where most are new."""
    names = [[node.name for node in story(one) if not node.constant] for one in (lesson, before)]
    found = [name for name in names[0] if not known_as(name, names[1])]
    return found if all(names) and 2 * len(found) <= len(names[0]) else []


def story(lesson: Lesson) -> list[Node]:
    """The nodes of the growing graph at the end of a lesson."""
    if not lesson.grows:
        return []
    return list(frames(parse(lesson.grows).build(read_values(lesson.values.replace(",", " ").split())), names={}).nodes)


def _pieces(lessons: Sequence[Lesson]) -> list[list[str]]:
    """All code that the learner is given or writes, in order, with that of the lessons on which these build."""
    found: dict[str, str] = {}
    for lesson in lessons:
        for one in (*builds(lesson), lesson):
            for piece in pieces(one):
                found.setdefault(piece.key, piece.text)
    return [list(pair) for pair in found.items()]


def _add(graphs: dict[str, dict[str, Any]], scene: Scene) -> None:
    if scene.key not in graphs:
        root = parse(scene.expression).build(dict(scene.given))
        graphs[scene.key] = {"key": scene.key, "title": "", "timeline": page.pack(frames(root, names={}).nodes)}


def _scene(scene: Scene) -> dict[str, Any]:
    return {
        "graph": scene.key,
        "values": scene.changed,
        "place": scene.place,
        "lab": scene.lab,
        "predict": scene.predict,
        "leaves": list(scene.leaves),
    }


def _drill(key: str, k: int, shape: DrillGraph, graphs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    given = tuple((name, pool[-1]) for name, pool in shape.pools.items())
    scene = Scene(f"{key}-drill-{k}", shape.expression, given, given)
    _add(graphs, scene)
    return {"skill": shape.skill, "graph": scene.key, "pools": shape.pools, "asks": shape.asks}


def _parts(step: LessonScreen, scene: Scene | None, problems: list[Problem], lesson: Lesson) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    names: set[str] = set()
    folder = lesson.folder
    tested = {id(write): (solution, tests) for write, solution, tests in written(step, problems)}
    for part in step.parts:
        if isinstance(part, Prose):
            parts.append({"html": markdown.html(part.text, folder)})
        elif part.kind == "ask":
            asked = read_ask(part, scene, problems, step)
            if asked is not None:
                names.add(name := unused(asked.name, names))
                parts.append({"task": {"key": name, **_task(asked, folder)}})
        elif part.kind == "curve":
            parts.append({"curve": _curve(part)})
        elif part.kind == "train":
            played = training(part, problems)
            if played is not None:
                parts.append({"train": played})
        elif part.kind == "picture":
            parts.append({"picture": picture(part, scene, problems)})
        elif part.kind == "moons":
            parts.append({"moons": moons()})
        elif part.kind == "write" and id(part) in tested:
            solution, tests = tested[id(part)]
            names.add(name := unused(part.word, names))
            task = {
                "key": name,
                "kind": "write",
                "piece": f"{lesson.key}/{part.word}",
                "question": "",
                "why": "",
                "wrong": [],
            }
            parts.append(
                {"task": {**task, "start": part.body, "solution": solution.body, "tests": tests.body, "hint": ""}}
            )
        elif part.kind == "output":
            parts.append({"output": part.body})
        elif part.kind in ("code", "text") and part.word != "hidden":
            parts.append({"code": part.body})
    return parts


def _task(ask: Ask, folder: Path) -> dict[str, Any]:
    block = ask.block

    def html(text: str) -> str:
        return markdown.html(text, folder)

    asked = block.get("question")
    if not asked:
        asked = texts.say("page.what_is", what=f"`{ask.node}.{'data' if ask.kind == 'data' else 'grad'}`")
        if ask.kind == "contribution":
            asked = texts.say("course.what_arrives", out=f"`{ask.source}`", name=f"`{ask.node}`")
    task: dict[str, Any] = {
        "kind": ask.kind,
        "question": html(asked),
        "why": html(block.get("why")),
        "hint": html(block.get("hint")),
        "wrong": [[said, html(text)] for said, _, text, _ in ask.wrong],
    }
    more: dict[str, Any] = {"node": ask.node, "source": ask.source, "goal": ask.goal}
    if ask.answer:
        more["answer"] = number(ask.answer)
    if ask.choices:
        places: list[list[dict[str, str]]] = [[{"node": node, "way": way}] for node, way in ask.targets]
        more["choices"] = [
            [right, markdown.inline(text, folder), html(said), *place]
            for (right, text, said), place in zip(ask.choices, places or [[] for _ in ask.choices])
        ]
    return task | {key: x for key, x in more.items() if x}


def _curve(block: Block) -> dict[str, Any]:
    def of(name: str, default: float) -> float:
        return number(block.get(name)) if block.get(name) else default

    row: dict[str, Any] = {"over": block.get("over"), "from": of("from", -5.0), "to": of("to", 5.0)}
    if block.get("nudge"):
        row["nudge"] = of("nudge", 0.1)
    return row | {"tangent": block.get("tangent") != "no"}
