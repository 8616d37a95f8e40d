"""Who watches a run as it trains: a widget below the cell of a notebook, a local page, or nobody yet."""

from __future__ import annotations

import atexit
import os
import sys
import time
from threading import Thread
from typing import Any

from micrograd.learn.record import Record

OFTEN = 0.1  # seconds between two messages to a widget
FAREWELL = 5.0  # seconds that a program waits at its end until the page that it opened has the run


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this code."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def has_windows() -> bool:
    """Whether a browser can open a window here: without one, a browser in the terminal would take it over."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def gather(theatre: Any, record: Record, open: bool | None) -> Any:
    """Open what fits the place: the result is told about every step."""
    if open is False:
        return Nobody()
    if in_notebook():
        try:
            return Widget(theatre, record)
        except ImportError as reason:
            print(f"{reason}\n  Until then, show the result of watch() after the training.")
            return Nobody()
    if open or sys.stdout.isatty():
        return BrowserPage(theatre)
    return Nobody()


class Nobody:
    """The run is kept; it can be looked at later."""

    def told(self) -> None:
        """Nothing to do."""


class BrowserPage:
    """A local page in the browser. It reads the record by itself; only the end of the program waits for it."""

    def __init__(self, theatre: Any) -> None:
        self.server = theatre.serve()
        print(f"watch: {self.server.url}", flush=True)
        if has_windows():
            Thread(target=self.browse, daemon=True, name="micrograd browser").start()  # some browsers start slowly
        atexit.register(self.leave)

    def browse(self) -> None:
        """Open the page in the browser."""
        import webbrowser

        webbrowser.open(self.server.url)

    def told(self) -> None:
        """Nothing to do: the server's threads see it."""

    def leave(self) -> None:
        """Let the page have the rest of the run before the program ends."""
        self.server.record.end()
        self.server.wait(FAREWELL)


class Widget:
    """A widget below the cell: it is sent what is new, at most ten times a second."""

    def __init__(self, theatre: Any, record: Record) -> None:
        from micrograd.learn.widget import make_theatre

        play = theatre.play
        play["scenes"][0].pop("record", None)
        self.record = record
        self.widget = theatre.live = make_theatre(play, fed=True)
        self.widget.on_msg(self.asked)
        self.seen, self.sent, self.last, self.running = 0, {0}, 0.0, True
        sys.modules["IPython"].display.display(self.widget)

    def told(self) -> None:
        """Send what is new, if the last message was a while ago or there will be no other."""
        now = time.monotonic()
        if not self.record.ended and now - self.last < OFTEN:
            return
        self.last = now
        while (message := self.record.after(self.seen, self.sent, 0.0)) is not None:
            self.seen += len(message["loss"])
            self.widget.send({"kind": "steps", **message})
            if not self.record.ended:
                return
        if self.record.ended:
            self.widget.send({"kind": "ended"})
            if self.running:
                self.running = False
                self.widget.step = self.widget.steps = len(self.record) - 1

    def asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """A view that opened late asks for everything."""
        if isinstance(content, dict) and content.get("kind") == "ready":
            self.seen, self.sent, self.last = 0, set(), 0.0
            self.told()
