"""Write src/micrograd/learn/static/ops.js, the page's op table, from the table in ops.py.

    python tools/gen_ops_js.py           write it
    python tools/gen_ops_js.py --check   fail if the file that is there is stale (a test does this)

Values and partials are run on text: each operation that a rule performs becomes one line of JavaScript.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from micrograd.ops import OPS, Op, facts, partials  # noqa: E402
from micrograd.spelling import Listing, LoopListing, SpelledList  # noqa: E402

PATH = ROOT / "src" / "micrograd" / "learn" / "static" / "ops.js"

HEADER = """\
// Made by tools/gen_ops_js.py from ops.py: change the table there and run it again.
import { erf, erfc, floordiv, fma, gamma, lgamma, modulo, philox, power, remainder, rint } from "./special.js";

/**
 * One row of the table. An op over a list (arity -1) has one partial, a function of the `facts` about an input; `slopes`
 * computes it for all inputs.
 * @typedef {{symbol: string, arity: number, rule: string[], facts?: string[], value: (...xs: any[]) => number,
 *            partials: ((...xs: number[]) => number)[], slopes?: (x: number[], y: number) => number[]}} Op
 */

/** @type {Record<string, Op>} */
export const OPS = {
"""

FOOTER = """\
};

/** @type {Record<string, number[]>} For each op that is a step in some of its inputs: these inputs. */
const STEPS = @STEPS@;

/**
 * Whether an op is a step in this input (floor, sign ...), so that no gradient passes.
 * @param {string} op @param {number} slot
 */
export function isStep(op, slot) {
  return STEPS[op]?.includes(slot) ?? false;
}

/**
 * For each node of a graph, whether it lies behind steps alone: no gradient of the last node reaches it.
 * @param {{op: string, inputs: number[]}[]} nodes
 */
export function behindSteps(nodes) {
  const hidden = nodes.map((_, id) => id < nodes.length - 1);
  for (let id = nodes.length - 1; id >= 0; id--) {
    if (!hidden[id]) nodes[id].inputs.forEach((input, slot) => (hidden[input] &&= isStep(nodes[id].op, slot)));
  }
  return hidden;
}

/**
 * What a node adds to the gradient of an input. Nothing passes a step or comes from behind one, not even 0 times infinity.
 * @param {{op: string, hidden: boolean}} node @param {number} slot @param {number} local @param {number} upstream
 */
export function pushed(node, slot, local, upstream) {
  const product = local * upstream;
  return Number.isNaN(product) && (node.hidden || isStep(node.op, slot)) ? 0 : product;
}

/**
 * The value of one application.
 * @param {string} name @param {number[]} args
 */
export function valueOf(name, args) {
  const op = OPS[name];
  return op.arity < 0 ? op.value(args) : op.value(...args);
}

/**
 * The partials of one application in operand order.
 * @param {string} name @param {number[]} args @param {number} y
 * @returns {number[]}
 */
export function partialsOf(name, args, y) {
  const { slopes, partials } = OPS[name];
  return slopes ? slopes(args, y) : partials.map((partial) => partial(...args, y));
}
"""


def literal(x: float) -> str:
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    return repr(x).removesuffix(".0")


def function(parameters: tuple[str, ...], rule: Any) -> str:
    """One arrow function of numbers, as the rule computes it."""
    page = Listing("js", literal)
    result = rule(*(page.text(p) for p in parameters))
    steps = list(page.lines.items())
    used = result.name if hasattr(result, "name") else ""
    head = f"({', '.join(_needed(parameters, steps, used))}) =>"
    if not steps:
        return f"{head} {page.spell(result)}"
    last = page.spell(result)
    if used == steps[-1][1]:
        last = steps.pop()[0]
    if not steps:
        return f"{head} {last}"
    body = ", ".join(f"{name} = {spelled}" for spelled, name in steps)
    return f"{head} {{ const {body}; return {last}; }}"


def _program() -> LoopListing:
    program = LoopListing("js", literal, "const", "let", "let", "n")
    program.put("const n = x.length;")
    return program


def _lines(program: LoopListing, head: str) -> str:
    return "\n".join([f"({head}) => {{", *(f"  {line}" for line in program.body), "  }"])


def over_list(op: Op) -> str:
    """The value of an op over a list, with its loops."""
    program = _program()
    result = op.value(SpelledList.of(program, "x"))
    program.put(f"return {program.spell(result)};")
    return _lines(program, "x")


def slopes(op: Op) -> str:
    """The partials of an op over a list, with their loops."""
    program = _program()
    program.stored = "partial"
    program.put("const partial = new Array(n);")
    partials(op, SpelledList.of(program, "x"), program.text("y"))
    program.put("return partial;")
    return _lines(program, "x, y" if any(re.search(r"\by\b", line) for line in program.body) else "x")


def _needed(parameters: tuple[str, ...], steps: list[tuple[str, str]], result: str) -> tuple[str, ...]:
    """The parameters up to the last one that the body names."""
    words = {result, *re.findall(r"\w+", " ".join(spelled for spelled, _ in steps))}
    while parameters and parameters[-1] not in words:
        parameters = parameters[:-1]
    return parameters


def text() -> str:
    out = [HEADER]
    for op in OPS.values():
        inputs = ("a", "b", "c")[: max(op.arity, 0)]
        row = [
            f"symbol: {json.dumps(op.symbol)}",
            f"arity: {op.arity}",
            f"rule: {json.dumps(op.rule, ensure_ascii=False)}",
        ]
        if op.arity < 0:
            row += [f"facts: {json.dumps(facts(op))}", f"value: {over_list(op)}", f"slopes: {slopes(op)}"]
            each = [function(facts(op), op.partials[0])]
        else:
            rule = (lambda *xs, op=op: xs[0]._apply(op, xs)) if op.js else op.value
            row.append(f"value: {function(inputs, rule)}")
            each = [function((*inputs, "y"), partial) for partial in op.partials]
        row.append(f"partials: [{', '.join(each)}]")
        out.append(f"  {op.name}: {{ {', '.join(row)} }},\n")
    steps = json.dumps({op.name: op.steps for op in OPS.values() if op.steps})
    return "".join([*out, FOOTER.replace("@STEPS@", steps)])


def main() -> int:
    if "--check" in sys.argv:
        if not PATH.exists() or PATH.read_text(encoding="utf-8") != text():
            print(f"{PATH.name} is stale: run tools/gen_ops_js.py (ops.py changed since it was made)", file=sys.stderr)
            return 1
        return 0
    PATH.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
