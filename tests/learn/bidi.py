"""Firefox through WebDriver BiDi: Debian's firefox-esr speaks it by itself, so no driver is needed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# Every request to a host goes to a proxy that does not exist: pages come from file:// or not at all.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.allow_hijacking_localhost": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "app.update.enabled": False,
    "remote.active-protocols": 1,
    "dom.events.asyncClipboard.readText": True,
    "ui.prefersReducedMotion": 1,
}


class Firefox:
    """One headless Firefox with one page: `open`, `run` (JavaScript), `press` (a key), `click`; `troubles` on the console."""

    def __init__(self, executable: str, profile: Path) -> None:
        from websockets.sync.client import connect

        lines = [f"user_pref({json.dumps(name)}, {json.dumps(x)});" for name, x in PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
        self.process = subprocess.Popen(
            [executable, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stderr is not None
        address = ""
        for line in self.process.stderr:
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                address = found[1]
                break
        assert address, "Firefox did not say where it listens"
        self.numbers = itertools.count(1)
        self.troubles: list[str] = []
        self.opened = ExitStack()
        self.link = self.opened.enter_context(connect(f"{address}/session", max_size=None, open_timeout=60))
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command, and its answer; what is logged meanwhile is kept."""
        number = next(self.numbers)
        self.link.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.link.recv(timeout=60))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.troubles.append(answer["params"]["text"] or "")
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)
        self.send("browsingContext.navigate", context=self.context, url="about:blank", wait="complete")
        self.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def open_with(self, url: str, key: str, kept: dict[str, Any]) -> None:
        """Open a page of the course when all steps of its chapter are open by this progress: what one page has written may
        reach the next one a moment later."""
        for _ in range(20):
            self.open(url, 1280, 800)
            if self.run("document.querySelectorAll('.trail .stop:disabled').length") == 0:
                return
            self.run(f"localStorage.setItem({key!r}, {json.dumps(json.dumps(kept))})")
        raise AssertionError(f"the page has not read {kept}")

    def run(self, expression: str) -> Any:
        """The value of an expression, by way of JSON."""
        answer = self.send(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value") or "null")

    def press(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keys", "actions": actions}
        self.send("input.performActions", context=self.context, actions=[source])

    def click(self, selector: str) -> None:
        box = self.run(
            f"((e) => {{ e.scrollIntoView({{block: 'nearest'}}); return e.getBoundingClientRect().toJSON(); }})"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        x, y = round(box["left"] + box["width"] / 2), round(box["top"] + box["height"] / 2)
        steps = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self.send(
            "input.performActions", context=self.context, actions=[{"type": "pointer", "id": "mouse", "actions": steps}]
        )

    def text(self, selector: str) -> str:
        found: str = self.run(f"document.querySelector({json.dumps(selector)}).textContent")
        return found

    def close(self) -> None:
        self.opened.close()
        self.process.terminate()
        self.process.communicate(timeout=60)
