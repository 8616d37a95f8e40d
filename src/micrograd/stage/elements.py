"""Elements of lists and arrays by an index that changes from one iteration to the next of a loop in the tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.stage import bounds, packed, tables, whole
from micrograd.stage.errors import Outside, Unsupported
from micrograd.stage.lanes import Lane
from micrograd.tree import is_array

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


def by_iteration(m: Machine, x: Any, index: Any) -> Any:
    """x[a * iteration + b], or of an array x[a * iteration + b, c]: an element of an array that the loop runs over.

    Where several loops are involved, or one that may end sooner, it is loaded by its index.
    """
    parts = index if type(index) is tuple else (index,)
    changing = [i for i in parts if type(i) is Lane]
    if whole.differs_by_row(index):
        return whole.item(m, x, index)
    loop = changing[0].loop
    if type(index) is Lane and type(x) in (list, tuple) and (index.terms or index.within is not None):
        if tables.common(x) is not None or tables.known_table(m, x, x) is not None or tables.is_table(x):
            return tables.row(m, x, index)
        if loop is None or loop.loads or loop.items is None or _needs_a_fact(m, index, len(x)):
            return packed.item(m, x, packed.pack(m, x), index)
    if is_array(x) and type(index) is Lane and x.ndim == 1 and (loop is None or _needs_a_fact(m, index, len(x))):
        return packed.item(m, x, tables.pack_table(m, x, [x.tolist()]), index)
    if is_array(x) and type(index) is tuple and len(index) == x.ndim == 2 and (loop is None or loop.loads):
        first, second = (i + n if type(i) is int and i < 0 else i for i, n in zip(index, x.shape))
        return packed.item(m, x, tables.part(m, tables.pack_table(m, x, x.tolist()), first, x.shape[1]), second)
    if loop is None or loop.items is None or loop.loads or any(i.loop is not loop for i in changing):
        raise Unsupported("an index that changes from one iteration to the next")
    if not (is_array(x) or (type(x) in (list, tuple) and type(index) is Lane)):
        raise Unsupported("an index that changes from one iteration to the next")
    found = []
    try:
        for iteration in range(loop.items.iterations):
            at = [i.at(iteration) if type(i) is Lane else i for i in parts]
            found.append(listed(x[tuple(at)] if type(index) is tuple else x[at[0]]))
        return m.tables.view(m, loop.element(found), x)
    except (Unsupported, IndexError) as why:  # perhaps the body adds what is not there yet
        if type(x) is not list or id(x) not in m.births:
            raise
        raise Outside(str(why), x) from None


def _needs_a_fact(m: Machine, index: Lane, length: int) -> bool:
    """Whether an index is inside of a list only in some iterations, and is used in those alone."""
    ends = index.ends()
    return (ends is None or not -length <= ends[0] <= ends[1] < length) and bounds.inside(m, index, length) is not None


def listed(x: Any) -> Any:
    """A number of an array as a float; a row of one as it is not: code that is not interpreted would see placeholders."""
    if is_array(x):
        raise Unsupported("a row of an array that changes from one iteration to the next")
    return float(x) if type(x).__module__ == "numpy" and isinstance(x, float) else x


__all__ = ["by_iteration"]
