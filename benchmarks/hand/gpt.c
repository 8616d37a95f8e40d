/* One step of a character transformer, by hand: GPT(vocabulary=27, block=16, width=16, heads=4, layers=1) with 4,192 parameters,
   the mean cross entropy of the next token over the places of a name, and all gradients.

   Parameters lie as Module.parameters() gives them: tokens, positions, query, key, value, out, up, down, head. Matrices are
   turned once a call, so that every inner loop runs over contiguous numbers, eight of them in a vector. */
#include "adam.h"
#include "clock.h"
#include <math.h>
#include <string.h>

#define C 16
#define V 27
#define VP 32
#define F 64
#define HEADS 4
#define D 4
#define T 16
#define EPS 1e-5

enum { TOKENS = 0, POSITIONS = V * C, Q = POSITIONS + T * C, K = Q + C * C, VAL = K + C * C, OUT = VAL + C * C, UP = OUT + C * C,
       DOWN = UP + F * C, HEAD = DOWN + C * F, PARAMS = HEAD + V * C };

typedef double vec __attribute__((vector_size(64), aligned(8)));

static inline vec at(const double *x) { return *(const vec *)x; }
static inline void put(double *x, vec y) { *(vec *)x = y; }

/* y = m x, over the columns of m, each turned into `rows` contiguous numbers */
static inline __attribute__((always_inline)) void apply(double *restrict y, const double *restrict turned, const double *restrict x, int rows, int columns) {
    vec sum[8] = {{0}};
    for (int i = 0; i < columns; i++)
        for (int o = 0; o < rows / 8; o++) sum[o] += at(turned + i * rows + 8 * o) * x[i];
    for (int o = 0; o < rows / 8; o++) put(y + 8 * o, sum[o]);
}

/* dx += mᵀ dy, dm += dy xᵀ */
static inline __attribute__((always_inline)) void sweep(double *restrict dx, double *restrict dm, const double *restrict m, const double *restrict x, const double *restrict dy, int rows, int columns) {
    vec sum[8], xs[8];
    for (int i = 0; i < columns / 8; i++) sum[i] = at(dx + 8 * i), xs[i] = at(x + 8 * i);
    for (int o = 0; o < rows; o++)
        for (int i = 0; i < columns / 8; i++) {
            sum[i] += at(m + o * columns + 8 * i) * dy[o];
            put(dm + o * columns + 8 * i, at(dm + o * columns + 8 * i) + dy[o] * xs[i]);
        }
    for (int i = 0; i < columns / 8; i++) put(dx + 8 * i, sum[i]);
}

static void turn(const double *m, double *to, int rows, int columns, int padded) {
    for (int o = 0; o < rows; o++)
        for (int i = 0; i < columns; i++) to[i * padded + o] = m[o * columns + i];
}

static double norm(const double *x, double *y) {
    double sum = 0.0;
    for (int i = 0; i < C; i++) sum += x[i] * x[i];
    double scale = 1.0 / sqrt(sum / C + EPS);
    for (int i = 0; i < C; i++) y[i] = x[i] * scale;
    return scale;
}

static void norm_sweep(const double *x, double scale, const double *dy, double *dx) {
    double dot = 0.0;
    for (int i = 0; i < C; i++) dot += dy[i] * x[i];
    double pull = -dot * scale * scale * scale / C;
    for (int i = 0; i < C; i++) dx[i] += dy[i] * scale + pull * x[i];
}

typedef struct {
    double tq[C * C], tk[C * C], tv[C * C], to[C * C], tu[C * F], td[F * C], th[C * VP];
} Turned;

static void turn_all(const double *p, Turned *w) {
    memset(w->th, 0, sizeof w->th);
    turn(p + Q, w->tq, C, C, C), turn(p + K, w->tk, C, C, C), turn(p + VAL, w->tv, C, C, C), turn(p + OUT, w->to, C, C, C);
    turn(p + UP, w->tu, F, C, F), turn(p + DOWN, w->td, C, F, C), turn(p + HEAD, w->th, V, C, VP);
}

static double name(const int *tokens, const int *next, int n, const double *restrict p, const Turned *restrict w, double *restrict g, int want) {
    double e[T][C], x[T][C], xn[T][C], q[T][C], k[T][C], v[T][C], att[T][HEADS][T], mixed[T][C], x2[T][C], x2n[T][C], u[T][F], x3[T][C];
    double logits[T][VP], se[T], s1[T], s2[T], loss = 0.0;
    const double scale = 0.5; /* 1/√4 */
    for (int t = 0; t < n; t++) {
        for (int i = 0; i < C; i++) e[t][i] = p[TOKENS + tokens[t] * C + i] + p[POSITIONS + t * C + i];
        se[t] = norm(e[t], x[t]);
        s1[t] = norm(x[t], xn[t]);
        apply(q[t], w->tq, xn[t], C, C);
        apply(k[t], w->tk, xn[t], C, C);
        apply(v[t], w->tv, xn[t], C, C);
        for (int h = 0; h < HEADS; h++) {
            double top = -INFINITY, sum = 0.0, *a = att[t][h];
            for (int j = 0; j <= t; j++) {
                a[j] = 0.0;
                for (int i = 0; i < D; i++) a[j] += q[t][h * D + i] * k[j][h * D + i];
                a[j] *= scale;
                if (a[j] > top) top = a[j];
            }
            for (int j = 0; j <= t; j++) a[j] = exp(a[j] - top), sum += a[j];
            for (int j = 0; j <= t; j++) a[j] /= sum;
            for (int i = 0; i < D; i++) mixed[t][h * D + i] = 0.0;
            for (int j = 0; j <= t; j++)
                for (int i = 0; i < D; i++) mixed[t][h * D + i] += a[j] * v[j][h * D + i];
        }
        apply(x2[t], w->to, mixed[t], C, C);
        for (int i = 0; i < C; i++) x2[t][i] += x[t][i];
        s2[t] = norm(x2[t], x2n[t]);
        apply(u[t], w->tu, x2n[t], F, C);
        for (int i = 0; i < F; i++) u[t][i] = u[t][i] > 0.0 ? u[t][i] : 0.0;
        apply(x3[t], w->td, u[t], C, F);
        for (int i = 0; i < C; i++) x3[t][i] += x2[t][i];
        apply(logits[t], w->th, x3[t], VP, C);
        double top = -INFINITY, sum = 0.0;
        for (int o = 0; o < V; o++) top = logits[t][o] > top ? logits[t][o] : top;
        loss += top - logits[t][next[t]];
        for (int o = 0; o < V; o++) logits[t][o] = exp(logits[t][o] - top), sum += logits[t][o];
        loss += log(sum);
        for (int o = 0; o < V; o++) logits[t][o] /= sum; /* from here on: probabilities */
    }
    if (!want) return loss / n;
    double dx[T][C] = {{0}}, dk[T][C] = {{0}}, dv[T][C] = {{0}}, dq[T][C];
    for (int t = n - 1; t >= 0; t--) {
        double dl[V], d3[C] = {0}, du[F] = {0}, dn[C] = {0}, dm[C] = {0};
        for (int o = 0; o < V; o++) dl[o] = logits[t][o] / n;
        dl[next[t]] -= 1.0 / n;
        sweep(d3, g + HEAD, p + HEAD, x3[t], dl, V, C);
        sweep(du, g + DOWN, p + DOWN, u[t], d3, C, F);
        for (int i = 0; i < F; i++) du[i] = u[t][i] > 0.0 ? du[i] : 0.0;
        sweep(dn, g + UP, p + UP, x2n[t], du, F, C);
        norm_sweep(x2[t], s2[t], dn, d3); /* d3 is now the gradient of x2 */
        for (int i = 0; i < C; i++) dx[t][i] += d3[i];
        sweep(dm, g + OUT, p + OUT, mixed[t], d3, C, C);
        for (int i = 0; i < C; i++) dq[t][i] = 0.0;
        for (int h = 0; h < HEADS; h++) {
            double da[T], *a = att[t][h], dot = 0.0;
            for (int j = 0; j <= t; j++) {
                da[j] = 0.0;
                for (int i = 0; i < D; i++) {
                    da[j] += dm[h * D + i] * v[j][h * D + i];
                    dv[j][h * D + i] += a[j] * dm[h * D + i];
                }
                dot += da[j] * a[j];
            }
            for (int j = 0; j <= t; j++) {
                double ds = a[j] * (da[j] - dot) * scale;
                for (int i = 0; i < D; i++) {
                    dq[t][h * D + i] += ds * k[j][h * D + i];
                    dk[j][h * D + i] += ds * q[t][h * D + i];
                }
            }
        }
    }
    for (int t = 0; t < n; t++) {
        double dn[C] = {0}, de[C] = {0};
        sweep(dn, g + Q, p + Q, xn[t], dq[t], C, C);
        sweep(dn, g + K, p + K, xn[t], dk[t], C, C);
        sweep(dn, g + VAL, p + VAL, xn[t], dv[t], C, C);
        norm_sweep(x[t], s1[t], dn, dx[t]);
        norm_sweep(e[t], se[t], dx[t], de);
        for (int i = 0; i < C; i++) g[TOKENS + tokens[t] * C + i] += de[i], g[POSITIONS + t * C + i] += de[i];
    }
    return loss / n;
}

/* names: for each of `count` the n tokens, with the n that follow them in next; grads of the mean over names; returns the mean */
double gpt(const int *tokens, const int *next, int n, int count, const double *p, double *grads, int want) {
    Turned w;
    double loss = 0.0;
    turn_all(p, &w);
    if (want) memset(grads, 0, PARAMS * sizeof(double));
    for (int b = 0; b < count; b++) loss += name(tokens + b * n, next + b * n, n, p, &w, grads, want);
    if (want && count > 1)
        for (int i = 0; i < PARAMS; i++) grads[i] /= count;
    return loss / count;
}

double time_gpt(const int *tokens, const int *next, int n, int count, const double *p, double *grads, int want, int reps) {
    TIMED(gpt(tokens, next, n, count, p, grads, want));
}

static double gpt_step(const int *tokens, const int *next, int n, double *p, double *grads, Adam *a) {
    double loss = gpt(tokens, next, n, 1, p, grads, 1);
    adam(PARAMS, p, grads, a, falling(a));
    return loss;
}

double time_gpt_step(const int *tokens, const int *next, int n, double *p, double *grads, double *mean, double *square, int reps) {
    Adam a = {mean, square, 0};
    TIMED(gpt_step(tokens, next, n, p, grads, &a));
}
