/* The gradient descent that the suite prescribes for particle and saddle, in at most 2 dimensions. */
#include "problem.h"

struct function {
    int dimensions;
    const double *held; /* what the function depends on beside x */
    double (*value)(const double *held, const double *x);
    void (*slope)(const double *held, const double *x, double *out);
};

static double norm(const double *x, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void argmin(const struct function *f, const double *start, double *x) {
    int n = f->dimensions, successes = 0;
    double slope[2], trial[2], move[2], rate = 1e-5, value = f->value(f->held, start);
    memcpy(x, start, (size_t)n * sizeof *x);
    f->slope(f->held, x, slope);
    while (norm(slope, n) > 1e-5) {
        if (successes == 10) {
            rate *= 2.0, successes = 0;
            continue;
        }
        for (int i = 0; i < n; i++) {
            trial[i] = x[i] - rate * slope[i];
            move[i] = x[i] - trial[i];
        }
        if (norm(move, n) <= 1e-5)
            return;
        double at_trial = f->value(f->held, trial);
        if (at_trial < value) {
            memcpy(x, trial, (size_t)n * sizeof *x);
            value = at_trial;
            f->slope(f->held, x, slope);
            successes++;
        } else
            rate /= 2.0, successes = 0;
    }
}
