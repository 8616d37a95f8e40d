/* The Asian call of asian.c with its normal numbers made on the way: Philox 4x32-10 and the normal quantile, in vectors.

   Draw t of path r is the same number as micrograd.random.normal(key, row=r, draw=t), but for the last digits: products and sums are
   fused here. out gets the mean over paths of the discounted payoff, and its derivatives by spot, strike, volatility, rate and maturity. */
#include "clock.h"
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

#define W 8
#define DATES 64
#define BLOCK 1 /* vectors of paths at a time: 2 took 6 % longer, 4 took 8 % longer */
typedef double vec __attribute__((vector_size(64)));
typedef long long mask __attribute__((vector_size(64)));
typedef uint64_t ints __attribute__((vector_size(64)));

vec _ZGVeN8v_exp(vec); /* glibc's vector exp */

static inline vec splat(double x) { return (vec){x, x, x, x, x, x, x, x}; }
static inline vec keep(mask m, vec x) { return (vec)(m & (mask)x); }
static inline vec pick(mask m, vec a, vec b) { return (vec)((m & (mask)a) | (~m & (mask)b)); }
static inline vec choose(mask m, double a, double b) { return pick(m, splat(a), splat(b)); }
static double sum(vec x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

static const double MIDDLE_N[] = {4.874765941399952, 210.31989537018475, 3525.5321280702633, 29112.39975270957, 124185.54730959915, 262872.99053463014, 241554.11234600906, 68589.41719068622, 625.0653257463343, 0.0};
static const double MIDDLE_D[] = {1.0, 49.1689319228536, 967.9298360519299, 9787.108554703833, 54319.38891329771, 164325.09657993075, 253716.0996585381, 171982.98098109593, 35509.46431808934};
static const double TAIL_N[] = {0.001936484131555, 0.20963087741421632, 0.32515651500002074, 0.18772320550190655, 0.047442190601387976, 0.003123829097089151, -0.0009533751067216436, -0.00019848881439793402, -1.1869174058977503e-05, -1.9072372758089646e-07};
static const double TAIL_D[] = {1.0, 2.155993648802981, 1.9132013575255338, 0.9111602052674423, 0.25364165036933073, 0.041581289138705665, 0.0037606478790817447, 0.00015994519723651622, 2.2237433773483424e-06};

static inline vec root(vec x) { return (vec)_mm512_sqrt_pd((__m512d)x); }

/* -log(x) for 0 < x < 1: exponent and mantissa by their bits, the mantissa's logarithm by its series */
static inline vec minus_log(vec x) {
    ints bits = (ints)x - 0x3fe6a09e667f3bcdULL; /* of the square root of 1/2 */
    mask exponent = (mask)bits >> 52;
    vec m = (vec)((ints)x - ((ints)exponent << 52));
    vec e = __builtin_convertvector(exponent, vec);
    vec s = (m - 1.0) / (m + 1.0), z = s * s, p = splat(2.0 / 23);
    for (int k = 9; k >= 0; k--) p = p * z + 2.0 / (2 * k + 3);
    return -e * 0.6931471805599453 - (2.0 * s + s * (z * p));
}

static inline vec quantile(vec q) {
    vec side = (vec)((mask)q & 0x7fffffffffffffffLL);
    mask middle = side <= 0.425;
    vec w = q * q, v = pick(middle, 0.180625 - w, root(minus_log(0.5 - side)) - 1.609375);
    vec n = choose(middle, MIDDLE_N[9], TAIL_N[9]), d = choose(middle, MIDDLE_D[8], TAIL_D[8]);
    for (int k = 8; k >= 0; k--) n = n * v + choose(middle, MIDDLE_N[k], TAIL_N[k]);
    for (int k = 7; k >= 0; k--) d = d * v + choose(middle, MIDDLE_D[k], TAIL_D[k]);
    vec y = n / d, tail = (1.4375 + 1.5 * v) + y;
    return pick(middle, q * (2.5066282746310002 + w * y), (vec)((mask)tail | ((mask)q & (mask)splat(-0.0))));
}

/* Two draws of eight paths. */
static inline void normals(uint64_t key, ints row, uint64_t pair, vec *even, vec *odd) {
    const ints low = (ints){} + 0xffffffffULL;
    ints a = (ints){} + (pair & 0xffffffff), b = (ints){} + (pair >> 32), c = row & low, d = row >> 32;
    uint32_t k = (uint32_t)key, m = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        ints left = (a & low) * 0xD2511F53ULL, right = (c & low) * 0xCD9E8D57ULL;
        a = (right >> 32) ^ b ^ (uint64_t)k;
        b = right & low;
        c = (left >> 32) ^ d ^ (uint64_t)m;
        d = left & low;
        k += 0x9E3779B9u;
        m += 0xBB67AE85u;
    }
    ints one = (a << 32 | b) >> 11, two = (c << 32 | d) >> 11;
    *even = quantile(__builtin_convertvector(one, vec) * 0x1p-53 - 0.5 + 0x1p-54);
    *odd = quantile(__builtin_convertvector(two, vec) * 0x1p-53 - 0.5 + 0x1p-54);
}

/* n is a multiple of 8 */
void asian(const double *market, double key, long n, double *out) {
    double spot = market[0], strike = market[1], vol = market[2], rate = market[3], maturity = market[4];
    double dt = maturity / DATES, root_dt = sqrt(dt), drift = (rate - 0.5 * vol * vol) * dt, spread = vol * root_dt;
    double discount = exp(-rate * maturity);
    vec value = splat(0.0), d_spot = value, d_drift = value, d_spread = value, paid = value;
    for (long row = 0; row < n; row += W * BLOCK) {
        int vectors = n - row < W * BLOCK ? (int)((n - row) / W) : BLOCK;
        vec s[DATES + 1][BLOCK], growth[DATES][BLOCK], z[DATES][BLOCK], total[BLOCK];
        for (int j = 0; j < vectors; j++) {
            s[0][j] = splat(spot);
            total[j] = splat(0.0);
        }
        for (int t = 0; t < DATES; t += 2)
            for (int j = 0; j < vectors; j++) {
                ints rows = (ints){0, 1, 2, 3, 4, 5, 6, 7} + (uint64_t)(row + W * j);
                normals((uint64_t)key, rows, (uint64_t)t / 2, &z[t][j], &z[t + 1][j]);
                for (int u = t; u < t + 2; u++) {
                    growth[u][j] = _ZGVeN8v_exp(drift + spread * z[u][j]);
                    s[u + 1][j] = s[u][j] * growth[u][j];
                    total[j] += s[u + 1][j];
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
        for (int t = DATES - 1; t >= 0; t--)
            for (int j = 0; j < vectors; j++) {
                d_s[j] += d_mean[j];
                vec d_x = d_s[j] * s[t + 1][j];
                d_drift += d_x;
                d_spread += d_x * z[t][j];
                d_s[j] *= growth[t][j];
            }
        for (int j = 0; j < vectors; j++) d_spot += d_s[j];
    }
    double v = sum(value), s0 = sum(d_spot), dd = sum(d_drift), ds = sum(d_spread), k = sum(paid);
    out[0] = discount * v / n;
    out[1] = discount * s0 / n;
    out[2] = -discount * k / n;
    out[3] = discount * (ds * root_dt - dd * vol * dt) / n;
    out[4] = discount * (dd * dt - maturity * v) / n;
    out[5] = discount * (dd * (rate - 0.5 * vol * vol) / DATES + ds * vol * 0.5 * root_dt / maturity - rate * v) / n;
}

double time_asian(const double *market, double key, long n, double *out, int reps) { TIMED(asian(market, key, n, out)); }
