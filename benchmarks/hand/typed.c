/* The programs of benchmarks/typed_programs.py as one would write them in C, with their gradients by hand. Work arrays are given. */
#include <math.h>
#include <string.h>

double lse(const double *x, long n, double *g) {
    double top = -INFINITY, total = 0.0;
    for (long i = 0; i < n; i++)
        if (x[i] > top) top = x[i];
    if (!g) {
        for (long i = 0; i < n; i++) total += exp(x[i] - top);
        return top + log(total);
    }
    for (long i = 0; i < n; i++) total += g[i] = exp(x[i] - top);
    for (long i = 0; i < n; i++) g[i] /= total;
    return top + log(total);
}

double cholesky(const double *a, long n, double *l, double *lb, double *g) {
    double total = 0.0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= i; j++) {
            double s = a[i * n + j];
            for (long k = 0; k < j; k++) s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
    for (long i = 0; i < n; i++) total += log(l[i * n + i]);
    if (!g) return total;
    memset(lb, 0, n * n * sizeof *lb);
    memset(g, 0, n * n * sizeof *g);
    for (long i = 0; i < n; i++) lb[i * n + i] = 1.0 / l[i * n + i];
    for (long i = n; i-- > 0;)
        for (long j = i + 1; j-- > 0;) {
            double s, y = lb[i * n + j], d = l[j * n + j];
            if (i == j) s = y * 0.5 / d;
            else {
                s = y / d;
                lb[j * n + j] -= s * l[i * n + j];
            }
            g[i * n + j] = s;
            for (long k = 0; k < j; k++) {
                lb[i * n + k] -= s * l[j * n + k];
                lb[j * n + k] -= s * l[i * n + k];
            }
        }
    return total;
}

double lu(const double *given, long n, double *a, long *pivots, double *g) {
    double total = 0.0;
    memcpy(a, given, n * n * sizeof *a);
    for (long k = 0; k < n; k++) {
        long p = k;
        double best = fabs(a[k * n + k]);
        for (long i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > best) p = i, best = fabs(a[i * n + k]);
        pivots[k] = p;
        if (p != k)
            for (long j = 0; j < n; j++) {
                double t = a[k * n + j];
                a[k * n + j] = a[p * n + j], a[p * n + j] = t;
            }
        for (long i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            a[i * n + k] = f; /* kept for the way back */
            for (long j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
        }
        total += log(fabs(a[k * n + k]));
    }
    if (!g) return total;
    memset(g, 0, n * n * sizeof *g);
    for (long k = n; k-- > 0;) {
        double d = a[k * n + k];
        g[k * n + k] += 1.0 / d;
        for (long i = n; i-- > k + 1;) {
            double f = a[i * n + k], s = 0.0;
            for (long j = k + 1; j < n; j++) {
                s -= g[i * n + j] * a[k * n + j];
                g[k * n + j] -= g[i * n + j] * f;
            }
            g[i * n + k] = s / d;
            g[k * n + k] -= s * f / d;
        }
        if (pivots[k] != k)
            for (long j = 0; j < n; j++) { /* the factors of earlier columns go back too */
                double t = g[k * n + j];
                g[k * n + j] = g[pivots[k] * n + j], g[pivots[k] * n + j] = t;
                if (j < k) t = a[k * n + j], a[k * n + j] = a[pivots[k] * n + j], a[pivots[k] * n + j] = t;
            }
    }
    return total;
}

double kmeans(const double *x, long n, const double *c, long k, long d, double *gx, double *gc) {
    double total = 0.0;
    if (gx) memset(gx, 0, n * d * sizeof *gx), memset(gc, 0, k * d * sizeof *gc);
    for (long i = 0; i < n; i++) {
        double best = INFINITY;
        long near = 0;
        for (long m = 0; m < k; m++) {
            double s = 0.0;
            for (long j = 0; j < d; j++) {
                double e = x[i * d + j] - c[m * d + j];
                s += e * e;
            }
            if (s < best) best = s, near = m;
        }
        total += best;
        if (gx)
            for (long j = 0; j < d; j++) {
                double e = 2.0 * (x[i * d + j] - c[near * d + j]);
                gx[i * d + j] += e, gc[near * d + j] -= e;
            }
    }
    return total;
}

/* work: k terms, then k * d rows, d cotangents, then k * d exponentials of q */
double gmm(const double *x, long n, const double *alphas, long k, const double *means, const double *q, const double *lower,
           long d, double *work, double *ga, double *gm, double *gq, double *gl) {
    double *term = work, *rows = term + k, *eq = rows + k * d, total = 0.0;
    long below = d * (d - 1) / 2;
    for (long i = 0; i < k * d; i++) eq[i] = exp(q[i]);
    if (ga) {
        memset(ga, 0, k * sizeof *ga), memset(gm, 0, k * d * sizeof *gm);
        memset(gq, 0, k * d * sizeof *gq), memset(gl, 0, k * below * sizeof *gl);
    }
    for (long i = 0; i < n; i++) {
        const double *xi = x + i * d;
        double top = -INFINITY, sum = 0.0;
        for (long c = 0; c < k; c++) {
            const double *m = means + c * d, *low = lower + c * below;
            double square = 0.0, logs = 0.0;
            for (long r = 0; r < d; r++) {
                double s = eq[c * d + r] * (xi[r] - m[r]);
                for (long j = 0; j < r; j++) s += low[r * (r - 1) / 2 + j] * (xi[j] - m[j]);
                rows[c * d + r] = s;
                square += s * s, logs += q[c * d + r];
            }
            term[c] = alphas[c] + logs - 0.5 * square;
            if (term[c] > top) top = term[c];
        }
        for (long c = 0; c < k; c++) sum += exp(term[c] - top);
        total += top + log(sum);
        if (!ga) continue;
        for (long c = 0; c < k; c++) {
            const double *m = means + c * d, *low = lower + c * below;
            double w = exp(term[c] - top) / sum;
            ga[c] += w;
            for (long r = 0; r < d; r++) {
                double b = -w * rows[c * d + r], e = eq[c * d + r];
                gq[c * d + r] += w + b * e * (xi[r] - m[r]);
                gm[c * d + r] -= b * e;
                for (long j = 0; j < r; j++) {
                    gl[c * below + r * (r - 1) / 2 + j] += b * (xi[j] - m[j]);
                    gm[c * d + j] -= b * low[r * (r - 1) / 2 + j];
                }
            }
        }
    }
    return total;
}

double newton(const double *y, long n, double *steps, double *g) {
    double total = 0.0;
    for (long i = 0; i < n; i++) {
        double x = y[i];
        long count = 0;
        for (;;) {
            double next = 0.5 * (x + y[i] / x);
            int small = fabs(next - x) < 1e-12;
            if (g) steps[count++] = x;
            x = next;
            if (small) break;
        }
        total += x;
        if (!g) continue;
        double b = 1.0, v = 0.0;
        while (count--) {
            double s = steps[count];
            v += 0.5 * b / s;
            b = 0.5 * b * (1.0 - y[i] / (s * s));
        }
        g[i] = v + b;
    }
    return total;
}
