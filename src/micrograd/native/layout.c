/* How the numbers of a call lie in its arguments: nested lists and tuples as a key of bytes. */

#include "engine.h"

/* lay_flat(x, leaves) -> a key as bytes, with the numbers and Values of nested lists and tuples appended to leaves; None (and
   leaves to be thrown away) where something else is among them: structure.py, flatten then does it. */
static int lay_flat(PyObject *x, PyObject *leaves, List *key, int depth) {
    if (key->n == key->room && list_grow(key, 1) < 0) return -1;
    int is_list = PyList_CheckExact(x);
    if (is_list || PyTuple_CheckExact(x)) {
        if (depth > 32) return 0;
        if (x == leaves) { /* it would grow while it is read */
            PyErr_SetString(PyExc_ValueError, "lay_flat(): the list of leaves is a part of what is laid out");
            return -1;
        }
        key->item[key->n++] = is_list ? '[' : '(';
        for (Py_ssize_t i = 0; i < Py_SIZE(x); i++) {
            int done = lay_flat(is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), leaves, key, depth + 1);
            if (done <= 0) return done;
        }
        if (key->n == key->room && list_grow(key, 1) < 0) return -1;
        key->item[key->n++] = ']';
        return 1;
    }
    int is_node = Py_IS_TYPE(x, ValueType);
    if (!is_node && !PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return 0;
    key->item[key->n++] = is_node ? 'v' : '*';
    return PyList_Append(leaves, x) < 0 ? -1 : 1;
}

PyObject *module_lay_flat(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *x, *leaves, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!:lay_flat", &x, &PyList_Type, &leaves)) return NULL;
    List key = {0};
    int done = lay_flat(x, leaves, &key, 0);
    if (done > 0 && (result = PyBytes_FromStringAndSize(NULL, key.n)) != NULL)
        for (Py_ssize_t i = 0; i < key.n; i++) PyBytes_AS_STRING(result)[i] = (char)key.item[i];
    PyMem_RawFree(key.item);
    if (done == 0) result = Py_NewRef(Py_None);
    if (result == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return result;
}

/* Whether a double holds an int, with room to spare; the general way sees to larger ones. */
int whole_number(PyObject *x, double *to) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(x, &overflow);
    *to = (double)number;
    return !overflow && -EXACT_INT <= number && number <= EXACT_INT;
}

/* The same again, for arguments that should be laid out as in a key: 1, and the numbers are in `to`; 0 where they are not.
   In such a key, `f` stands for a float, `i` for an int, and `*` for either. */
int lay_again(PyObject *x, const char **key, double **to) {
    char want = *(*key)++;
    if (want == '*' || want == 'f' || want == 'i') {
        if (want != 'i' && PyFloat_CheckExact(x)) {
            *(*to)++ = PyFloat_AS_DOUBLE(x);
            return 1;
        }
        return want != 'f' && PyLong_CheckExact(x) && whole_number(x, (*to)++);
    }
    int is_list = PyList_CheckExact(x);
    if (want != (is_list ? '[' : '(') || !(is_list || PyTuple_CheckExact(x))) return 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        if (!lay_again(is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), key, to)) return 0;
    return *(*key)++ == ']';
}
