/* Optimizers: what happens to the data and gradients of all parameters of a model in one training step.

   Slots is a list of Values with the address of the data of each. optim/slots.py is the definition, in Python; this file gives
   the same bits. The update rules themselves are made from optim/rules.py.

   Values lie scattered over memory, so that nothing could be done to several at once. An update therefore takes BLOCK of them at
   a time into contiguous memory, moves them there in vectors, and puts them back: twice as fast for Adam as one by one. */

#include "optim_slots.h"
#include "platform.h"
#include <math.h>
#include <string.h>

#define BLOCK 256

#include "optim_rules.h"

#define RULE_COUNT ((Py_ssize_t)(sizeof RULES / sizeof *RULES))

ValueLayout value_layout;

static PyTypeObject *SlotsType;

static int is_value(PyObject *o) { return PyObject_TypeCheck(o, value_layout.type); }

static PyObject *slots_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *given;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "Slots() takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "O:Slots", &given)) return NULL;
    PyObject *values = PySequence_Tuple(given);
    if (values == NULL) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(values);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_value(PyTuple_GET_ITEM(values, i))) {
            PyErr_Format(PyExc_TypeError, "parameters are Values, not %s", Py_TYPE(PyTuple_GET_ITEM(values, i))->tp_name);
            Py_DECREF(values);
            return NULL;
        }
    Slots *s = (Slots *)type->tp_alloc(type, 0);
    if (s == NULL) {
        Py_DECREF(values);
        return NULL;
    }
    s->values = values;
    s->n = n;
    s->at = PyMem_Malloc((size_t)(n + 1) * sizeof(double *));
    if (s->at == NULL) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++) s->at[i] = (double *)((char *)PyTuple_GET_ITEM(values, i) + value_layout.data_offset);
    return (PyObject *)s;
}

static int slots_traverse(Slots *s, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(s));
    Py_VISIT(s->values);
    Py_VISIT(s->owner);
    return 0;
}

static int slots_clear(Slots *s) {
    s->n = 0; /* the addresses are not valid any longer */
    Py_CLEAR(s->values);
    Py_CLEAR(s->owner);
    return 0;
}

static void slots_dealloc(Slots *s) {
    PyTypeObject *type = Py_TYPE(s);
    PyObject_GC_UnTrack(s);
    slots_clear(s);
    PyMem_Free(s->at);
    PyMem_Free(s->frozen);
    PyMem_Free(s->gradient);
    PyMem_Free(s->place);
    type->tp_free(s);
    Py_DECREF(type);
}

static Py_ssize_t slots_length(Slots *s) { return s->n; }

int slots_announce(Slots *s, const char *how) { return s->n ? value_layout.watched(how, PyTuple_GET_ITEM(s->values, 0)) : 0; }


/* ---- gradients */

void slots_zero_all(Slots *s) {
    look_at_gradients();
    for (Py_ssize_t i = 0; i < s->n; i++) s->at[i][1] = 0.0;
}

/* Σ g², in four sums that are added at the end; (largest, smallest) scale: where the squares overflow or vanish, the caller asks
   again for g / scale. */
static double squares(const Slots *s, double scale) {
    double lane[4] = {0.0, 0.0, 0.0, 0.0};
    for (Py_ssize_t i = 0; i < s->n; i++) {
        if (is_frozen(s, i)) continue;
        double g = s->at[i][1] / scale;
        lane[i & 3] += g * g;
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static double plain_squares(const Slots *s) { /* the same for a scale of 1, without the divisions */
    double lane[4] = {0.0, 0.0, 0.0, 0.0};
    for (Py_ssize_t i = 0; i < s->n; i++) {
        if (is_frozen(s, i)) continue;
        double g = s->at[i][1];
        lane[i & 3] += g * g;
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double slots_measure(const Slots *s) {
    look_at_gradients();
    double sum = plain_squares(s);
    if (sum > 1e-200 && sum < INFINITY) return sqrt(sum);
    double most = 0.0;
    for (Py_ssize_t i = 0; i < s->n; i++) {
        double g = fabs(s->at[i][1]);
        if (is_frozen(s, i)) continue;
        if (g != g) return NAN;
        if (g > most) most = g;
    }
    if (most == 0.0 || most == INFINITY) return most;
    return most * sqrt(squares(s, most));
}

static void scale(Slots *s, double factor) {
    for (Py_ssize_t i = 0; i < s->n; i++) s->at[i][1] *= factor;
}

/* Scale all gradients so that their norm is at most `limit`; gives the norm that they had. The 1e-6 is PyTorch's. */
static double clip_norm(Slots *s, double limit) {
    double size = slots_measure(s), factor = limit / (size + 1e-6);
    if (factor < 1.0 || factor != factor) scale(s, factor); /* a nan is passed on to all of them, for everybody to see */
    return size;
}

static void clip_value(Slots *s, double limit) {
    look_at_gradients();
    for (Py_ssize_t i = 0; i < s->n; i++) {
        double g = s->at[i][1];
        s->at[i][1] = g > limit ? limit : g < -limit ? -limit : g;
    }
}

static PyObject *slots_zero(Slots *s, PyObject *unused) {
    (void)unused;
    if (slots_announce(s, "grad =") < 0) return NULL;
    slots_zero_all(s);
    Py_RETURN_NONE;
}

static PyObject *slots_norm(Slots *s, PyObject *unused) {
    (void)unused;
    return PyFloat_FromDouble(slots_measure(s));
}

static PyObject *slots_clip_norm(Slots *s, PyObject *limit) {
    double at_most = PyFloat_AsDouble(limit);
    if ((at_most == -1.0 && PyErr_Occurred()) || slots_announce(s, "grad =") < 0) return NULL;
    return PyFloat_FromDouble(clip_norm(s, at_most));
}

static PyObject *slots_clip_value(Slots *s, PyObject *limit) {
    double at_most = PyFloat_AsDouble(limit);
    if ((at_most == -1.0 && PyErr_Occurred()) || slots_announce(s, "grad =") < 0) return NULL;
    clip_value(s, at_most);
    Py_RETURN_NONE;
}

static PyObject *slots_freeze(Slots *s, PyObject *marks) { /* freeze(bytes): a byte for each parameter, 1 for one that stays */
    if (!PyBytes_Check(marks) || PyBytes_GET_SIZE(marks) != s->n)
        return PyErr_Format(PyExc_ValueError, "freeze() takes bytes, one for each of %zd parameters", s->n);
    int any = memchr(PyBytes_AS_STRING(marks), 1, (size_t)s->n) != NULL;
    uint8_t *frozen = NULL;
    if (any) {
        frozen = PyMem_Malloc((size_t)s->n);
        if (frozen == NULL) return PyErr_NoMemory();
        memcpy(frozen, PyBytes_AS_STRING(marks), (size_t)s->n);
    }
    PyMem_Free(s->frozen);
    s->frozen = frozen;
    Py_RETURN_NONE;
}

/* ---- updates */

void work_release(Work *w) {
    while (w->views) PyBuffer_Release(&w->kept[--w->views]);
}

int work_take(Work *w, PyObject *slots, Py_ssize_t rule, PyObject *constants, PyObject *kept) {
    w->views = 0;
    if (!PyObject_TypeCheck(slots, SlotsType) || rule < 0 || rule >= RULE_COUNT || !PyTuple_Check(constants) || !PyTuple_Check(kept)) {
        PyErr_SetString(PyExc_TypeError, "an update is (Slots, number of a rule, tuple of constants, tuple of buffers)");
        return -1;
    }
    w->slots = (Slots *)slots;
    w->rule = &RULES[rule];
    if (PyTuple_GET_SIZE(constants) != w->rule->constants || PyTuple_GET_SIZE(kept) != w->rule->kept) {
        PyErr_Format(PyExc_ValueError, "rule %s has %d constants and keeps %d buffers, not %zd and %zd", w->rule->name,
                     w->rule->constants, w->rule->kept, PyTuple_GET_SIZE(constants), PyTuple_GET_SIZE(kept));
        return -1;
    }
    for (int k = 0; k < w->rule->constants; k++) {
        w->constants[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(constants, k));
        if (w->constants[k] == -1.0 && PyErr_Occurred()) return -1;
    }
    for (; w->views < w->rule->kept; w->views++) {
        Py_buffer *view = &w->kept[w->views];
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(kept, w->views), view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND) < 0) return -1;
        if (view->len != w->slots->n * (Py_ssize_t)sizeof(double) || view->format == NULL || strcmp(view->format, "d") != 0) {
            w->views++;
            PyErr_Format(PyExc_ValueError, "rule %s keeps one double for each of %zd parameters", w->rule->name, w->slots->n);
            return -1;
        }
    }
    return 0;
}

/* Run an update on gradients that lie in a row, or that are gathered from the Values where `given` is NULL. In the first case they
   are written to the Values on the way. */
void work_run(const Work *w, const double *given) {
    const Slots *s = w->slots;
    _Alignas(64) double p[BLOCK], gathered[BLOCK];
    double before[MOST_KEPT][BLOCK], *kept[MOST_KEPT] = {NULL};
    look_at_gradients();
    for (Py_ssize_t from = 0; from < s->n; from += BLOCK) {
        Py_ssize_t n = s->n - from < BLOCK ? s->n - from : BLOCK;
        double *const *at = s->at + from;
        const double *g = given != NULL ? given + from : gathered;
        if (given != NULL)
            for (Py_ssize_t i = 0; i < n; i++) p[i] = at[i][0];
        else
            for (Py_ssize_t i = 0; i < n; i++) p[i] = at[i][0], gathered[i] = at[i][1];
        for (int k = 0; k < w->rule->kept; k++) {
            kept[k] = (double *)w->kept[k].buf + from;
            if (s->frozen != NULL) memcpy(before[k], kept[k], (size_t)n * sizeof(double));
        }
        w->rule->update(n, p, g, kept, w->constants);
        if (given == NULL && s->frozen == NULL) {
            for (Py_ssize_t i = 0; i < n; i++) at[i][0] = p[i];
            continue;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            at[i][1] = g[i];
            if (!is_frozen(s, from + i)) at[i][0] = p[i];
            else for (int k = 0; k < w->rule->kept; k++) kept[k][i] = before[k][i];
        }
    }
    ++*value_layout.data_changes;
}

/* update(rule, constants, kept) */
static PyObject *slots_update(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    Work w;
    if (nargs != 3) return PyErr_Format(PyExc_TypeError, "update() takes the number of a rule, constants and buffers");
    Py_ssize_t rule = PyLong_AsSsize_t(args[0]);
    if (rule == -1 && PyErr_Occurred()) return NULL;
    int ready = work_take(&w, self, rule, args[1], args[2]) == 0 && slots_announce(w.slots, "data =") == 0;
    if (ready) work_run(&w, NULL);
    work_release(&w);
    if (!ready) return NULL;
    Py_RETURN_NONE;
}

/* rule(name) -> its number */
static PyObject *slots_rule(PyObject *type, PyObject *name) {
    (void)type;
    for (Py_ssize_t i = 0; PyUnicode_Check(name) && i < RULE_COUNT; i++)
        if (PyUnicode_CompareWithASCIIString(name, RULES[i].name) == 0) return PyLong_FromSsize_t(i);
    return PyErr_Format(PyExc_KeyError, "no update rule is called %R: run `make ops` and build again", name);
}

static PyObject *slots_reduce(Slots *s, PyObject *unused) { /* copies and pickles: the values, and which of them are frozen */
    (void)unused;
    if (s->frozen == NULL) return Py_BuildValue("O(O)", Py_TYPE(s), s->values);
    return Py_BuildValue("O(O)y#", Py_TYPE(s), s->values, (const char *)s->frozen, s->n);
}

static PyMethodDef slots_methods[] = {
    {"__reduce__", (PyCFunction)(void *)slots_reduce, METH_NOARGS, NULL},
    {"__setstate__", (PyCFunction)(void *)slots_freeze, METH_O, NULL},
    {"zero", (PyCFunction)(void *)slots_zero, METH_NOARGS, "Set all gradients to zero."},
    {"norm", (PyCFunction)(void *)slots_norm, METH_NOARGS, "The norm of the gradients."},
    {"clip_norm", (PyCFunction)(void *)slots_clip_norm, METH_O, "clip_norm(limit) -> the norm that the gradients had"},
    {"clip_value", (PyCFunction)(void *)slots_clip_value, METH_O, "clip_value(limit): move each gradient into [-limit, limit]"},
    {"freeze", (PyCFunction)(void *)slots_freeze, METH_O, "freeze(bytes): which parameters no update moves"},
    {"update", (PyCFunction)(void *)slots_update, METH_FASTCALL, "update(rule, constants, kept): move all parameters by a rule"},
    {"descend", (PyCFunction)(void *)slots_descend, METH_VARARGS, "descend(root, limit, updates) -> whether the gradients were finite"},
    {"copy", (PyCFunction)(void *)slots_copy, METH_VARARGS, "copy(\"read\" | \"write\" | \"gradients\", buffer)"},
    {"dot", slots_dot, METH_VARARGS | METH_STATIC, "dot(a, b) of two buffers"},
    {"add", slots_add, METH_VARARGS | METH_STATIC, "add(factor, x, y): y += factor * x"},
    {"rule", slots_rule, METH_O | METH_STATIC, "rule(name) -> its number"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots_slots[] = {
    {Py_tp_doc, "Values, as an optimizer sees them: an address each."},
    {Py_tp_new, slots_new},
    {Py_tp_dealloc, slots_dealloc},
    {Py_tp_traverse, slots_traverse},
    {Py_tp_clear, slots_clear},
    {Py_tp_methods, slots_methods},
    {Py_sq_length, slots_length},
    {0, NULL},
};

static PyType_Spec slots_spec = {
    .name = "micrograd._engine.Slots",
    .basicsize = sizeof(Slots),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots_slots,
};

int optim_add(PyObject *module, const ValueLayout *given) {
    value_layout = *given;
    SlotsType = (PyTypeObject *)PyType_FromSpec(&slots_spec);
    if (SlotsType == NULL) return -1;
    return PyModule_AddObject(module, "Slots", Py_NewRef((PyObject *)SlotsType));
}
