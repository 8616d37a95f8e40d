"""`micrograd lesson watch`: a lesson that is being written, checked at each save, on a local page that follows.

The checker runs the code blocks of the file: watch only files that you trust.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from threading import Thread
from typing import Any

from micrograd.learn import page
from micrograd.learn.course.check import check
from micrograd.learn.course.lessons import Lesson, LessonError, Problem, read
from micrograd.learn.course.markdown import PICTURE
from micrograd.learn.course.page import html
from micrograd.learn.loopback import HTML, JSON, BadRequest, Headers, LocalServer, LocalSite, dump

PAUSE = 0.3  # seconds between two looks at the files


class Preview:
    """The lessons as they were last saved: their problems, and the page; `version` counts the saves."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.version = 0
        self.refresh()

    def stamps(self) -> list[tuple[float, int]]:
        """When the files and their pictures were written."""
        found = []
        for path in [*self.paths, *self.pictures]:
            try:
                status = path.stat()
            except OSError:  # an editor that replaces the file at a save, or a picture that is still missing
                found.append((-1.0, 0))
                continue
            found.append((status.st_mtime, status.st_size))
        return found

    def refresh(self) -> None:
        """Read and check everything again."""
        self.version += 1
        self.pictures = [path.parent / name for path in self.paths for name in pictures(path)]
        self.seen = self.stamps()
        lessons: list[Lesson] = []
        self.problems: list[tuple[Path, Problem]] = []
        for path in self.paths:
            try:
                lessons.append(read(path))
                self.problems += [(path, one) for one in check(lessons[-1])]
            except LessonError as error:
                self.problems += [(path, one) for one in error.problems]
            except OSError as error:
                self.problems.append((path, Problem(1, f"the file cannot be read: {error.strerror}")))
        try:
            if len(lessons) < len(self.paths):
                raise LessonError("", [])
            name = lessons[0].key if len(lessons) == 1 else self.paths[0].resolve().parent.name
            self.page = html(lessons, name, lessons[0].title, saved=self.version)
        except LessonError:
            self.page = self._told()

    def _told(self) -> str:
        """A page with the problems, for a lesson that cannot be shown."""
        script = f"{page.module(None, ('preview',))}\nreloadWhenSaved({self.version});\n"
        rows = [
            f"<li><code>{escape(str(path))}:{one.line}</code> {escape(one.text)}</li>" for path, one in self.problems
        ]
        body = f'<main class="mg whole"><ul>{"".join(rows)}</ul></main>'
        return page.document({}, script, page.style(), self.paths[0].name, "'self'", body=body)

    def report(self) -> str:
        """The problems in words."""
        if not self.problems:
            return f"{', '.join(map(str, self.paths))}: every number is right"
        return "\n".join(f"{path}:{one.line}: {one.text}" for path, one in self.problems)

    def follow(self, tell: Callable[[str], None], wait: Callable[[float], Any] = time.sleep) -> None:
        """Report, and again after each save, until Ctrl-C."""
        tell(self.report())
        while True:
            wait(PAUSE)
            if self.stamps() != self.seen:
                self.refresh()
                tell(f"\n{self.report()}")


def pictures(path: Path) -> list[str]:
    """The pictures that a lesson names, whether they are there or not."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [match["file"] for match in PICTURE.finditer(text)]


class PreviewSite(LocalSite):
    """The page of the lesson, and which version of it is the newest."""

    def __init__(self, preview: Preview, port: int) -> None:
        super().__init__(port)
        self.preview = preview

    def answer(self, method: str, path: str, headers: Headers, body: Callable[[int], bytes]) -> Any:
        """The status, content type and body of the reply to one request."""
        try:
            self.check(headers)
            if method not in ("GET", "HEAD"):
                raise BadRequest(405, "a lesson can only be read: use GET")
            if path == "/version":
                return 200, JSON, dump({"version": self.preview.version})
            if path != "/":
                raise BadRequest(404, "there is nothing here but / and /version")
            return 200, HTML, self.preview.page.encode()
        except BadRequest as bad:
            return bad.status, JSON, dump(bad.more)


def serve(preview: Preview, port: int = 0) -> LocalServer:
    """Serve the page of a preview in a thread of its own."""
    server = LocalServer(lambda bound: PreviewSite(preview, bound), port)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True, name="micrograd lesson").start()
    return server
