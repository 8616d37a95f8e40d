"""Time the fourteen projects of examples/gallery beside SciPy, JAX and Numba, where these are installed.

    python benchmarks/gallery.py                  # all of them
    python benchmarks/gallery.py fit options      # some
    python benchmarks/gallery.py --write          # and write docs/gallery.md with its pictures

Each way of each project runs in a process of its own: the first call there is the time from nothing (without imports) to a
result, the steady time is the best of the later calls. The results of all ways are compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "examples" / "gallery"
NAMES = ["fit", "sampler", "options", "curves", "events", "control", "kinematics", "kalman", "digits", "newton",
         "molecules", "rendering", "process", "interop"]  # fmt: skip
OURS = "micrograd"
BESIDE = "# ---- beside it"
AGREE = 1e-3  # relative: finite differences and minimizers with them have no more digits
CALLS, SECONDS = (
    100,
    5.0,
)  # later calls that are timed, and how long at most; the first ones may be compared with plain Python


def load(name: str) -> Any:
    """Import a project."""
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", GALLERY / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(name: str, way: str) -> dict[str, Any]:
    """Run one way of a project here: seconds of the first call and of the best later one, and the numbers it gives."""
    module = load(name)
    begin = time.perf_counter()
    run = (module.solve if way == OURS else module.OTHERS[way])()
    found = run()
    first, steady, calls = time.perf_counter() - begin, float("inf"), 0
    until = time.perf_counter() + SECONDS
    while calls < 3 or (time.perf_counter() < until and calls < CALLS):
        start = time.perf_counter()
        found, calls = run(), calls + 1
        steady = min(steady, time.perf_counter() - start)
    numbers = module.numbers(found) if way == OURS else found
    return {"first": first, "steady": steady, "numbers": [float(x) for x in numbers]}


def apart(name: str, way: str) -> dict[str, Any] | str:
    """The same in a process of its own; why not, where it fails: a library that is not installed, for example."""
    command = [sys.executable, str(Path(__file__)), "--one", name, way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines_of(name: str) -> int:
    """The lines of code of a project, without blank ones, its docstring, and what stands beside it."""
    text = (GALLERY / f"{name}.py").read_text(encoding="utf-8").split(BESIDE)[0].split('"""', 2)[2]
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def lines_beside(name: str, way: str) -> int:
    """The lines of code of another way, without what it shares with micrograd's."""
    source = inspect.getsource(load(name).OTHERS[way])
    return sum(1 for line in source.splitlines() if line.strip())


def seconds(x: float) -> str:
    """A time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if x >= size or unit == "µs":
            return f"{x / size:.3g} {unit}"
    raise AssertionError


def compared(name: str) -> list[tuple[str, dict[str, Any] | str, str]]:
    """All ways of a project: name, times, and whether the numbers are those of micrograd."""
    ours = apart(name, OURS)
    rows: list[tuple[str, dict[str, Any] | str, str]] = [(OURS, ours, "")]
    for way in load(name).OTHERS:
        found = apart(name, way)
        verdict = ""
        if not isinstance(found, str) and not isinstance(ours, str):
            pairs = list(zip(ours["numbers"], found["numbers"], strict=True))
            size = max(abs(a) for a, _ in pairs)
            worst = max(abs(a - b) for a, b in pairs) / (size or 1.0)
            verdict = "agrees" if worst <= AGREE else f"DIFFERS by {worst:.1e}"
        rows.append((way, found, verdict))
    return rows


def report(name: str, rows: list[tuple[str, dict[str, Any] | str, str]]) -> None:
    """Print a project."""
    print(f"\n{name}: {title(name)} ({lines_of(name)} lines)")
    for way, found, verdict in rows:
        if isinstance(found, str):
            print(f"  {way:26} {found[:90]}")
        else:
            print(f"  {way:26} first {seconds(found['first']):>9}, then {seconds(found['steady']):>9}   {verdict}")


def title(name: str) -> str:
    """The first line of a project's docstring."""
    return str(load(name).__doc__).splitlines()[0].rstrip(".")


# ---- the page


def write(found: dict[str, Any]) -> None:
    """Write docs/gallery.md, and a picture of each project."""
    parts = [HEAD.format(machine=f"{platform.machine()}, Python {platform.python_version()}")]
    for name in NAMES:
        module = load(name)
        head, about = str(module.__doc__).strip().split("\n\n", 1)
        picture(name, module)
        code = (GALLERY / f"{name}.py").read_text(encoding="utf-8").split(BESIDE)[0].split('"""', 2)[2].strip()
        rows = []
        for way, times, _ in found[name]:
            if isinstance(times, str):
                continue
            count = lines_of(name) if way == OURS else lines_beside(name, way)
            rows.append(f"| {way} | {seconds(times['first'])} | {seconds(times['steady'])} | {count} |")
        table = "\n".join(["| | first call | later calls | lines |", "| --- | --: | --: | --: |", *rows])
        parts.append(
            f"## {head.rstrip('.')}\n\n{about}\n\n![{head.rstrip('.')}](images/gallery-{name}.svg)\n\n```python\n{code}\n\n\n"
            f"result = solve()()\n```\n\n{table}\n\nThe script: [examples/gallery/{name}.py](../examples/gallery/{name}.py).\n"
        )
    (ROOT / "docs" / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


HEAD = """# Gallery

Fourteen small projects, each written as plain Python on numbers. Every section shows the whole program; `solve()` returns a
function whose first call compiles. The table of a section has the times of the same task with other libraries, where these
are the usual choice. `python benchmarks/gallery.py` measures them again, each in a process of its own, and checks that all
results agree. The times of a section are from one run on {machine}, on two cores that did other work
too: read the ratios, and not the times. The first call includes the import of what it needs; a later call is the best of 100,
of which the first ones may be compared with plain Python. The lines of an alternative are those that it does not share with the
program above.
"""


def picture(name: str, module: Any) -> None:
    """Draw a project into docs/images."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "gallery"
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
    module.draw(ax, module.solve()())
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#c9ced8")
    figure.savefig(ROOT / "docs" / "images" / f"gallery-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    """Measure, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="project", help=", ".join(NAMES))
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md and its pictures")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return 0
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no project {', '.join(sorted(unknown))}: {', '.join(NAMES)}")
    found = {}
    for name in options.names or NAMES:
        found[name] = compared(name)
        report(name, found[name])
        sys.stdout.flush()
    if options.write:
        write(found)
    return int(any("DIFFERS" in verdict for rows in found.values() for _, _, verdict in rows))


if __name__ == "__main__":
    sys.exit(main())
