/* MLP(2, [16, 16, 1]) with relu, the mean of relu(1 - y·score) over rows, all 337 gradients, by hand.

   Parameters lie as micrograd's MLP.parameters() gives them: for each neuron its weights, then its bias. Eight rows go side by
   side through vectors; what rows add to a gradient is summed over the eight at the end. */
#include "adam.h"
#include "clock.h"
#include <string.h>

#define W 8
#define H 16
typedef double vec __attribute__((vector_size(64)));
typedef long long mask __attribute__((vector_size(64)));

#define PARAMS (3 * H + (H + 1) * H + H + 1)

static inline vec splat(double x) { return (vec){x, x, x, x, x, x, x, x}; }
static inline vec keep(mask m, vec x) { return (vec)(m & (mask)x); }

static double sum(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

/* columns x0, x1, y of n rows; grads gets the 337 gradients of the mean; returns the mean */
double moons(const double *x0s, const double *x1s, const double *ys, long n, const double *p, double *grads, int want) {
    const double *p1 = p, *p2 = p + 3 * H, *p3 = p2 + (H + 1) * H;
    static _Thread_local vec acc[PARAMS];
    vec loss = splat(0.0);
    memset(acc, 0, sizeof acc);
    for (long row = 0; row < n; row += W) {
        vec x0, x1, y, h1[H], h2[H], d2[H];
        mask real = (mask)splat(0.0);
        if (row + W <= n) {
            memcpy(&x0, x0s + row, 64), memcpy(&x1, x1s + row, 64), memcpy(&y, ys + row, 64);
            real = ~real;
        } else {
            x0 = x1 = y = splat(0.0);
            memcpy(&x0, x0s + row, 8 * (size_t)(n - row)), memcpy(&x1, x1s + row, 8 * (size_t)(n - row));
            memcpy(&y, ys + row, 8 * (size_t)(n - row));
            for (int i = 0; i < n - row; i++) real[i] = -1;
        }
        for (int j = 0; j < H; j++) {
            vec a = splat(p1[3 * j + 2]) + splat(p1[3 * j]) * x0 + splat(p1[3 * j + 1]) * x1;
            h1[j] = keep(a > 0.0, a);
        }
        vec score = splat(p3[H]);
        for (int j = 0; j < H; j++) {
            const double *w = p2 + (H + 1) * j;
            vec a = splat(w[H]);
            for (int i = 0; i < H; i++) a += splat(w[i]) * h1[i];
            h2[j] = keep(a > 0.0, a);
            score += splat(p3[j]) * h2[j];
        }
        vec margin = 1.0 - y * score;
        mask on = real & (mask)(margin > 0.0);
        loss += keep(on, margin);
        if (!want) continue;
        vec ds = keep(on, -y);
        vec *a1 = acc, *a2 = acc + 3 * H, *a3 = a2 + (H + 1) * H;
        a3[H] += ds;
        for (int j = 0; j < H; j++) {
            a3[j] += ds * h2[j];
            d2[j] = keep(h2[j] > 0.0, ds * splat(p3[j]));
        }
        for (int j = 0; j < H; j++) {
            vec *g = a2 + (H + 1) * j;
            for (int i = 0; i < H; i++) g[i] += d2[j] * h1[i];
            g[H] += d2[j];
        }
        for (int i = 0; i < H; i++) {
            vec d = splat(0.0), e = d;
            for (int j = 0; j < H; j += 2) d += d2[j] * splat(p2[(H + 1) * j + i]), e += d2[j + 1] * splat(p2[(H + 1) * (j + 1) + i]);
            d = keep(h1[i] > 0.0, d + e);
            a1[3 * i] += d * x0, a1[3 * i + 1] += d * x1, a1[3 * i + 2] += d;
        }
    }
    if (want)
        for (int i = 0; i < PARAMS; i++) grads[i] = sum(acc[i]) / (double)n;
    return sum(loss) / (double)n;
}

double moons_step(const double *x0, const double *x1, const double *y, long n, double *p, double *grads, double lr) {
    double loss = moons(x0, x1, y, n, p, grads, 1);
    for (int i = 0; i < PARAMS; i++) p[i] -= lr * grads[i];
    return loss;
}

double time_step(const double *x0, const double *x1, const double *y, long n, double *p, double *g, double lr, int reps) {
    TIMED(moons_step(x0, x1, y, n, p, g, lr));
}
double time_moons(const double *x0, const double *x1, const double *y, long n, double *p, double *g, int want, int reps) {
    TIMED(moons(x0, x1, y, n, p, g, want));
}

static double moons_adam(const double *x0, const double *x1, const double *y, long n, double *p, double *grads, Adam *a) {
    double loss = moons(x0, x1, y, n, p, grads, 1);
    adam(PARAMS, p, grads, a, falling(a));
    return loss;
}

double time_adam(const double *x0, const double *x1, const double *y, long n, double *p, double *g, double *mean, double *square, int reps) {
    Adam a = {mean, square, 0};
    TIMED(moons_adam(x0, x1, y, n, p, g, &a));
}
