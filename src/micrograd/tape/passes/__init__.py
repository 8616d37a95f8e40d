"""Passes: a function tape → tape each, one loop over the instructions, linear in their number.

adjoint    append the reverse sweep: the outputs, then their gradients; loops of few active inputs carry tangents (joined.py)
tangent    append the forward sweep: the outputs, then their directional derivatives
columns    append a forward sweep for each input: the outputs, then their gradients
expand     write composite ops, lists and primitives in the ops that machines have
contract   write a·b + c as one fma, where nothing is decided by it
simplify   fold constants, drop what has no effect on bits, write each expression once
prune      drop what no output and no guard needs
hoist      move what is the same in all iterations of a loop out of it, and constants into regions
fuse       write two loops as one, where the second reads item by item what the first one stacks
checkpoint write a long loop as loops in a loop, so that its adjoint keeps fewer states
join       write many guards as one
gather     move each instruction that lets go of an operand to where its operands are ready

Regions follow the same few rules everywhere: a pass over single instructions (expand, simplify, prune) goes into the bodies,
one that moves instructions (join, gather) leaves them alone, and the derivative of a region is a region.
"""

from micrograd.tape.passes.checkpoint import checkpoint as checkpoint
from micrograd.tape.passes.contract import contract as contract
from micrograd.tape.passes.derivatives import connected as connected
from micrograd.tape.passes.derivatives import places_of as places_of
from micrograd.tape.passes.derivatives import reached as reached
from micrograd.tape.passes.derivatives import slopes_of as slopes_of
from micrograd.tape.passes.derivatives import sources as sources
from micrograd.tape.passes.derivatives import unread as unread
from micrograd.tape.passes.forward import columns as columns
from micrograd.tape.passes.forward import tangent as tangent
from micrograd.tape.passes.fuse import fuse as fuse
from micrograd.tape.passes.motion import hoist as hoist
from micrograd.tape.passes.ordering import gather as gather
from micrograd.tape.passes.ordering import join as join
from micrograd.tape.passes.prune import prune as prune
from micrograd.tape.passes.reverse import adjoint as adjoint
from micrograd.tape.passes.rewriting import check_primitives as check_primitives
from micrograd.tape.passes.rewriting import expand as expand
from micrograd.tape.passes.rewriting import simplify as simplify
