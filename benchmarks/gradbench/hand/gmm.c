/* The log posterior of a mixture of Gaussians. x: alpha (k), mu (k d), q (k d), l (k d (d - 1) / 2);
   data: n points, gamma; size: d, k, n, m. gradient: in the order of x. */
#include "problem.h"

struct mixture {
    long d, k, n, m, lower; /* lower: numbers in a strictly lower triangle */
    const double *alpha, *mu, *q, *l, *points;
    double gamma;
    double *diagonals, *sums; /* exp(q), and the sums of q */
};

static struct mixture unpack(const struct problem *given) {
    struct mixture g = {given->size[0], given->size[1], given->size[2], given->size[3], 0,
                        given->x,       NULL,           NULL,           NULL,           given->data, 0.0, NULL, NULL};
    g.lower = g.d * (g.d - 1) / 2;
    g.mu = g.alpha + g.k;
    g.q = g.mu + g.k * g.d;
    g.l = g.q + g.k * g.d;
    g.gamma = given->data[g.n * g.d];
    g.diagonals = malloc((size_t)(g.k * g.d + g.k) * sizeof *g.diagonals);
    g.sums = g.diagonals + g.k * g.d;
    for (long k = 0; k < g.k; k++) {
        g.sums[k] = 0.0;
        for (long j = 0; j < g.d; j++) {
            g.diagonals[k * g.d + j] = exp(g.q[k * g.d + j]);
            g.sums[k] += g.q[k * g.d + j];
        }
    }
    return g;
}

static double logsumexp(const double *x, long n) {
    double top = x[0], sum = 0.0;
    for (long i = 1; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (long i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

/* z = point - mu and Q z for one component; the exponent of its density. */
static double term(const struct mixture *g, const double *restrict point, long k, double *restrict z, double *restrict qz) {
    const double *mu = g->mu + k * g->d, *diagonal = g->diagonals + k * g->d, *l = g->l + k * g->lower;
    long d = g->d;
    for (long j = 0; j < d; j++) {
        z[j] = point[j] - mu[j];
        qz[j] = diagonal[j] * z[j];
    }
    for (long j = 0; j < d; j++) {
        double zj = z[j];
        for (long i = j + 1; i < d; i++)
            qz[i] += l[i - j - 1] * zj;
        l += d - j - 1;
    }
    double norm = 0.0;
    for (long j = 0; j < d; j++)
        norm += qz[j] * qz[j];
    return g->alpha[k] + g->sums[k] - 0.5 * norm;
}

static double constants(const struct mixture *g) {
    double n = (double)(g->d + g->m + 1), log_gamma = 0.25 * (double)(g->d * (g->d - 1)) * log(M_PI);
    for (long j = 0; j < g->d; j++)
        log_gamma += lgamma(0.5 * (n - (double)j));
    double prior = n * (double)g->d * log(g->gamma / sqrt(2.0)) - log_gamma;
    return (double)g->k * prior - (double)(g->n * g->d) * 0.5 * log(2.0 * M_PI);
}

void value(const struct problem *given, double *out) {
    struct mixture g = unpack(given);
    double *z = malloc((size_t)(2 * g.d + g.k) * sizeof *z), *qz = z + g.d, *terms = qz + g.d;
    double total = constants(&g) - (double)g.n * logsumexp(g.alpha, g.k);
    for (long i = 0; i < g.n; i++) {
        for (long k = 0; k < g.k; k++)
            terms[k] = term(&g, g.points + i * g.d, k, z, qz);
        total += logsumexp(terms, g.k);
    }
    for (long k = 0; k < g.k; k++) {
        double norm = 0.0;
        for (long j = 0; j < g.d; j++)
            norm += g.diagonals[k * g.d + j] * g.diagonals[k * g.d + j];
        for (long j = 0; j < g.lower; j++)
            norm += g.l[k * g.lower + j] * g.l[k * g.lower + j];
        total += (double)g.m * g.sums[k] - 0.5 * g.gamma * g.gamma * norm;
    }
    out[0] = total;
    free(g.diagonals);
    free(z);
}

/* Add the slope of share * term(k) to those of mu, of the diagonal of Q and of its lower triangle. */
static void add_slopes(const struct mixture *g, long k, double share, const double *restrict z, const double *restrict qz,
                       double *restrict of_z, double *restrict of_mu, double *restrict of_diagonal, double *restrict of_l) {
    const double *diagonal = g->diagonals + k * g->d, *l = g->l + k * g->lower;
    long d = g->d;
    for (long j = 0; j < d; j++) {
        of_diagonal[j] -= share * qz[j] * z[j];
        of_z[j] = diagonal[j] * qz[j];
    }
    for (long j = 0; j < d; j++) {
        double by = share * z[j], sum = 0.0;
        for (long i = j + 1; i < d; i++) {
            of_l[i - j - 1] -= by * qz[i];
            sum += l[i - j - 1] * qz[i];
        }
        of_z[j] += sum;
        l += d - j - 1;
        of_l += d - j - 1;
    }
    for (long j = 0; j < d; j++)
        of_mu[j] += share * of_z[j];
}

void gradient(const struct problem *given, double *out) {
    struct mixture g = unpack(given);
    long d = g.d, each = 2 * d;
    double *room = malloc((size_t)(each * g.k + g.k + d) * sizeof *room), *terms = room + each * g.k, *of_z = terms + g.k;
    double *of_alpha = out, *of_mu = of_alpha + g.k, *of_q = of_mu + g.k * d, *of_l = of_q + g.k * d;
    double all = logsumexp(g.alpha, g.k);
    memset(out, 0, (size_t)(g.k + 2 * g.k * d + g.k * g.lower) * sizeof *out);
    for (long i = 0; i < g.n; i++) {
        for (long k = 0; k < g.k; k++)
            terms[k] = term(&g, g.points + i * d, k, room + each * k, room + each * k + d);
        double log_sum = logsumexp(terms, g.k);
        for (long k = 0; k < g.k; k++) {
            double share = exp(terms[k] - log_sum), *z = room + each * k;
            of_alpha[k] += share;
            add_slopes(&g, k, share, z, z + d, of_z, of_mu + k * d, of_q + k * d, of_l + k * g.lower);
        }
    }
    double squared = g.gamma * g.gamma;
    for (long k = 0; k < g.k; k++) { /* so far of_q has the slope with respect to exp(q), without what the sums of q add */
        double shares = of_alpha[k];
        of_alpha[k] -= (double)g.n * exp(g.alpha[k] - all);
        for (long j = 0; j < d; j++) {
            double e = g.diagonals[k * d + j];
            of_q[k * d + j] = (of_q[k * d + j] - squared * e) * e + shares + (double)g.m;
        }
        for (long j = 0; j < g.lower; j++)
            of_l[k * g.lower + j] -= squared * g.l[k * g.lower + j];
    }
    free(g.diagonals);
    free(room);
}
