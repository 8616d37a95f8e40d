"""export_onnx: a function of numbers as an ONNX graph in float32, one node for each op, batched over the first axis.

Both arms of a choice are computed for all rows, and each row takes its own; loops of a known number of iterations are written
out. Rows that do what could not be merged (such as sorting a nan) give nan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

from micrograd import engine, install
from micrograd.errors import CompileError
from micrograd.interop.traced import Traced
from micrograd.ops import OPS as TABLE
from micrograd.tape import passes
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PARAM,
    STACK,
    STORE,
    Choose,
    Guard,
    Loop,
    Projection,
    Structural,
    Tape,
)
from micrograd.tree import written
from micrograd.typed import P

OPS = {  # op -> the operator of ONNX, with float32 kernels in onnxruntime
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs", "min": "Min",
    "max": "Max", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus", "floor": "Floor",
    "ceil": "Ceil", "round": "Round", "sign": "Sign",
}  # fmt: skip
MOST = 100_000  # nodes of a graph
COMPARISONS = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal"}


def export_onnx(f: Callable[P, Any], *args: Any, name: str = "f") -> Any:
    """Return f as an ONNX model in float32: input `x` of shape [rows, numbers], output `y` of shape [rows, results].

    The arguments say how many numbers there are. Captured Values, such as a model's parameters, are written as they are now.

    >>> import onnx
    >>> from micrograd import export_onnx
    >>> model = export_onnx(lambda a, b: a * b + 1.0, 2.0, 3.0)
    >>> [node.op_type for node in model.graph.node if node.op_type in ("Mul", "Add")]
    ['Mul', 'Add']
    """
    onnx = install.require("onnx", "export_onnx", "onnx", "onnx")
    TensorProto, helper = onnx.TensorProto, onnx.helper
    traced = Traced(f, args)
    tape = passes.prune(passes.expand(traced.tape, lambda op: op.name in OPS or bool(op.c), False, powers=False))
    if tape.guards and not traced.merged:
        raise CompileError(f"export_onnx writes functions whose branches can be merged, and {traced.name} has others\n"
                           "  jit(f).explain(...) says which, and why. export_c writes the path of these numbers.")  # fmt: skip
    graph = _Graph(helper, TensorProto, traced)
    columns = [graph.put("Gather", ["x", graph.whole(k)], axis=1) for k in range(tape.inputs)]
    places = graph.tape(tape.copy(outputs=(*tape.outputs, *tape.guarded())), columns)
    places = graph.guarded(places[: len(tape.outputs)], tape.guards, places[len(tape.outputs) :])
    shape, last = graph.put("Shape", ["x"], start=0, end=1), graph.whole(1, [1])
    wide = [graph.put("Expand", [graph.name(p), shape]) for p in places]  # a constant has no rows of its own
    graph.put("Concat", [graph.put("Unsqueeze", [w, last]) for w in wide], "y", axis=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", max(traced.tape.inputs, 1)])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", len(places)])
    told = f"arguments: {written(traced.arguments)}"
    used = {name for node in graph.nodes for name in node.input}  # runtimes warn of constants that no node reads
    constants = [c for c in graph.constants if c.name in used]
    made = helper.make_graph(graph.nodes, name, [x], [y], constants, doc_string=told)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class _Graph:
    """The nodes of an ONNX graph. A place of the tape is a node's name, a constant (a float), or a list of such things."""

    def __init__(self, helper: Any, types: Any, traced: Traced) -> None:
        self.helper, self.types, self.traced = helper, types, traced
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.zero, self.one = self.name(0.0), self.name(1.0)

    def put(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        if len(self.nodes) >= MOST:
            raise CompileError(f"export_onnx: {self.traced.name} needs more than {MOST:,} nodes with its loops written out\n"
                               "  Use export_c, which keeps loops.")  # fmt: skip
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def name(self, place: Any) -> str:
        """The name of a number."""
        if isinstance(place, str):
            return place
        self.constants.append(self.helper.make_tensor(f"c{len(self.constants)}", self.types.FLOAT, [], [place]))
        return f"c{len(self.constants) - 1}"

    def whole(self, number: int, shape: Sequence[int] = ()) -> str:
        """A whole number as a constant."""
        self.constants.append(self.helper.make_tensor(f"c{len(self.constants)}", self.types.INT64, shape, [number]))
        return f"c{len(self.constants) - 1}"

    def guarded(self, results: list[Any], guards: Sequence[Guard], compared: list[Any]) -> list[Any]:
        """The results, and nan in the rows that a guard leaves out, of which the tape knows nothing."""
        for (how, _, _, went), a, b in zip(guards, compared[::2], compared[1::2]):
            holds = self.test(self.name(self.number(TABLE[how], [a, b])))
            results = [self.select(holds, x if went else nan, nan if went else x) for x in results]
        return results

    def tape(self, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
        """Write a tape; returns what its outputs are."""
        places: list[Any] = []
        for op, args in zip(tape.ops, tape.args):
            if op is CONST:
                places.append(args[0])
            elif op is INPUT:
                places.append(inputs[args[0]])
            elif op is PARAM:
                places.append(self.traced.params[args[0]])
            elif isinstance(op, Structural):
                places.append(self.structural(op, [places[a] for a in args]))
            else:
                places.append(self.number(op, [places[a] for a in args]))
        return [places[o] for o in tape.outputs]

    def number(self, op: Any, args: list[Any]) -> Any:
        """An op of the table; of constants it is a constant."""
        if op.arity >= 0 and not any(isinstance(a, str) for a in args):
            return float(engine.apply(op, *args)) if op.name != "pick" else args[1] if args[0] else args[2]
        given = [self.name(a) for a in args]
        if op.name in OPS:
            return self.put(OPS[op.name], given)
        if op.name in COMPARISONS:
            return self.put("Where", [self.put(COMPARISONS[op.name], given), self.one, self.zero])
        if op.name == "ne":
            return self.put("Where", [self.put("Equal", given), self.zero, self.one])
        if op.name in ("where", "pick"):
            return self.select(self.test(given[0]), given[1], given[2])
        if op.name == "trunc":
            below = self.put("Less", [given[0], self.zero])
            return self.select(below, self.put("Ceil", given), self.put("Floor", given))
        if op.name in WRITTEN_OUT:
            return WRITTEN_OUT[op.name](self, given[0])
        known = sorted([*OPS, *COMPARISONS, *WRITTEN_OUT, "ne", "trunc", "where"])
        raise CompileError(f"export_onnx has no operator of ONNX for {op.name!r}, which {self.traced.name} uses\n"
                           f"  It knows {', '.join(known)}.")  # fmt: skip

    def test(self, number: str) -> str:
        """Whether a number is not 0.0."""
        return self.put("Not", [self.put("Equal", [number, self.zero])])

    def select(self, test: str, a: Any, b: Any) -> Any:
        """a in the rows where a test holds, else b; of arrays, element by element."""
        if isinstance(a, list):
            return [self.select(test, x, y) for x, y in zip(a, b)]
        return a if a is b else self.put("Where", [test, self.name(a), self.name(b)])

    def structural(self, op: Structural, args: list[Any]) -> Any:
        """An array, or a region."""
        if isinstance(op, Projection) and op.name != "pad":
            return args[0][op.number]
        if op is STACK:
            return args
        if op is LOAD or op is BUMP or op is STORE:
            k = min(max(int(args[1]), 0), len(args[0]) - 1)  # an index is made from constants and iteration numbers
            if op is LOAD:
                return args[0][k]
            new = args[2] if op is STORE else self.sum(args[0][k], args[2])
            return [*args[0][:k], new, *args[0][k + 1 :]]
        if isinstance(op, Choose):
            then, otherwise = (self.tape(body, args[1:]) for body in op.bodies())
            if not isinstance(args[0], str):
                return then if args[0] else otherwise
            return self.select(self.test(args[0]), then, otherwise)
        if isinstance(op, Loop):
            return self.loop(op, args)
        return [*args[0], *[0.0] * (op.number - len(args[0]))]  # type: ignore[attr-defined]  # pad

    def sum(self, a: Any, b: Any) -> Any:
        if isinstance(a, list):
            return [self.sum(x, y) for x, y in zip(a, b)]
        return self.put("Add", [self.name(a), self.name(b)])

    def loop(self, op: Loop, args: list[Any]) -> list[Any]:
        """Write the iterations of a loop one after the other; constants and iteration numbers must decide its condition."""

        def goes_on(inputs: list[Any]) -> bool:
            result = 1.0 if op.condition is None else self.tape(op.condition, inputs)[0]
            if isinstance(result, str):
                raise CompileError(f"export_onnx unrolls loops, and the iterations of one in {self.traced.name} depend on the "
                                   "numbers\n  Use export_c, which keeps loops.")  # fmt: skip
            return bool(result)

        return op.run(args, goes_on, lambda inputs: self.tape(op.body, inputs))


def _log1p(graph: _Graph, x: str) -> Any:
    """log(1 + x), where the rounding of 1 + x is divided out again, so that a small x keeps its digits."""
    above = graph.put("Add", [x, graph.one])
    kept, log = graph.put("Sub", [above, graph.one]), graph.put("Log", [above])
    small = graph.put("Mul", [log, graph.put("Div", [x, kept])])
    some = graph.select(graph.put("Greater", [x, graph.one]), log, small)
    return graph.select(graph.put("Equal", [kept, graph.zero]), x, some)


def _expm1(graph: _Graph, x: str) -> Any:
    """exp(x) - 1, in the same way."""
    exp = graph.put("Exp", [x])
    kept = graph.put("Sub", [exp, graph.one])
    small = graph.put("Mul", [kept, graph.put("Div", [x, graph.put("Log", [exp])])])
    large = graph.put("Greater", [graph.put("Abs", [x]), graph.name(0.5)])
    return graph.select(graph.put("Equal", [exp, graph.one]), x, graph.select(large, kept, small))


def _erfc(graph: _Graph, x: str) -> Any:
    """1 - erf(x): exact to the precision of 1.0, as in PyTorch's export of GELU."""
    return graph.put("Sub", [graph.one, graph.put("Erf", [x])])


WRITTEN_OUT: dict[str, Callable[[_Graph, str], Any]] = {"erfc": _erfc, "expm1": _expm1, "log1p": _log1p}
