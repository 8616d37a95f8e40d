"""LLVM text from a typed tape: one function, in which each branch and loop is a few basic blocks.

A number is a value of LLVM's; an array is a pointer and a length. Nothing is contracted or reassociated, and the functions of
the C library are called under names of ours, which LLVM does not know and so does not replace: the bits are those of the
interpreter. Arrays of different groups never share memory (inplace.py), which LLVM is told at every load and store.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from micrograd.compile.typed import memory
from micrograd.compile.typed.inplace import Ownership
from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import copy
from micrograd.ir.forms import BOOL, F64, I64, TABLE, Body, Place, Tape, is_array
from micrograd.ir.partials import expanded
from micrograd.ir.prune import prune
from micrograd.ops import OPS

TYPE = {F64: "double", I64: "i64", BOOL: "i1"}
STORED = {"f64[]": "double", "i64[]": "i64", "bool[]": "i8"}
SIZE = {"f64[]": 8, "i64[]": 8, "bool[]": 1}
LEAST = -(1 << 63)
SCOPES = 200  # groups of arrays that LLVM is told about; the text grows with their square

COMPARE = {"lt": "fcmp olt", "le": "fcmp ole", "gt": "fcmp ogt", "ge": "fcmp oge", "eq": "fcmp oeq", "ne": "fcmp une",
           "ilt": "icmp slt", "ile": "icmp sle", "ieq": "icmp eq"}  # fmt: skip
PLAIN = {"iadd": "add i64", "isub": "sub i64", "imul": "mul i64", "ior": "or i64", "and": "and i1", "or": "or i1"}
CONVERT = {"float": "sitofp i64 {} to double", "count": "zext i1 {} to i64", "not": "xor i1 {}, true"}


class _Expanding(Builder):
    """Writes operations that LLVM has no instruction or function for in terms of others."""

    def emit(self, op: str, *args: Place) -> Place:
        row = TABLE[op].op if op in TABLE else None
        if row is not None and row.llvm in ("", "strict", "normal") and not all(a.op == "const" for a in args):
            return expanded(self, row, list(args))
        return super().emit(op, *args)


def expand(tape: Tape) -> Tape:
    """Return a tape of operations that LLVM has."""
    builder = _Expanding([p.kind for p in tape.params])
    return prune(builder.finish(copy(builder, tape, dict(zip(tape.params, builder.params)))))


class Array(NamedTuple):
    """An array in memory: the names of a pointer and of a length."""

    pointer: str
    size: str


class Text(NamedTuple):
    """The text of a kernel, the messages of its checks, and the functions of the C library that it calls."""

    source: str
    checks: list[str]
    library: dict[str, tuple[str, int]]  # our name: that of the library, and how many operands it takes


def write(
    tape: Tape, attributes: str = "", variants: Callable[[str], tuple[str, list[str]] | None] = lambda _: None
) -> Text:
    """Return the LLVM text of a tape.

    `variants` may give, for a function of the library, an attribute for its calls (which vector functions have the same bits),
    and the definitions that go with it.
    """
    return _Writer(expand(tape), attributes, variants).text()


def number(x: float) -> str:
    """Return a constant as LLVM reads it exactly."""
    return "0x" + struct.pack(">d", x).hex().upper()


class _Writer:
    def __init__(self, tape: Tape, attributes: str, variants: Callable[[str], tuple[str, list[str]] | None]) -> None:
        self.tape, self.attributes, self.variants = tape, attributes, variants
        self.plan = Ownership(tape)
        self.lines: list[str] = []
        self.block = "start"
        self.count = 0
        self.values: dict[Place, str] = {}
        self.arrays: dict[Place, Array] = {}
        self.constants: dict[tuple[str, str], str] = {}
        self.globals: list[str] = []
        self.declared: dict[str, None] = {}
        self.vectors: dict[str, None] = {}
        self.attribute_groups: list[str] = []
        self.library: dict[str, tuple[str, int]] = {}
        self.checks: list[str] = []
        self.groups: dict[Place | None, int] = {}  # None: the headers of blocks

    # ---- pieces of text

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def do(self, text: str) -> str:
        """Write an instruction; returns the name of its result."""
        r = self.fresh()
        self.line(f"{r} = {text}")
        return r

    def label(self) -> str:
        self.count += 1
        return f"b{self.count}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    def call(self, name: str, gives: str, *operands: tuple[str, str]) -> str:
        """Call a function of LLVM's that has no effects."""
        self.declared[f"declare {gives} @{name}({', '.join(kind for kind, _ in operands)})"] = None
        return self.do(f"call {gives} @{name}({', '.join(f'{kind} {x}' for kind, x in operands)})")

    def value(self, place: Place) -> str:
        """Return the name of a number, or a literal."""
        if place.op != "const":
            return self.values[place]
        if place.kind == F64:
            return number(place.attr)
        return str(place.attr).lower() if place.kind == BOOL else str(place.attr)

    def array(self, place: Place) -> Array:
        """Return where an array is."""
        if place.op != "const":
            return self.arrays[place]
        literals = ", ".join(f"{STORED[place.kind]} {self._literal(place.kind, x)}" for x in place.attr)
        key = place.kind, literals
        if key not in self.constants:
            name = self.constants[key] = f"@c{len(self.constants)}"
            kind = f"[{len(place.attr)} x {STORED[place.kind]}]"
            self.globals.append(f"{name} = internal constant {kind} [{literals}], align 64")
        return Array(self.constants[key], str(len(place.attr)))

    @staticmethod
    def _literal(kind: str, x: float) -> str:
        return number(x) if kind == "f64[]" else str(int(x))

    # ---- memory

    def scope(self, array: Place) -> str:
        """Return what LLVM is told of a load or store: which group of arrays it belongs to."""
        return "" if array.op == "const" else self._scope(self.plan.group(array))

    def _scope(self, group: Place | None) -> str:
        n = self.groups.setdefault(group, len(self.groups))
        return f", !alias.scope !{2 + 3 * n}, !noalias !{3 + 3 * n}"

    def address(self, kind: str, pointer: str, index: str) -> str:
        return self.do(f"getelementptr inbounds {STORED[kind]}, ptr {pointer}, i64 {index}")

    def read(self, array: Place, index: str) -> str:
        """Write the load of an item."""
        kind = array.kind
        p = self.address(kind, self.array(array).pointer, index)
        x = self.do(f"load {STORED[kind]}, ptr {p}, align {SIZE[kind]}{self.scope(array)}")
        return self.do(f"icmp ne i8 {x}, 0") if kind == "bool[]" else x

    def put(self, array: Place, pointer: str, index: str, x: str) -> None:
        """Write the store of an item."""
        kind = array.kind
        if kind == "bool[]":
            x = self.do(f"zext i1 {x} to i8")
        p = self.address(kind, pointer, index)
        self.line(f"store {STORED[kind]} {x}, ptr {p}, align {SIZE[kind]}{self.scope(array)}")

    def bytes_of(self, kind: str, items: str) -> str:
        return self.do(f"mul i64 {items}, {SIZE[kind]}") if SIZE[kind] != 1 else items

    def take(self, kind: str, items: str) -> str:
        """Write the allocation of memory for so many items."""
        p = self.do(f"call ptr @mg_take(ptr %context, i64 {self.bytes_of(kind, items)})")
        return self._there(p)

    def _there(self, p: str) -> str:
        there = self.label()
        self.branch(self.do(f"icmp eq ptr {p}, null"), "memory", there)
        self.begin(there)
        return p

    def give(self, places: Sequence[Place]) -> None:
        """Write that the memory of arrays is given back."""
        for place in places:
            self.line(f"call void @mg_give(ptr %context, ptr {self.arrays[place].pointer})")

    def copied(self, kind: str, array: Array, more: str = "0") -> Array:
        """Write the copy of an array into new memory, with room for more items."""
        room = array.size if more == "0" else self.do(f"add i64 {array.size}, {more}")
        p = self.take(kind, room)
        size = self.bytes_of(kind, array.size)
        self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {p}, ptr {array.pointer}, i64 {size}, i1 false)")
        return Array(p, array.size)

    def own(self, place: Place, holder: Place | Body, n: int) -> Array:
        """Return an array in memory that is free to be changed: its own, or a copy."""
        found = self.array(place)
        return found if (holder, n) in self.plan.moves else self.copied(place.kind, found)

    def roomy(self, place: Place, more: str) -> Array:
        """Return the operand of `append` or `grow` in memory that has room for more items."""
        kind, array = place.kind, self.array(place.args[0])
        if (place, 0) not in self.plan.moves:
            return self.copied(kind, array, more)
        size = self.do(f"add i64 {array.size}, {more}")
        need = self.bytes_of(kind, size)
        at = self.do(f"getelementptr i8, ptr {array.pointer}, i64 -16")
        power = self.do(f"load i64, ptr {at}, align 8{self._scope(None)}")
        room = self.do(f"shl i64 1, {power}")
        small, enough = self.label(), self.label()
        before = self.block
        self.line(f"br i1 {self.do(f'icmp ugt i64 {need}, {room}')}, label %{small}, label %{enough}, !prof !0")
        self.begin(small)
        used = self.bytes_of(kind, array.size)
        more_room = self._there(
            self.do(f"call ptr @mg_more(ptr %context, ptr {array.pointer}, i64 {used}, i64 {need})")
        )
        end = self.block
        self.jump(enough)
        self.begin(enough)
        return Array(self.do(f"phi ptr [ {array.pointer}, %{before} ], [ {more_room}, %{end} ]"), array.size)

    # ---- the whole text

    def text(self) -> Text:
        """Return the text."""
        self.lines.append("start:")
        slot = 0
        for param in self.tape.params:
            if is_array(param.kind):
                self.arrays[param] = Array(self._argument("ptr", slot), self._argument("i64", slot + 1))
                slot += 2
                continue
            x = self._argument("double" if param.kind == F64 else "i64", slot)
            self.values[param] = self.do(f"icmp ne i64 {x}, 0") if param.kind == BOOL else x
            slot += 1
        self.body(self.tape)
        slot = 0
        for n, y in enumerate(self.tape.yields):
            if is_array(y.kind):
                array = self.own(y, self.tape, n)
                self._result("ptr", array.pointer, slot)
                self._result("i64", array.size, slot + 1)
                slot += 2
                continue
            x = self.value(y)
            if y.kind == BOOL:
                x = self.do(f"zext i1 {x} to i64")
            self._result("double" if y.kind == F64 else "i64", x, slot)
            slot += 1
        self.line("ret i64 0")
        self.lines += ["memory:", "  ret i64 -1"]
        head = "define i64 @kernel(ptr noalias %context, ptr noalias %in, ptr noalias %out) #0 {"
        attributes = f"attributes #0 = {{ nounwind {self.attributes} }}"
        names = ", ".join(f"ptr @{v}" for v in self.vectors)
        kept = f'[{len(self.vectors)} x ptr] [{names}], section "llvm.metadata"'
        used = [f"@llvm.compiler.used = appending global {kept}"] if self.vectors else []
        parts = [*self.globals, *used, memory.TEXT, *self.declared, head, *self.lines, "}", attributes]
        parts += [*self.attribute_groups, *self._metadata()]
        return Text("\n".join(parts) + "\n", self.checks, self.library)

    def _argument(self, kind: str, slot: int) -> str:
        p = self.do(f"getelementptr i64, ptr %in, i64 {slot}")
        return self.do(f"load {kind}, ptr {p}, align 8")

    def _result(self, kind: str, x: str, slot: int) -> None:
        p = self.do(f"getelementptr i64, ptr %out, i64 {slot}")
        self.line(f"store {kind} {x}, ptr {p}, align 8")

    def _metadata(self) -> list[str]:
        """Return the scopes of the groups of arrays: each has accesses that touch no other group."""
        lines = ['!0 = !{!"branch_weights", i32 1, i32 2000}', '!1 = distinct !{!1, !"arrays"}']
        scopes = [4 + 3 * n for n in range(len(self.groups))]
        for n, own in enumerate(scopes):
            others = ", ".join(f"!{x}" for x in scopes if x != own) if len(scopes) <= SCOPES else ""
            lines.append(f'!{own} = distinct !{{!{own}, !1, !"group {n}"}}')
            lines += [f"!{own - 2} = !{{!{own}}}", f"!{own - 1} = !{{{others}}}"]
        return lines

    # ---- bodies

    def body(self, body: Body) -> None:
        """Write the instructions of a body."""
        self.give(self.plan.begins[body])
        for place in body.code:
            if place.op == "if":
                self._if(place)
            elif place.op == "loop":
                self._loop(place)
            elif place.op == "check":
                self._check(place)
            elif place.op in TABLE:
                self.values[place] = self.operation(place)
            else:
                self._array_op(place)
            self.give(self.plan.ends[place])

    def _check(self, place: Place) -> None:
        fails, goes_on = self.label(), self.label()
        self.branch(self.value(place.args[0]), goes_on, fails)
        self.begin(fails)
        self.checks.append(place.attr)
        self.line(f"ret i64 {len(self.checks)}")
        self.begin(goes_on)

    def yielded(self, body: Body, first: int = 0) -> list[str]:
        """Write what a body yields, and return the names: two for an array."""
        names: list[str] = []
        # Copies come first: another yield may hand the original on.
        for n, y in enumerate(body.yields[first:], first):
            names += self.own(y, body, n) if is_array(y.kind) else [self.value(y)]
        return names

    def phis(self, places: Sequence[Place], ways: Sequence[tuple[str, list[str]]]) -> None:
        """Write the phis of places, whose names come from several blocks."""
        k = 0
        for place in places:
            kinds = ["ptr", "i64"] if is_array(place.kind) else [TYPE[place.kind]]
            names = []
            for kind in kinds:
                incoming = ", ".join(f"[ {found[k]}, %{block} ]" for block, found in ways)
                names.append(self.do(f"phi {kind} {incoming}"))
                k += 1
            if is_array(place.kind):
                self.arrays[place] = Array(*names)
            else:
                self.values[place] = names[0]

    def _if(self, place: Place) -> None:
        labels, end = [self.label(), self.label()], self.label()
        self.branch(self.value(place.args[0]), *labels)
        ways = []
        for label, inner in zip(labels, place.bodies):
            self.begin(label)
            self.body(inner)
            found = self.yielded(inner)
            ways.append((self.block, found))
            self.jump(end)
        self.begin(end)
        self.phis(place.results, ways)

    def _loop(self, place: Place) -> None:
        (inner,) = place.bodies
        first = 1 if place.attr else 0
        times = self.value(place.args[0]) if place.attr else None
        start: list[str] = []
        for n, x in enumerate(place.args[first:], first):
            start += self.own(x, place, n) if is_array(x.kind) else [self.value(x)]
        head, inside, again, end = (self.label() for _ in range(4))
        before = self.block
        self.jump(head)
        self.begin(head)
        at = len(self.lines)  # the phis are written here, when what comes round is known
        kinds = [kind for p in inner.params[:-1] for kind in (["ptr", "i64"] if is_array(p.kind) else [TYPE[p.kind]])]
        names = [self.fresh() for _ in kinds]
        k = self.fresh()
        rest = iter(names)
        for p in inner.params[:-1]:
            if is_array(p.kind):
                self.arrays[p] = Array(next(rest), next(rest))
            else:
                self.values[p] = next(rest)
        self.values[inner.params[-1]] = k
        if times is not None:
            self.branch(self.do(f"icmp slt i64 {k}, {times}"), inside, end)
            self.begin(inside)
        self.body(inner)
        following = self.yielded(inner, 1)
        more = self.do(f"add nsw i64 {k}, 1")
        goes_on = inner.yields[0]
        last = self.block
        always = goes_on.op == "const" and goes_on.attr and times is not None
        if always:
            self.jump(head)
        else:
            self.jump(again)
            self.begin(again)
            last = again
            self.branch(self.value(goes_on), head, end)
        phis = [f"  {name} = phi {kind} [ {x}, %{before} ], [ {y}, %{last} ]"
                for name, kind, x, y in zip([*names, k], [*kinds, "i64"], [*start, "0"], [*following, more])]  # fmt: skip
        self.lines[at:at] = phis
        self.begin(end)
        ways = []
        if times is not None:
            ways.append((head, [*names, k]))
        if not always:
            ways.append((last, [*following, more]))
        self.phis(place.results, ways)

    # ---- arrays

    def _array_op(self, place: Place) -> None:
        op, args, kind = place.op, place.args, place.kind
        if op == "size":
            self.values[place] = self.array(args[0]).size
        elif op == "load":
            self.values[place] = self.read(args[0], self.value(args[1]))
        elif op in ("store", "bump"):
            array = self.own(args[0], place, 0)
            i, x = self.value(args[1]), self.value(args[2])
            self.arrays[place] = array
            if op == "bump":
                old = self.read(place, i)
                x = self.do(f"fadd double {old}, {x}" if kind == "f64[]" else f"add i64 {old}, {x}")
            self.put(place, array.pointer, i, x)
        elif op == "append":
            array = self.roomy(place, "1")
            self.put(place, array.pointer, array.size, self.value(args[1]))
            self.arrays[place] = Array(array.pointer, self.do(f"add i64 {array.size}, 1"))
        elif op == "grow":
            n = self.value(args[1])
            array = self.roomy(place, n)
            self.arrays[place] = Array(array.pointer, self.do(f"add i64 {array.size}, {n}"))
        elif op == "slice":
            whole, n = self.array(args[0]), self.value(args[2])
            p = self.take(kind, n)
            begin = self.address(kind, whole.pointer, self.value(args[1]))
            size = self.bytes_of(kind, n)
            self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {p}, ptr {begin}, i64 {size}, i1 false)")
            self.arrays[place] = Array(p, n)
        elif op == "array":
            p = self.take(kind, str(len(args)))
            self.arrays[place] = Array(p, str(len(args)))
            for k, item in enumerate(args):
                self.put(place, p, str(k), self.value(item))
        else:
            self._fill(place)

    def _fill(self, place: Place) -> None:
        n, x = (self.value(a) for a in place.args)
        p = self.take(place.kind, n)
        self.arrays[place] = Array(p, n)
        head, inside, end = self.label(), self.label(), self.label()
        before = self.block
        self.jump(head)
        self.begin(head)
        k, following = self.fresh(), self.fresh()
        self.line(f"{k} = phi i64 [ 0, %{before} ], [ {following}, %{inside} ]")
        self.branch(self.do(f"icmp slt i64 {k}, {n}"), inside, end)
        self.begin(inside)
        self.put(place, p, k, x)
        self.line(f"{following} = add nsw i64 {k}, 1")
        self.jump(head)
        self.begin(end)

    # ---- numbers

    def operation(self, place: Place) -> str:
        """Write an operation of the table; returns the name of its result."""
        op, xs = place.op, [self.value(a) for a in place.args]
        if op == "select":
            kind = TYPE[place.kind]
            return self.do(f"select i1 {xs[0]}, {kind} {xs[1]}, {kind} {xs[2]}")
        if op in COMPARE:
            return self.do(f"{COMPARE[op]} {'double' if COMPARE[op][0] == 'f' else 'i64'} {xs[0]}, {xs[1]}")
        if op in PLAIN:
            return self.do(f"{PLAIN[op]} {xs[0]}, {xs[1]}")
        if op in CONVERT:
            return self.do(CONVERT[op].format(*xs))
        if op in ("imin", "imax"):
            return self.call(f"llvm.s{op[1:]}.i64", "i64", ("i64", xs[0]), ("i64", xs[1]))
        if op in ("ifloordiv", "imod"):
            return self._divided(op, *xs)
        if op == "int":
            size = self.call("llvm.fabs.f64", "double", ("double", xs[0]))
            small = self.do(f"fcmp olt double {size}, {number(2.0**63)}")
            x = self.do(f"select i1 {small}, double {xs[0]}, double {number(0.0)}")
            return self.do(f"select i1 {small}, i64 {self.do(f'fptosi double {x} to i64')}, i64 {LEAST}")
        if op == "reached":
            return self.do(f"icmp ne i64 {self.do(f'bitcast double {xs[0]} to i64')}, {LEAST}")
        return self._row("@mg_philox" if op == "philox" else OPS[op].llvm, xs)

    def _row(self, how: str, xs: list[str]) -> str:
        doubles = [("double", x) for x in xs]
        if how.startswith("@llvm."):
            return self.call(f"{how[1:]}.f64", "double", *doubles)
        if not how.startswith("@"):
            return self.do(how.format(*xs, T="double", F=""))
        name = how[1:]
        ours = f"{name}_of_the_library"
        if ours not in self.library:
            self.library[ours] = name, len(xs)
            head = f"declare double @{ours}({', '.join(['double'] * len(xs))}) nounwind willreturn memory(none)"
            self.declared[head] = None
            found = self.variants(name)
            if found is not None:
                vectors, texts = found
                self.vectors.update(dict.fromkeys(vectors.split()))
                self.declared.update(dict.fromkeys(texts))
                mapped = ",".join(self._mapped(v, ours, len(xs)) for v in vectors.split())
                self.attribute_groups.append(
                    f'attributes #{1 + len(self.library)} = {{ "vector-function-abi-variant"="{mapped}" }}'
                )
            else:
                self.attribute_groups.append(f"attributes #{1 + len(self.library)} = {{ nounwind }}")
        number_of = 2 + list(self.library).index(ours)
        return self.do(f"call double @{ours}({', '.join(f'double {x}' for x in xs)}) #{number_of}")

    @staticmethod
    def _mapped(vector: str, ours: str, operands: int) -> str:
        width = vector.lstrip("abcdefghijklmnopqrstuvwxyz_")
        return f"_ZGV_LLVM_N{width}{'v' * operands}_{ours}({vector})"

    def _divided(self, op: str, a: str, b: str) -> str:
        """Write the division of whole numbers as Python has it: rounded down; by zero it is 0; nothing traps."""
        zero, minus = self.do(f"icmp eq i64 {b}, 0"), self.do(f"icmp eq i64 {b}, -1")
        special = self.do(f"or i1 {zero}, {minus}")
        safe = self.do(f"select i1 {special}, i64 1, i64 {b}")
        rest = self.do(f"srem i64 {a}, {safe}")
        other = self.do(f"icmp slt i64 {self.do(f'xor i64 {rest}, {safe}')}, 0")
        down = self.do(f"and i1 {self.do(f'icmp ne i64 {rest}, 0')}, {other}")
        if op == "imod":
            moved = self.do(f"select i1 {down}, i64 {self.do(f'add i64 {rest}, {safe}')}, i64 {rest}")
            return self.do(f"select i1 {special}, i64 0, i64 {moved}")
        quotient = self.do(f"sub i64 {self.do(f'sdiv i64 {a}, {safe}')}, {self.do(f'zext i1 {down} to i64')}")
        found = self.do(f"select i1 {minus}, i64 {self.do(f'sub i64 0, {a}')}, i64 {quotient}")
        return self.do(f"select i1 {zero}, i64 0, i64 {found}")
