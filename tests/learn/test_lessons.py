"""Lesson files: every mistake is reported with its line, every number is computed, and text stays text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from micrograd.cli import main
from micrograd.learn.course import LessonError, markdown, parse
from micrograd.learn.course.check import check
from micrograd.learn.course.drill import SKILLS, shapes
from micrograd.learn.course.formulas import agrees, evaluate, functions
from micrograd.learn.course.lessons import BLOCKS
from micrograd.learn.course.page import CHAPTERS, chapters, data, html
from micrograd.learn.expression import parse as expression
from micrograd.learn.frames import frames

HEAD = "---\ntitle: T\n---\n## One\n"
GRAPH = "```graph\nexpression: c = a * b\nvalues: a=2 b=-3\nstep: forward\n```\n"


def problems(body: str) -> list[tuple[int, str]]:
    """What reading or checking a lesson finds; its body begins in line 5."""
    try:
        return [(problem.line, problem.text) for problem in check(parse(HEAD + body))]
    except LessonError as error:
        return [(problem.line, problem.text) for problem in error.problems]


def the_problem(body: str) -> tuple[int, str]:
    found = problems(body)
    assert len(found) == 1, found
    return found[0]


# ---- the chapters


@pytest.mark.parametrize(
    "path", sorted(CHAPTERS.glob("en/*.md")) + [CHAPTERS.parent / "template.md"], ids=lambda p: p.stem
)
def test_every_number_of_the_course_is_right(path: Path) -> None:
    from micrograd.learn.course import read

    assert [f"{p.line}: {p.text}" for p in check(read(path))] == []


def test_there_are_twelve_chapters_for_an_afternoon() -> None:
    course = chapters()
    assert [lesson.key for lesson in course] == [
        "slope", "nudge", "chain-rule", "sums-and-products", "used-twice", "order", "picture-to-code", "neuron",
        "loss-and-descent", "network", "softmax", "attention",
    ]  # fmt: skip
    assert course[0].minutes == 5 and 150 <= sum(lesson.minutes for lesson in course) <= 240
    for lesson in course:
        asks = [block for step in lesson.steps for block in step.blocks("ask")]
        on_stage = [block for block in asks if {"of", "goal", "order"} & set(block.fields)]
        assert len(asks) >= 6 and len(on_stage) >= 2, lesson.key
        assert lesson.drill and lesson.steps[-1].milestone
        for block in asks:
            assert block.get("why") or "right" in block.fields, (lesson.key, block.line)


def test_the_course_is_one_small_file_without_the_network() -> None:
    text = html(chapters(), "course", "The course")
    assert len(text.encode()) <= 1_300_000
    assert "connect-src 'none'" in text and "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=[\"']https?:", text)


# ---- reading


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("## One\ntext\n", 1, "begins with its front matter"),
        ("---\ntitle: T\n## One\n", 1, "has no end"),
        ("---\ncolour: red\ntitle: T\n---\n## One\n", 2, "not a line of the front matter"),
        ("---\nabout: x\n---\n## One\n", 1, "needs a title"),
        ("---\ntitle: T\nminutes: ten\n---\n## One\n", 3, "whole number"),
        ("---\ntitle: T\n---\nhello\n", 4, "text before the first step"),
        ("---\ntitle: T\n---\n", 4, "there is no step"),
        ("---\ntitle: T\n---\n## One\n# Big\n", 5, "two signs"),
        (HEAD + "```graph\nexpression: c = a\n", 5, "has no end"),
        (HEAD + "```grpah\n```\n", 5, "there is no block 'grpah'"),
        (HEAD + "```graph\ncolour: red\n```\n", 6, "has no field 'colour'"),
        (HEAD + "```graph\nhello\n```\n", 6, "`field: text`"),
        (HEAD + "```graph\nvalues: a=1\nvalues: a=2\n```\n", 7, "given twice"),
        (HEAD + GRAPH + GRAPH, 10, "has a graph already"),
        (HEAD + "```code shown\n```\n", 5, "only code can be `hidden`"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_line(text: str, line: int, says: str) -> None:
    with pytest.raises(LessonError) as caught:
        parse(text, "x.md")
    found = [(problem.line, problem.text) for problem in caught.value.problems]
    assert any(at == line and says in what for at, what in found), found
    assert f"x.md:{line}: " in str(caught.value)


def test_a_long_field_goes_on_indented_and_lines_end_as_they_like() -> None:
    lesson = parse((HEAD + "```ask\nquestion: one\n  two\nright: a\nchoice: b | c\n```\n").replace("\n", "\r\n"))
    assert next(lesson.steps[0].blocks("ask")).get("question") == "one\ntwo"


# ---- checking


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        (GRAPH + "The product is {7 = c}.\n", 10, "the text says 7, and c is -6"),
        (GRAPH + "\nIt is `a.grad = 3` here.\n", 11, "says 3, and a.grad is -3"),
        (GRAPH + "One sees 17 here.\n", 10, "17 is not a number of this step"),
        (GRAPH + "With a nudge, {-6.4 = c(a=2.1)}.\n", 10, "c(a=2.1) is -6.3"),
        (GRAPH + "{1 = nobody}\n", 10, "'nobody' in 'nobody' is neither a node"),
        (GRAPH + "{1 = (lambda: 1)()}\n", 10, "cannot have (Lambda)"),
        (GRAPH + "{1 = a.__class__}\n", 10, "cannot have (Attribute)"),
        (GRAPH + "{1 = a +}\n", 10, "is not a formula"),
        (GRAPH + "{1 = a / 0}\n", 10, "cannot be computed"),
        (GRAPH + "```ask\nof: a.grad\nanswer: 3\n```\n", 12, "the answer says 3, and a.grad is -3"),
        (GRAPH + "```ask\nof: a.grad\n```\n", 10, "the answer is missing"),
        (GRAPH + "```ask\nof: z.grad\nanswer: 3\n```\n", 11, "not a quantity of this graph"),
        (GRAPH + "```ask\nof: a.data\nanswer: 2\n```\n", 11, "the stage shows a.data already"),
        (
            GRAPH.replace("forward", "end") + "```ask\nof: a.grad\nanswer: -3\n```\n",
            11,
            "the stage shows a.grad already",
        ),
        (
            GRAPH.replace("step: forward", "lab: bug own") + "```ask\nof: a.grad\nanswer: -3\n```\n",
            11,
            "show all gradients",
        ),
        (GRAPH + "```ask\nof: a.grad\nanswer: -3\nwrong: -3 | no\n```\n", 13, "is the right answer"),
        (GRAPH + "```ask\nof: a.grad\nanswer: -3\nwrong: 5 = b | no\n```\n", 13, "a wrong answer says 5, and b is -3"),
        (GRAPH + "```ask\nof: a.grad\nanswer: -3\nwrong: five | no\n```\n", 13, "`wrong: number | what is said to it`"),
        (GRAPH + "```ask\nof: contribution into a from c\nanswer: 4\n```\n", 12, "a.grad is −3 after"),
        (GRAPH + "```ask\nof: contribution into c from a\n```\n", 11, "passes nothing on"),
        (GRAPH + "```ask\ngoal: c.data < 0\nquestion: q\n```\n", 11, "reached before"),
        (GRAPH + "```ask\ngoal: c is big\nquestion: q\n```\n", 11, "is not a goal"),
        (GRAPH + "```ask\nquestion: q\n```\n", 10, "exactly one of"),
        ("```ask\nof: a.grad\nanswer: 3\n```\n", 6, "needs a graph on the stage"),
        ("```ask\nquestion: q\nright: yes\n```\n", 7, "at least one wrong answer"),
        ("```ask\nquestion: q\nright: yes\nchoice: no\n```\n", 8, "says why it is wrong"),
        ("```graph\nvalues: a=2\n```\n", 5, "needs an expression"),
        ("```graph\nexpression: c = a *\nvalues: a=2\n```\n", 6, "something is missing here"),
        ("```graph\nexpression: c = a * 2\n```\n", 6, "a has no number"),
        ("```graph\nuse: other\n```\n", 6, "has the name 'other'"),
        (GRAPH.replace("forward", "into c from a"), 8, "there is no frame"),
        (GRAPH.replace("step: forward", "lab: order never"), 8, "there is no lab"),
        (GRAPH.replace("step: forward", "leaves: maybe"), 8, "leaves is yes, no, or some of a, b"),
        (GRAPH + "```curve\nover: z\n```\n", 11, "over a leaf of the graph"),
        ("```code\nprint(1)\n```\n```output\n2\n```\n", 8, "the code prints '1', not '2'"),
        ("```code\nprint(1)\n```\n", 5, "no output block after it states what"),
        ("```code\nx = 1\ny = 1 / 0\n```\n", 7, "ZeroDivisionError"),
        ("```code\nx = (\n```\n", 6, "SyntaxError"),
        ("```output\n2\n```\n", 5, "the code block before it prints"),
    ],
)
def test_a_wrong_statement_is_refused_with_its_line(body: str, line: int, says: str) -> None:
    at, what = the_problem(body)
    assert (at, says in what) == (line, True), (at, what)


def test_right_statements_pass() -> None:
    body = GRAPH + "`a.grad = -3`, {-6.3 = c(a=2.1)}, {3.5}, −6, {4 = a**2} and {2 = b.grad(a=2)} at `x = 7`.\n"
    assert problems(body) == []
    assert problems("```code hidden\nn = 3\n```\nThere are {9 = n**2}.\n") == []


def test_a_number_is_right_to_the_digits_that_it_states() -> None:
    assert agrees("0.33", 1 / 3) and not agrees("0.34", 1 / 3) and agrees("−0.667", -2 / 3)
    assert agrees("67%", 2 / 3) and not agrees("66%", 2 / 3) and agrees("1,000", 1000.0) and agrees("1e-10", 1.04e-10)
    assert agrees("3", 3.0) and not agrees("3", 3.2) and not agrees("3", float("nan"))
    assert evaluate("exp(1) - sigmoid(0)", functions()) == pytest.approx(2.218281828)


# ---- Markdown


def test_text_stays_text() -> None:
    made = markdown.html("a <b>x</b> & `c < d` **e** *f* [g](javascript:h) [i](docs/k.html) {15 = a.grad}")
    assert "<b>" not in made and "&lt;b&gt;" in made and "&amp;" in made
    assert "<strong>e</strong>" in made and "<em>f</em>" in made and 'href="javascript' not in made
    assert '<a href="docs/k.html">i</a>' in made and ">15</span>" in made and "a.grad" not in made


def test_lists_tables_and_notes() -> None:
    made = markdown.html(
        "- one\n  more\n- two\n\n1. first\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n> note\n\n### head\ntext"
    )
    assert "<ul><li>one more</li><li>two</li></ul>" in made and "<ol><li>first</li></ol>" in made
    assert '<th scope="col">a</th>' in made and "<td>2</td>" in made
    assert markdown.html("") == "" == markdown.html(" \n\n")
    assert '<p class="note">note</p>' in made and "<h3>head</h3><p>text</p>" in made


# ---- drills


@pytest.mark.parametrize("skill", SKILLS)
def test_a_drill_has_different_graphs_that_can_be_asked(skill: str) -> None:
    found = shapes([skill], "seed")
    assert len({str(shape) for shape in found}) == len(found) >= (1 if skill in ("neuron", "network") else 2)
    assert shapes([skill], "seed") == found and (skill == "neuron" or shapes([skill], "other") != found)
    for shape in found:
        for pick in (0, -1):
            line = frames(
                expression(shape.expression).build({k: pool[pick] for k, pool in shape.pools.items()}), names={}
            )
            names = [node.name for node in line.nodes]
            assert set(shape.asks) <= set(names) and names[-1] not in shape.asks


def test_the_data_of_the_page_holds_what_the_file_says() -> None:
    lesson = parse(HEAD + "A *word*.\n\n" + GRAPH + "```ask\nof: a.grad\nanswer: -3\nwrong: 2 | no\n```\n")
    course = data([lesson], "x", "X")
    step = course["chapters"][0]["steps"][0]
    assert step["scene"]["place"] == "forward" and step["parts"][0]["html"] == "<p>A <em>word</em>.</p>"
    task = step["parts"][1]["task"]
    assert task["kind"] == "gradient" and task["answer"] == -3 and task["wrong"] == [[2.0, "<p>no</p>"]]


def test_two_lessons_of_one_name_are_refused() -> None:
    with pytest.raises(LessonError, match="another lesson has the key 'a' too"):
        html([parse(HEAD + "x\n", "one/a.md"), parse(HEAD + "y\n", "two/01-a.md")], "x", "X")
    assert "x" in html([parse(HEAD + "x\n", "one/a.md")], "x", "X")  # a lesson needs no graph


def test_a_network_to_train_is_checked() -> None:
    def train(fields: str) -> list[tuple[int, str]]:
        return problems(f"```train\n{fields}\n```\n")

    assert train("preset: moons") == [] == train("data: xor\nlayers: 4 1\nactivation: tanh\nrate: 0.1\npoints: 20")
    assert "there is no preset" in train("preset: suns")[0][1] and train("preset: suns")[0][0] == 6
    for wrong, says in [
        ("data: suns\nlayers: 4 1", "no data set"), ("layers: many", "layers are numbers"),
        ("data: moons", "layers are numbers"),
        ("layers: 4 1\npoints: 1", "points is a whole number"), ("layers: 4 1\nrate: fast", "rate is a number"),
        ("layers: 4 1\nactivation: sine", "no activation"),
    ]:  # fmt: skip
        assert any(says in text for _, text in train(wrong)), wrong
    goal = "```train\npreset: moons\n```\n```ask\ngoal: accuracy >= 95%\nquestion: q\n```\n"
    task = data([parse(HEAD + goal)], "x", "X")["chapters"][0]["steps"][0]["parts"][1]["task"]
    assert problems(goal) == [] and task["goal"] == ("accuracy", ">=", 0.95, 0.0)


# ---- the command line


def test_new_check_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.md"
    assert main(["lesson", "new", str(file)]) == 0
    assert main(["lesson", "new", str(file)]) == 2 and "already exists" in capsys.readouterr().err
    assert main(["lesson", "check", str(file)]) == 0
    assert main(["lesson", "build", str(file)]) == 0
    assert "My first lesson" in (tmp_path / "mine.html").read_text(encoding="utf-8")
    text = file.read_text(encoding="utf-8")
    line = text[: text.index("answer: -1")].count("\n") + 1
    file.write_text(text.replace("answer: -1", "answer: -2"), encoding="utf-8")
    capsys.readouterr()
    assert main(["lesson", "check", str(file)]) == 1
    assert f"{file}:{line}: the answer says -2, and a.grad is -1" in capsys.readouterr().out
    file.write_text("no lesson", encoding="utf-8")
    assert main(["lesson", "build", str(file)]) == 1 and f"{file}:1: " in capsys.readouterr().err
    assert main(["lesson", "check", str(tmp_path / "missing.md")]) == 1
    file.write_bytes(b"\xff\xfe\x00")
    assert main(["lesson", "check", str(file)]) == 1 and "not UTF-8" in capsys.readouterr().out


def test_learn_writes_the_course(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["learn"]) == 0
    assert opened == [(tmp_path / "micrograd-course" / "course.html").as_uri()]
    assert "start here" in capsys.readouterr().out
    assert main(["learn", "--save", str(tmp_path / "c.html")]) == 0 and len(opened) == 1
    assert "Used twice" in (tmp_path / "c.html").read_text(encoding="utf-8")


# ---- docs/course.md


def test_the_lesson_of_the_docs_is_right() -> None:
    text = (Path(__file__).parents[2] / "docs" / "course.md").read_text(encoding="utf-8")
    found = re.search(r"^````markdown\n(.*?)^````", text, re.S | re.M)
    assert found and check(parse(found[1], "diamond.md")) == []
    wrong = found[1].replace("answer: 15", "answer: 16")
    (problem,) = check(parse(wrong, "diamond.md"))
    assert f"diamond.md:{problem.line}: {problem.text}" in text
    for kind, fields in BLOCKS.items():
        assert f"`{kind}`" in text and all(f"`{field.rstrip('*')}" in text for field in fields or ()), kind
    assert all(f"`{skill}`" in text for skill in SKILLS)


@pytest.mark.parametrize("action", ["check", "build"])
def test_a_file_that_is_not_there_is_told_in_words(action, tmp_path, capsys):
    assert main(["lesson", action, str(tmp_path / "none.md")]) == 1
    assert "none.md is not there; `micrograd lesson new" in capsys.readouterr().err
    assert main(["lesson", action, str(tmp_path)]) == 1
    assert "is a folder, not a lesson file" in capsys.readouterr().err
