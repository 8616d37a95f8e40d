/* All parameters as one vector, for a line search and for running means of parameters. */

#include "optim_slots.h"
#include <string.h>

typedef struct {
    Py_buffer view[2];
    int n;
} Pair;

static void pair_release(Pair *p) {
    while (p->n) PyBuffer_Release(&p->view[--p->n]);
}

static int pair_take(Pair *p, PyObject *a, PyObject *b) { /* two buffers of as many doubles; b, if any, is written to */
    PyObject *given[2] = {a, b};
    p->n = 0;
    for (int i = 0; i < 2 && given[i] != NULL; i++) {
        if (PyObject_GetBuffer(given[i], &p->view[i], (i ? PyBUF_WRITABLE : 0) | PyBUF_FORMAT | PyBUF_ND) < 0) return -1;
        p->n++;
        if (p->view[i].format == NULL || strcmp(p->view[i].format, "d") != 0 || p->view[i].len != p->view[0].len) {
            PyErr_SetString(PyExc_ValueError, "vectors are buffers of doubles, of one length");
            return -1;
        }
    }
    return 0;
}

/* dot(a, b) -> Σ a·b, in four sums that are added at the end */
PyObject *slots_dot(PyObject *type, PyObject *args) {
    (void)type;
    PyObject *a, *b, *result = NULL;
    Pair p;
    if (!PyArg_ParseTuple(args, "OO:dot", &a, &b)) return NULL;
    if (pair_take(&p, a, b) == 0) {
        const double *x = p.view[0].buf, *y = p.view[1].buf;
        double lane[4] = {0.0, 0.0, 0.0, 0.0};
        for (Py_ssize_t i = 0; i < p.view[0].len / (Py_ssize_t)sizeof(double); i++) lane[i & 3] += x[i] * y[i];
        result = PyFloat_FromDouble((lane[0] + lane[1]) + (lane[2] + lane[3]));
    }
    pair_release(&p);
    return result;
}

/* add(factor, x, y): y += factor * x */
PyObject *slots_add(PyObject *type, PyObject *args) {
    (void)type;
    PyObject *a, *b;
    double factor;
    Pair p;
    if (!PyArg_ParseTuple(args, "dOO:add", &factor, &a, &b)) return NULL;
    int ready = pair_take(&p, a, b) == 0;
    if (ready) {
        const double *x = p.view[0].buf;
        double *y = p.view[1].buf;
        for (Py_ssize_t i = 0; i < p.view[0].len / (Py_ssize_t)sizeof(double); i++) y[i] += factor * x[i];
    }
    pair_release(&p);
    if (!ready) return NULL;
    Py_RETURN_NONE;
}

/* copy(what, buffer): "read" the data, "write" them, or read the "gradients"; frozen parameters have gradient 0 and stay */
PyObject *slots_copy(Slots *s, PyObject *args) {
    const char *what;
    PyObject *buffer;
    if (!PyArg_ParseTuple(args, "sO:copy", &what, &buffer)) return NULL;
    int write = what[0] == 'w', gradient = what[0] == 'g';
    Py_buffer view;
    if (write && slots_announce(s, "data =") < 0) return NULL;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND) < 0) return NULL;
    int fits = view.format != NULL && strcmp(view.format, "d") == 0 && view.len == s->n * (Py_ssize_t)sizeof(double);
    double *x = view.buf;
    if (gradient) look_at_gradients();
    for (Py_ssize_t i = 0; fits && i < s->n; i++) {
        if (write && !is_frozen(s, i)) s->at[i][0] = x[i];
        if (!write) x[i] = gradient ? (is_frozen(s, i) ? 0.0 : s->at[i][1]) : s->at[i][0];
    }
    if (write) ++*value_layout.data_changes;
    PyBuffer_Release(&view);
    if (!fits) return PyErr_Format(PyExc_ValueError, "copy() takes a buffer of %zd doubles", s->n);
    Py_RETURN_NONE;
}
