"""The front door of the site and the Python in the page, in a browser with the network blocked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_axe import AXE, wrong
from test_course_site import PACKAGE, needs_pyodide, served  # noqa: F401  a fixture

from micrograd import Value, math
from micrograd.learn.console import Console
from micrograd.learn.course import site

Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("door")
    list(site.build(made, None, "../"))
    return made


def test_the_graph_plays_by_itself_until_it_is_touched_and_its_knob_moves_every_number(
    visit: Visit, folder: Path
) -> None:
    page = visit((folder / "index.html").as_uri())
    page.locator(".stage .count", has_text="3 / 9").wait_for()
    page.locator("[data-knob='a']").fill("4")
    a = Value(4.0)
    (a * 3 * (a + 1)).backward()
    label = page.locator(".node[aria-label^='a, ']").get_attribute("aria-label")
    assert "data 4, gradient 27" in label and a.grad == 27
    count = page.inner_text(".stage .count")
    page.wait_for_timeout(1500)
    assert page.inner_text(".stage .count") == count == "9 / 9"


def test_the_small_network_learns(visit: Visit, folder: Path) -> None:
    page = visit((folder / "index.html").as_uri(), width=1440, height=1200)
    page.locator(".picture-of .small", has_text="step 2").first.wait_for()


def test_where_less_motion_is_wanted_nothing_moves(visit: Visit, folder: Path) -> None:
    page = visit((folder / "index.html").as_uri(), reduced_motion="reduce")
    read = (
        "document.querySelector('.stage .count').textContent + document.querySelector('.picture-of .small').textContent"
    )
    before = page.evaluate(read)
    page.wait_for_timeout(1800)
    assert page.evaluate(read) == before and before.startswith("9 / 9") and "step 240" in before


def test_every_door_leads_to_a_page(visit: Visit, folder: Path) -> None:
    page = visit((folder / "index.html").as_uri(), reduced_motion="reduce")
    links = {one.get_attribute("data-link"): one.get_attribute("href") for one in page.locator("a[data-link]").all()}
    assert set(links) == {"course", "watch", "explore", "docs", "compile"}
    for key in ("course", "watch", "explore"):
        assert (folder / links[key].split("#")[0]).exists()
    assert links["compile"] == "../compile.html" and page.inner_text("a.go >> nth=0") == "Start the course"
    page.click("a.go >> nth=0")
    assert page.locator(".mg.course").count() == 1
    theatre = visit((folder / links["watch"].split("#")[0]).as_uri() + "#playground")
    assert theatre.locator(".playground").is_visible()


def test_the_graph_alone_is_for_other_pages(visit: Visit, folder: Path) -> None:
    page = visit((folder / "alive.html").as_uri(), width=800, height=470, reduced_motion="reduce")
    assert page.locator("a").count() == 0 and page.locator("header").count() == 0
    assert page.locator("[data-knob='a']").is_visible()
    assert page.evaluate("document.documentElement.scrollHeight") <= 470


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_the_front_door(visit: Visit, folder: Path, scheme: str) -> None:
    for width in (1440, 820, 390):
        page = visit((folder / "index.html").as_uri(), width=width, scheme=scheme, reduced_motion="reduce")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not wrong(page)
        assert page.locator(".mg.home").bounding_box()["height"] >= page.locator("main").bounding_box()["height"]


def test_the_code_at_the_second_door_gives_what_differences_give() -> None:
    names: dict[str, Any] = {}
    exec(site.CODE, names)
    price = names["price"]

    def near(x: Any) -> Any:
        return pytest.approx(x, rel=1e-6)

    h, at = 1e-5, (105.0, 0.2, 0.5)
    assert names["value"] == near(price(*at))
    for k, got in enumerate((names["delta"], names["vega"], names["theta"])):
        up, down = ([x + s * h * (i == k) for i, x in enumerate(at)] for s in (1, -1))
        assert got == near((price(*up) - price(*down)) / (2 * h))
    assert math.erf(0.0) == 0.0


def test_a_console_keeps_its_names_and_shows_results_pictures_and_errors() -> None:
    one = Console()
    first, second = (one.run(code) for code in site.CELLS)
    assert first["printed"] == "-3.0 2.0 1.0\n" and first["shown"].startswith("Value(data=4.0") and not first["error"]
    assert first["picture"].startswith("<svg") and ">loss<" in first["picture"]
    assert second["printed"].startswith("5 ") and not second["error"] and one.run("step")["shown"] == "19"
    assert one.run("x = 1\ny = x / 0\n")["error"] == "ZeroDivisionError: division by zero"
    assert one.run("x = 1\ny = x / 0\n")["line"] == 2 and one.run("x")["shown"] == "1"
    assert (
        one.run("f(:")["error"].startswith("SyntaxError")
        and one.run("import sys; sys.exit(1)")["error"] == "SystemExit: 1"
    )
    assert one.run("") == {"printed": "", "shown": "", "picture": "", "error": "", "line": 0}
    assert len(one.run("print('x' * 10**6)")["printed"]) <= 2000 and len(one.run("'x' * 10**6")["shown"]) <= 4000
    assert "no attribute" in one.run("class A:\n    def __repr__(self): return self.b\nA()")["error"]


@needs_pyodide
def test_python_runs_in_the_page(visit: Visit, served: str) -> None:  # noqa: F811
    page = visit(f"{served}/console.html")
    page.click("[data-do='run'] >> nth=0")
    page.locator(".out img").wait_for(timeout=120_000)
    assert "-3.0 2.0 1.0" in page.inner_text(".out >> nth=0")
    assert page.locator(".out img").evaluate("(img) => img.decode().then(() => img.naturalWidth > 100)")
    page.click("[data-do='run'] >> nth=1")
    page.locator(".out >> nth=1").locator("pre").wait_for()
    page.locator(".cell >> nth=2").locator(".cm-content").fill("a.grad + undefined_name")
    page.keyboard.press("Control+Enter")
    page.locator(".out pre.bad").wait_for()
    assert "NameError" in page.inner_text(".out pre.bad") and page.locator(".cm-pointed").count() == 1
    if AXE is not None:
        assert not wrong(page)
