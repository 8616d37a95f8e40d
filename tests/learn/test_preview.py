"""`micrograd lesson watch`: a lesson is checked at each save, and its page follows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micrograd.cli import main
from micrograd.learn.course.preview import Preview, PreviewSite, serve

GRAPH = "```graph\nexpression: c = a * b\nvalues: a=2 b=-3\nstep: forward\n```\n"
GOOD = f"---\ntitle: T\n---\n## One\n\nThe product is {{-6 = c}}.\n\n{GRAPH}"
HOST = {"Host": "127.0.0.1:8000"}


class Ended(Exception):
    """The watching is over."""


def save(path: Path, text: str) -> None:
    """Write a file so that its time differs, however coarse the clock of the file system is."""
    before = path.stat().st_mtime if path.exists() else 0.0
    path.write_text(text, encoding="utf-8")
    os.utime(path, (before + 10, before + 10))


def test_every_save_is_checked_again(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    save(file, GOOD)
    preview, told = Preview([file]), []
    saves = iter([GOOD.replace("-6", "-7"), GOOD + "```graph\n", None, GOOD])

    def wait(seconds: float) -> None:
        try:
            text = next(saves)
        except StopIteration:
            raise Ended from None
        if text is not None:
            save(file, text)

    with pytest.raises(Ended):
        preview.follow(told.append, wait)
    assert [line.strip().removeprefix(f"{file}:") for line in told] == [
        f"{file}: every number is right".removeprefix(f"{file}:"),
        "6: the text says -7, and c is -6",
        "13: this block has no end: a line ``` is missing",
        " every number is right",
    ]
    assert preview.version == 4


def test_a_picture_that_appears_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    save(file, GOOD + "\n![a dot](dot.png)\n")
    preview = Preview([file])
    assert "there is no picture dot.png" in preview.report() and "there is no picture" in preview.page
    (tmp_path / "notes.txt").write_text("nothing")
    assert preview.stamps() == preview.seen
    (tmp_path / "dot.png").write_bytes(b"png")
    assert preview.stamps() != preview.seen
    preview.refresh()
    assert "every number is right" in preview.report() and "data:image/png" in preview.page


def test_only_this_machine_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    save(file, GOOD)
    site = PreviewSite(Preview([file]), 8000)

    def ask(path: str, method: str = "GET", host: str = "127.0.0.1:8000") -> Any:
        return site.answer(method, path, {"Host": host}, lambda n: b"")

    assert ask("/")[0] == 200 and b"The product is" in ask("/")[2] and b"connect-src 'self'" in ask("/")[2]
    assert json.loads(ask("/version")[2]) == {"version": 1}
    assert ask("/other")[0] == 404 and ask("/", "POST")[0] == 405 and ask("/", host="example.org")[0] == 403


def test_the_page_follows_a_save(visit: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    save(file, GOOD)
    preview = Preview([file])
    server = serve(preview)
    try:
        page = visit(server.url)
        page.wait_for_selector("text=The product is")
        save(file, GOOD.replace("product", "result"))
        preview.refresh()
        page.wait_for_selector("text=The result is")
        save(file, GOOD + "```graph\n")
        preview.refresh()
        page.wait_for_selector("text=this block has no end")
        save(file, GOOD)
        preview.refresh()
        page.wait_for_selector("text=The product is")
    finally:
        server.shutdown()
        server.server_close()


def test_a_port_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.md"
    save(file, GOOD)
    assert main(["lesson", "watch", str(file), "--no-browser", "--port", "99999999"]) == 1
    assert "leave --port out" in capsys.readouterr().err
