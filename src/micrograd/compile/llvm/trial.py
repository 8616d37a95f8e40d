"""Whether a vector function has the bits of the C library's function on this machine: it is tried before it is used."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from micrograd.compile.llvm import build


def agrees(
    name: str, width: int, functions: Sequence[str], of_the_library: Callable[[float], float], numbers: Sequence[float]
) -> bool:
    """Whether `name`, one of these functions over vectors of this width, gives what the library gives for all numbers."""
    T = f"<{width} x double>"
    driver = f"""define void @kernel(ptr %x, ptr %y, i64 %n) {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %head ]
  %from = getelementptr double, ptr %x, i64 %i
  %a = load {T}, ptr %from, align 8
  %b = call {T} @{name}({T} %a)
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
    count = len(numbers) // width * width
    given, found = (ctypes.c_double * count)(*numbers[:count]), (ctypes.c_double * count)()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    kind(int(code.address))(given, found, count)
    return all(y == of_the_library(x) for x, y in zip(numbers, found))
