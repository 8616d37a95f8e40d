"""Training steps that stay on a device: parameters, gradients and what the optimizer keeps, from one step to the next.

A step runs the rows, adds up their sums, and moves the parameters by the optimizer's rule (optim/rules.py, as LLVM text), all
in memory of the device. What comes back is the loss and four sums of squares of gradients, by which this machine tells whether
the step counts. Every kernel reads one set of numbers and writes another one, and the two change places after a step that
counts: so one that does not, or that was interrupted, has changed nothing. The bits are those of the steps on the CPU.

The Values see the numbers at `settle`, which fit calls before anything reads them.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from math import inf, isfinite
from types import SimpleNamespace
from typing import Any

from micrograd.compile.backend import BLOCK, SEGMENT
from micrograd.compile.device.kernels import READ, WRITTEN, Dialect, lanes
from micrograd.compile.device.rows import DeviceRows, OutOfDeviceMemory, column_table, numbers_of, sums_of
from micrograd.optim import LBFGS, Optimizer
from micrograd.optim.groups import is_ours
from micrograd.optim.rules import RULES, Rule
from micrograd.optim.schedules import looks_at_steps_alone
from micrograd.signals import interrupted_later

FEWEST = 10  # steps that are left, for which the kernels of a step are made
UNROLLED = 16  # gradients that a thread reads at once: a read takes as long as many additions
LANES = 4  # sums of squares, as in optim/slots.py
NAMES = list(RULES)


class _Name:
    """A number of a rule, by its name in LLVM text; an operation writes a line and returns a new name."""

    def __init__(self, text: str, lines: list[str]) -> None:
        self.text, self.lines = text, lines

    def new(self, instruction: str) -> _Name:
        """The result of an instruction."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return _Name(name, self.lines)

    def __add__(self, other: Any) -> _Name:
        return self.new(f"fadd double {self.text}, {_text(other)}")

    def __sub__(self, other: Any) -> _Name:
        return self.new(f"fsub double {self.text}, {_text(other)}")

    def __mul__(self, other: Any) -> _Name:
        return self.new(f"fmul double {self.text}, {_text(other)}")

    def __truediv__(self, other: Any) -> _Name:
        return self.new(f"fdiv double {self.text}, {_text(other)}")

    def root(self) -> _Name:
        """The square root."""
        return self.new(f"call double @llvm.sqrt.f64(double {self.text})")

    def larger(self, other: Any) -> _Name:
        """This number if it is greater than the other one, otherwise that."""
        return self._or(other, f"fcmp ogt double {self.text}, {_text(other)}")

    def sign(self) -> _Name:
        """1.0, -1.0, or the number itself if it is neither above nor below zero."""
        below = _Name("-1.0", self.lines)._or(self, f"fcmp olt double {self.text}, 0.0")
        return _Name("1.0", self.lines)._or(below, f"fcmp ogt double {self.text}, 0.0")

    def _or(self, other: Any, condition: str) -> _Name:
        return self.new(f"select i1 {self.new(condition).text}, double {self.text}, double {_text(other)}")


def _text(x: Any) -> str:
    return x.text if isinstance(x, _Name) else f"0x{struct.pack('>d', x).hex().upper()}"


def _pointer(name: str, base: str, index: str, kind: str = "double") -> str:
    return f"  {name} = getelementptr {kind}, ptr addrspace(1) {base}, i64 {index}"


def _kernel(dialect: Dialect, name: str, arguments: Sequence[str], count: str, work: str) -> str:
    return "\n".join([
        f"define {dialect.kernel} void @{name}({', '.join(arguments)}) {dialect.limit} {{\nentry:",
        dialect.number_below(count),
        f"  %mine = icmp ult i64 %i, {count}\n  br i1 %mine, label %work, label %done\nwork:",
        work,
        "done:\n  ret void\n}",
    ])  # fmt: skip


def _totals(dialect: Dialect) -> str:
    """Add up blocks in their order, as add_blocks does, behind those of `from`; then gradients of parameters that take part."""
    many, total = [], "%old"
    for k in range(UNROLLED):
        many.append(f"  %b{k} = add i64 %block, {k}\n  %row{k} = mul i64 %b{k}, %count\n  %at{k} = add i64 %row{k}, %i")
        many.append(f"{_pointer(f'%p{k}', '%sums', f'%at{k}')}\n  %x{k} = load double, ptr addrspace(1) %p{k}, align 8")
    for k in range(UNROLLED):
        many.append(f"  %s{k} = fadd double {total}, %x{k}")
        total = f"%s{k}"
    arguments = [f"{READ} %sums", "i64 %blocks", "i64 %count", f"{READ} %from", f"{WRITTEN} %to", "double %scale",
                 f"{READ} %where", f"{WRITTEN} %totals", f"{WRITTEN} %gradients"]  # fmt: skip
    return _kernel(dialect, "totals", arguments, "%count", "\n".join([
        _pointer("%fp", "%from", "%i"),
        "  %before = load double, ptr addrspace(1) %fp, align 8\n  br label %many\nmany:",
        "  %block = phi i64 [ 0, %work ], [ %further, %all ]",
        f"  %old = phi double [ %before, %work ], [ {total}, %all ]",
        f"  %end = add i64 %block, {UNROLLED - 1}\n  %enough = icmp ult i64 %end, %blocks",
        "  br i1 %enough, label %all, label %rest\nall:",
        *many,
        f"  %further = add i64 %block, {UNROLLED}\n  br label %many\nrest:",
        "  %one = phi i64 [ %block, %many ], [ %next, %add ]\n  %sum = phi double [ %old, %many ], [ %new, %add ]",
        "  %more = icmp ult i64 %one, %blocks\n  br i1 %more, label %add, label %store\nadd:",
        "  %row = mul i64 %one, %count\n  %at = add i64 %row, %i",
        _pointer("%p", "%sums", "%at"),
        "  %x = load double, ptr addrspace(1) %p, align 8\n  %new = fadd double %sum, %x",
        "  %next = add i64 %one, 1\n  br label %rest\nstore:",
        _pointer("%kp", "%to", "%i"),
        "  store double %sum, ptr addrspace(1) %kp, align 8",
        f"  %total = fmul double %sum, %scale\n  %behind = add i64 %i, {LANES}",
        _pointer("%rp", "%totals", "%behind"),
        "  store double %total, ptr addrspace(1) %rp, align 8",
        _pointer("%wp", "%where", "%i", "i64"),
        "  %number = load i64, ptr addrspace(1) %wp, align 8\n  %takes = icmp sge i64 %number, 0",
        "  br i1 %takes, label %keep, label %done\nkeep:\n  %gradient = fadd double 0.0, %total",
        _pointer("%gp", "%gradients", "%number"),
        "  store double %gradient, ptr addrspace(1) %gp, align 8\n  br label %done",
    ]))  # fmt: skip


def _squares(dialect: Dialect) -> str:
    """Add up the squares of gradients in four lanes (number mod 4), each of them in order."""
    unrolled, total = [], "%old"
    for k in range(UNROLLED):
        unrolled.append(f"  %at{k} = add i64 %k, {LANES * k}\n{_pointer(f'%p{k}', '%gradients', f'%at{k}')}")
        unrolled.append(f"  %x{k} = load double, ptr addrspace(1) %p{k}, align 8")
    for k in range(UNROLLED):
        unrolled.append(f"  %y{k} = fmul double %x{k}, %x{k}\n  %s{k} = fadd double {total}, %y{k}")
        total = f"%s{k}"
    arguments = [f"{READ} %gradients", "i64 %n", f"{WRITTEN} %totals"]
    return _kernel(dialect, "squares", arguments, str(LANES), "\n".join([
        "  br label %many\nmany:",
        "  %k = phi i64 [ %i, %work ], [ %further, %all ]\n  %old = phi double [ 0.0, %work ], [ " + total + ", %all ]",
        f"  %end = add i64 %k, {LANES * (UNROLLED - 1)}\n  %enough = icmp ult i64 %end, %n",
        "  br i1 %enough, label %all, label %rest\nall:",
        *unrolled,
        f"  %further = add i64 %k, {LANES * UNROLLED}\n  br label %many\nrest:",
        "  %j = phi i64 [ %k, %many ], [ %next, %one ]\n  %sum = phi double [ %old, %many ], [ %more, %one ]",
        "  %left = icmp ult i64 %j, %n\n  br i1 %left, label %one, label %store\none:",
        _pointer("%p", "%gradients", "%j"),
        "  %x = load double, ptr addrspace(1) %p, align 8\n  %y = fmul double %x, %x\n  %more = fadd double %sum, %y",
        f"  %next = add i64 %j, {LANES}\n  br label %rest\nstore:",
        _pointer("%to", "%totals", "%i"),
        "  store double %sum, ptr addrspace(1) %to, align 8\n  br label %done",
    ]))  # fmt: skip


def _move(dialect: Dialect, rule: Rule) -> str:
    """Clip the gradients of a group, and move its parameters by a rule."""
    kept = range(len(rule.kept))
    arguments = [
        f"{READ} %totals", f"{READ} %gradients", f"{READ} %slots", f"{READ} %from", f"{WRITTEN} %to", f"{WRITTEN} %used",
        f"{WRITTEN} %table", *(f"{READ} %from{k}, {WRITTEN} %to{k}" for k in kept), "i64 %begin", "i64 %n", "double %limit",
        *(f"double %c_{name}" for name in rule.constants),
    ]  # fmt: skip
    lines: list[str] = []

    def loaded(name: str, base: str, index: str) -> _Name:
        lines.append(_pointer(f"%{name}_at", base, index))
        return _Name("", lines).new(f"load double, ptr addrspace(1) %{name}_at, align 8")

    lines.append("  %a = add i64 %begin, %i")
    parts = [loaded(f"lane{k}", "%totals", str(k)) for k in range(LANES)]
    size = ((parts[0] + parts[1]) + (parts[2] + parts[3])).root()
    factor = _Name("%limit", lines) / (size + 1e-6)
    g = loaded("g", "%gradients", "%a")
    clips = factor.new(f"fcmp ult double {factor.text}, 1.0")  # or a nan
    g = g.new(f"select i1 {clips.text}, double {(g * factor).text}, double {g.text}")
    constants = SimpleNamespace(**{name: _Name(f"%c_{name}", lines) for name in rule.constants})
    before = tuple(loaded(f"k{k}", f"%from{k}", "%i") for k in kept)
    new, *after = rule.update(loaded("x", "%from", "%a"), g, constants, before)
    for base, index, x in [("%to", "%a", new), ("%used", "%a", g), *((f"%to{k}", "%i", after[k]) for k in kept)]:
        lines.append(_pointer(f"{base}_at", base, index))
        lines.append(f"  store double {x.text}, ptr addrspace(1) {base}_at, align 8")
    lines += [
        _pointer("%sp", "%slots", "%a", "i64"),
        "  %slot = load i64, ptr addrspace(1) %sp, align 8\n  %read = icmp sge i64 %slot, 0",
        "  br i1 %read, label %keep, label %done\nkeep:",
        _pointer("%tp", "%table", "%slot"),
        f"  store double {new.text}, ptr addrspace(1) %tp, align 8\n  br label %done",
    ]
    return _kernel(dialect, f"move_{rule.name}", arguments, "%n", "\n".join(lines))


def _gather(dialect: Dialect) -> str:
    """Copy the rows of a batch, column by column."""
    arguments = [f"{READ} %from", "i64 %all", f"{READ} %index", "i64 %n", "i64 %count", f"{WRITTEN} %to"]
    return _kernel(dialect, "gather", arguments, "%count", f"""  %column = udiv i64 %i, %n
  %r = urem i64 %i, %n
{_pointer("%ip", "%index", "%r", "i64")}
  %row = load i64, ptr addrspace(1) %ip, align 8
  %begin = mul i64 %column, %all
  %at = add i64 %begin, %row
{_pointer("%p", "%from", "%at")}
  %x = load double, ptr addrspace(1) %p, align 8
{_pointer("%tp", "%to", "%i")}
  store double %x, ptr addrspace(1) %tp, align 8
  br label %done""")  # fmt: skip


def text(dialect: Dialect, rules: Sequence[str]) -> str:
    """Return the LLVM text of what a step does after the rows, for these rules."""
    moves = [_move(dialect, RULES[name]) for name in dict.fromkeys(rules)]
    parts = [_totals(dialect), _squares(dialect), _gather(dialect), *moves]
    return "\n".join([dialect.head, *parts, "declare double @llvm.sqrt.f64(double)", dialect.declared, ""])


class _Side:
    """One of the two sets of numbers: parameters, gradients as they were used, what is kept, and what the rows read."""

    def __init__(self, owner: Resident) -> None:
        room = owner.room
        self.parameters, self.used = room(8 * owner.n), room(8 * owner.n)
        self.table = room(8 * max(1, len(owner.captured)))
        self.kept = [[room(8 * len(x)) for x in kept] for *_, kept in owner.updates]


class _Work:
    """What the rows of batches of one size need: their columns, and room for what they leave and for its sums."""

    def __init__(self, owner: Resident, rows: int) -> None:
        np, plan, device = owner.np, owner.code.plan, owner.device
        whole = rows == owner.rows and not owner.in_batches
        self.index = None if whole else owner.room(8 * rows)
        self.data = owner.data if whole else owner.room(8 * rows * owner.width)
        most = owner.code.rows_at_once(device, (), (), rows)
        leaves, count = 8 * len(plan.tape.outputs), len(plan.left)
        out, parts = owner.room(leaves * most), owner.room(8 * -(-most // SEGMENT) * count * lanes(plan))
        sums = owner.room(8 * -(-most // BLOCK) * count)
        carried = [owner.zeros, *(owner.room(8 * count) for _ in range(2))]
        given = [] if owner.code.backend.dialect.addresses else [self.data]
        self.launches: tuple[list[Any], list[Any]] = [], []  # of all slices of the rows, for each of the two sides
        for number, start in enumerate(range(0, rows, most)):
            n = min(most, rows - start)
            base = device.origin(self.data) + 8 * start
            table = np.ascontiguousarray(column_table(base, (owner.width, n), (8 * rows, 8), 1))
            columns = owner.room(table.nbytes)
            device.write(columns, table)
            before, after = carried[0 if number == 0 else 1 + number % 2], carried[2 - number % 2]
            totals = [
                sums,
                -(-n // BLOCK),
                count,
                before,
                after,
                1.0 / rows,
                owner.where,
                owner.totals,
                owner.gradients,
            ]
            adds = [device.prepare(owner.module, *how) for how in sums_of(plan, out, n, None, parts, sums)]
            adds.append(device.prepare(owner.after, "totals", count, totals))
            for side, launches in zip((owner.now, owner.next), self.launches):
                arguments = [side.table, columns, n, out, n, None, *given]
                launches += [device.prepare(owner.module, "rows", n, arguments), *adds]
        if self.index is not None:
            arguments = [owner.data, owner.rows, self.index, rows, rows * owner.width, self.data]
            gather = device.prepare(owner.after, "gather", rows * owner.width, arguments)
            for launches in self.launches:
                launches.insert(0, gather)


class Resident:
    """A run of fit whose steps stay on a device."""

    def __init__(self, run: Any, plan: Any, code: DeviceRows, updates: tuple[Any, ...]) -> None:
        import numpy as np

        self.np, self.run, self.optimizer, self.plan, self.code = np, run, run.optimizer, plan, code
        self.summed, self.updates, self.device = run.objective.summed, updates, code.device()
        self.captured, self.parameters = plan.captured, run.optimizer.parameters
        self.n, self.rows = len(self.parameters), len(run.rows)
        self.in_batches = run.at.batch_size is not None
        self.limit = inf if run.clip is None else float(run.clip)
        by_value = code.plan.by_value
        self.module = self.device.load(code.in_memory()) if by_value else code.module(self.device)
        rules = [NAMES[rule] for _, rule, _, _ in updates]
        self.after = self.device.load(code.backend.translated(text(code.backend.dialect, rules)))
        self.held: list[Any] = []
        [bucket] = run.objective.buckets
        columns = [a.reshape(self.rows, -1).astype(float) for a in (bucket.xs, bucket.ys)]
        matrix = np.ascontiguousarray(np.concatenate(columns, axis=1).T)
        self.width = len(matrix)
        self.data = self.room(matrix.nbytes)
        self.device.write(self.data, matrix)
        number = {id(p): k for k, p in enumerate(self.parameters)}
        where = [-1, *(number.get(id(v), -1) for v in self.captured)]
        slots = np.full(self.n, -1, np.int64)
        for slot, k in enumerate(where[1:]):
            if k >= 0:
                slots[k] = slot
        self.where, self.slots = (self._put(np.array(x, np.int64)) for x in (where, slots))
        self.others = [v for v in self.captured if id(v) not in number]  # what a step reads and does not move
        self.gradients, self.zeros = self._put(np.zeros(self.n)), self._put(np.zeros(len(where)))
        self.totals = self.room(8 * (LANES + len(where)))
        self.now, self.next = _Side(self), _Side(self)
        self.turn = 0  # which of the two is the one of now
        squares = self.device.prepare(self.after, "squares", LANES, [self.gradients, self.n, self.totals])
        self.moving = [[squares, *self._moves(a, b, rules)] for a, b in ((self.now, self.next), (self.next, self.now))]
        size = run.at.batch_size
        sizes = {size, self.rows % size} - {0} if size is not None and size < self.rows else {self.rows}
        self.work = {rows: _Work(self, rows) for rows in sizes}
        self.settled = True
        self._upload()

    def _moves(self, now: _Side, new: _Side, rules: list[str]) -> list[Any]:
        """The launches that move each group from one side to the other; constants are given in each step."""
        found, begin = [], 0
        for rule, memories, others, (slots, *_) in zip(rules, now.kept, new.kept, self.updates):
            kept = [memory for pair in zip(memories, others) for memory in pair]
            arguments = [self.totals, self.gradients, self.slots, now.parameters, new.parameters, new.used, new.table, *kept,
                         begin, len(slots), self.limit, *[0.0] * len(RULES[rule].constants)]  # fmt: skip
            found.append(self.device.prepare(self.after, f"move_{rule}", len(slots), arguments))
            begin += len(slots)
        return found

    def room(self, size: int) -> Any:
        """Take memory for as long as this lives."""
        self.held.append(self.device.allocate(max(8, size)))
        return self.held[-1]

    def _put(self, array: Any) -> Any:
        memory = self.room(array.nbytes)
        self.device.write(memory, array)
        return memory

    def _upload(self) -> None:
        """Copy what the Values and the optimizer have now."""
        np, device, now = self.np, self.device, self.now
        self.seen = [v.data for v in self.others]
        device.write(now.parameters, np.array([p.data for p in self.parameters]))
        device.write(now.used, np.array([p.grad for p in self.parameters]))
        for side in (now, self.next):
            device.write(side.table, numbers_of(self.captured, 8)[: max(1, len(self.captured))])
        for memories, (*_, kept) in zip(now.kept, self.updates):
            for memory, numbers in zip(memories, kept):
                device.write(memory, np.frombuffer(numbers))

    def settle(self) -> None:
        """Give the Values and the optimizer the numbers of the last step."""
        if self.settled:
            return
        np, device, now = self.np, self.device, self.now
        numbers, used = array("d", bytes(8 * self.n)), np.empty(self.n)
        device.read(np.frombuffer(numbers), now.parameters)
        device.read(used, now.used)
        kept = [[np.empty(len(x)) for x in kept] for *_, kept in self.updates]
        for memories, arrays in zip(now.kept, kept):
            for memory, found in zip(memories, arrays):
                device.read(found, memory)
        self.optimizer.slots.copy("write", numbers)
        self._set_gradients(used)
        for arrays, (*_, own) in zip(kept, self.updates):
            for found, mine in zip(arrays, own):
                np.frombuffer(mine)[:] = found
        self.settled = True

    def _set_gradients(self, numbers: Any) -> None:
        for p, g in zip(self.parameters, numbers.tolist()):
            p.grad = g

    def holds(self) -> bool:
        """Whether a step would still run these kernels: the function, and what it reads, are as they were."""
        summed = self.summed
        return (
            self.plan.variants is summed.variants
            and not summed.variants.outdated()
            and [v.data for v in self.others] == self.seen
        )

    def step(self, part: Any) -> tuple[float, bool]:
        """Take a step by some rows, or by all of them (None); return the loss, and whether the step was taken."""
        updates = self.optimizer.updates()
        loss, squares = self._ran(part, updates)
        if not isfinite(loss):
            return loss, False
        if 1e-200 < squares < inf:
            self.settled = False
            self.now, self.next, self.turn = self.next, self.now, 1 - self.turn
            return loss, True
        self.settle()  # too large or small to be squared: measured with care, on the CPU
        return loss, self._by_hand(updates)

    def _ran(self, part: Any, updates: tuple[Any, ...]) -> tuple[float, float]:
        np, device = self.np, self.device
        work = self.work[self.rows if part is None else len(part)]
        if work.index is not None:
            device.write(work.index, np.arange(self.rows) if part is None else np.array(part, np.int64))
        for launch in work.launches[self.turn]:
            launch()
        squares, *moves = self.moving[self.turn]
        squares()
        for move, (_, _, constants, _) in zip(moves, updates):
            move(constants)
        report = np.empty(LANES + 1)
        device.read(report, self.totals)
        a, b, c, d, loss = report.tolist()
        return loss, (a + b) + (c + d)

    def _by_hand(self, updates: tuple[Any, ...]) -> bool:
        """Take the step with these gradients on the CPU, as PythonSlots.descend does."""
        gradients, slots = self.np.empty(self.n), self.optimizer.slots
        self.device.read(gradients, self.gradients)
        self._set_gradients(gradients)
        norm = slots.clip_norm(self.limit) if self.limit < inf else slots.norm()
        if not norm < inf:
            return False
        with interrupted_later():
            for mine, rule, constants, kept in updates:
                mine.update(rule, constants, kept)
        self._upload()
        return True

    def free(self) -> None:
        """Give all memory back."""
        while self.held:
            self.held.pop().free()


def may_stay(run: Any, client: Any) -> bool:
    """Whether the steps of a run of fit may stay on its device: nobody looks at Values or changes them between two steps."""
    objective, optimizer = run.objective, run.optimizer
    schedules = [optimizer._schedule, *(g._rate for g in optimizer.groups if g._rate is not None)]
    return (
        client is None
        and objective.even
        and not objective.random
        and objective.penalty is None
        and objective.options.get("reduction", "mean") == "mean"
        and run.accumulate == 1
        and not (run.callbacks or run.metrics)
        and not isinstance(optimizer, LBFGS)
        and is_ours(type(optimizer))
        and all(map(looks_at_steps_alone, schedules))
        and not any(any(g.frozen) or g._runs for g in optimizer.groups)
    )


def resident(run: Any, part: Any) -> Resident | None:
    """Put a run on its device; None where its steps are not one kernel there, or do not fit."""
    [bucket] = run.objective.buckets
    xs, ys = bucket.whole() if part is None else (bucket.xs[part], bucket.ys[part])
    found = run.objective.summed.one_kernel(xs, ys)
    if found is None:
        return None
    plan, code = found
    if not isinstance(code, DeviceRows) or any(v._prev for v in plan.captured):
        return None
    optimizer: Optimizer = run.optimizer
    try:
        return Resident(run, plan, code, optimizer.updates())
    except OutOfDeviceMemory:
        return None
