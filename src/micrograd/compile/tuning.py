"""Every constant of the compiler that was chosen by measurement: one field each, with what was measured.

The machine was a 2-core x86-64 with AVX-512 unless a field says otherwise. Tests change a field of TUNING to reach code
that only large functions reach; nothing else assigns to it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def installed_memory() -> int:
    """The bytes of memory that this machine has; 12 GB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 12_000_000_000


@dataclass
class Tuning:
    """The measured constants, grouped by the module that reads them."""

    # ---- limits

    # LLVM was seen to take about 1,500 bytes of memory for each instruction of a tape.
    bytes_per_instruction: int = 1500
    # A longer tape is refused: compiling it would take more than half of this machine's memory, or more than 6 GB.
    max_instructions: int = field(default_factory=lambda: min(4_000_000, installed_memory() // 2 // 1500))
    # Variants (traced paths) that one compiled function keeps; the least recently used one is dropped. A short variant
    # takes about 20 ms to compile and 30 kB of memory.
    max_variants: int = 4096
    # Numbers inside the Values that a call of vmap without reduce may return. One takes 24 bytes, so this is 6 GB.
    max_partials: int = 250_000_000

    # Numbers among the arguments of a call at one point from which on it is compiled as a typed tape with arrays. Below, tapes
    # of numbers are as fast, and their calls cost less: 0.1 us for a list of 200 numbers, 8 us by a typed tape.
    many_numbers: float = 256
    # The same for functions with loops, which tapes of numbers write out or follow path by path.
    looping_numbers: float = 0
    # With exact=True, rows of so many paths are compiled path by path for SIMD lanes, before the others go to a typed tape,
    # which runs one after the other: compiling a path takes about 20 ms.
    exact_paths: int = 8

    # ---- how hard to optimize

    # Lines of LLVM text above which machine code is made quickly first and better in the background: 188,000 instructions
    # of a transformer took 2 s at level 0 and 13 s at level 1, which ran 5 % faster; level 2 took 40 s and ran no faster.
    long_text: int = 30_000

    # ---- splitting a long tape into chunks (steps of the schedule are counted)

    # LLVM's time for each instruction was flat up to functions of 2,000 steps, and twice as high at 20,000.
    chunk: int = 2000
    # Chunks of a long tape at one point: 250 steps compiled in two thirds of the time of 1,000 (13 and 20 s for 188,000
    # instructions), and ran as fast.
    point_chunk: int = 250
    # Chunks of a long tape over rows: 450 or 600 steps ran 5 % faster than 250, since each chunk loads masks and constants of
    # its own, and 800 another 5 %.
    rows_chunk: int = 800
    # A schedule longer than this is split into small chunks even if they cannot share functions.
    long_schedule: int = 20_000
    # Steps of a span, the unit that chunks are made of: spans of up to 128 or 256 steps made the code 3 % slower.
    shortest_span: int = 16
    longest_span: int = 64

    # ---- vectors of rows at a time

    # A `while` loop whose body and condition have at most so many instructions each runs over two vectors of rows at a time: an
    # iteration waits for the results of the one before, so that one vector leaves half of the processor idle. With two of them
    # instead of one, 1,000 iterations of Mandelbrot (8 instructions) take 170 ms instead of 260, bisection (7) 3.8 instead of
    # 6.0, implied volatility by Newton's method (30) 4.5 instead of 5.4, and its gradient 7.7 instead of 8.5. Where rows take
    # very different numbers of iterations, more lanes wait: a loop that ends with a probability of 0.1 takes 3.9 ms instead of
    # 3.4. Four vectors cost more for that reason.
    waiting_loop: int = 64
    waiting_adjoint: int = 256  # the same for a loop that is the adjoint of one: that of implied volatility has 139

    # ---- rematerialization (computing a value again instead of reading it from memory)

    # Values made fewer chunks ago than this are still in a near cache.
    far_chunks: int = 4
    # A value that more distant chunks read than this is kept.
    far_readers: int = 2
    # Steps that may be repeated for each value that then need not be kept.
    rematerialize_price: int = 4

    # ---- outlining (chunks of one form share a function)

    # Chunks per function: with fewer of them on average, each chunk gets a function of its own.
    outline_calls: int = 2

    # ---- guards

    # With more guards than this, each is checked where its operands are made: 2,000 guards in one place took LLVM 11 s,
    # and 0.7 s when they were spread out.
    guards_at_once: int = 100

    # ---- loops

    # A `for` loop without choices whose iterations have fewer instructions than this, all together, is written out. With
    # derivatives over rows, an Asian option of 600 instructions took 0.7 of the time as a loop (which carries its tangents), a
    # product of 90 steps 0.65, 40 steps of Newton's method 1.03, and a recurrence of 30 steps by eight numbers 1.2; three of
    # these four compiled faster. A GPU, which gets the same tapes so that results have the same bits, took 0.28 ns a path
    # for that option as a loop, in 48 registers, and 1.0 written out, in 254 with 296 bytes spilled (H200).
    rolled_work: int = 300
    # Statements of a function that are interpreted in search of a loop that is long enough: about 20 ms.
    searched_statements: int = 1000
    # Instructions of a loop that are interpreted for one result; a longer one is compiled at once. 10,000 take 3 ms.
    interpreted_loop: int = 10_000

    # The adjoint of a loop keeps its carried values of all iterations. Past so many numbers for one point (32 MB; an eighth for
    # rows, whose numbers are vectors), it keeps those of every √n-th iteration, and runs the iterations in between once more.
    kept_states: int = 4_000_000
    # Elements of a carried array that an iteration changes and that are kept in registers: more of them would not stay there.
    widest_window: int = 4
    # Iterations between two checks for Ctrl-C, a power of two: of the shortest body they take longer than the check.
    checked_iterations: int = 4096

    # ---- choices

    # Both arms of a choice are computed and one is picked where they cost less than this, in additions. A branch that is taken
    # at random costs some 20 cycles, and keeps the processor from looking ahead.
    branch_cost: int = 60
    # What a function of the C library and a division or root cost, in additions.
    call_cost: int = 20
    division_cost: int = 5

    # ---- memory traffic of rows

    # A schedule longer than this (at some 8 bytes of code a step, the level-2 cache does not hold it) runs each chunk for
    # several vectors of rows before the next chunk. A gradient of 138,000 instructions took 6.1 µs a row with one vector and
    # 5.4 with four; eight were no faster.
    cached_steps: int = 65_536
    vectors_per_chunk: int = 4
    # As many bytes of scratch memory as those vectors may take together.
    cached_scratch: int = 640 << 10
    # With at least this many columns, rows are prefetched this many vectors ahead: 64 columns of 100,000 rows took 56 ns a row
    # instead of 71 with two threads, and 99 instead of 105 with one; prefetching one vector at a time gave 64 and 104.
    prefetched_columns: int = 16
    prefetched_vectors: int = 8

    # ---- tiles of sums over rows

    # Fewer sums than this stay in registers anyway.
    tiled_sums: int = 32
    # Vectors of rows that are collected before their products are added, if they fit into cached_scratch: with 8, the kernel of
    # 337 gradients took 2 % longer, with 32 it took 1 % less.
    tiled_vectors: int = 16
    # Steps of a piece, which runs for all those vectors before the next one.
    tiled_steps: int = 64

    # ---- SLP packing (equal instructions of one point side by side in a vector)

    # Instructions: of a shorter tape, the call itself takes most of the time.
    pack_point: int = 100
    # The same for a batch that is done row after row: of a shorter tape, the code with rows in lanes stays in the near caches.
    # The values of 32 names (81,000 instructions) took 4.4 µs a name with rows in lanes, and 6.7 packed.
    pack_rows: int = 131_072
    # Packing is used where its cost is at most this share of the scalar code's; for rows, of the code with rows in lanes.
    pack_point_cost: float = 0.6
    pack_rows_cost: float = 0.25
    # Lines of a function of packed code: 2,000 ran as fast as 15,000 and compiled in half the time.
    pack_lines: int = 2000
    # What it costs to call a function that equal pieces of packed code share, in instructions, besides loading addresses. A
    # transformer's step took 21.2 µs with 8, 20.8 with 30, and 22.0 when no function was shared.
    rolled_call: int = 8
    # Strips after which a value is loaded from memory again rather than kept in a register.
    pack_recent: int = 24
    # Packs that are written together, by the bits of a vector: as many sums as fit the registers.
    pack_strip: dict[int, int] = field(default_factory=lambda: {512: 8, 256: 4, 128: 4})
    # Terms of one chain of additions: LLVM sees a chain as a whole, so a longer one is split.
    longest_chain: int = 512
    # Units that make a run, unless all their operands are equal or adjacent.
    shortest_run: int = 3
    # The cost of collecting one lane of an operand, in multiply-adds: squares are transposed, at less than one instruction a
    # lane. A transformer's step took 21.2 µs with 1 and 20.2 with 0.5.
    gather_cost: float = 0.5
    # One of so many operands may lie anywhere in memory; the others keep a constant distance.
    scattered_share: int = 8


TUNING = Tuning()
