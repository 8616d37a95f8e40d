"""The static site: its files, and the workshop in the browser, with Python in the page and the network blocked.

Pyodide is a test asset that is not part of this repository (14 MB): PYODIDE_PATH names its unpacked npm package, or
`npm ci` installs the version that package-lock.json pins.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from clicks import reload
from test_axe import AXE, wrong

from micrograd.cli import main
from micrograd.errors import MicrogradError
from micrograd.learn.course import site, wheel
from micrograd.learn.page import MODULES, WATCH
from micrograd.learn.workshop.catalog import BY_NAME, EXERCISES

Visit = Callable[..., Any]


def find() -> Path | None:
    if named := os.environ.get("PYODIDE_PATH"):
        return Path(named)
    for folder in Path(__file__).resolve().parents:
        if (found := folder / "node_modules" / "pyodide").exists():
            return found
    return None


PACKAGE = find()
MISSING = pytest.mark.skipif(PACKAGE is None, reason="pyodide is not installed (npm ci, or PYODIDE_PATH)")


def needs_pyodide(test: Any) -> Any:
    """It loads 14 MB and starts a Python: some seconds on an idle machine."""
    return pytest.mark.slow(MISSING(test))


class Quiet(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    list(site.build(folder, PACKAGE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_site_without_pyodide_has_no_workshop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "--site", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"alive.html", "index.html", "index.de.html",
        "course.html", "course.de.html", "class.html", "class.de.html", "explore.html", "explore.de.html", "watch.html",
        "watch.de.html"}  # fmt: skip
    for name in ("index.html", "index.de.html", "course.html", "course.de.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.search(r"(workshop|console)(\.de)?\.html", text)
    for name, course in (("explore.html", "course.html"), ("explore.de.html", "course.de.html")):
        assert f'"course":"{course}"' in (tmp_path / name).read_text(encoding="utf-8")
    assert main(["learn", "--pyodide", "x"]) == 2


def test_a_folder_that_is_not_pyodide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MicrogradError, match=r"it has no pyodide\.mjs"):
        list(site.build(tmp_path / "site", tmp_path))


def test_the_wheel_is_pure_complete_and_the_same_each_time() -> None:
    made = wheel.build()
    assert made == wheel.build() and len(made) < 1_500_000
    with zipfile.ZipFile(BytesIO(made)) as archive:
        names = archive.namelist()
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
    assert {"micrograd/engine.py", "micrograd/learn/workshop/exercises/e01_slope.task.txt"} <= set(names)
    assert not any(name.endswith((".so", ".pyd", ".c", "/codemirror.js")) for name in names)
    assert {f"micrograd/learn/static/{name}.js" for name in (*MODULES, *WATCH)} <= set(names)  # explore() and watch()
    assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(names)


def code(page: Any) -> str:
    """The text of the editor."""
    lines: list[str] = page.locator(".cm-line").all_inner_texts()
    return "\n".join(line.replace("\n", "") for line in lines)


def write(page: Any, name: str, text: str) -> None:
    page.click(f"[data-exercise='{name}']")
    page.fill(".cm-content", text)


def check(page: Any) -> str:
    page.click("[data-do='check']")
    page.locator(".findings .verdict").wait_for(timeout=90_000)
    text: str = page.inner_text(".findings .verdict")
    return text


@needs_pyodide
def test_the_workshop_runs_in_the_browser(visit: Visit, served: str) -> None:
    page = visit(f"{served}/workshop.html")
    assert page.locator("[data-exercise]").count() == len(EXERCISES)
    assert code(page).startswith("def slope(f, x, h=...):")  # what the page says stands not in the editor once more
    assert "Exercise 1" not in page.inner_text("main") and "central difference" in page.inner_text(".task-text")
    assert (
        page.locator("[data-do='solution']").is_disabled() and page.locator("[data-do='next-exercise']").is_disabled()
    )
    page.click("[data-do='hint']")
    assert BY_NAME["e01_slope"].hints[0] in page.inner_text(".findings")
    wrong = BY_NAME["e01_slope"].solution.replace("(2 * h)", "h")
    page.fill(".cm-content", wrong)
    assert "twice the slope" in check(page)
    page.fill(".cm-content", BY_NAME["e01_slope"].solution + "\nprint('hello')\n")
    assert "Passed" in check(page) and "hello" in page.inner_text(".findings")
    page.click("[data-do='next-exercise']")
    assert page.inner_text("h2") == "partials" and "def partials" in code(page)
    reload(page)
    assert page.locator("[data-exercise='e01_slope'] .tick.done").count() == 1
    page.click("[data-exercise='e01_slope']")
    assert "hello" in code(page) and "Exercise 1" not in code(page)
    assert page.locator("progress.meter").evaluate("(bar) => bar.value") == 1


@needs_pyodide
def test_a_wrong_rule_opens_the_learners_pass_at_the_first_wrong_contribution(visit: Visit, served: str) -> None:
    page = visit(f"{served}/workshop.html", reduced_motion="reduce")
    for name in ("e01_slope", "e02_partials", "e03_value"):
        write(page, name, BY_NAME[name].solution)
    write(page, "e04_rules", BY_NAME["e04_rules"].solution.replace("+=", "="))
    assert "a got 1, should get 2: you wrote = where += is needed" in check(page)
    assert not page.locator(".findings pre").is_visible()  # the stage has the same steps
    page.click(".findings summary")
    assert "b = a + a: a.grad 0 -> 1" in page.inner_text(".findings pre")
    assert "adds 1 to a.grad" in page.inner_text(".stage .sentence")
    assert page.inner_text(".stage .count") == "4 / 4"


@needs_pyodide
def test_all_exercises_pass_and_files_are_saved_and_loaded(visit: Visit, served: str, tmp_path: Path) -> None:
    page = visit(f"{served}/workshop.html")
    for exercise in EXERCISES:
        if exercise.milestone:
            page.click(f"[data-exercise='{exercise.name}']")
        else:
            write(page, exercise.name, exercise.solution)
        check(page)
        assert page.locator(".findings .verdict.good").count() == 1, (exercise.name, page.inner_text(".findings"))
        if exercise.name == "e11_tanh_relu":
            assert page.inner_text(".stage .count") == "17 / 17"  # a pass by the learner's own code, with nothing wrong
            assert "_backward() adds" in page.inner_text(".stage .sentence")
        if exercise.milestone:
            assert page.locator("img.drawn").evaluate("(img) => img.decode().then(() => img.naturalWidth > 100)")
    with page.expect_download() as saving:
        page.click("header [data-do='save']")
    saving.value.save_as(tmp_path / "mine.json")
    page.evaluate("localStorage.clear()")
    reload(page)
    assert page.locator(".tick.done").count() == 0
    page.set_input_files("input[type='file']", tmp_path / "mine.json")
    page.locator(".tick.done").nth(len(EXERCISES) - 1).wait_for()
    page.set_input_files("input[type='file']", {"name": "x.json", "mimeType": "application/json", "buffer": b"[1]"})
    page.locator(".findings .verdict.bad").wait_for()
    assert "does not hold files" in page.inner_text(".findings")


@needs_pyodide
def test_the_editor_indents_marks_the_line_of_an_error_and_can_be_left(visit: Visit, served: str) -> None:
    page = visit(f"{served}/workshop.html")
    page.fill(".cm-content", "def slope(f, x, h=1e-5):")
    page.press(".cm-content", "End")
    page.keyboard.press("Enter")
    page.keyboard.type("return nothing")
    assert code(page) == "def slope(f, x, h=1e-5):\n    return nothing"
    page.keyboard.press("Control+Enter")
    page.locator(".findings .verdict").wait_for(timeout=90_000)
    assert "NameError" in page.inner_text(".findings") and "e01_slope.py:" in page.inner_text(".findings")
    assert page.inner_text(".cm-pointed") == "    return nothing"
    page.keyboard.type("0")
    assert page.locator(".cm-pointed").count() == 0
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    assert code(page).endswith("\n        return nothing0")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.do") == "check"
    assert page.evaluate("getComputedStyle(document.querySelector('.cm-line span')).fontWeight") == "700"


@needs_pyodide
@pytest.mark.skipif(AXE is None, reason="axe-core is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_workshop(visit: Visit, served: str, scheme: str) -> None:
    for width in (1440, 390):
        page = visit(f"{served}/workshop.html", width=width, height=860, scheme=scheme, reduced_motion="reduce")
        assert not wrong(page)
        write_all = {name: BY_NAME[name].solution for name in ("e01_slope", "e02_partials", "e03_value")}
        bad = BY_NAME["e04_rules"].solution.replace("+=", "=")
        known = {"version": 1, "files": {**write_all, "e04_rules": bad}, "passed": list(write_all)}
        page.evaluate("(known) => localStorage.setItem('micrograd.workshop', JSON.stringify(known))", known)
        reload(page)
        assert "where += is needed" in check(page)
        assert not wrong(page) and page.evaluate("document.documentElement.scrollWidth") <= width


@needs_pyodide
def test_code_without_an_end_is_stopped_and_the_page_goes_on(visit: Visit, served: str) -> None:
    page = visit(f"{served}/workshop.html")
    page.evaluate("document.title")  # the page is there
    text = page.context.request.get(f"{served}/workshop.html").text().replace('"seconds":60', '"seconds":1')
    page.route("**/workshop.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.reload()
    page.fill(".cm-content", "def slope(f, x, h=1e-5):\n    while True:\n        pass\n")
    assert "stopped after 1 seconds" in check(page)
    page.fill(".cm-content", BY_NAME["e01_slope"].solution)
    assert "Passed" in check(page)


@needs_pyodide
def test_code_beyond_the_python_of_the_course_page_is_asked_of_the_whole_python(visit: Visit, served: str) -> None:
    page = visit(f"{served}/course.html")
    page.evaluate(
        """() => localStorage.setItem('micrograd.course.micrograd-course', JSON.stringify({ version: 1,
        course: 'micrograd-course', solved: {}, reached: { 'picture-to-code': 99 }, drills: {}, reviews: [], count: 0 }))"""
    )
    page.goto("about:blank")
    page.goto(f"{served}/course.html#picture-to-code/4")
    card = page.locator(".task[data-kind='write']").first
    walk = """
def topological(root):
    def visit(node, seen):
        if node not in seen:
            seen.add(node)
            for one in node._prev:
                yield from visit(one, seen)
            yield node
    return list(visit(root, set()))
"""
    card.locator(".cm-content").fill(walk.replace("yield node", "yield root"))
    card.locator("[data-do='check-code']").click()
    card.locator(".verdict.bad", has_text="again and again").wait_for(timeout=90_000)
    card.locator(".cm-content").fill(walk)
    card.locator("[data-do='check-code']").click()
    card.locator(".verdict.good").wait_for(timeout=90_000)
