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

typedef struct {
    CRITICAL_SECTION lock;
    CONDITION_VARIABLE ended;
} Gate;

static void gate_init(Gate *g) { InitializeCriticalSection(&g->lock), InitializeConditionVariable(&g->ended); }
static void gate_free(Gate *g) { DeleteCriticalSection(&g->lock); }
static void gate_lock(Gate *g) { EnterCriticalSection(&g->lock); }
static void gate_unlock(Gate *g) { LeaveCriticalSection(&g->lock); }
static void gate_signal(Gate *g) { WakeConditionVariable(&g->ended); }
static void gate_wait(Gate *g) { SleepConditionVariableCS(&g->ended, &g->lock, 50); }

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

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
} Gate;

static void gate_init(Gate *g) { pthread_mutex_init(&g->lock, NULL), pthread_cond_init(&g->ended, NULL); }
static void gate_free(Gate *g) { pthread_mutex_destroy(&g->lock), pthread_cond_destroy(&g->ended); }
static void gate_lock(Gate *g) { pthread_mutex_lock(&g->lock); }
static void gate_unlock(Gate *g) { pthread_mutex_unlock(&g->lock); }
static void gate_signal(Gate *g) { pthread_cond_signal(&g->ended); }

static void gate_wait(Gate *g) { /* 50 ms at most */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&g->ended, &g->lock, &until);
}

#endif

typedef struct {
    void (*work)(void *);
    void *argument;
    Gate gate;
    int working;
} Job;

static ThreadResult THREAD_CALL thread_main(void *given) {
    Job *job = given;
    job->work(job->argument);
    gate_lock(&job->gate);
    job->working--;
    gate_signal(&job->gate);
    gate_unlock(&job->gate);
    return 0;
}

void run_threads(int threads, void (*work)(void *), void *argument, void (*mine)(void *), int (*wait)(void *)) {
    if (threads <= 1) {
        mine(argument);
        return;
    }
    Thread started[MAX_THREADS];
    Job job = {.work = work, .argument = argument, .working = 0};
    int n = 0;
    gate_init(&job.gate);
    gate_lock(&job.gate);
    while (n < threads - 1 && n < MAX_THREADS && thread_start(&started[n], thread_main, &job)) n++, job.working++;
    gate_unlock(&job.gate);
    mine(argument);
    gate_lock(&job.gate);
    while (job.working > 0) {
        gate_wait(&job.gate);
        gate_unlock(&job.gate);
        wait(argument); /* it may run Python code: without the lock */
        gate_lock(&job.gate);
    }
    gate_unlock(&job.gate);
    for (int i = 0; i < n; i++) thread_join(started[i]);
    gate_free(&job.gate);
}
