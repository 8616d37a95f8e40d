"""A second language: what it has is complete and keeps its slots, what it lacks is English and is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from micrograd.cli import main
from micrograd.learn import explore, frames, parse, texts
from micrograd.learn.course import site

Visit = Callable[..., Any]
# The explorer, the theatre and the stepper in the terminal are German as a whole.
GERMAN = (
    "spoken",
    "frames",
    "presets",
    "quizzes",
    "ideas",
    "orders",
    "tabs",
    "labs",
    "bugs",
    "page",
    "keys",
    "terminal",
)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    texts.use("en")


def read(language: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((texts.HERE / f"{language}.json").read_text(encoding="utf-8"))
    return found


def test_german_lacks_nothing_of_the_explorer_and_the_terminal_and_keeps_every_slot() -> None:
    told = texts.compare(read("de"))
    assert not [line for line in told if not re.fullmatch(r"\w+: is missing", line)]
    missing = {line.split(":")[0] for line in told}
    assert not missing & {*GERMAN, "numbers", "language", "direction", "name"}


def test_what_a_translation_lacks_is_named_and_shown_in_english(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read("de")
    del made["frames"]["seed"]
    made["terminal"]["is"] = "{target} ist da."
    made["tabs"]["leaves"] = ""
    made["more"] = "x"
    file = tmp_path / "xx.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    assert main(["lesson", "check", str(file)]) == 1
    told = capsys.readouterr().out
    assert "frames.seed: is missing" in told and "tabs.leaves: is empty" in told
    assert "terminal.is: the slots are {target}, in English {after} {target}" in told
    assert "more: is not an English text" in told
    assert main(["lesson", "check", str(texts.HERE / "en.json")]) == 0
    texts.use(made)
    assert texts.say("frames.seed", target="L.grad", name="L").startswith("L.grad = 1, because")
    assert texts.get("frames.seed_rule") == "∂{name}/∂{name} = 1"
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    assert main(["lesson", "check", str(tmp_path / "bad.json")]) == 1


def test_the_terminal_speaks_german(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", "--lang", "de", "a*a", "a=3"]) == 0
    assert "denn b ändert sich" in capsys.readouterr().out.replace("out", "b")
    assert main(["step", "--lang", "de", "--order", "naive", "--preset", "order"]) == 0
    assert "hat zweimal weitergegeben" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["step", "--lang", "xx"])
    texts.use("de")
    timeline = frames(parse("b = a * a").build({"a": 3.0}), names={})
    assert timeline[-1].spoken == "der Gradient von a, als rechter Operand, wächst um drei mal eins, von drei auf sechs"


def test_the_explorer_is_a_german_page(visit: Visit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--lang", "de", "--save", str(tmp_path / "x.html")]) == 0
    page = visit((tmp_path / "x.html").as_uri(), reduced_motion="reduce")
    assert page.get_attribute("html", "lang") == "de"
    for _ in range(4):
        page.click("[data-do='next']")
    page.keyboard.press("?")
    assert "Tasten und Farben" in page.inner_text("dialog.help") and "Schritt" in page.inner_text("[data-do='next']")
    english = {"the", "and", "of", "with", "which", "gradient's", "step", "values"}
    assert not english & set(re.findall(r"[a-z']+", page.inner_text("body")))
    texts.use("en")
    assert explore().lesson["texts"]["language"] == "en"


def test_the_pages_of_the_site_switch_the_language_and_keep_the_state(visit: Visit, tmp_path: Path) -> None:
    list(site.build(tmp_path))
    page = visit((tmp_path / "watch.html").as_uri() + "#playground&data=xor&layers=3-tanh", reduced_motion="reduce")
    page.click("[data-language='de']")
    page.wait_for_url("**/watch.de.html#playground*")
    assert page.get_attribute("html", "lang") == "de" and "Schicht 0" in page.inner_text(".layer-bar")
    assert page.locator(".face").count() == 4
    page.click("[data-language='en']")
    page.wait_for_url("**/watch.html#playground*")
    assert "layer 0" in page.inner_text(".layer-bar")
    other = visit((tmp_path / "explore.de.html").as_uri(), reduced_motion="reduce")
    assert "hier beginnen" in other.inner_text("header")
    other.click("[data-language='en']")
    other.wait_for_url("**/explore.html*")
    assert texts.current()["language"] == "en"
    texts.use({**read("de"), "language": "xx"})
    list(site.build(tmp_path / "own"))
    assert (tmp_path / "own" / "watch.html").exists() and not (tmp_path / "own" / "watch.de.html").exists()
    assert texts.current()["language"] == "xx"
