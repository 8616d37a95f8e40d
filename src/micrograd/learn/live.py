"""The local page of a run that is training: steps are sent as they come, by server-sent events.

Every page that is open has a thread of its own, which reads the record at its own pace. Training only appends to the record,
so it never waits for a page.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

from micrograd.learn.loopback import HTML, JSON, SECONDS, Answer, BadRequest, Headers, LocalServer, LocalSite, dump
from micrograd.learn.record import Record

MAX_PAGES = 8  # that are served at once
PAUSE = 0.05  # seconds between two messages to one page
SILENCE = 10.0  # seconds without news after which a page is told that the run goes on


class LiveSite(LocalSite):
    """The page, the stream of steps, and the parameters of any one step."""

    def __init__(self, page: Callable[[], str], record: Record, port: int) -> None:
        super().__init__(port)
        self._page, self.record = page, record
        self.open = 0  # pages that are reading
        self.served = 0  # pages that have everything
        self._counting = Lock()

    def enter(self) -> None:
        """Count one more page that is reading, if there is room."""
        with self._counting:
            if self.open >= MAX_PAGES:
                raise BadRequest(503, f"{MAX_PAGES} pages are open already")
            self.open += 1

    def leave(self, served: bool) -> None:
        """Count one page less, and whether it has everything."""
        with self._counting:
            self.open -= 1
            self.served += served

    def answer(self, method: str, path: str, headers: Headers, body: Callable[[int], bytes]) -> Any:
        """The status, content type and body of the reply to one request."""
        try:
            self.check(headers)
            if method not in ("GET", "HEAD"):
                raise BadRequest(405, "a run can only be read: use GET")
            if path == "/":
                return 200, HTML, self._page().encode()
            if found := re.fullmatch(r"/events/([0-9]{1,9})", path):
                return 200, JSON, dump(self.step(int(found[1])))
            raise BadRequest(404, "there is nothing here but / and /events")
        except BadRequest as bad:
            return bad.status, JSON, dump(bad.more)

    def step(self, k: int) -> dict[str, Any]:
        """The parameters of one step, or of the nearest that is kept."""
        held = [i for i, one in enumerate(list(self.record.parameters)) if one is not None]
        if k >= len(self.record):
            raise BadRequest(404, f"the run has {len(self.record) - 1} steps so far")
        return self.record.message(0, 0, [min(held, key=lambda i: abs(i - k))])


class LiveAnswer(Answer):
    """One request; a request for the events is answered as long as the run goes on."""

    def reply(self) -> None:
        site: Any = self.server.site
        if self.path.split("?", 1)[0] != "/events" or self.command != "GET":
            super().reply()
            return
        try:
            site.check(self.headers)
            site.enter()
        except BadRequest as bad:
            self.send(bad.status, JSON, dump(bad.more))
            return
        served = False
        try:
            self.server.was_read(self.connection)
            self.connection.settimeout(SECONDS)  # a page that does not read for so long is gone
            self.send_response(200)
            for name, x in (
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-store"),
                ("Connection", "close"),
            ):
                self.send_header(name, x)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.stream(site)
            served = True
        finally:
            site.leave(served)

    def stream(self, site: Any) -> None:
        """Send what is new, then what is left, then that it is over."""
        record: Record = site.record
        seen, sent = 0, {0}
        while True:
            message = record.after(seen, sent, SILENCE)
            if message is not None:
                seen += len(message["loss"])
                self.wfile.write(b"data: " + dump(message) + b"\n\n")
            elif record.ended:
                self.wfile.write(b"event: ended\ndata: {}\n\n")
                return
            else:
                self.wfile.write(b": the run goes on\n\n")
            self.wfile.flush()
            if not record.ended:
                time.sleep(PAUSE)


class LiveServer(LocalServer):
    """The local page of one run, in a thread of its own."""

    def __init__(self, page: Callable[[], str], record: Record, port: int = 0) -> None:
        super().__init__(lambda bound: LiveSite(page, record, bound), port, LiveAnswer)
        self.record = record
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True, name="micrograd watch").start()

    def wait(self, seconds: float) -> bool:
        """Wait until a page has the whole run, at most so long; say whether one has."""
        site: Any = self.site
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (site.served and not site.open):
            time.sleep(0.05)
        return bool(site.served)

    def stop(self) -> None:
        """Close the page's address."""
        self.record.end()
        self.shutdown()
        self.server_close()
