"""Algorithms that change lists in loops, for lists of n items: the tape must not grow with n."""

from micrograd import math as m


def heat(n, steps):
    def f(x, k):
        u = [x * m.sin(0.1 * i) for i in range(n)]
        v = [0.0] * n
        for _ in range(steps):
            for i in range(1, n - 1):
                v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
            u, v = v, u
        return u[n // 2] + u[3] * u[5]

    return f


def heat_new(n, steps):
    def f(x, k):
        u = [x * m.sin(0.1 * i) for i in range(n)]
        for _ in range(steps):
            new = list(u)
            for i in range(1, n - 1):
                new[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
            u = new
        return u[n // 2] * u[4]

    return f


def thomas(n):
    def f(x, y):
        b = [2.0 + y * y] * n
        d = [x * (i + 1) for i in range(n)]
        c = [0.0] * n
        c[0] = -1.0 / b[0]
        d[0] = d[0] / b[0]
        for i in range(1, n):
            w = b[i] + c[i - 1]
            c[i] = -1.0 / w
            d[i] = (d[i] + d[i - 1]) / w
        for i in range(n - 2, -1, -1):
            d[i] = d[i] - c[i] * d[i + 1]
        return d[0] + d[n // 2] * d[n - 1]

    return f


def cumulative(n):
    def f(x, y):
        out = []
        total = 0.0
        for i in range(n):
            total = total * y + m.sin(x + 0.01 * i)
            out.append(total)
        s = 0.0
        for v in out:
            s = s + v * v
        return s + out[n // 3] * out[-1]

    return f


def fib_append(n):
    def f(x, y):
        a = [x, y]
        for i in range(n):
            a.append(0.5 * a[-1] + 0.3 * a[i] * y)
        return a[-1] + a[n // 2]

    return f


def edit(n):
    def f(x, y):
        a = [m.sin(x * i) for i in range(n)]
        b = [m.cos(y * i) for i in range(n)]
        prev = [0.5 * j for j in range(n + 1)]
        for i in range(n):
            cur = [0.0] * (n + 1)
            cur[0] = 0.5 * (i + 1)
            for j in range(n):
                cur[j + 1] = min(prev[j] + abs(a[i] - b[j]), prev[j + 1] + 0.5, cur[j] + 0.5)
            prev = cur
        return prev[n]

    return f


def binomial(n):
    def f(s, k):
        v = [max(k - s * 1.01 ** (2 * j - n), 0.0) for j in range(n + 1)]
        for t in range(n, 0, -1):
            v = [0.5 * (v[j] + v[j + 1]) * 0.999 for j in range(t)]
        return v[0]

    return f


def binomial_inplace(n):
    def f(s, k):
        v = [max(k - s * 1.01 ** (2 * j - n), 0.0) for j in range(n + 1)]
        for t in range(n, 0, -1):
            for j in range(t):
                v[j] = 0.5 * (v[j] + v[j + 1]) * 0.999
        return v[0]

    return f


def horner(n):
    def f(x, y):
        c = [y / (i + 1.0) for i in range(n)]
        r = 0.0
        for a in reversed(c):
            r = r * x + a
        return r

    return f


def rnn(n):
    def f(w, b):
        h = [0.0, 0.1, 0.2, 0.3]
        for t in range(n):
            x = 0.1 * t
            h = [m.tanh(w * h[j] + b * h[(j + 1) % 4] + x * 0.1) for j in range(4)]
        return h[0] + h[3]

    return f


def rnn_inplace(n):
    def f(w, b):
        h = [0.0, 0.1, 0.2, 0.3]
        for _t in range(n):
            for j in range(4):
                h[j] = m.tanh(w * h[j] + b * h[j - 1])
        return h[0] + h[3]

    return f


def leapfrog(n, p=30):
    def f(x, k):
        q = [x * m.sin(1.0 * i) for i in range(p)]
        v = [0.0] * p
        for _ in range(n):
            for i in range(1, p - 1):
                v[i] += 0.01 * k * (q[i - 1] - 2.0 * q[i] + q[i + 1])
            for i in range(p):
                q[i] += 0.01 * v[i]
        return q[3] + v[4] * q[7]

    return f


def prefix_if(n):
    def f(x, y):
        u = [0.0] * n
        for i in range(1, n):
            t = m.sin(x * i)
            if t > y:
                u[i] = u[i - 1] + t
            else:
                u[i] = u[i - 1] * 0.5
        return u[n - 1] + u[n // 2]

    return f


ALGORITHMS = {
    "heat equation, two lists that change places": lambda n: heat(n, 20),
    "heat equation, many steps": lambda n: heat(40, n),
    "heat equation, a new list in each step": lambda n: heat_new(40, n),
    "tridiagonal system in place": thomas,
    "cumulative sum": cumulative,
    "a list that reads itself while it grows": fib_append,
    "edit distance, two rows": edit,
    "binomial tree": binomial,
    "binomial tree in place": binomial_inplace,
    "recurrent network": rnn,
    "recurrent network in place": rnn_inplace,
    "leapfrog": leapfrog,
    "a choice in each iteration": prefix_if,
}
