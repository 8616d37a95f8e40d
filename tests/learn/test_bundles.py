"""The files of a page are joined into one module, so no two of them may declare the same name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from learn.in_node import NODE, needs_node
from micrograd.learn import page

BUNDLES = ("MODULES", "WATCH", "BENCH", "COURSE", "CONSOLE", "HOME", "CLASS", "RUN")


@needs_node
@pytest.mark.parametrize("name", BUNDLES)
def test_the_files_of_a_page_are_one_module(name: str, tmp_path: Path) -> None:
    file = tmp_path / "module.mjs"
    file.write_text(page.module(None, getattr(page, name)), encoding="utf-8")
    checked = subprocess.run([str(NODE), "--check", str(file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr[:600]
