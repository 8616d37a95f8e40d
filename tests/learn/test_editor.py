"""The editor's bundle: what it holds is what its sources say, and it needs no other file."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from micrograd.learn import page

SOURCES = Path(__file__).parents[2] / "tools" / "editor"
BUNDLE = (page.STATIC / "codemirror.js").read_text(encoding="utf-8")


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the tests run without the rest of the project")
def test_the_bundle_was_made_from_the_pinned_sources() -> None:
    names = ("package-lock.json", "editor.mjs", "build.mjs")
    texts = [(SOURCES / name).read_text(encoding="utf-8") for name in names]
    made = sha256("\0".join(texts).encode()).hexdigest()
    assert f"Sources: {made}\n" in BUNDLE, "run `make editor` and commit src/micrograd/learn/static/codemirror.js"
    packages = json.loads(texts[0])["packages"]
    head = BUNDLE[: BUNDLE.index("Sources:")]
    named = re.findall(r"(@?[\w/-]+) (\d+\.\d+\.\d+)", head)
    assert {"@codemirror/view", "@codemirror/state", "style-mod"} <= {name for name, _ in named}
    for name, version in named:
        assert packages[f"node_modules/{name}"]["version"] == version
        assert packages[f"node_modules/{name}"]["license"] == "MIT"
    assert "resolved" not in texts[0]  # whatever registry they come from, the hashes decide


def test_the_licence_stands_in_the_page() -> None:
    script = page.module(None, page.BENCH)
    assert "MIT License" in script and "Copyright (C) 2018-2021 by Marijn Haverbeke" in script
    assert "MIT License" not in page.module(None, page.MODULES)


def test_the_bundle_is_small_and_reaches_nowhere() -> None:
    assert len(BUNDLE.encode()) < 320_000
    assert not re.search(r"\bimport\s*[({]|fetch\(|XMLHttpRequest|</script", BUNDLE)
