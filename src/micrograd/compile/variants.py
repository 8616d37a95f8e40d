"""Variants: the traced paths of a compiled function, in one table that jit and vmap share.

A comparison of Values on the way of a trace is a guard. The tape of a trace is valid for all arguments for which the guards
have the same outcomes; others are traced along their own path, which gets a variant of its own. What guards compare is computed
with the roundings of eager code, so that each point is accepted by the variant that eager code would follow, whatever was
called before. Variants of many paths are asked first: see chain.py.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from itertools import count
from operator import is_
from time import monotonic
from typing import Any, Generic, TypeVar

from micrograd.compile.chain import Chain
from micrograd.compile.kernel import Kernel
from micrograd.compile.pipeline import Goal
from micrograd.compile.tuning import TUNING
from micrograd.compile.worker import Threads, other_threads
from micrograd.errors import TraceError
from micrograd.evidence.twice import same_way
from micrograd.tape.tape import Tape
from micrograd.tape.trace import Trace
from micrograd.values.callsite import user_depth
from micrograd.watch.guards import Watch
from micrograd.watch.modules import Structured
from micrograd.watch.owners import Names, Owner, owners_of
from micrograd.watch.reach import modules_of

_clock = count(1)
MANY_CHANGES = 32
TRIES = 5  # how often a call is begun again, where something outside of the function changes while it is traced
# How many plain runs have to agree with such a trace: at least so many, and at most so many within LONG seconds. Where another
# thread puts two numbers in turn, a run meets the other one than the looks beside it in at most half of the cases.
RUNS = 5, 40
LONG = 0.1
AGREEING = 2  # how many more traces have to agree with one, beside which other threads did something


class Variant:
    """One traced path, and its kernels: one for each goal that was asked for."""

    def __init__(self, trace: Trace, tape: Tape | None = None) -> None:
        self.trace, self.tape = trace, trace.tape if tape is None else tape
        self.kernels: dict[Goal, Kernel] = {}
        self.lowered: dict[Goal, Tape | None] = {}  # the tapes of kernels that are still to be compiled
        self.used = next(_clock)
        self.taken = False  # whether it has taken a row
        self._compiling = threading.RLock()

    @property
    def outcomes(self) -> tuple[bool, ...]:
        """The outcomes of the guards, which tell the variants of one signature apart in an order that no history changes."""
        return tuple([went for *_, went in self.tape.guards])

    @functools.cached_property
    def text(self) -> str:
        """The text of the tape."""
        return str(self.tape)

    def kernel(self, goal: Goal, why: str, wait: bool) -> Kernel:
        """The kernel for a goal, compiled now if it is not there; another thread that compiles it is waited for."""
        found = self.kernels.get(goal)
        if found is None:
            with self._compiling:
                found = self.kernels.get(goal)
                if found is None:
                    lowered = self.lowered.get(goal)
                    found = self.kernels[goal] = Kernel(self.tape, goal, why, wait, self.trace.name, lowered)
                    self.lowered.pop(goal, None)
        return found


V = TypeVar("V", bound=Variant)


def _thing(watched: Any) -> tuple[type, int]:
    return type(watched), id(watched.x if isinstance(watched, (Owner, Names)) else watched)


def _things(watched: Any) -> list[tuple[type, int]]:
    """A thing that is watched, with the modules inside of it."""
    inside = [_thing(part) for _, part in watched.modules()] if isinstance(watched, Structured) else []
    return [_thing(watched), *inside]


class Variants(Generic[V]):
    """The variants of one function, by call signature. Past the limit, the least recently used one is dropped."""

    def __init__(self, before: Variants[V] | None = None) -> None:
        self.by_signature: dict[Any, list[V]] = {}  # those of many paths first, in the order of their levels
        self.chains: dict[Any, Chain] = {}
        self._before: dict[Any, list[V]] = {}  # of modules as they were
        self._changes: int = 0  # of other things outside of the function, after which it was traced again
        self._known: list[Any] = []  # what the variants before these have read
        if before is not None:
            self._before = {**before._before, **before.by_signature}
            self._changes = before._changes
            self._known = [] if before.watch is None else before.watch.modules
        self.lock = threading.RLock()
        self.dropped = 0
        self._warned = False
        self.watch: Watch | None = None  # over the modules that any of them has read, and other things outside
        self._early = False  # whether it began before the first trace
        self._threads: Threads | None = None  # where others stood when the last trace began; None where there were none
        self._new = False  # whether there is a variant that those before these do not have
        self._before_agreed = 0 if before is None else before._agreed()
        self._names: Names | None = None

    def outdated(self) -> bool:
        """Whether a module that was read is not as it was: then no variant holds any longer."""
        return self.watch is not None and self.watch.changed()

    def begin(self, f: Any, code: Any) -> None:
        """Watch what a function reads from outside before it is traced, where another thread may change it meanwhile.

        Where no thread can, the watch begins after the first trace: what the function itself has set there is no change.
        The code is the function without the object that it is bound to, where the numbers of that object are arguments.
        """
        self._threads = Threads() if other_threads() else None
        if self._threads is not None and not self._early:
            modules = modules_of(f)
            self.read(f, [*modules, *owners_of(code, modules), *self._known])
            self._early = True

    def doubtful(self, agrees: Callable[[], bool]) -> bool:
        """Whether another thread may have changed what was read while it was traced.

        It has, where a look before the trace and one after it differ. Where they do not, it may have changed it twice. So where
        other threads did anything meanwhile, traces are made until enough of them in a row agree. All of them may still have
        read what stood there for a moment: `agrees` tells whether the last one gives what a plain run gives. A run takes a
        fraction of the time of a trace, and what is watched has to be the same before and after it.
        """
        if not self._early or self._threads is None:
            return False
        if self.outdated():
            return True
        if self._threads.rested():
            return False
        if self._agreed() < AGREEING:
            return True
        end = monotonic() + LONG
        for run in range(RUNS[1]):
            if run >= RUNS[0] and monotonic() > end:
                break
            if not agrees() or self.outdated():
                return True
        return False

    def _agreed(self) -> int:
        """How many traces in a row have agreed with those before them."""
        return 0 if self._new else self._before_agreed + 1

    def may_be_disturbed(self, error: TraceError) -> bool:
        """Whether another thread may be the reason for an error."""
        threads = self._threads
        return threads is not None and (self.outdated() or (error.unsteady and not threads.rested()))

    def changing(self, error: TraceError) -> TraceError:
        """The error of a trace during which something outside has changed."""
        outside = self.watch.outside if self.watch is not None else ""
        what = outside if outside.startswith("a ") or not outside else f"`{outside}`"
        return TraceError(
            f"{error}\n  {what or 'What it reads from outside'} changed each time that it was traced. Where the function "
            "does not change it, something else does, such as another thread."
        )

    def warn_of_changes(self, function: Any, outside: str) -> None:
        """Say so, once, where something outside of the function, other than a module, changes again and again."""
        self._changes += bool(outside)
        if self._changes == MANY_CHANGES and outside:
            what = outside if outside.startswith("a ") else f"`{outside}`"
            warnings.warn(
                f"{function!r} was traced again {MANY_CHANGES} times, because what it reads from outside had changed: "
                f"{what}, the last time\n"
                "  Each trace takes longer than a call in plain Python does.\n"
                "  Pass what changes as an argument.",
                RuntimeWarning,
                stacklevel=user_depth(),
            )

    def again(self, signature: Any, trace: Trace) -> V | None:
        """The variant from before a module was changed that does just the same, with its kernels: the change was no matter."""
        for variant in self._before.get(signature, ()):
            old = variant.trace
            same = len(old.captured) == len(trace.captured) and all(map(is_, old.captured, trace.captured))
            if (
                same
                and same_way(old, trace)
                and (old.merged, repr(old.constants)) == (trace.merged, repr(trace.constants))
            ):
                old.evidence.classes = trace.evidence.classes  # what was compared before was another function
                return variant
        return None

    def read(self, f: Any, modules: list[Any]) -> None:
        """Watch what a function reads from outside, and the modules that a new variant has read."""
        if self._names is None:
            self._names = Names(f)
            modules = [*modules, *self._names.things()]
        known = [] if self.watch is None else self.watch.modules
        seen: set[tuple[type, int]] = set()
        for m in known:
            seen.update(_things(m))
        new = []
        for m in modules:
            if _thing(m) not in seen:
                new.append(m)
                seen.update(_things(m))
        if new:
            self.watch = Watch([*known, *new])
            if self._early:  # what is new was not watched while it was read, so the next call traces again
                self.watch.outdate()

    def __iter__(self) -> Any:
        return iter([v for found in list(self.by_signature.values()) for v in found])

    def of(self, signature: Any) -> list[V]:
        """The variants of a signature, the most useful first. The list is never changed, only replaced."""
        return self.by_signature.get(signature) or []

    def known(self, signature: Any, trace: Trace) -> V | None:
        """The variant that follows the same path as a trace."""
        return next((v for v in self.of(signature) if same_way(v.trace, trace)), None)

    def add(self, signature: Any, variant: V) -> None:
        """Add a variant, and drop the least recently used one if there are too many. Those of many paths stay."""
        with self.lock:
            self._new |= variant not in self._before.get(signature, ())
            staged, plain = self._parts(signature)
            (staged if variant.trace.staged else plain).append(variant)
            self.by_signature[signature] = [*staged, *plain]
            everything = [v for v in self if not v.trace.staged]
            if len(everything) > TUNING.max_variants:
                self.remove(min([v for v in everything if v is not variant], key=lambda v: v.used))
                self.dropped += 1

    def _parts(self, signature: Any) -> tuple[list[V], list[V]]:
        found = self.of(signature)
        return [v for v in found if v.trace.staged], [v for v in found if not v.trace.staged]

    def chain(self, signature: Any, leaves: list[Any]) -> Chain:
        """The staged traces of a signature, as far as they have been made; by classes, where the function asks for these."""
        found = self.chains.get(signature)
        if found is not None and not found.asks:
            return found
        types = tuple(map(type, leaves))
        if found is None:
            return self.chains.setdefault(signature, Chain(types))
        return found if found.types == types else self.chains.setdefault((signature, types), Chain(types))

    def withdraw(self, signature: Any, leaves: list[Any]) -> None:
        """Forget the variants of many paths, and make no others."""
        with self.lock:
            self.chain(signature, leaves).closed = True
            self.by_signature[signature] = self._parts(signature)[1]

    def first_drop(self) -> bool:
        """Whether a variant was dropped for the first time: true once."""
        first, self._warned = self.dropped > 0 and not self._warned, self._warned or self.dropped > 0
        return first

    def remove(self, variant: V) -> None:
        """Forget a variant."""
        with self.lock:
            for signature, found in list(self.by_signature.items()):
                if variant in found:
                    rest = [v for v in found if v is not variant]
                    if rest:
                        self.by_signature[signature] = rest
                    else:
                        del self.by_signature[signature]

    def touch(self, signature: Any, variant: V, position: int) -> None:
        """Note that a variant was used; one of a single path that was found far behind moves before the others."""
        variant.used = next(_clock)
        variant.taken = True
        if position > 8 and not variant.trace.staged:
            with self.lock:
                staged, plain = self._parts(signature)
                if variant in plain:
                    self.by_signature[signature] = [*staged, variant, *(v for v in plain if v is not variant)]
