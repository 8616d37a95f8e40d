/* How the results of machine code are arranged for Python: numbers in tuples, lists and dicts, as a template says. */

#include "code.h"

/* (None, make, as_bytes, parts): what is made from others, a named tuple from its items, an array from the bytes of its numbers.
   Where these lie side by side, the parts are a range, and the array is made of a bytearray, which it may keep.
   (None, None, False, (number, is_int)): a float, or an int where the second output is not 0. */
static int is_range(PyObject *parts) { return Py_IS_TYPE(parts, &PyRange_Type); }

static int is_made(PyObject *template) {
    return PyTuple_CheckExact(template) && PyTuple_GET_SIZE(template) == 4 && PyTuple_GET_ITEM(template, 0) == Py_None &&
           (PyTuple_CheckExact(PyTuple_GET_ITEM(template, 3)) || is_range(PyTuple_GET_ITEM(template, 3)));
}

/* The first place of a range that is not empty, or the last one; -1 with an error set. */
static Py_ssize_t range_end(PyObject *range, int last) {
    PyObject *end = PySequence_GetItem(range, last ? PySequence_Size(range) - 1 : 0);
    Py_ssize_t k = end != NULL ? PyLong_AsSsize_t(end) : -1;
    Py_XDECREF(end);
    return k;
}

static PyObject *bytes_of_range(PyObject *range, const double *out) {
    Py_ssize_t first = range_end(range, 0);
    if (first < 0) return NULL;
    return PyByteArray_FromStringAndSize((const char *)(out + first), PySequence_Size(range) * (Py_ssize_t)sizeof(double));
}

static PyObject *arrange_made(PyObject *made, const double *out) {
    PyObject *parts = PyTuple_GET_ITEM(made, 3), *args = NULL, *result = NULL;
    if (PyTuple_GET_ITEM(made, 1) == Py_None) {
        double x = out[PyLong_AsSsize_t(PyTuple_GET_ITEM(parts, 0))];
        return out[PyLong_AsSsize_t(PyTuple_GET_ITEM(parts, 1))] != 0.0 ? PyLong_FromDouble(x) : PyFloat_FromDouble(x);
    }
    if (is_range(parts)) {
        PyObject *bytes = bytes_of_range(parts, out);
        if (bytes != NULL) args = PyTuple_Pack(1, bytes);
        Py_XDECREF(bytes);
    } else if (PyTuple_GET_ITEM(made, 2) == Py_True) {
        Py_ssize_t n = PyTuple_GET_SIZE(parts);
        PyObject *bytes = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(double));
        for (Py_ssize_t i = 0; bytes != NULL && i < n; i++)
            memcpy(PyBytes_AS_STRING(bytes) + i * (Py_ssize_t)sizeof(double), &out[PyLong_AsSsize_t(PyTuple_GET_ITEM(parts, i))], sizeof(double));
        if (bytes != NULL) args = PyTuple_Pack(1, bytes);
        Py_XDECREF(bytes);
    } else {
        args = arrange(parts, out);
    }
    if (args != NULL) result = PyObject_Call(PyTuple_GET_ITEM(made, 1), args, NULL);
    Py_XDECREF(args);
    return result;
}

PyObject *arrange(PyObject *template, const double *out) {
    if (PyLong_CheckExact(template)) return PyFloat_FromDouble(out[PyLong_AsSsize_t(template)]);
    if (is_made(template)) return arrange_made(template, out);
    if (PyTuple_CheckExact(template)) {
        Py_ssize_t n = PyTuple_GET_SIZE(template);
        PyObject *result = PyTuple_New(n);
        for (Py_ssize_t i = 0; result != NULL && i < n; i++) {
            PyObject *x = arrange(PyTuple_GET_ITEM(template, i), out);
            if (x == NULL) Py_CLEAR(result);
            else PyTuple_SET_ITEM(result, i, x);
        }
        return result;
    }
    if (PyList_CheckExact(template)) {
        Py_ssize_t n = PyList_GET_SIZE(template);
        PyObject *result = PyList_New(n);
        for (Py_ssize_t i = 0; result != NULL && i < n; i++) {
            PyObject *x = arrange(PyList_GET_ITEM(template, i), out);
            if (x == NULL) Py_CLEAR(result);
            else PyList_SET_ITEM(result, i, x);
        }
        return result;
    }
    if (PyDict_CheckExact(template)) {
        PyObject *result = PyDict_New(), *key, *part;
        Py_ssize_t at = 0;
        while (result != NULL && PyDict_Next(template, &at, &key, &part)) {
            PyObject *x = arrange(part, out);
            if (x == NULL || PyDict_SetItem(result, key, x) < 0) Py_CLEAR(result);
            Py_XDECREF(x);
        }
        return result;
    }
    return PyObject_GetAttrString(template, "x"); /* what is no number at all */
}

static int plan_write(PyObject *template, int32_t *plan, int *at, int room) { /* 0 where the template holds something else */
    if (*at == room) return 0;
    if (PyLong_CheckExact(template)) {
        plan[(*at)++] = (int32_t)PyLong_AsLong(template);
        return 1;
    }
    if (!PyTuple_CheckExact(template)) return 0;
    plan[(*at)++] = -1 - (int32_t)PyTuple_GET_SIZE(template);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(template); i++)
        if (!plan_write(PyTuple_GET_ITEM(template, i), plan, at, room)) return 0;
    return 1;
}

PyObject *plan_build(const int32_t **plan, const double *out) {
    int32_t step = *(*plan)++;
    if (step >= 0) return PyFloat_FromDouble(out[step]);
    Py_ssize_t n = -1 - step;
    PyObject *result = PyTuple_New(n);
    for (Py_ssize_t i = 0; result != NULL && i < n; i++) {
        PyObject *x = plan_build(plan, out);
        if (x == NULL) Py_CLEAR(result);
        else PyTuple_SET_ITEM(result, i, x);
    }
    if (result != NULL) PyObject_GC_UnTrack(result); /* floats in tuples make no cycle: nothing for the collector to walk */
    return result;
}

/* The same into a result of an earlier call, as zip() does: a tuple, or a float in it, of which nobody but its holder knows any
   longer is written over, everything else is made again. Takes `old`, gives a new reference. 40 of the 95 ns of a call that
   gives (value, (da, db)) went into allocation. */
PyObject *plan_refill(PyObject *old, const int32_t **plan, const double *out) {
    int32_t step = *(*plan)++;
    if (Py_REFCNT(old) != 1) {
        Py_DECREF(old);
        (*plan)--;
        return plan_build(plan, out);
    }
    if (step >= 0) {
        ((PyFloatObject *)old)->ob_fval = out[step];
        return old;
    }
    PyObject **item = &PyTuple_GET_ITEM(old, 0);
    for (Py_ssize_t i = 0, n = -1 - step; i < n; i++) {
        if (**plan >= 0 && Py_REFCNT(item[i]) == 1) {
            ((PyFloatObject *)item[i])->ob_fval = out[*(*plan)++];
        } else if ((item[i] = plan_refill(item[i], plan, out)) == NULL) {
            Py_DECREF(old);
            return NULL;
        }
    }
    return old;
}

int template_fits(PyObject *template, Py_ssize_t n_out) { /* whether it asks for no other outputs than there are */
    if (PyLong_CheckExact(template)) {
        Py_ssize_t k = PyLong_AsSsize_t(template);
        if (k >= 0 && k < n_out) return 1;
        if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "install(): there is no output %zd", k);
        return 0;
    }
    PyObject *key, *part;
    Py_ssize_t at = 0;
    if (is_made(template)) {
        part = PyTuple_GET_ITEM(template, 3);
        int mixed = PyTuple_GET_ITEM(template, 1) == Py_None;
        if (mixed && (is_range(part) || PyTuple_GET_SIZE(part) != 2 || !PyLong_CheckExact(PyTuple_GET_ITEM(part, 0)) || !PyLong_CheckExact(PyTuple_GET_ITEM(part, 1))))
            return PyErr_Format(PyExc_ValueError, "install(): %R is no template", template), 0;
        if (is_range(part)) {
            Py_ssize_t first = range_end(part, 0), last = first >= 0 ? range_end(part, 1) : -1;
            if (last >= 0 && last < n_out && last - first + 1 == PySequence_Size(part)) return 1;
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "install(): there are no outputs %R", part);
            return 0;
        }
        for (; PyTuple_GET_ITEM(template, 2) == Py_True && at < PyTuple_GET_SIZE(part); at++)
            if (!PyLong_CheckExact(PyTuple_GET_ITEM(part, at))) return PyErr_Format(PyExc_ValueError, "install(): %R is no template", template), 0;
        return template_fits(part, n_out);
    }
    if (PyDict_CheckExact(template)) {
        while (PyDict_Next(template, &at, &key, &part))
            if (!template_fits(part, n_out)) return 0;
    } else if (PyTuple_CheckExact(template) || PyList_CheckExact(template)) {
        for (; at < PySequence_Fast_GET_SIZE(template); at++)
            if (!template_fits(PySequence_Fast_GET_ITEM(template, at), n_out)) return 0;
    }
    return 1;
}

/* The plan of a template, after those of before; *plan is NULL where the template says more than a plan can. -1 without memory. */
int plan_new(PyObject *template, Plan *before, Plan **plan) {
    int32_t steps[PLAN_STEPS];
    int n = 0;
    *plan = NULL;
    if (!plan_write(template, steps, &n, PLAN_STEPS)) return 0;
    if ((*plan = PyMem_Malloc(sizeof(Plan) + (size_t)n * sizeof(int32_t))) == NULL) return -1;
    memcpy((*plan)->step, steps, (size_t)n * sizeof(int32_t));
    (*plan)->before = before;
    return 0;
}
