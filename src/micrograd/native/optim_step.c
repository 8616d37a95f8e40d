/* A whole training step: from a loss to parameters that have moved. */

#include "optim_slots.h"
#include <math.h>

/* Take the gradients of a loss of compiled code straight from its partials; 0 where the loss is of another kind, -1 without memory.
   To let a sweep add them to the Values, and to gather them from there, took a quarter of the time of a transformer's step. */
static int take_partials(Slots *s, PyObject *root) {
    PyObject *owner, *const *leaves;
    Py_ssize_t n;
    const double *partials = value_layout.leaf_partials(root, &owner, &leaves, &n);
    if (partials == NULL || n > INT32_MAX) return 0;
    if (s->place == NULL && (s->place = PyMem_Malloc((size_t)(s->n + 1) * sizeof(int32_t))) == NULL) return -1;
    if (s->owner != owner) {
        PyObject *number = PyDict_New(), *k = NULL;
        if (number == NULL) return -1;
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *key = PyLong_FromVoidPtr(leaves[i]);
            k = PyLong_FromSsize_t(i);
            int bad = key == NULL || k == NULL || PyDict_SetItem(number, key, k) < 0;
            Py_XDECREF(key);
            Py_XDECREF(k);
            if (bad) {
                Py_DECREF(number);
                return -1;
            }
        }
        for (Py_ssize_t i = 0; i < s->n; i++) {
            PyObject *key = PyLong_FromVoidPtr(PyTuple_GET_ITEM(s->values, i));
            if (key == NULL) {
                Py_DECREF(number);
                return -1;
            }
            k = PyDict_GetItemWithError(number, key);
            s->place[i] = k == NULL ? -1 : (int32_t)PyLong_AsLong(k);
            Py_DECREF(key);
        }
        Py_DECREF(number);
        Py_XSETREF(s->owner, Py_NewRef(owner));
    }
    for (Py_ssize_t i = 0; i < s->n; i++) s->gradient[i] = s->place[i] < 0 ? 0.0 : 0.0 + partials[s->place[i]];
    ((double *)((char *)root + value_layout.data_offset))[1] = 1.0; /* the gradient of the root, as a sweep leaves it */
    return 1;
}

static int take_sweep(Slots *s, PyObject *root) { /* the same by a sweep from any root; -1 with an exception */
    slots_zero_all(s);
    PyObject *done = PyObject_CallMethod(root, "backward", NULL);
    if (done == NULL) return -1;
    Py_DECREF(done);
    look_at_gradients();
    for (Py_ssize_t i = 0; i < s->n; i++) s->gradient[i] = s->at[i][1];
    return 0;
}

/* The sum of the squares, as plain_squares() has it. */
static double row_of_squares(const Slots *s) {
    double lane[4] = {0.0, 0.0, 0.0, 0.0};
    const double *g = s->gradient;
    Py_ssize_t i = 0;
    if (s->frozen == NULL)
        for (; i + 4 <= s->n; i += 4)
            for (int k = 0; k < 4; k++) lane[k] += g[i + k] * g[i + k];
    for (; i < s->n; i++)
        if (!is_frozen(s, i)) lane[i & 3] += g[i] * g[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static void put_gradients(Slots *s) {
    look_at_gradients();
    for (Py_ssize_t i = 0; i < s->n; i++) s->at[i][1] = s->gradient[i];
}

/* Whether the gradients are finite; clips them to `limit` on the way. */
static int settle(Slots *s, double limit) {
    double sum = row_of_squares(s), size = sqrt(sum);
    if (!(sum > 1e-200 && sum < INFINITY)) { /* too large or small to be squared, or not finite: measured with care */
        put_gradients(s);
        size = slots_measure(s);
    }
    double factor = limit / (size + 1e-6);
    if (limit < INFINITY && (factor < 1.0 || factor != factor))
        for (Py_ssize_t i = 0; i < s->n; i++) s->gradient[i] *= factor;
    return size < INFINITY;
}

/* descend(root, limit, updates): compute the gradients of the root, clip their norm to `limit` (inf to leave it), run the updates
   (tuples of slots, rule, constants, kept; together the slots are these). Returns whether the gradients were finite: if they were
   not, no parameter has moved. */
PyObject *slots_descend(Slots *s, PyObject *args) {
    PyObject *root, *updates, *result = NULL;
    double limit;
    if (!PyArg_ParseTuple(args, "OdO!:descend", &root, &limit, &PyTuple_Type, &updates) || slots_announce(s, "data =") < 0) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(updates), taken = 0, from = 0;
    if (s->gradient == NULL && (s->gradient = PyMem_Malloc((size_t)(s->n + 1) * sizeof(double))) == NULL) return PyErr_NoMemory();
    Work few[4], *work = n <= 4 ? few : PyMem_Malloc((size_t)n * sizeof(Work));
    if (work == NULL) return PyErr_NoMemory();
    for (; taken < n; taken++) {
        PyObject *update = PyTuple_GET_ITEM(updates, taken), *slots, *constants, *kept;
        Py_ssize_t rule;
        work[taken].views = 0;
        if (!PyTuple_Check(update)) {
            PyErr_SetString(PyExc_TypeError, "an update is a tuple of slots, rule, constants and kept");
            goto finish;
        }
        if (!PyArg_ParseTuple(update, "OnOO:update", &slots, &rule, &constants, &kept)) goto finish;
        if (work_take(&work[taken], slots, rule, constants, kept) < 0) {
            taken++;
            goto finish;
        }
        from += work[taken].slots->n;
    }
    if (from != s->n) {
        PyErr_SetString(PyExc_ValueError, "descend() takes updates of all parameters, in their order");
        goto finish;
    }
    int direct = take_partials(s, root);
    if (direct < 0 || (!direct && take_sweep(s, root) < 0)) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        goto finish;
    }
    int finite = settle(s, limit);
    if (!finite) put_gradients(s);
    for (Py_ssize_t k = from = 0; finite && k < n; k++) {
        work_run(&work[k], s->gradient + from);
        from += work[k].slots->n;
    }
    result = PyBool_FromLong(finite);
finish:
    while (taken) work_release(&work[--taken]);
    if (work != few) PyMem_Free(work);
    return result;
}
