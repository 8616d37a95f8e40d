"""A server for this machine alone: what every local page is served by.

It listens on the loopback interface only, and answers only requests that name it by a loopback host. A site decides what
is answered; it knows nothing of sockets, so tests can ask it directly.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from typing import Any, cast

MAX_AT_ONCE = 16
SECONDS = 10.0  # how long a client may take, in all, to say what it wants
JSON, HTML = "application/json", "text/html"

Headers = Message | dict[str, str]


class BadRequest(Exception):
    """A request that gets a 4xx, with the reason in one line."""

    def __init__(self, status: int, reason: str, **more: Any) -> None:
        super().__init__(reason)
        self.status, self.more = status, {"error": reason, **more}


class LocalSite:
    """Who may ask: this page itself, and nobody else."""

    def __init__(self, port: int) -> None:
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def answer(self, method: str, path: str, headers: Headers, body: Callable[[int], bytes]) -> Any:
        """The status, content type and body of the reply to one request."""
        raise NotImplementedError

    def check(self, headers: Headers) -> None:
        """Refuse what does not come from this page itself: another name for this host (DNS rebinding), another site."""
        if headers.get("Host", "").lower() not in self.hosts:
            raise BadRequest(403, "this page answers to 127.0.0.1 and localhost only")
        origin = headers.get("Origin")
        if origin is not None and origin.removeprefix("http://").lower() not in self.hosts:
            raise BadRequest(403, "another site may not use this page")
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise BadRequest(403, "another site may not use this page")


def dump(x: dict[str, Any]) -> bytes:
    """JSON as it is sent."""
    return json.dumps(x, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


class Deadline(io.RawIOBase):
    """What a socket receives, with a limit on the time of all reads together: a client that drips bytes is cut off."""

    def __init__(self, connection: socket.socket, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.connection, self.clock, self.end = connection, clock, clock() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.end - self.clock()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class LocalServer(ThreadingHTTPServer):
    """One site on the loopback interface, with a bound on how many requests run at once.

    When all places are taken, the connection that has been sending its request for longest is closed: slow clients
    cannot lock others out.
    """

    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, site: Callable[[int], LocalSite], port: int = 0, answer: Any = None) -> None:
        super().__init__(("127.0.0.1", port), answer or Answer)
        self.site: Any = site(self.server_port)
        self._room = BoundedSemaphore(MAX_AT_ONCE)
        self._sending: dict[int, socket.socket] = {}  # connections whose request has not been read yet, oldest first
        self._lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self._close_oldest()
            if not self._room.acquire(timeout=SECONDS):
                self.shutdown_request(request)
                return
        with self._lock:
            self._sending[id(request)] = request
        super().process_request(request, client_address)

    def _close_oldest(self) -> None:
        with self._lock:
            for key, waiting in list(self._sending.items())[:1]:
                del self._sending[key]
                with suppress(OSError):  # it may have hung up by itself
                    waiting.shutdown(socket.SHUT_RDWR)

    def was_read(self, request: Any) -> None:
        """The request is complete: from here on the time is the server's own."""
        with self._lock:
            self._sending.pop(id(request), None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.was_read(request)
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to report."""


class Answer(BaseHTTPRequestHandler):
    """One request, handed to the site."""

    server: LocalServer
    timeout = SECONDS  # of a single write

    def setup(self) -> None:
        super().setup()
        self.rfile = cast(io.BufferedReader, io.BufferedReader(Deadline(self.connection, SECONDS)))

    server_version, sys_version = "micrograd", ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every method is answered, most of them by 405
            return self.reply
        raise AttributeError(name)

    def reply(self) -> None:
        path = self.path.split("?", 1)[0]
        status, kind, body = self.server.site.answer(self.command, path, self.headers, self.rfile.read)
        self.server.was_read(self.connection)
        self.connection.settimeout(SECONDS)
        self.send(status, kind, body)

    def send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the request line or the headers alone make impossible: a client's fault, whatever it is."""
        self.close_connection = True
        if not hasattr(self, "command") or self.command is None:
            self.command = ""
        if not hasattr(self, "request_version"):
            self.request_version = "HTTP/1.0"
        self.send(code if 400 <= code < 500 else 400, JSON, dump({"error": message or "bad request"}))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the learner."""
