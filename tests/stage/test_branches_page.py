"""docs/branches.md: each block of code runs, and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from blocks import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "branches.md"


def test_the_page_runs_from_top_to_bottom():
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(found) >= 5
    names = {"__name__": "page"}
    for code, printed in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run(code, "branches.md", names)
        assert [s.rstrip() for s in out.getvalue().splitlines()] == [s.rstrip() for s in printed.splitlines()]


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_what_the_page_says_of_other_packages(package):
    blocks = re.findall(r"```\{code-block\} python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (block,) = [b for b in blocks if b.startswith(f"import {package}\n")]
    pytest.importorskip(package)
    run(block, "branches.md", {"__name__": "page"})
