"""Try each row of the table of features in docs/comparison.md with the peers that are installed.

    python tools/features.py                # those that this interpreter has
    .venv-peers/bin/python tools/features.py    # those that `make bench` has installed

A probe raises where the feature is missing. The first word of the cell in the table has to agree with the outcome: `yes` and
`partly` with a probe that runs, `no` with one that raises. Cells without a probe (GPUs, for one) are listed as not tried.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "comparison.md"
MODULES = {"here": "micrograd", "autograd": "autograd", "JAX": "jax", "PyTorch": "torch", "CasADi": "casadi"}
BOTH, ORDERS, BRANCH, SPARSE, EXPORT, COMPLEX, CUSTOM = (
    "reverse mode, forward mode", "any order, nested", "plain `if` on a traced number", "sparse Jacobians by colouring",
    "export to C", "complex numbers", "custom rules",
)  # fmt: skip


def close(x: Any, y: float) -> None:
    if not abs(float(x) - y) < 1e-5:
        raise ArithmeticError(f"{float(x)} is not {y}")


def has(module: Any, *names: str) -> None:
    """Raise where the module has none of these names."""
    if not any(hasattr(module, name) for name in names):
        raise NotImplementedError(", ".join(names))


def branch(x: Any) -> Any:
    return x * x if x > 0 else -x


def nested(grad: Callable[..., Any], f: Callable[..., Any], x: Any) -> None:
    for _ in range(4):
        f = grad(f)
    close(f(x), math.sin(1.0))


def here() -> dict[str, Callable[[], Any]]:
    import micrograd as mg

    def rule() -> None:
        @mg.custom_vjp
        def f(x: Any) -> Any:
            return x * x

        f.defvjp(lambda x: (x * x, x), lambda x, g: (7.0 * x * g,))
        close(mg.grad(f)(3.0), 21.0)

    return {
        BOTH: lambda: (close(mg.grad(mg.math.sin)(0.0), 1.0), close(mg.jvp(mg.math.sin, (0.0,), (1.0,))[1], 1.0)),
        ORDERS: lambda: nested(mg.grad, mg.math.sin, 1.0),
        BRANCH: lambda: (close(mg.jit(mg.grad(branch))(3.0), 6.0), close(mg.vmap(branch)([-3.0])[0], 3.0)),
        SPARSE: lambda: mg.jacobian(lambda x: [x[0], x[0] * x[1]], sparse=True)([1.0, 2.0]).tocsr(),
        EXPORT: lambda: mg.export_c(branch, 1.0).index("#include"),
        COMPLEX: lambda: mg.Value(1j),
        CUSTOM: rule,
    }


def autograd() -> dict[str, Callable[[], Any]]:
    import autograd as ag
    import autograd.numpy as np

    return {
        BOTH: lambda: (close(ag.grad(np.sin)(0.0), 1.0), close(ag.make_jvp(np.sin)(0.0)(1.0)[1], 1.0)),
        ORDERS: lambda: nested(ag.grad, np.sin, 1.0),
        BRANCH: lambda: close(ag.grad(branch)(3.0), 6.0),
        SPARSE: lambda: has(ag.jacobian(lambda x: x * x)(np.ones(3)), "nnz"),
        COMPLEX: lambda: ag.grad(lambda z: np.real(z * z))(1 + 2j),
        CUSTOM: lambda: has(import_module("autograd.extend"), "defvjp"),
    }


def jax() -> dict[str, Callable[[], Any]]:
    import jax as jx

    np = jx.numpy
    return {
        BOTH: lambda: (close(jx.grad(np.sin)(0.0), 1.0), close(jx.jvp(np.sin, (0.0,), (1.0,))[1], 1.0)),
        ORDERS: lambda: nested(jx.grad, np.sin, 1.0),
        BRANCH: lambda: close(jx.grad(branch)(3.0), 6.0),
        SPARSE: lambda: has(jx.jacobian(lambda x: x * x)(np.ones(3)), "nnz", "nse"),
        COMPLEX: lambda: jx.grad(lambda z: np.real(z * z))(1 + 2j),
        CUSTOM: lambda: has(jx, "custom_vjp"),
    }


def torch() -> dict[str, Callable[[], Any]]:
    import torch as th

    f, at = th.func, th.tensor
    return {
        BOTH: lambda: (close(f.grad(th.sin)(at(0.0)), 1.0), close(f.jvp(th.sin, (at(0.0),), (at(1.0),))[1], 1.0)),
        ORDERS: lambda: nested(f.grad, th.sin, at(1.0)),
        BRANCH: lambda: close(f.grad(branch)(at(3.0)), 6.0),
        SPARSE: lambda: f.jacrev(lambda x: x * x)(th.ones(3)).indices(),
        EXPORT: lambda: has(import_module("torch._inductor"), "aoti_compile_and_package"),
        COMPLEX: lambda: (at(1 + 2j, requires_grad=True) ** 2).real.backward(),
        CUSTOM: lambda: has(th.autograd, "Function"),
    }


def casadi() -> dict[str, Callable[[], Any]]:
    import casadi as ca

    x = ca.SX.sym("x")

    def orders() -> None:
        y = ca.sin(x)
        for _ in range(4):
            y = ca.gradient(y, x)
        close(ca.Function("f", [x], [y])(1.0), math.sin(1.0))

    def sparse() -> None:
        z = ca.SX.sym("z", 100)
        if ca.jacobian(z[1:] - z[:-1] ** 2, z).nnz() != 198:
            raise NotImplementedError("the Jacobian is dense")

    def export() -> None:
        with tempfile.TemporaryDirectory() as folder:
            code = ca.CodeGenerator("f")
            code.add(ca.Function("f", [x], [ca.gradient(ca.sin(x), x)]))
            Path(code.generate(folder + "/")).read_text().index("#include")

    return {
        BOTH: lambda: (ca.jtimes(ca.sin(x), x, 1), ca.jtimes(ca.sin(x), x, 1, True)),
        ORDERS: orders,
        BRANCH: lambda: branch(x),
        SPARSE: sparse,
        EXPORT: export,
        COMPLEX: lambda: ca.SX(1j),
        CUSTOM: lambda: has(ca, "Callback"),
    }


PROBES = {"here": here, "autograd": autograd, "JAX": jax, "PyTorch": torch, "CasADi": casadi}


def cells() -> dict[tuple[str, str], str]:
    """The table of the page: (row, library) -> text."""
    lines = [line for line in PAGE.read_text().split("## Features")[1].splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {(row[0], name): cell for row in table[2:] for name, cell in zip(table[0][1:], row[1:])}


def works(probe: Callable[[], Any]) -> bool:
    try:
        probe()
    except Exception:
        return False
    return True


def main() -> int:
    said, wrong = cells(), 0
    for name, module in MODULES.items():
        try:
            import_module(module)
        except ImportError:
            print(f"{name}: not installed")
            continue
        probes = PROBES[name]()
        for (row, library), cell in said.items():
            if library != name or row not in probes:
                continue
            agrees = works(probes[row]) != cell.startswith("no")
            wrong += not agrees
            print(f"{name:9} {row:32} {cell[:30]:30} {'agrees' if agrees else 'DISAGREES'}")
        print(f"{name:9} not tried: {', '.join(row for row, library in said if library == name and row not in probes)}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
