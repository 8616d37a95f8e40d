"""Programs whose arms return constants, truths, texts, containers and mixtures, and call what is not merged.

Each result is compared as a whole: which containers there are, which constants, and the bits of each number. First calls are
compared as well as later ones, and any of the points may be the first. With the sum of its numbers for a result (`summed`),
such a program also runs in all ways in which the others run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzz.generate import Program, Writer

CALLS = ("print(end='')", "np.linspace(0.0, 1.0, 3)", "warnings.warn('seen')", "re.match('a+', 'aab')",
         "list(itertools.permutations([1, 2, 3]))", "logging.getLogger('fuzz').debug('%s', 1)")  # fmt: skip
CONSTANTS = ("None", "True", "False", "'a'", "'ab'", "()", "3", "0.5", "-0.0", "[]", "{}", "...", "(1, 'b')", "1j")
SUMMED = """
def total(r):
    if r is None or r is ... or isinstance(r, (str, complex)):
        return 0.5
    if isinstance(r, dict):
        r = list(r.values())
    if isinstance(r, (list, tuple)):
        s = 0.25
        for x in r:
            s = s * 0.5 + total(x)
        return s
    return r * 1.0

arms = f

def f(*xs):
    return total(arms(*xs))
"""


# ---- what programs of this kind have in addition


def statement(w: Writer) -> None:
    """A call that is not merged, or an arm that returns."""
    if w.r.random() < 0.25:
        call(w)
        return
    w.write(f"if {w.test()}:")
    arm(w)
    if w.r.random() < 0.2:
        w.write("else:")
        arm(w)


def arm(w: Writer) -> None:
    """The body of an arm that returns something, perhaps after a call that is not merged."""
    outer, w.scope = w.scope, w.scope.inner()
    w.depth += 1
    if w.r.random() < 0.5:
        call(w)
    w.write(f"return {result(w)}")
    w.depth -= 1
    w.scope = outer


def call(w: Writer) -> None:
    """A call of a library that is not merged. What it gives is the same in every run, and may be used."""
    r = w.r
    kind = r.random()
    if kind < 0.6:
        w.write(r.choice(CALLS))
    elif kind < 0.8:
        w.scope.numbers.append(w.new("v"))
        w.write(f"{w.scope.numbers[-1]} = float(np.linspace(0.0, 1.0, 3)[{r.randint(0, 2)}])")
    elif kind < 0.9:
        w.scope.texts.append(w.new("t"))
        w.write(f"{w.scope.texts[-1]} = re.match('a+', {r.choice(('aab', 'ab'))!r}).group()")
    else:
        w.scope.counters.append(w.new("n"))
        w.write(f"{w.scope.counters[-1]} = len(np.linspace(0.0, 1.0, {r.randint(1, 3)}))")


def result(w: Writer) -> str:
    """What an arm returns: in half of the programs, all arms arrange their results in the same way."""
    if w.arranged is None:
        w.arranged = _arrangement(w, 0) if w.r.random() < 0.5 else ""
    return _filled(w, w.arranged or _arrangement(w, 0))


def _arrangement(w: Writer, deep: int) -> Any:
    """How a result is arranged: the kind of a part, or a container with parts."""
    r = w.r
    kind = r.random()
    if deep > 1 or kind < 0.55:
        return r.choice(("number", "number", "constant", "truth", "text", "whole"))
    parts = [_arrangement(w, deep + 1) for _ in range(r.randint(1, 3))]
    return r.choice(("list", "tuple", "dict", "named", "lists" if w.scope.lists else "tuple")), parts


def _filled(w: Writer, arranged: Any) -> str:
    r, s = w.r, w.scope
    if isinstance(arranged, tuple):
        kind, parts = arranged
        items = [_filled(w, part) for part in parts]
        if kind == "lists" and s.lists:
            return r.choice(s.lists)
        if kind == "dict":
            return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip("abc", items)) + "}"
        if kind == "named":
            w.classes.add("Pair")
            return f"Pair({items[0]}, {items[-1]})"
        return f"[{', '.join(items)}]" if kind == "list" else f"({', '.join(items)},)"
    if arranged == "number":
        return w.number(1)
    if arranged == "truth":
        return r.choice((f"({w.test()})", f"({w.test()})", "True", "False"))
    if arranged == "text":
        return r.choice((*s.texts, "'a'", "'ab'"))
    if arranged == "whole":
        return r.choice((*s.counters, "1", "2"))
    return r.choice(CONSTANTS)


def summed(program: Program) -> Program:
    """The same program with a number for its result: the sum of what is in it."""
    return program._replace(text=program.text + SUMMED, results=False)


# ---- how they are compared


def laid_out(x: Any) -> Any:
    """A result as something that is equal to another one only if it is the same: containers, constants and bits."""
    from fuzz.check import bits

    if hasattr(x, "dtype"):
        x = x.item()
    if x is None or x is ... or isinstance(x, (bool, str, complex)):
        return type(x).__name__, repr(x)
    if isinstance(x, dict):
        return "dict", tuple(x), tuple(map(laid_out, x.values()))
    if isinstance(x, (list, tuple)):
        return type(x).__name__, tuple(map(laid_out, x))
    return ("whole", x) if isinstance(x, int) else ("number", bits(float(getattr(x, "data", x))))


def numbers_in(x: Any) -> list[float]:
    """The numbers of a result that are no constants of another kind, from left to right."""
    if isinstance(x, dict):
        return [y for item in x.values() for y in numbers_in(item)]
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in numbers_in(item)]
    return [] if x is None or x is ... or isinstance(x, (bool, str, complex)) else [float(getattr(x, "data", x))]


def agrees(program: Program, points: list[list[float]], rng: random.Random, thorough: bool) -> int:
    """Raise Failure where a result is not as a whole what eager code gives; else how many points were compared."""
    from fuzz.check import ERRORS, NAMESPACES, REFUSED, TRANSFORMS
    from fuzz.generate import build
    from fuzz.history import _interpreted
    from twins import PYTHON, C

    def eager(twin: Any, xs: Sequence[float]) -> Any:
        captured = [twin.Value(x) for x in program.captured]
        return build(program, NAMESPACES[id(twin)], captured, TRANSFORMS[id(twin)])(*map(twin.Value, xs))

    known: list[
        tuple[list[float], Any]
    ] = []  # the points at which eager code raises nothing, and what it returns there
    for xs in points:
        try:
            known.append((xs, eager(C, xs)))
        except (*ERRORS, *REFUSED):
            continue
    if "grad(" not in program.text:
        for xs, want in known:
            _same(f"the Python engine at {xs}", eager(PYTHON, xs), want)
    if not known:
        return 0
    ways: list[Callable[[], None]] = [lambda: _points_agree(program, known, rng, exact=rng.random() < 0.3)]
    if thorough:
        ways = [lambda: _points_agree(program, known, rng, exact=False, wait=True),
                lambda: _points_agree(program, known, rng, exact=True, wait=True),
                lambda: _rows_agree(program, known, rng)]  # fmt: skip
    with _interpreted():
        for way in ways:
            try:
                way()
            except REFUSED:
                continue
    return len(known)


def _same(what: str, got: Any, want: Any) -> None:
    from fuzz.check import Failure

    if laid_out(got) != laid_out(want):
        raise Failure(f"{what}: {got!r} is not {want!r}")


def _points_agree(
    program: Program, known: list[tuple[list[float], Any]], rng: random.Random, exact: bool, wait: bool = False
) -> None:
    """Calls of jit, with each of the points as the first one; two calls at each point, and some on Values in between."""
    from fuzz.check import ERRORS, REFUSED, function
    from micrograd import jit
    from twins import C

    catches = "except" in program.text  # an error of arithmetic, which floats have and Values do not

    def plain(xs: list[float]) -> Any:
        try:
            return function(program)[0](*xs)
        except ERRORS as error:
            return error

    turns = range(len(known)) if wait else [rng.randrange(len(known))]
    for first in turns:
        f, _ = function(program)
        h = jit(f, exact=exact, wait=wait)
        for turn, (xs, want) in enumerate([*known[first:], *known[:first]]):
            for call_number in ("first", "second"):
                how = f"jit({exact=}, {wait=}) at {xs}, {call_number} call, point {turn} of {len(known)}"
                try:
                    got = h(*map(C.Value, xs)) if rng.random() < 0.1 else h(*xs)
                except REFUSED:
                    continue
                if catches and (isinstance(told := plain(xs), Exception) or laid_out(got) == laid_out(told)):
                    continue
                if exact:
                    _same(how, got, want)
                else:
                    _nearly(how, program, xs, got, want)


def _nearly(what: str, program: Program, xs: list[float], got: Any, want: Any) -> None:
    """The same containers and constants, and numbers whose sum is as close as rounding allows."""
    from fuzz.check import Failure, bound, near, unit

    if _without_numbers(got) != _without_numbers(want):
        raise Failure(f"{what}: {got!r} is not {want!r}")
    if laid_out(got) != laid_out(want):
        whole = summed(program)
        space: dict[str, Any] = {"f": None}
        exec(SUMMED, space)
        room = bound(whole, xs, unit(0, len(xs)), samples=16).room
        near(f"the sum of the numbers by {what}", _number(space["total"](got)), _number(space["total"](want)), room)


def _number(x: Any) -> float:
    return float(getattr(x, "data", x))


def _without_numbers(x: Any) -> Any:
    """A result as laid_out describes it, with one number like another."""
    found = laid_out(x)

    def blank(part: Any) -> Any:
        if isinstance(part, tuple):
            return ("number",) if part[:1] == ("number",) else tuple(map(blank, part))
        return part

    return blank(found)


def _rows_agree(program: Program, known: list[tuple[list[float], Any]], rng: random.Random) -> None:
    """Rows of vmap whose results are arranged alike, in any order; rows that are not are refused."""
    import numpy as np

    from fuzz.check import REFUSED, Failure, function
    from micrograd import no_grad, vmap
    from micrograd.tree import without_bools

    groups: dict[Any, list[int]] = {}
    for k, (_, want) in enumerate(known):
        groups.setdefault(_as_rows(_without_numbers(without_bools(want))), []).append(k)
    for index in groups.values():
        rng.shuffle(index)
        rows = np.array([known[k][0] for k in index], dtype=float)
        try:
            with no_grad():
                got = vmap(function(program)[0], exact=True)(*rows.T)
        except REFUSED:
            continue
        for r, k in enumerate(index):
            want = numbers_in(without_bools(known[k][1]))
            _same(f"row {known[k][0]} of vmap", [float(x) for x in _row(got, r)], [float(x) for x in want])
    if len(groups) > 1:
        rows = np.array([xs for xs, _ in known], dtype=float)
        try:
            with no_grad():
                got = vmap(function(program)[0], exact=True)(*rows.T)
        except (*REFUSED, TypeError):
            return
        raise Failure(f"rows that arrange their results in {len(groups)} ways are not refused: {got!r}")


def _as_rows(found: Any) -> Any:
    """In a column, a whole number is a number."""
    if isinstance(found, tuple):
        return ("number",) if found[:1] == ("whole",) else tuple(map(_as_rows, found))
    return found


def _row(x: Any, r: int) -> list[float]:
    """The numbers of one row of the columns in a result."""
    if isinstance(x, dict):
        return [y for item in x.values() for y in _row(item, r)]
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in _row(item, r)]
    return [x[r]] if hasattr(x, "dtype") and x.ndim else []
