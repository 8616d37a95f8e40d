"""Every text that a learner reads, as data: `en.json` has the words, `lesson.json` the graphs, questions and ideas.

Python and the page read the same files. A translation is one more file with the same keys; `use` switches to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_SLOT = re.compile(r"\{(\w+)\}")
_current: dict[str, Any] = {}


@cache
def lesson() -> dict[str, Any]:
    """The language-free part: presets, quizzes and the wrong ideas with their formulas."""
    found: dict[str, Any] = json.loads((HERE / "lesson.json").read_text(encoding="utf-8"))
    return found


@cache
def _read(language: str) -> dict[str, Any]:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", language) or not (HERE / f"{language}.json").exists():
        known = ", ".join(sorted(path.stem for path in HERE.glob("*.json") if path.stem != "lesson"))
        raise ValueError(f"there are no texts for the language {language!r}; there are texts for: {known}")
    found: dict[str, Any] = json.loads((HERE / f"{language}.json").read_text(encoding="utf-8"))
    return found


def current() -> dict[str, Any]:
    """All texts of the language in use; English unless `use` chose another."""
    return _current or _read("en")


def use(language: str | Mapping[str, Any]) -> None:
    """Show texts in another language: the name of a file in this folder, or its content as a dictionary.

    >>> from micrograd.learn import texts
    >>> texts.use("en")
    >>> texts.say("frames.leaf", name="a", y="2")
    'a = 2'
    """
    found = _read(language) if isinstance(language, str) else dict(language)
    _current.clear()
    _current.update(found)


def get(key: str) -> Any:
    """The entry for a dotted key, such as `ideas.own.title`."""
    entry: Any = current()
    for part in key.split("."):
        entry = entry[part]
    return entry


def pieces(template: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A template filled in, piece by piece: (the name of the slot, or "" for words in between, and its text)."""
    found: list[tuple[str, str]] = []
    for k, part in enumerate(_SLOT.split(template)):
        if part:
            found.append((part, str(values[part])) if k % 2 else ("", part))
    return found


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A template with its slots filled in."""
    return "".join(text for _, text in pieces(template, values))


def say(key: str, **values: Any) -> str:
    """The text for a key, with its slots filled in."""
    return fill(get(key), values)


def calculate(formula: Any, facts: Mapping[str, float]) -> float:
    """A formula of `lesson.json`: a number, the name of a fact, or a list of an operator and two formulas."""
    if isinstance(formula, str):
        return facts[formula]
    if not isinstance(formula, list):
        return float(formula)
    operator, a, b = formula[0], calculate(formula[1], facts), calculate(formula[2], facts)
    if operator == "*":
        return a * b
    if operator == "-":
        return a - b
    return float(a <= b if operator == "<=" else a != b)
