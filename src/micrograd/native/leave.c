/* Leaving machine code in the middle of a run: for Ctrl-C in a loop that goes on for long, and where there is no memory for
   what a loop keeps.

   A loop of the machine code calls mg_pause() every few thousand iterations, and mg_alloc() where its arrays grow. Both jump back to
   where the code was called from, if there is a reason to. What mg_alloc gave is freed then. The code holds nothing else. */

#include <stdlib.h>

#include "code.h"
#include "platform.h"

struct Grown {
    Grown *next, **held_by;
};

#define HEAD 64 /* bytes in front of what is given away, which is aligned to as many */

_Thread_local Running *thread_running;

void mg_pause(void) {
    Running *r = thread_running;
    if (r != NULL && r->asked(r->with)) LONGJMP(r->back, CODE_INTERRUPTED);
}

void *mg_alloc(int64_t bytes) {
    Running *r = thread_running;
    Grown *g = bytes >= 0 && bytes < PTRDIFF_MAX - 2 * HEAD ? lines_alloc((size_t)bytes + HEAD) : NULL;
    if (g == NULL) {
        if (r == NULL) abort(); /* nobody to return to: not called by this engine */
        LONGJMP(r->back, CODE_NO_MEMORY);
    }
    g->next = NULL;
    g->held_by = NULL;
    if (r != NULL) {
        g->next = r->grown;
        if (g->next != NULL) g->next->held_by = &g->next;
        g->held_by = &r->grown;
        r->grown = g;
    }
    return (char *)g + HEAD;
}

void mg_free(void *memory) {
    if (memory == NULL) return;
    Grown *g = (Grown *)((char *)memory - HEAD);
    if (g->held_by != NULL) *g->held_by = g->next;
    if (g->next != NULL) g->next->held_by = g->held_by;
    lines_free(g);
}

void code_enter(Running *r, int (*asked)(void *), void *with) {
    r->outer = thread_running; /* a signal handler may run another function in the middle of this one */
    r->grown = NULL;
    r->asked = asked;
    r->with = with;
    thread_running = r;
}

int code_left(Running *r, int how) {
    thread_running = r->outer;
    while (r->grown != NULL) {
        Grown *g = r->grown;
        r->grown = g->next;
        lines_free(g);
    }
    return how;
}

/* Twenty times a second, let Python handle its signals; whether a handler raised, as that of Ctrl-C does. `caller` has the thread
   state of a thread that has given the interpreter lock away, NULL of one that holds it. */
int signals_raised(PyThreadState **caller, double *looked) {
    double now = seconds();
    if (now - *looked < 0.05) return 0;
    *looked = now;
    if (*caller == NULL) return PyErr_CheckSignals() < 0;
    PyEval_RestoreThread(*caller);
    int raised = PyErr_CheckSignals() < 0;
    *caller = PyEval_SaveThread();
    return raised;
}

int point_asked(void *with) {
    Listening *l = with;
    return signals_raised(&l->caller, &l->looked);
}

int leave_init(PyObject *module) {
    struct { const char *name; void *address; } given[] = {{"pause_address", CAST(&mg_pause)}, {"alloc_address", CAST(&mg_alloc)},
                                                           {"free_address", CAST(&mg_free)}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        PyObject *address = PyLong_FromVoidPtr(given[i].address);
        int failed = address == NULL || PyModule_AddObjectRef(module, given[i].name, address) < 0;
        Py_XDECREF(address);
        if (failed) return -1;
    }
    return 0;
}
