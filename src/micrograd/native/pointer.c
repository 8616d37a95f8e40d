/* Machine code that is called through a C function pointer: by SciPy, Numba, a sampler, or a program in C (compile/llvm/pointers.py).

   The code behind such a pointer says where its arguments lie, and calls mg_enter(). It needs no interpreter lock, and any number of
   threads may call it at once. */

#include <string.h>

#include "code.h"

typedef struct { /* numbers of an argument; a NULL is an array that is not wanted */
    double *at;
    int64_t count;
} Part;

static int never(void *with) {
    (void)with;
    return 0;
}

static int64_t count(const Part *part, int64_t n) {
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) all += part[i].count;
    return all;
}

/* A function of its own, for setjmp leaves variables that change unknown. */
static int run(PointFunction function, const double *in, const double *params, double *out, void *scratch) {
    Running running;
    int failed;
    CALL_CODE(failed, &running, never, NULL, function(in, params, out, scratch));
    return failed;
}

/* 0; 1 where a guard failed; 2 without memory. Nothing is written then. */
int mg_enter(PointFunction function, const double *params, int64_t scratch, const Part *from, int64_t n_from, const Part *to, int64_t n_to) {
    size_t n_in = in_lines((Py_ssize_t)count(from, n_from)), n_out = in_lines((Py_ssize_t)count(to, n_to));
    Workspace *space = workspace_take((n_in + n_out + 8) * sizeof(double) + (size_t)scratch);
    if (space == NULL) return 2;
    double *in = (double *)space->memory, *out = in + n_in, *next = in;
    for (int64_t i = 0; i < n_from; next += from[i++].count) memcpy(next, from[i].at, (size_t)from[i].count * sizeof(double));
    int failed = run(function, in, params, out, out + n_out);
    next = out;
    for (int64_t i = 0; i < n_to && !failed; next += to[i++].count)
        if (to[i].at != NULL) memcpy(to[i].at, next, (size_t)to[i].count * sizeof(double));
    workspace_return(space);
    return failed == CODE_NO_MEMORY ? 2 : failed != 0;
}

int pointer_init(PyObject *module) {
    PyObject *address = PyLong_FromVoidPtr(CAST(&mg_enter));
    int failed = address == NULL || PyModule_AddObjectRef(module, "enter_address", address) < 0;
    Py_XDECREF(address);
    return failed ? -1 : 0;
}
