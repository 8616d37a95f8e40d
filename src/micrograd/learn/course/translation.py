"""A chapter in another language: a file with the same steps, which holds the words alone.

A block of which nothing is said is that of the English chapter: a graph is written as an empty block of its kind. A question
holds its texts, in the order of the English ones: `wrong: | what is said to it`, and `choice: | reply` where the choice is
made in the picture. `{}` stands for the next number that the English text states. What is not translated is shown in English,
and `micrograd lesson check` names it.
"""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

from micrograd.learn.course.lessons import Block, Field, Lesson, LessonScreen, Problem, Prose, read
from micrograd.learn.course.markdown import STATED

WORDS = ("question", "why", "hint")  # of a question; its answers follow one by one
_EMPTY = re.compile(r"\{\s*\}")
_STATED = re.compile(r"\\stated\{[^{}]*\}|" + STATED.pattern)


def english(path: Path) -> Path:
    """The English file of which this one is a translation: of the same name, in the folder `en` beside its own."""
    return path.parent.parent / "en" / path.name


def is_translation(path: str | Path) -> bool:
    """Whether a file of a lesson translates one of the folder `en` beside its own folder."""
    path = Path(path).resolve()
    return path.parent.name != "en" and english(path).is_file()


def translated(path: str | Path, problems: list[Problem] | None = None) -> Lesson:
    """The English lesson with the words of a translation; what is missing is added to the problems."""
    path = Path(path).resolve()
    return merge(read(english(path)), read(path), [] if problems is None else problems)


def merge(lesson: Lesson, words: Lesson, problems: list[Problem]) -> Lesson:
    """Give a lesson the words of another one."""
    made = deepcopy(lesson)
    made.title = words.title
    for name in ("about", "new"):
        if getattr(lesson, name) and not getattr(words, name):
            problems.append(Problem(1, f"`{name}` of the front matter is missing"))
        setattr(made, name, getattr(words, name) or getattr(lesson, name))
    if len(words.can) != len(lesson.can):
        problems.append(
            Problem(1, f"`can` of the front matter has {len(words.can)} parts, in English {len(lesson.can)}")
        )
    else:
        made.can = words.can
    if len(words.steps) != len(lesson.steps):
        told = f"there are {len(words.steps)} steps, and in English {len(lesson.steps)}"
        problems.append(Problem(words.steps[-1].line, told))
    for step, own in zip(made.steps, words.steps):
        _merge_step(step, own, problems)
    return made


def _kinds(step: LessonScreen) -> list[str]:
    return [part.kind if isinstance(part, Block) else "text between blocks" for part in step.parts]


def _merge_step(step: LessonScreen, own: LessonScreen, problems: list[Problem]) -> None:
    step.title = own.title
    if _kinds(step) != _kinds(own):
        told = f"this step has {', '.join(_kinds(own)) or 'nothing'}, and in English {', '.join(_kinds(step))}"
        problems.append(Problem(own.line, told))
        return
    for k, (part, said) in enumerate(zip(step.parts, own.parts)):
        if isinstance(part, Prose):
            step.parts[k] = Prose(_filled(said, part.text, problems), said.line)
        elif isinstance(said, Block) and part.kind == "ask":
            _merge_ask(part, said, problems)
        elif isinstance(said, Block) and part.kind in ("code", "text", "write", "tests") and said.body.strip():
            part.body = said.body


def _filled(said: Prose | Block, text: str, problems: list[Problem]) -> str:
    assert isinstance(said, Prose)
    return _fill(said.text, text, said.line, problems)


def _fill(said: str, text: str, line: int, problems: list[Problem]) -> str:
    """The words, with the numbers of the English text in place of `{}`."""
    stated = [match[0] for match in _STATED.finditer(text)]
    places = len(_EMPTY.findall(said))
    if places and places != len(stated):
        problems.append(
            Problem(line, f"{{}} stands here {places} times, and the English text states {len(stated)} numbers")
        )
        return text
    numbers = iter(stated)
    return _EMPTY.sub(lambda _: next(numbers), said)


def _merge_ask(block: Block, own: Block, problems: list[Problem]) -> None:
    for name in own.fields:
        if name not in (*WORDS, "wrong", "right", "choice"):
            problems.append(Problem(own.line_of(name), f"{name!r} is taken from the English question: leave it out"))
        elif name not in block.fields:
            problems.append(Problem(own.line_of(name), f"the English question has no {name!r}"))
    for name in WORDS:
        if block.get(name) and not own.get(name):
            problems.append(Problem(own.line, f"this question has no {name!r}"))
        elif block.get(name):
            line = own.line_of(name)
            block.fields[name] = [Field(_fill(own.get(name), block.get(name), line, problems), line)]
    for name in ("wrong", "right", "choice"):
        theirs, ours = block.fields.get(name, []), own.fields.get(name, [])
        if not theirs and not ours:
            continue
        if name == "right" and theirs and theirs[0].text.startswith("@") and "|" not in theirs[0].text and not ours:
            continue
        if len(theirs) != len(ours):
            problems.append(
                Problem(own.line, f"this question has {len(ours)} of {name!r}, and in English {len(theirs)}")
            )
            continue
        block.fields[name] = [_answer(name, one, said, problems) for one, said in zip(theirs, ours)]


def _answer(name: str, one: Field, said: Field, problems: list[Problem]) -> Field:
    """An answer with its reply: a number and a place in the picture stay as they are."""
    head, bar, reply = one.text.partition("|")
    label, _, words = said.text.partition("|")
    fixed = name == "wrong" or head.startswith("@")
    if fixed and label.strip():
        problems.append(Problem(said.line, f"the answer is taken from English: write `{name}: | what is said to it`"))
    if not fixed:
        head = _fill(label.strip(), head, said.line, problems) + " "
    return Field(
        f"{head}{bar} {_fill(words.strip(), reply, said.line, problems)}".strip() if bar else head.strip(), said.line
    )


def load(path: str | Path, problems: list[Problem] | None = None) -> Lesson:
    """Read a lesson, or the translation of one."""
    return translated(path, problems) if is_translation(path) else read(path)
