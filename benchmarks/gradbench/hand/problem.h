/* What the functions of an eval are given, and how long they take. Each file says what stands where. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct problem {
    const double *x;    /* the numbers with respect to which the derivative is taken, and in some evals others after them */
    const double *data; /* further numbers */
    const long *size;
    const int *index;
    int *structure; /* written: where the numbers of a sparse matrix stand */
};

void value(const struct problem *given, double *out);
void gradient(const struct problem *given, double *out);

/* Processor seconds of one call, as the mean of `calls`. */
double seconds(int derivative, const struct problem *given, double *out, long calls) {
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (long k = 0; k < calls; k++) {
        (derivative ? gradient : value)(given, out);
        __asm__ volatile("" ::: "memory");
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec)) / (double)calls;
}
