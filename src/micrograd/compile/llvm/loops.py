"""A loop of a tape in LLVM text: it stays a loop. With rows in lanes, lanes that are done keep their values until all are."""

from __future__ import annotations

from typing import Any

from micrograd.compile.llvm import arrays, cells, indices, lanes
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.loop_plan import LoopPlan
from micrograd.compile.llvm.nested import Mask
from micrograd.compile.llvm.ranges import LinearForm
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import INPUT

CONDITION = -2  # what the path of a condition ends with, which no other path does
PAUSING = "declare void @mg_pause() cold nounwind memory(inaccessiblemem: readwrite)"


class LoopText(LoopPlan):
    """One loop, being written."""

    def write(self) -> list[Any]:
        """The results: the carried values, then the arrays."""
        t, op, n = self.t, self.op, self.n
        if op.iterations == 0:
            length = None if self.dynamic else 0
            none = "zeroinitializer" if self.masked else ""
            empty = [Array("memory", "null", (), (length, *s), "", "0", none) for s in self.stacked]
            return [*self.init, *empty]
        view = self._view()
        if view is not None:
            return view
        self._room()
        if not self.ask and not op.carried and all(self.iterations_stacked):  # the iteration numbers, and nothing else
            return self._arrays()
        for j, s in self.history.items():
            first = self.init[j]
            arrays.copy(t, first, self.buffers[s][1])
            self.init[j] = Array("memory", self.buffers[s][1], (), first.shape, own=t.live)
        for window in self.windows.values():
            window.begin()
        self.alive = t.live or ("true" if t.point else "splat (i1 true)")
        t.lines += [f"  br label %pre{n}", f"pre{n}:", f"  br label %head{n}", f"head{n}:"]
        self.iteration = f"%iteration{n}"
        t.line(f"{self.iteration} = phi i64 [ 0, %pre{n} ], [ %on{n}, %latch{n} ]")
        carried: list[Any] = []
        for j, x in enumerate(self.init):
            if j in self.windows:
                carried.append(self.windows[j].head(n))
                continue
            if isinstance(x, Array):
                if j in self.two:
                    t.line(f"%p{n}_{j} = phi ptr [ {x.base}, %pre{n} ], [ %q{n}_{j}, %latch{n} ]")
                    t.line(f"%o{n}_{j} = phi ptr [ {self.two[j]}, %pre{n} ], [ %r{n}_{j}, %latch{n} ]")
                    self.others[j] = f"%o{n}_{j}"
                    x = x._replace(base=f"%p{n}_{j}")
                carried.append(x)
                continue
            t.line(f"%c{n}_{j} = phi {self._kind(x)} [ {x}, %pre{n} ], [ %d{n}_{j}, %latch{n} ]")
            carried.append(Mask(f"%c{n}_{j}") if isinstance(x, Mask) else f"%c{n}_{j}")
        for j in self.history:
            carried[j] = self._slot(j, self.iteration)
            self.others[j] = self._slot(j, self._next()).base
        if self.masked and self.ask:
            t.line(f"%alive{n} = phi {t.B} [ {self.alive}, %pre{n} ], [ %still{n}, %latch{n} ]")
            if self.stacked:
                t.line(f"%took{n} = phi <{t.width} x i64> [ zeroinitializer, %pre{n} ], [ %taken{n}, %latch{n} ]")
        if self.dynamic and not self._surely_begins():
            results = self._tested(carried)
        else:
            results = self._iteration(carried, "")
            t.line(f"%on{n} = add i64 {self.iteration}, 1")
            t.line(f"%more{n} = icmp ult i64 %on{n}, {self.count}")
            t.lines += [f"  br i1 %more{n}, label %head{n}, label %exit{n}", f"exit{n}:"]
            for j, window in self.windows.items():
                results[j] = window.end((*t.path, self.place, j) not in t.unread)
        return [*results, *self._arrays()]

    def _kind(self, x: str) -> str:
        """The type of a number, or of flags."""
        return self.t.B if isinstance(x, Mask) else self.t.T

    def _next(self) -> str:
        r = self.t.fresh()
        self.t.line(f"{r} = add i64 {self.iteration}, 1")
        return r

    def _slot(self, j: int, number: str) -> Array:
        """The carried array of one iteration, where those of all iterations are kept."""
        t, first = self.t, self.init[j]
        offset, p = t.fresh(), t.fresh()
        t.line(f"{offset} = mul i64 {number}, {arrays.size_of(first.shape) * t.bytes}")
        t.line(f"{p} = getelementptr i8, ptr {first.base}, i64 {offset}")
        return Array("memory", p, (), first.shape, own=None)

    def _view(self) -> list[Any] | None:
        """The results of a loop that only takes the first elements of arrays, where nothing has to be copied for that."""
        op, body = self.op, self.op.body
        first = op.carried + op.invariants
        counted = op.iterations is not None or op.condition is not None
        if counted or op.carried or any(body.ops[o] is not INPUT for o in body.outputs):
            return None
        numbers = [body.args[o][0] - first for o in body.outputs]
        if not all(0 <= k < op.elements for k in numbers):
            return None
        shapes = [(None, *self.over[k].shape[1:]) for k in numbers]
        return [self.over[k]._replace(shape=s, length=self.count, lanes=self.lanes) for k, s in zip(numbers, shapes)]

    def _room(self) -> None:
        """Memory for what is stacked: of a known size, or a buffer that grows."""
        t, op = self.t, self.op
        for s, (shape, is_iteration) in enumerate(zip(self.stacked, self.iterations_stacked)):
            each = arrays.size_of(shape) * cells.cell(t, op.carried + s in self.flags)
            if is_iteration:
                self.buffers.append(("", ""))
            elif op.iterations is not None:
                kept = s in self.history.values()  # the array behind the last iteration, too
                pointer = "" if kept else self._wanted(op.carried + s)
                self.buffers.append(("", pointer or arrays.room(t, t.memory, (op.iterations + kept) * each)))
            elif self.ask:
                self.buffers.append((arrays.buffer(t, t.memory, arrays.FIRST * each), ""))
            elif self._room_of_arrays():
                self.buffers.append(("", arrays.room(t, t.memory, self._room_of_arrays() * each)))
            else:
                name, size = arrays.buffer(t, t.memory, arrays.FIRST * each), t.fresh()
                t.line(f"{size} = mul i64 {self.count}, {each}")
                self.buffers.append(("", arrays.grown(t, name, size, "0")))

    def _number(self) -> str:
        """The number of this iteration, which for a loop in reverse is counted from the end."""
        t, r = self.t, self.iteration
        if self.op.reverse:
            last, r = t.fresh(), t.fresh()
            t.line(f"{last} = sub i64 {self.count}, 1")
            t.line(f"{r} = sub i64 {last}, {self.iteration}")
        t.ranges.variable(r, self._limits())
        return r

    def _inputs(self, carried: list[Any], i: str) -> list[Any]:
        t = self.t
        x = t.fresh()
        t.line(f"{x} = uitofp i64 {i} to {t.scalar}")
        number = x if t.point else t.broadcast(x)
        t.integers[number] = i
        return [*carried, *self.invariants, *(arrays.index(t, a, i) for a in self.over), number]

    def _tested(self, carried: list[Any]) -> list[Any]:
        """A loop that may end before each iteration."""
        t, op, n = self.t, self.op, self.n
        if self.count:
            t.line(f"%more{n} = icmp ult i64 {self.iteration}, {self.count}")
            t.lines += [f"  br i1 %more{n}, label %test{n}, label %exit{n}", f"test{n}:"]
        else:
            t.lines += [f"  br label %test{n}", f"test{n}:"]
        around = t.live
        mask, inputs = "", None
        i = self._number()
        if self.ask:
            assert op.condition is not None and self.condition_decided is not None
            if self.masked:
                t.live = f"%alive{n}"
            inputs = self._inputs(carried, i)
            if self.uniform:
                wanted = self._same_for_all(inputs)
            else:
                (holds,) = lanes.body(
                    t, op.condition, inputs, self.condition_decided, self.used[1], (self.place, CONDITION)
                )
                mask = lanes.both(t, around if t.point else f"%alive{n}", lanes.truth(t, holds))
                if not t.point:
                    t.line(f"%still{n} = and {t.B} {mask}, {mask}")
                wanted = lanes.any_lane(t, mask)
            t.lines += [f"  br i1 {wanted}, label %body{n}, label %exit{n}", f"body{n}:"]
        elif self.masked:
            mask = lanes.both(t, around, lanes.within(t, i, self.lanes))
        t.live = mask if self.masked else around
        self._iteration(carried, mask if self.masked else "", i, inputs)
        t.live = around
        t.line(f"%on{n} = add i64 {self.iteration}, 1")
        t.lines += [f"  br label %head{n}", f"exit{n}:"]
        return carried

    def _same_for_all(self, inputs: list[Any]) -> str:
        """Whether to go on, where that is the same for all rows."""
        t, tape = self.t, self.op.condition
        assert tape is not None and self.condition_decided is not None
        around = t.enter(tape, self.condition_decided, self.used[1], (self.place, CONDITION))
        for place, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op is INPUT:
                lanes.keep(t, place, inputs[args[0]])
        found = indices.condition(t, tape)
        t.leave(around)
        return found

    def _iteration(self, carried: list[Any], mask: str, i: str = "", inputs: list[Any] | None = None) -> list[Any]:
        """One iteration, up to the block that ends it; returns the carried values behind it."""
        t, op, n = self.t, self.op, self.n
        i = i or self._number()
        outputs = op.body.outputs
        wanted = {outputs[j]: (p, j in self.flags) for j, p in self.others.items() if outputs.count(outputs[j]) == 1}
        for window in self.windows.values():
            window.enter(i)
        inputs = inputs or self._inputs(carried, i)
        found = lanes.body(t, op.body, inputs, self.body_decided, self.used[0], (self.place,), wanted, self.flags)
        for window in self.windows.values():
            window.leave(i)
        new = list(found[: op.carried])
        for s, ((name, pointer), x, shape) in enumerate(zip(self.buffers, found[op.carried :], self.stacked)):
            if (name or pointer) and s not in self.history.values():
                self._stack(name, pointer, x, shape, i)
        for j, p in self.others.items():
            if new[j].base != p:
                arrays.copy(t, new[j], p, flags=j in self.flags)
            new[j] = Array("memory", p, (), new[j].shape, own=t.live, flags=j in self.flags)
        taken = {x.base for x in carried if isinstance(x, Array)}
        for j, x in enumerate(new):  # what is read from another carried array is set aside before that is written
            if isinstance(x, Array) and j not in self.others and x.base in taken and not x.same(carried[j]):
                new[j] = self._own(x, x.flags)
        results: list[Any] = []
        for j, (old, x) in enumerate(zip(carried, new)):
            if j in self.others:
                results.append(x)
                continue
            if not isinstance(x, Array):
                results.append(lanes.select(t, mask, x, old) if mask else x)
                continue
            if not x.same(old):
                arrays.copy(t, x, old.base, old.base, mask, old.flags)
            results.append(old)
        if not self._is_short():  # a long loop checks for an interruption (Ctrl-C) from time to time
            t.declared[PAUSING] = PAUSING
            tick, due = t.fresh(), t.fresh()
            t.line(f"{tick} = and i64 {self.iteration}, {TUNING.checked_iterations - 1}")
            t.line(f"{due} = icmp eq i64 {tick}, {TUNING.checked_iterations - 1}")
            t.lines += [f"  br i1 {due}, label %pause{n}, label %latch{n}", f"pause{n}:", "  call void @mg_pause()"]
        t.lines += [f"  br label %latch{n}", f"latch{n}:"]
        for window in self.windows.values():
            window.latch()
        for j, x in enumerate(results):
            if j in self.two:
                for name, p in (("q", self.others[j]), ("r", carried[j].base)):
                    t.line(f"%{name}{n}_{j} = select i1 true, ptr {p}, ptr {p}")
                results[j] = x._replace(base=f"%q{n}_{j}")
            if not isinstance(x, Array):
                t.line(f"%d{n}_{j} = select i1 true, {self._kind(x)} {x}, {self._kind(x)} {x}")
        if self.masked and self.ask and self.stacked:
            t.line(f"%one{n} = zext <{t.width} x i1> {mask} to <{t.width} x i64>")
            t.line(f"%taken{n} = add <{t.width} x i64> %took{n}, %one{n}")
        return [x if isinstance(x, Array) else x.__class__(f"%d{n}_{j}") for j, x in enumerate(results)]

    def _stack(self, name: str, pointer: str, x: Any, shape: Any, i: str) -> None:
        t = self.t
        each = arrays.size_of(shape) * cells.cell(t, isinstance(x, Mask))
        if name:
            more, size, used = t.fresh(), t.fresh(), t.fresh()
            t.line(f"{more} = add i64 {i}, 1")
            t.line(f"{size} = mul i64 {more}, {each}")
            t.line(f"{used} = mul i64 {i}, {each}")
            pointer = self._enough(name, size, used)
        offset, p = t.fresh(), t.fresh()
        t.line(f"{offset} = mul i64 {i}, {each}")
        t.line(f"{p} = getelementptr i8, ptr {pointer}, i64 {offset}")
        if isinstance(x, Array):
            arrays.copy(t, x, p)
        else:
            cells.store(t, x, p)

    def _enough(self, name: str, size: str, used: str) -> str:
        """Return a pointer to the buffer with room for that many bytes; it grows only where it must."""
        t, n = self.t, self.t.label()
        end, has, enough = t.fresh(), t.fresh(), t.fresh()
        t.line(f"{end} = getelementptr i8, ptr {name}, i64 8")
        t.line(f"{has} = load i64, ptr {end}, align 8")
        t.line(f"{enough} = icmp ule i64 {size}, {has}")
        t.lines += [f"  br i1 {enough}, label %there{n}, label %grow{n}", f"grow{n}:"]
        arrays.grown(t, name, size, used)
        t.lines += [f"  br label %there{n}", f"there{n}:"]
        p = t.fresh()
        t.line(f"{p} = load ptr, ptr {name}, align 8")
        return p

    def _ended(self) -> str:
        """The number of iterations that were taken, after the last one."""
        t, r = self.t, self.t.fresh()
        t.line(f"{r} = add i64 {self.iteration}, 0")
        t.ranges.variable(r, [] if self.op.iterations is None else [LinearForm(self.op.iterations)])
        return r

    def _arrays(self) -> list[Array]:
        t, op, n = self.t, self.op, self.n
        length = None if self.dynamic else op.iterations
        count = "" if not self.dynamic else self._ended() if self.ask else self.count
        taken = "" if not self.masked else f"%took{n}" if self.ask else self.lanes
        found: list[Array] = []
        for (name, pointer), shape in zip(self.buffers, self.stacked):
            if name:
                pointer = t.fresh()
                t.line(f"{pointer} = load ptr, ptr {name}, align 8")
            kind = "memory" if name or pointer else "iterations"
            room = op.iterations if op.iterations is not None else self._room_of_arrays()
            flags = op.carried + len(found) in self.flags
            found.append(Array(kind, pointer, (), (length, *shape), "", count, taken, room, t.live, flags))
        return found
