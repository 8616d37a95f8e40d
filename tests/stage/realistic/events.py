"""Variables that only some paths assign: events of a solver, and what is found in a search."""

from micrograd import math
from stage.realistic.registry import program


@program((1.0, 0.0, 0.1), (0.2, 3.0, 0.0), (2.0, -1.0, 0.5), (0.05, 0.1, 0.9), (5.0, 1.0, 0.2), (0.0, 0.0, 0.0))
def bouncing_ball_with_adaptive_steps(y, v, drag):
    t, h, bounces, steps = 0.0, 0.05, 0, 0
    while t < 0.6 and steps < 60:
        steps += 1
        pull = -9.81 - drag * v
        after = v + h * pull
        y_new = y + 0.5 * h * (v + after)
        v_new = v + 0.5 * h * (pull - 9.81 - drag * after)
        error = abs(y_new - y - h * v) + abs(v_new - after)
        if error > 0.02:
            h = 0.5 * h
            continue
        if y_new < 0.0:
            fraction = y / (y - y_new)
            event = True
        else:
            event = False
        if event:
            t = t + fraction * h
            v = -0.8 * (v + fraction * (v_new - v))
            y = 0.0
            bounces += 1
            if bounces == 3:
                break
        else:
            t, y, v = t + h, y_new, v_new
        if error < 0.005:
            h = 2.0 * h
        if t + h > 0.6:
            h = 0.6 - t
    return t + y + 0.1 * v


@program((0.3, 1.0), (2.5, 0.7), (-1.0, 0.2), (0.9, 3.0), (7.0, 1.5))
def first_crossing(level, rate):
    x, found = 0.1 * rate, False
    for k in range(30):
        before, x = x, x + 0.2 * rate * math.cos(0.1 * k)
        if not found and (before - level) * (x - level) < 0.0:
            crossing = k + (level - before) / (x - before)
            found = True
        if found and x > 2.0 * level:
            break
    return crossing * 0.2 if found else x


@program((1.0, 2.0), (3.0, 0.5), (-1.0, 4.0), (0.2, 0.1))
def best_of_candidates(x, y):
    best = None
    for k in range(16):
        candidate = math.sin(x * k) + y * 0.1 * k
        if candidate > 0.5 and (best is None or candidate < best):
            best, where = candidate, k
    if best is None:
        return x - y
    return best * (1.0 + where) + x
