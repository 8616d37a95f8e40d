"""Solvers in plain Python whose results know their derivatives: equations, minima, differential equations, integrals.

They are compiled like the code that calls them: in `jit`, over the rows of `vmap`, each of which runs until it has converged,
and in transforms.

>>> from micrograd import grad, solvers
>>> def golden(a):
...     return solvers.root_scalar(lambda x: x * x - x - a, 1.0)
>>> round(golden(1.0), 9), round(grad(golden)(1.0), 9), round(grad(grad(golden))(1.0), 9)
(1.618033989, 0.447213595, -0.178885438)
"""

from __future__ import annotations

from micrograd.solvers.dense import cholesky, eigh, lu, lu_solve, solve
from micrograd.solvers.implicit import implicit
from micrograd.solvers.integral import quad
from micrograd.solvers.interpolate import cubic_spline, hermite, interp, pchip
from micrograd.solvers.minimum import Fit, curve_fit, least_squares, minimize
from micrograd.solvers.ode import odeint, odeint_dense, odeint_event
from micrograd.solvers.roots import fixed_point, root, root_scalar

__all__ = [
    "Fit", "cholesky", "cubic_spline", "curve_fit", "eigh", "fixed_point", "hermite", "implicit", "interp", "least_squares",
    "lu", "lu_solve", "minimize", "odeint", "odeint_dense", "odeint_event", "pchip", "quad", "root", "root_scalar", "solve",
]  # fmt: skip
