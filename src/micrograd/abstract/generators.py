"""Generators: run by their consumer, or held between two items.

A generator whose only yields end an iteration of its last loop can be held at the head of that loop: an item is taken by
doing iterations until one yields. Generator expressions with one `for` are like this. Any other generator is run by the
loop that consumes it: the body of that loop is interpreted where the generator yields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from micrograd.abstract.errors import Refused
from micrograd.abstract.loops import Loops, _first_next
from micrograd.abstract.outcomes import NORMAL, Result
from micrograd.abstract.shapes import get_named
from micrograd.abstract.state import Running
from micrograd.abstract.values import NONE, Cell, Closure, Ref, Value
from micrograd.core import forms
from micrograd.core.forms import RAISE, RETURN, Function, Node, children

YIELDED = "%yielded"


class Plan(NamedTuple):
    """How a generator is held: what it does first, its last loop, whether each iteration yields, what it does last."""

    first: list[tuple[str | None, Node]]  # forms to evaluate; with a name, the value of a variable
    loop: forms.Loop
    always: bool
    labels: list[str]  # those of the blocks around the loop, which may be left to end it
    last: list[Node]


class Generators(Loops):
    """Interprets generators."""

    def is_generator(self, value: Value) -> bool:
        value = self.resolved(value)
        if not isinstance(value, Ref):
            return False
        cell = self.heap.get(value.location)
        return isinstance(cell, Cell) and cell.key[0] == "generator"

    def closure_of(self, generator: Value) -> Closure:
        closure = self.cell(self.resolved(generator)).key[1]
        assert isinstance(closure, Closure)
        return closure

    def state_of(self, generator: Value) -> str:
        return str(self.cell(self.resolved(generator)).key[2])

    def set_state(self, generator: Value, state: str) -> None:
        ref = self.resolved(generator)
        assert isinstance(ref, Ref)
        cell = self.cell(ref)
        self.heap[ref.location] = Cell((*cell.key[:2], state), cell.values)

    def steps_alone(self, value: Value) -> bool:
        return plan_of(self.closure_of(value).function) is not None or self.state_of(value) == "ended"

    def source_of(self, generator: Ref) -> Value | None:
        plan = plan_of(self.closure_of(generator).function)
        if plan is None or not plan.always or self.state_of(generator) not in ("new", "held"):
            return None
        if plan.first and self.state_of(generator) == "new":
            return None
        head = _first_next(plan.loop.body)
        if head is None or not isinstance(head.iterator, forms.Var) or head.iterator.up:
            return None
        frame = self.closure_of(generator).frame
        assert frame is not None
        return get_named(self.cell(Ref(frame)), head.iterator.name)

    # ---- held generators

    def within(self, generator: Value, run: Callable[[int], Result]) -> Result:
        """Do something in the frame of a generator."""
        closure = self.closure_of(generator)
        assert closure.frame is not None
        if len(self.running) > 200:
            raise Refused("generators are nested too deeply")
        depth = len(self.running)
        self.running.append(Running(closure.frame, closure.function, closure.function.at, len(self.b.open)))
        try:
            return run(closure.frame)
        finally:
            del self.running[depth:]

    def start_generator(self, generator: Value) -> Result:
        """Let a generator that can be held run up to its last loop."""
        plan = plan_of(self.closure_of(generator).function)
        if plan is None or self.state_of(generator) != "new":
            return NONE

        def run(frame: int) -> Result:
            return self._first(plan.first, 0, frame)

        def held(_: Value) -> Result:
            self.set_state(generator, "held")
            return NONE

        return self.bind(self.within(generator, run), held)

    def _first(self, first: list[tuple[str | None, Node]], i: int, frame: int) -> Result:
        if i == len(first):
            return NONE
        name, node = first[i]

        def go_on(value: Value) -> Result:
            if name is not None:
                self.put(frame, name, value)
            return self._first(first, i + 1, frame)

        return self.bind(self.evaluate(node, frame), go_on)

    def step_generator(self, generator: Ref, end: Callable[[], Result]) -> Result:
        """Return the next item of a generator."""
        state = self.state_of(generator)
        if state == "ended":
            return end()
        plan = plan_of(self.closure_of(generator).function)
        if state == "broken" or plan is None:
            raise Refused(
                f"{self.closure_of(generator).function.name}() is a generator that cannot be held between two items",
                "Consume it by one `for` loop, or write it as a list.",
            )
        return self.bind(self.start_generator(generator), lambda _: self._step(generator, plan, end))

    def _step(self, generator: Ref, plan: Plan, end: Callable[[], Result]) -> Result:
        saved = dict(self.yielders)

        def run(frame: int) -> Result:
            self.yielders[frame] = lambda v: self.leave((YIELDED, frame), v)
            try:
                if plan.always:
                    return self.evaluate(plan.loop.body, frame)
                return self.loop(plan.loop, frame)
            finally:
                self.yielders = saved

        frame = self.closure_of(generator).frame
        ends = {(label, frame): NORMAL for label in (*plan.labels, RETURN)}
        result = self.relabel(self.within(generator, run), ends)  # type: ignore[arg-type]

        def ended(_: Value) -> Result:
            last = self.within(generator, lambda frame: self._first([(None, n) for n in plan.last], 0, frame))

            def done(_: Value) -> Result:
                self.set_state(generator, "ended")
                return end()

            return self.bind(last, done)

        return self.relabel(self.bind(result, ended), {(YIELDED, frame): NORMAL})

    # ---- generators that are run by their consumer

    def consume(self, generator: Value, node: Any, frame: int, head: Any) -> Result:
        """Run a whole generator; the body of a loop runs where it yields."""
        closure = self.closure_of(generator)
        if self.state_of(generator) != "new":
            raise Refused(f"{closure.function.name}() is a generator that cannot be held between two items")
        assert closure.frame is not None
        self.set_state(generator, "broken")
        back = ("%raised", closure.frame)
        own = closure.frame

        def hook(value: Value) -> Result:
            saved = self.yielders.pop(own)
            self.temporary.append([value])
            self.given_items[id(head)] = value
            try:
                result = self.evaluate(node.body, frame)
            finally:
                self.temporary.pop()
                self.yielders[own] = saved
            return self.bind(self.relabel(result, {RAISE: back}), lambda _: NONE)

        self.yielders[own] = hook
        try:
            result = self.within(generator, lambda inner: self.evaluate(closure.function.body, inner))
        finally:
            self.yielders.pop(own, None)
        result = self.relabel(result, {back: RAISE})

        def ended(_: Value) -> Result:
            self.set_state(generator, "ended")
            return self.leave((head.label, frame), NONE)

        return self.bind(result, ended)

    def yield_form(self, node: forms.Yield, frame: int) -> Result:
        def yielded(value: Value) -> Result:
            hook = self.yielders.get(frame)
            if hook is None:
                raise Refused("a generator that is not consumed by a loop")
            return hook(value)

        return self.bind(self.evaluate(node.value, frame), yielded)

    def yield_from(self, node: forms.YieldFrom, frame: int) -> Result:
        name, label = "%from", "%from"
        variable = forms.Var(node.at, name, 0)
        inner = self.delegations.get(id(node))
        if inner is None:
            loop = forms.Loop(node.at, forms.Yield(node.at, forms.Next(node.at, variable, label)))
            iterator = forms.Prim(node.at, "iter", (node.value,))
            inner = forms.Let(node.at, name, iterator, forms.Block(node.at, label, loop))
            self.delegations[id(node)] = inner
        return self.evaluate(inner, frame)


def plan_of(function: Function) -> Plan | None:
    """Return how a generator is held; None where it cannot be."""
    if "plan" not in function.notes:
        function.notes["plan"] = _plan(function.body)
    return function.notes["plan"]  # type: ignore[no-any-return]


def _plan(node: Node) -> Plan | None:
    first: list[tuple[str | None, Node]] = []
    labels: list[str] = []
    last: list[Node] = []
    while not isinstance(node, forms.Loop):
        if isinstance(node, forms.Block):
            labels.append(node.label)
            node = node.body
        elif isinstance(node, forms.Let):
            if node.value is None or _yields(node.value):
                return None
            first.append((node.name, node.value))
            node = node.body
        elif isinstance(node, forms.Seq):
            at = [i for i, x in enumerate(node.items) if _yields(x)]
            if len(at) != 1:
                return None
            first += [(None, x) for x in node.items[: at[0]]]
            last = [*[x for x in node.items[at[0] + 1 :] if not isinstance(x, forms.Const)], *last]
            node = node.items[at[0]]
        else:
            return None
    always = _ends_with_yield(node.body)
    if always is None:
        return None
    return Plan(first, node, always, labels, last)


def _yields(node: Node) -> bool:
    return isinstance(node, forms.Yield | forms.YieldFrom) or any(map(_yields, children(node)))


def _ends_with_yield(node: Node) -> bool | None:
    """Return whether a form always ends with a yield, its only one; None where a yield stands elsewhere."""
    if not _yields(node):
        return False
    if isinstance(node, forms.Yield):
        return None if _yields(node.value) else True
    if isinstance(node, forms.Seq):
        if any(_yields(x) for x in node.items[:-1]):
            return None
        always = _ends_with_yield(node.items[-1])
        return None if always is None else always and not any(map(_leaves, node.items[:-1]))
    if isinstance(node, forms.If):
        if _yields(node.test):
            return None
        ways = [_ends_with_yield(node.then), _ends_with_yield(node.orelse)]
        return None if None in ways else all(ways)
    if isinstance(node, forms.Let):
        if node.value is not None and _yields(node.value):
            return None
        always = _ends_with_yield(node.body)
        return None if always is None else False
    if isinstance(node, forms.Block):
        always = _ends_with_yield(node.body)
        return None if always is None else False
    return None


def _leaves(node: Node) -> bool:
    return isinstance(node, forms.Leave) or any(map(_leaves, children(node)))
