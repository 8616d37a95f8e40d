"""The code of docs/learn.md runs, and prints what the page says it prints."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "learn.md"


def test_every_block_runs_and_prints_what_stands_below_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```(?:\n\n```\n(.*?)```)?", text, re.S)
    space, ran = {}, 0
    for language, code, printed in blocks:
        if language == "python":
            exec(compile(code, str(DOCS), "exec"), space)
            assert capsys.readouterr().out == printed
            ran += 1
    assert ran >= 4
    assert (tmp_path / "graph.svg").exists() and (tmp_path / "down.svg").exists()
