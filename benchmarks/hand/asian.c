/* Arithmetic Asian call: the price and its five first derivatives, by hand: paths are stored, then swept in reverse.

   z has the normal numbers of all paths for the first date, then for the second, and so on. out gets the mean over paths of the
   discounted payoff, and its derivatives by spot, strike, volatility, rate and maturity. */
#include "clock.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

#define W 8
#define DATES 64
#ifndef BLOCK
#define BLOCK 4 /* vectors of paths at a time: neighbours in memory, and work that does not wait for each other */
#endif
typedef double vec __attribute__((vector_size(64)));
typedef long long mask __attribute__((vector_size(64)));

vec _ZGVeN8v_exp(vec); /* glibc's vector exp */

static inline vec splat(double x) { return (vec){x, x, x, x, x, x, x, x}; }
static inline vec keep(mask m, vec x) { return (vec)(m & (mask)x); }
static double sum(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

static void paths(const double *market, const double *z, long stride, long from, long to, double *out, int want) {
    double spot = market[0], strike = market[1], vol = market[2], rate = market[3], maturity = market[4];
    double dt = maturity / DATES, root = sqrt(dt), drift = (rate - 0.5 * vol * vol) * dt, spread = vol * root;
    double discount = exp(-rate * maturity);
    vec value = splat(0.0), d_spot = value, d_drift = value, d_spread = value, paid = value;
    for (long row = from; row < to; row += W * BLOCK) {
        int vectors = to - row < W * BLOCK ? (int)((to - row) / W) : BLOCK;
        vec s[DATES + 1][BLOCK], growth[DATES][BLOCK], zs, total[BLOCK];
        for (int j = 0; j < vectors; j++) {
            s[0][j] = splat(spot);
            total[j] = splat(0.0);
        }
        for (int t = 0; t < DATES; t++) {
            const double *now = z + t * stride + row;
            for (int j = 0; j < vectors; j++) {
                __builtin_prefetch(now + W * (BLOCK + j));
                memcpy(&zs, now + W * j, 64);
                growth[t][j] = _ZGVeN8v_exp(drift + spread * zs);
                s[t + 1][j] = s[t][j] * growth[t][j];
                total[j] += s[t + 1][j];
            }
        }
        vec d_mean[BLOCK], d_s[BLOCK];
        for (int j = 0; j < vectors; j++) {
            vec payoff = total[j] / (double)DATES - strike;
            mask in = payoff > 0.0;
            value += keep(in, payoff);
            d_mean[j] = keep(in, splat(1.0 / DATES));
            d_s[j] = splat(0.0);
            paid += keep(in, splat(1.0));
        }
        if (!want) continue;
        for (int t = DATES - 1; t >= 0; t--)
            for (int j = 0; j < vectors; j++) {
                d_s[j] += d_mean[j];
                vec d_x = d_s[j] * s[t + 1][j];
                memcpy(&zs, z + t * stride + row + W * j, 64);
                d_drift += d_x;
                d_spread += d_x * zs;
                d_s[j] *= growth[t][j];
            }
        for (int j = 0; j < vectors; j++) d_spot += d_s[j];
    }
    double v = sum(value), s0 = sum(d_spot), dd = sum(d_drift), ds = sum(d_spread), k = sum(paid);
    out[0] = discount * v;
    out[1] = discount * s0;
    out[2] = -discount * k;
    out[3] = discount * (ds * root - dd * vol * dt);
    out[4] = discount * (dd * dt - maturity * v);
    out[5] = discount * (dd * (rate - 0.5 * vol * vol) / DATES + ds * vol * 0.5 * root / maturity - rate * v);
}

typedef struct {
    const double *market, *z;
    long stride, from, to;
    double out[6];
    int want;
} Share;

static void *work(void *p) {
    Share *s = p;
    paths(s->market, s->z, s->stride, s->from, s->to, s->out, s->want);
    return NULL;
}

/* n is a multiple of 8 · threads */
void asian(const double *market, const double *z, long n, double *out, int threads, int want) {
    Share shares[64];
    pthread_t started[64];
    long each = n / threads;
    for (int i = 0; i < threads; i++) shares[i] = (Share){market, z, n, i * each, (i + 1) * each, {0}, want};
    for (int i = 1; i < threads; i++) pthread_create(&started[i], NULL, work, &shares[i]);
    work(&shares[0]);
    for (int i = 1; i < threads; i++) pthread_join(started[i], NULL);
    for (int k = 0; k < 6; k++) {
        out[k] = 0.0;
        for (int i = 0; i < threads; i++) out[k] += shares[i].out[k] / (double)n;
    }
}

double time_asian(const double *market, const double *z, long n, double *out, int threads, int want, int reps) {
    TIMED(asian(market, z, n, out, threads, want));
}
