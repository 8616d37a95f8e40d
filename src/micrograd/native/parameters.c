/* Lists of Values in one go, for nn and the optimizers: find them, drop repeats, set their gradients to zero. */

#include "engine.h"

static int tell_of_all(const char *how, PyObject *list) { /* of the first: a watcher that minds one minds all */
    if (PyList_GET_SIZE(list) == 0 || !is_value(PyList_GET_ITEM(list, 0))) return 0;
    PyObject *first = Py_NewRef(PyList_GET_ITEM(list, 0));
    int failed = tell(how, first, Py_None, Py_None);
    Py_DECREF(first);
    return failed;
}

static int expect_list(PyObject *values, const char *function) {
    if (PyList_Check(values)) return 1;
    PyErr_Format(PyExc_TypeError, "%s() takes a list of Values", function);
    return 0;
}

static PyObject *module_zero_grads(PyObject *module, PyObject *values) {
    (void)module;
    if (!expect_list(values, "zero_grads") || tell_of_all("grad =", values) < 0 || !all_values(values)) return NULL;
    look_at_gradients();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) ((Node *)PyList_GET_ITEM(values, i))->grad = 0.0;
    Py_RETURN_NONE;
}

static int is_no_holder(PyObject *o) { /* a number or a text, which no parameter can be in */
    return o == Py_None || PyFloat_Check(o) || PyLong_Check(o) || PyUnicode_Check(o);
}

/* Append the Values of a list or a tuple: 1; where there is anything else among them but numbers and texts, nothing: 0. */
static int take_items(PyObject *items, PyObject *into) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if (!is_value(item) && !is_no_holder(item)) return 0;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if (is_value(item) && PyList_Append(into, item) < 0) return -1;
    }
    return 1;
}

/* The same of the public attributes of an object, and of the lists that they are. */
static int take_attributes(PyObject *attributes, PyObject *into) {
    PyObject *name, *value;
    Py_ssize_t at = 0, before = PyList_GET_SIZE(into);
    int good = 1;
    while (good > 0 && PyDict_Next(attributes, &at, &name, &value)) {
        if (!PyUnicode_Check(name) || PyUnicode_GET_LENGTH(name) == 0) good = 0;
        else if (PyUnicode_READ_CHAR(name, 0) == '_' || is_no_holder(value)) continue;
        else if (is_value(value)) good = PyList_Append(into, value) < 0 ? -1 : 1;
        else good = PyList_CheckExact(value) || PyTuple_CheckExact(value) ? take_items(value, into) : 0;
    }
    if (good == 0 && PyList_SetSlice(into, before, PyList_GET_SIZE(into), NULL) < 0) return -1;
    return good;
}

static PyObject *module_take_values(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs != 2 || !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "take_values() takes what holds the Values, and a list to append them to");
        return NULL;
    }
    PyObject *holder = args[0], *into = args[1];
    int taken = 0;
    if (PyDict_CheckExact(holder)) taken = take_attributes(holder, into);
    else if (holder != into && (PyList_CheckExact(holder) || PyTuple_CheckExact(holder))) taken = take_items(holder, into);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *module_unique_leaves(PyObject *module, PyObject *values) {
    (void)module;
    if (!expect_list(values, "unique_leaves") || !all_values(values)) return NULL;
    PyObject *out = PyList_New(0);
    if (out == NULL) return NULL;
    unmark_suspended();
    int failed = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values) && !failed; i++) { /* no Python code runs in between */
        Node *n = (Node *)PyList_GET_ITEM(values, i);
        if (input_count(n) > 0 || (n->flags & VISITED)) continue;
        failed = PyList_Append(out, (PyObject *)n) < 0;
        if (!failed) n->flags |= VISITED;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(out); i++) ((Node *)PyList_GET_ITEM(out, i))->flags &= (uint8_t)~VISITED;
    if (failed) Py_CLEAR(out);
    return out;
}

PyMethodDef parameter_methods[] = {
    {"zero_grads", module_zero_grads, METH_O, "zero_grads(values): set their gradients to zero"},
    {"take_values", CAST(module_take_values), METH_FASTCALL, "take_values(holder, into) -> whether into now has the Values of holder"},
    {"unique_leaves", module_unique_leaves, METH_O, "unique_leaves(values) -> those that no op has made, each once"},
    {NULL, NULL, 0, NULL},
};
