"""Formulas of lessons: what is typeset, what is refused, and which numbers in them are computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from micrograd.learn.course import LessonError, markdown, parse
from micrograd.learn.course.check import check
from micrograd.learn.course.mathematics import ALPHABETS, FUNCTIONS, LETTERS, OPERATORS, FormulaError, mathml
from micrograd.learn.course.page import html

HEAD = "---\ntitle: T\n---\n## One\n"
GRAPH = "\n```graph\nexpression: c = a * b\nvalues: a=2 b=-3\nstep: forward\n```\n"


def tree(text: str, **how: bool) -> ElementTree.Element:
    return ElementTree.fromstring(mathml(text, **how))


def shape(element: ElementTree.Element) -> Any:
    """The element as nested lists of its tag and what is in it."""
    return [element.tag, *([element.text] if element.text else []), *map(shape, element)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x^2", ["msup", ["mi", "x"], ["mn", "2"]]),
        ("x_i^2", ["msubsup", ["mi", "x"], ["mi", "i"], ["mn", "2"]]),
        (r"\frac{1}{2}", ["mfrac", ["mn", "1"], ["mn", "2"]]),
        (r"\frac 1 x", ["mfrac", ["mn", "1"], ["mi", "x"]]),
        (r"\sqrt{x}", ["msqrt", ["mi", "x"]]),
        (r"\sqrt[3]{x}", ["mroot", ["mi", "x"], ["mn", "3"]]),
        (r"\hat y", ["mover", ["mi", "y"], ["mo", "^"]]),
        ("f'", ["mrow", ["mi", "f"], ["mo", "′"]]),
        ("-3.5", None),
        (r"\text{loss of x}", ["mtext", "loss\u00a0of\u00a0x"]),
        (r"\mathbf{W}", ["mi", "𝐖"]),
        (r"\mathbb{R}", ["mi", "ℝ"]),
        (r"\left( x \right)", ["mrow", ["mo", "("], ["mi", "x"], ["mo", ")"]]),
        (
            r"\begin{cases} x & y \\ 0 \end{cases}",
            ["mrow", ["mo", "{"],
             ["mtable", ["mtr", ["mtd", ["mi", "x"]], ["mtd", ["mi", "y"]]], ["mtr", ["mtd", ["mn", "0"]]]]],
        ),
    ],
)  # fmt: skip
def test_a_formula_becomes_mathml(text: str, wanted: Any) -> None:
    inside = [shape(child) for child in tree(text)]
    assert inside == ([["mo", "−"], ["mn", "3.5"]] if wanted is None else [wanted])


def test_limits_stand_above_and_below_in_a_formula_of_its_own_line() -> None:
    assert shape(tree(r"\sum_i x", block=True))[1][0] == "munder"
    assert shape(tree(r"\sum_i x"))[1][0] == "msub"


def test_every_name_in_the_tables_is_known() -> None:
    for name in [*LETTERS, *OPERATORS, *FUNCTIONS]:
        assert tree(rf"\{name} x") is not None
    for name in ALPHABETS:
        for letter in "AZaz":
            assert re.fullmatch(r"\W?\w?", tree(rf"\{name}{{{letter}}}")[0].text or "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (r"\foo", r"\foo, which is not known"),
        ("x^", "ends where"),
        (r"\frac{a", "} is missing"),
        ("a}", "stands where nothing was opened"),
        ("x_1_2", "two _ after one letter"),
        (r"\left( a", r"\right is missing"),
        (r"\left q a \right)", "is no bracket"),
        (r"\begin{cases} a", r"\end{cases} is missing"),
        (r"\begin{array} a \end{array}", "is not known; there are"),
        ("^2", "stands after nothing"),
    ],
)
def test_a_formula_that_cannot_be_typeset_is_an_error(text: str, says: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(says)):
        mathml(text)


def test_a_wrong_formula_is_reported_with_its_line() -> None:
    with pytest.raises(LessonError) as caught:
        parse(HEAD + "text\n\n$$\na + \\foo\n$$\n\nand $x^$ here\n", "x.md")
    assert [(one.line, "not known" in one.text or "ends where" in one.text) for one in caught.value.problems] == [
        (7, True),
        (11, True),
    ]
    with pytest.raises(LessonError, match=r"x\.md:6: the formula has"):
        parse(HEAD + "```ask\nquestion: is $\\foo$ right?\nright: yes\nchoice: no | it is\n```\n", "x.md")


def test_numbers_that_a_formula_states_are_computed() -> None:
    body = GRAPH + "\n$$\n\\frac{\\partial c}{\\partial a} = \\stated{%s = a.grad}\n$$\n\n$x^{17}$ is a formula.\n"
    assert check(parse(HEAD + body % "-3")) == []
    [wrong] = check(parse(HEAD + body % "-4"))
    assert "the text says -4, and a.grad is -3" in wrong.text
    assert ">−3</mn>" in markdown.html(r"$\stated{-3 = a.grad}$") and "a.grad" not in markdown.html(
        r"$\stated{-3 = a.grad}$"
    )


def test_a_price_is_no_formula_and_code_is_code() -> None:
    assert "<math" not in markdown.html("It costs $5, and that $6; `$x$` is code; a$b$c")
    assert markdown.html("So $x$.").startswith("<p>So <math")
    assert '<div class="formula" tabindex="0"><math display="block"' in markdown.html("$$\nx\n$$")


# ---- pictures


def test_a_picture_becomes_a_part_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(b"\x89PNG and so on")
    file = tmp_path / "x.md"
    file.write_text(HEAD + '\n![a dot](dot.png "17 dots")\n\nA small ![dot](dot.png) here.\n')
    page = html([parse(file.read_text(), str(file))], "x", "T")
    assert "data:image/png;base64,iVBORyBhbmQgc28gb24" in page and "img-src data:" in page
    text = markdown.html('![a "dot"](dot.png "by hand")', tmp_path)
    assert (
        '<figure class="shown">' in text and "<figcaption>by hand</figcaption>" in text and "a &quot;dot&quot;" in text
    )
    [wrong] = check(parse(file.read_text(), str(file)))
    assert wrong.line == 6 and "17 is not a number of this step" in wrong.text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("![a dot](none.png)", "there is no picture none.png"),
        ("![](dot.png)", "needs words"),
        ("![a dot](dot.bmp)", "of no kind that browsers show"),
        ("![a dot](https://example.org/dot.png)", "is not a file beside the lesson"),
        ("![a dot](large.png)", "bytes, and a lesson takes"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_reported_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "dot.png").write_bytes(b"png")
    (tmp_path / "large.png").write_bytes(bytes(2_000_001))
    with pytest.raises(LessonError) as caught:
        parse(HEAD + f"\nfirst\n{text}\n", str(tmp_path / "x.md"))
    [problem] = caught.value.problems
    assert problem.line == 7 and says in problem.text


def test_the_browser_typesets_and_shows(visit: Callable[..., Any], tmp_path: Path) -> None:
    from micrograd.learn import draw_dot
    from micrograd.learn.expression import parse as expression

    draw_dot(expression("a*b").build({"a": 1.0, "b": 2.0})).save(tmp_path / "graph.svg")
    file = tmp_path / "x.md"
    file.write_text(HEAD + "\n$$\n\\frac{a}{b}\n$$\n\n![a graph](graph.svg)\n" + GRAPH)
    (tmp_path / "x.html").write_text(html([parse(file.read_text(), str(file))], "x", "T"), encoding="utf-8")
    page = visit((tmp_path / "x.html").as_uri())
    a, b = (
        page.evaluate(f"document.querySelectorAll('mfrac > mi')[{k}].getBoundingClientRect().toJSON()") for k in (0, 1)
    )
    assert a["bottom"] <= b["top"] + 4 and abs(a["left"] - b["left"]) < 10
    page.wait_for_function("document.querySelector('figure img').naturalWidth > 50")
    assert page.evaluate("document.querySelector('figure img').getBoundingClientRect().right < innerWidth")
