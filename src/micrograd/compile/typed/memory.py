"""The memory of a running kernel, as LLVM text: blocks in sizes of powers of two, kept for the next call.

A context has, for each power of two, a list of free blocks, then the list of all blocks, then how many bytes they have. Each
block has a header in front of it: the next free block, the next of all blocks, and its power of two.

Code that C calls borrows a context that is idle, and hands it back. So a call finds the memory of the one before, which the
system has already mapped: mapping it anew takes longer than most kernels do. Several threads may borrow at once.
"""

HEADER = 32  # bytes in front of a block
ALL, BYTES, WORDS = 64, 65, 66  # the words of a context after its 64 lists
IDLE = 8  # contexts that are kept for the next calls
KEPT = 256 << 20  # bytes: a context that has more after a call gives all back to the system

TEXT = f"""
@mg_idle = internal global [{IDLE} x ptr] zeroinitializer, align 8

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal noalias ptr @mg_take(ptr %context, i64 %bytes) noinline nounwind {{
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 64)
  %less = sub i64 %some, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %power = sub i64 64, %zeros
  %list = getelementptr i64, ptr %context, i64 %power
  %free = load ptr, ptr %list
  %none = icmp eq ptr %free, null
  br i1 %none, label %new, label %old
old:
  %link = getelementptr i8, ptr %free, i64 -{HEADER}
  %rest = load ptr, ptr %link
  store ptr %rest, ptr %list
  ret ptr %free
new:
  %large = icmp ugt i64 %power, 46
  br i1 %large, label %fail, label %ask
ask:
  %size = shl i64 1, %power
  %whole = add i64 %size, {HEADER}
  %got = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %got, null
  br i1 %failed, label %fail, label %made
made:
  %next = getelementptr i64, ptr %got, i64 1
  %all = getelementptr i64, ptr %context, i64 {ALL}
  %before = load ptr, ptr %all
  store ptr %before, ptr %next
  store ptr %got, ptr %all
  %at = getelementptr i64, ptr %got, i64 2
  store i64 %power, ptr %at
  %count = getelementptr i64, ptr %context, i64 {BYTES}
  %had = load i64, ptr %count
  %has = add i64 %had, %whole
  store i64 %has, ptr %count
  %block = getelementptr i8, ptr %got, i64 {HEADER}
  ret ptr %block
fail:
  ret ptr null
}}

define internal void @mg_give(ptr %context, ptr %block) noinline nounwind {{
  %at = getelementptr i8, ptr %block, i64 -16
  %power = load i64, ptr %at
  %list = getelementptr i64, ptr %context, i64 %power
  %link = getelementptr i8, ptr %block, i64 -{HEADER}
  %first = load ptr, ptr %list
  store ptr %first, ptr %link
  store ptr %block, ptr %list
  ret void
}}

define internal ptr @mg_more(ptr %context, ptr %block, i64 %used, i64 %bytes) noinline nounwind cold {{
  %new = call ptr @mg_take(ptr %context, i64 %bytes)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %move
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %block, i64 %used, i1 false)
  call void @mg_give(ptr %context, ptr %block)
  br label %fail
fail:
  ret ptr %new
}}

define void @after(ptr %context) nounwind {{
  %all = getelementptr i64, ptr %context, i64 {ALL}
  %count = getelementptr i64, ptr %context, i64 {BYTES}
  %has = load i64, ptr %count
  %much = icmp ugt i64 %has, {KEPT}
  br label %clear
clear:
  %k = phi i64 [ 0, %0 ], [ %k1, %clear ]
  %list = getelementptr i64, ptr %context, i64 %k
  store ptr null, ptr %list
  %k1 = add i64 %k, 1
  %cleared = icmp eq i64 %k1, 64
  br i1 %cleared, label %begin, label %clear
begin:
  %first = load ptr, ptr %all
  br label %head
head:
  %block = phi ptr [ %first, %begin ], [ %next, %freed ], [ %next, %kept ]
  %done = icmp eq ptr %block, null
  br i1 %done, label %end, label %one
one:
  %link = getelementptr i64, ptr %block, i64 1
  %next = load ptr, ptr %link
  br i1 %much, label %freed, label %kept
freed:
  call void @free(ptr %block)
  br label %head
kept:
  %own = getelementptr i8, ptr %block, i64 {HEADER}
  call void @mg_give(ptr %context, ptr %own)
  br label %head
end:
  br i1 %much, label %empty, label %out
empty:
  store ptr null, ptr %all
  store i64 0, ptr %count
  br label %out
out:
  ret void
}}

define void @end(ptr %context) nounwind {{
  %count = getelementptr i64, ptr %context, i64 {BYTES}
  store i64 -1, ptr %count
  call void @after(ptr %context)
  ret void
}}

define ptr @borrow() nounwind {{
  br label %look
look:
  %k = phi i64 [ 0, %0 ], [ %k1, %none ]
  %at = getelementptr ptr, ptr @mg_idle, i64 %k
  %found = atomicrmw xchg ptr %at, ptr null seq_cst
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %none, label %idle
idle:
  ret ptr %found
none:
  %k1 = add i64 %k, 1
  %last = icmp eq i64 %k1, {IDLE}
  br i1 %last, label %new, label %look
new:
  %made = call ptr @calloc(i64 {WORDS}, i64 8)
  ret ptr %made
}}

define void @give_back(ptr %context) nounwind {{
  call void @after(ptr %context)
  br label %look
look:
  %k = phi i64 [ 0, %0 ], [ %k1, %taken ]
  %at = getelementptr ptr, ptr @mg_idle, i64 %k
  %pair = cmpxchg ptr %at, ptr null, ptr %context seq_cst seq_cst
  %done = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %done, label %out, label %taken
taken:
  %k1 = add i64 %k, 1
  %last = icmp eq i64 %k1, {IDLE}
  br i1 %last, label %full, label %look
full:
  call void @end(ptr %context)
  call void @free(ptr %context)
  ret void
out:
  ret void
}}

define void @end_all() nounwind {{
  br label %look
look:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %at = getelementptr ptr, ptr @mg_idle, i64 %k
  %found = atomicrmw xchg ptr %at, ptr null seq_cst
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %next, label %idle
idle:
  call void @end(ptr %found)
  call void @free(ptr %found)
  br label %next
next:
  %k1 = add i64 %k, 1
  %last = icmp eq i64 %k1, {IDLE}
  br i1 %last, label %out, label %look
out:
  ret void
}}
"""
