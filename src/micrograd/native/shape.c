/* How numbers lie in nested lists, tuples, dicts and arrays: taken apart, and built again from other numbers (tree.py has the same in
   Python, for more kinds). */

#include "eager.h"

void shape_init(Shape *s) {
    s->keys = NULL;
    s->leaf = s->few;
    s->n = 0;
    s->room = 8;
    s->entry = (List){.item = s->few_entries, .room = 16};
}

void shape_drop(Shape *s) {
    for (Py_ssize_t i = 0; i < s->n; i++) Py_DECREF(s->leaf[i]);
    if (s->leaf != s->few) PyMem_RawFree(s->leaf);
    if (s->entry.item != s->few_entries) PyMem_RawFree(s->entry.item);
    Py_XDECREF(s->keys);
}

static int shape_add(Shape *s, Py_ssize_t x) {
    if (s->entry.n == s->entry.room) {
        List more = {.n = s->entry.item == s->few_entries ? 16 : 0};
        if (more.n == 0 ? list_grow(&s->entry, 1) < 0 : list_grow(&more, 1) < 0) return -1;
        if (more.n != 0) {
            memcpy(more.item, s->few_entries, sizeof s->few_entries);
            s->entry = more;
        }
    }
    s->entry.item[s->entry.n++] = (uintptr_t)x;
    return 0;
}

static int shape_leaf(Shape *s, PyObject *x) {
    if (s->n == s->room) {
        PyObject **more = PyMem_RawMalloc((size_t)s->room * 2 * sizeof *more);
        if (more == NULL) return -1;
        memcpy(more, s->leaf, (size_t)s->n * sizeof *more);
        if (s->leaf != s->few) PyMem_RawFree(s->leaf);
        s->leaf = more;
        s->room *= 2;
    }
    s->leaf[s->n++] = Py_NewRef(x);
    return 0;
}

static PyTypeObject *numpy_float; /* float64: a float whose __float__ is NumPy's */

static inline int is_float(PyObject *x) {
    if (PyFloat_CheckExact(x)) return 1;
    if (!PyFloat_Check(x)) return 0;
    if (numpy_float == NULL && strcmp(Py_TYPE(x)->tp_name, "numpy.float64") == 0) numpy_float = (PyTypeObject *)Py_NewRef(Py_TYPE(x));
    return Py_IS_TYPE(x, numpy_float);
}

/* ---- arrays of NumPy's, whose memory is reached through the buffer protocol */

static PyTypeObject *array_type;                          /* numpy.ndarray; NULL until it is imported */
static PyObject *array_empty, *array_carrying, *str_view; /* numpy.empty, and the class of arrays that hold Values */

PyObject *module_set_arrays(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *type, *make, *carrying;
    if (!PyArg_ParseTuple(args, "O!OO:set_arrays", &PyType_Type, &type, &make, &carrying)) return NULL;
    if (str_view == NULL && (str_view = PyUnicode_InternFromString("view")) == NULL) return NULL;
    Py_XSETREF(array_empty, Py_NewRef(make));
    Py_XSETREF(array_carrying, Py_NewRef(carrying));
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

int numpy_is_watched(void) { /* arrays that are made inside of a trace can hold Values: trace.py sees to that */
    static PyObject *numpy;
    if (array_type != NULL) return 1;
    if (numpy == NULL) numpy = PyUnicode_InternFromString("numpy");
    PyObject *modules = PyImport_GetModuleDict();
    if (numpy != NULL && modules != NULL && PyDict_CheckExact(modules)) return known_item(modules, numpy) == NULL;
    PyErr_Clear();
    return 0;
}

static PyObject *array_number(const Py_buffer *b, Py_ssize_t i) { /* as tolist() gives it; NULL without an error: another kind */
    switch (b->format[0]) {
    case 'd': return PyFloat_FromDouble(((const double *)b->buf)[i]);
    case 'f': return PyFloat_FromDouble((double)((const float *)b->buf)[i]);
    case 'i': return PyLong_FromLong(((const int *)b->buf)[i]);
    case 'l': return PyLong_FromLong(((const long *)b->buf)[i]);
    case 'q': return PyLong_FromLongLong(((const long long *)b->buf)[i]);
    default: return NULL;
    }
}

static int shape_of_array(Shape *s, PyObject *x) {
    Py_buffer b;
    if (PyObject_GetBuffer(x, &b, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        return 0;
    }
    int got = b.ndim > 0 && b.format != NULL && b.format[1] == 0 && b.len > 0;
    if (got && (shape_add(s, ARRAY_HERE) < 0 || shape_add(s, b.ndim) < 0)) got = -1;
    for (int k = 0; got > 0 && k < b.ndim; k++)
        if (shape_add(s, b.shape[k]) < 0) got = -1;
    for (Py_ssize_t i = 0, n = b.len / (b.itemsize ? b.itemsize : 1); got > 0 && i < n; i++) {
        PyObject *number = array_number(&b, i);
        if (number == NULL) got = PyErr_Occurred() ? -1 : 0;
        else if (shape_leaf(s, number) < 0) got = -1;
        Py_XDECREF(number);
    }
    PyBuffer_Release(&b);
    return got;
}

/* Append what lies in x. 1; 0 where it holds something else than numbers in lists, tuples and dicts; -1 without memory. No Python
   code runs, so lists stay as they are. */
int shape_of(Shape *s, PyObject *x, int values, int depth) {
    if (is_float(x) || PyLong_CheckExact(x) || (values && is_value(x))) return shape_add(s, NUMBER_HERE) < 0 || shape_leaf(s, x) < 0 ? -1 : 1;
    if (depth > 50) return 0;
    if (PyDict_CheckExact(x)) {
        PyObject *key, *item, *keys = PyTuple_New(PyDict_GET_SIZE(x));
        Py_ssize_t at = 0, i = 0;
        if (keys == NULL || (s->keys == NULL && (s->keys = PyList_New(0)) == NULL)) return -1;
        while (PyDict_Next(x, &at, &key, &item)) PyTuple_SET_ITEM(keys, i++, Py_NewRef(key));
        int failed = PyList_Append(s->keys, keys) < 0 || shape_add(s, DICT_HERE) < 0 || shape_add(s, i) < 0;
        Py_DECREF(keys);
        for (at = 0; !failed && PyDict_Next(x, &at, &key, &item);) {
            int got = shape_of(s, item, values, depth + 1);
            if (got <= 0) return got;
        }
        return failed ? -1 : 1;
    }
    if (!values && array_type != NULL && Py_IS_TYPE(x, array_type)) return shape_of_array(s, x);
    int list = PyList_CheckExact(x);
    if (!list && !PyTuple_CheckExact(x)) return 0;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    if (shape_add(s, list ? LIST_HERE : TUPLE_HERE) < 0 || shape_add(s, n) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int got = shape_of(s, PySequence_Fast_GET_ITEM(x, i), values, depth + 1);
        if (got <= 0) return got;
    }
    return 1;
}

PyObject *shape_object(Place *p) { return Py_NewRef(p->objects[p->leaf++]); }
PyObject *shape_float(Place *p) { return PyFloat_FromDouble(p->numbers[p->leaf++]); }

static PyObject *build_array(Place *p, Py_ssize_t axes) {
    PyObject *lengths = PyTuple_New(axes), *array = NULL;
    Py_ssize_t n = 1;
    for (Py_ssize_t k = 0; lengths != NULL && k < axes; k++) {
        Py_ssize_t length = (Py_ssize_t)p->shape->entry.item[p->entry++];
        PyObject *number = PyLong_FromSsize_t(length);
        n *= length;
        if (number == NULL) Py_CLEAR(lengths);
        else PyTuple_SET_ITEM(lengths, k, number);
    }
    if (lengths == NULL) return NULL;
    PyObject *given[] = {lengths, (PyObject *)&PyBaseObject_Type};
    array = PyObject_Vectorcall(array_empty, given, p->of_values ? 2 : 1, NULL);
    Py_DECREF(lengths);
    Py_buffer b;
    if (array == NULL || PyObject_GetBuffer(array, &b, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++, p->leaf++) {
        if (p->of_values) Py_XSETREF(((PyObject **)b.buf)[i], Py_NewRef(p->objects[p->leaf]));
        else ((double *)b.buf)[i] = p->numbers != NULL ? p->numbers[p->leaf] : PyFloat_Check(p->objects[p->leaf]) ? PyFloat_AS_DOUBLE(p->objects[p->leaf]) : PyLong_AsDouble(p->objects[p->leaf]);
    }
    PyBuffer_Release(&b);
    if (p->of_values) Py_SETREF(array, PyObject_CallMethodOneArg(array, str_view, array_carrying));
    return array;
}

PyObject *build(Place *p) {
    const uintptr_t *entry = p->shape->entry.item;
    uintptr_t kind = entry[p->entry++];
    if (kind == NUMBER_HERE) return p->number(p);
    Py_ssize_t n = (Py_ssize_t)entry[p->entry++];
    if (kind == ARRAY_HERE) return build_array(p, n);
    if (kind == DICT_HERE) {
        PyObject *keys = PyList_GET_ITEM(p->shape->keys, p->dict++), *dict = PyDict_New();
        for (Py_ssize_t i = 0; dict != NULL && i < n; i++) {
            PyObject *item = build(p);
            if (item == NULL || PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), item) < 0) Py_CLEAR(dict);
            Py_XDECREF(item);
        }
        return dict;
    }
    PyObject *all = kind == LIST_HERE ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; i++) {
        PyObject *item = build(p);
        if (item == NULL) Py_CLEAR(all);
        else if (kind == LIST_HERE) PyList_SET_ITEM(all, i, item);
        else PyTuple_SET_ITEM(all, i, item);
    }
    return all;
}
