"""The typed tape: numbers, whole numbers, bools and arrays of them, with branches and loops as regions.

forms      the grammar, the kinds, and the table of operations
affine     sums of whole numbers with constant factors: what is known of indices
builder    make a tape: constants are folded, equal instructions merged, comparisons of whole numbers decided
check      whether a tape makes sense
text       a tape as text, and back
interpret  the definition: run a tape on Python's numbers and lists
dataflow   walks over regions that the passes share
loops      loops that choose a number, and loops that add up
primal     the run forward that an adjoint begins with
records    what the sweep back needs of the run forward: read, computed again, or kept in a record
reverse    the adjoint: gradients by one sweep back
forward    tangents: directional derivatives, several in one loop
hoist      compute and load before a loop what does not change in it
reserve    room for arrays before the loops that append to them, and which arrays keep their size
prune      leave out what no result needs
passes     the passes in their order

It is built beside the package `tape`, whose tapes know numbers alone, and will take its place.
"""

from micrograd.ir import text as text  # str(tape) is its text
