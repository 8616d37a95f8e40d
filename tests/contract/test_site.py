"""The pages of the site: every Python block runs, and prints the text that follows it."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from blocks import run
from twins import ROOT

PAGES = [
    "index",
    "getting-started",
    "scipy",
    "export",
    "how-it-works",
    "from-jax",
    "from-numba",
    "from-casadi",
    "from-micrograd",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    pytest.importorskip("llvmlite", reason="the pages compile")
    pytest.importorskip("scipy", reason="a page solves with SciPy")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.S)
    assert blocks
    for number, (code, said) in enumerate(blocks):
        out = io.StringIO()
        path = tmp_path / f"{page.replace('-', '_')}_{number}.py"
        path.write_text(code)
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(path), "exec"), names)
        if said and "git clone" not in said:
            assert out.getvalue() == said


def test_blocks_for_torch_jax_and_onnx_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for page in ("torch-jax", "export", "from-numba"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for code in re.findall(r"```\{code-block\} python\n(.*?)```", text, re.S):
            pytest.importorskip(re.match(r"import (\w+)", code)[1])
            run(code, page, {})


def test_every_page_is_in_the_table_of_contents():
    pages = {str(p.relative_to(ROOT / "docs").with_suffix("")) for p in (ROOT / "docs").rglob("*.md")}
    listed = {"index"}
    for path in (ROOT / "docs").rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text(encoding="utf-8"), re.S):
            for line in block.splitlines():
                entry = re.sub(r".*<(.*)>", r"\1", line.strip())
                listed |= {p for p in pages if entry and re.fullmatch(entry.replace("*", "[^/]*"), p)}
    assert not {p for p in pages if not p.startswith("_build")} - listed


def test_the_picture_of_the_front_page_is_what_draw_dot_prints(tmp_path):
    from micrograd import Value, draw_dot

    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(6.5, label="c")
    loss = (a * b + c).tanh()
    loss.backward()
    draw_dot(loss).save(str(tmp_path / "graph.svg"))
    kept, drawn = (
        re.sub("<title>.*?</title>", "", path.read_text(), flags=re.S)  # which names the file of the code
        for path in (ROOT / "docs/images/graph.svg", tmp_path / "graph.svg")
    )
    assert kept == drawn, "stale: run python tools/example_pictures.py"


def test_the_reference_has_every_public_name_and_signatures_that_can_be_read(tmp_path, monkeypatch):
    import micrograd

    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    write_api = pytest.importorskip("api_page").write_api
    write_api(tmp_path / "api.md")
    text = (tmp_path / "api.md").read_text(encoding="utf-8")
    for name in set(micrograd.__all__) - {"Neuron", "Layer", "MLP"}:  # these are in micrograd.nn
        assert re.search(rf"micrograd\.{name}\b", text), name
    signatures = re.findall(r"^:{3,4}\{py:\w+\} [\w.]+(\(.*)", text, re.M)
    assert len(signatures) > 150 and not [s for s in signatures if s.startswith(("(:", "(self", "(,"))]
    assert "(...)" not in signatures
    assert "resume_settings='same'" in text and "backend: str = 'llvm'" in text
    for method in ("exp", "relu", "min", "leaky_relu"):
        assert re.search(rf"`{method}\(.*?\)`", text), method
