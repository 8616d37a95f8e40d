"""Which functions are followed by typed tapes: plain ones, and what transforms make of them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from micrograd.compile.typed.call import Asked, Calls, Variant
from micrograd.jacobians import jacfwd, jacobian, jacrev
from micrograd.transforms import Derived, grad, value_and_grad

JACOBIANS = {jacobian: None, jacfwd: True, jacrev: False}  # whether by forward sweeps


def calls_of(f: Callable[..., Any]) -> Calls | None:
    """Return what follows the calls of a function, or of a transform of one; None for anything else."""
    if _is_plain(f):
        return Calls(f, Asked(True, (), False), Variant)
    if not isinstance(f, Derived):
        return None
    transform, inner, (argnums, has_aux) = f.made_of
    if has_aux:
        return None
    wanted = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    asked = Asked(transform is value_and_grad, wanted, not isinstance(argnums, (tuple, list)))
    if transform in (grad, value_and_grad):
        return Calls(inner, asked, Variant) if _is_plain(inner) else None
    if transform in JACOBIANS and (_is_plain(inner) or _is_gradient(inner)):
        from micrograd.compile.typed.jacobian import JacobianVariant  # few functions need it in their first call

        return Calls(inner, asked._replace(forward=JACOBIANS[transform]), JacobianVariant)
    return None


def calls_of_sparse(f: Callable[..., Any], argnum: int) -> Calls | None:
    """Return what follows the calls of the sparse Jacobian of a function; None where nothing does."""
    from micrograd.compile.typed.sparse_jacobian import SparseVariant

    return Calls(f, Asked(False, (argnum,), True), SparseVariant) if _is_plain(f) or _is_gradient(f) else None


def _is_plain(f: Any) -> bool:
    return isinstance(f, FunctionType) and not hasattr(f, "__wrapped__")


def _is_gradient(f: Any) -> bool:
    """Return whether f is the gradient of a function, as in a Hessian."""
    return isinstance(f, Derived) and f.made_of[0] is grad and not f.made_of[2][1] and _is_plain(f.made_of[1])
