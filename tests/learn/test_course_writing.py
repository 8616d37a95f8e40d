"""The code that learners write in the course: the Python of the page says what CPython says, and their engine trains."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_node import needs_node, run_in_node
from test_course_browser import CHAPTERS, course_file, open_at, write

from micrograd.learn.course import written
from micrograd.learn.course.check import check
from micrograd.learn.course.lessons import parse
from micrograd.learn.course.written import EnginePart, pieces

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
ALL = [piece for lesson in CHAPTERS.values() for piece in pieces(lesson)]
WRITTEN = [piece for piece in ALL if piece.start]

RUN = """
let printed = "";
const space = pyrun.pythonSpace({ print: (text) => { printed += text; }, random: () => 0.25 });
try {
  for (const text of data) space.execute(text);
  return { printed, raised: "", text: "" };
} catch (error) {
  if (!error.kind && !(error instanceof pyparse.SyntaxFault)) throw error;
  return { printed, raised: error.kind ?? "SyntaxError", text: error.kind ? error.text : error.message };
}"""


def on_the_page(*texts: str) -> dict[str, str]:
    found: dict[str, str] = run_in_node(RUN, list(texts), "pyrun.js", "pyparse.js")
    return found


def in_cpython(*texts: str) -> dict[str, str]:
    out, space = io.StringIO(), {"__name__": "__main__"}
    try:
        with contextlib.redirect_stdout(out):
            for text in texts:
                exec(compile(text, "code", "exec"), space)
    except Exception as error:
        return {"printed": out.getvalue(), "raised": type(error).__name__, "text": str(error)}
    return {"printed": out.getvalue(), "raised": "", "text": ""}


PROGRAMS = {
    "numbers": """\
print(7 // 2, -7 // 2, -7 % 3, 7 % -3, 2**10, 2**-1, 2**0.5, 1 / 3, 1e-5, 1e16, 1e22, 3.0, -0.0, 10**20, 5 / 5, 1_000, True + 1)""",  # noqa: E501
    "text": """\
print('a' + "b" * 3, 'it\\'s', repr('x\\n'), f'{3.14159:.2f} {5:>4}|{"x":<3}|{1e-5:g} {1234567:,} {0.5:.0%} {2:03d} {1.5!r} {7=}')""",  # noqa: E501
    "slices": """\
x = [1, 2, 3, 4, 5]
print(x[1:-1], x[::-1], x[-2], 'abc'[1:], (1, 2, 3)[:2])
x[1:3] = [9]
print(x)
del x[0]
print(x)""",
    "dicts and sets": """\
d = {'a': 1, (1, 2): 'b'}
d['c'] = 3
print(d, len(d), 'a' in d, d.get('z', 0), sorted({3, 1, 2}), {1, 1.0, True})
print({k: v for k, v in d.items() if v != 1})""",
    "closures": """\
def make():
    n = 0
    def up(by=1):
        nonlocal n
        n += by
        return n
    return up
f = make()
f()
print(f(5), f(by=2), [g() for g in [lambda: 1, lambda: 2]])
k = [lambda: i for i in range(3)]
print([one() for one in k])""",
    "loops": """\
for i in range(5):
    if i == 1: continue
    if i == 4: break
    print(i, end=' ')
else:
    print('never')
while i:
    i -= 2
else:
    print('done', i)
print([(a, b) for a in range(3) for b in 'xy' if a])""",
    "classes": """\
class A:
    n = 3
    def __init__(self, x=1):
        self.x = x
    def __repr__(self):
        return f'{type(self).__name__}({self.x})'
    def __lt__(self, other):
        return self.x < other.x
    @property
    def double(self):
        return 2 * self.x
    @staticmethod
    def s(a):
        return a + 1
class B(A):
    def __init__(self, x):
        super().__init__(x)
    def __add__(self, other):
        return B(self.x + other.x) if isinstance(other, A) else NotImplemented
    def __len__(self):
        return 0
print(B(2) + A(3), sorted([A(3), A(1)]), B(4).double, A.s(1), bool(B(1)), B(1).n, isinstance(B(1), A), hasattr(B(1), 'y'))
print(max([A(1), A(5)], key=lambda a: a.x), A(2) < A(3))""",
    "calls": """\
def f(a, *rest, k=3, **more):
    return a, rest, k, more
print(f(1, 2, 3, k=5, z=1), f(*[1, 2]), f(1))
a, *b = 1, 2, 3
(c, d), e = (1, 2), 3
print(a, b, c, d, e, *zip([1, 2], (3, 4)))
print(list(map(lambda x: x * x, [1, 2])), list(filter(None, [0, 1])), any([]), all([]), sum([[1], [2]], []), list(enumerate('ab', 1)))""",  # noqa: E501
    "exceptions": """\
class Odd(ValueError):
    pass
try:
    raise Odd('three', 3)
except KeyError:
    print('no')
except ValueError as e:
    print('caught', e, type(e).__name__, e.args)
for code in (lambda: [][0], lambda: {}['k'], lambda: 1 / 0, lambda: None.x, lambda: int('x1'), lambda: undefined):
    try:
        code()
    except Exception as e:
        print(type(e).__name__)""",
    "annotations": """\
x: float = 2.0
def f(a: int, b: str = 'x') -> float:
    '''A docstring.'''
    return a * x  # a comment
print(f(3)); y = (1 +
   2)
print(y if y > 2 else 0, 1 < y < 5, not y, y is None, y in (1, 3), None or 'x', 0 and 1)""",
    "modules": """\
import math, random
from math import tanh as t
print(round(math.exp(1), 4), t(0.5), math.pi, math.floor(-1.5), math.isclose(0.1 + 0.2, 0.3), round(2.5), round(3.5), round(2.675, 1))
assert 0 <= random.random() < 1""",  # noqa: E501
    "unbound": """\
def f():
    print(x)
    x = 1
x = 2
f()""",
    "recursion": """\
def f(n):
    return f(n + 1)
f(0)""",
    "not callable": """\
x = 3
x()""",
    "few arguments": """\
def f(a, b):
    return a
f(1)""",
    "wrong operand": """\
print([1] + 2)""",
    "indented": """\
x = 1
  y = 2""",
    "no colon": """\
if True
    x = 1""",
    "no bracket": """\
print((1 + 2)
x = 1""",
    "globals": """\
x = 1
def f():
    x = 2
    def g():
        global x
        x += 10
        return x
    return g(), x
print(f(), x, len(range(10, 0, -3)), len(range(5, 5)), list(range(0, 10, 4)))""",
    "strange text": """\
class Odd(Exception):
    def __str__(self):
        return 'odd ' + str(self.args[0])
try:
    raise Odd(3)
except Odd as e:
    print(e)
raise Odd(4)""",
    "no local": """\
def f():
    y = 1
    return x
f()""",
    "assertion": """\
assert 1 == 2, f'{1} is not {2}'""",
}  # fmt: skip


@needs_node
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_python_of_the_page_does_what_cpython_does(name: str) -> None:
    here, there = on_the_page(PROGRAMS[name]), in_cpython(PROGRAMS[name])
    assert here["printed"] == there["printed"]
    assert here["raised"] == ("SyntaxError" if there["raised"] == "IndentationError" else there["raised"])
    if there["raised"] == "AssertionError":
        assert here["text"] == there["text"]


@needs_node
@pytest.mark.parametrize("piece", WRITTEN, ids=lambda piece: piece.key)
def test_a_solution_passes_and_each_of_its_mistakes_is_told_by_page_and_cpython_alike(piece: EnginePart) -> None:
    before = [one.text for one in ALL[: ALL.index(piece)]]
    assert in_cpython(*before, piece.text, piece.tests)["raised"] == ""
    assert on_the_page(*before, piece.text, piece.tests)["raised"] == ""
    told = 0
    for right, wrong in MISTAKES[piece.key.split("/")[1]]:
        assert piece.text.count(right), (right, piece.text)
        broken = piece.text.replace(right, wrong)
        here, there = on_the_page(*before, broken, piece.tests), in_cpython(*before, broken, piece.tests)
        assert here["raised"] == there["raised"] != "", (wrong, here, there)
        if there["raised"] == "AssertionError":
            assert here["text"] == there["text"]
            told += 1
    assert told >= 1


MISTAKES = {
    "mul": [("other.data * out.grad", "other.data"), ("other.data * out.grad", "self.data * out.grad"), ("+=", "="),
            ("= _backward\n", "= _backward()\n"), ("    return out\n", "")],
    "add": [("+= out.grad", "= out.grad"), ("self.grad += out.grad", "pass"), ("out.grad\n", "out.grad * self.data\n")],
    "order": [("order.append(node)", "order.append(root)"), ("if node not in seen:", "if True:"),
              ("    return order", "    return None"),
              ("            for one in node._prev:\n                visit(one)\n            order.append(node)",
               "            order.append(node)\n            for one in node._prev:\n                visit(one)")],
    "backward": [("= 1.0", "= 0.0"), ("reversed(topological(self))", "topological(self)"),
                 ("self.grad = 1.0", "self.grad = 2.0")],
    "tanh": [("(1 - t * t) * out.grad", "(1 - t * t)"), ("(1 - t * t)", "(1 - self.data ** 2)"), ("+= (1", "+= -(1")],
    "neuron": [("total.tanh()", "total"), ("total = self.b", "total = Value(0.0)"), ("weight * number", "weight + number")],
    "step": [("p.grad = 0.0", "pass"), ("loss.backward()", "pass"), ("-= rate", "+= rate"), ("rate * p.grad", "p.grad"),
             ("return loss.data", "pass")],
    "mlp": [("[neuron(x) for neuron in layer]", "[neuron(x) for neuron in self.layers[0]]"), ("return x[0]", "return x")],
}  # fmt: skip


def test_recursion_is_accepted_in_the_topological_sort_and_so_is_a_stack() -> None:
    order = next(piece for piece in WRITTEN if piece.key.endswith("/order"))
    assert "visit(one)" in order.text  # the solution recurses
    stack = """
def topological(root):
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, finished = stack.pop()
        if finished:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((one, False) for one in node._prev)
    return order
"""
    before = [one.text for one in ALL[: ALL.index(order)]]
    assert written.run(before, stack, order.tests) == ""


def test_lesson_check_runs_what_learners_write() -> None:
    head = "---\ntitle: T\n---\n## One\n"
    good = head + "```write f\ndef f(x):\n    return ...\n```\n```solution\ndef f(x):\n    return 2 * x\n```\n"
    assert check(parse(good + "```tests\nassert f(2) == 4, 'no'\n```\n")) == []
    (problem,) = check(parse(good + "```tests\nassert f(2) == 5, 'not five'\n```\n"))
    assert "not five" in problem.text
    (problem,) = check(parse(good + "```tests\nassert f\n```\n"))
    assert "passes the tests already" in problem.text
    assert "followed by a solution" in str(check(parse(head + "```write f\nx = ...\n```\n"))[0].text)


# ---- in the browser


@needs_node
def test_an_endless_loop_ends_and_says_so() -> None:
    script = 'texts.useTexts(data.words, []); return writing.judgeCode([], data.code, "");'
    words = {"endless": "endless", "dots": "dots"} | dict.fromkeys(
        ("syntax", "outside", "raised", "raised_outside"), "{text}"
    )
    for code, told in (
        ("while True: pass", "endless"),
        ("x = ...", "dots"),
        ("with x: pass", "part of the Python of this page"),
    ):
        found = run_in_node(script, {"words": {"course": {"write": words}}, "code": code}, "writing.js", "texts.js")
        assert not found["passed"] and told in found["message"]


def test_code_is_written_checked_and_kept(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "picture-to-code/2")
    card = page.locator(".task[data-kind='write']")
    card.locator("[data-do='check-code']").click()
    assert "three dots" in card.inner_text()
    piece = next(one for one in WRITTEN if one.key.endswith("/mul"))
    write(card, piece.text.replace("+= other.data * out.grad", "+= self.data * out.grad"))
    assert "a gets b.data" in card.locator(".verdict.bad").inner_text()
    write(card, piece.text.replace("out = Value", "out = value"))
    assert "NameError" in card.locator(".verdict.bad").inner_text()
    assert card.locator(".cm-pointed").count() == 1
    write(card, "# mine\n" + piece.text)
    assert "It works" in card.locator(".verdict.good").inner_text()
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert kept["code"]["picture-to-code/mul"].startswith("# mine")
    page = open_at(visit, course_file, "picture-to-code/2", known=kept)
    assert "# mine" in page.locator(".task[data-kind='write'] .cm-content").inner_text()


def test_the_editor_is_entered_run_and_left_by_keys(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "picture-to-code/2")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Enter")
    assert "three dots" in page.inner_text(".task[data-kind='write'] .verdict.bad")
    page.locator(".cm-content").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.cm-content')")  # there, Tab indents
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.do") == "check-code"
    assert page.locator(".stage .count").inner_text() == "6 / 6"  # typing moved nothing on the stage


def test_after_two_wrong_tries_the_solution_is_offered(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "picture-to-code/3")
    card = page.locator(".task[data-kind='write']")
    for _ in range(2):
        card.locator("[data-do='check-code']").click()
    card.locator("[data-do='give']").click()
    assert (
        "one way to write it" in card.inner_text()
        and "self.grad += out.grad" in card.locator(".cm-content").inner_text()
    )


def test_the_learners_engine_trains_the_moons_and_the_link_shows_it(visit: Visit, course_file: Path) -> None:
    page = open_at(visit, course_file, "network/15")
    page.click("[data-do='own-train']")
    page.locator(".task.done").wait_for(timeout=60_000)
    page.click("[data-do='own-train']")
    assert "step " in page.inner_text(".own-training .moon-facts")
    kept = json.loads(page.evaluate("localStorage.getItem('micrograd.course.micrograd-course')"))
    assert len(kept["network"]["parameters"]) == 33 and kept["network"]["accuracy"] >= 0.95
    page.click("[data-do='own-share']")
    link = page.locator(".link-field")
    link.wait_for()
    address = link.input_value()
    assert "#mine/" in address and len(address) < 8000
    other = visit(address)
    other.locator(".shared-network .moon-facts", has_text="of the points right").wait_for()
    assert "def multiply" in other.inner_text(".shared-network")
    drawn = other.locator(".own-plane canvas").evaluate(
        "(e) => new Set(e.getContext('2d').getImageData(0, 0, e.width, e.height).data).size"
    )
    assert drawn > 20
    other.click("[data-do='own-course']")
    assert other.inner_text(".text h2") == "A machine with one knob"
    broken = visit(f"{course_file.as_uri()}#mine/nonsense")
    broken.get_by_text("holds no network").wait_for()


def test_a_mistake_in_the_learners_engine_is_told_where_it_trains(visit: Visit, course_file: Path) -> None:
    broken = "def train_step(model, points, rate):\n    return model.nothing"
    page = open_at(visit, course_file, "network/15", known={"code": {"loss-and-descent/step": broken}})
    page.click("[data-do='own-step']")
    assert "AttributeError" in page.inner_text(".own-training .verdict.bad")
