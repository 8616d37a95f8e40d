"""jacobian, jacfwd, jacrev and hessian: all derivatives of all results, dense and sparse.

>>> from micrograd import jacobian
>>> jacobian(lambda x, y: (x * y, x + y), argnums=(0, 1))(2.0, 3.0)
((3.0, 2.0), (1.0, 1.0))
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, ParamSpec

from micrograd.transforms import Argnums, Call, Derived, grad, real_only
from micrograd.tree import NUMBER, flatten, rebuild, size, unflatten

if TYPE_CHECKING:
    from micrograd.sparse import SparseJacobian

P = ParamSpec("P")


def jacobian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False, sparse: bool = False
) -> Callable[P, Any]:
    """The derivative of every result with respect to every number in the arguments argnums.

    The result has the structure of f's result, and each number in it is a gradient. If the result is an array, the
    gradient holds arrays whose dimensions are those of the result followed by those of the argument.
    With sparse, it is a `scipy.sparse.csr_array`, computed with one forward sweep for each colour of its columns.

    >>> from micrograd import jacobian
    >>> jacobian(lambda x: [x[0] * x[1], x[1] ** 2])([2.0, 3.0])
    [[3.0, 2.0], [0.0, 6.0]]
    """
    real_only(holomorphic)
    if sparse:
        return _sparse(f, argnums, has_aux)
    return _jacobian(f, argnums, has_aux, jacobian, None)


def jacfwd(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False
) -> Callable[P, Any]:
    """The jacobian by forward sweeps, one for each number in the arguments: for few inputs and many results.

    >>> from micrograd import jacfwd
    >>> jacfwd(lambda t: [t, t**2, t**3])(2.0)
    [1.0, 4.0, 12.0]
    """
    real_only(holomorphic)
    return _jacobian(f, argnums, has_aux, jacfwd, True)


def jacrev(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False
) -> Callable[P, Any]:
    """The jacobian by reverse sweeps, one for each result: for many inputs and few results.

    >>> from micrograd import jacrev
    >>> jacrev(lambda x: [x[0] * x[1] * x[2]])([2.0, 3.0, 4.0])
    [[12.0, 8.0, 6.0]]
    """
    real_only(holomorphic)
    return _jacobian(f, argnums, has_aux, jacrev, False)


def _sparse(f: Callable[..., Any], argnums: Any, has_aux: bool) -> SparseJacobian:
    if has_aux:
        raise TypeError(
            "sparse=True and has_aux=True do not go together: return the auxiliary output by a call of its own"
        )
    from micrograd.sparse import SparseJacobian  # which compiles, as nothing else does here

    return SparseJacobian(f, argnums)


def _jacobian(f: Callable[..., Any], argnums: Argnums, has_aux: bool, name: Any, forward: bool | None) -> Derived:
    def finish(call: Call) -> Any:
        count, width = size(call.result_shape), sum(len(span) for span in call.wrt)
        flat = call.value_and_slopes(width < count if forward is None else forward)[count:]
        rows = [call.gradient(flat, i * width) for i in range(count)]
        each = iter(rows)
        result = rebuild(
            call.result_shape, each.__next__, lambda d: _laid_on_each_other(list(islice(each, prod(d))), d)
        )
        return call.with_aux(result)

    return Derived(None, name, f, argnums, has_aux, finish=finish)


def _laid_on_each_other(rows: list[Any], dimensions: tuple[int, ...]) -> Any:
    """Stack gradients of one structure, one for each number of an array, into that structure with arrays for numbers."""
    leaves: list[Any] = []
    shapes = [flatten(row, leaves) for row in rows]
    shape = shapes[0] if rows else NUMBER
    columns = iter([leaves[k :: size(shape)] for k in range(size(shape))])

    def array(inner: tuple[int, ...]) -> Any:
        parts = zip(*[next(columns) for _ in range(prod(inner))])
        return unflatten(("array", (*dimensions, *inner)), iter([x for part in parts for x in part]))

    return rebuild(shape, lambda: array(()), array)


def hessian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False, sparse: bool = False
) -> Callable[P, Any]:
    """The second derivatives of f: the jacobian of its gradient.

    >>> from micrograd import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])([2.0, 3.0])
    [[6.0, 4.0], [4.0, 0.0]]
    """
    return jacobian(grad(f, argnums, has_aux, holomorphic=holomorphic), argnums, has_aux, sparse=sparse)


def sparse_jacobian(f: Callable[P, Any], argnums: int = 0) -> SparseJacobian:
    """The Jacobian of f with respect to one argument, a list or an array of numbers, as a `scipy.sparse.csr_array`.

    >>> from micrograd import sparse_jacobian
    >>> sparse_jacobian(lambda x: [v * v for v in x])([1.0, 2.0, 3.0]).toarray().tolist()
    [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    """
    return _sparse(f, argnums, False)


def sparse_hessian(f: Callable[P, Any], argnums: int = 0) -> SparseJacobian:
    """The Hessian of f with respect to one argument, a list or an array of numbers, as a `scipy.sparse.csr_array`.

    >>> from micrograd import sparse_hessian
    >>> sparse_hessian(lambda x: x[0] * x[1] + x[2] ** 3)([1.0, 2.0, 3.0]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 18.0]]
    """
    return _sparse(grad(f, argnums), argnums, False)
