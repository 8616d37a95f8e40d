"""to_jax: a scalar function as a function of JAX arrays: a callback to the compiled kernel, with derivatives of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import install
from micrograd.interop.rowwise import Rowwise, in_order
from micrograd.transforms import Derived
from micrograd.tree import unflatten
from micrograd.typed import P


def to_jax(f: Callable[P, Any]) -> Callable[..., Any]:
    """Return f as a function of JAX arrays: element by element, after broadcasting.

    It works under JAX's jit, vmap, grad, jvp and hessian. f takes numbers and returns a number, or a structure of numbers. The
    kernel computes in float64; results have the dtype that JAX's own functions would give them (float32, unless JAX's 64-bit
    mode is on).

    >>> import jax
    >>> from micrograd import math, to_jax
    >>> wave = to_jax(lambda x, y: math.sin(x) * y)
    >>> round(float(jax.grad(wave)(0.0, 2.0)), 6)
    2.0
    """
    jnp = install.require("jax.numpy", "to_jax", "jax")
    calls: dict[int, tuple[Rowwise, Any]] = {}

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        arrays = in_order("to_jax", f, args, kwargs)
        given = [jnp.asarray(a) for a in arrays]
        if any(jnp.iscomplexobj(a) for a in given):
            raise TypeError(
                "to_jax: a function of real numbers takes no complex arrays; pass .real and .imag separately"
            )
        dtype = jnp.result_type(*given, float)
        wide = jnp.broadcast_arrays(*[a.astype(dtype) for a in given])
        if len(given) not in calls:
            known = Rowwise(f, len(given))
            known.result([1.0] * len(given))
            calls[len(given)] = known, _call(known)
        known, call = calls[len(given)]
        return unflatten(known.result([]), iter(call(*wide)))

    return Derived(on_arrays, to_jax, f)


def _call(known: Rowwise) -> Callable[..., Any]:
    """The kernel as a function that JAX can trace; its partial derivatives are such a function again."""
    import jax
    import numpy as np

    jnp = jax.numpy

    def host(*arrays: Any) -> tuple[Any, ...]:
        given = np.broadcast_arrays(*[np.asarray(a) for a in arrays])
        shape, dtype = given[0].shape, given[0].dtype
        return tuple([c.astype(dtype).reshape(shape) for c in known([a.reshape(-1) for a in given])])

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def call(*arrays: Any) -> Any:
        like = jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
        return jax.pure_callback(host, (like,) * known.results, *arrays, vmap_method="broadcast_all")

    def rule(arrays: Any, tangents: Any) -> Any:
        """Each tangent is multiplied by its partial derivative, which JAX can transpose for its reverse mode."""
        slopes = known.partials()
        if slopes.jax_call is None:
            slopes.jax_call = _call(slopes)
        by = slopes.jax_call(*arrays)
        moving = [i for i, t in enumerate(tangents) if type(t) is not jax.custom_derivatives.SymbolicZero]
        moved = [jnp.zeros_like(arrays[0]) for _ in range(known.results)]
        for j in range(known.results):
            for i in moving:
                moved[j] = moved[j] + by[j * known.count + i] * tangents[i]
        return call(*arrays), tuple(moved)

    call.defjvp(rule, symbolic_zeros=True)
    return call  # type: ignore[no-any-return]
