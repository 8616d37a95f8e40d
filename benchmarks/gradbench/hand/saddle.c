/* A saddle point of (x₀² + x₁²) - (y₀² + y₁²). x: where all searches start. gradient: the point, x and then y.
   The slopes are by hand: 2 y in the inner search, and 2 x in the outer one, since the inner one ends where it does for every x. */
#include "descent.h"

static double depth(const double *x, const double *y) {
    return -((x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1]));
}

static void twice(const double *held, const double *x, double *out) {
    (void)held;
    out[0] = 2.0 * x[0];
    out[1] = 2.0 * x[1];
}

static void argmax(const double *x, const double *start, double *y) {
    struct function f = {2, x, depth, twice};
    argmin(&f, start, y);
}

static double height(const double *start, const double *x) {
    double y[2];
    argmax(x, start, y);
    return -depth(x, y);
}

void gradient(const struct problem *given, double *out) {
    struct function f = {2, given->x, height, twice};
    argmin(&f, given->x, out);
    argmax(out, given->x, out + 2);
}

void value(const struct problem *given, double *out) { out[0] = height(given->x, given->x); }
