/* The Values that a compiled function has captured, as one list that all its results share.

   A transformer of 4,000 parameters gives one node a call. To count a reference to each parameter, and to copy its partial, took
   as long as half of the machine code: so the node has one reference to this list, and the machine code writes the partials to
   where the node keeps them. */

#include "engine.h"
#include "platform.h"

PyTypeObject *CapturedType;
size_t data_changes, gradient_looks;
Captured *ahead;
int sweeping;

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
        c->checked = c->read = c->looks = 0;
        c->numbers = NULL;
        c->gradients = NULL;
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
    if (ahead == c) gradients_arrive();
    if (c->numbers != NULL) captured_give(c->numbers);
    PyMem_Free(c->gradients);
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

/* ---- their data in a row

   To read 4,000 Values of 96 bytes takes 3 µs, and the machine code of a small transformer 11. So what was read is kept until the
   data of some Value in the process are assigned. A run that is under way in another thread keeps its own. */

void captured_give(Numbers *numbers) {
    if (--numbers->users == 0) lines_free(numbers);
}

Numbers *captured_take(Captured *c) {
    Numbers *now = c->numbers;
    if (now == NULL || c->read != data_changes) {
        if (now == NULL || now->users > 1) {
            Numbers *more = lines_alloc(sizeof(Numbers) + (size_t)Py_SIZE(c) * sizeof(double));
            if (more == NULL) {
                PyErr_NoMemory();
                return NULL;
            }
            if (now != NULL) captured_give(now);
            c->numbers = now = more;
            now->users = 1;
        }
        captured_read(c, now->number);
        c->read = data_changes;
    }
#ifdef MICROGRAD_SANITIZE
    for (Py_ssize_t i = 0; i < Py_SIZE(c); i++)
        if (memcmp(&now->number[i], &c->item[i]->data, sizeof(double)) != 0) Py_FatalError("somebody has assigned data, and not counted it");
#endif
    now->users++;
    return now;
}

/* ---- their gradients in a row

   Where several results are swept one after the other, and nobody looks at a gradient in between, the sums wait in a row until
   somebody does: whoever reads or writes gradients calls look_at_gradients() first. The first backward() writes to the Values.
   Only when the next one finds that nobody has looked are the gradients taken into the row, so that a training step, which looks
   each time, has no more to do than before. */

void gradients_arrive(void) {
    Captured *c = ahead;
    ahead = NULL;
    for (Py_ssize_t i = 0, n = Py_SIZE(c); i < n; i++) c->item[i]->grad = c->gradients[i];
}

static int wait_in_a_row(Captured *c) { /* whether the gradients may be added to the row */
    if (ahead == c) return 1;
    if (ahead != NULL || sweeping || c->looks != gradient_looks) return 0;
    if (c->gradients == NULL && (c->gradients = PyMem_Malloc((size_t)(Py_SIZE(c) + 1) * sizeof(double))) == NULL) return 0;
    for (Py_ssize_t i = 0, n = Py_SIZE(c); i < n; i++) c->gradients[i] = c->item[i]->grad;
    ahead = c;
    return 1;
}

CLONES static void push_row(double *restrict to, const double *restrict partial, double g, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) to[i] += 0.0 + partial[i] * g; /* -0.0 becomes 0.0, as in a sum */
}

void captured_push(Captured *c, const double *partial, double g) {
    if (wait_in_a_row(c)) {
        push_row(c->gradients, partial, g, Py_SIZE(c));
        return;
    }
    look_at_gradients();
    for (Py_ssize_t i = 0, n = Py_SIZE(c); i < n; i++) c->item[i]->grad += 0.0 + partial[i] * g;
    c->looks = gradient_looks;
}

/* Whether a sweep may write to all of them without asking each: looked at again only when some Value in the process has changed
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
        return unrecorded(out);
    }
    out->op = (uint16_t)op;
    out->flags |= MANY | SHARED;
    out->block = &s->block;
    node_track(out); /* whether something behind it is tracked would have to be asked of each */
    return made(out);
}
