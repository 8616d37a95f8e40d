"""to_jax: a scalar function as a function of JAX arrays: a call of machine code by XLA, with derivatives of its own.

Under JAX, a call is one op of XLA: a custom call that runs the machine code where the arrays lie, without Python. Many rows are
computed by a callback to Python, which uses SIMD lanes and all cores. So are functions whose paths are compiled one by one, and
functions that capture Values.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from math import prod
from typing import Any

from micrograd import install
from micrograd.interop.rowwise import Rowwise, in_arrays, in_order, refuse_values
from micrograd.transforms import Derived
from micrograd.tree import rebuild, unflatten
from micrograd.typed import P

HELD: dict[int, Any] = {}  # the code that programs of XLA call, which may live as long as the process
MANY = 4096  # rows from which on a callback, of 0.1 to 0.5 ms, is cheaper: then SIMD lanes and cores count


def to_jax(f: Callable[P, Any], *, elementwise: bool = True) -> Callable[..., Any]:
    """Return f as a function of JAX arrays: element by element, after broadcasting; or of whole arrays.

    It works under JAX's jit, vmap, grad, jvp and hessian. Arguments may be nested in lists, tuples, dicts and other trees.
    f gets a number for each array and returns a number, or a structure of numbers. With elementwise=False, f gets the arrays
    themselves, as arrays of numbers; jax.vmap maps it over batches. The kernel computes in float64. Results have the dtype
    that JAX's own functions would give them (float32, unless JAX's 64-bit mode is on).

    >>> import jax
    >>> from micrograd import math, to_jax
    >>> wave = to_jax(lambda x, y: math.sin(x) * y)
    >>> round(float(jax.grad(wave)(0.0, 2.0)), 6)
    2.0
    >>> logp = to_jax(lambda p: -0.5 * sum(x * x for x in p["x"]), elementwise=False)
    >>> jax.grad(logp)({"x": jax.numpy.array([1.0, 2.0])})["x"].tolist()
    [-1.0, -2.0]
    """
    jnp = install.require("jax.numpy", "to_jax", "jax")
    import jax

    calls: dict[Any, tuple[Rowwise, Any]] = {}

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(in_order("to_jax", f, args, kwargs))
        refuse_values("to_jax", f, leaves)
        given = [jnp.asarray(a) for a in leaves]
        if not given:
            raise TypeError("to_jax: the arguments hold no arrays, so the result has no shape")
        if any(jnp.iscomplexobj(a) for a in given):
            raise TypeError(
                "to_jax: a function of real numbers takes no complex arrays; pass .real and .imag separately"
            )
        dtype = jnp.result_type(*given, float)
        shapes = tuple([() if elementwise else a.shape for a in given])
        if (tree, shapes) not in calls:
            count = sum(map(prod, shapes))
            arrange = in_arrays(shapes, functools.partial(jax.tree_util.tree_unflatten, tree))
            known = Rowwise(f, count, None, arrange)
            known.result([1.0] * count)
            calls[tree, shapes] = known, _call(known, tuple(map(prod, shapes)))
        known, call = calls[tree, shapes]
        wide = [a.astype(dtype) for a in given]
        if elementwise:
            flat = [a[..., None] for a in jnp.broadcast_arrays(*wide)]
        else:
            flat = [a.reshape(-1) for a in wide]
        found = call(*flat)
        if elementwise:
            return unflatten(known.result([]), iter([found[..., k] for k in range(known.results)]))
        place = 0

        def array(dimensions: tuple[int, ...]) -> Any:
            nonlocal place
            place += prod(dimensions)
            return found[place - prod(dimensions) : place].reshape(dimensions)

        return rebuild(known.result([]), lambda: array(()), array)

    return Derived(on_arrays, to_jax if elementwise else _whole, f)


def _whole(f: Callable[..., Any]) -> Callable[..., Any]:
    """What a pickle of to_jax(f, elementwise=False) calls."""
    return to_jax(f, elementwise=False)


@functools.cache
def _target() -> str:
    """The name under which XLA knows the handler.

    It is another one in each process, since compiled programs contain addresses of this process and may be kept on disk.
    """
    import jax

    from micrograd import _engine

    name = f"micrograd_rows_{os.urandom(8).hex()}"
    handler = ctypes.cast(_engine.xla_rows_address, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name


def _call(known: Rowwise, widths: tuple[int, ...]) -> Callable[..., Any]:
    """The kernel as a function that JAX can trace; its partial derivatives are such a function again.

    The last axes of the arrays have the numbers of a row.
    """
    import jax
    import numpy as np

    jnp = jax.numpy
    starts = [sum(widths[:k]) for k in range(len(widths))]

    def host(rows: Any) -> Any:
        table = np.asarray(rows)
        columns = known(list(table.reshape(-1, table.shape[-1]).T))
        return np.stack(columns, axis=-1).astype(table.dtype).reshape(*table.shape[:-1], known.results)

    def run(rows: Any) -> Any:
        like = jax.ShapeDtypeStruct((*rows.shape[:-1], known.results), rows.dtype)
        direct = prod(rows.shape[:-1]) < MANY and jax.default_backend() == "cpu" and hasattr(jax, "ffi")
        code = known.pointer() if direct and rows.dtype in (np.float64, np.float32) else None
        if code is None:
            return jax.pure_callback(host, like, rows, vmap_method="broadcast_all")
        HELD[code.address] = code
        return jax.ffi.ffi_call(_target(), like, vmap_method="broadcast_all")(rows, address=np.int64(code.address))

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def call(*arrays: Any) -> Any:
        return run(jnp.concatenate(arrays, axis=-1))

    def rule(arrays: Any, tangents: Any) -> Any:
        """Each tangent is multiplied by its partial derivatives, which JAX can transpose for its reverse mode."""
        slopes = known.partials()
        if slopes.jax_call is None:
            slopes.jax_call = _call(slopes, widths)
        by = slopes.jax_call(*arrays)
        by = by.reshape(*by.shape[:-1], known.results, known.count)
        moved = jnp.zeros((*arrays[0].shape[:-1], known.results), arrays[0].dtype)
        for start, width, t in zip(starts, widths, tangents):
            if type(t) is not jax.custom_derivatives.SymbolicZero:
                moved = moved + (by[..., start : start + width] * t[..., None, :]).sum(axis=-1)
        return call(*arrays), moved

    call.defjvp(rule, symbolic_zeros=True)
    return call  # type: ignore[no-any-return]
