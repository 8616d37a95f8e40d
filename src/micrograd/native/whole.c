/* What only whole numbers do, such as to be an index: a Value has no answer, and a trace is told before Python says so, since the
   function may catch that error (tape/trace.py). */

#include "engine.h"

static PyObject *value_index(PyObject *self) {
    if (special_threads && tell_difference("index()", self, Py_None) < 0) return NULL;
    return PyErr_Format(PyExc_TypeError, "'%s' object cannot be interpreted as an integer", Py_TYPE(self)->tp_name);
}

static PyObject *whole_operator(const char *how, PyObject *a, PyObject *b) {
    PyObject *value = is_value(a) ? a : b;
    if (special_threads && tell_difference(how, value, Py_None) < 0) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *value_invert(PyObject *self) {
    if (special_threads && tell_difference("~", self, Py_None) < 0) return NULL;
    return PyErr_Format(PyExc_TypeError, "bad operand type for unary ~: '%s'", Py_TYPE(self)->tp_name);
}

static PyObject *value_and(PyObject *a, PyObject *b) { return whole_operator("&", a, b); }
static PyObject *value_or(PyObject *a, PyObject *b) { return whole_operator("|", a, b); }
static PyObject *value_xor(PyObject *a, PyObject *b) { return whole_operator("^", a, b); }
static PyObject *value_lshift(PyObject *a, PyObject *b) { return whole_operator("<<", a, b); }
static PyObject *value_rshift(PyObject *a, PyObject *b) { return whole_operator(">>", a, b); }

PyType_Slot whole_slots[] = {
    {Py_nb_index, value_index},   {Py_nb_invert, value_invert}, {Py_nb_and, value_and},       {Py_nb_or, value_or},
    {Py_nb_xor, value_xor},       {Py_nb_lshift, value_lshift}, {Py_nb_rshift, value_rshift}, {0, NULL},
};
