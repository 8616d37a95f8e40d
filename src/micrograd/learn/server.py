"""The local page: `micrograd explore "tanh(x1*w1 + x2*w2 + b)" x1=2 …`.

It listens on the loopback interface only, answers only requests that name it by a loopback host, and does three things:
it gives out the page and the course, and it parses an expression. Everything else is a 4xx.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from typing import Any, cast

from micrograd.errors import MicrogradError
from micrograd.learn.explorer import Explorer, explore, preset
from micrograd.learn.expression import MAX_LENGTH, ExpressionError, parse

MAX_BODY = 16_384  # an expression of MAX_LENGTH characters, its values, and JSON around them
MAX_AT_ONCE = 16
SECONDS = 10.0  # how long a client may take, in all, to say what it wants
_PAIR = re.compile(r"^([^\W\d]\w*)=([^=\s]+)$")
_JSON, _HTML = "application/json", "text/html"

Headers = Message | dict[str, str]


class BadRequest(Exception):
    """A request that gets a 4xx, with the reason in one line."""

    def __init__(self, status: int, reason: str, **more: Any) -> None:
        super().__init__(reason)
        self.status, self.more = status, {"error": reason, **more}


def pairs(words: list[str]) -> dict[str, float]:
    """`["a=2", "b=-3"]` as numbers by name."""
    values: dict[str, float] = {}
    for word in words:
        match = _PAIR.match(word)
        try:
            if match is None:
                raise ValueError
            values[match.group(1)] = float(match.group(2))
        except ValueError:
            raise MicrogradError(f"a value is written name=number, such as a=2, not {word[:40]!r}") from None
    return values


def graph_of(body: bytes) -> dict[str, Any]:
    """The graph of a posted expression, as the page has it."""
    try:
        asked = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise BadRequest(400, "the body is not JSON") from None
    if not isinstance(asked, dict):
        raise BadRequest(400, "the body is a JSON object with an expression")
    text, given = asked.get("expression"), asked.get("values", "")
    if not isinstance(text, str) or not isinstance(given, str):
        raise BadRequest(400, "expression and values are texts")
    if len(given) > MAX_LENGTH:
        raise BadRequest(413, f"values have at most {MAX_LENGTH} characters")
    try:
        values = pairs(given.replace(",", " ").split())
        root = parse(text).build(values, default=1.0)
        return preset("own", text.strip(), root, names={})
    except ExpressionError as error:
        raise BadRequest(400, error.message, position=error.position, pointed=str(error)) from None
    except (MicrogradError, ValueError, TypeError) as error:
        raise BadRequest(400, str(error)) from None


class Site:
    """What is served: two pages and one question. `answer` knows nothing of sockets, so tests can ask it directly."""

    def __init__(self, explorer: Explorer, port: int) -> None:
        explorer.lesson["course"] = "/course"
        self.page = explorer.page(post="/graph").encode()
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def answer(self, method: str, path: str, headers: Headers, body: Callable[[int], bytes]) -> Any:
        """The status, content type and body of the reply to one request."""
        try:
            self.check(headers)
            if path == "/graph":
                if method != "POST":
                    raise BadRequest(405, "an expression is sent by POST")
                return 200, _JSON, _dump(graph_of(self.body(headers, body)))
            if path not in ("/", "/course"):
                raise BadRequest(404, "there is nothing here but / and /course")
            if method not in ("GET", "HEAD"):
                raise BadRequest(405, "the page is fetched by GET")
            return 200, _HTML, self.page if path == "/" else self.course
        except BadRequest as bad:
            return bad.status, _JSON, _dump(bad.more)

    @cached_property
    def course(self) -> bytes:
        """The course, made when somebody asks for it."""
        from micrograd.learn.course.site import course

        return course({"explore": "/"}).encode()

    def check(self, headers: Headers) -> None:
        """Refuse what does not come from this page itself: another name for this host (DNS rebinding), another site."""
        if headers.get("Host", "").lower() not in self.hosts:
            raise BadRequest(403, "this page answers to 127.0.0.1 and localhost only")
        origin = headers.get("Origin")
        if origin is not None and origin.removeprefix("http://").lower() not in self.hosts:
            raise BadRequest(403, "another site may not use this page")
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise BadRequest(403, "another site may not use this page")

    def body(self, headers: Headers, read: Callable[[int], bytes]) -> bytes:
        """The body, if it is announced, small and JSON."""
        if headers.get("Content-Type", "").split(";")[0].strip().lower() != _JSON:
            raise BadRequest(415, "an expression is sent as application/json")
        length = headers.get("Content-Length", "")
        if "Transfer-Encoding" in headers or not re.fullmatch(r"[0-9]{1,9}", length):
            raise BadRequest(411, "the length of the body must be given")
        if int(length) > MAX_BODY:
            raise BadRequest(413, f"a body has at most {MAX_BODY} bytes")
        got = read(int(length))
        if len(got) != int(length):
            raise BadRequest(400, "the body is shorter than it was said to be")
        return got


def _dump(x: dict[str, Any]) -> bytes:
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


class Server(ThreadingHTTPServer):
    """One site on the loopback interface, with a bound on how many requests run at once.

    When all places are taken, the connection that has been sending its request for longest is closed: slow clients
    cannot lock others out.
    """

    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = sys.platform != "win32"

    def __init__(
        self, explorer: Explorer | None, port: int = 0, answer: Any = None, site: Callable[[int], Site] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", port), answer or Answer)
        self.site = site(self.server_port) if site else Site(cast(Explorer, explorer), self.server_port)
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

    server: Server
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
        self.send(code if 400 <= code < 500 else 400, _JSON, _dump({"error": message or "bad request"}))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the learner."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `micrograd explore`."""
    parser.add_argument("expression", nargs="?", help='such as "(a+b)*c"; without one, the presets of the lesson')
    parser.add_argument("values", nargs="*", help="a number for each name, such as a=2 b=-3 c=10")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1 (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument("--save", metavar="FILE", help="write the page to an HTML file, and serve nothing")


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    try:
        explorer = explore(args.expression, **pairs(args.values)) if args.expression else explore()
    except (MicrogradError, ValueError) as error:
        print(f"micrograd explore: {error}", file=sys.stderr)
        return 2
    if args.save:
        print(f"wrote {explorer.save(args.save)}")
        return 0
    try:
        server = Server(explorer, args.port)
    except (OSError, OverflowError) as error:
        print(f"micrograd explore: port {args.port} cannot be used ({error}).", file=sys.stderr)
        print("  Leave --port out, and a free one is taken.", file=sys.stderr)
        return 1
    try:
        print(f"micrograd explore: {server.url}  (Ctrl-C ends it)", flush=True)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(server.url)
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
    return 0
