"""docs/branches.md: each block of code runs, and prints what the page says."""

import contextlib
import io
import linecache
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "branches.md"


def test_the_page_runs_from_top_to_bottom():
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(found) >= 5
    names = {"__name__": "page"}
    for number, (code, printed) in enumerate(found, 1):
        name = f"<branches.md, block {number}>"  # as a notebook has it: paths are merged where there is a source
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, name, "exec"), names)
        assert [s.rstrip() for s in out.getvalue().splitlines()] == [s.rstrip() for s in printed.splitlines()]
