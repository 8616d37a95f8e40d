"""`watch`: see a network learn, as a page that trains by itself, live from `fit`, or as a widget in a notebook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from micrograd.data import names
from micrograd.errors import MicrogradError
from micrograd.learn import audience, page, texts
from micrograd.learn.record import Record
from micrograd.learn.saved import SavedPage
from micrograd.learn.scene import PLAYGROUND, rules, scene, used
from micrograd.learn.scenes import presets
from micrograd.optim import Optimizer

PAGE = 150_000  # numbers of a recorded run that a page holds: 1.6 MB as text
WORDS = ("language", "direction", "numbers", "spoken", "frames", "ideas", "page", "keys", "labs", "orders", "theatre")
_SIZE = 'style="width:100%;height:760px;border:1px solid #8884;border-radius:12px"'
_FRAME = '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts" loading="lazy" {size}></iframe>'


def watch(
    model: Any = None,
    data: tuple[Sequence[Any], Sequence[Any]] | None = None,
    loss: Callable[[Any, Any], Any] | None = None,
    optimizer: Optimizer | None = None,
    *,
    penalty: Callable[[], Any] | None = None,
    lr: float = 0.1,
    steps: int = 0,
    title: str = "",
    scenes: bool = True,
    open: bool | None = None,
) -> Theatre:
    """Watch a model learn: its data and decision boundary, its weights and gradients, its loss, step by step.

    >>> from micrograd import data, losses, nn, optim, train
    >>> from micrograd.learn import watch
    >>> X, y = data.moons(40)
    >>> model = nn.MLP(2, [8, 2], rng=0)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.5)
    >>> theatre = watch(model, (X, y), losses.cross_entropy, optimizer, open=False)
    >>> history = train.fit(model, (X, y), losses.cross_entropy, optimizer, 20, callbacks=[theatre], quiet=True)
    >>> theatre
    <watch: 42 parameters, 40 points, 20 steps>

    In a notebook the result shows itself; elsewhere `.show()` opens it in the browser and `.save("run.html")` writes it as
    one page that needs no network. On the page the model can be trained on, from any step, with other points or another
    learning rate: it computes what the engine computes.

    As a callback of `fit` it follows the training live: below the cell in a notebook (with anywidget), otherwise on a local
    page. A slow page, or none, does not slow the training down.

    model      anything with parameters() that takes a point; the layers of an nn.MLP are drawn as a network
    data       (inputs, targets): points in the plane have a decision boundary
    loss       as in fit; by default the one that suits the outputs and the targets
    optimizer  as in fit; the page trains with SGD, Adam and AdamW. Without one, SGD with the learning rate `lr`
    penalty    as in fit
    steps      how many steps of a learning rate that follows a schedule the page should know
    scenes     whether the page also has the runs that fail on purpose. With no model it has these alone
    open       as a callback: open the local page in a browser (default: where somebody is there to see it)
    """
    return Theatre(model, data, loss, optimizer, penalty, lr, steps, title, scenes, open)


class Theatre(SavedPage):
    """A run to watch: `.save(path)`, `.html`, `.show()`, `.widget()`, and a callback for `fit`."""

    def __init__(
        self, model: Any, data: Any, loss: Any, optimizer: Any, penalty: Any, lr: float, steps: int, title: str,
        scenes: bool, open: bool | None,
    ) -> None:  # fmt: skip
        self.scene: dict[str, Any] | None = None
        self.record: Record | None = None
        if model is not None:
            if data is None:
                raise MicrogradError("watch(model, data) needs the data that the model learns: (inputs, targets).")
            title = title or texts.say("theatre.own")
            self.scene = scene(model, data, loss, optimizer, penalty=penalty, lr=lr, steps=steps, title=title)
            self.record = Record(model.parameters())
        self._scenes, self._open = scenes or model is None, open
        self._live: Any = None

    # ---- the page

    @property
    def play(self) -> dict[str, Any]:
        """What the page is given: scenes and texts."""
        scenes = presets() if self._scenes else []
        if self.scene is not None and self.record is not None:
            ran = {"record": self.record.whole(PAGE)} if len(self.record) > 1 else {}
            scenes = [{**self.scene, **ran}, *scenes]
        words = {key: entry for key, entry in texts.current().items() if key in WORDS}
        play = {"scenes": scenes, "first": scenes[0]["key"], "texts": words, "ideas": texts.lesson()["ideas"]}
        return play | ({"optimizers": rules(), "names": names()} if self._scenes else {})

    def page(self, live: str = "", languages: list[dict[str, str]] | None = None) -> str:
        """The whole page; `live` is where the local server sends the steps, `languages` where it is in other languages."""
        play = self.play | ({"languages": languages} if languages else {})
        if live:  # the steps come by themselves
            play["scenes"][0].pop("record", None)
            play["live"] = live
        ops = used(play["scenes"])
        bundle = (ops | PLAYGROUND, page.WATCH) if self._scenes else (ops, page.RUN)
        script = page.module(*bundle).replace("export default{render};\n", page._START)
        title = f"micrograd watch · {play['scenes'][0]['title'] or 'moons'}"
        return page.document(play, script, page.style("page", "theatre"), title, "'self'" if live else "'none'")

    def show(self) -> None:
        """Show the page: below the cell in a notebook, in the browser elsewhere."""
        if audience.in_notebook():
            sys.modules["IPython"].display.display(self)
            return
        import tempfile
        import webbrowser

        handle, name = tempfile.mkstemp(".html", "micrograd-")
        os.close(handle)
        webbrowser.open(Path(self.save(name)).as_uri())

    def widget(self) -> Any:
        """A widget whose `step`, `rate`, `zeroes`, `playing` and `points` Python can read and set (needs anywidget)."""
        from micrograd.learn.widget import make_theatre

        return make_theatre(self.play, fed=False)

    # ---- live, as a callback of fit

    def __call__(self, history: Any) -> None:
        """Take the newest step of a history; the first call opens the page."""
        if self.record is None:
            raise MicrogradError("watch() without a model has no run to follow: pass it the model and the data of fit.")
        if self._live is None:
            self._live = self._begin()
        self.record.append(history.rows)
        self._live.told()

    def close(self) -> None:
        """Say that the run has ended; `fit` does so."""
        if self.record is not None and self._live is not None:
            self.record.end()
            self._live.told()
            self._live = None

    def _begin(self) -> Any:
        assert self.record is not None
        self.record.ended = False
        return audience.gather(self, self.record, self._open)

    def serve(self, port: int = 0) -> Any:
        """Serve the run on a local page that follows it live; returns the server, with its `url` and `stop()`."""
        from micrograd.learn.live import LiveServer

        if self.record is None:
            raise MicrogradError("watch() without a model has no run to follow: pass it the model and the data of fit.")
        return LiveServer(lambda: self.page(live="/events"), self.record, port)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        frame = _FRAME.format(title="micrograd watch", page=escape(self.html, quote=True), size=_SIZE)
        return {"text/html": frame, "text/plain": repr(self)}

    def __repr__(self) -> str:
        if self.scene is None or self.record is None:
            return f"<watch: {len(presets())} scenes>"
        parameters, points = len(self.scene["start"]), len(self.scene["points"])
        return f"<watch: {parameters:,} parameters, {points:,} points, {len(self.record) - 1:,} steps>"
