"""One look for every drawing: the colours, light and dark, and the style of a graph.

`draw_dot` writes the colours into the picture itself, because converters know no variables; the page and the widget
set them as CSS variables. Both use the same rules. Every line and border has a contrast of at least 3:1 with what is
behind it, every text at least 4.5:1.
"""

from __future__ import annotations

import re

LIGHT = {
    "paper": "#f6f7f9", "card": "#ffffff", "field": "#f4f6f9", "ink": "#1b222c", "soft": "#55606e", "line": "#7c8794",
    "faint": "#dfe3e9", "data": "#1a56b8", "grad": "#a94a06", "local": "#0a6e69", "active": "#a87700", "glow": "#fff3cb",
    "bad": "#a3262a", "good": "#23693a",
}  # fmt: skip
DARK = {
    "paper": "#12161c", "card": "#1a2029", "field": "#232b37", "ink": "#e8ecf2", "soft": "#a3aebd", "line": "#748295",
    "faint": "#303a48", "data": "#82b6ff", "grad": "#ffab66", "local": "#58d3c8", "active": "#e3b93a", "glow": "#3b3416",
    "bad": "#ff9a94", "good": "#7fd897",
}  # fmt: skip
MONO = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
# $name is a colour. A card: name, a thin line, then rows of a word and a number.
_GRAPH = f"""
.mg-page{{fill:$card}}
.mg-card{{fill:$card;stroke:$line;stroke-width:1.2}}
.mg-leaf{{fill:$field}}
.mg-root{{stroke:$ink;stroke-width:1.8}}
.mg-stack{{fill:$field;stroke:$line}}
.mg-op{{fill:$field;stroke:$line;stroke-width:1.2}}
.mg-edge{{fill:none;stroke:$line;stroke-width:1.5}}
.mg-tip{{fill:$line}}
.mg-rule{{stroke:$faint}}
.mg-name,.mg-sign{{fill:$ink;font-weight:600}}
.mg-word{{fill:$soft}}
.mg-data{{fill:$data}}
.mg-grad{{fill:$grad}}
.mg-local{{fill:$local}}
.mg-halo{{fill:none;stroke:$card;stroke-width:4px;stroke-linejoin:round}}
.mg-drawing text{{font-family:{MONO};font-size:14px}}
.mg-drawing .mg-word{{font-size:12px}}
.mg-drawing .mg-local,.mg-drawing .mg-halo{{font-size:11.5px}}
"""


def graph(colours: dict[str, str] | None = None) -> str:
    """The style of a graph: with colours written out, or as variables of the page around it."""
    return re.sub(r"\$(\w+)", lambda m: colours[m[1]] if colours else f"var(--{m[1]})", _GRAPH).strip()


def drawing() -> str:
    """The style sheet of a picture that stands alone, light or dark as its reader is."""
    dark = "\n".join(line for line in graph(DARK).splitlines() if "#" in line)
    return f"{graph(LIGHT)}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}"


def variables() -> str:
    """The colours as CSS variables of the page."""
    light, dark = (";".join(f"--{name}:{x}" for name, x in look.items()) for look in (LIGHT, DARK))
    return (
        f".mg{{{light};color-scheme:light}}\n"
        f'.mg[data-theme="dark"]{{{dark};color-scheme:dark}}\n'
        f'@media (prefers-color-scheme:dark){{.mg:not([data-theme="light"]){{{dark};color-scheme:dark}}}}'
    )
