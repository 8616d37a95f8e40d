"""The core language: what a Python function is lowered to before it is interpreted, for one point or for all rows at once.

forms.py                                     the forms and their grammar
source.py                                    the syntax tree of a function object
scopes.py                                    which variable a name means
expressions.py  statements.py  patterns.py   how each construct of Python is lowered
lower.py                                     function object → forms
prelude/                                     what Python's functions in C do, as plain Python that is lowered, too
operations.py                                what each operation does with Python objects
plain.py                                     the forms run on Python objects: their definition
errors.py                                    why a function cannot be lowered
"""
