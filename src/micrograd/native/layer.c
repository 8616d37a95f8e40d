/* The neurons of a layer in one call: the loop of nn/mlp.py, which takes half as long here. */

#include "engine.h"
#include "ops.h"

static PyObject *str_parts;

int layer_init(void) { return (str_parts = PyUnicode_InternFromString("_parts")) == NULL ? -1 : 0; }

/* activate(dot(w, x) + b), under a scope: parts is (scope, w, b, activate), and activate may be None. */
static PyObject *fire_one(PyObject *parts, PyObject *x) {
    unsigned long scope = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(parts, 0));
    if (PyErr_Occurred() || enter_scope(scope) < 0) return NULL;
    PyObject *operands[] = {PyTuple_GET_ITEM(parts, 1), x}, *activate = PyTuple_GET_ITEM(parts, 3);
    PyObject *product = make_list(OP_DOT, operands, 2);
    if (product == NULL) return NULL;
    PyObject *sum = PyNumber_Add(product, PyTuple_GET_ITEM(parts, 2));
    Py_DECREF(product);
    if (sum == NULL || activate == Py_None) return sum;
    PyObject *out = PyObject_CallOneArg(activate, sum);
    Py_DECREF(sum);
    return out;
}

/* A neuron of the plain class is run here once its parts are known; any other object is called. */
static PyObject *fire_or_call(PyObject *neuron, PyObject *x, PyObject *plain) {
    if ((PyObject *)Py_TYPE(neuron) == plain) {
        PyObject *parts = PyObject_GetAttr(neuron, str_parts);
        if (parts == NULL) return NULL;
        if (PyTuple_CheckExact(parts) && PyTuple_GET_SIZE(parts) == 4) {
            PyObject *out = fire_one(parts, x);
            Py_DECREF(parts);
            return out;
        }
        Py_DECREF(parts);
    }
    return PyObject_CallOneArg(neuron, x);
}

static PyObject *module_fire(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs != 3) {
        PyErr_SetString(PyExc_TypeError, "fire() takes the neurons, their inputs and the plain class, or None");
        return NULL;
    }
    PyObject *neurons = PySequence_Fast(args[0], "the neurons of a layer are a list");
    PyObject *out = neurons ? PyList_New(0) : NULL;
    uint32_t outside = thread_mode.scope;
    for (Py_ssize_t i = 0; out != NULL && i < PySequence_Fast_GET_SIZE(neurons); i++) {
        PyObject *neuron = Py_NewRef(PySequence_Fast_GET_ITEM(neurons, i)); /* a neuron that is called may change the list */
        PyObject *y = fire_or_call(neuron, args[1], args[2]);
        Py_DECREF(neuron);
        if (y == NULL || PyList_Append(out, y) < 0) Py_CLEAR(out);
        Py_XDECREF(y);
        if (thread_mode.scope != outside) enter_scope(outside);
    }
    Py_XDECREF(neurons);
    return out;
}

PyMethodDef layer_methods[] = {
    {"fire", CAST(module_fire), METH_FASTCALL, "fire(neurons, x, plain) -> the outputs of the neurons of a layer"},
    {NULL, NULL, 0, NULL},
};
