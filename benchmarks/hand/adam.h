/* Adam by hand, over contiguous numbers: the loop is one that a compiler turns into vectors. */
#include <math.h>

typedef struct {
    double *mean, *square;
    long steps;
} Adam;

static void adam(long n, double *restrict p, const double *restrict g, Adam *a, double lr) {
    const double beta1 = 0.85, beta2 = 0.99, eps = 1e-8;
    double *restrict mean = a->mean, *restrict square = a->square;
    a->steps++;
    const double size = lr / (1.0 - pow(beta1, (double)a->steps)), lift = 1.0 / sqrt(1.0 - pow(beta2, (double)a->steps));
    for (long i = 0; i < n; i++) {
        mean[i] = beta1 * mean[i] + (1.0 - beta1) * g[i];
        square[i] = beta2 * square[i] + (1.0 - beta2) * g[i] * g[i];
        p[i] -= size * mean[i] / (sqrt(square[i]) * lift + eps);
    }
}

/* A learning rate that falls in a straight line to zero over 10^9 steps: as much work as any, and the model stays put. */
static double falling(const Adam *a) { return 1e-9 * (1.0 - (double)a->steps / 1e9); }
