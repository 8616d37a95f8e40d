/* Optimizers over the data and gradients of many Values: see optim.c. */
#ifndef MICROGRAD_OPTIM_H
#define MICROGRAD_OPTIM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* What optim.c needs to know of a Value. Its gradient lies directly behind its data. `watched` is told that the data or the
   gradients of a Value are about to change, and returns -1 with an exception where that is refused (inside a trace). */
typedef struct {
    PyTypeObject *type;
    Py_ssize_t data_offset;
    int (*watched)(const char *how, PyObject *value);
    /* The partials of a root behind which there are leaves alone, as compiled code makes it: one for each of the n leaves, which
       `owner` keeps; NULL for any other root. */
    const double *(*leaf_partials)(PyObject *root, PyObject **owner, PyObject *const **leaves, Py_ssize_t *n);
    void (*look_at_gradients)(void); /* called before any gradient is read or written: sums may wait elsewhere (captured.c) */
    size_t *data_changes;            /* counted up when the data of Values have been written */
} ValueLayout;

/* Add the type Slots to the module; 0, or -1 with an exception. */
int optim_add(PyObject *module, const ValueLayout *layout);

#endif
