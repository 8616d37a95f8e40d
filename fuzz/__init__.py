"""Whole programs, made at random, run in every way that micrograd has: `python -m fuzz --help`.

generate.py  the text of programs: loops, branches, early returns, lists, helpers, captured Values, all ops, transforms
results.py   programs that return constants, texts and containers, and call what is not merged
duals.py     an independent run of a program: forward-mode derivatives with noise in every step, for bounds
exact.py     another one, to 30 digits by mpmath, which knows nothing of the op table
inputs.py    where to run it: plain, special and tied numbers, and inputs that are moved onto the edge of a branch
check.py     the ways of running a program that cost little, compared with each other
machine.py   machine code of a program, in every mode
shrink.py    a shorter program that fails in the same way
loaders.py   damaged files and requests for whatever reads them
"""
