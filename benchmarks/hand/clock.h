/* Seconds of one call: `reps` calls between two looks at the clock. */
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TIMED(call)                          \
    double start = now();                    \
    for (int rep = 0; rep < reps; rep++) {   \
        call;                                \
        __asm__ volatile("" ::: "memory");   \
    }                                        \
    return (now() - start) / reps
