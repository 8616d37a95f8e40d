"""Compiled derivatives that are kept with the function that they belong to, so that a solver compiles them once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from types import FunctionType, MethodType
from typing import Any

from micrograd.compile.jit import Jit, compiled
from micrograd.compile.options import Options
from micrograd.compile.signature import NOTHING
from micrograd.transforms import Derived

PLACE = "_micrograd_kept"  # the attribute of a function
MOST = 16  # callable objects and methods whose kernels are kept; those of a function live as long as it does
Transform = Callable[[Callable[..., Any]], Callable[..., Any]]

_others: OrderedDict[Any, Kept] = OrderedDict()
_lock = Lock()


class Kept:
    """What was compiled for one function, by name. A copy or a pickle of the function begins with nothing."""

    def __init__(self, f: Any = None) -> None:
        self.f = f
        self.made: dict[str, Callable[..., Any]] = {}

    def __reduce__(self) -> Any:
        return Kept, ()


def kept(f: Callable[..., Any], name: str, transform: Transform | None = None) -> Callable[..., Any]:
    """Return the compiled transform(f), the same one whenever it is asked for; each call of it waits for its machine code.

    A function that `jit` has compiled is used as it is, and its derivatives are compiled with its options.
    """
    jitted = owner_of(f)
    if jitted is not None and transform is None:
        return f
    given = Options() if jitted is None else jitted.options
    options = Options(exact=given.exact, fastmath=given.fastmath, wait=True, backend=given.backend)
    store = _store(f, jitted)
    with _lock:
        if name not in store.made:
            made = f if transform is None else transform(f)
            store.made[name] = found = compiled(made, options, NOTHING if jitted is None else jitted.given)
            owner = owner_of(found)
            if owner is not None:
                owner.warned = True  # the user has not written this call, and could not write it in another way
        return store.made[name]


def owner_of(f: Any) -> Jit | None:
    """What `jit` has made, behind the object that is called; None for any other function."""
    if not type(f).__module__.startswith("micrograd."):
        return None
    owner = getattr(getattr(f, "call", None), "__self__", None)
    return owner if isinstance(owner, Jit) else None


def _store(f: Any, jitted: Jit | None) -> Kept:
    holder = f if jitted is None else jitted
    if isinstance(holder, (FunctionType, Derived, Jit)):
        found = vars(holder).get(PLACE)
        if not isinstance(found, Kept) or found.f is not holder:  # functools.wraps copies the attributes of a function
            found = Kept(holder)
            setattr(holder, PLACE, found)
        return found
    key = f if isinstance(f, MethodType) else id(f)  # a method is a new object whenever it is looked up
    with _lock:
        found = _others.pop(key, None) or Kept(f)
        _others[key] = found  # it holds f, so that no other object gets this identity
        while len(_others) > MOST:
            _others.popitem(last=False)
    return found
