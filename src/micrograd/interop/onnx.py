"""export_onnx: a function of numbers as an ONNX graph in float32, one node for each op, batched over the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import install
from micrograd.errors import CompileError
from micrograd.interop.traced import Traced
from micrograd.tape import passes
from micrograd.tape.tape import CONST, INPUT, PARAM
from micrograd.tree import written

OPS = {  # op -> the operator of ONNX, with float32 kernels in onnxruntime
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs", "min": "Min",
    "max": "Max", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus", "floor": "Floor",
    "ceil": "Ceil", "round": "Round", "sign": "Sign",
}  # fmt: skip
COMPARISONS = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal"}


def export_onnx(f: Callable[..., Any], *args: Any, name: str = "f") -> Any:
    """Return f as an ONNX model in float32: input `x` of shape [rows, numbers], output `y` of shape [rows, results].

    The arguments say how many numbers there are. Captured Values, such as a model's parameters, are written as they are now.

    >>> import pytest; onnx = pytest.importorskip("onnx")
    >>> from micrograd import export_onnx
    >>> model = export_onnx(lambda a, b: a * b + 1.0, 2.0, 3.0)
    >>> [node.op_type for node in model.graph.node if node.op_type in ("Mul", "Add")]
    ['Mul', 'Add']
    """
    onnx = install.require("onnx", "export_onnx", "onnx", "onnx")
    TensorProto, helper = onnx.TensorProto, onnx.helper
    traced = Traced(f, args)
    tape = passes.prune(passes.expand(traced.tape, lambda op: op.name in OPS or bool(op.c), False, powers=False))
    if tape.guards or tape.has_regions():
        raise CompileError(f"export_onnx writes functions without branches and loops, and {traced.name} has some\n"
                           "  Write a branch as micrograd.math.where(condition, a, b), or use export_c.")  # fmt: skip
    nodes: list[Any] = []
    constants: list[Any] = []

    def put(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def number(x: float, called: str) -> str:
        constants.append(helper.make_tensor(called, TensorProto.FLOAT, [], [x]))
        return called

    zero, one = number(0.0, "zero"), number(1.0, "one")
    places: list[str] = []
    for i, (op, operands) in enumerate(zip(tape.ops, tape.args)):
        out = f"v{i}"
        if op is INPUT:
            constants.append(helper.make_tensor(f"k{i}", TensorProto.INT64, [], [operands[0]]))
            places.append(put("Gather", ["x", f"k{i}"], out, axis=1))
            continue
        if op is CONST or op is PARAM:
            places.append(number(operands[0] if op is CONST else traced.params[operands[0]], out))
            continue
        given = [places[a] for a in operands]
        if op.name in OPS:
            places.append(put(OPS[op.name], given, out))
        elif op.name in COMPARISONS:
            places.append(put("Where", [put(COMPARISONS[op.name], given, f"{out}b"), one, zero], out))
        elif op.name in ("where", "pick"):
            test = put("Not", [put("Equal", [given[0], zero], f"{out}e")], f"{out}n")
            places.append(put("Where", [test, *given[1:]], out))
        else:
            raise CompileError(f"export_onnx has no operator of ONNX for {op.name!r}, which {traced.name} uses\n"
                               f"  It knows {', '.join(sorted([*OPS, *COMPARISONS, 'where']))}.")  # fmt: skip
    shape = put("Shape", ["x"], "shape", start=0, end=1)
    columns = []
    constants.append(helper.make_tensor("last", TensorProto.INT64, [1], [1]))
    for i, place in enumerate(tape.outputs):
        wide = put("Expand", [places[place], shape], f"wide{i}")  # a constant has no rows of its own
        columns.append(put("Unsqueeze", [wide, "last"], f"column{i}"))
    put("Concat", columns, "y", axis=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", max(traced.tape.inputs, 1)])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", len(tape.outputs)])
    graph = helper.make_graph(nodes, name, [x], [y], constants, doc_string=f"arguments: {written(traced.arguments)}")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
