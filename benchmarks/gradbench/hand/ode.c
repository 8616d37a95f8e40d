/* A chain of differential equations by the classical Runge-Kutta method. x: n numbers; size: n, steps.
   value: the n states at the end. gradient: that of the last of them, by going back through the steps, whose states are kept. */
#include "problem.h"

static void rate(const double *restrict x, const double *restrict y, double *restrict k, long n) {
    k[0] = x[0];
    for (long i = 1; i < n; i++)
        k[i] = x[i] * y[i - 1];
}

static void shifted(const double *restrict y, const double *restrict k, double h, double *restrict at, long n) {
    for (long i = 0; i < n; i++)
        at[i] = y[i] + h * k[i];
}

/* One step from y, with room for four rates and the states at which the last three are taken. */
static void stages(const double *x, const double *y, double h, double *room, long n) {
    double *k1 = room, *k2 = k1 + n, *k3 = k2 + n, *k4 = k3 + n, *y2 = k4 + n, *y3 = y2 + n, *y4 = y3 + n;
    rate(x, y, k1, n);
    shifted(y, k1, h / 2.0, y2, n);
    rate(x, y2, k2, n);
    shifted(y, k2, h / 2.0, y3, n);
    rate(x, y3, k3, n);
    shifted(y, k3, h, y4, n);
    rate(x, y4, k4, n);
}

static void advance(const double *restrict y, const double *restrict room, double h, double *restrict to, long n) {
    for (long i = 0; i < n; i++)
        to[i] = y[i] + h / 6.0 * (room[i] + 2.0 * room[n + i] + 2.0 * room[2 * n + i] + room[3 * n + i]);
}

void value(const struct problem *given, double *out) {
    long n = given->size[0], steps = given->size[1];
    double h = 2.0 / (double)steps, *room = malloc((size_t)(8 * n) * sizeof *room), *y = room + 7 * n;
    memset(out, 0, (size_t)n * sizeof *out);
    for (long s = 0; s < steps; s++) {
        memcpy(y, out, (size_t)n * sizeof *y);
        stages(given->x, y, h, room, n);
        advance(y, room, h, out, n);
    }
    free(room);
}

/* The adjoint of k = rate(x, y): adds to that of x, and gives that of y. */
static void back(const double *restrict x, const double *restrict y, const double *restrict of_k, double *restrict of_x,
                 double *restrict of_y, long n) {
    of_x[0] += of_k[0];
    for (long i = 1; i < n; i++) {
        of_x[i] += of_k[i] * y[i - 1];
        of_y[i - 1] = x[i] * of_k[i];
    }
    of_y[n - 1] = 0.0;
}

void gradient(const struct problem *given, double *out) {
    const double *x = given->x;
    long n = given->size[0], steps = given->size[1];
    double h = 2.0 / (double)steps, *room = malloc((size_t)((10 + steps) * n) * sizeof *room);
    double *of_y = room + 7 * n, *of_k = of_y + n, *of_at = of_k + n, *states = of_at + n;
    memset(states, 0, (size_t)n * sizeof *states);
    for (long s = 0; s + 1 < steps; s++) {
        stages(x, states + s * n, h, room, n);
        advance(states + s * n, room, h, states + (s + 1) * n, n);
    }
    memset(out, 0, (size_t)n * sizeof *out);
    memset(of_y, 0, (size_t)n * sizeof *of_y);
    of_y[n - 1] = 1.0;
    for (long s = steps - 1; s >= 0; s--) {
        const double *y = states + s * n;
        stages(x, y, h, room, n);
        const double *at[] = {y, room + 4 * n, room + 5 * n, room + 6 * n};
        const double weight[] = {h / 6.0, h / 3.0, h / 3.0, h / 6.0}, onward[] = {h / 2.0, h / 2.0, h, 0.0};
        double *of_end = room; /* what reaches y at the end of the step; the rates are not needed any more */
        memcpy(of_end, of_y, (size_t)n * sizeof *of_end);
        memset(of_at, 0, (size_t)n * sizeof *of_at);
        for (int stage = 3; stage >= 0; stage--) {
            for (long i = 0; i < n; i++)
                of_k[i] = weight[stage] * of_end[i] + onward[stage] * of_at[i];
            back(x, at[stage], of_k, out, of_at, n);
            for (long i = 0; i < n; i++)
                of_y[i] += of_at[i];
        }
    }
    free(room);
}
