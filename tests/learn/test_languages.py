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
from micrograd.learn.workshop import catalog, messages
from micrograd.learn.workshop.browser import check

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


def test_the_command_finds_nothing_missing_in_german(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lesson", "check", "--lang", "de"]) == 0
    told = capsys.readouterr().out
    assert told.count("every text is there") == 1 + 12 + 2  # the texts, the chapters, the tasks and the messages
    assert main(["lesson", "check", "--lang", "xx"]) == 2
    assert main(["lesson", "check"]) == 2
    assert "check needs a file" in capsys.readouterr().err


def test_the_command_names_a_task_and_a_message_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, said = dict(catalog.words("de")), dict(messages.translated("de"))
    del tasks["e07_again"], said["the gradient"]
    tasks["e01_slope"] = (tasks["e01_slope"][0], [])
    said["{node} passes on {grad}"] = "{node} gibt weiter"
    monkeypatch.setattr(catalog, "words", lambda language: tasks)
    monkeypatch.setattr(messages, "translated", lambda language: said)
    assert main(["lesson", "check", "--lang", "de"]) == 1
    told = capsys.readouterr().out
    assert "e07_again: the task is missing" in told and "e01_slope: has 0 hints, in English 3" in told
    assert "the gradient: is missing" in told and "the slots are {node}, in English {grad} {node}" in told


def test_the_workshop_speaks_german_and_a_folder_remembers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "meins"
    assert main(["workshop", "start", str(folder), "--lang", "de"]) == 0
    texts.use("en")  # as in a new process
    monkeypatch.chdir(folder)
    file = folder / "e01_slope.py"
    assert file.read_text(encoding="utf-8").startswith('"""Aufgabe 1: Steigung.')
    assert main(["workshop", "check", "--once"]) == 1
    assert "Als Nächstes: e01_slope.py" in capsys.readouterr().out  # a task in German is untouched
    one_sided = "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x)) / h\n"
    file.write_text(one_sided, encoding="utf-8")
    texts.use("en")
    assert main(["workshop", "check", "--once"]) == 1
    told = capsys.readouterr().out
    assert "Das schaut nur nach einer Seite" in told and "noch nicht e01_slope.py" in told and "0 von 22" in told
    assert main(["workshop", "list", "--lang", "en"]) == 0 and "0 of 22" in capsys.readouterr().out


def test_german_tasks_have_the_code_of_the_english_ones() -> None:
    for exercise in catalog.EXERCISES:
        if not exercise.milestone:
            english, german = (text.split('"""', 2)[2] for text in (exercise.tasks[1], exercise.tasks[0]))
            assert english == german and exercise.tasks[0] != exercise.tasks[1]
    assert texts.languages() == ["de", "en"]


def test_a_check_in_the_browser_answers_in_the_language_of_the_page() -> None:
    files = json.dumps({"e01_slope": "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / h\n"})
    assert "Das ist die doppelte Steigung" in json.loads(check("e01_slope", files, "de"))["message"]
    assert "twice the slope" in json.loads(check("e01_slope", files))["message"]


def test_every_page_of_the_site_is_there_in_german_and_leads_to_german_pages(visit: Visit, tmp_path: Path) -> None:
    list(site.build(tmp_path))
    page = visit((tmp_path / "index.de.html").as_uri(), reduced_motion="reduce")
    assert "Kurs beginnen" in page.inner_text("main") and page.get_attribute("html", "lang") == "de"
    found = {one.get_attribute("data-link"): one.get_attribute("href") for one in page.locator("[data-link]").all()}
    assert found == {"course": "course.de.html", "watch": "watch.de.html#playground", "explore": "explore.de.html"}
    page.click("[data-language='en']")
    page.wait_for_url("**/index.html")
    assert page.locator("[data-link='course']").first.get_attribute("href") == "course.html"
    bench = site.in_every_language("workshop", {"course": "course.html"}, site.workshop)
    (tmp_path / "workshop.de.html").write_text(bench["workshop.de.html"], encoding="utf-8")
    begun = {"version": 1, "files": {"e01_slope": catalog.BY_NAME["e01_slope"].task + "# mine\n"}, "passed": []}
    kept = f"localStorage.setItem('micrograd.workshop', {json.dumps(json.dumps(begun))})"
    page = visit((tmp_path / "workshop.de.html").as_uri(), before=kept)
    assert "zentrale Differenz" in page.inner_text(".task-text") and page.locator("[data-link='course']").count()
    assert page.inner_text(".cm-content").startswith(
        "def slope"
    )  # the English head of a file begun in English is no code
    assert "# mine" in page.inner_text(".cm-content")
    words = set(re.findall(r"\b[a-z]+\b", page.inner_text("header") + page.inner_text(".task-text")))
    assert not words & {"the", "and", "of", "with", "which"}
    rooms = {key: f"{key}.html" for key in ("course", "explore", "watch", "workshop")}
    cells = site.in_every_language("console", rooms, site.console)
    (tmp_path / "console.de.html").write_text(cells["console.de.html"], encoding="utf-8")
    page = visit((tmp_path / "console.de.html").as_uri(), width=390, height=844)
    ends = page.evaluate("[...document.querySelectorAll('.top > *')].map((one) => one.getBoundingClientRect().right)")
    assert len(ends) > 6 and max(ends) <= 390


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
    told = capsys.readouterr().out.replace("out", "b")
    assert "denn b ändert sich" in told and "  1 vorwärts  a = 3" in told and "backward" not in told
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
