"""Labels with control characters, lone surrogates and markup: every picture is valid XML, every page valid UTF-8."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from micrograd import Value
from micrograd.learn import draw_dot, explore, frames
from micrograd.learn.draw import notebook
from micrograd.learn.sentences import clean

STRANGE = {
    "nul": "a\x00b",
    "escape": "\x1b[31mred",
    "surrogate": "x\ud800y",
    "pair the wrong way": "\udc00\ud800",
    "not a character": "\ufffe\uffff",
    "delete and C1": "\x7f\x85\x9f",
    "markup": "</script><svg onload=alert(1)>&amp;\"'",
    "line separators": "a\u2028b\u2029c",
    "tab and newline": "a\tb\nc",
    "all controls": "".join(map(chr, range(32))),
    "right to left": "\u202eabc\u202c",
    "emoji": "👩‍🚀🙂",
}


def graph(label: str) -> Value:
    a, b = Value(2.0, label=label), Value(-3.0)
    out = a * b + a
    out.label = label + "!"
    out.backward()
    return out


@pytest.mark.parametrize("label", STRANGE.values(), ids=STRANGE)
def test_every_output_is_valid(label: str, tmp_path: Path) -> None:
    root = graph(label)
    for picture in (draw_dot(root), draw_dot(root, rankdir="TB"), draw_dot(root, collapse=True, depth=0)):
        ET.fromstring(picture.svg)  # well-formed
        for ending in ("svg", "html", "dot"):
            file = Path(picture.save(tmp_path / f"x.{ending}"))
            assert file.read_bytes().decode("utf-8")
    made = explore(root)
    text = made.save(tmp_path / "x.html") and (tmp_path / "x.html").read_bytes().decode("utf-8")
    data = re.search(r'<script type="application/json" id="lesson">(.*?)</script>', text, re.S)
    assert data and text.count("</script>") == 2
    nodes = json.loads(data[1])["presets"][0]["timeline"]["nodes"]
    assert not any(re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", str(node)) for node in nodes)
    frames(root).to_json().encode()
    shown = notebook(root)
    assert shown is not None
    HTMLParser().feed(shown["text/html"])
    shown["text/html"].encode()
    for part in made._repr_mimebundle_().values():
        part.encode()


def test_names_from_keys_of_a_dict_are_cleaned_too() -> None:
    weights = {"a\x00\ud800": Value(1.0)}
    out = weights["a\x00\ud800"] * 2.0
    ET.fromstring(draw_dot(out).svg)
    explore(out).html.encode()


def test_ordinary_text_is_left_alone() -> None:
    for text in ("weights", "größe", "α₁", "日本語", "👩‍🚀", "a\tb\nc", "e\u0301"):
        assert clean(text) == text
