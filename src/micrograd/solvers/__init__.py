"""Solvers in plain Python whose results know their derivatives: equations and small linear systems.

They are compiled like the code that calls them: in `jit`, over the rows of `vmap`, each of which runs until it has converged,
and in transforms.

>>> from micrograd import grad, solvers
>>> def golden(a):
...     return solvers.root_scalar(lambda x: x * x - x - a, 1.0)
>>> round(golden(1.0), 9), round(grad(golden)(1.0), 9), round(grad(grad(golden))(1.0), 9)
(1.618033989, 0.447213595, -0.178885438)
"""

from __future__ import annotations

from micrograd.solvers.dense import cholesky, lu, lu_solve, solve
from micrograd.solvers.implicit import implicit
from micrograd.solvers.minimum import Fit, curve_fit, least_squares, minimize
from micrograd.solvers.ode import odeint, odeint_event
from micrograd.solvers.roots import fixed_point, root, root_scalar

__all__ = [
    "Fit", "cholesky", "curve_fit", "fixed_point", "implicit", "least_squares", "lu", "lu_solve", "minimize", "odeint",
    "odeint_event", "root", "root_scalar", "solve",
]  # fmt: skip
