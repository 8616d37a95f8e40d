"""The function of a kernel that is called from outside: it calls the pieces, for a point or for all rows."""

from __future__ import annotations

from micrograd.compile.llvm.emit import Text

POINT = "ptr %in, ptr %params, ptr %out, ptr %scratch"
BATCH = "ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %scratch"


def arguments(t: Text, whole: bool) -> str:
    """What a piece is called with; one of several has a table too."""
    found = POINT if t.point else BATCH.replace("i64 %n", "i64 %i, i64 %n")
    return found if whole else found + ", ptr %table"


def of_rows_in_one(t: Text) -> str:
    """The driver of a batch in one piece. The last rows, which do not fill a vector, have a copy of it with masks."""
    given, W = arguments(t, True), t.o.width
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
  %failed = call i32 @piece0({given})
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


CALLED = """  %at = getelementptr {ptr, ptr}, ptr @pieces, i64 %number
  %code = load ptr, ptr %at, align 8
  %with = getelementptr {ptr, ptr}, ptr %at, i64 0, i32 1
  %table = load ptr, ptr %with, align 8"""


def of_point(t: Text, pieces: int) -> str:
    """The driver of a point in many pieces."""
    return f"""define i32 @kernel({POINT}) #0 {{
entry:
  br label %piece
piece:
  %number = phi i64 [ 0, %entry ], [ %following, %piece ]
  %seen = phi i32 [ 0, %entry ], [ %or, %piece ]
{CALLED}
  %failed = call i32 %code({arguments(t, False)})
  %or = or i32 %seen, %failed
  %following = add i64 %number, 1
  %more = icmp ult i64 %following, {pieces}
  br i1 %more, label %piece, label %done
done:
  ret i32 %or
}}
"""


def of_rows(t: Text, pieces: int, vectors: int, stride: int) -> str:
    """The driver of a batch in many pieces.

    Each piece is run for several vectors of rows, each with a scratch of its own, before the next piece: its code, which may
    come from far away, then serves all of them. All pieces have masks; the vectors are taken in the order of the rows.
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
  %end = add i64 %start, {t.o.width * vectors}
  %whole = icmp ult i64 %end, %n
  %stop = select i1 %whole, i64 %end, i64 %n
  br label %piece
piece:
  %number = phi i64 [ 0, %block ], [ %following, %past ]
  %seen1 = phi i32 [ %seen0, %block ], [ %or, %past ]
{CALLED}
  br label %vector
vector:
  %i = phi i64 [ %start, %piece ], [ %next, %vector ]
  %own = phi ptr [ %scratch, %piece ], [ %other, %vector ]
  %seen2 = phi i32 [ %seen1, %piece ], [ %or, %vector ]
  %failed = call i32 %code({arguments(t, False).replace("ptr %scratch", "ptr %own")})
  %or = or i32 %seen2, %failed
  %next = add i64 %i, {t.o.width}
  %other = getelementptr i8, ptr %own, i64 {stride}
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %vector, label %past
past:
  %following = add i64 %number, 1
  %again = icmp ult i64 %following, {pieces}
  br i1 %again, label %piece, label %blocks
done:
  ret i32 %seen0
}}
"""
