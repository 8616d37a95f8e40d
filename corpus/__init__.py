"""Programs that nobody here wrote, with inputs and results that their authors state: `make corpus`.

Nothing of these packages is copied. They are installed at pinned versions (requirements.txt), and their documentation, data
files and hand-written derivatives are read where they are.

doctests   functions whose docstrings show a call and its result
programs   functions of packages without such docstrings, each called as a user would call it
nist       the regression problems of NIST with certified parameters, out of the source distribution of lmfit
cutest     CUTEst in Python (S2MPJ), with gradients and Hessians written by hand
fpcore     the programs of FPBench and Herbie, translated from FPCore
"""
