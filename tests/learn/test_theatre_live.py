"""Live from Python: the record and the local page. A slow page, or none, never slows the training."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any, cast

import pytest
from theatre_runs import make, run

from micrograd import Value, losses, train
from micrograd.learn import audience, watch
from micrograd.learn.live import MAX_PAGES, LiveAnswer, LiveSite
from micrograd.learn.record import Record, encoded

Visit = Callable[..., Any]


def decoded(text: str) -> list[float]:
    raw = b64decode(text)
    return list(struct.unpack(f"<{len(raw) // 8}d", raw))


# ---- the record


def test_every_step_is_kept_with_its_loss_and_its_parameters() -> None:
    seen: list[list[float]] = []
    model, points, optimizer = make()
    seen.append([p.data for p in model.parameters()])
    theatre = watch(model, points, losses.cross_entropy, optimizer, open=False)
    history = train.fit(
        model, points, losses.cross_entropy, optimizer, 10, quiet=True,
        callbacks=[lambda history: seen.append([p.data for p in model.parameters()]), theatre],
    )  # fmt: skip
    record = theatre.record
    assert (
        [list(one) for one in record.parameters] == seen and record.loss == history.loss and record.rate == [0.5] * 10
    )
    whole = record.whole(10**6)
    assert [decoded(one) for _, one in whole["parameters"]] == seen and whole["loss"] == history.loss


def test_a_second_fit_goes_on_where_the_first_one_ended() -> None:
    model, points, optimizer = make()
    theatre = watch(model, points, losses.cross_entropy, optimizer, open=False)
    both = [
        train.fit(model, points, losses.cross_entropy, optimizer, n, callbacks=[theatre], quiet=True) for n in (4, 3)
    ]
    assert theatre.record.loss == both[0].loss + both[1].loss and len(theatre.record.parameters) == 8
    assert None not in theatre.record.parameters


@pytest.mark.parametrize("more", [{"batch_size": 10}, {"compile": True}, {"accumulate": 2, "batch_size": 8}])
def test_every_way_to_train_is_kept(more: dict[str, Any]) -> None:
    if "compile" in more:
        pytest.importorskip("llvmlite")
    seen: list[list[float]] = []
    model, points, optimizer = make()
    theatre = watch(model, points, losses.cross_entropy, optimizer, open=False)
    history = train.fit(
        model, points, losses.cross_entropy, optimizer, 3, quiet=True, **more,
        callbacks=[lambda history: seen.append([p.data for p in model.parameters()]), theatre],
    )  # fmt: skip
    assert [list(one or []) for one in theatre.record.parameters[1:]] == seen and theatre.record.loss == history.loss
    assert seen[0] != seen[-1] == [p.data for p in model.parameters()]


def test_a_resumed_run_has_its_earlier_losses(tmp_path: Path) -> None:
    model, points, optimizer = make()
    rest = {"checkpoint": tmp_path / "run.json", "checkpoint_every": 1, "quiet": True}
    train.fit(model, points, losses.cross_entropy, optimizer, 4, **rest)
    theatre = watch(model, points, losses.cross_entropy, optimizer, open=False)
    history = train.fit(model, points, losses.cross_entropy, optimizer, 6, resume=True, callbacks=[theatre], **rest)
    record = theatre.record
    assert record.loss == history.loss and len(record) == 7 and record.parameters[3] is None
    assert list(record.parameters[6] or []) == [p.data for p in model.parameters()]


def test_memory_is_bounded_and_the_ends_are_kept() -> None:
    p = Value(0.0)
    record = Record([p], room=100)
    rows: list[dict[str, float]] = []
    for k in range(1, 1001):
        p.data = float(k)
        rows.append({"step": k, "loss": 1.0 / k})
        record.append(rows)
        assert sum(one is not None for one in record.parameters) <= 101
    assert (
        len(record.loss) == 1000
        and list(record.parameters[0] or []) == [0.0]
        and list(record.parameters[1000] or []) == [1000.0]
    )
    for k, one in enumerate(record.parameters):
        assert one is None or list(one) == [float(k)]
    small = record.whole(10)
    assert len(small["parameters"]) <= 11 and small["parameters"][-1][0] == 1000 and len(small["loss"]) == 1000


def test_a_reader_that_is_behind_gets_the_newest_first_and_all_of_it_in_the_end() -> None:
    _, theatre, history = run(50)
    record, seen, sent, messages = theatre.record, 0, {0}, []
    record.ended = False
    first = record.after(seen, sent, 0.0)
    assert [k for k, _ in first["parameters"]] == [50] and first["loss"] == history.loss
    assert record.after(50, sent, 0.0) is None
    record.end()
    while (message := record.after(50, sent, 0.0)) is not None:
        messages.append(message)
    assert sorted(k for message in messages for k, _ in message["parameters"]) == list(range(1, 50))


def test_numbers_that_json_cannot_hold_are_left_out() -> None:
    record = Record([Value(float("inf"))])
    record.append([{"step": 1, "loss": float("nan"), "lr": 0.1}])
    message = json.loads(json.dumps(record.whole(100), allow_nan=False))
    assert message["loss"] == [None] and decoded(message["parameters"][1][1]) == [float("inf")]
    assert decoded(encoded(record.parameters[0])) == [float("inf")]  # type: ignore[arg-type]


# ---- the local page


@pytest.fixture
def served() -> Iterator[Any]:
    model, points, optimizer = make()
    theatre = watch(model, points, losses.cross_entropy, optimizer, scenes=False, open=False)
    server = theatre.serve()
    yield model, points, optimizer, theatre, server
    server.stop()


def get(server: Any, path: str, **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    return answer.status, answer.read()


def test_the_stream_holds_the_whole_run(served: Any) -> None:
    model, points, optimizer, theatre, server = served
    history = train.fit(model, points, losses.cross_entropy, optimizer, 60, callbacks=[theatre], quiet=True)
    theatre.record.end()
    status, body = get(server, "/events")
    assert status == 200 and body.endswith(b"event: ended\ndata: {}\n\n")
    messages = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith('data: {"from')]
    assert [x for message in messages for x in message["loss"]] == history.loss
    parameters = {k: decoded(one) for message in messages for k, one in message["parameters"]}
    assert sorted(parameters) == list(range(1, 61)) and parameters[60] == [p.data for p in model.parameters()]
    status, body = get(server, "/events/7")
    assert status == 200 and json.loads(body)["parameters"][0][0] == 7


def test_only_this_page_may_ask(served: Any) -> None:
    server = served[-1]
    assert get(server, "/", Host="evil.example")[0] == 403
    assert get(server, "/events", Host="evil.example")[0] == 403
    assert get(server, "/events", Origin="http://evil.example")[0] == 403
    assert get(server, "/events/999")[0] == 404 and get(server, "/else")[0] == 404
    assert get(server, "/events/1e3")[0] == 404
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    line.request("POST", "/events")
    assert line.getresponse().status == 405
    server.site.open = MAX_PAGES
    assert get(server, "/events")[0] == 503
    server.site.open = 0


def test_pages_that_ask_at_the_same_time_do_not_exceed_the_limit() -> None:
    """Each page asks while the one before has been let in and has not got its headers yet."""
    site = LiveSite(lambda: "", cast(Any, None), 80)
    admitted: list[int] = []
    statuses: list[int] = []

    class Page(LiveAnswer):
        path, command, headers = "/events", "GET", cast(Any, {"Host": "localhost:80"})
        server = cast(Any, SimpleNamespace(site=site, was_read=lambda _: None))

        def __init__(self, others: int) -> None:
            self.others = others
            self.connection = cast(Any, SimpleNamespace(settimeout=lambda _: None))

        def send_response(self, code: int, message: str | None = None) -> None:
            admitted.append(site.open)
            if self.others:
                Page(self.others - 1).reply()

        def send_header(self, keyword: str, value: str) -> None: ...

        def end_headers(self) -> None: ...

        def send(self, status: int, kind: str, body: bytes) -> None:
            statuses.append(status)

        def stream(self, site: Any) -> None: ...

    Page(2 * MAX_PAGES).reply()
    assert len(admitted) == MAX_PAGES == max(admitted) and statuses == [503]
    assert (site.open, site.served) == (0, MAX_PAGES)


def test_a_page_that_does_not_read_does_not_stop_the_training(served: Any) -> None:
    model, points, optimizer, theatre, server = served
    deaf = socket.create_connection(("127.0.0.1", server.server_port))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    deaf.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
    history = train.fit(model, points, losses.cross_entropy, optimizer, 300, callbacks=[theatre], quiet=True)
    assert history.stopped == "epochs" and len(theatre.record) == 301
    deaf.close()


def test_the_local_page_follows_the_training(visit: Visit, served: Any) -> None:
    model, points, optimizer, theatre, server = served
    one = visit(server.url)
    assert one.inner_text("header [role='status']") == "live from Python"
    assert (
        one.locator("[data-do='live'][aria-pressed='true']").is_visible()
        and one.locator("[data-do='step']").is_disabled()
    )
    fit = [model, points, losses.cross_entropy, optimizer]
    rows: list[dict[str, float]] = []
    train.fit(
        *fit,
        20,
        callbacks=[lambda history: (rows.append(history.rows[-1]), theatre.record.append(rows))[0]],
        quiet=True,
    )
    one.wait_for_selector(".conductor .count:text-is('20 / 20')")
    one.locator("[data-do='rewind']").fill("4")  # looks back, while the training goes on
    one.wait_for_selector(".conductor .count:text-is('4 / 20')")
    assert one.locator("[data-do='live'][aria-pressed='false']").is_visible()
    train.fit(
        *fit,
        10,
        callbacks=[lambda history: (rows.append(history.rows[-1]), theatre.record.append(rows))[0]],
        quiet=True,
    )
    one.wait_for_selector(".conductor .count:text-is('4 / 30')")
    one.click("[data-do='live']")
    one.wait_for_selector(".conductor .count:text-is('30 / 30')")
    theatre.record.end()
    one.wait_for_selector("[data-do='live']", state="hidden")
    one.click("[data-do='step']")  # and the page goes on by itself
    assert one.inner_text(".conductor .count") == "31 / 31"


def test_a_page_without_python_says_so(visit: Visit) -> None:
    model, points, optimizer = make()
    theatre = watch(model, points, losses.cross_entropy, optimizer, scenes=False, open=False)
    server = theatre.serve()
    one = visit(server.url, forgive="net::ERR")
    assert server.site.open == 1 or one.wait_for_timeout(500) is None
    server.site.record = theatre.record
    server.shutdown()
    server.server_close()
    theatre.record.end()  # the stream that is open still gets its end
    one.wait_for_selector("[data-do='live']", state="hidden")


# ---- where it opens


def test_it_opens_where_somebody_sees_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: Queue[str] = Queue()
    monkeypatch.setattr("webbrowser.open", opened.put)
    monkeypatch.setattr("atexit.register", lambda f: None)
    monkeypatch.setenv("DISPLAY", ":0")
    model, points, optimizer = make()

    def fit(**more: Any) -> str:
        theatre = watch(model, points, losses.cross_entropy, optimizer, **more)
        train.fit(model, points, losses.cross_entropy, optimizer, 2, callbacks=[theatre], quiet=True)
        return capsys.readouterr().out

    assert fit() == ""  # standard output is not a terminal here
    address = opened.get(timeout=20) if (said := fit(open=True)) else ""
    assert address and address in said and opened.empty()
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    if sys.platform == "linux":  # no window to open: the address alone
        assert "http://127.0.0.1:" in fit(open=True) and opened.empty()


def test_the_end_of_a_program_waits_for_its_page_but_not_for_ever(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    *_, theatre, server = served
    monkeypatch.setattr(audience, "FAREWELL", 0.2)
    one = audience.BrowserPage.__new__(audience.BrowserPage)
    one.server = server
    one.leave()  # nobody came
    assert theatre.record.ended and server.wait(0.1) is False
    assert get(server, "/events")[0] == 200
    assert server.wait(5.0) is True


def test_fit_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _, theatre, _ = run(3)
    assert theatre.record.ended
