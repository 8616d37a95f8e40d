"""Whole programs, made at random, run in every way that micrograd has: `python -m fuzz --help`.

generate.py  programs: nested loops, branches, early returns, captured and mutated state, all ops, nested transforms
duals.py     an independent run of a program: forward-mode derivatives with noise in every step, for bounds
inputs.py    where to run it: plain, special and tied numbers, and inputs that are moved onto the edge of a branch
check.py     all ways of running a program, compared with each other
shrink.py    a shorter program that fails in the same way
loaders.py   damaged files and requests for whatever reads them
"""
