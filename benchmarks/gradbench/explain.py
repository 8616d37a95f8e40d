"""Print what the compiler makes of the derivative in each module, at a small size.

python -m benchmarks.gradbench.explain            all modules
python -m benchmarks.gradbench.explain lse gmm    two of them
python -m benchmarks.gradbench.explain --write    benchmarks/results/gradbench-explain.md, which docs/gradbench.md includes
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import groupby

from .__main__ import RESULTS
from .contenders import OURS, find
from .evals import EVALS, Eval

PASS = re.compile(r"^-- (.+): ([\d,]+) instructions?$", re.M)


def explained(e: Eval) -> str:
    """Return what `explain` says of variants, kernels, branches and loops, and the length of the tape after each pass."""
    function = find(OURS, e.name, e.derivatives[0])
    arguments = function.prepare(e.make(e.smallest))
    function.call(*arguments)
    text: str = function.explain(*arguments)
    head = text.split("\n\nthe variant and the kernel")[0]
    lengths = [
        (number, [name for name, _ in group]) for number, group in groupby(PASS.findall(text), lambda found: found[1])
    ]
    passes = ", ".join(f"{number} after {' '.join(dict.fromkeys(names))}" for number, names in lengths)
    return f"{head.rstrip()}\n\ninstructions: {passes}" if passes else head.rstrip()


def section(e: Eval) -> Iterator[str]:
    size = ", ".join(f"{name}={n}" for name, n in zip(e.parameters, e.smallest))
    yield f"## {e.name}{f', {size}' if size else ''}: {e.derivatives[0]}"
    yield ""
    yield "```text"
    yield explained(e)
    yield "```"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradbench.explain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("evals", nargs="*", metavar="EVAL", help=", ".join(EVALS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    unknown = [name for name in given.evals if name not in EVALS]
    if unknown:
        parser.error(f"there is no eval {', '.join(unknown)}, only {', '.join(EVALS)}")
    text = ""
    for name in given.evals or EVALS:
        found = "\n".join(section(EVALS[name])) + "\n"
        print(found, flush=True)
        text += found
    if given.write:
        (RESULTS / "gradbench-explain.md").write_text("# What the compiler makes of them\n\n" + text, encoding="utf-8")


if __name__ == "__main__":
    main()
