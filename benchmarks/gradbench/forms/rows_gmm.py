"""gmm with its points as rows of vmap; the prior, which is the same for all of them, is a function of its own."""

from evaluation import THREADS, Function, numbers
from gmm import arguments, log_wishart, logsumexp, squared_norm

from micrograd import grad, jit, math, vmap


def log_likelihood(independent, point):
    alpha, mu, q, lower = independent["alpha"], independent["mu"], independent["q"], independent["l"]
    terms = []
    for k in range(len(alpha)):
        centred = [a - b for a, b in zip(point, mu[k])]
        diagonal = [math.exp(v) for v in q[k]]
        terms.append(alpha[k] + sum(q[k]) - 0.5 * squared_norm(diagonal, lower[k], centred))
    return logsumexp(terms) - logsumexp(alpha) - 0.5 * len(point) * math.log(2.0 * math.pi)


def log_prior(independent, m, gamma):
    q, lower = independent["q"], independent["l"]
    return log_wishart([[math.exp(v) for v in row] for row in q], lower, [sum(row) for row in q], m, gamma)


def added(transform, add):
    rows = jit(vmap(transform(log_likelihood), in_axes=(None, 0), reduce="sum", threads=THREADS), wait=True)
    prior = jit(transform(log_prior), wait=True)
    return lambda independent, x, m, gamma: add(rows(independent, x), prior(independent, m, gamma))


objective = Function(added(lambda f: f, lambda a, b: a + b), arguments, float)
jacobian = Function(added(grad, lambda a, b: {name: a[name] + b[name] for name in a}), arguments, numbers)
