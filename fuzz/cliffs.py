"""Cliffs: harmless edits of programs that change what compiling them costs.

    python -m fuzz --cliffs --count 200      two hundred programs, each with a few edits

A program is written at random from recurrences, sums, tables and searches, or is one of tests/abstract/array_programs.py, or
one of the general fuzzer. An edit changes its source as a user might, without changing what it computes: a constant that begins
a sum, the kind of a loop, the name of a part. Both are compiled. Their results and gradients have to agree with eager code, and
neither tape may be more than FACTOR times as large as the other. First calls are timed and reported, not judged: a busy machine
would fail.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from typing import Any, NamedTuple

from fuzz.generate import generate
from micrograd import engine, jit, value_and_grad
from micrograd import math as m
from micrograd.tree import flatten

FACTOR = 2.0
SLACK = 80  # instructions: a tape of 10 may become one of 40
NEAR = 1e-8  # of the largest number: an edit may change the order of roundings
EDITS_EACH = 3
_number = count()


class Case(NamedTuple):
    """A program, the arguments of a call, and by how many of the first ones it is differentiated."""

    text: str
    args: tuple[Any, ...]
    name: str


class Cost(NamedTuple):
    """What compiling a program comes to."""

    value: list[float]
    size: int
    seconds: float


class Cliff(Exception):
    """Compiled code gives another result than eager code."""


class Harmful(Exception):
    """Eager code raises an exception: this is no program, or no edit of it."""


# ---- edits: each changes a tree in one place that it picks, and says whether there was one


def _places(tree: ast.AST, fits: Callable[[Any], bool]) -> list[Any]:
    return [node for node in ast.walk(tree) if fits(node)]


def _replace(tree: ast.AST, old: ast.AST, new: Any) -> None:
    """Put a node in the place of another one; several statements in that of one."""
    for node in ast.walk(tree):
        for field, x in ast.iter_fields(node):
            if x is old:
                setattr(node, field, new)
            elif isinstance(x, list) and any(y is old for y in x):
                at = next(k for k, y in enumerate(x) if y is old)
                x[at : at + 1] = new if isinstance(new, list) else [new]


def _is_float(node: Any, value: float | None = None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float and (value is None or node.value == value)


def _expression(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def _names(node: ast.AST, context: type) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def zero_times_argument(f: ast.FunctionDef, r: random.Random) -> bool:
    """`s = 0.0` → `s = 0.0 * x`."""
    number = _first_number(f)
    found = _places(f, lambda n: isinstance(n, ast.Assign) and _is_float(n.value, 0.0))
    if not found or number is None:
        return False
    r.choice(found).value = _expression(f"0.0 * {number}")
    return True


def zero_without_argument(f: ast.FunctionDef, r: random.Random) -> bool:
    """`s = 0.0 * x` → `s = 0.0`."""
    found = _places(f, lambda n: isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and _is_float(n.left, 0.0))
    if not found:
        return False
    _replace(f, r.choice(found), ast.Constant(0.0))
    return True


def int_for_float(f: ast.FunctionDef, r: random.Random) -> bool:
    """`2.0 * x` → `2 * x`."""
    found = [
        node
        for node in _places(f, lambda n: isinstance(n, ast.BinOp))
        if _is_float(node.left) and node.left.value.is_integer() and not _is_constant(node.right)
    ]
    if not found:
        return False
    node = r.choice(found)
    node.left = ast.Constant(int(node.left.value))
    return True


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def name_a_part(f: ast.FunctionDef, r: random.Random) -> bool:
    """`y = (a + b) * c` → `part = a + b; y = part * c`."""
    found = [s for s in _places(f, lambda n: isinstance(n, ast.Assign)) if isinstance(s.value, ast.BinOp)]
    found = [s for s in found if isinstance(s.value.left, ast.BinOp)]
    if not found:
        return False
    statement = r.choice(found)
    name = f"part{next(_number)}"
    first = ast.Assign([ast.Name(name, ast.Store())], statement.value.left)
    statement.value.left = ast.Name(name, ast.Load())
    _replace(f, statement, [first, statement])
    return True


def helper_for_expression(f: ast.FunctionDef, r: random.Random) -> bool:
    """`y = a * b + c` → `def helper(a, b, c): return a * b + c` and `y = helper(a, b, c)`."""
    simple = (ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.expr_context, ast.UnaryOp, ast.unaryop)
    found = [
        s
        for s in _places(f, lambda n: isinstance(n, ast.Assign))
        if isinstance(s.value, ast.BinOp) and all(isinstance(n, simple) for n in ast.walk(s.value))
    ]
    if not found:
        return False
    statement = r.choice(found)
    names, helper = sorted(_names(statement.value, ast.Load)), f"helper{next(_number)}"
    made = ast.parse(f"def {helper}({', '.join(names)}):\n    return {ast.unparse(statement.value)}").body[0]
    statement.value = _expression(f"{helper}({', '.join(names)})")
    f.body.insert(0, made)
    return True


def while_for_range(f: ast.FunctionDef, r: random.Random) -> bool:
    """`for i in range(n): …` → `i = 0; while i < n: …; i += 1`, where nothing else leaves or changes it."""
    found = []
    for node in _places(f, lambda n: isinstance(n, ast.For) and not n.orelse):
        call = node.iter
        plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        inside = [n for s in node.body for n in ast.walk(s)]
        if plain and len(call.args) <= 2 and isinstance(node.target, ast.Name):
            stays = not any(isinstance(n, ast.Continue) for n in inside)
            if stays and not any(
                isinstance(n, ast.Name) and n.id == node.target.id and isinstance(n.ctx, ast.Store) for n in inside
            ):
                found.append(node)
    if not found:
        return False
    node = r.choice(found)
    i, args = node.target.id, list(map(ast.unparse, node.iter.args))
    first, last = args if len(args) == 2 else ("0", args[0])
    step, end = f"step{next(_number)}", f"end{next(_number)}"
    body = ast.Module([*ast.parse(f"{i} = {step}").body, *node.body, *ast.parse(f"{step} += 1").body], [])
    head = ast.parse(f"{step} = {first}\n{end} = {last}\nwhile {step} < {end}:\n    pass").body
    head[-1].body = body.body  # type: ignore[attr-defined]
    _replace(f, node, head)
    return True


def loop_for_comprehension(f: ast.FunctionDef, r: random.Random) -> bool:
    """`a = [e for v in it]` → `a = []` and a loop that appends."""
    found = [
        s
        for s in _places(f, lambda n: isinstance(n, ast.Assign) and isinstance(n.value, ast.ListComp))
        if len(s.value.generators) == 1 and isinstance(s.targets[0], ast.Name)
    ]
    found = [s for s in found if s.targets[0].id not in _names(s.value, ast.Load)]
    if not found:
        return False
    statement = r.choice(found)
    name, part = statement.targets[0].id, statement.value.generators[0]
    body: list[Any] = ast.parse(f"{name}.append({ast.unparse(statement.value.elt)})").body
    for test in part.ifs:
        body = [ast.If(test, body, [])]
    _replace(f, statement, [*ast.parse(f"{name} = []").body, ast.For(part.target, part.iter, body, [])])
    return True


def list_for_generator(f: ast.FunctionDef, r: random.Random) -> bool:
    """`sum(e for v in it)` → `sum([e for v in it])`."""
    found = _places(f, lambda n: isinstance(n, ast.GeneratorExp))
    if not found:
        return False
    node = r.choice(found)
    _replace(f, node, ast.ListComp(node.elt, node.generators))
    return True


def generator_for_list(f: ast.FunctionDef, r: random.Random) -> bool:
    """`sum([e for v in it])` → `sum(e for v in it)`."""
    found = [
        call
        for call in _places(
            f, lambda n: isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("sum", "min", "max")
        )
        if len(call.args) == 1 and isinstance(call.args[0], ast.ListComp)
    ]
    if not found:
        return False
    call = r.choice(found)
    call.args[0] = ast.GeneratorExp(call.args[0].elt, call.args[0].generators)
    return True


def tuple_for_list(f: ast.FunctionDef, r: random.Random) -> bool:
    """`for v in [a, b]` → `for v in (a, b)`."""
    found = [n for n in _places(f, lambda n: isinstance(n, ast.For)) if isinstance(n.iter, ast.List)]
    if not found:
        return False
    node = r.choice(found)
    node.iter = ast.Tuple(node.iter.elts, ast.Load())
    return True


def generator_around_a_loop(f: ast.FunctionDef, r: random.Random) -> bool:
    """`for v in it: …` → `for v in each(it): …`, where `each` yields the items."""
    found = _places(f, lambda n: isinstance(n, ast.For))
    if not found:
        return False
    node = r.choice(found)
    each = f"each{next(_number)}"
    made = ast.parse(f"def {each}(items):\n    for item in items:\n        yield item").body[0]
    node.iter = ast.Call(ast.Name(each, ast.Load()), [node.iter], [])
    f.body.insert(0, made)
    return True


def enumerated(f: ast.FunctionDef, r: random.Random) -> bool:
    """`for v in it` → `for k, v in enumerate(it)`."""
    found = _places(f, lambda n: isinstance(n, ast.For))
    if not found:
        return False
    node = r.choice(found)
    node.target = ast.Tuple([ast.Name(f"k{next(_number)}", ast.Store()), node.target], ast.Store())
    node.iter = ast.Call(ast.Name("enumerate", ast.Load()), [node.iter], [])
    return True


def one_index(f: ast.FunctionDef, r: random.Random) -> bool:
    """`a[i][j]` → `a[i, j]`, of an array."""
    arrays = {a.arg for a in f.args.args if a.arg.startswith("array")}
    found = _places(f, lambda n: isinstance(n, ast.Subscript) and isinstance(n.value, ast.Subscript))
    found = [n for n in found if isinstance(n.value.value, ast.Name) and n.value.value.id in arrays]
    if not found:
        return False
    node = r.choice(found)
    node.slice = ast.Tuple([node.value.slice, node.slice], ast.Load())
    node.value = node.value.value
    return True


def function_of_this_package(f: ast.FunctionDef, r: random.Random) -> bool:
    """`min(a, b)` → `m.min(a, b)`, and the same for `max` and `abs`."""
    found = _places(
        f, lambda n: isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("min", "max", "abs")
    )
    found = [n for n in found if len(n.args) == (1 if n.func.id == "abs" else 2)]
    if not found:
        return False
    node = r.choice(found)
    node.func = _expression(f"m.{node.func.id}")
    return True


def branch_for_builtin(f: ast.FunctionDef, r: random.Random) -> bool:
    """`min(a, b)` → `(b if b < a else a)`, of names."""
    found = _places(
        f, lambda n: isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("min", "max")
    )
    found = [n for n in found if len(n.args) == 2 and all(isinstance(a, ast.Name | ast.Constant) for a in n.args)]
    if not found:
        return False
    node = r.choice(found)
    a, b = map(ast.unparse, node.args)
    _replace(f, node, _expression(f"({b} if {b} {'<' if node.func.id == 'min' else '>'} {a} else {a})"))
    return True


def other_order(f: ast.FunctionDef, r: random.Random) -> bool:
    """`a = …; b = …` → `b = …; a = …`, where neither needs the other."""
    found = []
    for block in [n.body for n in ast.walk(f) if isinstance(getattr(n, "body", None), list)]:
        for k, (a, b) in enumerate(pairwise(block)):
            if all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) for s in (a, b)) and not any(
                isinstance(n, ast.Call) for s in (a, b) for n in ast.walk(s)
            ):
                writes = _names(a, ast.Store), _names(b, ast.Store)
                reads = _names(a, ast.Load), _names(b, ast.Load)
                if not (writes[0] & (writes[1] | reads[1]) or writes[1] & reads[0]):
                    found.append((block, k))
    if not found:
        return False
    block, k = r.choice(found)
    block[k : k + 2] = block[k + 1], block[k]
    return True


EDITS: dict[str, Callable[[ast.FunctionDef, random.Random], bool]] = {
    e.__name__: e
    for e in (
        zero_times_argument, zero_without_argument, int_for_float, name_a_part, helper_for_expression, while_for_range,
        loop_for_comprehension, list_for_generator, generator_for_list, tuple_for_list, generator_around_a_loop, enumerated,
        one_index, function_of_this_package, branch_for_builtin, other_order,
    )
}  # fmt: skip


def longer(text: str) -> str:
    """The program with ints of 20 and more, numbers of iterations, doubled: the same tape, if loops are loops."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 20:
            node.value *= 2
    return ast.unparse(tree)


def _first_number(f: ast.FunctionDef) -> str | None:
    for a in f.args.args:
        if a.arg.startswith("x"):
            return a.arg
        if a.arg.startswith("p"):
            return f"{a.arg}[0]"
    return None


def edited(text: str, edit: Callable[[ast.FunctionDef, random.Random], bool], r: random.Random) -> str | None:
    """The program after an edit; None where there is no place for it."""
    tree = ast.parse(text)
    f = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
    if not edit(f, r):
        return None
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


# ---- programs


def written(seed: int) -> Case:
    """A program over a few numbers, a list and an array, with loops of 20 to 200 iterations."""
    r = random.Random(seed)
    lines = ["def f(x, p, ys, array):", f"    s = {r.choice(('0.0', '0.0', '0.0 * x', '1.0', 'x'))}"]
    numbers = ["x", "p[0]", "p[1]", "p[2]"]

    def term(*more: str) -> str:
        a, b, c = (r.choice([*numbers, *more]) for _ in range(3))
        return r.choice((
            f"{a} * 0.5 + {b} * {c}", f"math.sin({a} + 0.3) * {b}", f"({a} + {b}) * 0.25 - {c}", f"min({a}, {b})",
            f"max({a}, 0.1)", f"abs({a} - {b})", f"2.0 * {a} - {b}", f"math.exp(-abs({a})) + {b}", f"m.tanh({a} * {b})",
        ))  # fmt: skip

    for k in range(r.randint(1, 3)):
        n = r.choice((20, 48, 90, 128, 200))
        kind = r.randrange(9)
        if kind == 0:
            lines += [f"    for i in range({n}):", f"        s = s * 0.5 + 0.1 * ({term('i', 'ys[i % len(ys)]')})"]
        elif kind == 1:
            lines += [f"    a{k} = [{term('y')} for y in ys]", f"    s += 0.01 * sum(a * a for a in a{k})"]
        elif kind == 2:
            lines += [
                "    for i in range(len(array)):", "        for j in range(i):",
                "            d = array[i][0] - array[j][0]", f"            e = array[i][1] * array[j][1] + {r.choice(numbers)}",
                "            s += 0.01 * e / (d * d + 1.0)",
            ]  # fmt: skip
        elif kind == 3:
            lines += [
                f"    t{k} = 1.0 + x * x", f"    while t{k} > {r.choice((0.01, 0.2))}:",
                f"        t{k} = t{k} * 0.8 - 0.001 * abs(p[0])", f"        s += 0.1 * t{k}",
            ]  # fmt: skip
        elif kind == 4:
            lines += [
                f"    q{k} = x", f"    for i in range({n}):", f"        if q{k} < {r.choice(numbers)}:",
                f"            q{k} = q{k} * 0.9 + 0.1", "        else:", f"            q{k} = q{k} * 0.7 - 0.2 * p[1]",
                f"    s += q{k}",
            ]  # fmt: skip
        elif kind == 5:
            lines += [
                f"    row{k} = [0.0] * {n}", f"    for i in range({n}):",
                f"        row{k}[i] = (x if i < 2 else 0.5 * row{k}[i - 1] + 0.25 * row{k}[i - 2]) + 0.01 * ({term()})",
                f"    s += row{k}[-1] + row{k}[{n // 2}]",
            ]  # fmt: skip
        elif kind == 6:
            lines += [
                f"    best{k} = ys[0]", "    for y in ys:", f"        d = {term('y')}",
                f"        best{k} = min(best{k}, d)", f"    s += best{k}",
            ]  # fmt: skip
        elif kind == 7:
            lines += [
                "    for i in range(12):", "        u = ys[i]", f"        for j in range({n}):",
                f"            u = u * 0.5 + 0.1 * ({term('u')})", "        s += 0.1 * u",
            ]  # fmt: skip
        else:
            lines += [f"    s += 0.05 * sum({term('y', 'z')} for y, z in zip(ys, ys[1:]))"]
        numbers.append("s")
    lines.append("    return s")
    p = [r.uniform(0.2, 1.2) for _ in range(3)]
    array = [[r.uniform(0.2, 1.2) for _ in range(2)] for _ in range(12)]
    args = (r.uniform(0.2, 1.2), p, [r.uniform(0.2, 1.2) for _ in range(40)], _array(array))
    return Case("\n".join(lines) + "\n", args, f"written {seed}")


def _array(rows: list[list[float]]) -> Any:
    import numpy as np

    return np.array(rows)


def random_program(seed: int) -> Case | None:
    """A program of the general fuzzer, if it needs no captured Values and no class."""
    program = generate(seed)
    if program.captured or "class " in program.text or "grad(" in program.text or "import" in program.text:
        return None
    r = random.Random(seed)
    return Case(program.text, tuple(r.uniform(-2.0, 2.0) for _ in range(program.inputs)), f"random {seed}")


def corpus() -> Iterator[Case]:
    """The programs over arrays of the tests whose result is a number."""
    from abstract import array_programs  # type: ignore[import-not-found]

    for function, make in array_programs.PROGRAMS.items():
        args = make(12, random.Random(1))
        if isinstance(function(*copy.deepcopy(args)), float):
            text = inspect.getsource(function).replace(f"def {function.__name__}(", "def f(", 1)
            yield Case(text, tuple(args), function.__name__)


def built(text: str) -> Any:
    """The function of a text, which inspect finds."""
    name = f"<cliffs {next(_number)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"math": math, "m": m, "__name__": "cliffs"}
    import bisect

    space["bisect"] = bisect
    exec(compile(text, name, "exec", dont_inherit=True), space)
    return space["f"]


# ---- costs


def _numbers(x: Any) -> list[float]:
    leaves: list[Any] = []
    flatten(x, leaves)
    return [float(y) for y in leaves]


def _argnums(args: tuple[Any, ...]) -> tuple[int, ...]:
    def floats(x: Any) -> bool:
        return (
            isinstance(x, float)
            or hasattr(x, "dtype")
            or (isinstance(x, list | tuple) and bool(x) and all(map(floats, x)))
        )

    return tuple(k for k, x in enumerate(args) if floats(x))


def cost(text: str, args: tuple[Any, ...]) -> Cost:
    """Compile a program, call it, and compare it with eager code."""
    f = built(text)
    wanted = value_and_grad(f, _argnums(args))
    try:
        plain = _numbers(wanted(*copy.deepcopy(args)))
    except Exception as error:
        raise Harmful from error
    compiled: Any = jit(wanted, wait=True)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _numbers(compiled(*copy.deepcopy(args)))
        seconds = time.perf_counter() - start
        again = _numbers(compiled(*copy.deepcopy(args)))
        size = len(compiled.tape(*copy.deepcopy(args)))
    for one in (found, again):
        if not near(one, plain):
            raise Cliff(f"compiled code gives {one[:4]} and eager code {plain[:4]}\n{text}")
    return Cost(found, size, seconds)


def near(a: list[float], b: list[float]) -> bool:
    """Whether two lists of numbers differ by roundings alone."""
    if len(a) != len(b):
        return False
    most = max([abs(y) for y in b if math.isfinite(y)], default=0.0)
    return all(x == y or (x != x and y != y) or abs(x - y) <= NEAR * (most + 1.0) for x, y in zip(a, b))


def compare(before: Cost, after: Cost, same: bool = True) -> str:
    """What is wrong with an edit; nothing where it costs no more than FACTOR times as much."""
    if same and not near(before.value, after.value):
        return f"the results differ: {before.value[:4]} and {after.value[:4]}"
    small, large = sorted((before.size, after.size))
    if large > FACTOR * small + SLACK:
        return f"{before.size:,} instructions before and {after.size:,} after"
    return ""


class Found(NamedTuple):
    """One pair: the program, the edit, its costs, and what is wrong with it."""

    case: Case
    edit: str
    before: Cost
    after: Cost
    wrong: str
    text: str


def pairs(case: Case, r: random.Random, most: int = EDITS_EACH) -> Iterator[Found]:
    """Some edits of a program, each compared with the program as it was."""
    before = cost(case.text, case.args)
    names = list(EDITS)
    r.shuffle(names)
    done = 0
    for name in ["longer", *names]:
        text: str | None = longer(case.text) if name == "longer" else edited(case.text, EDITS[name], r)
        if text is None or ast.unparse(ast.parse(case.text)) == ast.unparse(ast.parse(text)):
            continue
        try:
            after = cost(text, case.args)
        except Harmful:
            continue
        yield Found(case, name, before, after, compare(before, after, name != "longer"), text)
        done += 1
        if done >= most:
            break


def run(seed: int, programs: int, seconds: float = 0.0) -> tuple[int, list[str]]:
    """Compare so many programs with edits of them; how many pairs there were, and what is wrong."""
    if not engine.NATIVE:
        raise SystemExit("python -m fuzz --cliffs: it needs the C engine and llvmlite")
    wrong: list[str] = []
    slow: list[tuple[float, str]] = []
    done = 0
    began = time.monotonic()
    cases: list[Case | None] = list(corpus()) if seed == 0 else []
    for k in range(seed, seed + programs):
        cases.append(random_program(k) if k % 4 == 0 else written(k))
    for case in cases[:programs]:
        if case is None:
            continue
        if seconds and time.monotonic() - began > seconds:
            break
        try:
            for found in pairs(case, random.Random(case.name)):
                done += 1
                slow.append((found.after.seconds / found.before.seconds, f"{case.name}, {found.edit}"))
                if found.wrong:
                    wrong.append(f"{case.name}, {found.edit}: {found.wrong}\n{case.text}after:\n{found.text}")
                    print(wrong[-1], flush=True)
        except Harmful:
            continue
        except Exception as error:
            wrong.append(f"{case.name}: {type(error).__name__}: {error}\n{case.text}")
            print(wrong[-1], flush=True)
    ratios = sorted(ratio for ratio, _ in slow)
    if ratios:
        print(f"first calls: a median of {ratios[len(ratios) // 2]:.2f} times as long after an edit, the slowest:")
        for ratio, where in sorted(slow, reverse=True)[:5]:
            print(f"   {ratio:.1f} times: {where}")
    print(f"{done} pairs in {time.monotonic() - began:.0f} s: {len(wrong)} cliffs")
    return done, wrong
