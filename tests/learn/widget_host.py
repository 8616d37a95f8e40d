"""A page that runs a widget's module as anywidget does: from one blob, with a model that syncs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd.learn import page


def widget_page(
    visit: Callable[..., Any], folder: Path, files: Any, styles: tuple[str, ...], state: str, large: str
) -> Any:
    """Open it. `state` has the model's fields as JavaScript, and `large` the one that is left out of what is recorded.

    In the page, `model` is the widget's model, `sent` what it saved, `python(name, x)` a change by Python, `message(x)` a
    message from it, and `count()` the number of listeners.
    """
    source = json.dumps(page.module(None, files)).replace("</", "<\\/")
    script = f"""
      const listeners = {{}}, state = {{ {state} }};
      window.sent = [];
      window.model = {{
        get: (name) => state[name],
        set: (name, x) => {{ state[name] = x; }},
        on: (event, f) => {{ (listeners[event] ??= []).push(f); }},
        off: (event, f) => {{ listeners[event] = (listeners[event] ?? []).filter((g) => g !== f); }},
        save_changes: () => {{ window.sent.push(JSON.parse(JSON.stringify({{ ...state, {large}: 0 }}))); }},
        send: (x) => {{ window.asked = x; }},
      }};
      window.python = (name, x) => {{ state[name] = x; for (const f of listeners["change:" + name] ?? []) f(); }};
      window.message = (x) => {{ for (const f of listeners["msg:custom"] ?? []) f(x); }};
      window.count = () => Object.values(listeners).flat().length;
      const blob = new Blob([{source}], {{ type: "text/javascript" }});
      const widget = (await import(URL.createObjectURL(blob))).default;
      window.stop = widget.render({{ model: window.model, el: document.getElementById("here") }});
      document.body.dataset.ready = "yes";
    """
    file = folder / "widget.html"
    head = f'<!doctype html><meta charset="utf-8"><style>{page.style(*styles)}</style>'
    file.write_text(f'{head}<div id="here"></div><script type="module">{script}</script>', encoding="utf-8")
    one = visit(file.as_uri())
    one.wait_for_selector("body[data-ready]")
    return one
