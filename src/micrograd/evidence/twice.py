"""Two traces of one function that is to be replayed: what differs between them would be frozen, and is an error.

A replay neither assigns nor draws random numbers, so a function that does cannot be replayed: names, what they stand for, and
the generators of random numbers must be the same after a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pickle import dumps
from types import MethodType, ModuleType
from typing import Any

from micrograd.engine import Value
from micrograd.errors import TraceError
from micrograd.tape import swept
from micrograd.tape.tape import CONST, PARAM
from micrograd.tape.trace import KEEP_OUT, Trace, trace
from micrograd.tree import Shape, has, is_array, name_of, written
from micrograd.watch.code import BUSY, content, read
from micrograd.watch.owners import objects_of
from micrograd.watch.reach import Reach

LOOKED_AT = 1000  # items of a container that are compared one by one, 0.2 µs each
Place = tuple[int, str]  # a namespace, a class or an object by its id, and how the program writes what is there


def trace_twice(f: Any, user: Any, shape: Shape, values: list[Any], origins: Sequence[Any] | None = None) -> Trace:
    """Trace a function that will be replayed, in two runs on the same numbers.

    A difference between the runs would be frozen, and what `user` (the function as it was written) assigns outside of itself
    would not be assigned by the replay: both are errors.
    """
    return twice(lambda: trace(f, shape, values, frozen=True, origins=origins), f, user)


def twice(run: Callable[[], Trace], f: Any, user: Any) -> Trace:
    """The trace that `run` makes of f, in two runs that are compared: see trace_twice."""
    with swept.shared() as begin:
        first = _trace_without_drawing(run, f, Reach(user).things, begin)
        reach = Reach(user)  # after the first run, which may have made what was not there yet
        before = named(user, reach)
        held = [(name, x, len(x)) for (_, name), x in before.items() if isinstance(x, (list, dict, set))]
        second = _trace_without_drawing(run, f, reach.things, begin)
    for name, container, length in held:
        if len(container) != length:
            raise unsteady(
                f"the {type(container).__name__} `{name}` changed its length inside a compiled function, {name_of(f)}\n"
                f"{KEEP_OUT}"
            )
    difference = _difference(first, second)
    if difference:
        raise unsteady(
            f"{name_of(f)} computes something else when it is run again on the same numbers: {difference}\n"
            "  It is traced and then replayed, so whatever it reads from elsewhere (the time, a counter, a random number "
            "generator, a cache) would keep its first value.\n"
            "  Pass that in as an argument."
        )
    after = named(user, reach)
    for place, x in before.items():
        if place in after and after[place] is not x:
            name = place[1]
            raise unsteady(f"`{name}` is assigned inside a compiled function, {name_of(f)}\n{KEEP_OUT}")
    return first


def unsteady(message: str) -> TraceError:
    """The error of a function that is not the same in two runs."""
    error = TraceError(message)
    error.unsteady = True
    return error


def _trace_without_drawing(run: Callable[[], Trace], f: Any, own: list[Any], begin: Callable[[], None]) -> Trace:
    """The trace of a run that left the generators of random numbers alone: the global ones, and those among its `own`."""
    for _ in range(4):  # a number drawn by another thread in the meantime is no fault of this function
        state = random_state(own)
        begin()
        found = run()
        if random_state(own) == state:
            return found
    raise unsteady(
        f"a random number was drawn inside a compiled function, {name_of(f)}\n"
        "  It is traced and then replayed, so the number drawn while tracing would be reused in every later call.\n"
        "  Draw it with micrograd.random, whose draws are part of the trace, or draw it outside and pass it in as an argument."
    )


def _difference(one: Trace, two: Trace) -> str:
    """Where two traces differ, in words; nothing where they do not."""
    a, b = one.tape, two.tape
    differ = a.ops != b.ops or a.args != b.args or a.guards != b.guards or a.outputs != b.outputs
    if differ and str(a) != str(b):  # a nan differs from itself, its text does not
        lines = zip([*str(a).splitlines(), "nothing"], [*str(b).splitlines(), "nothing"])
        old, new = next((x, y) for x, y in lines if x != y)
        return f"`{old}`, then `{new}`"
    if one.shape != two.shape:
        return f"a result arranged as {written(one.shape)}, then as {written(two.shape)}"
    for x, y in zip(one.captured, two.captured):
        if x is not y and repr(x._data) != repr(y._data):
            return f"a Value of {x._data!r}, then one of {y._data!r}"
    return ""


def same_way(one: Trace, two: Trace) -> bool:
    """Whether two runs went the same way: the same instructions, guards and arrangement of results."""
    a, b = one.tape, two.tape
    if a.guards != b.guards or a.ops != b.ops or a.outputs != b.outputs or one.shape != two.shape:
        return False
    if bool(one.asked) != bool(two.asked):
        return False
    for op, x, y in zip(a.ops, a.args, b.args):
        if op is PARAM:  # a Value made inside is a new one in each run
            u, v = one.captured[x[0]], two.captured[y[0]]
            if u is not v and repr(u._data) != repr(v._data):
                return False
        elif (x != y or op is CONST) and repr(x) != repr(y):  # 0.0 is not -0.0, and a nan is a nan
            return False
    return True


# ---- what must be the same after a run


def named(f: Any, reach: Reach) -> dict[Place, Any]:
    """What a function can reach by name, and what lies in the lists, dicts and objects among that, as it is now."""
    found = {place: x for place, x in _by_name(f, reach) if _can_be_asked(x)}
    for (holder, name), x in list(found.items()):
        if isinstance(x, (list, dict)) and len(x) <= LOOKED_AT:
            pairs = x.items() if isinstance(x, dict) else enumerate(x)
            found |= {(holder, f"{name}[{key!r}]"): item for key, item in list(pairs)}
        elif is_array(x) and x.dtype == object and x.size <= LOOKED_AT:
            found |= {(holder, f"{name}.flat[{k}]"): item for k, item in enumerate(x.flat)}
        elif has(x, "__dict__") and not isinstance(x, (ModuleType, Value)) and _module(x) not in BUSY:
            found |= {(holder, f"{name}.{key}"): item for key, item in list(vars(x).items())}
    return found


def _by_name(f: Any, reach: Reach) -> Iterator[tuple[Place, Any]]:
    for holder, names in reach.names.values():
        before = f"{holder.__name__}." if isinstance(holder, type) else ""
        for name in names:
            yield (id(holder), before + name), read(holder, name)
    for cell, name in reach.cells:
        yield (id(cell), name), content(cell)
    owners = {id(x): x for x in objects_of(f)[0]}
    for x in reach.things:
        if type(x) is MethodType:
            owners[id(x.__self__)] = x.__self__
        elif type(x) is partial:
            named = [*enumerate(x.args), *x.keywords.items()]
            yield from (
                ((id(x), f"{name}" if isinstance(name, str) else f"args[{name}]"), item) for name, item in named
            )
    for x in owners.values():
        yield from (((id(x), f"self.{name}"), item) for name, item in list(getattr(x, "__dict__", {}).items()))
    for g in reach.functions:
        code, defaults = g.__code__, g.__defaults__ or ()
        defaulted = zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults)
        yield from (((id(g), name), x) for name, x in [*defaulted, *(g.__kwdefaults__ or {}).items()])


def _can_be_asked(x: Any) -> bool:
    """Whether something says what it is: a proxy of a web server does not, outside of a request."""
    try:
        return x.__class__ is not None
    except Exception:
        return False


def _module(x: Any) -> str:
    return str(type(x).__module__).split(".")[0]


def random_state(own: Iterable[Any]) -> list[Any]:
    """The state of the global generators of random numbers, as far as they are loaded, and of those among `own`."""
    state: list[Any] = []
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if random is not None:
        state += [random.getstate(), *(x.getstate() for x in own if issubclass(type(x), random.Random))]
    if numpy is not None:
        state.append(dumps(numpy.get_state()))
        state += [dumps(x.bit_generator.state) for x in own if issubclass(type(x), numpy.Generator)]
        state += [dumps(x.get_state()) for x in own if issubclass(type(x), numpy.RandomState)]
    return state
