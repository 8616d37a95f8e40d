"""The forms of the core, interpreted for all inputs at once."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.abstract.errors import Refused, Unrollable
from micrograd.abstract.outcomes import Result, Ways
from micrograd.abstract.outside import Outside
from micrograd.abstract.shapes import get_named, put_named
from micrograd.abstract.values import LOST, NONE, UNDEF, Cell, Closure, Const, Ref, Tuple, Union, Value, is_mark
from micrograd.core import forms
from micrograd.core.forms import RAISE, Node
from micrograd.ir.forms import Place

BUDGET = (
    100_000  # forms that may be interpreted for one function, in all attempts; benchmarks/gradbench takes up to 72,000
)


class Machine(Outside):
    """Interprets forms. Its state is a heap, a tape that is being made, and the calls that are running."""

    # ---- dispatch

    def evaluate(self, node: Node, frame: int) -> Result:
        """Evaluate a form, with the variables of a frame."""
        self.steps += 1
        if self.steps > BUDGET:
            self.leaves_arms = False
            raise Refused(f"interpreting the function takes more than {BUDGET:,} steps")
        if self.running:
            self.running[-1].at = node.at
        return _RULES[type(node)](self, node, frame)

    def operands(self, nodes: Sequence[Node], frame: int, then: Callable[[list[Value]], Result]) -> Result:
        """Evaluate several forms, one after the other, and go on with their values."""
        found: list[Value] = []
        self.temporary.append(found)
        depth = len(self.temporary)

        def rest(i: int, found: list[Value]) -> Result:
            while i < len(nodes):
                result = self.evaluate(nodes[i], frame)
                i += 1
                if not isinstance(result, Value):

                    def go_on(value: Value, i: int = i) -> Result:
                        more = [*found, value]
                        self.temporary.append(more)
                        depth = len(self.temporary)
                        try:
                            return rest(i, more)
                        finally:
                            del self.temporary[depth - 1 :]

                    return self.bind(result, go_on)
                found.append(result)
            return then(found)

        try:
            return rest(0, found)
        finally:
            del self.temporary[depth - 1 :]

    # ---- variables

    def out(self, frame: int, up: int) -> int:
        for _ in range(up):
            outer = self.cell(Ref(frame)).key[2]
            assert outer is not None
            frame = outer
        return frame

    def const(self, node: forms.Const, frame: int) -> Result:
        return self.constant(node.value)

    def var(self, node: forms.Var, frame: int) -> Result:
        value = get_named(self.cell(Ref(self.out(frame, node.up))), node.name)
        return self.bound_value(value, node)

    def bound_value(self, value: Value, node: forms.Var) -> Result:
        if is_mark(value, UNDEF):
            return self.raised(forms.unbound(node.name, node.up > 0))
        if is_mark(value, LOST):
            name = node.name.partition("%")[0] or "an intermediate value"
            raise Unrollable(f"{name} is another object in each iteration", node.name)
        if isinstance(value, Union):
            return self.without_marks(value, node)
        return value

    def without_marks(self, value: Union, node: forms.Var) -> Result:
        """Return what a variable is that may be unbound: where it is, that is an error."""
        unbound = [m for m, x in value.alternatives if is_mark(x, UNDEF)]
        if any(is_mark(x, LOST) for _, x in value.alternatives):
            raise Unrollable(f"{node.name.partition('%')[0]} may be another object in each iteration", node.name)
        if not unbound:
            return value
        rest = self.union([(m, x) for m, x in value.alternatives if not is_mark(x, UNDEF)])
        return self.unless(unbound[0], forms.unbound(node.name, node.up > 0), lambda: rest)

    def set_var(self, node: forms.SetVar, frame: int) -> Result:
        return self.bind(self.evaluate(node.value, frame), lambda v: self.put(self.out(frame, node.up), node.name, v))

    def put(self, frame: int, name: str, value: Value) -> Value:
        if frame < 0:
            raise Refused(f"the variable {name} of a function around is assigned")
        self.heap[frame] = put_named(self.cell(Ref(frame)), name, value)
        return NONE

    def del_var(self, node: forms.DelVar, frame: int) -> Result:
        read = self.var(forms.Var(node.at, node.name, node.up), frame)
        return self.bind(read, lambda _: self.put(self.out(frame, node.up), node.name, Const(UNDEF)))

    def global_(self, node: forms.Global, frame: int) -> Result:
        space = self.globals_of(frame)
        if node.name in space:
            return self.read_from_outside("global", space, node.name, space[node.name])
        found = space.get("__builtins__", builtins)
        names = found if isinstance(found, dict) else vars(found)
        if node.name in names:
            self.note_missing(space, node.name)
            return self.constant(names[node.name])
        return self.raised(forms.undefined(node.name))

    def set_global(self, node: forms.SetGlobal, frame: int) -> Result:
        raise Refused(
            f"the global variable {node.name} is assigned", "A compiled call leaves global variables as they are."
        )

    def del_global(self, node: forms.DelGlobal, frame: int) -> Result:
        raise Refused(f"the global variable {node.name} is deleted")

    def let(self, node: forms.Let, frame: int) -> Result:
        def run(value: Value) -> Result:
            self.put(frame, node.name, value)
            result = self.evaluate(node.body, frame)
            return self.at_every_end(result, lambda: self.drop(frame, node.name))

        if node.value is None:
            return run(Const(UNDEF))
        return self.bind(self.evaluate(node.value, frame), run)

    def drop(self, frame: int, name: str) -> None:
        """Forget a variable that lowering made up."""
        cell = self.heap.get(frame)
        if isinstance(cell, Cell) and name in cell.key[1]:
            i = cell.key[1].index(name)
            names = cell.key[1][:i] + cell.key[1][i + 1 :]
            self.heap[frame] = Cell((cell.key[0], names, *cell.key[2:]), cell.values[:i] + cell.values[i + 1 :])

    def at_every_end(self, result: Result, run: Callable[[], None]) -> Result:
        """Do something to the heap of each way in which an evaluation may end."""
        if isinstance(result, Value):
            run()
        elif isinstance(result, Ways):
            saved = self.heap
            done: dict[int, Any] = {}
            for way in result.by_label.values():
                if id(way.heap) not in done:
                    self.heap = dict(way.heap)
                    run()
                    done[id(way.heap)] = way.heap, self.heap
                way.heap = done[id(way.heap)][1]
            self.heap = saved
        else:
            for arm in result.arms:
                self.heap = arm.heap
                arm.result = self.at_every_end(arm.result, run)
                arm.heap = self.heap
        return result

    # ---- control flow

    def seq(self, node: forms.Seq, frame: int, start: int = 0) -> Result:
        items = node.items
        if not items:
            return NONE
        for i in range(start, len(items) - 1):
            result = self.evaluate(items[i], frame)
            if not isinstance(result, Value):
                return self.bind(result, lambda _, i=i: self.seq(node, frame, i + 1))  # type: ignore[misc]
        return self.evaluate(items[-1], frame)

    def if_(self, node: forms.If, frame: int) -> Result:
        def test(value: Value) -> Result:
            def branch(condition: Place) -> Result:
                if self.b.decided(condition) is None:
                    self.choices[self.where()] = None
                return self.fork(
                    condition, lambda: self.evaluate(node.then, frame), lambda: self.evaluate(node.orelse, frame)
                )

            return self.truth(value, branch)

        return self.bind(self.evaluate(node.test, frame), test)

    def block(self, node: forms.Block, frame: int) -> Result:
        label = node.label, frame
        return self.relabel(self.evaluate(node.body, frame), {label: "normal"})

    def leave_form(self, node: forms.Leave, frame: int) -> Result:
        label = RAISE if node.label == RAISE else (node.label, frame)
        return self.bind(self.evaluate(node.value, frame), lambda v: self.leave(label, v))

    def handle(self, node: forms.Handle, frame: int) -> Result:
        self.catching += 1
        try:
            result = self.evaluate(node.body, frame)
        finally:
            self.catching -= 1
        if isinstance(result, Value):
            return result
        ways = self.ways(result)
        raised = ways.pop(RAISE, None)
        if raised is None:
            return self._finish(ways)

        def catch() -> Result:
            self.heap = dict(raised.heap)
            self.put(frame, node.name, raised.value)
            found = self.evaluate(node.catch, frame)
            return self.at_every_end(found, lambda: self.drop(frame, node.name))

        if not ways:
            return catch()
        if len(ways) == 1:
            for way in ways.values():
                way.flag = self.true
        return self.fork(raised.flag, catch, lambda: self._finish(ways))

    def finally_(self, node: forms.Finally, frame: int) -> Result:
        ways = list(self.ways(self.evaluate(node.body, frame)).items())

        def each(i: int) -> Result:
            label, way = ways[i]

            def one() -> Result:
                self.heap = dict(way.heap)
                self.temporary.append([way.value])
                try:
                    final = self.evaluate(node.final, frame)
                finally:
                    self.temporary.pop()
                return self.bind(final, lambda _: way.value if label == "normal" else self.leave(label, way.value))

            return one() if i == len(ways) - 1 else self.fork(way.flag, one, lambda: each(i + 1))

        return each(0)

    # ---- operations and objects

    def prim(self, node: forms.Prim, frame: int) -> Result:
        return self.operands(node.args, frame, lambda values: self.operation(node.op, values))

    def get(self, node: forms.Get, frame: int) -> Result:
        def found(values: list[Value]) -> Result:
            obj, key = values
            if node.how == "item":
                return self.item(obj, key)
            assert isinstance(key, Const)
            return self.attribute(obj, key.value) if node.how == "attr" else self.special(obj, key.value)

        return self.operands((node.obj, node.key), frame, found)

    def set(self, node: forms.Set, frame: int) -> Result:
        def put(values: list[Value]) -> Result:
            value, obj, key = values
            if node.how == "item":
                return self.set_item(obj, key, value)
            assert isinstance(key, Const)
            return self.set_attribute(obj, key.value, value)

        return self.operands((node.value, node.obj, node.key), frame, put)

    def delete(self, node: forms.Del, frame: int) -> Result:
        if node.how == "attr":
            raise Refused("an attribute is deleted")
        return self.operands((node.obj, node.key), frame, lambda values: self.delete_item(*values))

    def alloc(self, node: forms.Alloc, frame: int) -> Result:
        def made(values: list[Value]) -> Result:
            if node.kind == "tuple":
                return Tuple(values)
            if node.kind == "slice":
                return Tuple(values, slice)
            if node.kind == "list":
                return self.new(Cell(("list", list), values))
            if node.kind == "dict":
                return self.new_dict(list(zip(values[::2], values[1::2])))
            return self.new_set(values)

        return self.operands(node.args, frame, made)

    def make(self, node: forms.Make, frame: int) -> Result:
        if node.function.kind == "class":
            raise Refused(f"the class {node.function.name} is defined inside of the function", "Define it outside.")
        names = [name for name, _ in node.defaults]

        def made(values: list[Value]) -> Result:
            return Closure(node.function, frame, dict(zip(names, values)), self.frames[frame])

        return self.operands([value for _, value in node.defaults], frame, made)

    def call_form(self, node: forms.Call, frame: int) -> Result:
        operands = [node.function, *(a.value for a in node.args), *(k.value for k in node.keywords)]
        stars = [a.star for a in node.args]

        def call(values: list[Value]) -> Result:
            function, given = values[0], values[1 : 1 + len(stars)]
            keywords = list(zip([k.name for k in node.keywords], values[1 + len(stars) :]))
            return self.with_keywords(keywords, {}, lambda named: spread(0, [], function, given, named))

        def spread(i: int, args: list[Value], function: Value, given: list[Value], named: dict[str, Value]) -> Result:
            while i < len(given):
                if stars[i]:

                    def more(items: list[Value], i: int = i, args: list[Value] = args) -> Result:
                        return spread(i + 1, [*args, *items], function, given, named)

                    return self.listed(given[i], more)
                args = [*args, given[i]]
                i += 1
            return self.call(function, args, named)

        return self.operands(operands, frame, call)

    def with_keywords(
        self,
        keywords: list[tuple[str | None, Value]],
        found: dict[str, Value],
        then: Callable[[dict[str, Value]], Result],
    ) -> Result:
        """Go on with keyword arguments by their names."""
        for i, (name, value) in enumerate(keywords):
            if name is not None:
                found = {**found, name: value}
                continue
            cell = self.cell(self.resolved(value))
            if not isinstance(cell, Cell) or cell.key[0] != "dict":
                raise Refused("** of something that is not a dict with known keys")
            if any(isinstance(x, Union) and any(is_mark(y, UNDEF) for _, y in x.alternatives) for x in cell.values):
                raise Refused("** of a dict whose keys differ")
            items = self.present_items(cell)
            return self.with_keywords(keywords[i + 1 :], {**found, **{str(k): v for k, v in items}}, then)
        return then(found)

    def next_form(self, node: forms.Next, frame: int) -> Result:
        given = self.given_items.pop(id(node), None)
        if given is not None:
            return given

        def step(iterator: Value) -> Result:
            return self.next(iterator, lambda: self.leave((node.label, frame), NONE))

        return self.bind(self.evaluate(node.iterator, frame), step)


_RULES: dict[type[Node], Callable[[Machine, Any, int], Result]] = {
    forms.Const: Machine.const,
    forms.Var: Machine.var,
    forms.SetVar: Machine.set_var,
    forms.DelVar: Machine.del_var,
    forms.Global: Machine.global_,
    forms.SetGlobal: Machine.set_global,
    forms.DelGlobal: Machine.del_global,
    forms.Let: Machine.let,
    forms.Prim: Machine.prim,
    forms.Alloc: Machine.alloc,
    forms.Make: Machine.make,
    forms.Get: Machine.get,
    forms.Set: Machine.set,
    forms.Del: Machine.delete,
    forms.Call: Machine.call_form,
    forms.If: Machine.if_,
    forms.Loop: Machine.loop,
    forms.Next: Machine.next_form,
    forms.Block: Machine.block,
    forms.Leave: Machine.leave_form,
    forms.Handle: Machine.handle,
    forms.Finally: Machine.finally_,
    forms.Yield: Machine.yield_form,
    forms.YieldFrom: Machine.yield_from,
    forms.Seq: Machine.seq,
}
