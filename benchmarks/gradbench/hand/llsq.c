/* Least squares with a polynomial. x: m coefficients; size: m, n. */
#include "problem.h"

static double place(long i, long n) { return -1.0 + (double)i * 2.0 / (double)(n - 1); }

static double step(double t) { return (double)((t > 0.0) - (t < 0.0)); }

void value(const struct problem *given, double *out) {
    const double *x = given->x;
    long m = given->size[0], n = given->size[1];
    double total = 0.0;
    for (long i = 0; i < n; i++) {
        double t = place(i, n), residual = step(t), power = 1.0;
        for (long j = 0; j < m; j++) {
            residual -= x[j] * power;
            power *= t;
        }
        total += residual * residual;
    }
    out[0] = total / 2.0;
}

void gradient(const struct problem *given, double *out) {
    const double *x = given->x;
    long m = given->size[0], n = given->size[1];
    double *powers = malloc((size_t)m * sizeof *powers);
    memset(out, 0, (size_t)m * sizeof *out);
    for (long i = 0; i < n; i++) {
        double t = place(i, n), residual = step(t), power = 1.0;
        for (long j = 0; j < m; j++) {
            powers[j] = power;
            residual -= x[j] * power;
            power *= t;
        }
        for (long j = 0; j < m; j++)
            out[j] -= residual * powers[j];
    }
    free(powers);
}
