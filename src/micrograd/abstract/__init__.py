"""The abstract interpreter: a function in the core language, run once for all inputs, gives a typed tape.

values      what is known of Python's objects: values, cells of the heap, shapes
outcomes    how an evaluation may end: forks and joins
state       the heap, the tape and the calls that are running
numeric     operators and functions of numbers
columns     lists as arrays, pools of rows and objects
items       items, slices, iterators, dicts, sets
objects     operators of objects, truth, attributes, classes
loops       loops as fixed points
generators  generators that are held, and generators that their consumer runs
calls       functions, methods, builtins
lists       functions of lists, in plain Python
outside     what is read from outside, and the guards on it
machine     the forms of the core
staged      the tape of a function: arguments, results
errors      why a function is not followed
"""

from micrograd.abstract.errors import Refused
from micrograd.abstract.outside import Guard
from micrograd.abstract.staged import Param, Staged, stage

__all__ = ["Guard", "Param", "Refused", "Staged", "stage"]
