"""The local page: loopback only, and a clean 4xx for everything that is not it."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from micrograd.learn import explore, loopback
from micrograd.learn import server as module
from micrograd.learn.server import MAX_BODY, Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server(explore("(a+b)*c", a=2, b=-3, c=10))
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield one
    one.shutdown()
    thread.join()
    one.server_close()


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, x in {
            "Host": f"127.0.0.1:{server.server_port}",
            **{k.replace("_", "-"): x for k, x in headers.items()},
        }.items():
            if x:
                link.putheader(name, x)
        if body is not None and "Content_Length" not in headers:
            link.putheader("Content-Length", str(len(body)))
        link.endheaders(body)
        reply = link.getresponse()
        return reply.status, reply.read(), reply.headers
    finally:
        link.close()


def post(server: Server, expression: Any, values: Any = "", **headers: str) -> tuple[int, Any]:
    body = json.dumps({"expression": expression, "values": values}).encode()
    status, text, _ = ask(server, "POST", "/graph", body, **{"Content_Type": "application/json", **headers})
    return status, json.loads(text)


def raw(server: Server, data: bytes) -> bytes:
    """Send bytes as they are, and read what comes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as link:
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        got = b""
        while part := link.recv(65536):
            got += part
        return got


def test_it_listens_on_the_loopback_interface_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_is_served_with_its_policy(server: Server) -> None:
    status, body, headers = ask(server, "GET", "/")
    assert status == 200 and b"Content-Security-Policy" in body and b"connect-src 'self'" in body
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert ask(server, "HEAD", "/")[:2] == (200, b"")
    assert ask(server, "GET", "/?x=1")[0] == 200


def test_the_course_is_served_beside_the_explorer(server: Server) -> None:
    assert b'"course":"/course"' in ask(server, "GET", "/")[1]
    status, body, _ = ask(server, "GET", "/course")
    assert status == 200 and b"A machine with one knob" in body and b"connect-src 'none'" in body
    assert ask(server, "POST", "/course")[0] == 405 and ask(server, "GET", "/course/x")[0] == 404


def test_an_expression_comes_back_as_a_graph(server: Server) -> None:
    status, got = post(server, "tanh(x1*w1 + b)", "x1=2, w1=-3 b=6.5")
    assert status == 200
    assert [node["name"] for node in got["timeline"]["nodes"] if "inputs" not in node] == ["x1", "w1", "b"]
    status, got = post(server, "a*unnamed")
    assert status == 200 and got["timeline"]["nodes"][0]["data"] == 1.0


def test_a_bad_expression_points_at_the_character(server: Server) -> None:
    status, got = post(server, "(a + b) * $c")
    assert status == 400 and got["position"] == 10 and got["pointed"].endswith(" " * 12 + "^")
    status, got = post(server, "__import__('os').system('true')")
    assert status == 400 and "position" in got


@pytest.mark.parametrize(
    "host", ["evil.example", "", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", "[::1]", "0.0.0.0:80"]
)
@pytest.mark.parametrize("method,path", [("GET", "/"), ("POST", "/graph"), ("GET", "/etc/passwd")])
def test_a_foreign_host_is_refused(server: Server, host: str, method: str, path: str) -> None:
    status, body, _ = ask(server, method, path, b"{}" if method == "POST" else None, Host=host)
    assert status == 403 and b"micrograd" not in body.replace(b"micrograd explore", b"")


def test_localhost_is_this_host_too(server: Server) -> None:
    assert ask(server, "GET", "/", Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_site_is_refused(server: Server, headers: dict[str, str]) -> None:
    assert post(server, "a*b", **headers)[0] == 403


@pytest.mark.parametrize("path", [
    "/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/static/app.js", "/graph/", "/graph/x",
    "/\\..\\windows", "/" + "a" * 5000, "*", "http://evil.example/", "/favicon.ico",
])  # fmt: skip
def test_a_path_outside_is_not_found(server: Server, path: str) -> None:
    status, body, _ = ask(server, "GET", path)
    assert 400 <= status < 500 and len(body) < 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "POST"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert ask(server, method, "/")[0] == 405
    assert method == "POST" or ask(server, method, "/graph")[0] == 405


@pytest.mark.parametrize("body,headers,status", [
    (b"x" * (MAX_BODY + 1), {}, 413),
    (b"", {"Content_Length": "999999999999999"}, 411),
    (b"", {"Content_Length": "99999999"}, 413),
    (b"{}", {"Content_Length": "-1"}, 411),
    (b"{}", {"Content_Length": "two"}, 411),
    (b"{}", {"Content_Length": ""}, 411),
    (b"0\r\n\r\n", {"Transfer_Encoding": "chunked"}, 411),
    (b"{}", {"Content_Type": "text/plain"}, 415),
    (b"{}", {"Content_Type": ""}, 415),
    (b"{}", {}, 400),
    (b"", {}, 400),
    (b"[1]", {}, 400),
    (b"null", {}, 400),
    (b"\xff\xfe", {}, 400),
    (b"[" * 15_000, {}, 400),
    (b'{"expression": 5}', {}, 400),
    (b'{"expression": "a", "values": {"a": 1}}', {}, 400),
    (b'{"expression": "a", "values": "a=b"}', {}, 400),
    (b'{"expression": "a", "values": "a=1 b=2"}', {}, 400),
    (json.dumps({"expression": "a", "values": " " * 3000}).encode(), {}, 413),
    (json.dumps({"expression": "+".join("a" * 1500)}).encode(), {}, 400),
    (json.dumps({"expression": "(" * 900 + "a" + ")" * 900}).encode(), {}, 400),
    (json.dumps({"expression": "a\ud800"}).encode(), {}, 400),
])  # fmt: skip
def test_bad_bodies_get_their_4xx(server: Server, body: bytes, headers: dict[str, str], status: int) -> None:
    got, text, _ = ask(server, "POST", "/graph", body, **{"Content_Type": "application/json", **headers})
    assert got == status, text
    assert isinstance(json.loads(text)["error"], str)


@pytest.mark.parametrize("data", [
    b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/x\r\n\r\n", b"\x00" * 100,
    b"\x16\x03\x01\x02\x00\x01\x00", b"GET / / / HTTP/1.1\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: 1\r\n" % k for k in range(300)) + b"\r\n",
])  # fmt: skip
def test_bytes_that_are_no_request_get_a_4xx_or_nothing(server: Server, data: bytes) -> None:
    try:
        got = raw(server, data)
    except ConnectionError:
        got = b""
    assert got == b"" or got.startswith((b"HTTP/1.0 4", b"{"))
    assert ask(server, "GET", "/")[0] == 200


def test_nothing_of_an_expression_is_ever_evaluated(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr("builtins.eval", lambda *a: called.append("eval"))
    monkeypatch.setattr("os.system", lambda *a: called.append("system"))
    for text in ("__import__('os').system('true')", "eval('1')", "a.__class__", "(lambda: 1)()", "open('x')"):
        assert post(server, text)[0] == 400
    assert called == []


def test_many_at_once_are_all_answered(server: Server) -> None:
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(post(server, "a*b+c")[0])) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 40


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser.parse_args(words)


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert module.run(arguments("(a+b", "a=1", "b=2")) == 2
    assert "^" in capsys.readouterr().err
    assert module.run(arguments("a*b", "a=1")) == 2
    assert "b has no number" in capsys.readouterr().err
    assert module.run(arguments("a*b", "a=1", "b=two")) == 2
    assert "name=number" in capsys.readouterr().err


def test_a_port_that_is_taken_is_an_error_with_a_way_out(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert module.run(arguments("--port", str(server.server_port), "--no-browser")) == 1
    assert "Leave --port out" in capsys.readouterr().err


def test_the_command_writes_a_file(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert module.run(arguments("a*b", "a=1", "b=2", "--save", str(tmp_path / "x.html"))) == 0
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one child")
def test_control_c_ends_it_cleanly() -> None:
    script = """
import argparse, signal
from micrograd.learn import server
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
parser = argparse.ArgumentParser()
server.add_arguments(parser)
raise SystemExit(server.run(parser.parse_args(["a*b", "a=1", "b=2", "--no-browser"])))
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    assert line.startswith("micrograd explore: http://127.0.0.1:")
    child.send_signal(signal.SIGINT)
    try:
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0 and err == "", err


def test_forty_dripping_sockets_lock_nobody_out(server: Server) -> None:
    drips = [socket.create_connection(("127.0.0.1", server.server_port), timeout=10) for _ in range(40)]
    try:
        for drip in drips:
            drip.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        status, body, _ = ask(server, "GET", "/")  # fails after 10 s where the drips hold all places
        assert status == 200 and body.startswith(b"<!doctype html>")
        assert post(server, "a*b")[0] == 200
    finally:
        for drip in drips:
            drip.close()


def test_a_request_has_a_limit_in_all_and_not_for_each_read() -> None:
    now = 0.0
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = loopback.Deadline(ours, 10.0, clock=lambda: now)
        buffer = bytearray(1)
        for second in range(10):
            now = float(second)
            theirs.sendall(b"x")
            assert reader.readinto(buffer) == 1
            assert ours.gettimeout() == 10.0 - second
        now = 10.0
        theirs.sendall(b"x")  # a byte is there, but the time is over
        with pytest.raises(TimeoutError):
            reader.readinto(buffer)


def test_a_slow_client_is_cut_off_while_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "SECONDS", 0.2)
    one = Server(explore("a*b", a=2, b=3))
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", one.server_port), timeout=30) as drip:
            ended = False
            for _ in range(600):
                try:
                    drip.sendall(b"x")
                    drip.settimeout(0.05)
                    ended = drip.recv(1) == b""
                except TimeoutError:
                    continue
                except OSError:
                    ended = True
                if ended:
                    break
            assert ended
    finally:
        one.shutdown()
        thread.join()
        one.server_close()
