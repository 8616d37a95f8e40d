"""The code that a learner writes in the course: pieces of one engine, each with what tells whether it is right.

A `write` block is what the learner is given, with `...` where something is missing. The block `solution` after it is a
version that is right, and `tests` are lines of Python that run after it: a failing `assert` says why. Code blocks marked
`engine` are given pieces. A page runs all pieces in order, the learner's own versions where there are any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from micrograd.learn.course.lessons import Block, Lesson, LessonScreen, Problem, read


@dataclass(frozen=True)
class EnginePart:
    """A part of the engine: one that is given, or one that the learner writes."""

    key: str  # the lesson and its own name
    text: str  # of a written piece, the solution
    line: int
    start: str = ""  # what the learner is given
    tests: str = ""


def written(step: LessonScreen, problems: list[Problem]) -> Iterator[tuple[Block, Block, Block]]:
    """The `write` blocks of a step, each with its solution and its tests."""
    for k, part in enumerate(step.parts):
        if not isinstance(part, Block) or part.kind not in ("write", "solution", "tests"):
            continue
        if part.kind != "write":
            before = step.parts[k - 1] if k else None
            if not isinstance(before, Block) or before.kind not in ("write", "solution", "tests"):
                problems.append(
                    Problem(part.line, f"a {part.kind} block stands after the write block that it belongs to")
                )
            continue
        after = [one for one in step.parts[k + 1 : k + 3] if isinstance(one, Block)]
        if [one.kind for one in after] != ["solution", "tests"]:
            problems.append(Problem(part.line, "a write block is followed by a solution block and a tests block"))
        elif not part.word:
            problems.append(Problem(part.line, "a write block needs a name: ```write mul"))
        else:
            yield part, after[0], after[1]


def pieces(lesson: Lesson, problems: list[Problem] | None = None) -> Iterator[EnginePart]:
    """The pieces of a lesson in order."""
    found: list[Problem] = [] if problems is None else problems
    for step in lesson.steps:
        named = {id(write): (solution, tests) for write, solution, tests in written(step, found)}
        for block in step.blocks("code", "write"):
            if block.kind == "code" and block.word == "engine":
                yield EnginePart(f"{lesson.key}/line-{block.line}", block.body, block.line)
            elif id(block) in named:
                solution, tests = named[id(block)]
                yield EnginePart(f"{lesson.key}/{block.word}", solution.body, block.line, block.body, tests.body)


def builds(lesson: Lesson, problems: list[Problem] | None = None) -> list[Lesson]:
    """The lessons whose code this one builds on, which its front matter names by their files."""
    found = []
    for name in lesson.builds:
        path = Path(lesson.folder) / f"{name}.md"
        if path.is_file():
            found.append(read(path))
        elif problems is not None:
            problems.append(Problem(1, f"there is no lesson {path.name} beside this one, on whose code it builds"))
    return found


def check_pieces(lesson: Lesson, problems: list[Problem]) -> None:
    """Run the pieces: a solution passes its tests, and what the learner is given does not."""
    before = [piece for other in builds(lesson, problems) for piece in pieces(other)]
    for piece in pieces(lesson, problems):
        if piece.start:
            if told := run([one.text for one in before], piece.text, piece.tests):
                problems.append(Problem(piece.line, f"the solution of {piece.key} does not pass its tests: {told}"))
            elif not run([one.text for one in before], piece.start, piece.tests):
                problems.append(Problem(piece.line, f"what is given for {piece.key} passes the tests already"))
        before.append(piece)


def run(before: list[str], text: str, tests: str) -> str:
    """Run a piece and its tests after others; says what failed, or "" where nothing did."""
    space: dict[str, Any] = {"__name__": "lesson"}
    try:
        for one in (*before, text, tests):
            exec(compile(one, "lesson", "exec"), space)
    except AssertionError as error:
        return str(error) or "an assertion without a text failed"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
