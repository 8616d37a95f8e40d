"""Write docs/api.md: every public name with its signature and its docstring, in the order of `micrograd.__all__`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import micrograd

GROUPS = {  # heading -> names of micrograd.__all__
    "Values": ["Value", "no_grad", "primitive", "math"],
    "Derivatives": ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian", "jvp", "vjp", "hvp", "linearize",
                    "sparse_jacobian", "sparse_hessian", "custom_vjp", "remat", "check_grad", "detect_anomaly"],
    "Compiled functions": ["jit", "vmap"],
    "Solvers": ["solvers", "special", "stats"],
    "Other libraries and languages": ["minimize", "least_squares", "root", "to_torch", "to_jax", "export_c",
                                      "export_library", "export_onnx", "export_text", "import_text"],
    "Training": ["nn", "optim", "losses", "data", "random", "train", "plots"],
    "Learning": ["learn", "draw_dot", "explore", "frames"],
    "Errors": ["MicrogradError", "TraceError", "CompileError", "AnomalyError", "GradientError"],
}  # fmt: skip


def write_api(path: Path) -> None:
    """Write the page, if it has changed."""
    text = "\n".join(_page())
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _page() -> Iterator[str]:
    yield "# API reference\n"
    yield "Made from the signatures and docstrings of the package. Every example on this page is run by the tests.\n"
    grouped = {name for names in GROUPS.values() for name in names}
    more = [name for name in micrograd.__all__ if name not in (*grouped, "Neuron", "Layer", "MLP")]
    for heading, names in {**GROUPS, **({"More": more} if more else {})}.items():
        yield f"## {heading}\n"
        for name in names:
            if hasattr(micrograd, name):
                yield from _entry(f"micrograd.{name}", getattr(micrograd, name))


def _entry(name: str, thing: Any) -> Iterator[str]:
    if isinstance(thing, ModuleType):
        yield f"### `{name}`\n"
        yield from _text(thing.__doc__)
        for inner in getattr(thing, "__all__", [n for n in vars(thing) if not n.startswith("_")]):
            found = getattr(thing, inner, None)
            if inspect.isclass(found) or (callable(found) and getattr(found, "__doc__", None)):
                own = str(getattr(found, "__module__", None) or "").startswith(name)
                if own or name == "micrograd.math":
                    yield from _directive(f"{name}.{inner}", found)
        return
    yield from _directive(name, thing)


def _directive(name: str, thing: Any) -> Iterator[str]:
    kind = "class" if inspect.isclass(thing) else "function"
    yield f"::::{{py:{kind}}} {name}{_signature(thing)}\n"
    yield from _text(inspect.getdoc(thing))
    if kind == "class":
        nodes = []  # the many methods that are functions of the table, in one list
        for inner, method in vars(thing).items():
            if not inner.startswith("_") and callable(method) and getattr(method, "__doc__", None):
                if method.__doc__.endswith("as a new node."):
                    nodes.append(
                        f"`{inner}{_signature(method).replace(', /', '')}`" if "np." not in method.__doc__ else ""
                    )
                    continue
                yield f":::{{py:method}} {inner}{_signature(method)}\n"
                yield from _text(inspect.getdoc(method))
                yield ":::\n"
        if any(nodes):
            yield f"Functions that are methods too, each of which makes a new node: {', '.join(filter(None, nodes))}.\n"
    yield "::::\n"


def _signature(thing: Any) -> str:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)" if not inspect.isclass(thing) else ""
    if inspect.isclass(thing):
        found = found.replace(return_annotation=found.empty)
    if len(str(found)) > 400:  # names and defaults alone
        bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
        found = found.replace(parameters=bare, return_annotation=found.empty)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(found))  # the quotes of annotations, and not those of defaults
    text = re.sub(r"\(self(: \w+)?(, /)?(, )?", "(", text).replace("''", '""').replace("\n", " ")
    return "(...)" if "<" in text else text


def _text(doc: str | None) -> Iterator[str]:
    """A docstring as Markdown: its examples as console blocks, its tables and formulas as they are."""
    block: list[str] = []
    for line in [*inspect.cleandoc(doc or "").splitlines(), ""]:
        code = line.lstrip().startswith((">>>", "...")) or (block and line.strip() and not line.startswith("#"))
        if code:
            block.append(line)
            continue
        if block:
            yield "```pycon\n" + inspect.cleandoc("\n".join(block)).replace("  # doctest: +ELLIPSIS", "") + "\n```\n"
            block = []
        if line.startswith("    "):
            yield f"    {line}"
        else:
            yield re.sub(r"<([a-z])", r"&lt;\1", line)
    yield ""


if __name__ == "__main__":
    write_api(Path(sys.argv[1]))
