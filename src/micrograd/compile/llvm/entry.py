"""The entry point of a kernel: it calls the functions of the chunks, for one point or for all rows."""

from __future__ import annotations

from micrograd.compile.llvm.emit import IRText

POINT = "ptr %in, ptr %params, ptr %out, ptr %scratch"
BATCH = "ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %scratch"


def arguments(t: IRText, whole: bool) -> str:
    """The parameters of a chunk's function; where there are several chunks, it takes a table of operands too."""
    found = POINT if t.point else BATCH.replace("i64 %n", "i64 %i, i64 %n")
    return found if whole else found + ", ptr %table"


def rows_of_one_chunk(t: IRText) -> str:
    """The entry point of rows in one chunk. The last rows, which do not fill a vector, run a copy of it with masks."""
    given, W = arguments(t, True), t.target.width
    return f"""define i32 @kernel({BATCH}) #0 {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %rows ]
  %seen = phi i32 [ 0, %entry ], [ %or, %rows ]
  %next = add i64 %i, {W}
  %more = icmp ule i64 %next, %n
  br i1 %more, label %rows, label %rest
rows:
  %failed = call i32 @chunk0({given})
  %or = or i32 %seen, %failed
  br label %test
rest:
  %some = icmp ult i64 %i, %n
  br i1 %some, label %few, label %done
few:
  %failed_last = call i32 @last0({given})
  %or_last = or i32 %seen, %failed_last
  br label %done
done:
  %result = phi i32 [ %seen, %rest ], [ %or_last, %few ]
  ret i32 %result
}}
"""


CALLED = """  %at = getelementptr {ptr, ptr}, ptr @chunks, i64 %number
  %code = load ptr, ptr %at, align 8
  %with = getelementptr {ptr, ptr}, ptr %at, i64 0, i32 1
  %table = load ptr, ptr %with, align 8"""


def point(t: IRText, chunks: int) -> str:
    """The entry point of one point in many chunks."""
    return f"""define i32 @kernel({POINT}) #0 {{
entry:
  br label %chunk
chunk:
  %number = phi i64 [ 0, %entry ], [ %following, %chunk ]
  %seen = phi i32 [ 0, %entry ], [ %or, %chunk ]
{CALLED}
  %failed = call i32 %code({arguments(t, False)})
  %or = or i32 %seen, %failed
  %following = add i64 %number, 1
  %more = icmp ult i64 %following, {chunks}
  br i1 %more, label %chunk, label %done
done:
  ret i32 %or
}}
"""


def rows(t: IRText, chunks: int, vectors: int, stride: int) -> str:
    """The entry point of rows in many chunks.

    Each chunk is run for several vectors of rows, each with its own scratch memory, before the next chunk: its code, which may
    have to be fetched from a distant cache, then serves all of them. All chunks have masks; vectors are taken in row order.
    """
    return f"""define i32 @kernel({BATCH}) #0 {{
entry:
  br label %blocks
blocks:
  %start = phi i64 [ 0, %entry ], [ %end, %past ]
  %seen0 = phi i32 [ 0, %entry ], [ %or, %past ]
  %some = icmp ult i64 %start, %n
  br i1 %some, label %block, label %done
block:
  %end = add i64 %start, {t.target.width * vectors}
  %whole = icmp ult i64 %end, %n
  %stop = select i1 %whole, i64 %end, i64 %n
  br label %chunk
chunk:
  %number = phi i64 [ 0, %block ], [ %following, %past ]
  %seen1 = phi i32 [ %seen0, %block ], [ %or, %past ]
{CALLED}
  br label %vector
vector:
  %i = phi i64 [ %start, %chunk ], [ %next, %vector ]
  %own = phi ptr [ %scratch, %chunk ], [ %other, %vector ]
  %seen2 = phi i32 [ %seen1, %chunk ], [ %or, %vector ]
  %failed = call i32 %code({arguments(t, False).replace("ptr %scratch", "ptr %own")})
  %or = or i32 %seen2, %failed
  %next = add i64 %i, {t.target.width}
  %other = getelementptr i8, ptr %own, i64 {stride}
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %vector, label %past
past:
  %following = add i64 %number, 1
  %again = icmp ult i64 %following, {chunks}
  br i1 %again, label %chunk, label %blocks
done:
  ret i32 %seen0
}}
"""
