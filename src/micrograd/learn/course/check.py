"""`micrograd lesson check`: every number that a lesson states is computed, and a wrong one is refused with its line.

Code blocks are run, in this process: check only files that you trust.
"""

from __future__ import annotations

import contextlib
import io
import re
import traceback
from collections.abc import Iterator
from typing import Any

from micrograd.learn.course.asks import NUMBER, Ask, number, read_ask
from micrograd.learn.course.formulas import agrees, evaluate, facts, functions
from micrograd.learn.course.lessons import Block, Lesson, LessonScreen, Problem, Prose
from micrograd.learn.course.markdown import PICTURE, STATED, without_formulas
from micrograd.learn.course.pictures import picture
from micrograd.learn.course.scenes import Scene, place_of, scenes
from micrograd.learn.course.training import training
from micrograd.learn.course.written import builds, check_pieces, pieces
from micrograd.learn.sentences import show

_CODE = re.compile(r"`([^`\n]+)`")
_BARE = re.compile(rf"(?<![\w.])({NUMBER}%?)(?![\w])")
_TEXTS = ("question", "why", "hint", "wrong", "right", "choice")  # fields of a question that hold prose


def check(lesson: Lesson) -> list[Problem]:
    """All problems of a lesson, by line; an empty list means that every number is right."""
    problems: list[Problem] = []
    known: dict[str, Any] = functions()
    code: dict[str, Any] = {"__name__": "lesson"}
    for piece in (piece for other in builds(lesson) for piece in pieces(other)):
        with contextlib.suppress(Exception):  # check_pieces says what is wrong with the code of another lesson
            exec(piece.text, code)
    for step, scene in scenes(lesson, problems):
        _run_code(step, code, problems)
        known |= {name: x for name, x in code.items() if not name.startswith("__")}
        if scene is not None and (step.graph is not None or not any(step.blocks("code"))):
            known |= facts(scene)
        asked = [read_ask(block, scene, problems, step) for block in step.blocks("ask")]
        asks = [one for one in asked if one is not None]
        for one in asks:
            _check_ask(one, scene, known, problems)
        there = _numbers_of(scene, step, asks)
        for line, text in _texts(step):
            _check_text(line, text, known, there, problems)
        _check_blocks(step, scene, problems)
    check_pieces(lesson, problems)
    return sorted(set(problems), key=lambda problem: (problem.line, problem.text))


def _run_code(step: LessonScreen, space: dict[str, Any], problems: list[Problem]) -> None:
    printed, ran = "", False
    for block in step.blocks("code", "solution", "output"):
        if block.kind == "output":
            wanted = block.body.rstrip()
            if not ran:
                problems.append(Problem(block.line, "an output block states what the code block before it prints"))
            elif [line.rstrip() for line in printed.rstrip().split("\n")] != wanted.split("\n"):
                problems.append(Problem(block.line, f"the code prints {printed.rstrip()!r}, not {wanted!r}"))
            ran = False
            continue
        out, ran = io.StringIO(), True
        try:
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.body, "lesson", "exec"), space)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            line = (error.lineno if isinstance(error, SyntaxError) else last.lineno) or block.line
            inside = isinstance(error, SyntaxError) or last.filename == "lesson"
            told = f"the code raises {type(error).__name__}: {error}"
            problems.append(Problem(line if inside else block.line, told))
        printed = out.getvalue()
        if printed and block.word != "hidden" and block.kind == "code" and not _is_told(step, block):
            problems.append(Problem(block.line, "the code prints, and no output block after it states what"))


def _is_told(step: LessonScreen, block: Block) -> bool:
    blocks = list(step.blocks("code", "output"))
    after = blocks[blocks.index(block) + 1 :]
    return bool(after) and after[0].kind == "output"


def _check_ask(ask: Ask, scene: Scene | None, known: dict[str, Any], problems: list[Problem]) -> None:
    block = ask.block
    formula = {"gradient": f"{ask.node}.grad", "data": f"{ask.node}.data", "number": block.get("number")}.get(ask.kind)
    if formula:
        _state(block.line_of("answer"), ask.answer, formula, known, problems, "the answer")
    if ask.kind == "contribution" and scene is not None:
        after = _contribution(scene, ask)
        if after is None:
            problems.append(Problem(block.line_of("of"), f"{ask.source} passes nothing on to {ask.node}"))
        elif ask.answer and not agrees(ask.answer, after):
            told = f"the answer says {ask.answer}, and {ask.node}.grad is {show(after)} after this contribution"
            problems.append(Problem(block.line_of("answer"), told))
    if scene is not None and (shown := _shown(ask, scene)):
        problems.append(Problem(block.line_of("of"), shown))
    if ask.kind == "goal" and scene is not None and ask.node and _reached(ask, scene):
        problems.append(Problem(block.line_of("goal"), "the goal is reached before the learner does anything"))
    for said, how, _, entry in ask.wrong:
        if how:
            _state(entry.line, entry.text.split("=")[0].strip(), how, known, problems, "a wrong answer")
        if ask.answer and agrees(ask.answer, said):
            problems.append(Problem(entry.line, f"{said:g} is the right answer, and stands among the wrong ones"))


def _shown(ask: Ask, scene: Scene) -> str:
    """Why the stage would show the answer before it is given; "" where it does not."""
    what = {"gradient": "grad", "data": "data"}.get(ask.kind)
    if what is None:
        return ""
    if scene.lab:
        return "two passes beside each other show all gradients, so they cannot be asked for in this step"
    timeline = scene.timeline()
    names = [node.name for node in timeline.nodes]
    seen = timeline.frames[: place_of(scene.place, timeline)]
    for frame in seen:
        at = frame.node if frame.kind != "backward" else frame.input
        if names[at or 0] == ask.node and (frame.kind == "forward") == (what == "data"):
            return f"the stage shows {ask.node}.{what} already: choose an earlier `step` for the graph of this question"
    return ""


def _contribution(scene: Scene, ask: Ask) -> float | None:
    """The gradient of a node after the first contribution that comes to it from another."""
    timeline = scene.timeline()
    names = [node.name for node in timeline.nodes]
    for frame in timeline:
        ends = (names[frame.input or 0], names[frame.node])
        if frame.kind == "backward" and ends == (ask.node, ask.source):
            return frame.after
    return None


def _reached(ask: Ask, scene: Scene) -> bool:
    assert ask.goal is not None
    what, sign, wanted, near = ask.goal
    node = facts(scene)[ask.node]
    got = float(node.data if what == "data" else node.grad)
    compared = {"<": got < wanted, "<=": got <= wanted, ">": got > wanted, ">=": got >= wanted}
    return compared.get(sign, abs(got - wanted) <= near)


def _state(
    line: int, stated: str, formula: str, known: dict[str, Any], problems: list[Problem], what: str = "the text"
) -> None:
    try:
        computed = evaluate(formula, known)
    except ValueError as error:
        problems.append(Problem(line, str(error)))
        return
    if not agrees(stated, computed):
        problems.append(Problem(line, f"{what} says {stated.strip()}, and {formula} is {computed:.10g}"))


def _texts(step: LessonScreen) -> Iterator[tuple[int, str]]:
    """The lines of prose of a step, with their numbers."""

    def lines(first: int, text: str) -> Iterator[tuple[int, str]]:
        shown = PICTURE.sub(r"\g<caption>", without_formulas(text))
        return ((first + k, line) for k, line in enumerate(shown.split("\n")))

    yield step.line, step.title
    for part in step.parts:
        if isinstance(part, Prose):
            yield from lines(part.line, part.text)
            continue
        for name in _TEXTS:
            for entry in part.fields.get(name, []):
                text = entry.text
                if name == "wrong":
                    text = text.partition("|")[2]
                yield from lines(entry.line, text)


def _numbers_of(scene: Scene | None, step: LessonScreen, asks: list[Ask]) -> list[float]:
    """The numbers that a step shows anyway: of its graph, its contributions, its answers."""
    found: list[float] = []
    if scene is not None:
        timeline = scene.timeline()
        found += [node.data for node in timeline.nodes] + [g for g in timeline.gradients() if g is not None]
        for frame in timeline:
            found += [x for x in (frame.local, frame.product, frame.after) if x is not None]
    for ask in asks:
        found += [number(ask.answer)] if ask.answer else []
        found += [said for said, *_ in ask.wrong]
        found += [ask.goal[2]] if ask.goal else []
    for block in step.blocks("code", "output", "curve", "train"):
        found += [number(x) for x in re.findall(rf"(?<![\w.]){NUMBER}", block.body)]
    return found


def _check_text(line: int, text: str, known: dict[str, Any], there: list[float], problems: list[Problem]) -> None:
    for stated, formula in STATED.findall(text):
        if formula:
            _state(line, stated, formula, known, problems)
    rest = STATED.sub(" ", text)
    for code in _CODE.findall(rest):
        match = re.fullmatch(rf"(.+?)\s=\s({NUMBER}%?)", code)
        if match and _is_formula(match[1], known):
            _state(line, match[2], match[1], known, problems)
        elif re.fullmatch(rf"\s*{NUMBER}%?\s*", code):
            rest += f" {code} "
    rest = _CODE.sub(" ", re.sub(r"\]\([^)]*\)", "] ", rest)) if "`" in rest else re.sub(r"\]\([^)]*\)", "] ", rest)
    rest = re.sub(r"^\s*\d+\. ", "", rest)
    for stated in _BARE.findall(rest):
        if not any(agrees(stated, x) or agrees(stated, -x) for x in there):
            told = f"{stated} is not a number of this step: state how it is computed, as {{{stated} = a.grad * 2}}"
            problems.append(Problem(line, told))


def _is_formula(text: str, known: dict[str, Any]) -> bool:
    names = set(re.findall(r"(?<![\w.])[^\W\d]\w*", text))
    return bool(re.search(r"[\w)]", text)) and all(name in known for name in names)


def _check_blocks(step: LessonScreen, scene: Scene | None, problems: list[Problem]) -> None:
    for block in step.blocks("train"):
        training(block, problems)
    for block in step.blocks("picture"):
        picture(block, scene, problems)
    for block in step.blocks("curve"):
        names = [node.name for node in scene.timeline().nodes if not node.inputs] if scene else []
        if block.get("over") not in names:
            problems.append(
                Problem(block.line_of("over"), f"a curve goes over a leaf of the graph: {', '.join(names)}")
            )
        for name in ("from", "to", "nudge"):
            if block.get(name) and not re.fullmatch(NUMBER, block.get(name)):
                problems.append(Problem(block.line_of(name), f"{name} is a number, not {block.get(name)!r}"))
