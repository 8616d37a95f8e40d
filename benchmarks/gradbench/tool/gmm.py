"""A mixture of Gaussians: the logarithm of the posterior, with a Wishart prior on the precision matrices."""

import numpy as np
from evaluation import Function, numbers

from micrograd import grad, jit, math


def logsumexp(x):
    largest = max(x)
    return largest + math.log(sum(math.exp(v - largest) for v in x))


def squared_norm(diagonal, lower, x):
    """Return |Q x|², where Q has this diagonal, and this strictly lower triangle column by column."""
    product = [a * b for a, b in zip(diagonal, x)]
    k = 0
    for j in range(len(x)):
        for i in range(j + 1, len(x)):
            product[i] += lower[k] * x[j]
            k += 1
    return sum(p * p for p in product)


def log_wishart(diagonals, lowers, sums, m, gamma):
    d = len(diagonals[0])
    n = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * (n - j)) for j in range(d))
    constant = n * d * math.log(gamma / math.sqrt(2.0)) - log_gamma
    total = 0.0
    for diagonal, lower, log_determinant in zip(diagonals, lowers, sums):
        frobenius = sum(v * v for v in diagonal) + sum(v * v for v in lower)
        total += constant - 0.5 * gamma * gamma * frobenius + m * log_determinant
    return total


def log_posterior(independent, x, m, gamma):
    alpha, mu, q, lower = independent["alpha"], independent["mu"], independent["q"], independent["l"]
    n, d = len(x), len(x[0])
    diagonals = [[math.exp(v) for v in row] for row in q]
    sums = [sum(row) for row in q]
    total = -n * (0.5 * d * math.log(2.0 * math.pi) + logsumexp(alpha))
    for point in x:
        terms = []
        for k in range(len(alpha)):
            centred = [a - b for a, b in zip(point, mu[k])]
            terms.append(alpha[k] + sums[k] - 0.5 * squared_norm(diagonals[k], lower[k], centred))
        total += logsumexp(terms)
    return total + log_wishart(diagonals, lower, sums, m, gamma)


def arguments(given):
    independent = {name: np.array(given[name]) for name in ("alpha", "mu", "q", "l")}
    return independent, np.array(given["x"]), given["m"], given["gamma"]


objective = Function(jit(log_posterior, wait=True), arguments, float)
jacobian = Function(jit(grad(log_posterior), wait=True), arguments, numbers)
