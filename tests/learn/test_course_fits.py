"""Every step of the course at four sizes: the graph is seen as a whole, with letters of 12 px, and the answer beside it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_node import needs_node, run_in_node
from test_course_browser import CHAPTERS, course_file, open_at, screens

from micrograd.learn import frames, page
from micrograd.learn.expression import build

__all__ = ["course_file"]  # a fixture of the other file
Visit = Callable[..., Any]
LEAST = 11.99  # px; 12, but for rounding

LOOK = """async (place) => {
  location.hash = place;
  for (let k = 0; k < 8; k++) await new Promise((next) => requestAnimationFrame(next));
  const stage = document.querySelector(".side-stage:not([hidden]) > .stage");
  if (!stage) return null;
  const seen = [...stage.querySelectorAll(".mg-scroll")].map((view) => {
    const svg = view.querySelector("svg"), zoom = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const sizes = [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim())
      .map((one) => parseFloat(getComputedStyle(one).fontSize) * zoom);
    const cards = [...svg.querySelectorAll(".box")].map((one) => one.getBoundingClientRect());
    const room = view.getBoundingClientRect();
    return { letters: Math.min(...sizes), way: svg.dataset.way, cut: cards.filter((card) => card.top < room.top - 1
      || card.bottom > room.bottom + 1 || card.left < room.left - 1 || card.right > room.right + 1).length };
  });
  const ask = stage.querySelector(".ask:not([hidden])")?.getBoundingClientRect(), all = stage.getBoundingClientRect();
  const field = stage.querySelector(".ask:not([hidden]) :is(input, button)")?.getBoundingClientRect();
  const picks = [...stage.querySelectorAll(".picks:not([hidden]) .pick")].map((one) => one.getBoundingClientRect());
  const pane = stage.querySelector(".pane").getBoundingClientRect();
  const away = picks.some((one) => one.width < 24 || one.left < pane.left - 1 || one.right > pane.right + 1
    || one.top < pane.top - 1 || one.bottom > pane.bottom + 1);
  return { seen, tall: all.height, out: away || (field ? field.bottom > all.bottom + 1 || field.top < all.top : false) };
}"""


@pytest.mark.parametrize(
    ("width", "height"),
    [
        pytest.param(1440, 900, marks=pytest.mark.slow),
        (1280, 720),
        pytest.param(820, 1180, marks=pytest.mark.slow),
        (390, 844),
    ],
)
def test_every_graph_of_the_course_is_seen_whole_with_letters_that_can_be_read(
    visit: Visit, course_file: Path, width: int, height: int
) -> None:
    tab = open_at(visit, course_file, "slope/1", width=width, height=height)
    problems, ways, count = [], defaultdict(set), 0
    for lesson in CHAPTERS.values():
        for k in range(1, len(screens(lesson)) + 1):
            found = tab.evaluate(LOOK, f"{lesson.key}/{k}")
            if found is None:
                continue
            count += 1
            if found["out"] or found["tall"] > height + 1:
                problems.append((lesson.key, k, "the answer is not in sight"))
            for view in found["seen"]:
                ways[lesson.key].add(view["way"])
                if view["cut"] or view["letters"] < LEAST:
                    problems.append(
                        (lesson.key, k, f"{view['cut']} cards are cut, letters of {view['letters']:.1f} px")
                    )
    assert not problems and count > 100
    one_way = [key for key, found in ways.items() if len(found) == 1]
    assert len(one_way) >= len(ways) - 3  # a chapter keeps its direction, unless a graph fits in the other one alone


TOGETHER = """async (place) => {
  location.hash = place;
  for (let k = 0; k < 8; k++) await new Promise((next) => requestAnimationFrame(next));
  const side = document.querySelector(".side-stage:not([hidden], .playhouse)");
  const asked = document.querySelector(".task:not(.done)");
  if (!side || !asked || asked.querySelector(".cm-editor")) return null;
  const views = side.querySelector(".views").getBoundingClientRect(), sliders = side.querySelector(".course-leaves");
  const own = side.querySelector(".ask:not([hidden])") ?? side.querySelector(".pick-reply.open");
  const parts = own ? [views, own.getBoundingClientRect()] : [asked.getBoundingClientRect(), views];
  if (sliders?.offsetHeight && !own) parts.push(sliders.getBoundingClientRect());
  return Math.max(...parts.map((one) => one.bottom)) - Math.min(...parts.map((one) => one.top));
}"""


def test_on_a_phone_the_question_and_the_picture_are_seen_together(visit: Visit, course_file: Path) -> None:
    tab = open_at(visit, course_file, "slope/1", width=390, height=844)
    seen = {
        (lesson.key, k): tab.evaluate(TOGETHER, f"{lesson.key}/{k}")
        for lesson in CHAPTERS.values()
        for k in range(1, len(screens(lesson)) + 1)
    }
    room = 844 - tab.locator("header.top").bounding_box()["height"]
    large = {place for place, height in seen.items() if height is not None and height > room}
    assert large <= {("network", 3)} and sum(height is not None for height in seen.values()) > 90


PLACE = """
const g = graph.readGraph(data.timeline);
return g.layouts.flatMap((one) => ["wide", "tall"].map((form) => compact.placeCompact(g, one, form)));"""


@needs_node
@pytest.mark.parametrize(
    "expression",
    [
        "b = a * a",
        "b = a * 3; c = b + 1; d = b * c",
        "z1 = u1*x; h1 = relu(z1); z2 = u2*x; h2 = relu(z2); p1 = w1*h1; p2 = w2*h2; y = p1 + p2; e = y - t; L = e**2",
        "s = a + b; t = a * b; u = s * t; v = u + a; w = v * s; L = w - b",
    ],
)
def test_a_compact_drawing_has_no_card_over_another_and_every_edge_between_its_cards(expression: str) -> None:
    leaves = set(re.findall(r"[a-z]\w*", expression)) - set(re.findall(r"(\w+) =", expression)) - {"relu"}
    line = frames(build(expression, **dict.fromkeys(leaves, 2.0)), names={})
    for place in run_in_node(PLACE, {"timeline": page.pack(line.nodes)}, "graph.js", "compact.js"):
        cards = [box["card"] for box in place["boxes"]]
        assert all(c["x"] >= 0 and c["x"] + c["w"] <= place["width"] + 0.1 for c in cards)
        assert all(c["y"] >= 0 and c["y"] + c["h"] <= place["height"] + 0.1 for c in cards)
        for k, a in enumerate(cards):
            for b in cards[:k]:
                apart = a["x"] + a["w"] <= b["x"] + 0.1 or b["x"] + b["w"] <= a["x"] + 0.1
                assert apart or a["y"] + a["h"] <= b["y"] + 0.1 or b["y"] + b["h"] <= a["y"] + 0.1
        for edge in place["edges"]:
            start, end = cards[edge["from"]], cards[edge["to"]]
            x0, y0, x1, y1 = [*edge["points"][:2], *edge["points"][-2:]]
            if place["rankdir"] == "TB":
                assert y0 == pytest.approx(start["y"] + start["h"]) and y1 == pytest.approx(end["y"])
                assert start["x"] <= x0 <= start["x"] + start["w"] and end["x"] <= x1 <= end["x"] + end["w"]
            else:
                assert x0 == pytest.approx(start["x"] + start["w"]) and x1 == pytest.approx(end["x"])
                assert start["y"] <= y0 <= start["y"] + start["h"] and end["y"] <= y1 <= end["y"] + end["h"]
