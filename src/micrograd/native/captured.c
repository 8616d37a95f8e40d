/* The Values that a compiled function has captured, as one list that all its results share.

   A transformer of 4,000 parameters gives one node a call. To count a reference to each parameter, and to copy its partial, took
   as long as half of the machine code: so the node has one reference to this list, and the machine code writes the partials to
   where the node keeps them. */

#include "engine.h"

PyTypeObject *CapturedType;

/* captured(list of Values) -> the same as a Captured; the list itself where one is in it twice, or has a class of its own */
PyObject *module_captured(PyObject *module, PyObject *list) {
    (void)module;
    if (!PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_TypeError, "captured() takes a list of Values");
        return NULL;
    }
    PyObject *all = PyList_AsTuple(list); /* to allocate may run the collector, and that may run anything */
    if (all == NULL) return NULL;
    unmark_suspended();
    Py_ssize_t n = PyTuple_GET_SIZE(all), seen = 0;
    for (; seen < n; seen++) {
        Node *v = (Node *)PyTuple_GET_ITEM(all, seen);
        if (!Py_IS_TYPE((PyObject *)v, ValueType) || (v->flags & VISITED)) break;
        v->flags |= VISITED;
    }
    for (Py_ssize_t i = 0; i < seen; i++) ((Node *)PyTuple_GET_ITEM(all, i))->flags &= (uint8_t)~VISITED;
    Captured *c = seen < n ? NULL : PyObject_GC_NewVar(Captured, CapturedType, n);
    if (c != NULL) {
        c->checked = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            c->item[i] = (Node *)Py_NewRef(PyTuple_GET_ITEM(all, i));
            c->item[i]->flags |= CONSUMED;
        }
        PyObject_GC_Track(c);
    }
    Py_DECREF(all);
    return seen < n ? Py_NewRef(list) : (PyObject *)c;
}

static int captured_traverse(Captured *c, visitproc visit, void *arg) { /* no clear: the nodes of every cycle have one */
    Py_VISIT(Py_TYPE(c));
    for (Py_ssize_t i = 0; i < Py_SIZE(c); i++) Py_VISIT(c->item[i]);
    return 0;
}

static void captured_dealloc(Captured *c) {
    PyTypeObject *type = Py_TYPE(c);
    PyObject_GC_UnTrack(c);
    for (Py_ssize_t i = 0; i < Py_SIZE(c); i++) Py_DECREF(c->item[i]);
    PyObject_GC_Del(c);
    Py_DECREF(type);
}

static Py_ssize_t captured_length(Captured *c) { return Py_SIZE(c); }

static PyType_Slot captured_slots[] = {
    {Py_tp_doc, "The Values that a compiled function reads and differentiates by: each of them once."},
    {Py_tp_dealloc, captured_dealloc},
    {Py_tp_traverse, captured_traverse},
    {Py_sq_length, captured_length},
    {0, NULL},
};

PyType_Spec captured_spec = {
    .name = "micrograd.compile.Captured",
    .basicsize = offsetof(Captured, item),
    .itemsize = sizeof(Node *),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = captured_slots,
};

void captured_read(const Captured *c, double *to) { /* to prefetch was no faster, for nodes in any order */
    for (Py_ssize_t i = 0, n = Py_SIZE(c); i < n; i++) to[i] = c->item[i]->data;
}

/* Whether a sweep may write to all of them without asking each: looked at anew only when some Value in the process has changed
   in such a way since. */
int captured_leaves(Captured *c) {
    if (c->checked != changes) {
        c->leaves = 1;
        for (Py_ssize_t i = 0; i < Py_SIZE(c) && c->leaves; i++)
            c->leaves = is_leaf(c->item[i]) && !(c->item[i]->flags & HOOKED) && Py_IS_TYPE((PyObject *)c->item[i], ValueType);
        c->checked = changes;
    }
    return c->leaves;
}

static Shared *spare_shared; /* the last that was freed: a training step makes one and frees one */

void shared_free(Shared *s) {
    PyObject *owner = s->owner;
#ifndef MICROGRAD_SANITIZE
    Shared *kept = spare_shared;
    spare_shared = s;
    s = kept;
#endif
    PyMem_Free(s);
    Py_DECREF(owner);
}

/* Room for the partials of a node over these; `out` is where machine code may write a value and then the partials. */
Shared *shared_new(Captured *c, double **out) {
    Py_ssize_t n = Py_SIZE(c);
    Shared *s = spare_shared;
    if (s != NULL && s->room >= n && s->room / 4 <= n) {
        spare_shared = NULL;
    } else {
        s = PyMem_Malloc(sizeof(Shared) + (size_t)(n + 1) * sizeof(double) + 128);
        if (s == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        s->room = n;
    }
    *out = (double *)(((uintptr_t)(s + 1) + 63) & ~(uintptr_t)63) + 7; /* so that the partials begin a cache line */
    s->block = (Block){n, c->item, *out + 1};
    s->owner = Py_NewRef((PyObject *)c);
    return s;
}

/* A node over them; takes the room, where the partials are already. */
PyObject *make_shared(int op, double y, Shared *s) {
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) {
        shared_free(s);
        return (PyObject *)out;
    }
    out->op = (uint16_t)op;
    out->flags |= MANY | SHARED;
    out->block = &s->block;
    node_track(out); /* whether something behind it is tracked would have to be asked of each */
    return made(out);
}
