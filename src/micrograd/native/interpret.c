/* interpret(): run the instructions of a tape on numbers or Values, as tape/interpret.py does in Python. */

#include "engine.h"

#define MOST_OPERANDS 8

/* The results of the instructions that run so far: values, a list that only this function has. */
static PyObject *instruction(PyObject *values, PyObject *op, PyObject *args, PyObject *other) {
    PyObject *few[MOST_OPERANDS], *list = NULL, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args), row = known_row(op), have = PyList_GET_SIZE(values);
    if (row == -1) return NULL;
    int in_table = row >= 0 && row_arity[row] >= 0 && n <= MOST_OPERANDS;
    if (!in_table && (list = PyList_New(n)) == NULL) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, i));
        if (k < 0 || k >= have) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "place %zd of a tape is read before it is computed", k);
            goto done;
        }
        PyObject *x = PyList_GET_ITEM(values, k); /* the list keeps it */
        if (in_table) few[i] = x;
        else PyList_SET_ITEM(list, i, Py_NewRef(x));
    }
    if (in_table) result = call_row((int)row, few, n);
    else if (row >= 0) result = make_list((int)row, &list, 1);
    else result = PyObject_CallFunctionObjArgs(other, op, args, list, NULL);
done:
    Py_XDECREF(list);
    return result;
}

/* interpret(ops, args, inputs, params, (INPUT, PARAM, CONST), other) -> what each instruction gives; other(op, args, operands) runs
   those that are not in the table. */
PyObject *module_interpret(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *ops, *args, *in, *params, *kinds, *other;
    if (!PyArg_ParseTuple(arguments, "O!O!OOO!O:interpret", &PyTuple_Type, &ops, &PyTuple_Type, &args, &in, &params, &PyTuple_Type, &kinds, &other))
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(ops);
    if (PyTuple_GET_SIZE(args) != n || PyTuple_GET_SIZE(kinds) != 3) {
        PyErr_SetString(PyExc_ValueError, "a tape has one tuple of operands for each op, and there are three kinds of sources");
        return NULL;
    }
    PyObject *values = PyList_New(0);
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        PyObject *op = PyTuple_GET_ITEM(ops, i), *row = PyTuple_GET_ITEM(args, i), *x;
        int source = op == PyTuple_GET_ITEM(kinds, 0) ? 0 : op == PyTuple_GET_ITEM(kinds, 1) ? 1 : op == PyTuple_GET_ITEM(kinds, 2) ? 2 : -1;
        if ((i & 0xFFF) == 0xFFF && PyErr_CheckSignals() < 0) x = NULL;
        else if (!PyTuple_Check(row) || (source >= 0 && PyTuple_GET_SIZE(row) != 1)) x = PyErr_Format(PyExc_TypeError, "the operands of an instruction are a tuple");
        else if (source >= 0) x = source == 2 ? Py_NewRef(PyTuple_GET_ITEM(row, 0)) : PyObject_GetItem(source ? params : in, PyTuple_GET_ITEM(row, 0));
        else x = instruction(values, op, row, other);
        if (x == NULL || PyList_Append(values, x) < 0) Py_CLEAR(values);
        Py_XDECREF(x);
    }
    return values;
}
