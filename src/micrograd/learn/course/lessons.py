"""A lesson file: front matter, then steps that begin with `## `, with prose and fenced blocks.

    ---
    title: Used twice
    ---
    ## Two arrows
    The node `a` has two arrows.
    ```graph
    expression: b = a * a
    values: a=3
    ```
    ```ask
    of: a.grad
    answer: 6
    ```

Every mistake is reported with its line; nothing in a file is executed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from micrograd.learn.course import markdown

# The fields of each block; those with a star may occur more than once.
BLOCKS = {
    "graph": ("name", "use", "expression", "values", "step", "lab", "predict", "leaves"),
    "ask": ("question", "of", "number", "goal", "order", "answer", "right", "choice*", "wrong*", "why", "hint"),
    "curve": ("over", "from", "to", "nudge", "tangent"),
    "train": ("preset", "data", "points", "layers", "activation", "rate"),
    "picture": ("of", "show", "target", "from", "to"),
    "moons": (),
    "code": None,
    "write": None,
    "solution": None,
    "tests": None,
    "output": None,
    "text": None,
}
FRONT = ("title", "about", "minutes", "drill", "builds", "can", "gradients", "grows", "values", "new")
WORDS = {
    "code": ("hidden", "engine")
}  # the words that may stand after the kind of a block; after `write` stands a name
_FENCE = re.compile(r"^```\s*([\w-]*)\s*([\w-]*)\s*$")
_FIELD = re.compile(r"^([a-z]+):\s?(.*)$")
_STEP = re.compile(r"^## (.*?)\s*(?:\{#([\w-]+)\})?\s*(\{milestone\})?\s*$")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a lesson, and in which line."""

    line: int
    text: str


class LessonError(ValueError):
    """A lesson that cannot be read; `problems` has all that was found, with lines."""

    def __init__(self, name: str, problems: list[Problem]) -> None:
        super().__init__("\n".join(f"{name}:{problem.line}: {problem.text}" for problem in problems))
        self.problems = problems


@dataclass
class Field:
    """One field of a block: its text and its line."""

    text: str
    line: int


@dataclass
class Block:
    """A fenced block. `fields` has its entries by name; the blocks of code and text have `body` alone."""

    kind: str
    line: int
    body: str = ""
    word: str = ""  # the word after the kind, such as `hidden`
    fields: dict[str, list[Field]] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """The text of a field, or ""."""
        return self.fields[name][0].text if name in self.fields else ""

    def line_of(self, name: str) -> int:
        """The line of a field, or that of the block."""
        return self.fields[name][0].line if name in self.fields else self.line


@dataclass
class Prose:
    """Lines of text between blocks."""

    text: str
    line: int


@dataclass
class LessonScreen:
    """One screen of a lesson: its title, and prose and blocks in order."""

    title: str
    line: int
    milestone: bool = False
    key: str = ""  # its name in saved progress: from `{#name}`, otherwise from the title; no two steps share one
    parts: list[Prose | Block] = field(default_factory=list)

    def blocks(self, *kinds: str) -> Iterator[Block]:
        """The blocks of these kinds, in order."""
        return (part for part in self.parts if isinstance(part, Block) and part.kind in kinds)

    @property
    def graph(self) -> Block | None:
        """The block that sets the stage for this step, if it has one."""
        return next(self.blocks("graph"), None)


@dataclass
class Lesson:
    """A lesson file, read."""

    key: str
    title: str
    steps: list[LessonScreen]
    about: str = ""
    minutes: int = 0
    drill: list[str] = field(default_factory=list)
    name: str = ""  # of the file, for messages
    builds: list[str] = field(default_factory=list)  # the files whose code this one builds on
    can: list[str] = field(default_factory=list)  # what the learner can do at its end
    grows: str = ""  # the graph of the course as it is at the end of this lesson
    values: str = ""  # its numbers
    new: str = ""  # what is new in it
    language: str = ""  # of its words, where it is not that of the page
    plain: bool = False  # whether the stage shows no gradients, because nobody has explained them yet

    @property
    def folder(self) -> Path:
        """Where the pictures of the lesson are."""
        return Path(self.name).parent


def slug(text: str) -> str:
    """A name made from a text: its letters and digits, in lower case."""
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "step"


def unused(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name-2, name-3, ... that is not taken."""
    found, k = name, 2
    while found in taken:
        found, k = f"{name}-{k}", k + 1
    return found


def read(path: str | Path) -> Lesson:
    """Read a lesson file; raises LessonError with all problems and their lines."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LessonError(str(path), [Problem(1, f"the file is not UTF-8 text ({error.reason})")]) from None
    return parse(text, str(path))


def parse(text: str, name: str = "lesson.md") -> Lesson:
    """Read a lesson from its text.

    >>> from micrograd.learn.course import parse
    >>> lesson = parse("---\\ntitle: Sums\\n---\\n## One\\nA sum copies its gradient.\\n")
    >>> lesson.title, [step.title for step in lesson.steps]
    ('Sums', ['One'])
    """
    return _Reader(text, name).lesson()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.name, self.folder = name, Path(name).parent
        self.problems: list[Problem] = []

    def wrong(self, line: int, text: str) -> None:
        self.problems.append(Problem(line, text))

    def shows(self, line: int, text: str) -> None:
        """Report formulas and pictures of a text that cannot be shown."""
        for below, told in markdown.problems(text, self.folder):
            self.wrong(line + below, told)

    def lesson(self) -> Lesson:
        start, front = self.front()
        steps = self.body(start)
        key = re.sub(r"^\d+-", "", Path(self.name).stem)
        minutes = front.get("minutes", Field("0", 1))
        if not minutes.text.isdigit():
            self.wrong(minutes.line, f"minutes is a whole number, not {minutes.text!r}")
        if "title" not in front:
            self.wrong(1, "the front matter needs a title: a line `title: ...` between two lines of ---")
        if not steps:
            self.wrong(len(self.lines), "there is no step: a step begins with a line `## Its title`")
        if self.problems:
            raise LessonError(self.name, sorted(self.problems, key=lambda problem: problem.line))
        return Lesson(
            key,
            front["title"].text,
            steps,
            front.get("about", Field("", 1)).text,
            int(minutes.text),
            front.get("drill", Field("", 1)).text.replace(",", " ").split(),
            self.name,
            front.get("builds", Field("", 1)).text.replace(",", " ").split(),
            [one.strip() for one in front.get("can", Field("", 1)).text.split("|") if one.strip()],
            plain=front.get("gradients", Field("", 1)).text == "no",
            **{name: front.get(name, Field("", 1)).text for name in ("grows", "values", "new")},
        )

    def front(self) -> tuple[int, dict[str, Field]]:
        found: dict[str, Field] = {}
        if self.lines[0].strip() != "---":
            self.wrong(1, "a lesson begins with its front matter: a line ---, then `title: ...`, then a line ---")
            return 0, found
        for k, text in enumerate(self.lines[1:], 2):
            if text.strip() == "---":
                return k, found
            match = _FIELD.match(text)
            if match is None or match[1] not in FRONT:
                known = ", ".join(FRONT)
                self.wrong(k, f"{text.strip()[:40]!r} is not a line of the front matter, which knows: {known}")
            else:
                found[match[1]] = Field(match[2].strip(), k)
        self.wrong(1, "the front matter has no end: a second line --- is missing")
        return len(self.lines), found

    def body(self, start: int) -> list[LessonScreen]:
        steps: list[LessonScreen] = []
        prose: list[str] = []
        at, first = start, start + 1

        def flush() -> None:
            text = "\n".join(prose).strip("\n")
            if text.strip() and steps:
                at_line = first + next(k for k, line in enumerate(prose) if line.strip())
                steps[-1].parts.append(Prose(text, at_line))
                self.shows(at_line, text)
            elif text.strip():
                self.wrong(first, "text before the first step: a step begins with a line `## Its title`")
            prose.clear()

        while at < len(self.lines):
            line, number = self.lines[at], at + 1
            heading, fence = _STEP.match(line), line.startswith("```")
            if heading is None and not fence:
                if line.startswith("# "):
                    self.wrong(number, "the title stands in the front matter; a step begins with two signs: `## `")
                if not prose:
                    first = number
                prose.append(line)
                at += 1
                continue
            flush()
            if heading is not None:
                if not heading[1]:
                    self.wrong(number, "a step needs a title after ##")
                key = unused(heading[2] or slug(heading[1]), {step.key for step in steps})
                if heading[2] and key != heading[2]:
                    self.wrong(number, f"another step has the name {heading[2]!r} too")
                steps.append(LessonScreen(heading[1], number, bool(heading[3]), key))
                at += 1
                continue
            end = next((k for k in range(at + 1, len(self.lines)) if self.lines[k].rstrip() == "```"), None)
            if end is None:
                self.wrong(number, "this block has no end: a line ``` is missing")
                break
            block = self.block(at, end)
            if block is not None and steps:
                if block.kind == "graph" and steps[-1].graph is not None:
                    self.wrong(number, "this step has a graph already; the next graph needs a step of its own")
                steps[-1].parts.append(block)
            elif block is not None:
                self.wrong(number, "a block before the first step: a step begins with a line `## Its title`")
            at = end + 1
        flush()
        return steps

    def block(self, start: int, end: int) -> Block | None:
        match = _FENCE.match(self.lines[start])
        kind = match[1] if match else ""
        if match is None or kind not in BLOCKS:
            self.wrong(start + 1, f"there is no block {kind or self.lines[start]!r}; there are: {', '.join(BLOCKS)}")
            return None
        block = Block(kind, start + 1, "\n".join(self.lines[start + 1 : end]), match[2])
        if match[2] and kind != "write" and match[2] not in WORDS.get(kind, ()):
            self.wrong(
                start + 1, f"{match[2]!r} after {kind}: only code can be `hidden` or `engine`, and `write` has a name"
            )
        known = BLOCKS[kind]
        if known is not None:
            self.fields(block, start + 1, end, known)
        for entries in block.fields.values():
            for entry in entries:
                self.shows(entry.line, entry.text)
        return block

    def fields(self, block: Block, start: int, end: int, known: tuple[str, ...]) -> None:
        names = [name.rstrip("*") for name in known]
        last: Field | None = None
        for k in range(start, end):
            text, number = self.lines[k], k + 1
            if not text.strip():
                continue
            match = _FIELD.match(text)
            if match is None and text[0] in " \t" and last is not None:
                last.text = (last.text + "\n" + text.strip()).strip()
            elif match is None:
                self.wrong(number, f"a line of a {block.kind} block is `field: text`; a long text goes on indented")
            elif match[1] not in names:
                self.wrong(number, f"a {block.kind} block has no field {match[1]!r}; it has: {', '.join(names)}")
            elif match[1] in block.fields and f"{match[1]}*" not in known:
                self.wrong(number, f"{match[1]!r} is given twice in this block")
            else:
                last = Field(match[2].strip(), number)
                block.fields.setdefault(match[1], []).append(last)
