"""Every text stands once, in a data file, and can be translated: shown by a made-up language on every view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pseudo import pseudo, translate

from micrograd.learn import draw_dot, explore, frames, page, texts
from micrograd.learn.lesson import MISCONCEPTIONS, PRESETS, QUIZZES
from micrograd.learn.terminal import print_all, print_order

Visit = Callable[..., Any]
LEARN = Path(page.__file__).parent
SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in [*LEARN.glob("*.py"), *(LEARN / "course").glob("*.py"), *(LEARN / "static").glob("*.js")]
}


def entries(x: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(x, str):
        yield key, x
    for name, entry in x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ():
        yield from entries(entry, f"{key}.{name}".lstrip("."))


ENGLISH = dict(entries(texts.current()))


@pytest.fixture(params=["ltr", "rtl"])
def direction(request: pytest.FixtureRequest) -> Iterator[str]:
    texts.use(translate(texts.current(), request.param))
    yield request.param
    texts.use("en")


def test_no_sentence_stands_in_the_code_as_well() -> None:
    long = [text for text in ENGLISH.values() if len(re.sub(r"\{\w+\}", "", text).split()) >= 4]
    assert len(long) > 100
    for name, source in SOURCES.items():
        for text in long:
            words = re.split(r"\{\w+\}", text)
            piece = max(words, key=len).strip()
            assert len(piece) < 18 or piece not in source, (name, piece)


def test_every_key_that_the_code_asks_for_is_there() -> None:
    asked = set()
    for source in SOURCES.values():
        asked |= set(re.findall(r'\b(?:t|text|texts\.say|texts\.get)\(f?["\'`](\w+\.[\w.]+)["\'`]', source))
    assert len(asked) > 100
    for key in asked:
        texts.get(key)


def test_every_entry_is_used() -> None:
    source = "\n".join(SOURCES.values())
    dynamic = ("presets.", "quizzes.", "ideas.", "numbers.", "spoken.ops.", "terminal.kinds.", "tabs.", "keys.",
               "terminal.order_columns", "frames.", "orders.", "labs.", "theatre.scenes.", "theatre.tell_", "theatre.phase_",
               "theatre.point_about_", "theatre.key_", "course.kinds.", "course.skills.", "course.links.",
               "course.pictures.", "home.", "class.", "console.", "theatre.playground.",
               "theatre.transformer.")  # fmt: skip
    for key in ENGLISH:
        name = key.rsplit(".", 1)[-1]
        assert (
            key.startswith(dynamic) or key in ("language", "direction", "name") or re.search(rf"\b{name}\b", source)
        ), key


def test_every_frame_template_has_a_spoken_form() -> None:
    kinds = {key for key in texts.get("frames") if not key.endswith(("_spoken", "_rule", "_bare", "_slot"))}
    assert kinds >= {"leaf", "forward", "seed", "backward", "hand", "hand_lost", "assign", "bare"}
    for kind in kinds:
        assert f"{kind}_spoken" in texts.get("frames"), kind


def test_every_preset_quiz_and_idea_has_its_words() -> None:
    assert set(texts.get("presets")) == set(PRESETS)
    for quiz in QUIZZES:
        words = texts.get(f"quizzes.{quiz.key}")
        assert {"title", "text", "why", "hint", "wrong"} == set(words) and len(words["wrong"]) == len(quiz.wrong)
    for key in MISCONCEPTIONS:
        assert {"title", "text", "none"} <= set(texts.get(f"ideas.{key}"))


def test_slots_survive_a_translation() -> None:
    for key, text in ENGLISH.items():
        slots = re.findall(r"\{\w+\}", text)
        assert re.findall(r"\{\w+\}", pseudo(text)) == slots, key
        letters = len(re.sub(r"\{\w+\}|[^A-Za-z]", "", text))
        assert letters <= 2 or len(pseudo(text)) >= len(text) + round(0.4 * letters), key


def test_an_unknown_language_is_an_error() -> None:
    for wrong in ("xx", "../en", "", "en.json"):
        with pytest.raises(ValueError, match="there are no texts"):
            texts.use(wrong)
    assert texts.say("frames.leaf", name="a", y="2") == "a = 2"


def test_python_speaks_the_language(direction: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = PRESETS["square"].timeline()
    assert "ĝŕáđíéñŧ" in line[-1].spoken and "ŕíĝħŧ" in line[-1].rule
    assert PRESETS["square"].title != "a*a" and QUIZZES[0].title.startswith("Šééđ")
    import sys

    print_order(frames(PRESETS["order"].build(), names={}), "naive", sys.stdout)
    print_all(line, sys.stdout)
    out = capsys.readouterr().out
    assert "ƒíŕéđ" in out
    draw_dot(PRESETS["square"].build())


# What may read as English on a translated page: code, names, and the name of this package.
CODE = (
    "[dir=ltr]:not(.mg), code, kbd, pre, script, style, noscript, .mg-name, .mg-sign, .name, .mg-data, .mg-grad, "
    ".mg-local, .mg-halo, .chip, .landing, .packet, .origin, select, .count, title"
)
TEXTS = """(code) => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) if (!node.parentElement.closest(code)) found.push(node.textContent);
  for (const el of document.querySelectorAll('option')) found.push(el.textContent);
  for (const name of ['title', 'aria-label', 'aria-valuetext']) {
    for (const el of document.querySelectorAll(`[${name}]:not(.node):not(.chips *)`)) found.push(el.getAttribute(name));
  }
  return found; }"""
VIEWS = ["graph=product", "graph=neuron&step=17", "graph=order&order=preorder&tab=order", "graph=square&bug=assign&tab=bugs",
         "graph=network&step=30&tab=leaves", "graph=product&step=7&predict=1", "graph=diamond&tab=lesson",
         "graph=softmax&tab=code&step=20"]  # fmt: skip
NAMES = {"micrograd", "grad", "data", "tanh", "zero_grad"}


@pytest.mark.slow
@pytest.mark.parametrize("width,height", [(1280, 800), (360, 740)])
def test_every_view_can_be_translated_and_nothing_breaks(
    visit: Visit, tmp_path: Path, direction: str, width: int, height: int
) -> None:
    file = Path(explore().save(tmp_path / "page.html"))
    for state in VIEWS:
        one = visit(f"{file.as_uri()}#{state}", width=width, height=height, reduced_motion="reduce")
        one.click(f"[data-tab='{dict(p.split('=') for p in state.split('&')).get('tab', 'leaves')}']")
        if "predict" in state:
            one.click("[data-do='next']")
            one.click(".ask [data-sign='negative']")
            assert one.locator(".verdict.bad").count() == 1
        if state == "graph=product":
            one.keyboard.press("?")
        assert one.evaluate("document.documentElement.dir") == direction == one.get_attribute(".mg", "dir")
        plain = set()
        for text in one.evaluate(TEXTS, CODE):
            plain |= set(re.findall(r"(?<![^\W\d_])[A-Za-z_]{4,}(?![^\W\d_])", text)) - NAMES
        assert not plain, (state, plain)
        assert one.evaluate("document.documentElement.scrollWidth") <= width
        said = one.locator(".ask" if "predict" in state else ".said").bounding_box()
        step = one.locator("[data-do='next']").bounding_box()
        assert said["y"] + said["height"] <= height and step["y"] + step["height"] <= height
        assert said["x"] >= -1 and said["x"] + said["width"] <= width + 1
        if "step" in state and "predict" not in state:
            assert one.locator(".sentence p").first.evaluate("(el) => getComputedStyle(el).direction") == "ltr"
        one.context.close()
