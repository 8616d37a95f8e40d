"""What `jit(f).explain(...)` prints: the tape after each pass, the variants, and the kernels."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

from micrograd.compile import backend as backends
from micrograd.compile import pipeline
from micrograd.compile.kernel import Kernel
from micrograd.compile.variants import Variant
from micrograd.tape.tape import Tape
from micrograd.tape.trace import Trace, user_depth

LONGEST = 40  # lines of a tape that are printed in full
LARGE, LONG = (
    10_000,
    1.0,
)  # instructions and seconds of a trace with loops that are written out, of which there is a warning


class Explanation(str):
    """A text that a notebook and the interpreter show as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def report(owner: Any, variants: list[Any], variant: Variant, kernel: Kernel) -> Explanation:
    """The report on one kernel of one variant of a compiled function."""
    kernels = [k for v in variants for k in v.kernels.values()]
    lines = [f"{owner!r}: {_count(len(variants), 'variant')}, {_count(len(kernels), 'kernel')}", ""]
    for number, v in enumerate(variants):
        mark = "*" if v is variant else " "
        guards = _count(len(v.tape.guards), "guard")
        lines.append(f"{mark} variant {number}: {_count(len(v.tape), 'instruction')}, {guards}{_outcomes(v)}")
        for k in v.kernels.values():
            chosen = ">" if k is kernel else " "
            lines.append(f"  {chosen} {describe(k)}")
            lines += [f"      {note}" for note in k.text.notes]
    lines += choices(variant.trace)
    lines += ["", f"the variant and the kernel for these arguments are marked; the tape of the variant, "
              f"after each pass of {kernel.goal.options.backend}'s pipeline:"]  # fmt: skip
    seen: list[tuple[str, Tape]] = [("trace", variant.tape)]
    machine = backends.find(kernel.goal.options.backend)
    lowered = pipeline.run(pipeline.PASSES, variant.tape, kernel.goal, machine, seen)
    pipeline.run(pipeline.ORDERING, lowered, kernel.goal, machine, seen)
    before = ""
    for name, tape in seen:
        text = str(tape)
        lines += ["", f"-- {name}: {_count(len(tape), 'instruction')}"]
        lines += ["   (no change)"] if text == before else shortened(text.splitlines())
        before = text
    return Explanation("\n".join(lines))


def choices(trace: Trace) -> list[str]:
    """What became of each `if` and loop of a function with branches, by its place in the source."""
    if not trace.notes:
        return []
    title = "choices in the source:" if trace.merged else "the paths of this function are compiled one by one:"
    return ["", title, *(f"   {line + ': ' if line else ''}{what}" for line, what in trace.notes.items())]


def describe(kernel: Kernel) -> str:
    """One kernel in one line: what it computes, why it was compiled, how long that took."""
    goal = kernel.goal
    by = [_count(len(goal.inputs), "input")] * bool(goal.inputs) + [_count(len(goal.params), "parameter")] * bool(
        goal.params
    )
    what = "values" + (f" and gradients by {' and '.join(by)}" if by else "")
    where = "one point" if not goal.rows else "rows, summed" if goal.reduced else "rows"
    modes = [name for name in ("exact", "fastmath", "float32") if getattr(goal.options, name)]
    return (
        f"kernel for {what} at {where}{''.join(f', {m}' for m in modes)}: {_count(kernel.instructions, 'instruction')}, "
        f"level {kernel.level}, compiled in {1000 * kernel.seconds:.0f} ms because {kernel.why}"
    )


def branch_line(trace: Trace) -> str:
    """The file and line of the last branch on the path of a trace."""
    lines = getattr(trace, "lines", None)
    return str(lines[-1]) if lines else "an unknown line"


def public_names(f: Any) -> list[str]:
    """What dir() shows of a compiled function: what it offers, and what it has from the function."""
    return sorted({"tape", "source", "explain", "__call__", "__doc__", "__name__", "__wrapped__", *_own(f)})


def _own(f: Any) -> list[str]:
    """The public attributes of a callable object, such as the parameters of a model; a plain function has none."""
    shown = dir(f)
    return [name for name in getattr(f, "__dict__", {}) if not name.startswith("_") and name in shown]


def add_note(error: BaseException, note: str) -> None:
    """Add a line to an exception, as Python 3.11 and later show it; in Python 3.10 to its message too, where that is a text."""
    if hasattr(error, "add_note"):
        error.add_note(note)
        return
    with suppress(AttributeError):  # of an exception without a __dict__
        error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])


def _outcomes(variant: Variant) -> str:
    guards = [f"{how} is {str(went).lower()}" for how, _, _, went in variant.tape.guards]
    return "" if not guards else f" ({', '.join(guards[:4])}{', ...' if len(guards) > 4 else ''})"


def shortened(lines: list[str]) -> list[str]:
    """Return the lines of a tape, without those in the middle where there are many."""
    if len(lines) <= LONGEST:
        return [f"   {line}" for line in lines]
    half = LONGEST // 2
    hidden = len(lines) - 2 * half
    return [f"   {line}" for line in [*lines[:half], f"... {hidden:,} lines ...", *lines[-half:]]]


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


class Why(NamedTuple):
    """Why something is not compiled as well as it could be: the fact, the line, and what to write instead, if anything."""

    fact: str
    where: str = ""
    way: str = ""
    avoidable: bool = True

    def at(self) -> str:
        """Return the line, as a sentence goes on."""
        return f", at {os.path.basename(self.where)}" if self.where else ""


def warn_of_loops(owner: Any, instructions: int, seconds: float, why: Why | None) -> None:
    """Warn of loops that are not loops of the compiled code."""
    reason = f", since {why.fact}{why.at()}" if why else ""
    warnings.warn(
        f"{owner!r} has become {instructions:,} instructions in {seconds:.1f} s: a loop in it is written out, or followed "
        f"path by path{reason}\n"
        f"  {why.way if why and why.way else 'Write it with numbers, lists and arrays of numbers, and loops over ranges.'}\n"
        "  explain(...) shows what became of each loop.",
        RuntimeWarning,
        stacklevel=user_depth(),
    )


def warn_of_time(owner: Any, row: int, found: Trace, left: int) -> None:
    """Warn of rows that are run in plain Python, since compiling their paths takes longer than it saves."""
    warnings.warn(
        f"the rows of {owner!r} take many different paths, as row {row} does at {branch_line(found)}, and compiling each of "
        f"them takes longer than to run its rows\n"
        f"  The {left:,} rows that are left are run in plain Python, one by one, in this call and in later ones.\n"
        "  Write the choice as micrograd.math.where(condition, a, b), or a loop with a number of iterations that rows share.",
        RuntimeWarning,
        stacklevel=user_depth(),
    )


def warn_of_paths(owner: Any, row: int, found: Trace, most: int) -> None:
    """Warn of rows that take more paths than are compiled."""
    warnings.warn(
        f"the rows of {owner!r} take more than {most:,} different paths through its branches, "
        f"as row {row} does at {branch_line(found)}\n"
        "  Each path is compiled on its own. The rows that are left are run in Python, one by one, which is slow.\n"
        "  Write the choice as micrograd.math.where(condition, a, b).",
        RuntimeWarning,
        stacklevel=user_depth(),
    )
