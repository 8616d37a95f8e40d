/* Python objects as numbers and operands. */

#include "engine.h"

#include <float.h>

static PyObject *real_abc; /* numbers.Real, once it was asked for: importing it takes a tenth of the package's time */
static PyObject *str_array, *str_array_ufunc, *str_ndim, *str_dtype, *str_hasobject, *str_carries_values;
PyObject *str_name, *str_generation;

int operand_init(void) {
    str_array = PyUnicode_InternFromString("__array__");
    str_array_ufunc = PyUnicode_InternFromString("__array_ufunc__");
    str_ndim = PyUnicode_InternFromString("ndim");
    str_dtype = PyUnicode_InternFromString("dtype");
    str_hasobject = PyUnicode_InternFromString("hasobject");
    str_carries_values = PyUnicode_InternFromString("carries_values");
    str_name = PyUnicode_InternFromString("__name__");
    str_generation = PyUnicode_InternFromString("generation");
    return str_array && str_array_ufunc && str_ndim && str_dtype && str_hasobject && str_carries_values && str_name && str_generation ? 0 : -1;
}

PyObject *known_item(PyObject *dict, PyObject *key) { /* borrowed; NULL where it has none, or where it cannot tell */
    PyObject *item = PyDict_GetItemWithError(dict, key);
    if (item == NULL) PyErr_Clear();
    return item;
}

static int is_real(PyObject *o) { /* NumPy's scalars are registered with numbers.Real; -1 with an error set */
    if (real_abc == NULL) {
        PyObject *numbers = PyImport_ImportModule("numbers");
        PyObject *found = numbers ? PyObject_GetAttrString(numbers, "Real") : NULL;
        Py_XDECREF(numbers);
        if (found == NULL) return -1;
        Py_XSETREF(real_abc, found); /* another thread may have been faster */
    }
    return PyObject_IsSubclass((PyObject *)Py_TYPE(o), real_abc); /* what it says of itself is for the user's code */
}

static PyObject *only_number(PyObject *o) { /* of an array of one element (operand.py); None where it is none */
    PyObject *operands = PyImport_ImportModule("micrograd.values.operand");
    PyObject *x = operands ? PyObject_CallMethod(operands, "only_number", "(O)", o) : NULL;
    Py_XDECREF(operands);
    return x;
}

int other_number(PyObject *o, double *out) {
    int real = is_real(o);
    if (real < 0 || (real == 0 && !PyObject_HasAttr(o, str_array))) return real;
    PyObject *x = real ? PyNumber_Float(o) : only_number(o);
    if (x == NULL) return -1;
    if (x == Py_None) {
        Py_DECREF(x);
        return 0;
    }
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

int comparand(PyObject *o, const char *how, Operand *out) { /* a float or a Value; for other numbers operand.py has the bound */
    const double exact = 9007199254740992.0; /* 2^53: whole numbers up to it are floats */
    out->node = NULL;
    if (PyFloat_Check(o) || is_value(o)) return operand(o, out);
    if (PyLong_Check(o)) {
        out->data = PyLong_AsDouble(o);
        if (out->data == -1.0 && PyErr_Occurred()) PyErr_Clear(); /* it has none that is near */
        else if (-exact < out->data && out->data < exact) return 1;
    } else if (!is_foreign(o) && !PyObject_HasAttr(o, str_array)) {
        return 0; /* a string, a list, None */
    }
    PyObject *operands = PyImport_ImportModule("micrograd.values.operand");
    PyObject *x = operands ? PyObject_CallMethod(operands, "bound", "(sO)", how, o) : NULL;
    Py_XDECREF(operands);
    if (x == NULL) return -1;
    int got = x != Py_None;
    if (got) out->data = PyFloat_AS_DOUBLE(x);
    Py_DECREF(x);
    return got;
}

static int true_attribute(PyObject *o, PyObject *name) { /* 0 too where there is none */
    PyObject *x = o == NULL ? NULL : PyObject_GetAttr(o, name);
    int some = x == NULL ? 0 : PyObject_IsTrue(x);
    Py_XDECREF(x);
    if (PyErr_Occurred()) PyErr_Clear();
    return some > 0;
}

int has_axes(PyObject *o) {
    if (PyFloat_Check(o) || PyLong_Check(o) || is_value(o) || !PyObject_HasAttr(o, str_array_ufunc)) return 0;
    if (true_attribute(o, str_ndim)) return 1;
    if (true_attribute(o, str_carries_values)) return 1; /* values/buffers.py */
    PyObject *dtype = PyObject_GetAttr(o, str_dtype);
    int some = true_attribute(dtype, str_hasobject);
    Py_XDECREF(dtype);
    return some;
}

int is_foreign(PyObject *o) {
    if (has_axes(o)) return 1;
    if (PyUnicode_Check(o) || PyBytes_Check(o) || PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o) ||
        PySet_Check(o) || PyComplex_Check(o) || o == Py_None)
        return 0;
    return !PyObject_HasAttr(o, str_array);
}

int reflects(PyObject *o, PyObject *row) { /* operand.py; -1 with an error set */
    PyObject *operands = PyImport_ImportModule("micrograd.values.operand");
    PyObject *name = operands ? PyObject_GetAttrString(row, "name") : NULL;
    PyObject *answer = name ? PyObject_CallMethod(operands, "reflects", "(OO)", o, name) : NULL;
    Py_XDECREF(operands);
    Py_XDECREF(name);
    if (answer == NULL) return -1;
    int yes = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return yes;
}

int asks_for_all_digits(PyObject *spec) { /* of the text, float() is the number itself, without its slope */
    const char *text = PyUnicode_Check(spec) ? PyUnicode_AsUTF8(spec) : NULL, *point = text ? strrchr(text, '.') : NULL;
    if (text == NULL) PyErr_Clear();
    return point != NULL && strtol(point + 1, NULL, 10) >= DBL_DIG;
}

const char *type_name(PyObject *o) { /* without its module, as Python's __name__ */
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

PyObject *refuse(PyObject *o) {
    PyObject *operands = PyImport_ImportModule("micrograd.values.operand");
    PyObject *none = operands ? PyObject_CallMethod(operands, "refuse", "(O)", o) : NULL; /* it raises */
    Py_XDECREF(operands);
    return none;
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
