"""The local page: `micrograd explore "tanh(x1*w1 + x2*w2 + b)" x1=2 …`.

It listens on the loopback interface only, answers only requests that name it by a loopback host, and does three things:
it gives out the page and the course, and it parses an expression. Everything else is a 4xx.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

from micrograd.errors import MicrogradError
from micrograd.learn import texts
from micrograd.learn.explorer import Explorer, explore, preset
from micrograd.learn.expression import MAX_LENGTH, ExpressionError, parse
from micrograd.learn.loopback import HTML, JSON, BadRequest, Headers, LocalServer, LocalSite, dump

MAX_BODY = 16_384  # an expression of MAX_LENGTH characters, its values, and JSON around them
_PAIR = re.compile(r"^([^\W\d]\w*)=([^=\s]+)$")


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


class Site(LocalSite):
    """What is served: two pages and one question. `answer` knows nothing of sockets, so tests can ask it directly."""

    def __init__(self, explorer: Explorer, port: int) -> None:
        explorer.lesson["course"] = "/course"
        self.page = explorer.page(post="/graph").encode()
        super().__init__(port)

    def answer(self, method: str, path: str, headers: Headers, body: Callable[[int], bytes]) -> Any:
        """The status, content type and body of the reply to one request."""
        try:
            self.check(headers)
            if path == "/graph":
                if method != "POST":
                    raise BadRequest(405, "an expression is sent by POST")
                return 200, JSON, dump(graph_of(self.body(headers, body)))
            if path not in ("/", "/course"):
                raise BadRequest(404, "there is nothing here but / and /course")
            if method not in ("GET", "HEAD"):
                raise BadRequest(405, "the page is fetched by GET")
            return 200, HTML, self.page if path == "/" else self.course
        except BadRequest as bad:
            return bad.status, JSON, dump(bad.more)

    @cached_property
    def course(self) -> bytes:
        """The course, made when somebody asks for it."""
        from micrograd.learn.course.site import course

        return course({"explore": "/"}).encode()

    def body(self, headers: Headers, read: Callable[[int], bytes]) -> bytes:
        """The body, if it is announced, small and JSON."""
        if headers.get("Content-Type", "").split(";")[0].strip().lower() != JSON:
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


class Server(LocalServer):
    """The explorer's page."""

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        super().__init__(lambda bound: Site(explorer, bound), port)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `micrograd explore`."""
    parser.add_argument("expression", nargs="?", help='such as "(a+b)*c"; without one, the presets of the lesson')
    parser.add_argument("values", nargs="*", help="a number for each name, such as a=2 b=-3 c=10")
    parser.add_argument("--lang", default="en", choices=texts.languages(), help="the language of the page")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1 (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument("--save", metavar="FILE", help="write the page to an HTML file, and serve nothing")


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    texts.use(args.lang)
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
