/* Programs with branches over rows, by hand: eight rows in the lanes of a vector, rows that are done are masked, and a loop ends
   when all rows of its vector are. n is a multiple of 8. */
#include "clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define W 8
#define DATES 250
#define STEPS 200
typedef double vec __attribute__((vector_size(64)));
typedef long long mask __attribute__((vector_size(64)));

vec _ZGVeN8v_exp(vec), _ZGVeN8v_log(vec), _ZGVeN8v_erfc(vec); /* glibc's vector functions */

static inline vec splat(double x) { return (vec){x, x, x, x, x, x, x, x}; }
static inline vec keep(mask m, vec x) { return (vec)(m & (mask)x); }
static inline vec pick(mask m, vec a, vec b) { return (vec)((m & (mask)a) | (~m & (mask)b)); }
static inline int any(mask m) { return (m[0] | m[1] | m[2] | m[3] | m[4] | m[5] | m[6] | m[7]) != 0; }
static inline vec load(const double *p) {
    vec x;
    memcpy(&x, p, 64);
    return x;
}
static inline void store(double *p, vec x) { memcpy(p, &x, 64); }
static inline vec vmax(vec a, vec b) { return pick(a > b, a, b); }
static inline vec root(vec x) {
    vec y;
    for (int k = 0; k < W; k++) y[k] = sqrt(x[k]);
    return y;
}

/* An up-and-out call with 250 dates, and its derivatives by spot, strike, volatility, rate and maturity, for each path. z has a
   path in a row; the states are stored, then swept in reverse. */
void barrier(const double *market, const double *z, long n, double *out) {
    double spot = market[0], strike = market[1], vol = market[2], rate = market[3], maturity = market[4];
    double dt = maturity / DATES, step = sqrt(dt), drift = (rate - 0.5 * vol * vol) * dt, spread = vol * step;
    double discount = exp(-rate * maturity);
    for (long row = 0; row < n; row += W) {
        vec s[DATES + 1], growth[DATES], zs[DATES];
        mask alive = (mask)(splat(0.0) == splat(0.0));
        s[0] = splat(spot);
        int last = 0;
        for (int t = 0; t < DATES; t++) {
            for (int k = 0; k < W; k++) zs[t][k] = z[(row + k) * DATES + t];
            growth[t] = _ZGVeN8v_exp(drift + spread * zs[t]);
            s[t + 1] = s[t] * growth[t];
            last = t + 1;
            alive &= s[t + 1] <= 130.0;
            if (!any(alive)) break;
        }
        vec payoff = s[last] - strike;
        mask in = alive & (payoff > 0.0);
        vec value = keep(in, discount * payoff), d_s = keep(in, splat(discount));
        vec d_drift = splat(0.0), d_spread = splat(0.0);
        if (any(in))
            for (int t = last - 1; t >= 0; t--) {
                vec d_x = d_s * s[t + 1];
                d_drift += d_x;
                d_spread += d_x * zs[t];
                d_s *= growth[t];
            }
        store(out + row, value);
        store(out + n + row, d_s);
        store(out + 2 * n + row, keep(in, splat(-discount)));
        store(out + 3 * n + row, d_spread * step - d_drift * (vol * dt));
        store(out + 4 * n + row, d_drift * dt - maturity * value);
        store(out + 5 * n + row, d_drift * ((rate - 0.5 * vol * vol) / DATES) + d_spread * (vol * 0.5 * step / maturity) - rate * value);
    }
}

double time_barrier(const double *market, const double *z, long n, double *out, int reps) {
    TIMED(barrier(market, z, n, out));
}

/* The volatility that gives a price, by Newton's method until the price is met, and its derivatives by the observed price, the
   spot and the strike: tangents are carried along. */
void newton(const double *observed, const double *spot, const double *strike, const double *maturity, long n, double *out, int want) {
    const double half = 0.70710678118654752;
    for (long row = 0; row < n; row += W) {
        vec p = load(observed + row), s = load(spot + row), k = load(strike + row), t = load(maturity + row);
        vec rt = root(t), ratio = _ZGVeN8v_log(s / k), sigma = splat(0.5);
        vec by[3] = {splat(0.0), splat(0.0), splat(0.0)};
        mask going = (mask)(splat(0.0) == splat(0.0));
        for (;;) {
            vec sd = sigma * rt, d1 = (ratio + 0.5 * sigma * sigma * t) / sd, d2 = d1 - sd;
            vec n1 = 0.5 * _ZGVeN8v_erfc(-d1 * half), n2 = 0.5 * _ZGVeN8v_erfc(-d2 * half);
            vec error = s * n1 - k * n2 - p;
            going &= (error > 1e-10) | (error < -1e-10);
            if (!any(going)) break;
            vec vega = s * rt * _ZGVeN8v_exp(-0.5 * d1 * d1) * (1.0 / 2.5066282746310002), q = error / vega;
            if (want) {
                vec of_sigma = vega * d1 * d2 / sigma, of_s = vega / s * (1.0 - d1 / sd), of_k = vega * d1 / (k * sd);
                vec d_error[3] = {-splat(1.0), n1, -n2}, d_vega[3] = {splat(0.0), of_s, of_k};
                for (int j = 0; j < 3; j++) {
                    vec de = d_error[j] + vega * by[j], dv = d_vega[j] + of_sigma * by[j];
                    by[j] = pick(going, by[j] - (de - q * dv) / vega, by[j]);
                }
            }
            sigma = pick(going, sigma - q, sigma);
        }
        store(out + row, sigma);
        if (want)
            for (int j = 0; j < 3; j++) store(out + (j + 1) * n + row, by[j]);
    }
}

double time_newton(const double *p, const double *s, const double *k, const double *t, long n, double *out, int want, int reps) {
    TIMED(newton(p, s, k, t, n, out, want));
}

/* Turns until a point leaves the circle of radius 2. */
void mandelbrot(const double *re, const double *im, long n, double *out) {
    for (long row = 0; row < n; row += W) {
        vec a = load(re + row), b = load(im + row), x = splat(0.0), y = x, turns = x;
        mask going = (mask)(x == x);
        for (int k = 0; k < 1000; k++) {
            vec xx = x * x, yy = y * y;
            going &= xx + yy < 4.0;
            if (!any(going)) break;
            y = 2.0 * x * y + b, x = xx - yy + a;
            turns += keep(going, splat(1.0));
        }
        store(out + row, turns);
    }
}

double time_mandelbrot(const double *a, const double *b, long n, double *out, int reps) {
    TIMED(mandelbrot(a, b, n, out));
}

/* An American put in a binomial tree of 50 steps, and its derivatives by spot, strike, volatility and rate. All values of the
   tree are stored, then swept in reverse; powers of `up` are a table. */
void american(const double *spot, const double *strike, const double *vol, const double *rate, long n, double *out) {
    const double dt = 1.0 / STEPS, step = sqrt(1.0 / STEPS);
    vec(*tree)[STEPS + 1] = aligned_alloc(64, sizeof(vec) * (STEPS + 1) * (STEPS + 1));
    vec power[2 * STEPS + 1], grad[STEPS + 1], d_power[2 * STEPS + 1];
    for (long row = 0; row < n; row += W) {
        vec s = load(spot + row), strikes = load(strike + row), v = load(vol + row), r = load(rate + row);
        vec up = _ZGVeN8v_exp(v * step), down = 1.0 / up, grow = _ZGVeN8v_exp(r * dt), discount = 1.0 / grow;
        vec p = (grow - down) / (up - down), q = 1.0 - p;
        power[STEPS] = splat(1.0);
        for (int j = 1; j <= STEPS; j++) power[STEPS + j] = power[STEPS + j - 1] * up, power[STEPS - j] = power[STEPS - j + 1] * down;
        for (int k = 0; k <= STEPS; k++) tree[STEPS][k] = vmax(strikes - s * power[2 * k], splat(0.0));
        for (int m = STEPS; m > 0; m--)
            for (int k = 0; k < m; k++) {
                vec hold = discount * (p * tree[m][k + 1] + q * tree[m][k]);
                tree[m - 1][k] = vmax(hold, strikes - s * power[2 * k - m + 1 + STEPS]);
            }
        for (int j = 0; j <= 2 * STEPS; j++) d_power[j] = splat(0.0);
        vec d_s = splat(0.0), d_strike = d_s, d_p = d_s, d_discount = d_s;
        grad[0] = splat(1.0);
        for (int m = 1; m <= STEPS; m++) {
            vec carry = splat(0.0);
            for (int k = 0; k < m; k++) {
                int j = 2 * k - m + 1 + STEPS;
                vec mean = p * tree[m][k + 1] + q * tree[m][k], hold = discount * mean, g = grad[k];
                mask held = hold >= strikes - s * power[j];
                vec g_hold = keep(held, g), g_now = keep(~held, g), share = discount * g_hold;
                d_strike += g_now, d_s -= g_now * power[j], d_power[j] -= g_now * s;
                d_discount += g_hold * mean, d_p += share * (tree[m][k + 1] - tree[m][k]);
                grad[k] = carry + share * q, carry = share * p;
            }
            grad[m] = carry;
        }
        for (int k = 0; k <= STEPS; k++) {
            vec g = keep(strikes - s * power[2 * k] > 0.0, grad[k]);
            d_strike += g, d_s -= g * power[2 * k], d_power[2 * k] -= g * s;
        }
        vec d_log_up = splat(0.0), width = up - down;
        for (int j = 0; j <= 2 * STEPS; j++) d_log_up += d_power[j] * power[j] * (double)(j - STEPS);
        vec d_grow = d_p / width - d_discount * discount * discount;
        d_log_up += d_p * (down - p * (up + down)) / width;
        store(out + row, tree[0][0]);
        store(out + n + row, d_s), store(out + 2 * n + row, d_strike);
        store(out + 3 * n + row, d_log_up * step), store(out + 4 * n + row, d_grow * grow * dt);
    }
    free(tree);
}

double time_american(const double *s, const double *k, const double *v, const double *r, long n, double *out, int reps) {
    TIMED(american(s, k, v, r, n, out));
}
