/* A charged particle. x: where the search for w starts. gradient: where it ends; the derivatives on the way are by hand. */
#include "descent.h"

/* Add to `out` the force of a charge at (0, 0) on a particle at (x, y), and how it changes with w. */
static void repel(const double at[2], const double moves[2], double out[4]) {
    double squared = at[0] * at[0] + at[1] * at[1], cubed = 1.0 / (squared * sqrt(squared));
    double along = 3.0 * (at[0] * moves[0] + at[1] * moves[1]) / squared;
    for (int i = 0; i < 2; i++) {
        out[i] += at[i] * cubed;
        out[2 + i] += (moves[i] - along * at[i]) * cubed;
    }
}

/* The square of the place where the particle crosses the x axis, and its slope. */
static double crossing(double w, double *slope) {
    double x[2] = {0.0, 8.0}, v[2] = {0.75, 0.0}, of_x[2] = {0.0, 0.0}, of_v[2] = {0.0, 0.0}, dt = 0.1;
    for (;;) {
        double force[4] = {0.0, 0.0, 0.0, 0.0};
        repel((double[2]){x[0] - 10.0, x[1] - (10.0 - w)}, (double[2]){of_x[0], of_x[1] + 1.0}, force);
        repel((double[2]){x[0] - 10.0, x[1]}, of_x, force);
        for (int i = 0; i < 2; i++) {
            x[i] += dt * v[i];
            of_x[i] += dt * of_v[i];
        }
        if (x[1] <= 0.0) {
            double t = -x[1] / v[1], of_t = -(of_x[1] + t * of_v[1]) / v[1];
            double end = x[0] + t * v[0], of_end = of_x[0] + of_t * v[0] + t * of_v[0];
            *slope = 2.0 * end * of_end;
            return end * end;
        }
        for (int i = 0; i < 2; i++) {
            v[i] += dt * force[i];
            of_v[i] += dt * force[2 + i];
        }
    }
}

static double miss(const double *held, const double *w) {
    (void)held;
    double slope;
    return crossing(w[0], &slope);
}

static void miss_slope(const double *held, const double *w, double *out) {
    (void)held;
    crossing(w[0], out);
}

void gradient(const struct problem *given, double *out) {
    struct function f = {1, NULL, miss, miss_slope};
    argmin(&f, given->x, out);
}

void value(const struct problem *given, double *out) { out[0] = miss(NULL, given->x); }
