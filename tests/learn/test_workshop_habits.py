"""The workshop as one lives in it: list, progress, jump, reset, verdicts as JSON, a step h that does not suit, a class."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_axe import AXE, wrong

from micrograd.cli import main
from micrograd.learn.course.page import chapters
from micrograd.learn.workshop import folder as workshop
from micrograd.learn.workshop.catalog import BY_NAME, EXERCISES
from micrograd.learn.workshop.judge import judge

Visit = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    workshop.start(tmp_path / "ada")
    monkeypatch.chdir(tmp_path / "ada")
    return tmp_path / "ada"


def solve(home: Path, *names: str) -> None:
    for name in names:
        (home / f"{name}.py").write_text(BY_NAME[name].solution, encoding="utf-8")


def test_the_list_shows_what_has_passed_was_tried_and_is_open(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(home, "e01_slope", "e02_partials")
    (home / "e03_value.py").write_text("x = 1\n")
    assert main(["workshop", "--once"]) == 1
    assert "] 2 of 22" in capsys.readouterr().out
    assert main(["workshop", "list"]) == 0
    out = capsys.readouterr().out
    assert "✓ e01_slope" in out and "✓ e02_partials" in out and "→ e03_value" in out and "· e04_rules" in out
    assert out.count("#") == 2 and "· m1_draw" in out
    (home / "e01_slope.py").write_text(BY_NAME["e01_slope"].solution + "\n# another file than the one that passed\n")
    assert set(workshop.states(home).values()) == {"tried", "open"}
    (home / ".workshop.json").write_text("[1]")
    assert main(["workshop", "list"]) == 0 and main(["workshop", "list", "3"]) == 2


def test_an_exercise_is_jumped_to(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(
        home, *[one.name for one in EXERCISES if not one.milestone and one.name not in ("e12_checker", "e20_attention")]
    )
    assert main(["workshop", "check", "18", "--once"]) == 1
    out = capsys.readouterr().out
    assert "passed  e18_softmax" in out and "e12_checker" not in out and "Next: e20_attention.py" in out
    assert main(["workshop", "check", "99", "--once"]) == 2
    told: list[str] = []

    def save(pause: float) -> None:
        solve(home, "e20_attention")

    workshop.watch(home, told.append, wait=save, first=BY_NAME["e20_attention"])
    assert "Next: e20_attention.py" in told[0] and told[-1].startswith("All exercises are done")


def test_a_reset_keeps_what_was_written(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "e04_rules.py"
    path.write_text("mine = 1\n")
    assert main(["workshop", "reset", "4"]) == 0
    assert "kept as e04_rules.py.old" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == BY_NAME["e04_rules"].task
    path.write_text("mine = 2\n")
    assert main(["workshop", "reset", "e04_rules"]) == 0
    assert sorted(one.read_text() for one in home.glob("e04_rules.py.old*")) == ["mine = 1\n", "mine = 2\n"]
    assert main(["workshop", "reset", "4"]) == 0  # nothing was written: nothing is kept
    assert len(list(home.glob("e04_rules.py.old*"))) == 2
    path.unlink()
    assert main(["workshop", "reset", "4"]) == 0 and path.exists()


def test_every_verdict_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve(home, "e01_slope")
    (home / "e02_partials.py").write_text("def partials(f, args):\n    return 3\n")
    (home / "e03_value.py").unlink()
    assert main(["workshop", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    rows = {row["exercise"]: row for row in found["exercises"]}
    assert found["learner"] == "ada" and list(rows) == [one.name for one in EXERCISES]
    states = {name: row["state"] for name, row in rows.items()}
    assert (states["e01_slope"], states["e02_partials"], states["e03_value"], states["e04_rules"]) == (
        "passed", "failed", "missing", "open"
    )  # fmt: skip
    assert "return a list" in rows["e02_partials"]["message"]
    assert main(["workshop", "hint", "--json"]) == 2 and main(["workshop", "check", "3", "--json"]) == 2


OWN = """
def partials(f, args):
    out = []
    for i in range(len(args)):
        up, down = list(args), list(args)
        up[i] += H
        down[i] -= H
        out.append((f(*up) - f(*down)) / (2 * H))
    return out
"""


@pytest.mark.parametrize(
    ("h", "words"),
    [
        ("1e-18", "nothing moved"),
        ("1e-14", "mostly rounding"),
        ("1e-12", "mostly rounding"),
        ("0.1", "too far on a curve"),
    ],
)
def test_a_step_that_does_not_suit_is_named_wherever_it_is_used(tmp_path: Path, h: str, words: str) -> None:
    for exercise in EXERCISES:
        if not exercise.milestone:
            (tmp_path / exercise.file).write_text(exercise.solution, encoding="utf-8")
    (tmp_path / "e02_partials.py").write_text(OWN.replace("H", h))
    assert words in judge("e12_checker", tmp_path).message
    if h != "0.1":  # a parabola has no error of that kind
        assert words in judge("e02_partials", tmp_path).message
    (tmp_path / "e02_partials.py").write_text(OWN.replace("H", "1e-5"))
    assert judge("e12_checker", tmp_path).passed and judge("e02_partials", tmp_path).passed


def saved(home: Path) -> list[tuple[str, str]]:
    """A class: one from the terminal, two from the browser, one who did the course, and a file that is something else."""
    solve(home, "e01_slope", "e02_partials")
    (home / "e03_value.py").write_text("x = 1\n")
    ada = json.dumps(workshop.report_all(home))
    bob = json.dumps({"version": 1, "files": {"e01_slope": "x", "e03_value": "y"}, "passed": ["e01_slope"]})
    cy = json.dumps({"version": 1, "files": {}, "passed": [one.name for one in EXERCISES]})
    first = chapters()[0]
    asks = [
        f"{first.key}/{step.key}/{k}"
        for step in first.steps
        for k, part in enumerate(step.parts)
        if getattr(part, "kind", "") == "ask"
    ]
    dee = json.dumps({"version": 2, "course": "micrograd-course", "solved": dict.fromkeys(asks, 1), "reached": {}, "drills": {},
                      "reviews": [], "count": 3})  # fmt: skip
    return [("x", ada), ("=bob", bob), ("cy", cy), ("dee", dee), ("junk", "[1, 2]"), ("broken", "{")]


def test_a_class_is_merged_on_one_page(
    visit: Visit, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, text in saved(home):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(text, encoding="utf-8")
    assert main(["workshop", "class", *map(str, files), "-o", str(tmp_path / "class.html")]) == 0
    page = visit((tmp_path / "class.html").as_uri())
    assert "junk, broken" in page.inner_text(".bad")
    rows = page.locator(".act[data-kind='workshop'] tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["=bob", "ada", "cy"]
    assert rows[0].split("\t")[-1] == "5 %" and rows[1].split("\t")[-1] == "9 %" and rows[2].split("\t")[-1] == "100 %"
    foot = page.locator(".act[data-kind='workshop'] tfoot td").all_inner_texts()
    assert foot[:3] == ["3", "2", "1"]
    assert "Value (2)" in page.inner_text(".act[data-kind='workshop']") or "(2)" in page.inner_text(".act p >> nth=1")
    course = page.locator(".act[data-kind='course'] tbody tr").inner_text().split("\t")
    assert course[0] == "dee" and "✓" in course[1] and "✓" not in course[2]
    with page.expect_download() as saving:
        page.click("[data-do='csv workshop']")
    table = Path(saving.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(table) == 4 and table[1].startswith("'=bob,1,0,0.5,")  # no formula for a program that opens it
    page.set_input_files("input[type='file']", {"name": "x.json", "mimeType": "application/json",
                         "buffer": json.dumps({"version": 1, "files": {}, "passed": []}).encode()})  # fmt: skip
    page.locator("tbody th", has_text="x").wait_for()
    if AXE is not None:
        assert not wrong(page)
    dark = visit((tmp_path / "class.html").as_uri(), width=390, scheme="dark")
    assert dark.evaluate("document.documentElement.scrollWidth") <= 390
    if AXE is not None:
        assert not wrong(dark)


def test_keys_in_watch_mode(home: Path) -> None:
    (home / "e01_slope.py").write_text("def slope(f, x):\n    return 0.0\n")
    told: list[str] = []
    pressed = iter(["", "h", "h", "s", "l", "x", "r", "r", "c", "q"])
    workshop.watch(home, told.append, wait=lambda seconds: next(pressed), keys=True)
    said = "\n".join(told)
    assert "hint 1 of 3" in said and "hint 2 of 3" in said and BY_NAME["e01_slope"].solution.rstrip() in said
    assert "· is open" in said or "· open" in said or "open" in said
    assert said.count(workshop.KEYS) >= 3  # at the start, for a key that means nothing, and after another check
    assert "Press r once more" in said and "Your file is kept as e01_slope.py.old" in said
    assert (home / "e01_slope.py").read_text() == BY_NAME["e01_slope"].task
    assert next(pressed, "over") == "over"


def test_a_reset_by_keys_is_asked_for_twice(home: Path) -> None:
    mine = "def slope(f, x):\n    return 0.0\n"
    (home / "e01_slope.py").write_text(mine)
    pressed = iter(["r", "l", "r", "q"])
    workshop.watch(home, lambda text: None, wait=lambda seconds: next(pressed), keys=True)
    assert (home / "e01_slope.py").read_text() == mine
