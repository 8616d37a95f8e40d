/* See platform.h. */

#include "platform.h"

#ifdef _WIN32

#include <malloc.h>
#include <process.h>
#include <windows.h>

void *slab_memory(size_t bytes) { return _aligned_malloc(bytes, bytes); }
void slab_release(void *memory, size_t bytes) { (void)bytes, _aligned_free(memory); }
void advise_huge(void *memory, size_t bytes) { (void)memory, (void)bytes; }
void *lines_alloc(size_t bytes) { return _aligned_malloc(bytes, 64); }
void lines_free(void *memory) { _aligned_free(memory); }

double seconds(void) {
    LARGE_INTEGER now, frequency;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    return (double)now.QuadPart / (double)frequency.QuadPart;
}

typedef HANDLE Thread;
typedef unsigned ThreadResult;
#define THREAD_CALL __stdcall

static int thread_start(Thread *thread, ThreadResult(THREAD_CALL *function)(void *), void *argument) {
    *thread = (HANDLE)_beginthreadex(NULL, 0, function, argument, 0, NULL);
    return *thread != NULL;
}

static void thread_join(Thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

#else

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

void *slab_memory(size_t bytes) {
    char *wide = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED) return NULL;
    char *memory = (char *)(((uintptr_t)wide + bytes - 1) & ~(uintptr_t)(bytes - 1));
    if (memory > wide) munmap(wide, (size_t)(memory - wide));
    munmap(memory + bytes, bytes - (size_t)(memory - wide));
    return memory;
}

void slab_release(void *memory, size_t bytes) { munmap(memory, bytes); }

void advise_huge(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

void *lines_alloc(size_t bytes) { return aligned_alloc(64, (bytes + 63) & ~(size_t)63); }
void lines_free(void *memory) { free(memory); }

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef pthread_t Thread;
typedef void *ThreadResult;
#define THREAD_CALL

static int thread_start(Thread *thread, ThreadResult (*function)(void *), void *argument) {
    return pthread_create(thread, NULL, function, argument) == 0;
}

static void thread_join(Thread thread) { pthread_join(thread, NULL); }

#endif

typedef struct {
    void (*work)(void *);
    void *argument;
} Job;

static ThreadResult THREAD_CALL thread_main(void *job) {
    ((Job *)job)->work(((Job *)job)->argument);
    return 0;
}

void run_threads(int threads, void (*work)(void *), void *argument, void (*mine)(void *)) {
    Thread started[MAX_THREADS];
    Job job = {work, argument};
    int n = 0;
    while (n < threads - 1 && n < MAX_THREADS && thread_start(&started[n], thread_main, &job)) n++;
    mine(argument);
    for (int i = 0; i < n; i++) thread_join(started[i]);
}
