"""Every text that a learner reads, as data: `en.json` has the words, `lesson.json` the graphs, questions and ideas.

Python and the page read the same files. A translation is one more file with the same keys; `use` switches to it. Where it
lacks a text, the English one is shown, and `compare` (`micrograd lesson check FILE.json`) names it.
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
        known = ", ".join(languages())
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
    _current.update(_filled(found, _read("en")))


def read(language: str) -> dict[str, Any]:
    """The texts of a language as its file has them."""
    return _read(language)


def languages() -> list[str]:
    """The languages that there are texts for."""
    return sorted(path.stem for path in HERE.glob("*.json") if path.stem != "lesson")


def _filled(texts: Mapping[str, Any], english: Mapping[str, Any]) -> dict[str, Any]:
    """The texts, with the English ones in place of those that are not there."""
    found = dict(texts)
    for key, entry in english.items():
        if key not in found:
            found[key] = entry
        elif isinstance(entry, Mapping) and isinstance(found[key], Mapping):
            found[key] = _filled(found[key], entry)
    return found


def compare(texts: Any, english: Any = None, key: str = "") -> list[str]:
    """Name what a translation lacks, what it has too much, and where its slots are not those of the English text.

    >>> from micrograd.learn import texts
    >>> texts.compare({"a": "{x} und {y}"}, {"a": "{x} and {z}", "b": "more"})
    ['a: the slots are {x} {y}, in English {x} {z}', 'b: is missing']
    """
    english = _read("en") if english is None else english
    if isinstance(english, Mapping):
        if not isinstance(texts, Mapping):
            return [f"{key}: has texts by name in English, and none here"]
        inside = [f"{key}.{name}".lstrip(".") for name in english]
        told = [
            line
            for name, path in zip(english, inside)
            for line in ([f"{path}: is missing"] if name not in texts else compare(texts[name], english[name], path))
        ]
        return told + [
            f"{key}.{name}".lstrip(".") + ": is not an English text" for name in texts if name not in english
        ]
    if isinstance(english, list):
        if not isinstance(texts, list) or len(texts) != len(english):
            return [f"{key}: is a list of {len(english)} in English"]
        return [line for k, pair in enumerate(zip(texts, english)) for line in compare(*pair, f"{key}.{k}")]
    if not isinstance(texts, str):
        return [f"{key}: is not a text"]
    if not texts.strip():
        return [f"{key}: is empty"]
    slots, wanted = (sorted(set(_SLOT.findall(one))) for one in (texts, english))
    shown = [" ".join(f"{{{name}}}" for name in names) or "none" for names in (slots, wanted)]
    return [] if slots == wanted else [f"{key}: the slots are {shown[0]}, in English {shown[1]}"]


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
