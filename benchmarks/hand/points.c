/* Value and gradient at one point, by hand: the tiny graph, and the expression of micrograd's README. */
#include "clock.h"

void tiny(const double *in, double *out) {
    double a = in[0], b = in[1];
    double c = a + b, d = a * b + b * b * b, e = c - d, f = e * e;
    out[0] = f / 2.0;
    out[1] = e * (1.0 - b);
    out[2] = e * (1.0 - a - 3.0 * b * b);
}

void readme(const double *in, double *out) {
    double a = in[0], b = in[1];
    double c0 = a + b, d0 = a * b + b * b * b;
    double c1 = c0 + c0 + 1.0;
    double c2 = 1.0 + c1 + c1 - a;
    double ba = b + a, r1 = ba > 0.0 ? ba : 0.0;
    double d1 = d0 + d0 * 2.0 + r1;
    double bma = b - a, r2 = bma > 0.0 ? bma : 0.0;
    double d2 = d1 + 3.0 * d1 + r2;
    double e = c2 - d2, f = e * e, g = f / 2.0 + 10.0 / f;
    out[0] = g;
    double df = 0.5 - 10.0 / (f * f), de = df * 2.0 * e;
    double dc2 = de, dd2 = -de;
    double da = 0.0, db = 0.0;
    double dd1 = 4.0 * dd2, dr2 = bma > 0.0 ? dd2 : 0.0;
    db += dr2, da -= dr2;
    double dd0 = 3.0 * dd1, dr1 = ba > 0.0 ? dd1 : 0.0;
    db += dr1, da += dr1;
    double dc0 = 4.0 * dc2;
    da -= dc2;
    da += dc0 + dd0 * b;
    db += dc0 + dd0 * (a + 3.0 * b * b);
    out[1] = da;
    out[2] = db;
}

double time_tiny(const double *in, double *out, int reps) { TIMED(tiny(in, out)); }
double time_readme(const double *in, double *out, int reps) { TIMED(readme(in, out)); }
