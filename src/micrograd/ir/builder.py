"""Make a typed tape: fold constants, merge equal instructions, and decide comparisons of indices where that can be proved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from micrograd.ir.affine import Affine, Known
from micrograd.ir.forms import ARRAY_OPS, ARRAYS, BOOL, F64, I64, TABLE, Body, Place, Tape, array_of, is_array

Results = list[Place]


class Scope:
    """A body that is being made: what it has already, and what is known inside of it."""

    __slots__ = ("body", "seen", "truth", "facts")

    def __init__(self) -> None:
        self.body = Body()
        self.seen: dict[object, Place] = {}
        self.truth: dict[Place, bool] = {}
        self.facts: dict[tuple[tuple[int, int], ...], int] = {}


class Builder:
    """A tape that is being made. Instructions go to the end of the body that is open."""

    def __init__(self, kinds: Sequence[str] = ()) -> None:
        self.tape: Tape = Body()
        self.open = [self.tape]
        self.seen: list[dict[object, Place]] = [{}]  # what each open body has already
        self.truth: list[dict[Place, bool]] = [{}]  # what is known of bools in each open body
        self.known = Known()
        self.constants: dict[Any, Place] = {}
        self.home: dict[Place, Body] = {}  # the body that each place is in
        self.sizes: dict[Place, Place] = {}  # the sizes of arrays that regions give, as far as they are known
        self.params = [self._param(self.tape, kind) for kind in kinds]

    def _param(self, body: Body, kind: str) -> Place:
        param = Place("param", (), kind)
        body.params.append(param)
        self.home[param] = body
        return param

    def param(self, kind: str, outermost: bool = False) -> Place:
        """Add a param to the open body, or to the outermost one."""
        return self._param(self.open[0 if outermost else -1], kind)

    def finish(self, yields: Sequence[Place]) -> Tape:
        """Return the tape, which yields these places."""
        assert len(self.open) == 1, "a body is still open"
        self.tape.yields = list(yields)
        return self.tape

    # ---- instructions

    def const(self, x: Any, kind: str = "") -> Place:
        """Return a constant: a float, an int, a bool, or (with its kind) a list of them."""
        if not kind:
            kind = BOOL if isinstance(x, bool) else I64 if isinstance(x, int) else F64
        x = tuple(x) if is_array(kind) else x
        key = kind, repr(x)
        if key not in self.constants:
            self.constants[key] = Place("const", (), kind, x)
        return self.constants[key]

    def emit(self, op: str, *args: Place) -> Place:
        """Return the place of an instruction: a new one, an earlier one that does the same, or a constant."""
        simpler = self._simpler(op, args)
        if simpler is not None:
            return simpler
        return self._once(op, args, self._kind(op, args))

    def _once(self, op: str, args: tuple[Place, ...], kind: str) -> Place:
        if op in ("fill", "grow"):  # room that each user fills on its own: shared, it would have to be copied
            return self.append(Place(op, args, kind))
        found = self._seen(op, args)
        if found is not None:
            return found
        place = self.append(Place(op, args, kind))
        self.seen[-1][op, args] = place
        return place

    def _seen(self, op: str, args: tuple[Place, ...]) -> Place | None:
        """Return the place of an earlier instruction that can be read in the open body; None where there is none."""
        key = op, args
        for seen in reversed(self.seen):
            if key in seen:
                return seen[key]
        return None

    def append(self, place: Place) -> Place:
        """Add an instruction to the open body as it is."""
        self.open[-1].code.append(place)
        self.home[place] = self.open[-1]
        return place

    def visible(self, place: Place) -> bool:
        """Return whether the open body can read a place."""
        return place.op == "const" or self.home[place] in self.open

    def _kind(self, op: str, args: Sequence[Place]) -> str:
        if op in TABLE:
            return TABLE[op].gives or args[1].kind
        if op == "array":
            return array_of(args[0].kind)
        if op == "fill":
            return array_of(args[1].kind)
        if op == "load":
            return ARRAYS[args[0].kind]
        return I64 if op == "size" else args[0].kind

    def array(self, items: Sequence[Place], kind: str = F64) -> Place:
        """Return the array of these numbers of one kind."""
        if all(item.op == "const" for item in items):
            return self.const([item.attr for item in items], array_of(kind))
        return self._once("array", tuple(items), array_of(kind))

    def check(self, condition: Place, text: str) -> None:
        """End the run here where the condition does not hold."""
        if self.decided(condition) is not True:
            self.append(Place("check", (condition,), "", text))
            self.assume(condition, True)

    def number(self, place: Place) -> Place:
        """Return a number of any kind as f64."""
        if place.kind == I64:
            return self.emit("float", place)
        return self.emit("float", self.emit("count", place)) if place.kind == BOOL else place

    def sum(self, a: Place, b: Place | int, factor: int = 1) -> Place:
        """Return the whole number a + factor·b."""
        if isinstance(b, int) or b.op == "const":
            b = self.const((b if isinstance(b, int) else b.attr) * factor)
        if factor not in (1, -1) and b.op != "const":
            b, factor = self.emit("imul", b, self.const(factor)), 1
        return self.emit("iadd" if factor == 1 or b.op == "const" else "isub", a, b)

    # ---- what is known already

    def _simpler(self, op: str, args: tuple[Place, ...]) -> Place | None:
        if op in ARRAY_OPS:
            return self._simpler_array(op, args)
        rule = TABLE.get(op)
        if rule is None:
            return None
        if op == "select":
            return self._selected(*args)
        if all(a.op == "const" for a in args):
            return self.const(rule.value(*[a.attr for a in args]), rule.gives)
        if rule.gives == I64:
            return self._whole(op, args)
        if rule.gives == BOOL:
            return self._bool(op, args)
        if op == "float" and args[0].op == "int":
            return None
        if rule.op is not None and rule.op.identity is not None:
            identity = repr(rule.op.identity)
            if args[1].op == "const" and repr(args[1].attr) == identity:
                return args[0]
            if rule.op.commutative and args[0].op == "const" and repr(args[0].attr) == identity:
                return args[1]
        return args[0].args[0] if op == "neg" and args[0].op == "neg" else None

    def _selected(self, c: Place, a: Place, b: Place) -> Place | None:
        if a is b:
            return a
        truth = self.decided(c)
        if truth is not None:
            return a if truth else b
        if a.kind == BOOL and a.op == b.op == "const":
            return c if a.attr else self.emit("not", c)
        return None

    def _whole(self, op: str, args: tuple[Place, ...]) -> Place | None:
        of = self.known.of
        if op == "ior":
            if args[0] is args[1] or any(a.op == "const" and not a.attr for a in args):
                return args[1] if args[0].op == "const" else args[0]
            return None
        if op in ("iadd", "isub"):
            form = of(args[0]).plus(of(args[1]), 1 if op == "iadd" else -1)
        elif op == "imul" and any(a.op == "const" for a in args):
            x, c = args if args[1].op == "const" else args[::-1]
            form = Affine().plus(of(x), c.attr)
        else:
            if op == "imul" and all(self.known.positive(of(a)) for a in args):
                place = self._once(op, args, I64)
                self.known.at_least(place, 0)
                return place
            if op == "int" and args[0].op == "float":
                return args[0].args[0]
            if op == "imod" and args[1].op == "const" and args[1].attr > 0:
                place = self._once(op, args, I64)
                self.known.at_least(place, 0)
                self.known.facts[0][((id(place), -1),)] = args[1].attr - 1
                return place
            return self._extreme(op, *args) if op in ("imin", "imax") else None
        if not form.terms:
            return self.const(form.constant)
        alone = self.known.place_of(form)
        if alone is not None:
            return alone
        key = "affine", form
        for seen in reversed(self.seen):
            if key in seen:
                return seen[key]
        place = self._once(op, args, I64)
        self.known.define(place, form)
        self.seen[-1][key] = place
        return place

    def _extreme(self, op: str, a: Place, b: Place) -> Place:
        """Return the least or the greatest of two whole numbers."""
        known, one, two = self.known, self.known.of(a), self.known.of(b)
        if known.positive(two.plus(one, -1)):
            return a if op == "imin" else b
        if known.positive(one.plus(two, -1)):
            return b if op == "imin" else a
        shared = Affine(
            tuple([t for t in one.terms if t in two.terms]), one.constant if one.constant == two.constant else 0
        )
        rest = [known.place_of(form.plus(shared, -1)) for form in (one, two)]
        if shared != Affine() and None not in rest:  # min(n - k, m - k) is min(n, m) - k
            x, y = rest
            assert x is not None and y is not None
            total = self.emit(op, x, y)
            for number, factor in shared.terms:
                total = self.sum(total, known.places[number], factor)
            return self.sum(total, shared.constant)
        place = self._once(op, (a, b), I64)
        lows = [x.attr for x in (a, b) if x.op == "const"]
        if op == "imax" and lows:
            known.at_least(place, max(lows))
        return place

    def _bool(self, op: str, args: tuple[Place, ...]) -> Place | None:
        if op == "not":
            truth = self.decided(args[0])
            if truth is not None:
                return self.const(not truth)
            return args[0].args[0] if args[0].op == "not" else None
        if op in ("and", "or"):
            for x, y in (args, args[::-1]):
                truth = self.decided(x)
                if truth is not None:
                    return y if truth == (op == "and") else self.const(truth)
            return args[0] if args[0] is args[1] else None
        truth = self._compared(op, args)
        return None if truth is None else self.const(truth)

    def _compared(self, op: str, args: Sequence[Place]) -> bool | None:
        """Return whether a comparison of whole numbers holds; None where that is not known."""
        if op not in ("ilt", "ile", "ieq"):
            return None
        difference = self.known.of(args[1]).plus(self.known.of(args[0]), -1)  # b - a
        if op == "ieq":
            if not difference.terms:
                return difference.constant == 0
            apart = (difference, difference.negated())
            return False if any(self.known.positive(d.plus(Affine((), 1), -1)) for d in apart) else None
        least = 1 if op == "ilt" else 0
        if self.known.positive(difference.plus(Affine((), least), -1)):
            return True
        return False if self.known.positive(difference.negated().plus(Affine((), 1 - least), -1)) else None

    def decided(self, place: Place) -> bool | None:
        """Return whether a bool is known to hold in the open body, or known not to; None where neither is known."""
        if place.op == "const":
            return bool(place.attr)
        for truth in self.truth:
            if place in truth:
                return truth[place]
        if place.op == "not":
            inner = self.decided(place.args[0])
            return None if inner is None else not inner
        return self._compared(place.op, place.args)

    def assume(self, place: Place, holds: bool) -> None:
        """Write down that a bool holds in the open body, or that it does not."""
        if place.op == "const":
            return
        self.truth[-1][place] = holds
        if place.op == "not":
            self.assume(place.args[0], not holds)
        elif (place.op == "and" and holds) or (place.op == "or" and not holds):
            for a in place.args:
                self.assume(a, holds)
        elif place.op in ("ilt", "ile"):
            low, high = (self.known.of(x) for x in place.args)
            more = high.plus(low, -1) if holds else low.plus(high, -1)
            strict = (place.op == "ilt") == holds
            self.known.assume(more.plus(Affine((), int(strict)), -1))
        elif place.op == "ieq" and holds:
            left, right = (self.known.of(x) for x in place.args)
            self.known.assume(left.plus(right, -1))
            self.known.assume(right.plus(left, -1))

    def _simpler_array(self, op: str, args: tuple[Place, ...]) -> Place | None:
        a = args[0]
        if op == "size":
            return self._size(a)
        if op == "store":  # of what is there already
            x = args[2]
            there = x.op == "load" and x.args[0] is a and self._compared("ieq", (x.args[1], args[1]))
            return a if there else None
        if op != "load":
            return None
        i = args[1]
        if i.op == "const" and a.op in ("const", "array"):
            items = a.attr if a.op == "const" else a.args
            if 0 <= i.attr < len(items):
                return self.const(items[i.attr], ARRAYS[a.kind]) if a.op == "const" else a.args[i.attr]
        if a.op == "fill":
            return a.args[1]
        if a.op == "slice":
            return self.emit("load", a.args[0], self.sum(a.args[1], i))
        if a.op == "store":
            same = self._compared("ieq", (a.args[1], i))
            if same is not None:
                if same:
                    return a.args[2]
                # A new load of the array before the store would keep it alive, and the store could not be done in place.
                return self._seen("load", (a.args[0], i))
        return None

    def _size(self, a: Place) -> Place | None:
        if a.op == "const":
            return self.const(len(a.attr))
        if a.op == "array":
            return self.const(len(a.args))
        if a.op == "fill":
            return a.args[0]
        if a.op == "slice":
            return a.args[2]
        if a.op in ("store", "bump"):
            return self.emit("size", a.args[0])
        if a.op == "append":
            return self.sum(self.emit("size", a.args[0]), 1)
        if a.op == "grow":
            return self.sum(self.emit("size", a.args[0]), a.args[1])
        if a in self.sizes:
            return self.sizes[a]
        place = self._once("size", (a,), I64)
        self.known.at_least(place, 0)
        return place

    # ---- regions

    def enter(self, scope: Scope | None = None) -> Scope:
        """Open a new body inside of the open one, or one again that has been left; `leave` closes it."""
        scope = scope or Scope()
        self.open.append(scope.body)
        self.seen.append(scope.seen)
        self.truth.append(scope.truth)
        self.known.facts.append(scope.facts)
        return scope

    def leave(self) -> None:
        """Close the body that was opened last. It is part of the tape only if a region has it."""
        self._leave()

    def splice(self, scope: Scope) -> None:
        """Add what a body that has been left contains to the open body, where it is known to run."""
        for place in scope.body.code:
            self.append(place)
            for result in place.results:
                self.home[result] = self.open[-1]
        self.seen[-1].update(scope.seen)
        self.truth[-1].update(scope.truth)
        for terms, constant in scope.facts.items():
            known = self.known.facts[-1]
            known[terms] = min(constant, known.get(terms, constant))

    def _enter(self, params: Sequence[str] = ()) -> Body:
        body = self.enter().body
        for kind in params:
            self._param(body, kind)
        return body

    def _leave(self) -> None:
        for stack in (self.open, self.seen, self.truth, self.known.facts):
            stack.pop()

    def region(self, place: Place, kinds: Sequence[str]) -> Results:
        """Add a region to the open body, with results of these kinds."""
        place.results = [Place("result", (place,), kind, k) for k, kind in enumerate(kinds)]
        self.append(place)
        for result in place.results:
            self.home[result] = self.open[-1]
        return place.results

    def choose(
        self, condition: Place, then: Callable[[], Sequence[Place]], otherwise: Callable[[], Sequence[Place]]
    ) -> Results:
        """Return the results of one of two bodies, which yield places of the same kinds."""
        truth = self.decided(condition)
        if truth is not None:
            return list((then if truth else otherwise)())
        place = Place("if", (condition,), "")
        bodies, sizes = [], []
        for make, holds in ((then, True), (otherwise, False)):
            body = self._enter()
            self.assume(condition, holds)
            body.yields = list(make())
            sizes.append([self.emit("size", y) if is_array(y.kind) else None for y in body.yields])
            self._leave()
            bodies.append(body)
        kinds = [[y.kind for y in body.yields] for body in bodies]
        if kinds[0] != kinds[1]:
            raise ValueError(f"the bodies of an `if` yield {kinds[0]} and {kinds[1]}")
        place.bodies = tuple(bodies)
        results = self.region(place, kinds[0])
        for r, size, other in zip(results, *sizes):
            if size is not None and size is other and self.visible(size):
                self.sizes[r] = size
        same = [a if a is b else None for a, b in zip(*(body.yields for body in bodies))]
        return [r if s is None else s for r, s in zip(results, same)]

    def slopes(self, args: Sequence[Place], make: Callable[[Results], Place]) -> Results:
        """Return the number that a body yields, and its derivatives by those of its params that are f64 or arrays of them."""
        place = Place("slopes", tuple(args), "")
        sizes = [self.emit("size", x) if is_array(x.kind) else None for x in args]
        body = self._enter([x.kind for x in args])
        for param, size in zip(body.params, sizes):
            if size is not None and size.op == "const":
                self.sizes[param] = size
        body.yields = [make(body.params)]
        self._leave()
        place.bodies = (body,)
        by = [k for k, x in enumerate(args) if x.kind in (F64, "f64[]")]
        results = self.region(place, [F64, *(args[k].kind for k in by)])
        for k, r in zip(by, results[1:]):
            size = sizes[k]
            if size is not None:
                self.sizes[r] = size
        return results

    def loop(
        self,
        times: Place | None,
        carried: Sequence[Place],
        make: Callable[[Results, Place], tuple[Place, Sequence[Place]]],
        steady: Collection[int] = (),
    ) -> Results:
        """Return the carried values at the end of a loop, and the number of its iterations.

        `make` gets the params of the body and the number of the iteration, and returns `again` and the next carried values.
        `steady` has the numbers of the carried arrays whose size no iteration changes.
        """
        place = Place("loop", (*([] if times is None else [times]), *carried), "", times is not None)
        sizes = {n: self.emit("size", carried[n]) for n in steady}
        body = self._enter([*(x.kind for x in carried), I64])
        *params, k = body.params
        for n, size in sizes.items():
            params[n].attr = True
            self.sizes[params[n]] = size
        self.known.at_least(k, 0)
        if times is not None:  # inside: 0 <= k < times
            self.known.assume(self.known.of(times).plus(self.known.of(k), -1).plus(Affine((), -1)))
        again, following = make(params, k)
        body.yields = [again, *following]
        self._leave()
        kinds = [x.kind for x in carried]
        if again.kind != BOOL or [x.kind for x in following] != kinds:
            raise ValueError(f"a loop carries {kinds}, and its body yields {[x.kind for x in body.yields]}")
        place.bodies = (body,)
        results = self.region(place, [*kinds, I64])
        self.sizes.update((results[n], size) for n, size in sizes.items())
        self.known.at_least(results[-1], 0)
        return results
