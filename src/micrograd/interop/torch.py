"""to_torch: a scalar function as a function of PyTorch tensors, with gradients of any order through the compiled kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from micrograd import install
from micrograd.interop.rowwise import Rowwise, in_order
from micrograd.transforms import Derived
from micrograd.tree import unflatten


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f as a function of tensors: element by element, after broadcasting, as machine code.

    f takes numbers and returns a number, or a structure of numbers; the result is a tensor of the broadcast shape, or that
    structure of tensors. It is differentiable any number of times, in reverse and in forward mode, and works under
    torch.func's transforms. The arithmetic is in float64 on the CPU; the result has the dtype and the device of the arguments.

    >>> import torch
    >>> from micrograd import math, to_torch
    >>> wave = to_torch(lambda x, y: math.sin(x) * y)
    >>> x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    >>> wave(x, torch.tensor(2.0)).sum().backward()
    >>> [round(slope, 6) for slope in x.grad.tolist()]
    [2.0, 1.080605]
    """
    torch = install.require("torch", "to_torch", "torch")
    rowwise: dict[int, Rowwise] = {}

    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        tensors = in_order("to_torch", f, args, kwargs)
        given = [t if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=torch.float64) for t in tensors]
        if any(t.is_complex() for t in given):
            raise TypeError(
                "to_torch: a function of real numbers takes no complex tensors; pass .real and .imag separately"
            )
        floats = [t for t, told in zip(given, tensors) if isinstance(told, torch.Tensor) and t.is_floating_point()]
        device = (floats or given)[0].device
        kinds = [t.dtype for t in floats if t.dim()] or [t.dtype for t in floats]  # tensors without axes decide nothing
        dtype = functools.reduce(torch.promote_types, kinds) if kinds else torch.float64
        wide = torch.broadcast_tensors(*[t.to("cpu", torch.float64) for t in given])
        known = rowwise.setdefault(len(given), Rowwise(f, len(given)))
        results = _apply(known, wide)
        return unflatten(known.result([]), iter([r.to(device, dtype) for r in results]))

    return Derived(on_tensors, to_torch, f)


def _apply(known: Rowwise, tensors: Any) -> tuple[Any, ...]:
    """One node of torch's graph; its derivatives are such nodes again."""
    import torch

    class Node(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*inputs: Any) -> tuple[Any, ...]:
            shape = inputs[0].shape
            found = known([t.detach().reshape(-1).numpy() for t in inputs])
            return tuple([torch.from_numpy(c.copy()).reshape(shape) for c in found])

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

    results: Any = Node.apply(*tensors)
    return tuple(results)
