/* Whether the modules that a compiled function has read are as they were: what structure.py calls a key, compared before each
   call. A key is a tuple: a list whose only item changes with every assignment to a module, that item, and then each container
   with a tuple of what was in it. Of a namespace or an object of which only some names count, it is a dict of those names; of an
   array, its bytes and its shape; of a function, its code and its defaults; of a class, its order of bases; of an object, its
   class. */

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

static int same_bytes(PyObject *array, PyObject *bytes) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS) < 0) { /* every other row of a table: the close look decides */
        PyErr_Clear();
        return 0;
    }
    size_t length = (size_t)view.len, of_shape = (size_t)view.ndim * sizeof(Py_ssize_t);
    const char *then = PyBytes_AS_STRING(bytes);
    int same = (size_t)PyBytes_GET_SIZE(bytes) == length + of_shape && memcmp(view.buf, then, length) == 0 &&
               (of_shape == 0 || memcmp(view.shape, then + length, of_shape) == 0);
    PyBuffer_Release(&view);
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
    if (!PyDict_Check(container) || 2 * PyDict_GET_SIZE(container) != n) return 0; /* another kind: the close look decides */
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
