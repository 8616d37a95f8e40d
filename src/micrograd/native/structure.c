/* Whether the modules that a compiled function has read are as they were: what watch/guards.py calls a key, compared before each
   call. A key is a tuple: a list whose only item changes with every assignment to a module, that item, and then each container
   with a tuple of what was in it. Of a namespace or an object of which only some names count, it is a dict of those names; of an
   array of numbers, its bytes and its shape; of an array of objects, they and its shape; of a function, its code and its defaults;
   of a class, its order of bases; of an object, its class. */

#include "code.h"

int structure_check(PyObject *key) {
    int good = PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) >= 2 && PyTuple_GET_SIZE(key) % 2 == 0 &&
               PyList_CheckExact(PyTuple_GET_ITEM(key, 0));
    for (Py_ssize_t i = 3; good && i < PyTuple_GET_SIZE(key); i += 2) {
        PyObject *items = PyTuple_GET_ITEM(key, i);
        good = PyTuple_CheckExact(items) || PyDict_CheckExact(items) || PyBytes_CheckExact(items) || PyType_Check(items);
    }
    if (!good) PyErr_SetString(PyExc_TypeError, "the key of a Watch is wanted");
    return good;
}

static PyObject *dict_of(PyObject *cls) { /* a new reference */
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict((PyTypeObject *)cls);
#else
    return Py_XNewRef(((PyTypeObject *)cls)->tp_dict);
#endif
}

static int same_names(PyObject *holder, PyObject *names) {
    if (PyType_Check(holder)) { /* what the class itself has, without its bases, and as it is: nothing is bound */
        PyObject *dict = dict_of(holder);
        int same = dict != NULL && same_names(dict, names);
        Py_XDECREF(dict);
        return same;
    }
    PyObject *name, *then;
    int is_space = PyDict_CheckExact(holder);
    for (Py_ssize_t at = 0; PyDict_Next(names, &at, &name, &then);) {
        PyObject *now = is_space ? PyDict_GetItemWithError(holder, name) : PyObject_GetAttr(holder, name);
        if (now == NULL && (!is_space || PyErr_Occurred())) PyErr_Clear();
        int same = (now == NULL ? Py_None : now) == then;
        if (!is_space) Py_XDECREF(now);
        if (!same) return 0;
    }
    return 1;
}

/* Compare the numbers of one axis of an array, and of the axes after it, with bytes that follow one another; *then moves on. */
static int same_along(const Py_buffer *view, int axis, const char *from, const char **then) {
    int last = axis + 1 == view->ndim, doubles = last && view->itemsize == 8;
    for (Py_ssize_t i = 0; i < view->shape[axis]; i++, from += view->strides[axis]) {
        if (doubles ? memcmp(from, *then, 8) != 0 : last ? memcmp(from, *then, (size_t)view->itemsize) != 0 : !same_along(view, axis + 1, from, then))
            return 0;
        if (last) *then += view->itemsize;
    }
    return 1;
}

static int same_bytes(PyObject *array, PyObject *bytes) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_STRIDED_RO) < 0) { /* an array of dates, say: the close look decides */
        PyErr_Clear();
        return 0;
    }
    size_t length = (size_t)view.len, of_shape = (size_t)view.ndim * sizeof(Py_ssize_t);
    const char *then = PyBytes_AS_STRING(bytes);
    int same = (size_t)PyBytes_GET_SIZE(bytes) == length + of_shape &&
               (of_shape == 0 || memcmp(view.shape, then + length, of_shape) == 0);
    if (same && PyBuffer_IsContiguous(&view, 'C'))
        same = memcmp(view.buf, then, length) == 0;
    else
        same = same && same_along(&view, 0, view.buf, &then);
    PyBuffer_Release(&view);
    return same;
}

/* The same for an array of objects: they, and then its shape. */
static int same_objects(const Py_buffer *view, PyObject *items) {
    Py_ssize_t n = PyTuple_GET_SIZE(items) - 1;
    PyObject *shape = n < 0 ? NULL : PyTuple_GET_ITEM(items, n);
    if (view->len != n * (Py_ssize_t)sizeof(PyObject *) || !PyBuffer_IsContiguous(view, 'C')) return 0;
    if (strcmp(view->format, "O") != 0 || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != view->ndim) return 0;
    for (int i = 0; i < view->ndim; i++) {
        PyObject *length = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_CheckExact(length) || PyLong_AsSsize_t(length) != view->shape[i]) return PyErr_Clear(), 0;
    }
    return memcmp(view->buf, ((PyTupleObject *)items)->ob_item, (size_t)view->len) == 0;
}

/* The same for whatever else holds objects: a set, or a deque. */
static int same_iterated(PyObject *container, PyObject *items) {
    PyObject *all = PyObject_GetIter(container), *x = NULL;
    Py_ssize_t i = 0, n = PyTuple_GET_SIZE(items);
    int same = all != NULL;
    while (same && (x = PyIter_Next(all)) != NULL) {
        same = i < n && x == PyTuple_GET_ITEM(items, i++);
        Py_DECREF(x);
    }
    same = same && i == n && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(all);
    return same;
}

static int same_function(PyObject *f, PyObject *parts) {
    PyObject *now[] = {PyFunction_GetCode(f), PyFunction_GetDefaults(f), PyFunction_GetKwDefaults(f)};
    int same = PyTuple_GET_SIZE(parts) == 3;
    for (int i = 0; same && i < 3; i++) same = (now[i] == NULL ? Py_None : now[i]) == PyTuple_GET_ITEM(parts, i);
    return same;
}

static int same_items(PyObject *container, PyObject *items) {
    if (PyDict_CheckExact(items)) return same_names(container, items);
    if (PyBytes_CheckExact(items)) return same_bytes(container, items);
    if (PyType_Check(items)) return (PyObject *)Py_TYPE(container) == items;
    if (PyType_Check(container)) return ((PyTypeObject *)container)->tp_mro == items;
    if (PyFunction_Check(container)) return same_function(container, items);
    if (PyCell_Check(container))
        return PyCell_GET(container) == (PyTuple_GET_SIZE(items) ? PyTuple_GET_ITEM(items, 0) : NULL);
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (PyList_Check(container)) {
        if (PyList_GET_SIZE(container) != n) return 0;
        PyObject *const *now = ((PyListObject *)container)->ob_item, *const *then = ((PyTupleObject *)items)->ob_item;
        uintptr_t differs = 0; /* lists are short, and almost always as they were: no call, and no way out in the middle */
        for (Py_ssize_t i = 0; i < n; i++) differs |= (uintptr_t)now[i] ^ (uintptr_t)then[i];
        return differs == 0;
    }
    if (PyObject_CheckBuffer(container)) {
        Py_buffer view;
        if (PyObject_GetBuffer(container, &view, PyBUF_FULL_RO) < 0) return PyErr_Clear(), 0;
        int same = view.format != NULL && same_objects(&view, items);
        PyBuffer_Release(&view);
        return same;
    }
    if (!PyDict_Check(container)) return same_iterated(container, items);
    if (2 * PyDict_GET_SIZE(container) != n) return 0;
    PyObject *name, *value;
    for (Py_ssize_t at = 0, i = 0; PyDict_Next(container, &at, &name, &value); i += 2)
        if (i + 1 >= n || name != PyTuple_GET_ITEM(items, i) || value != PyTuple_GET_ITEM(items, i + 1)) return 0;
    return 1;
}

int structure_unchanged(PyObject *key) {
    if (key == NULL) return 1;
    PyObject *changes = PyTuple_GET_ITEM(key, 0);
    if (PyList_GET_SIZE(changes) < 1 || PyList_GET_ITEM(changes, 0) != PyTuple_GET_ITEM(key, 1)) return 0;
    for (Py_ssize_t i = 2, n = PyTuple_GET_SIZE(key); i < n; i += 2) {
        if (i + 13 < n) { /* lists lie anywhere in memory: the next ones are asked for ahead of time */
            PREFETCH(PyTuple_GET_ITEM(key, i + 12));
            PREFETCH(PyTuple_GET_ITEM(key, i + 13));
            PREFETCH((char *)PyTuple_GET_ITEM(key, i + 13) + 64);
            PREFETCH((char *)PyTuple_GET_ITEM(key, i + 13) + 128);
            PyObject *near = PyTuple_GET_ITEM(key, i + 6);
            if (PyList_CheckExact(near)) {
                PREFETCH(((PyListObject *)near)->ob_item);
                PREFETCH(((PyListObject *)near)->ob_item + 8);
            }
        }
        if (!same_items(PyTuple_GET_ITEM(key, i), PyTuple_GET_ITEM(key, i + 1))) return 0;
    }
    return 1;
}

PyObject *module_unchanged(PyObject *module, PyObject *key) {
    (void)module;
    return structure_check(key) ? PyBool_FromLong(structure_unchanged(key)) : NULL;
}
