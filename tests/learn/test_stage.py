"""The stage in a real browser: the sentence is always on the screen, nothing covers anything, large graphs can be walked."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd import Value, nn
from micrograd.learn import draw_dot, explore, look
from micrograd.learn.lesson import PRESETS

Visit = Callable[..., Any]
SCREENS = [(1280, 800), (1024, 700), (768, 1024), (360, 740)]


def size(page: Any, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).first.bounding_box()
    return found


@pytest.mark.parametrize("width,height", SCREENS)
def test_the_sentence_and_the_step_button_are_always_on_the_screen(
    visit: Visit, lesson_file: Path, width: int, height: int
) -> None:
    page = visit(lesson_file.as_uri(), width=width, height=height, reduced_motion="reduce")
    for key in PRESETS:
        page.select_option("select[aria-label='graph']", key)
        for move in ("to_backward", "next", "to_end"):
            page.click(f"[data-do='{move}']")
            graph, said, step = (size(page, name) for name in (".views", ".said", "[data-do='next']"))
            assert said["y"] >= graph["y"] + graph["height"] - 1  # under the graph, and nothing but tabs between
            assert said["y"] + said["height"] <= height and step["y"] + step["height"] <= height
            assert said["x"] >= 0 and said["x"] + said["width"] <= width
            assert graph["height"] >= 150
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.documentElement.scrollHeight") <= height
    for tab in ("leaves", "order", "bugs", "lesson", "code"):
        page.click(f"[data-tab='{tab}']")
        said = size(page, ".said")
        assert said["y"] + said["height"] <= height and size(page, ".views")["height"] >= 90
        assert page.evaluate("document.documentElement.scrollWidth") <= width


BOXES = """(sees) => { const rect = (el) => { const r = el.getBoundingClientRect();
  return [r.left, r.top, r.right, r.bottom]; };
  const near = (el) => el.closest('.edge-label').getAttribute('data-label');
  return { cards: [...document.querySelectorAll('.node .box, .node .mg-op')].map(rect),
    labels: [...document.querySelectorAll('.edge-label:not(.empty) .mg-local')].map((el) => [near(el), ...rect(el)]),
    landing: [...document.querySelectorAll('.landing[visibility=visible] rect')].map((el) =>
      [el.closest('.node').dataset.id, ...rect(el)]) }; }"""


OTHERS = """(id) => [...document.querySelectorAll(`.node:not([data-id='${id}']) .box`)].map((el) => {
  const r = el.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })"""
TIPS = """(side) => [...document.querySelectorAll('.edge .' + side)].filter((el) =>
  getComputedStyle(el).display !== 'none').length"""
OVERFLOWS = """() => { const v = document.querySelector('.mg-scroll');
  return v.scrollWidth > v.clientWidth + 1 || v.scrollHeight > v.clientHeight + 1; }"""
EDGES = "[...document.querySelectorAll('.mg-drawing .mg-edge')].map((el) => el.getAttribute('d'))"


def overlap(a: list[float], b: list[float]) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 1.5 and min(a[3], b[3]) - max(a[1], b[1]) > 1.5


@pytest.mark.parametrize("key", PRESETS)
def test_labels_cover_no_card_and_no_other_label(visit: Visit, lesson_file: Path, key: str) -> None:
    page = visit(f"{lesson_file.as_uri()}#graph={key}", reduced_motion="reduce")
    labels_are_apart(page, key)
    page.keyboard.press("Home")
    page.keyboard.press("t")  # the graph is turned
    labels_are_apart(page, key)


def labels_are_apart(page: Any, key: str) -> None:
    page.keyboard.press("End")
    found = page.evaluate(BOXES)
    edges = sum(p is not None for node in PRESETS[key].timeline().nodes for p in node.partials)
    assert len(found["labels"]) == edges  # every edge that carries a gradient says its local derivative
    for k, (_, *label) in enumerate(found["labels"]):
        assert not any(overlap(label, card) for card in found["cards"])
        assert not any(overlap(label, other) for _, *other in found["labels"][k + 1 :])
    for step in range(len(PRESETS[key].timeline()) - edges, len(PRESETS[key].timeline())):
        page.locator("[aria-label='frame']").fill(str(step + 1))
        (node, *landing), *_ = page.evaluate(BOXES)["landing"]
        others = page.evaluate(OTHERS, node)
        assert not any(overlap(landing, card) for card in others), step


def test_edges_point_backward_in_the_backward_pass(visit: Visit, lesson_file: Path) -> None:
    page = visit(lesson_file.as_uri(), reduced_motion="reduce")
    assert page.evaluate(TIPS, "forth") == 4 and page.evaluate(TIPS, "back") == 0
    page.click("[data-do='to_backward']")
    assert page.evaluate(TIPS, "forth") == 0 and page.evaluate(TIPS, "back") == 4
    head = page.evaluate(
        "() => document.querySelector('.edge[data-edge=\"4:1\"] .back').getBoundingClientRect().toJSON()"
    )
    card = page.evaluate("() => document.querySelector('.node[data-id=\"3\"] .box').getBoundingClientRect().toJSON()")
    assert abs(head["left"] - card["right"]) < 3  # the head touches the card of the input
    page.select_option("select[aria-label='graph']", "order")  # a plain number has no gradient: its edge stays forward
    page.click("[data-do='to_backward']")
    assert page.evaluate(TIPS, "forth") == 2


@pytest.mark.parametrize("key", ["network", "softmax", "product"])
@pytest.mark.parametrize("width,height", SCREENS)
def test_fit_fits_and_a_map_shows_the_rest(visit: Visit, lesson_file: Path, key: str, width: int, height: int) -> None:
    page = visit(f"{lesson_file.as_uri()}#graph={key}&step=3", width=width, height=height, reduced_motion="reduce")
    assert page.locator(".minimap").first.is_visible() == page.evaluate(OVERFLOWS)
    page.click("[data-do='fit']")
    assert not page.evaluate(OVERFLOWS) and not page.locator(".minimap").first.is_visible()
    for _ in range(9):
        page.keyboard.press("+")
    assert page.evaluate(OVERFLOWS) and page.locator(".minimap").first.is_visible()
    before = page.evaluate("document.querySelector('.mg-scroll').scrollLeft")
    spot = size(page, ".minimap")
    page.mouse.click(spot["x"] + spot["width"] - 8, spot["y"] + spot["height"] / 2)
    assert page.evaluate("document.querySelector('.mg-scroll').scrollLeft") >= before


# ---- large graphs


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = nn.MLP(2, [16, 16, 1])
    loss = sum((model([Value(k / 500), Value(1 - k / 700)]) - 1.0) ** 2 for k in range(480))
    root = loss * (1 / 480)
    made = explore(root)
    assert len(made.lesson["presets"][0]["timeline"]["nodes"]) > 50_000
    return Path(made.save(tmp_path_factory.mktemp("large") / "large.html"))


@pytest.mark.slow
def test_fifty_thousand_nodes_are_walked_box_by_box(visit: Visit, large: Path) -> None:
    page = visit(large.as_uri(), reduced_motion="reduce")
    names = page.locator(".group.closed .mg-name").all_text_contents()
    titles = [text.strip() for text in names if "▸" in text]
    assert {"▸ layer 0", "▸ layer 1", "▸ layer 2"} <= set(titles) and page.locator(".node, .group").count() <= 24
    page.keyboard.press("End")
    box = page.locator(".group.closed[data-box='/layer 0']")
    told = box.get_attribute("aria-label")
    match = re.fullmatch(r"▸ layer 0 holds ([\d,]+) values mean \|grad\| ([\d.e−]+) zeros (\d+) %", told)
    assert match and int(match[1].replace(",", "")) > 15_000
    assert sum(float(bar.get_attribute("height")) > 0 for bar in box.locator(".bar").all()) >= 2
    box.click()
    assert page.locator(".group.open[data-box='/layer 0']").count() == 1
    neurons = page.locator(".group.closed[data-box^='/layer 0/neuron']")
    assert neurons.count() == 16
    neurons.first.focus()
    page.keyboard.press("Enter")
    while page.locator(".node").count() < 4:  # down to the scalars
        page.locator(".group.closed[data-box^='/layer 0/neuron 0/']").first.click()
    assert "gradient" in page.locator(".node").first.get_attribute("aria-label")
    page.locator(".group.open[data-box='/layer 0']").locator("text").first.click()
    assert neurons.count() == 0


@pytest.mark.slow
def test_open_here_goes_to_the_present_node_and_its_state_is_in_the_link(visit: Visit, large: Path) -> None:
    page = visit(f"{large.as_uri()}#graph=own&step=70000", reduced_motion="reduce")
    assert page.locator(".group.active").count() == 1
    before = page.url
    page.click("[data-do='open_here']")
    active = page.locator(".node.active")
    assert active.count() == 1
    box, view = active.bounding_box(), size(page, ".mg-scroll")
    assert view["x"] <= box["x"] <= view["x"] + view["width"] and view["y"] <= box["y"] <= view["y"] + view["height"]
    page.wait_for_function("(before) => location.href !== before", arg=before)
    again = visit(page.url, reduced_motion="reduce")
    assert again.locator(".node.active").get_attribute("aria-label") == active.get_attribute("aria-label")


# ---- links, back and forward


def test_a_link_brings_back_the_whole_state(visit: Visit, lesson_file: Path) -> None:
    page = visit(lesson_file.as_uri(), permissions=["clipboard-read", "clipboard-write"])
    page.select_option("select[aria-label='graph']", "neuron")
    field = page.locator("[aria-label='value of b, as a number']")
    field.fill("5.5")
    field.press("Enter")
    page.locator("[aria-label='frame']").fill("14")
    page.click("[data-tab='code']")
    page.click("[data-do='copy']")
    page.wait_for_selector("text=link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    again = visit(link)
    assert again.inner_text(".sentence") == page.inner_text(".sentence")
    assert again.locator("[data-tab='code']").get_attribute("aria-selected") == "true"
    assert again.inner_text(".lines") == page.inner_text(".lines") and "b = 5.5" in again.inner_text(".lines")


def test_back_and_forward_of_the_browser_go_from_place_to_place(visit: Visit, lesson_file: Path) -> None:
    page = visit(lesson_file.as_uri())
    choose = "select[aria-label='graph']"
    page.select_option(choose, "order")
    page.click("[data-tab='order']")
    page.click("[data-order='naive']")
    assert page.locator(".view").count() == 2
    page.go_back()
    assert page.locator(".view").count() == 1 and page.input_value(choose) == "order"
    page.go_back()
    assert page.locator("[data-tab='leaves']").get_attribute("aria-selected") == "true"
    page.go_back()
    assert page.input_value(choose) == "product"
    for _ in range(3):
        page.go_forward()
    assert page.locator(".view").count() == 2 and page.input_value(choose) == "order"
    assert "naive recursion" in page.inner_text(".phase")


# ---- one look


@pytest.mark.parametrize("key", PRESETS)
def test_draw_dot_and_the_page_draw_the_same_picture(visit: Visit, lesson_file: Path, key: str) -> None:
    root = PRESETS[key].build()
    root.backward()
    tree = ET.fromstring(draw_dot(root, names={}, collapse=False).svg)
    space = "{http://www.w3.org/2000/svg}"
    drawn = {
        (el.get("class"), float(el.get("x", 0)), float(el.get("y", 0)), el.text)
        for el in tree.iter(f"{space}text")
        if el.get("class") != "mg-halo"
    }
    paths = {el.get("d") for el in tree.iter(f"{space}path") if el.get("class") == "mg-edge"}
    page = visit(f"{lesson_file.as_uri()}#graph={key}")
    page.keyboard.press("End")
    if page.locator(".mg-drawing").get_attribute("viewBox").split()[2:] != tree.get("viewBox", "").split()[2:]:
        page.keyboard.press("t")
    shown = page.evaluate(
        """() => [...document.querySelectorAll('.mg-drawing text')].filter((el) => el.textContent && el.classList.length &&
        !el.closest('.landing, .packet') && !el.matches('.mg-halo, .note')).map((el) => [el.classList[0],
        +el.getAttribute('x'), +el.getAttribute('y'), el.textContent])"""
    )
    assert {tuple(row) for row in shown} == drawn
    assert paths <= set(
        page.evaluate("[...document.querySelectorAll('.mg-drawing .mg-edge')].map((el) => el.getAttribute('d'))")
    )
    for selector, colour in ((".mg-data", "data"), (".mg-grad", "grad"), (".mg-local", "local"), (".mg-word", "soft")):
        got = page.locator(f".mg-drawing {selector}").first.evaluate("(el) => getComputedStyle(el).fill")
        red, green, blue = (int(look.LIGHT[colour][i : i + 2], 16) for i in (1, 3, 5))
        assert got == f"rgb({red}, {green}, {blue})"


def contrast(a: str, b: str) -> float:
    """The contrast of two colours as WCAG defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * blue

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [look.LIGHT, look.DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_4_5_and_lines_of_3(colours: dict[str, str]) -> None:
    for under in ("card", "paper", "field", "glow"):
        for text in ("ink", "data", "grad", "local", "bad", "good"):
            assert contrast(colours[text], colours[under]) >= 4.5, (text, under)
        assert contrast(colours["soft"], colours[under]) >= 4.5 or under == "glow"
        assert contrast(colours["line"], colours[under]) >= 3 or under == "glow"
    assert contrast(colours["active"], colours["card"]) >= 3 and contrast(colours["active"], colours["glow"]) >= 3
