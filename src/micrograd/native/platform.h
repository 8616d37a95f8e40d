/* What differs between operating systems: memory by the slab, threads, a clock, atomic numbers. */

#ifndef MICROGRAD_PLATFORM_H
#define MICROGRAD_PLATFORM_H

#include <stddef.h>
#include <stdatomic.h>

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
