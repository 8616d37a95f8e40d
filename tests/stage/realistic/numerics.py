"""Programs of numerical people: options, roots, minima, geometry, differential equations."""

from __future__ import annotations

from micrograd import math
from stage.realistic.registry import program

# ---- options


@program((100, 100, 0.2), (130, 100, 0.3), (60, 100, 0.1), (100, 90, 0.5), (99, 100, 0.05), (140, 80, 0.2))
def double_knock_out(s, strike, sigma):
    alive, rebate = True, 0.0
    for day, z in enumerate((0.3, -1.1, 0.8, 1.9, -0.2, 0.7, -2.0, 1.2)):
        s = s * math.exp(sigma * 0.35 * z - 0.5 * (sigma * 0.35) ** 2)
        if not 70.0 < s < 135.0:
            alive = False
            rebate = 1.5 * day
            break
    return max(s - strike, 0.0) if alive else s * 0.0 + rebate


@program((100, 100, 0.2), (90, 100, 0.3), (120, 100, 0.15), (80, 110, 0.4), (100, 60, 0.1))
def american_put(spot, strike, sigma):
    n, dt = 6, 1.0 / 6.0
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(0.03 * dt) - 1.0 / up) / (up - 1.0 / up)
    values = [max(strike - spot * up ** (2 * i - n), 0.0) for i in range(n + 1)]
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            hold = math.exp(-0.03 * dt) * (p * values[i + 1] + (1.0 - p) * values[i])
            values[i] = max(hold, strike - spot * up ** (2 * i - step))
        values.pop()
    return values[0]


@program((100, 0.2), (105, 0.4), (80, 0.1), (103, 0.02), (97, 0.3))
def autocallable(s, sigma):
    observations = {1: 1.0, 2: 0.95, 3: 0.9}
    coupon, knocked = 0.0, False
    for year, barrier in observations.items():
        s = s * math.exp(sigma * (0.1, -0.7, 0.4)[year - 1])
        if s / 100.0 >= barrier:
            return 100.0 + 8.0 * year + 0.01 * s
        if s < 60.0:
            knocked = True
        coupon += 1
    return s if knocked else 100.0 + coupon * 0.5 * s / 100.0


# ---- roots and minima


@program((2.0, 0.5), (9.0, 1.0), (0.25, 3.0), (100.0, 1.0), (1.0, 1.0))
def newton(a, x):
    iterations = 0
    while abs(x * x - a) > 1e-9:
        x = x - (x * x - a) / (2.0 * x)
        iterations += 1
        if iterations > 40:
            break
    return x


@program((0.5, 0.0, 2.0), (1.0, -1.0, 3.0), (-0.5, -2.0, 1.0), (0.1, 0.0, 1.0))
def bisection(target, low, high):
    def g(v):
        return v * v * v + v - target

    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if (g(middle) > 0) == (g(high) > 0):
            high = middle
        else:
            low = middle
    return 0.5 * (low + high) + target * 1e-3


@program((1.0, 2.0), (-3.0, 0.5), (0.2, -0.1), (4.0, 4.0))
def line_search(x, y):
    def loss(u, v):
        return (1.0 - u) ** 2 + 2.0 * (v - u * u) ** 2

    step = 1.0
    gx, gy = -2.0 * (1.0 - x) - 8.0 * x * (y - x * x), 4.0 * (y - x * x)
    for _ in range(20):
        if loss(x - step * gx, y - step * gy) <= loss(x, y) - 1e-4 * step * (gx * gx + gy * gy):
            break
        step *= 0.5
    else:
        return loss(x, y)
    return loss(x - step * gx, y - step * gy)


@program((0.3, 2.0), (1.2, 0.7), (-1.0, 1.5), (2.5, 3.0))
def golden_section(c, width):
    f = lambda v: (v - c) ** 4 + 0.1 * (v - c) ** 2  # noqa: E731
    ratio = 0.6180339887498949
    a, b = c - width, c + 0.7 * width
    for _ in range(15):
        x1, x2 = b - ratio * (b - a), a + ratio * (b - a)
        (a, b) = (a, x2) if f(x1) < f(x2) else (x1, b)
        if b - a < 0.05:
            break
    return a + b


# ---- geometry and rays


@program((0.0, 0.0), (0.5, 0.3), (2.0, 2.0), (-0.9, 0.1), (0.99, 0.0))
def ray_marching(px, py):
    depth = 0.0
    for _ in range(30):
        z = -3.0 + depth
        sphere = math.sqrt(px * px + py * py + z * z) - 1.0
        floor = py + 1.5
        distance = sphere if sphere < floor else floor
        if distance < 1e-3:
            return depth
        depth = depth + distance
        if depth > 10.0:
            break
    return depth * 0.0 + 10.0 + px


@program((0.0, 0.0, 1.0), (3.0, 0.0, 1.0), (0.2, 0.1, 0.5), (1.0, 1.0, 2.0), (5.0, 5.0, 0.1))
def sphere_intersection(x, y, r):
    disc = r * r - x * x - y * y
    root = math.sqrt(disc)
    hits = []
    if disc > 0:
        hits = [4.0 - root, 4.0 + root]
    elif disc == 0:
        hits = [4.0, 4.0]
    if not hits:
        return x * 0.1
    return hits[0] * hits[-1]


@program((1.0, 1.0, 0.0), (-1.0, 2.0, 1.0), (3.0, 3.0, 3.0), (0.5, 0.5, -2.0))
def closest_vertex(x, y, z):
    vertices = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, -1.0, 0.5), (-1.0, 2.0, 0.5)]
    best, index = float("inf"), None
    for k, (a, b, c) in enumerate(vertices):
        d = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        if d < best:
            best, index = d, k
    return best * (index + 1)


@program((0.5, 0.5), (2.0, 0.5), (-1.0, -1.0), (0.1, 0.8), (1.0, 0.0))
def point_in_polygon(x, y):
    corners = [(0.0, 0.0), (1.5, 0.2), (1.0, 1.4), (0.2, 1.0)]
    inside = False
    j = len(corners) - 1
    for i in range(len(corners)):
        (xi, yi), (xj, yj) = corners[i], corners[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return x * y if inside else -x - y


# ---- differential equations


@program((10.0, 0.8), (1.0, 0.5), (5.0, 0.95), (0.3, 0.2))
def bouncing_ball(height, restitution):
    speed, t, bounces = 0.0, 0.0, 0
    while t < 3.0 and bounces < 3:
        height, speed = height + 0.1 * speed, speed - 0.981
        if height < 0:
            height, speed = -height * restitution, -speed * restitution
            bounces += 1
        t += 0.1
    return height + bounces


@program((1.0, 1.0), (2.0, 5.0), (0.5, 0.1), (1.5, 2.0))
def adaptive_ode(y, rate):
    t, h = 0.0, 0.5
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        k1 = -rate * y
        k2 = -rate * (y + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error < 0.05:
            t, y = t + h, y + 0.5 * h * (k1 + k2)
            if error < 0.005:
                h = 2.0 * h
        else:
            h = 0.5 * h
    return y


@program((5, 0.1), (1, 0.5), (0.2, 2), (30, 1))
def recursion_simpson(width, scale):
    def g(v):
        return math.exp(-scale * v)

    def simpson(a, b):
        return (b - a) / 6.0 * (g(a) + 4.0 * g(0.5 * (a + b)) + g(b))

    def integrate(a, b, whole, depth):
        middle = 0.5 * (a + b)
        left, right = simpson(a, middle), simpson(middle, b)
        if depth == 0 or abs(left + right - whole) < 1e-4:
            return left + right
        return integrate(a, middle, left, depth - 1) + integrate(middle, b, right, depth - 1)

    return integrate(0.0 * width, width, simpson(0.0 * width, width), 3)


@program((0.3,), (2.0,), (-0.7,), (11.0,), (1.0,))
def clamp_chain(x):
    for low, high in ((-1.0, 1.0), (0.0, 0.9), (0.1, 0.5)):
        x = low if x < low else high if x > high else x
        x = x * 1.25
    return x


@program((1.0, 1.0), (0.0, 2.0), (-1.0, 0.5), (2.0, 0.0))
def xlogy(x, y):
    if x == 0:
        return x * y
    return x * math.log(y) if y > 0 else x / (x + y * y)


@program((0.0,), (1e-9,), (1.0,), (-2.0,), (700.0,), (-700.0,))
def stable_softplus(x):
    if x > 30:
        return x
    if x < -30:
        return math.exp(x)
    return math.log(1.0 + math.exp(x))


@program((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, -1.0), (3.0, 4.0))
def safe_norm(x, y):
    n2 = x * x + y * y
    n = math.sqrt(n2)
    if n2 == 0:
        return x + y
    return x / n + n


@program((0.0, 1.0), (0.5, 2.0), (2.0, 0.5), (-3.0, 1.0))
def huber(r, delta):
    return 0.5 * r * r if abs(r) <= delta else delta * (abs(r) - 0.5 * delta)


@program((12.0, 18.0), (7.0, 3.0), (100.0, 75.0), (5.0, 5.0))
def euclid(a, b):
    while b > 0.5:
        a, b = b, a % b
    return a


@program((0.6, 0.3), (3.7, 0.2), (2.5, 0.9), (4.0, 0.1))
def logistic_map_cycle(r, x):
    seen = []
    for _ in range(6):
        x = r * x * (1.0 - x)
        if any(abs(x - y) < 0.01 for y in seen):
            break
        seen.append(x)
    return x * len(seen)
