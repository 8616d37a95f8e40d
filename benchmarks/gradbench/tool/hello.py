"""Hello, world: a square and its slope."""

from evaluation import Function

from micrograd import grad, jit


def f(x):
    return x * x


def point(given):
    return (float(given),)


square = Function(jit(f, wait=True), prepare=point, finish=float)
double = Function(jit(grad(f), wait=True), prepare=point, finish=float)
