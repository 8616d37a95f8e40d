/* Python objects as numbers and operands. */

#include "engine.h"

static PyObject *real_abc; /* numbers.Real: NumPy's scalars are registered with it */

int operand_init(void) {
    PyObject *numbers = PyImport_ImportModule("numbers");
    if (numbers == NULL) return -1;
    real_abc = PyObject_GetAttrString(numbers, "Real");
    Py_DECREF(numbers);
    return real_abc == NULL ? -1 : 0;
}

int other_number(PyObject *o, double *out) {
    int real = PyObject_IsInstance(o, real_abc);
    if (real <= 0) return real;
    PyObject *x = PyNumber_Float(o);
    if (x == NULL) return -1;
    *out = PyFloat_AS_DOUBLE(x);
    Py_DECREF(x);
    return 1;
}

int other_operand(PyObject *o, Operand *out) {
    if (!is_value(o)) return other_number(o, &out->data);
    out->node = (Node *)o;
    out->data = out->node->data;
    return 1;
}

const char *type_name(PyObject *o) { /* without its module, as Python's __name__ */
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

PyObject *refuse(PyObject *o) {
    PyObject *text = PyObject_Repr(o);
    if (text == NULL) return NULL;
    if (PyUnicode_GET_LENGTH(text) > 60) {
        PyObject *head = PyUnicode_Substring(text, 0, 57);
        Py_SETREF(text, head ? PyUnicode_FromFormat("%U...", head) : NULL);
        Py_XDECREF(head);
        if (text == NULL) return NULL;
    }
    PyErr_Format(PyExc_TypeError, "a Value holds one real number (int, float or NumPy scalar), not %s: %U", type_name(o), text);
    Py_DECREF(text);
    return NULL;
}

int number(PyObject *o, double *out) {
    int got = is_value(o) ? 0 : plain_number(o, out);
    if (got == 0 && !is_value(o)) got = other_number(o, out);
    if (got == 0) refuse(o);
    return got == 1 ? 0 : -1;
}

int all_values(PyObject *all) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all); i++)
        if (!is_value(PySequence_Fast_GET_ITEM(all, i))) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(all, i));
            refuse(item);
            Py_DECREF(item);
            return 0;
        }
    return 1;
}

/* A list of Values, floats and ints is taken as it is, since looking at those runs no Python code that could change it;
   everything else is copied to a tuple first. */
PyObject *fixed_sequence(PyObject *given) {
    if (PyTuple_CheckExact(given)) return Py_NewRef(given);
    if (PyList_CheckExact(given)) {
        Py_ssize_t i = 0, n = PyList_GET_SIZE(given);
        for (; i < n; i++) {
            PyObject *item = PyList_GET_ITEM(given, i);
            if (!Py_IS_TYPE(item, ValueType) && !PyFloat_Check(item) && !PyLong_Check(item) && !is_value(item)) break;
        }
        return i == n ? Py_NewRef(given) : PyList_AsTuple(given);
    }
    PyObject *iterator = PyObject_GetIter(given);
    if (iterator == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_SetString(PyExc_TypeError, "expected a list of numbers and Values");
        return NULL;
    }
    PyObject *all = PySequence_Tuple(iterator);
    Py_DECREF(iterator);
    return all;
}
