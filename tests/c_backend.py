"""A complete backend in one file: C text, the system's C compiler, and ctypes to run it.

It is small and slow to compile, and shows all that a backend is: what it spells, its text, its compiler, and how one point and
rows are run. test_backend_contract.py holds it to the same tests as LLVM.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile

import numpy as np

from micrograd import Value, c_text, engine
from micrograd.compile import backend as backends
from micrograd.compile.backend import BLOCK, KernelSource
from micrograd.compile.kernel import RESULT
from micrograd.tape.tape import CONST, INPUT, PARAM

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class C:
    """The backend: `register(C())`, then jit(f, backend="c")."""

    name = "c"
    regions = False  # no choices and loops: each path is compiled on its own

    def spells(self, op):
        return c_text.spells(op)

    def registers(self, goal):
        return 8

    def fuses(self):
        return False

    def parameters(self, values):
        return values

    def text(self, tape, goal):
        real = "float" if goal.options.float32 else "double"
        lines = [f"typedef {real} real;", "int kernel(const real *in, const real *params, real *out) {"]
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op is CONST:
                value = f"({c_text.literal(args[0])})"
            elif op is INPUT or op is PARAM:
                value = f"{'in' if op is INPUT else 'params'}[{args[0]}]"
            else:
                value = op.c.format(*[f"v{a}" for a in args])
            lines.append(f"    const real v{i} = {value};")
        for how, a, b, went in tape.guards:
            lines.append(f"    if ((v{a} {SIGNS[how]} v{b}) != {int(went)}) return 1;")
        lines += [f"    out[{k}] = v{place};" for k, place in enumerate(tape.outputs)]
        body = "\n".join([*lines, "    return 0;", "}", ""])
        return KernelSource(c_text.HEADERS + c_text.helpers(body) + body)

    def levels(self, text, goal, wait):
        return 2, 2

    def processor(self):
        return {}

    def compile(self, text, tape, goal, level):
        folder = os.path.join(tempfile.gettempdir(), f"micrograd-c-{os.getpid()}")
        os.makedirs(folder, exist_ok=True)
        name = os.path.join(folder, hashlib.sha256(text.source.encode()).hexdigest())
        with open(name + ".c", "w") as file:
            file.write(text.source)
        flags = ["-shared", "-fPIC", f"-O{level}", "-ffp-contract=off"]
        subprocess.run([COMPILER, *flags, name + ".c", "-o", name + ".so", "-lm"], check=True)
        function = ctypes.CDLL(name + ".so").kernel
        return Rows(function, tape, goal) if goal.rows else Point(function, tape)


def numbers(xs):
    return [x.data if isinstance(x, Value) else float(x) for x in xs]


class Point:
    """Run one point."""

    def __init__(self, function, tape):
        self.function, self.tape = function, tape

    def values(self, xs, params):
        arrays = [(ctypes.c_double * max(1, len(a)))(*a) for a in (numbers(xs), numbers(params))]
        out = (ctypes.c_double * max(1, len(self.tape.outputs)))()
        return None if self.function(*arrays, out) else list(out)[: len(self.tape.outputs)]

    def nodes(self, xs, params, inputs, count, unread):
        found = self.values(xs, params)
        if found is None:
            return None
        over = [*inputs, *params]
        left_out = unread or bytes(count * len(over))
        result = []
        for k in range(count):
            mine = slice(k * len(over), (k + 1) * len(over))
            read = [pair for pair, skip in zip(zip(over, found[count:][mine]), left_out[mine]) if not skip]
            result.append(engine.node(found[k], RESULT, *zip(*read)) if read else engine.Value(found[k]))
        return result


class Rows:
    """Run rows one after the other; sums are added by row within a block, and then by block."""

    def __init__(self, function, tape, goal):
        self.function, self.tape, self.goal = function, tape, goal
        self.kind = np.float32 if goal.options.float32 else np.float64

    def run(self, arrays, axes, uniform, rows, outs, threads, blocks=None):
        columns = [np.moveaxis(a, axis, 0).reshape(rows, -1) for a, axis in zip(arrays, axes)]
        table = np.ascontiguousarray(np.concatenate(columns, axis=1), dtype=self.kind)
        params = np.array(numbers(uniform) or [0.0], dtype=self.kind)
        results = np.zeros((rows, max(1, len(self.tape.outputs))), dtype=self.kind)
        at = [a.ctypes.data_as(ctypes.c_void_p) for a in (params, results)]
        bad = []
        for r in range(rows):
            row = ctypes.c_void_p(table.ctypes.data + r * table.strides[0])
            if self.function(row, at[0], ctypes.c_void_p(at[1].value + r * results.strides[0])):
                bad.append(r)
                results[r] = 0.0
        for k, out in enumerate(outs):
            out[:] = results[:, k]
        sums = [np.add.accumulate(results[i : i + BLOCK].astype(float), axis=0)[-1] for i in range(0, rows, BLOCK)]
        if blocks is not None:
            blocks[:] = sums
        total = np.add.accumulate([np.zeros(results.shape[1]), *sums], axis=0)[-1]
        return (np.array(bad) if bad else None), total.tolist() if self.goal.reduced else []


backends.register(C())
