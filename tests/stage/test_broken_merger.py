"""Break the merger in one place at a time: the programs of realistic.py must notice, by a wrong row or by an exception."""

import sys

import pytest

from micrograd import engine, value_and_grad
from micrograd.stage import iterators, join, machine, masks, ragged, summary
from micrograd.stage.errors import Unsupported
from micrograd.stage.masks import FALSE, TRUE
from micrograd.tape.passes import reverse
from micrograd.tape.tape import PICK
from stage import programs, test_outcomes
from stage.realistic import PROGRAMS


def hoisted_pole(x, y):
    from micrograd import math

    pole = math.log(x) * math.sqrt(y)
    return pole * 2.0 if x > 0 and y > 0 else x * x + y


def changed_while_a_choice_is_evaluated(x, y):
    seen = [x]

    def push(v):
        seen.append(v)
        return v > 0

    return len(seen) * x if push(x) and push(y) else y * len(seen)


def iterator_advanced_in_one_arm(x, y):
    it = iter([x, y, x * y])
    if x > 0:
        next(it)
    return next(it) + 2.0 * next(it, y)


def not_less_is_not_greater(x, y):
    z = (x - x) / (y - y)  # a nan
    return 1.0 * x if not z < 0 else 2.0 * y


ROWS = [list(row) for row in test_outcomes.ROWS]
EVERY = [(f, [list(r) for r in rows]) for f, rows, _ in PROGRAMS.values()]
EVERY += [(f, ROWS) for f in [*test_outcomes.PROGRAMS, hoisted_pole, not_less_is_not_greater,
                              changed_while_a_choice_is_evaluated, iterator_advanced_in_one_arm]]  # fmt: skip


def notices():
    """The first program that goes wrong: a row with other results than eager code, or an exception of the merger itself."""
    for f, rows in EVERY:
        for g in (f, value_and_grad(f, tuple(range(len(rows[0]))))):
            try:
                found = programs.stage(g, programs.flat(("tuple", (programs.NUMBER,) * len(rows[0]))), rows[0])
            except Unsupported:
                continue
            except Exception as error:
                return f"{f.__name__}: {type(error).__name__}"
            for row in rows:
                want, got = programs.eager(g, row), programs.staged(found, row)
                if got is None:
                    continue
                if isinstance(want, str) or not all(programs.equal(a, b, False) for a, b in zip(want, got)):
                    return f"{f.__name__} of {row}: {got}, eagerly {want}"
    return ""


def test_the_merger_is_right_when_nothing_is_broken():
    assert not notices()


def _swap_pick(original):
    return lambda op, *args: original(op, args[0], args[2], args[1]) if op is PICK else original(op, *args)


MUTATIONS = {
    "masks: and gives its first side": (masks.Masks, "both_of", lambda f: lambda self, a, b: a),
    "masks: or gives its first side": (masks.Masks, "either", lambda f: lambda self, a, b: a),
    "masks: not gives what it is given": (masks.Masks, "negate", lambda f: lambda self, a: a),
    "masks: a simplification loses its condition": (masks.Masks, "restrict", lambda f: lambda self, a, care: TRUE),
    "masks: less is taken for less or equal": (
        masks.Masks, "compare", lambda f: lambda self, how, a, b: f(self, {"lt": "le"}.get(how, how), a, b)),
    "masks: not equal is taken for equal": (
        masks.Masks, "compare", lambda f: lambda self, how, a, b: f(self, {"ne": "eq"}.get(how, how), a, b)),
    "joins: a choice picks the other side": (engine, "apply", _swap_pick),
    "joins: Values of all rows are those of the last": (join, "join_values", lambda f: lambda m, entries: entries[-1][2]),
    "joins: constants that differ are one": (join, "constant_key", lambda f: lambda x: type(x)),
    "state: an arm is not undone": (machine, "undo", lambda f: lambda journal: None),
    "state: what was changed is forgotten": (machine, "changes", lambda f: lambda journals, without=None: {}),
    "state: a change is not written down": (machine.Machine, "_remember", lambda f: lambda self, x, name: None),
    "state: a change that others see is allowed": (machine.Machine, "_private", lambda f: lambda self, birth, level: None),
    "state: rows that raised go on": (machine.Machine, "uncaught", lambda f: lambda self, mask: mask),
    "state: an alternative of other rows is seen": (machine.Machine, "now", lambda f: lambda self, x: (
        x.alternatives[0][1] if type(x) is summary.Summary else x)),
    "lists: one length is that of all rows": (ragged, "contents", lambda f: lambda m, entries: entries[0][1]),
    "lists: the length of another row is seen": (ragged, "settle", lambda f: lambda m, x: (
        found.alternatives[0][1] if (found := ragged.ragged(x)) is not None else x)),
    "iterators: an arm advances those of all rows": (iterators.Iterator, "_moves", lambda f: lambda self, m: None),
    "iterators: one that has ended begins again": (iterators, "EXHAUSTED", lambda f: 0),
    "sweep: every place is reached by all rows": (
        reverse.Sweep, "reached", lambda f: lambda self, a, reach: self.reach.__setitem__(a, True)),
    "guard: rows that are lost are accepted": (machine.Machine, "lose", lambda f: lambda self, mask, why: None),
    "truth: everything is true": (machine.Machine, "truth", lambda f: lambda self, x: self.here),
    "truth: nothing is true": (machine.Machine, "truth", lambda f: lambda self, x: FALSE),
}  # fmt: skip


SLOW = {
    "joins: constants that differ are one", "state: an alternative of other rows is seen",
    "masks: a simplification loses its condition", "truth: everything is true",
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in MUTATIONS])
def test_a_broken_merger_is_noticed(name, monkeypatch):
    owner, attribute, broken = MUTATIONS[name]
    original = getattr(owner, attribute)
    new = broken(original)
    monkeypatch.setattr(owner, attribute, new)
    for module in [m for name, m in sys.modules.items() if name.startswith("micrograd.stage.")]:  # which imported it
        if owner is not module and getattr(module, attribute, None) is original:
            monkeypatch.setattr(module, attribute, new)
    assert notices(), name
