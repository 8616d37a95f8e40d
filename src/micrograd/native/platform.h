/* What differs between operating systems and compilers: memory by the slab, threads, a clock, functions for several widths. */

#ifndef MICROGRAD_PLATFORM_H
#define MICROGRAD_PLATFORM_H

#include <stddef.h>
#include <stdatomic.h>
#include <stdlib.h>

/* One function for each width of vector registers, chosen when the module is loaded. Nothing is compiled with a contracted
   a*b + c, so all of them round alike. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(MICROGRAD_SANITIZE)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

void *slab_memory(size_t bytes); /* aligned to its size, a power of two; NULL without memory */
void slab_release(void *memory, size_t bytes);
void advise_huge(void *memory, size_t bytes); /* large pages for this memory, where the system has them */

void *lines_alloc(size_t bytes); /* aligned to 64 bytes; NULL without memory */
void lines_free(void *memory);

double seconds(void); /* of a clock that never goes back */

#define MAX_THREADS 64

/* work on threads - 1, mine here; all end. While others go on, `wait` is called here now and then. */
void run_threads(int threads, void (*work)(void *), void *argument, void (*mine)(void *), int (*wait)(void *));

#endif
