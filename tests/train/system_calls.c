/* In front of libc: system call number n on files fails, or ends the process. test_system_calls.py loads it by LD_PRELOAD. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static int at, how, seen; /* which call; an errno, or -1 to be killed; calls so far */

void faults_begin(int call, int error) { seen = 0, at = call, how = error; }
int faults_end(void) { at = 0; return seen; }

static int fails(void) {
    if (at == 0 || ++seen != at) return 0;
    if (how < 0) kill(getpid(), SIGKILL);
    errno = how;
    return 1;
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MODE(after) \
    va_list list; \
    va_start(list, after); \
    mode_t mode = va_arg(list, mode_t); \
    va_end(list)

int open(const char *path, int flags, ...) { MODE(flags); NEXT(open); return fails() ? -1 : next(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); NEXT(open64); return fails() ? -1 : next(path, flags, mode); }
int openat(int d, const char *path, int flags, ...) { MODE(flags); NEXT(openat); return fails() ? -1 : next(d, path, flags, mode); }
ssize_t write(int file, const void *from, size_t bytes) { NEXT(write); return fails() ? -1 : next(file, from, bytes); }
ssize_t read(int file, void *to, size_t bytes) { NEXT(read); return fails() ? -1 : next(file, to, bytes); }
int fsync(int file) { NEXT(fsync); return fails() ? -1 : next(file); }
int ftruncate64(int file, off64_t bytes) { NEXT(ftruncate64); return fails() ? -1 : next(file, bytes); }
int ftruncate(int file, off_t bytes) { NEXT(ftruncate); return fails() ? -1 : next(file, bytes); }
int rename(const char *from, const char *to) { NEXT(rename); return fails() ? -1 : next(from, to); }
int chmod(const char *path, mode_t mode) { NEXT(chmod); return fails() ? -1 : next(path, mode); }
int unlink(const char *path) { NEXT(unlink); return fails() ? -1 : next(path); }
int close(int file) { NEXT(close); int broken = fails(), done = next(file); return broken ? (errno = how, -1) : done; }
