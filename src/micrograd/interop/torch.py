"""to_torch: a scalar function as a function of PyTorch tensors, with gradients of any order through the compiled kernel."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from math import prod
from typing import Any

from micrograd import install
from micrograd.interop.rowwise import Rowwise, in_arrays, in_order, refuse_values
from micrograd.transforms import Derived
from micrograd.tree import rebuild, unflatten
from micrograd.typed import P


def to_torch(f: Callable[P, Any], *, elementwise: bool = True) -> Callable[..., Any]:
    """Return f as a function of tensors: element by element, after broadcasting, as machine code; or of whole tensors.

    Arguments may be nested in lists, tuples and dicts. f takes a number for each tensor and returns a number, or a structure of
    numbers; the result is a tensor of the broadcast shape, or that structure of tensors. With elementwise=False, f gets the
    tensors themselves, as arrays of numbers; torch.func.vmap maps it over batches. The function is differentiable any number of
    times, in reverse and in forward mode, and works under torch.func's transforms. The arithmetic is in float64 on the CPU; the
    result has the dtype and the device of the arguments.

    >>> import torch
    >>> from micrograd import math, to_torch
    >>> wave = to_torch(lambda x, y: math.sin(x) * y)
    >>> x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    >>> wave(x, torch.tensor(2.0)).sum().backward()
    >>> [round(slope, 6) for slope in x.grad.tolist()]
    [2.0, 1.080605]
    """
    torch = install.require("torch", "to_torch", "torch")
    rowwise: dict[Any, Rowwise] = {}

    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        from torch.utils import _pytree

        tensors, tree = _pytree.tree_flatten(in_order("to_torch", f, args, kwargs))
        refuse_values("to_torch", f, tensors)
        if not tensors:
            raise TypeError("to_torch: the arguments hold no tensors, so the result has no shape")
        given = [t if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=torch.float64) for t in tensors]
        if any(t.is_complex() for t in given):
            raise TypeError(
                "to_torch: a function of real numbers takes no complex tensors; pass .real and .imag separately"
            )
        floats = [t for t, told in zip(given, tensors) if isinstance(told, torch.Tensor) and t.is_floating_point()]
        device = (floats or given)[0].device
        kinds = [t.dtype for t in floats if t.dim()] or [t.dtype for t in floats]  # tensors without axes decide nothing
        whole = torch.get_default_dtype() if any(isinstance(t, torch.Tensor) for t in tensors) else torch.float64
        dtype = functools.reduce(torch.promote_types, kinds) if kinds else whole
        doubles = [t.to("cpu", torch.float64) for t in given]
        if elementwise:
            wide, shapes = list(torch.broadcast_tensors(*doubles)), ((),) * len(given)
        else:
            wide, shapes = [x for t in doubles for x in t.reshape(-1).unbind()], tuple([tuple(t.shape) for t in given])
        known = rowwise.get((repr(tree), shapes))
        if known is None:
            arrange = in_arrays(shapes, functools.partial(_pytree.tree_unflatten, treespec=tree))
            known = rowwise[repr(tree), shapes] = Rowwise(f, len(wide), None, arrange)
        results = iter([r.to(device, dtype) for r in _apply(known, wide)])
        if elementwise:
            return unflatten(known.result([]), results)

        def array(dimensions: tuple[int, ...]) -> Any:
            return torch.stack([next(results) for _ in range(prod(dimensions))]).reshape(dimensions)

        return rebuild(known.result([]), results.__next__, array)

    return Derived(on_tensors, to_torch if elementwise else _whole, f)


def _whole(f: Callable[..., Any]) -> Callable[..., Any]:
    """What a pickle of to_torch(f, elementwise=False) calls."""
    return to_torch(f, elementwise=False)


RECORDED: list[Rowwise] = []  # what graphs of torch.fx call, by number


@functools.cache
def _recorded_call() -> Any:
    """The op that graphs recorded by make_fx, linearize or jit.trace call; what NumPy computes is a constant there."""
    import torch

    @torch.library.custom_op("micrograd::rows", mutates_args=(), schema="(Tensor[] columns, int number) -> Tensor[]")  # type: ignore[untyped-decorator]
    def rows(columns: Any, number: int) -> Any:
        return _run(RECORDED[number], columns)

    @rows.register_fake  # type: ignore[untyped-decorator]
    def of_shapes(columns: Any, number: int) -> Any:
        return [torch.empty_like(columns[0]) for _ in range(RECORDED[number].results)]

    return rows


def _run(known: Rowwise, columns: Any) -> list[Any]:
    """The results of the kernel, as tensors."""
    import torch

    shape = columns[0].shape
    return [torch.from_numpy(c.copy()).reshape(shape) for c in known([t.detach().reshape(-1).numpy() for t in columns])]


def _apply(known: Rowwise, tensors: Any) -> tuple[Any, ...]:
    """One node of torch's graph; its derivatives are such nodes again."""
    import torch

    class TorchFunction(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*inputs: Any) -> tuple[Any, ...]:
            proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
            if not torch.jit.is_tracing() and (proxies is None or proxies.get_proxy_mode() is None):
                return tuple(_run(known, inputs))
            known.result([1.0] * known.count)
            if known not in RECORDED:
                RECORDED.append(known)
            return tuple(_recorded_call()(list(inputs), RECORDED.index(known)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            inputs = ctx.saved_tensors  # once: checkpoints allow no more
            return _apply(known.pulled(), (*inputs, *[c.expand(inputs[0].shape) for c in cotangents]))

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            inputs = ctx.saved_tensors
            given = [torch.zeros_like(x) if t is None else t.expand(x.shape) for x, t in zip(inputs, tangents)]
            return _apply(known.pushed(), (*inputs, *given))

        @staticmethod
        def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
            """torch's own vmap: an element is a row of the kernel, so that a further dimension is more rows."""
            first = [x.unsqueeze(0) if at is None else x.movedim(at, 0) for x, at in zip(inputs, in_dims)]
            results = _apply(known, torch.broadcast_tensors(*first))
            return results, (0,) * len(results)

    results: Any = TorchFunction.apply(*tensors)
    return tuple(results)
