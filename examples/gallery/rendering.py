"""Render an implicit surface with the normals of its derivative.

A ray for each of 128 × 128 pixels walks to the surface, each in as many steps as it needs; the gradient gives the shade.
"""

import numpy as np

from micrograd import grad, math, vmap

SIZE = 128
side = np.linspace(-1.6, 1.6, SIZE)
across, up = (a.ravel() for a in np.meshgrid(side, -side))


def distance(x, y, z):
    ring = math.sqrt(x * x + y * y) - 1.0
    bump = 0.05 * math.sin(6.0 * x) * math.sin(6.0 * y)
    return math.sqrt(ring * ring + z * z) - 0.4 + bump


def shade(x, y):
    z = 2.0
    for _ in range(60):
        step = distance(x, y, z)
        if step < 1e-4 or z < -2.0:
            break
        z = z - 0.7 * step
    if z < -2.0:
        return 0.0
    nx, ny, nz = grad(distance, argnums=(0, 1, 2))(x, y, z)
    return max(0.1, (0.4 * nx + 0.5 * ny + 0.77 * nz) / math.sqrt(nx * nx + ny * ny + nz * nz))


def solve():
    f = vmap(shade)
    return lambda: f(across, up)


# ---- beside it


def numbers(found):
    return np.asarray(found)[::997].tolist()


def numba():
    from math import sin, sqrt

    import numba

    @numba.njit
    def signed(x, y, z):
        ring = sqrt(x * x + y * y) - 1.0
        return sqrt(ring * ring + z * z) - 0.4 + 0.05 * sin(6.0 * x) * sin(6.0 * y)

    @numba.njit
    def picture(across, up):
        found, h = np.zeros(len(across)), 1e-5
        for k in range(len(across)):
            x, y, z = across[k], up[k], 2.0
            for _ in range(60):
                step = signed(x, y, z)
                if step < 1e-4 or z < -2.0:
                    break
                z -= 0.7 * step
            if z < -2.0:
                continue
            nx = (signed(x + h, y, z) - signed(x - h, y, z)) / (2 * h)
            ny = (signed(x, y + h, z) - signed(x, y - h, z)) / (2 * h)
            nz = (signed(x, y, z + h) - signed(x, y, z - h)) / (2 * h)
            found[k] = max(0.1, (0.4 * nx + 0.5 * ny + 0.77 * nz) / sqrt(nx * nx + ny * ny + nz * nz))
        return found

    return lambda: numbers(picture(across, up))


OTHERS = {"Numba, differences": numba}


def draw(ax, found):
    ax.imshow(np.asarray(found).reshape(SIZE, SIZE), cmap="gray")
    ax.set_axis_off()
    ax.set(title="A surface, shaded by its gradient")
