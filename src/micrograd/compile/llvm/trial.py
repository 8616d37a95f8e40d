"""Whether a vector function has the bits of the C library's function on this machine: it is tried before it is used."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from micrograd.compile.llvm import build


def agrees(
    name: str, width: int, functions: Sequence[str], of_the_library: Callable[..., float], *numbers: Sequence[float]
) -> bool:
    """Whether `name`, one of these functions over vectors of this width, gives what the library gives for all numbers.

    There is one sequence of numbers for each argument of the function.
    """
    T = f"<{width} x double>"
    places = range(len(numbers))
    loads = "\n".join(
        f"  %from{k} = getelementptr double, ptr %x{k}, i64 %i\n  %a{k} = load {T}, ptr %from{k}, align 8"
        for k in places
    )
    driver = f"""define void @kernel({", ".join(f"ptr %x{k}" for k in places)}, ptr %y, i64 %n) {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %head ]
{loads}
  %b = call {T} @{name}({", ".join(f"{T} %a{k}" for k in places)})
  %to = getelementptr double, ptr %y, i64 %i
  store {T} %b, ptr %to, align 8
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}}
"""
    target = build.Target(width, False, True, False, width * 64)
    code = build.compile_text("\n".join([driver, *functions]), 0, target)
    count = len(numbers[0]) // width * width
    given = [(ctypes.c_double * count)(*column[:count]) for column in numbers]
    found = (ctypes.c_double * count)()
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(numbers) + 1), ctypes.c_int64)
    kind(int(code.address))(*given, found, count)
    return all(y == of_the_library(*row) for y, *row in zip(found, *numbers))
