/* k-means. x: k centroids; data: n points; size: k, n, d.
   gradient: the step of Newton's method, from each centroid to the mean of its points, with its sign turned. */
#include "problem.h"

static long closest(const double *restrict point, const double *restrict centroids, long k, long d, double *least) {
    long found = 0;
    *least = INFINITY;
    for (long j = 0; j < k; j++) {
        double distance = 0.0;
        for (long l = 0; l < d; l++) {
            double apart = point[l] - centroids[j * d + l];
            distance += apart * apart;
        }
        if (distance < *least) {
            *least = distance;
            found = j;
        }
    }
    return found;
}

void value(const struct problem *given, double *out) {
    long k = given->size[0], n = given->size[1], d = given->size[2];
    double total = 0.0, least;
    for (long i = 0; i < n; i++) {
        closest(given->data + i * d, given->x, k, d, &least);
        total += least;
    }
    out[0] = total;
}

void gradient(const struct problem *given, double *out) {
    long k = given->size[0], n = given->size[1], d = given->size[2];
    long *members = calloc((size_t)k, sizeof *members);
    double least;
    memset(out, 0, (size_t)(k * d) * sizeof *out);
    for (long i = 0; i < n; i++) {
        const double *point = given->data + i * d;
        long j = closest(point, given->x, k, d, &least);
        members[j]++;
        for (long l = 0; l < d; l++)
            out[j * d + l] += point[l];
    }
    for (long j = 0; j < k; j++)
        for (long l = 0; l < d; l++)
            out[j * d + l] = given->x[j * d + l] - out[j * d + l] / (double)members[j];
    free(members);
}
