"""The page as text: one file, one policy, no network; and the object that makes it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from micrograd import Value
from micrograd.errors import MicrogradError
from micrograd.learn import explore, explorer, page
from micrograd.learn.lesson import PRESETS, QUIZZES

NODE = shutil.which("node")
# Every list of files that a page is made of; each has what the stage needs, or reloads a page that has it.
FRONT_ENDS = [
    *(files for files in vars(page).values() if isinstance(files, tuple) and set(page.STAGE) <= set(files)),
    ("preview",),
    page.CONSOLE,  # pages without a stage
    page.CLASS,
]


class Parts(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.texts.setdefault(self.tags[-1][0], []).append(data)


@pytest.fixture(scope="module")
def lesson() -> str:
    return explore().html


def policy(text: str) -> dict[str, str]:
    content = next(a["content"] for tag, a in Parts(text).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert content
    return dict(part.strip().split(" ", 1) for part in content.split(";"))


def test_the_lesson_is_under_180_kB(lesson: str) -> None:
    assert len(lesson.encode()) < 180_000


def test_the_policy_allows_its_own_script_and_style_and_nothing_else(lesson: str) -> None:
    rules = policy(lesson)
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in str(rules) and "http" not in str(rules)
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        body = re.findall(rf"<{tag}(?: type=\"module\")?>(.*?)</{tag}>", lesson, re.S)
        assert len(body) == 1
        assert rules[rule] == f"'sha256-{b64encode(sha256(body[0].encode()).digest()).decode()}'"


def test_nothing_points_outside(lesson: str) -> None:
    for tag, attributes in Parts(lesson).tags:
        assert not {"src", "href", "action"} & set(attributes), (tag, attributes)
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
    assert set(re.findall(r"https?://[^\s\"'`)]+", lesson)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in lesson and "url(" not in lesson


def test_the_data_cannot_end_its_script() -> None:
    root = Value(1.0, label="a") * Value(2.0, label="b")
    root.label = "</script><script>alert(1)</script>"
    text = explore(root).html
    assert text.count("</script>") == 2 and "alert(1)" in text and "<script>alert" not in text


def test_a_title_is_escaped() -> None:
    assert "<title>micrograd explore · a &lt; b</title>" in explore("a < b", a=1, b=2).html


def test_all_presets_and_quizzes_are_in_the_page(lesson: str) -> None:
    data = re.search(r'<script type="application/json" id="lesson">(.*?)</script>', lesson, re.S)
    assert data
    got = json.loads(data.group(1))
    assert [preset["key"] for preset in got["presets"]] == list(PRESETS)
    assert [quiz["key"] for quiz in got["quizzes"]] == [quiz.key for quiz in QUIZZES]


@pytest.mark.skipif(NODE is None, reason="node is not installed: the joined module was not parsed")
def test_the_files_join_to_one_module_without_a_name_twice(tmp_path: Path) -> None:
    for files in FRONT_ENDS:
        module = page.module(None, files)
        (tmp_path / "page.mjs").write_text(module, encoding="utf-8")
        done = subprocess.run([NODE or "", "--check", str(tmp_path / "page.mjs")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "import{" not in module and module.count("export default") == (files not in (page.STAGE, ("preview",)))


def test_every_file_is_in_the_module_after_what_it_imports() -> None:
    assert {path.stem for path in page.STATIC.glob("*.js")} == {name for files in FRONT_ENDS for name in files}
    for files in FRONT_ENDS:
        for k, name in enumerate(files):
            text = (page.STATIC / f"{name}.js").read_text(encoding="utf-8")
            needs = re.findall(r'^import .*? from "\./(\w+)\.js";$', text, re.M | re.S)
            left_out = set(page.PLAYGROUND) if files is page.RUN else set()  # what a run of one's own never calls
            assert set(needs) - left_out <= set(files[:k]), name


@pytest.mark.parametrize("name", sorted({name for files in FRONT_ENDS for name in files} - {"codemirror"}))
def test_the_files_stay_small_and_typed(name: str) -> None:
    text = (page.STATIC / f"{name}.js").read_text(encoding="utf-8")
    assert text.count("\n") <= 700  # a file is one idea, whole; 700 lines hold one without cutting it into shards
    assert name == "ops" or max(map(len, text.splitlines())) <= 128
    exported = re.findall(r"^(.*)\n(?:export )(?:async )?function (\w+)\(([^)]*)\)", text, re.M)
    for before, function, parameters in exported:
        assert before.rstrip().endswith("*/"), f"{name}.{function} has no JSDoc"
        assert (
            not parameters
            or name == "ops"
            or "@param" in text[: text.index(f"function {function}(")].rsplit("/**", 1)[1]
        ), function


@pytest.mark.parametrize("wrong", ["(a+b", "a*b"])
def test_a_bad_expression_is_an_error(wrong: str) -> None:
    with pytest.raises(MicrogradError):
        explore(wrong, a=1)


def test_what_is_no_graph_is_an_error() -> None:
    with pytest.raises(TypeError, match="a graph is shown from a Value"):
        explore(3.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="go with an expression"):
        explore(Value(1.0), a=1)


def test_a_graph_too_large_to_step_has_a_way_out() -> None:
    x = Value(1.0)
    for _ in range(explorer.MAX_NODES):
        x = x + 1
    with pytest.raises(MicrogradError, match="draw_dot"):
        explore(x)


def test_save_writes_the_page(tmp_path: Path) -> None:
    one = explore("(a+b)*c", a=2, b=-3, c=10)
    assert repr(one) == "<explore (a+b)*c: 5 nodes>"
    assert one.save(tmp_path / "lesson.html") == str(tmp_path / "lesson.html")
    assert (tmp_path / "lesson.html").read_text(encoding="utf-8") == one.html


def test_exploring_changes_no_gradient() -> None:
    a = Value(3.0)
    b = a * a
    assert explore(b).html and a.grad == 0.0
    b.backward()
    assert explore(b).html and a.grad == 6.0


def test_a_notebook_gets_a_frame_a_picture_and_a_text() -> None:
    bundle: dict[str, Any] = explore("a*b", a=2, b=3)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    tag, attributes = Parts(bundle["text/html"]).tags[0]
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts allow-downloads"
    assert (attributes["srcdoc"] or "").startswith("<!doctype html>")
    assert bundle["image/svg+xml"].startswith("<svg") and bundle["text/plain"].startswith("<explore a*b")


def test_show_outside_a_notebook_opens_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    explore("a*b", a=2, b=3).show()
    assert opened[0].startswith("file:///") and opened[0].endswith(".html")


def test_special_numbers_pass_through_json() -> None:
    text = explore("log(a) * b", a=0.0, b=2.0).html
    assert '"data":"-inf"' in text


def test_a_loop_whose_leaf_is_used_in_every_iteration_is_shown_in_boxes(visit: Any, tmp_path: Path) -> None:
    x = Value(0.9, label="x")
    total = Value(0.0, label="s")
    for k in range(170):
        total = total * x + 0.1 * k  # 340 edges from or past the same leaf: too many layers to draw one by one
    explore(total).save(tmp_path / "loop.html")
    page = visit((tmp_path / "loop.html").as_uri(), reduced_motion="reduce")
    page.click("[data-do='to_end']")
    assert page.locator("[data-box]").count() > 10 and page.locator(".node").count() < 10
