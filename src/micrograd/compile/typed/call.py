"""Calls of a function of data, at one point: which typed tape takes them, how arguments become its params, and back.

The abstract interpreter (abstract/) turns the source of a function into one typed tape for arrays of every length. jit asks
here first where a call passes many numbers; a call that is not followed here is traced as all others are. What was refused is
told by `explain`.
"""

from __future__ import annotations

import builtins
import copy
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, cast

from micrograd.abstract import Refused, errors, stage, staged
from micrograd.abstract.outside import Changed, Guard
from micrograd.compile import worker
from micrograd.compile.explain import Explanation, shortened
from micrograd.compile.typed.entry import Entry, Installed, entry, installed
from micrograd.compile.typed.kernel import Kernel, text
from micrograd.evidence.typed_runs import SLOWER, SLOWER_EAGER, Oracle, Undecided, Wrong, equal, near, require
from micrograd.ir.forms import F64, Tape
from micrograd.ir.interpret import CheckFailed
from micrograd.ir.passes import gradient, simplified
from micrograd.transforms import Derived, grad
from micrograd.tree import is_array, is_float64
from micrograd.watch.guards import unchanged

# After so many calls by way of Python, C is given the code, which takes some ms: once, and again for arrays of another length.
OFTEN = {16**k for k in range(8)}
ELSEWHERE = object()  # the answer for a call that is not followed here
_COUNTED = (list, tuple)


class Asked(NamedTuple):
    """What is asked of a function: its value, its derivative by some arguments, or both."""

    value: bool
    argnums: tuple[int, ...]
    single: bool  # whether the derivative is by one argument, which stands alone
    forward: bool | None = None  # whether a Jacobian is asked for by forward sweeps; None where the cost decides


class Calls:
    """The typed variants of one function, by what their guards ask for."""

    elsewhere = ELSEWHERE

    def __init__(self, function: Callable[..., Any], asked: Asked, kind: type[Variant]) -> None:
        self.function, self.asked, self.kind = function, asked, kind
        self.variants: list[Variant] = []
        self.refusals: dict[Any, Exception] = {}
        self.exact = False  # whether derivatives have the bits of eager code
        self.lock = threading.RLock()

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return the arguments by position; None where some can only be given by name."""
        if not kwargs:
            return args
        code = unwrapped(self.function).__code__
        names = code.co_varnames[len(args) : code.co_argcount][: len(kwargs)]
        if set(names) != set(kwargs) or any(not -len(args) <= n < len(args) for n in self.asked.argnums):
            return None
        if any(n < 0 for n in self.asked.argnums) or code.co_posonlyargcount > len(args):
            return None
        return (*args, *[kwargs[name] for name in names])

    def refusal(self, args: tuple[Any, ...]) -> Exception | None:
        """Return why calls like this one are not followed; None where they are."""
        return self.refusals.get(tuple(map(_described, args)))

    def call(self, args: tuple[Any, ...], often: Callable[[Variant, tuple[Any, ...]], None] | None) -> Any:
        """Return the result of a call, or ELSEWHERE. A variant that is called `often` may be handed to C."""
        unlike: list[Variant] = []
        while True:
            variant = self.variant(args, unlike)
            if variant is None:
                return ELSEWHERE
            try:
                result = variant.run(args)
                break
            except CheckFailed as check:
                if _names_an_error(str(check)):
                    self.function(*variant.copied(args))  # it raises that error
                return ELSEWHERE
            except _Unlike:
                unlike.append(variant)
        variant.calls += 1
        if often is not None and variant.calls in OFTEN:
            often(variant, args)
        return result

    def by_floats(self, args: tuple[Any, ...]) -> Any:
        """Return the result of a call that cannot be traced, by floats in place of the ints that it asks derivatives by.

        ELSEWHERE where there are no ints, or where the function does something else for floats.
        """
        if not self.asked.argnums:
            return ELSEWHERE
        wanted = {n % len(args) for n in self.asked.argnums if -len(args) <= n < len(args)}
        floats = tuple([_with_floats(x) if n in wanted else x for n, x in enumerate(args)])
        if all(x is y for x, y in zip(floats, args)):
            return ELSEWHERE
        variant = self.variant(floats)
        # What asks for classes is to find those of the arguments.
        if variant is None or variant.staged.asks or not self._same(args, floats):
            return ELSEWHERE
        return self.call(floats, None)

    def _same(self, args: tuple[Any, ...], floats: tuple[Any, ...]) -> bool:
        """Return whether the function gives the same for ints as for floats: it may use them as indices and catch errors."""
        try:
            return near(self.function(*copy.deepcopy(args)), self.function(*copy.deepcopy(floats)))
        except Exception:
            return False

    def may_follow(self, args: tuple[Any, ...]) -> bool:
        """Forget that calls like this one are not followed; return whether there was anything to forget."""
        return self.refusals.pop(tuple(map(_described, args)), None) is not None

    def variant(self, args: tuple[Any, ...], unlike: Sequence[Variant] = ()) -> Variant | None:
        """Return the variant for these arguments, made now if there is none; None where they are not followed.

        `unlike` are variants for arguments that only look like these: nobody has looked at each number in their arrays.
        """
        variant = next((v for v in self.variants if v.holds(args) and v not in unlike), None)
        if variant is not None and variant.proved:
            return variant
        key = tuple(map(_described, args))
        if key in self.refusals:
            return None
        with self.lock:
            variant = next((v for v in self.variants if v.holds(args) and v not in unlike), None)
            if variant is not None and variant.proved:
                return variant
            try:
                if variant is None:
                    variant = self.kind(self.function, self.asked, args)
                self.variants = [v for v in self.variants if v is not variant]
                variant.prove(args)
                if self.exact and variant.staged.derivatives:
                    raise Refused("exact=True gives derivatives the bits of eager code", "Leave exact=True out.")
            except Changed:  # by another thread, while the function was interpreted
                return None
            except Exception as reason:  # a refusal, or a defect of this package: the function is traced instead
                if isinstance(reason, Wrong) and worker.other_threads():
                    return None
                if errors.strict and not isinstance(reason, Refused):
                    raise
                self.refusals[key] = reason.with_traceback(None)  # which would keep what the function has made
                reason.__context__ = reason.__cause__ = None
                return None
            self.variants = [variant, *(v for v in self.variants if v.may_hold())]
        return variant


def _names_an_error(text: str) -> bool:
    """Return whether a check means an exception of plain Python, other than an error of arithmetic."""
    error = getattr(builtins, text.split(":")[0], None)
    return isinstance(error, type) and issubclass(error, Exception) and not issubclass(error, ArithmeticError)


def unwrapped(f: Any) -> Any:
    """Return the function with source that a transform was made of."""
    while isinstance(f, Derived):
        f = f.made_of[1]
    return f


def _described(x: Any) -> Any:
    """Return what tells arguments apart that are refused: their structure, and the classes of the numbers in it."""
    if is_array(x):
        return "array", x.dtype.str, x.shape
    if type(x) in _COUNTED:
        if len(x) <= staged.HANDFUL:
            return type(x), tuple(map(_described, x))
        classes = set(map(type, x))
        plain = classes.isdisjoint((list, tuple, dict)) and not any(map(is_array, x))
        return type(x), len(x), frozenset(classes if plain else map(_described, x))
    if type(x) is dict:
        return dict, tuple(x), tuple(map(_described, x.values()))
    return type(x)


def _with_floats(x: Any) -> Any:
    """Return an argument with floats in place of ints; the argument itself where it has none."""
    if type(x) is int:
        return float(x) if abs(x) <= 2**53 else x
    if is_array(x):
        return x.astype("f8") if x.dtype.kind in "iu" and bool((abs(x.astype("f8")) <= 2**53).all()) else x
    if type(x) in _COUNTED:
        items = [_with_floats(y) for y in x]
        return x if all(y is z for y, z in zip(items, x)) else type(x)(items)
    if type(x) is dict:
        parts = {key: _with_floats(y) for key, y in x.items()}
        return x if all(parts[key] is y for key, y in x.items()) else parts
    return x


# ---- what is read from outside


class Watched:
    """The guards on what a function reads from outside.

    C compares identities, which takes 1 µs for a list of 1,000 numbers; where they differ, each guard looks for itself.
    """

    def __init__(self, guards: Sequence[Guard]) -> None:
        self.guards = guards
        self.slow: list[Guard] = []  # those that C cannot compare
        self._look()

    def _look(self) -> None:
        key: list[Any] = [_STEADY, _STEADY[0]]
        slow = []
        for guard in self.guards:
            pair = guard.identities()
            if pair is not None:
                key += pair
            elif guard.holds():
                slow.append(guard)
            else:
                raise Changed
        self.key, self.slow = tuple(key), slow

    def hold(self) -> bool:
        """Return whether everything is what it was."""
        if unchanged(self.key):
            return all(guard.holds() for guard in self.slow)
        try:
            self._look()
        except Changed:
            return False
        return True


_STEADY = [0]  # the place of a count of changes in what `unchanged` takes: there is none here


# ---- one variant


class _Unlike(Exception):
    """An argument only looks like those that a variant was made for."""


class Variant:
    """A typed tape with its kernel, and what has to hold for it."""

    title = "the function and its gradient"

    def __init__(self, function: Callable[..., Any], asked: Asked, args: tuple[Any, ...]) -> None:
        self.function, self.asked, self.calls, self.count = function, asked, 0, len(args)
        self.staged = stage(function, args, keep_ints=not asked.argnums)
        self.result = self.staged.result
        self.outside = Watched([g for g in self.staged.guards if g.how != "argument"])
        self.arguments = [(g.name, g.value) for g in self.staged.guards if g.how == "argument"]
        # A float that comes later where an int was must not become one, nor a bool.
        self.classes = [(p.path, type(_at(args, p.path))) for p in self.staged.params if p.what == "number"]
        self.arrays = {p.path: p.kind for p in self.staged.params if p.what == "array"}
        self.tape = self._differentiated(args)
        self.kernel = Kernel(self.tape)
        self.proved = False  # whether a call was compared; one that ends in a check has no result

    def _differentiated(self, args: tuple[Any, ...]) -> Tape:
        tape, result = self.staged.tape, self.staged.result
        self.wrt: list[int] = []
        if not self.asked.argnums:
            return simplified(tape)
        if not isinstance(result, staged.Mixed) and (not isinstance(result, staged.Leaf) or result.kind != F64):
            raise Refused("a gradient of something that is not one number")
        self.wrt = self._chosen(args)
        self.result = staged.Leaf(result.number, F64)  # the value beside a derivative is a float
        return gradient(tape, self.wrt, (result.number,))

    def _chosen(self, args: tuple[Any, ...]) -> list[int]:
        """Return the params that belong to the arguments to differentiate by."""
        params, chosen = self.staged.params, list[int]()
        for n in self.asked.argnums:
            if not -len(args) <= n < len(args):
                raise Refused("argnums asks for an argument that was not given")
            own = [k for k, p in enumerate(params) if p.path[0] == ("argument", n % len(args)) and p.what != "length"]
            if any(params[k].kind not in (F64, "f64[]") for k in own):
                raise Refused("a gradient by ints")
            if any(how == "attribute" for k in own for how, _ in params[k].path):
                raise Refused("a gradient by the attributes of an object")
            chosen += [k for k in own if k not in chosen]
        return chosen

    def prove(self, args: tuple[Any, ...]) -> None:
        """Compare the kernel with plain Python and with eager code at these arguments, as far as that takes little time."""
        start = time.perf_counter()
        try:
            found = self.found(args)
        except CheckFailed:
            return  # plain Python runs this call, and the next one is compared
        self.proved = True
        took = time.perf_counter() - start
        with suppress(Undecided):
            self.compare(args, found, Oracle(self.function, lambda: self.copied(args), took, self.staged.derivatives))

    def found(self, args: tuple[Any, ...]) -> Any:
        """Return what the kernel gives, to be compared."""
        return self.run(args, both=True)

    def compare(self, args: tuple[Any, ...], found: Any, oracle: Oracle) -> None:
        """Compare the value and the gradient."""
        value, gradient = found if self.asked.argnums else (found, None)
        inner = oracle.derives
        if oracle.affords(SLOWER_EAGER if inner else SLOWER):
            plain = oracle.plain()
            if self.asked.argnums and type(plain) is int:
                plain = float(plain)
            require((near if inner else equal)(value, plain), "plain Python")
        if self.asked.argnums and oracle.affords(SLOWER_EAGER * (SLOWER_EAGER if inner else 1)):
            argnums = self.asked.argnums[0] if self.asked.single else self.asked.argnums
            require(near(gradient, oracle.eager(grad(self.function, argnums))), "eager code")

    def copied(self, args: tuple[Any, ...]) -> Any:
        """Return the arguments for a run in Python, their arrays in the precision that the kernel has."""
        arrays = [(_at(args, path), kind) for path, kind in self.arrays.items()]
        known = {
            id(x): x for path, x in self.arguments if path[-1][0] == "object"
        }  # it may be asked whether they are these
        return copy.deepcopy(args, known | {id(x): _array(x, kind).copy() for x, kind in arrays if is_array(x)})

    def source(self) -> str:
        """Return the LLVM text of the kernel."""
        return text(self.tape).source

    def report(self, owner: Any) -> Explanation:
        """Return what `jit(f).explain(...)` prints of a call that this variant answers."""
        lines = [f"{owner!r}: a typed tape, for arrays of {'any' if self.any_length() else 'this'} length"]
        if self.staged.notes:
            lines += ["", "what was not kept as it stands in the source:"]
            lines += [f"   {where + ': ' if where else ''}{what}" for where, what in self.staged.notes]
        tapes = [("the function", self.staged.tape)]
        if self.asked.argnums:
            tapes.append((self.title, self.tape))
        for name, tape in tapes:
            lines += ["", f"-- {name}: {len(tape):,} instructions", *shortened(str(tape).splitlines())]
        return Explanation("\n".join(lines))

    def any_length(self) -> bool:
        """Return whether arrays of another length are taken as well."""
        return not any(path[-1][0] in ("axis", "shape") for path, _ in self.arguments)

    # ---- a call

    def may_hold(self) -> bool:
        """Return whether what was read from outside is what it was."""
        return self.outside.hold()

    def holds(self, args: tuple[Any, ...]) -> bool:
        """Return whether the tape is right for these arguments."""
        try:
            return (
                len(args) == self.count
                and all(type(_at(args, path)) is cls for path, cls in self.classes)
                and all(_fits(args, path, value) for path, value in self.arguments)
                and self.may_hold()
            )
        except (LookupError, AttributeError, TypeError):
            return False

    def run(self, args: tuple[Any, ...], both: bool = False) -> Any:
        """Return the result of a call; `both` the value and the gradient, where one of them is asked for."""
        found = self.kernel(*self.bound(args))
        if not self.asked.argnums:
            return self.arranged(found)
        gradients = dict(zip(self.wrt, found[len(self.staged.tape.yields) :]))
        parts = [self.gradient(args, n % len(args), gradients) for n in self.asked.argnums]
        gradient = parts[0] if self.asked.single else tuple(parts)
        return (self.arranged(found), gradient) if self.asked.value or both else gradient

    def entry(self, args: tuple[Any, ...]) -> Entry | None:
        """Return machine code from numbers to numbers, for arguments like these; None where that is not possible."""

        def shown(value: Callable[[Any], Any], gradient: Callable[[int], Any]) -> Any:
            if not self.asked.argnums:
                return value(self.result)
            parts = [gradient(n % len(args)) for n in self.asked.argnums]
            found = parts[0] if self.asked.single else tuple(parts)
            return (value(self.result), found) if self.asked.value else found

        return entry(self.kernel, self.staged, self.tape, self.wrt, shown, args)

    def installed(self, args: tuple[Any, ...]) -> Installed | None:
        """Return what C needs for calls with arguments like these; None where it cannot do them."""
        return None if self.outside.slow else installed(self.entry(args))

    def bound(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the params of the tape for these arguments."""
        arrays = {path: _array(_at(args, path), kind) for path, kind in self.arrays.items()}
        given: list[Any] = []
        for path, kind, what, axis in self.staged.params:
            if what == "array":
                given.append(arrays[path].ravel())
            elif what == "length":
                given.append(arrays[path].shape[axis])
            else:
                x = _at(args, path)
                given.append(float(x) if kind == F64 else int(x))
        return given

    def arranged(self, found: Sequence[Any]) -> Any:
        """Return what the function returns, made of what the tape yields."""
        return _arranged(self.result, found)

    def gradient(self, args: tuple[Any, ...], n: int, found: dict[int, Any]) -> Any:
        """Return the gradient by an argument, with its structure."""
        by_path = {self.staged.params[k].path: g for k, g in found.items()}

        def like(x: Any, path: staged.Path) -> Any:
            if path in by_path:
                g = by_path[path]
                if is_array(x):
                    return g.reshape(x.shape)
                return _nested(g, _shape(x), _classes(x)) if type(x) in _COUNTED else g
            if type(x) is dict:
                return {key: like(y, (*path, ("item", key))) for key, y in x.items()}
            if isinstance(x, _COUNTED):
                items = [like(y, (*path, ("item", i))) for i, y in enumerate(x)]
                return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
            return x

        return like(args[n], (("argument", n),))


def _at(args: tuple[Any, ...], path: staged.Path) -> Any:
    """Return what is at a path of the arguments."""
    x: Any = args
    for how, name in path:
        x = getattr(x, name) if how == "attribute" else x[name]
    return x


def _fits(args: tuple[Any, ...], path: staged.Path, value: Any) -> bool:
    """Return whether a fact about an argument holds."""
    how = path[-1][0]
    if how in ("argument", "item", "attribute"):
        x = _at(args, path)
        return type(x) is type(value) and (x is value or bool(x == value)) and repr(x) == repr(value)
    x = _at(args, path[:-1])
    if how == "object":
        return x is value
    if how == "same":
        return x is _at(args, value)
    if how == "other":
        return x is not _at(args, value)
    if how == "no":
        return x is not value
    if how == "keys":
        return bool(type(x) is dict and tuple(x) == value)
    if how == "length":
        return bool((type(x), len(x)) == value)
    if how == "depth":
        return bool(_classes(x) == value)
    if how == "array":
        return is_array(x) and bool((type(x), str(x.dtype), x.ndim) == value)
    if how == "axis":
        return bool((x.shape if is_array(x) else _shape(x))[path[-1][1]] == value)
    if how == "shape":
        return bool((tuple(x.shape) if is_array(x) else _shape(x)) == value)
    assert how == "class", how
    return bool((type(x), tuple(vars(x)) if hasattr(x, "__dict__") else ()) == value)


def _classes(x: Any) -> tuple[type, ...]:
    return (type(x), *_classes(x[0])) if type(x) in _COUNTED and x else ()


def _shape(x: Any) -> tuple[int, ...]:
    return (len(x), *_shape(x[0])) if type(x) in _COUNTED and x else ((0,) if type(x) in _COUNTED else ())


def _array(x: Any, kind: str) -> Any:
    """Return an argument as a NumPy array; raise where nested lists are ragged, or hold numbers of another kind."""
    import numpy as np

    dtype = {"f64[]": np.float64, "i64[]": np.int64, "bool[]": np.bool_}[kind]
    if is_array(x):
        return np.ascontiguousarray(x, dtype=dtype)
    items, depth = x, 1
    while items and type(items[0]) in _COUNTED:
        width, cls = len(items[0]), type(items[0])
        if any(type(y) is not cls or len(y) != width for y in items):
            raise _Unlike
        items, depth = list(chain.from_iterable(items)), depth + 1
    wanted = {"f64[]": float, "i64[]": int, "bool[]": bool}[kind]
    others = set(map(type, items)) - {wanted}
    if others and not (wanted is float and all(map(is_float64, [y for y in items if type(y) is not float]))):
        raise _Unlike
    try:
        return np.array(items, dtype=dtype).reshape(_shape(x))
    except (OverflowError, ValueError):
        raise _Unlike from None


def _nested(flat: Any, shape: tuple[int, ...], classes: tuple[type, ...]) -> Any:
    """Return the numbers of an array as nested lists or tuples."""

    def made(x: Any, depth: int) -> Any:
        items = x if depth == len(shape) - 1 else [made(y, depth + 1) for y in x]
        return items if classes[depth] is list and isinstance(items, list) else classes[depth](items)

    return made(flat.reshape(shape).tolist(), 0)


def _arranged(part: Any, found: Sequence[Any]) -> Any:
    if isinstance(part, staged.Leaf):
        return found[part.number]
    if isinstance(part, staged.Mixed):
        return int(found[part.number]) if found[part.is_int] else found[part.number]
    if isinstance(part, staged.Constant):
        return part.value
    if isinstance(part, staged.Sequence_):
        items = [_arranged(p, found) for p in part.items]
        return part.cls(*items) if hasattr(part.cls, "_fields") else part.cls(items)
    if isinstance(part, staged.Mapping_):
        return part.cls(zip(part.keys, [_arranged(p, found) for p in part.items]))
    if isinstance(part, staged.Array):
        array = _shaped(part, found)
        return array.copy() if part.cls.__module__ == "numpy" else _listed(array.tolist(), part.cls)
    assert isinstance(part, staged.Records), part
    length = found[part.length.number] if isinstance(part.length, staged.Leaf) else part.length
    item = _items(part.item, found)
    return part.cls([item(i) for i in range(length)])


def _items(part: Any, found: Sequence[Any]) -> Callable[[int], Any]:
    """Return what gives each item of a list whose numbers are in arrays, one for all items each."""
    if isinstance(part, staged.Leaf):
        return cast("Callable[[int], Any]", _plain(found[part.number]).__getitem__)
    if isinstance(part, staged.Array):  # all rows of a list of lists
        rows = _plain(_shaped(part, found))
        return lambda i: _listed(rows[i], part.cls)
    if isinstance(part, staged.Sequence_):
        made = [_items(p, found) for p in part.items]
        named = hasattr(part.cls, "_fields")
        return lambda i: part.cls(*[one(i) for one in made]) if named else part.cls([one(i) for one in made])
    if isinstance(part, staged.Mixed):
        numbers, whole = _plain(found[part.number]), _plain(found[part.is_int])
        return lambda i: int(numbers[i]) if whole[i] else numbers[i]
    return lambda i: _arranged(part, found)


def _plain(array: Any) -> Any:
    return array.tolist() if hasattr(array, "tolist") else array


def _shaped(part: Any, found: Sequence[Any]) -> Any:
    """Return an array in its shape."""
    shape = tuple([found[n.number] if isinstance(n, staged.Leaf) else n for n in part.shape])
    return found[part.number][: _product(shape)].reshape(shape)


def _listed(items: list[Any], cls: type) -> Any:
    return items if cls is list else cls(items)


def _product(shape: Sequence[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
