"""Pages of docs and docs/examples: each block of code runs, and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from blocks import run

pytest.importorskip("numpy", reason="the pages use NumPy")
pytest.importorskip("llvmlite", reason="the pages compile")

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    DOCS / "derivatives.md",
    DOCS / "compile.md",
    DOCS / "plain.md",
    DOCS / "random.md",
    *sorted((DOCS / "examples").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=[p.stem for p in PAGES])
def test_the_page_runs_from_top_to_bottom(page):
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.S)
    assert found
    names = {"__name__": "page"}
    for number, (code, printed) in enumerate(found, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run(code, page.name, names)
        assert out.getvalue() == printed, f"block {number} of {page.name}:\n{code}"


def test_the_front_page_runs_from_top_to_bottom():
    names = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S):
            run(code, "README.md", names)
    assert set(names["L"]._prev) == set(names["model"].parameters())


EVERY_PAGE = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=[str(p.relative_to(ROOT)) for p in EVERY_PAGE])
def test_links_lead_somewhere(page):
    text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))  # code shows how links are written
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("http") or (page.parent / link).exists(), link
