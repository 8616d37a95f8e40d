"""Hand tracking: the differences of measured points and the skin of a hand with 26 parameters, and their Jacobian.

Where a point lies within a triangle of the skin is a pair of parameters of its own. Each pair moves one point, so all pairs
share two columns of the Jacobian: the slopes with respect to a shift of all of them.
"""

import numpy as np
from evaluation import Function, numbers

from micrograd import jacobian as slopes
from micrograd import jit, math


def product(a, b):
    """Multiply two matrices, lists of rows."""
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def from_axis(rotation):
    """Return the matrix of a rotation about an axis, by an angle of its length."""
    angle = math.sqrt(sum(v * v for v in rotation))
    if angle < 0.0001:
        return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    x, y, z = (v / angle for v in rotation)
    s, c = math.sin(angle), math.cos(angle)
    return [
        [x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
        [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
        [x * z * (1.0 - c) - y * s, z * y * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c],
    ]


def from_euler(tx, ty, tz):
    """Return the 4 × 4 matrix that turns about the axes x, y and z in this order."""
    cx, sx, cy, sy, cz, sz = math.cos(tx), math.sin(tx), math.cos(ty), math.sin(ty), math.cos(tz), math.sin(tz)
    about_x = [[1.0, 0.0, 0.0, 0.0], [0.0, cx, -sx, 0.0], [0.0, sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]]
    about_y = [[cy, 0.0, sy, 0.0], [0.0, 1.0, 0.0, 0.0], [-sy, 0.0, cy, 0.0], [0.0, 0.0, 0.0, 1.0]]
    about_z = [[cz, -sz, 0.0, 0.0], [sz, cz, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    return product(product(about_z, about_y), about_x)


def bone_angles(theta, bones):
    """Spread the twenty parameters of the fingers over the bones: two at the first joint of a finger, one at the others."""
    angles = [[0.0, 0.0, 0.0] for _ in range(bones)]
    k = 6
    for finger in range(5):
        for joint in range(3):
            bone = 4 * finger + joint + 2
            angles[bone][0] = theta[k]
            k += 1
            if joint == 0:
                angles[bone][2] = theta[k]
                k += 1
    return angles


class Hand:
    """The hand at rest: its bones, and the vertices of its skin, which hang on the bones by weights."""

    def __init__(self, model):
        self.parents, self.triangles, self.mirrored = model["parents"], model["triangles"], model["is_mirrored"]
        self.base_relatives = np.array(model["base_relatives"])
        self.inverse_base_absolutes = np.array(model["inverse_base_absolutes"])
        self.base_positions = np.array(model["base_positions"])
        self.weights = np.array(model["weights"])

    def bone_transforms(self, theta):
        """Return for each bone the matrix that moves what hangs on it."""
        absolutes = []
        for angles, parent, base in zip(bone_angles(theta, len(self.parents)), self.parents, self.base_relatives):
            relative = product(base, from_euler(*angles))
            absolutes.append(relative if parent == -1 else product(absolutes[parent], relative))
        return [product(absolute, inverse) for absolute, inverse in zip(absolutes, self.inverse_base_absolutes)]

    def skin(self, theta):
        """Return where each vertex is: the mean of where its bones move it, turned and moved with the whole hand."""
        transforms, rotation = self.bone_transforms(theta), from_axis(theta[0:3])
        vertices = []
        for base, weights in zip(self.base_positions, self.weights):
            place = [0.0, 0.0, 0.0]
            for transform, weight in zip(transforms, weights):
                if weight != 0.0:
                    for i in range(3):
                        place[i] += weight * sum(t * b for t, b in zip(transform[i], base))
            if self.mirrored:
                place[0] = -place[0]
            vertices.append([sum(r * v for r, v in zip(rotation[i], place)) + theta[3 + i] for i in range(3)])
        return vertices


class Measurement:
    """Points in space, and where each of them is on the skin: at a vertex, or at a place within a triangle."""

    def __init__(self, data, us):
        self.points, self.correspondences, self.places = np.array(data["points"]), data["correspondences"], np.array(us)


def differences(theta, shift, hand, measured):
    """Return point minus skin, three numbers for each point."""
    vertices = hand.skin(theta)
    found = []
    for k in range(len(measured.points)):
        at = measured.correspondences[k]
        if len(measured.places) == 0:
            place = vertices[at]
        else:
            u, v = measured.places[k][0] + shift[0], measured.places[k][1] + shift[1]
            corners = [vertices[corner] for corner in hand.triangles[at]]
            place = [u * a + v * b + (1.0 - u - v) * c for a, b, c in zip(*corners)]
        found.extend(p - q for p, q in zip(measured.points[k], place))
    return found


def by_columns(theta, shift, hand, measured):
    """Return the Jacobian's rows: two columns for the places where there are any, then those of theta."""
    rows = compiled_slopes(theta, shift, hand, measured)
    return [[*(by_shift if len(measured.places) else ()), *by_theta] for by_theta, by_shift in rows]


def arguments(given):
    data = given["data"]
    return np.array(given["theta"]), [0.0, 0.0], Hand(data["model"]), Measurement(data, given["us"])


compiled_slopes = jit(slopes(differences, argnums=(0, 1)), wait=True)
objective = Function(jit(differences, wait=True), arguments, numbers)
jacobian = Function(by_columns, arguments, numbers, compiled_slopes.explain)
