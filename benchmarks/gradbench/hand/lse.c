/* Log-sum-exp. x: n numbers; size: n. */
#include "problem.h"

static double largest(const double *x, long n) {
    double found = x[0];
    for (long i = 1; i < n; i++)
        if (x[i] > found)
            found = x[i];
    return found;
}

void value(const struct problem *given, double *out) {
    const double *x = given->x;
    long n = given->size[0];
    double top = largest(x, n), sum = 0.0;
    for (long i = 0; i < n; i++)
        sum += exp(x[i] - top);
    out[0] = top + log(sum);
}

void gradient(const struct problem *given, double *out) {
    const double *x = given->x;
    long n = given->size[0];
    double top = largest(x, n), sum = 0.0;
    for (long i = 0; i < n; i++) {
        out[i] = exp(x[i] - top);
        sum += out[i];
    }
    for (long i = 0; i < n; i++)
        out[i] /= sum;
}
