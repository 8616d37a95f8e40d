/* The class Value: constructor, methods, numbers that leave the graph. */

#include "engine.h"

#include <frameobject.h> /* after engine.h, which has Python.h */
#include <opcode.h>

/* ---- Value(data, _children=(), _op='', label='') */

static void stamp(Node *n) {
    if (special_threads) stamp_scope(n, thread_mode.scope), n->trace = thread_mode.trace;
}

static int value_init(Node *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "_children", "_op", "label", NULL};
    PyObject *data, *children = NULL, *op = NULL, *label = NULL;
    double x;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO:Value", names, &data, &children, &op, &label)) return -1;
    if (children != NULL && PyUnicode_Check(children)) { /* Value(10.0, "a") */
        PyObject *operands = PyImport_ImportModule("micrograd.values.operand");
        Py_XDECREF(operands ? PyObject_CallMethod(operands, "no_name", "OO", data, children) : NULL);
        Py_XDECREF(operands);
        return -1;
    }
    if (number(data, &x) < 0) return -1;
    PyObject *partials = op != NULL && !PyUnicode_Check(op) ? op : NULL; /* Value(data, children, local derivatives) */
    if (children != NULL || partials != NULL) {
        PyObject *none = PyTuple_New(0);
        int failed = none == NULL || node_take_inputs(self, children ? children : none, partials) < 0;
        Py_XDECREF(none);
        if (failed) return -1;
    } else {
        node_drop_inputs(self);
    }
    look_at_gradients();
    self->data = x;
    self->grad = 0.0;
    data_changes++;
    stamp(self);
    if (tracing_threads && self->trace == 0 && is_of_a_trace(self)) self->trace = ELSEWHERE;
    if (op != NULL && partials == NULL && PyUnicode_GET_LENGTH(op) > 0 && node_set_dict(self, str_op, op) < 0) return -1;
    int labelled = label == NULL ? 0 : PyObject_IsTrue(label);
    if (labelled > 0) labelled = PyObject_SetAttr((PyObject *)self, str_label, label);
    return labelled;
}

static PyObject *value_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    if (type == ValueType) return (PyObject *)node_alloc(0.0);
    Node *n = (Node *)type->tp_alloc(type, 0); /* a subclass: Python's own memory, which the collector tracks */
    if (n != NULL) {
        n->op = OP_LEAF;
        n->flags = TRACKED;
    }
    return (PyObject *)n;
}

/* Value(x) with nothing else is nearly all calls there are: it goes past the tuple and the dict of the general way. */
static PyObject *value_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs == 1 && kwnames == NULL && ((PyTypeObject *)type)->tp_init == (initproc)value_init) {
        double x;
        if (number(args[0], &x) < 0) return NULL;
        Node *n = node_alloc(x);
        if (n != NULL) stamp(n);
        return (PyObject *)n;
    }
    PyObject *positional = PyTuple_New(nargs), *keywords = kwnames ? PyDict_New() : NULL, *result = NULL;
    if (positional == NULL || (kwnames != NULL && keywords == NULL)) goto done;
    for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0) goto done;
    result = PyType_Type.tp_call(type, positional, keywords);
done:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

/* ---- numbers that leave the graph */

static PyObject *value_compare(PyObject *self, PyObject *other, int how) {
    static const char *const names[] = {"lt", "le", "eq", "ne", "gt", "ge"}; /* in the order of Py_LT ... Py_GE */
    Operand b;
    int got = has_axes(other) ? 0 : comparand(other, names[how], &b);
    if (got < 0) return NULL;
    if (got == 0) Py_RETURN_NOTIMPLEMENTED;
    double x = ((Node *)self)->data, y = b.data;
    int result = how == Py_LT ? x < y : how == Py_LE ? x <= y : how == Py_EQ ? x == y : how == Py_NE ? x != y : how == Py_GT ? x > y : x >= y;
    if (special_threads && is_watched()) {
        PyObject *shown = b.node ? Py_NewRef(other) : PyFloat_FromDouble(y);
        int failed = shown == NULL || tell(names[how], self, shown, result ? Py_True : Py_False) < 0;
        Py_XDECREF(shown);
        if (failed) return NULL;
    }
    return PyBool_FromLong(result);
}

static int value_bool(PyObject *self) {
    int result = ((Node *)self)->data != 0.0;
    if (special_threads && is_watched()) {
        PyObject *zero = PyFloat_FromDouble(0.0);
        int failed = zero == NULL || tell("ne", self, zero, result ? Py_True : Py_False) < 0;
        Py_XDECREF(zero);
        if (failed) return -1;
    }
    return result;
}

static PyObject *leave_by(const char *how, PyObject *self, const char *method) {
    PyObject *x = leave(how, self);
    if (x == NULL) return NULL;
    PyObject *result = PyObject_CallMethod(x, method, NULL);
    Py_DECREF(x);
    return result;
}

/* Whether it may be NumPy or pandas that asks for the number, and not the user: conversion.py decides. */
static int may_be_unasked(void) {
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *globals = frame != NULL ? PyEval_GetGlobals() : NULL;
    if (globals == NULL) return 0;
    PyObject *name = known_item(globals, str_name);
    const char *module = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (module == NULL) PyErr_Clear();
    else if (strncmp(module, "numpy.", 6) == 0 || strncmp(module, "pandas.", 7) == 0) return 1;
#if PY_VERSION_HEX >= 0x030B0000
    int at = PyFrame_GetLasti(frame);
#else
    int at = frame->f_lasti * 2;
#endif
    PyCodeObject *code = PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *bytes = PyCode_GetCode(code);
#else
    PyObject *bytes = Py_NewRef(code->co_code);
#endif
    int stores = 0;
    if (bytes == NULL) PyErr_Clear();
    else if (at >= 0 && at < PyBytes_GET_SIZE(bytes)) {
        int op = (unsigned char)PyBytes_AS_STRING(bytes)[at];
        stores = op == STORE_SUBSCR;
#ifdef STORE_SLICE
        stores = stores || op == STORE_SLICE;
#endif
    }
    Py_XDECREF(bytes);
    Py_DECREF(code);
    return stores;
}

static PyObject *value_float(PyObject *self) {
    if (special_threads && tell_difference("float()", self, Py_None) < 0) return NULL;
    PyObject *x = PyFloat_FromDouble(((Node *)self)->data);
    if (x == NULL || !is_recording() || !may_be_unasked()) return x;
    PyObject *conversion = PyImport_ImportModule("micrograd.values.conversion");
    PyObject *looked = conversion ? PyObject_CallMethod(conversion, "refuse_unasked", NULL) : NULL;
    Py_XDECREF(conversion);
    if (looked == NULL) Py_CLEAR(x);
    Py_XDECREF(looked);
    return x;
}

/* From 2**52 on, an int of a number is the number itself, and its slope would be lost: this is how mpmath takes numbers. */
static int has_all_digits(PyObject *self) {
    double x = fabs(((Node *)self)->data);
    return x >= 0x1p52 && isfinite(x);
}

static PyObject *leave_as_int(const char *how, PyObject *self, const char *method) {
    if (special_threads && has_all_digits(self) && tell_difference("all digits", self, Py_None) < 0) return NULL;
    return leave_by(how, self, method);
}

static PyObject *value_int(PyObject *self) { return leave_as_int("int()", self, "__int__"); }
static PyObject *value_floor_py(PyObject *self, PyObject *unused) { (void)unused; return leave_as_int("math.floor()", self, "__floor__"); }
static PyObject *value_ceil_py(PyObject *self, PyObject *unused) { (void)unused; return leave_as_int("math.ceil()", self, "__ceil__"); }
static PyObject *value_trunc_py(PyObject *self, PyObject *unused) { (void)unused; return leave_as_int("math.trunc()", self, "__trunc__"); }

static PyObject *value_round_py(PyObject *self, PyObject *args) {
    PyObject *digits = Py_None;
    if (!PyArg_ParseTuple(args, "|O:__round__", &digits)) return NULL;
    if (special_threads && digits == Py_None && has_all_digits(self) && tell_difference("all digits", self, Py_None) < 0) return NULL;
    if (special_threads && tell(digits == Py_None ? "round()" : "round() to digits", self, digits, Py_None) < 0) return NULL;
    PyObject *x = PyFloat_FromDouble(((Node *)self)->data);
    if (x == NULL) return NULL;
    PyObject *result = PyObject_CallMethod(x, "__round__", "O", digits);
    Py_DECREF(x);
    return result;
}

static PyObject *value_format(PyObject *self, PyObject *spec) {
    if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return PyObject_Str(self);
    if (special_threads && asks_for_all_digits(spec) && tell_difference("all digits", self, Py_None) < 0) return NULL;
    PyObject *x = leave("format()", self);
    if (x == NULL) return NULL;
    PyObject *result = PyObject_Format(x, spec);
    Py_DECREF(x);
    return result;
}

static Py_hash_t value_hash(PyObject *self) { /* by identity */
    if (tell("hash()", self, Py_None, Py_None) < 0) return -1;
    size_t bits = (size_t)self >> 4 | (size_t)self << (8 * sizeof(size_t) - 4);
    return (Py_hash_t)bits == -1 ? -2 : (Py_hash_t)bits;
}

/* ---- methods */

static PyObject *value_repr(Node *self) {
    PyObject *label = PyObject_GetAttr((PyObject *)self, str_label), *result = NULL;
    look_at_gradients();
    PyObject *data = PyFloat_FromDouble(self->data), *grad = PyFloat_FromDouble(self->grad);
    int labelled = label == NULL ? -1 : PyObject_IsTrue(label);
    if (data != NULL && grad != NULL && labelled >= 0)
        result = labelled ? PyUnicode_FromFormat("Value(data=%R, grad=%R, label=%R)", data, grad, label)
                          : PyUnicode_FromFormat("Value(data=%R, grad=%R)", data, grad);
    Py_XDECREF(label);
    Py_XDECREF(data);
    Py_XDECREF(grad);
    PyObject *answer = result == NULL ? NULL : answer_of_watcher("repr()", (PyObject *)self, result);
    if (answer != Py_None) Py_CLEAR(result); /* there is another text, or an exception */
    else Py_CLEAR(answer);
    return answer != NULL ? answer : result;
}

static PyObject *value_detach(Node *self, PyObject *unused) {
    (void)unused;
    if (special_mode() != NULL && thread_mode.trace) { /* observed.py: stop_gradient */
        PyObject *observed = PyImport_ImportModule("micrograd.observed");
        PyObject *result = observed ? PyObject_CallMethod(observed, "stop_gradient", "O", self) : NULL;
        Py_XDECREF(observed);
        return result;
    }
    Node *n = node_alloc(self->data);
    if (n != NULL) stamp(n);
    return (PyObject *)n;
}

static PyObject *value_apply_hook(PyObject *self, PyObject *args) { /* _apply(op, args) */
    (void)self;
    PyObject *op, *operands;
    if (!PyArg_ParseTuple(args, "OO!:_apply", &op, &PyTuple_Type, &operands)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(operands);
    PyObject *all[5] = {op, NULL, NULL, NULL, NULL};
    if (n > 4) {
        PyErr_SetString(PyExc_TypeError, "_apply() takes at most 4 operands");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) all[i + 1] = PyTuple_GET_ITEM(operands, i);
    return module_apply(NULL, all, n + 1);
}

static PyObject *in_graph_py(PyObject *self, const char *function, PyObject *argument) {
    PyObject *module = PyImport_ImportModule("micrograd.graph");
    if (module == NULL) return NULL;
    PyObject *result = argument ? PyObject_CallMethod(module, function, "OO", self, argument) : PyObject_CallMethod(module, function, "O", self);
    Py_DECREF(module);
    return result;
}

static PyObject *value_reduce(PyObject *self, PyObject *protocol) { (void)protocol; return in_graph_py(self, "reduce", NULL); }
static PyObject *value_copy(PyObject *self, PyObject *unused) { (void)unused; return in_graph_py(self, "copy", NULL); }
static PyObject *value_deepcopy(PyObject *self, PyObject *memo) { return in_graph_py(self, "deepcopy", memo); }

static PyMethodDef value_methods[] = {
    {"backward", CAST(value_backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, gradient=1.0)\n--\n\nFill in `.grad` of every node that this one was made from.\n\n"
     "Leaf gradients accumulate over calls; those of intermediate nodes are overwritten."},
    {"_backward", CAST(value_push), METH_NOARGS, "Push this node's gradient into its inputs. Assign a function here to write an op of your own."},
    {"zero_grad", CAST(value_zero_grad), METH_NOARGS, "zero_grad($self)\n--\n\nSet `.grad` to zero in the whole graph behind this node."},
    {"detach", CAST(value_detach), METH_NOARGS, "detach($self)\n--\n\nA leaf with the same data: no gradient passes through it."},
    {"_apply", value_apply_hook, METH_VARARGS, NULL},
    {"__round__", value_round_py, METH_VARARGS, NULL},
    {"__floor__", value_floor_py, METH_NOARGS, NULL},
    {"__ceil__", value_ceil_py, METH_NOARGS, NULL},
    {"__trunc__", value_trunc_py, METH_NOARGS, NULL},
    {"__format__", value_format, METH_O, NULL},
    {"__reduce_ex__", value_reduce, METH_O, NULL},
    {"__copy__", value_copy, METH_NOARGS, NULL},
    {"__deepcopy__", value_deepcopy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef value_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- functions of the module */

static PyObject *module_node(PyObject *module, PyObject *args) { /* node(y, op, inputs, slopes): value and partials known */
    (void)module;
    PyObject *data, *op, *in, *slopes, *result = NULL;
    double y;
    if (!PyArg_ParseTuple(args, "OOOO:node", &data, &op, &in, &slopes) || number(data, &y) < 0) return NULL;
    Py_ssize_t row = row_of(op);
    Block *block = NULL;
    in = row < 0 ? NULL : PySequence_Tuple(in);
    slopes = in ? PySequence_Tuple(slopes) : NULL;
    if (slopes == NULL || !all_values(in)) goto done;
    Py_ssize_t k = PyTuple_GET_SIZE(in);
    if (PyTuple_GET_SIZE(slopes) != k) {
        PyErr_SetString(PyExc_ValueError, "node() needs one slope for each input");
        goto done;
    }
    if ((block = block_new(k)) == NULL) goto done;
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *slope = PyTuple_GET_ITEM(slopes, i);
        block->in[i] = slope == Py_None ? NULL : (Node *)PyTuple_GET_ITEM(in, i);
        if (slope != Py_None && number(slope, &block->partial[i]) < 0) goto done;
    }
    for (Py_ssize_t i = 0; i < k; i++)
        if (block->in[i] == NULL) block->partial[i] = ((Node *)PyTuple_GET_ITEM(in, i))->data;
    result = make_many((int)row, y, block);
    block = NULL;
done:
    PyMem_Free(block);
    Py_XDECREF(in);
    Py_XDECREF(slopes);
    return result;
}

static PyObject *module_attributes(PyObject *module, PyObject *v) { /* a copy: the __dict__ itself stays where it is */
    (void)module;
    if (!is_value(v)) return refuse(v);
    return ((Node *)v)->dict ? PyDict_Copy(((Node *)v)->dict) : PyDict_New();
}

PyMethodDef value_module_methods[] = {
    {"apply", CAST(module_apply), METH_FASTCALL, "apply(op, *operands): run one op"},
    {"node", module_node, METH_VARARGS, "node(y, op, inputs, slopes): make a node of which value and partials are known"},
    {"attributes", module_attributes, METH_O, "attributes(value) -> what is in its __dict__, as a dict of its own"},
    {NULL, NULL, 0, NULL},
};

/* ---- the type */

static PyType_Slot value_slots[] = {
    {Py_tp_doc, "Value(data, _children=(), _op='', label='')\n--\n\nA scalar, its gradient, and the op and inputs that made it."},
    {Py_tp_new, value_new},
    {Py_tp_init, value_init},
    {Py_tp_dealloc, value_dealloc},
    {Py_tp_traverse, value_traverse},
    {Py_tp_clear, value_clear},
    {Py_tp_repr, value_repr},
    {Py_tp_hash, value_hash},
    {Py_tp_richcompare, value_compare},
    {Py_tp_setattro, value_setattr},
    {Py_tp_getset, value_getset},
    {Py_tp_members, value_members},
    {Py_nb_bool, value_bool},
    {Py_nb_float, value_float},
    {Py_nb_int, value_int},
    {0, NULL},
};

/* One list of methods and one of slots, from those here and those of the table (make.c). */
static PyMethodDef all_methods[128];
static PyType_Slot all_slots[64];

static PyType_Spec value_spec = {
    .name = "micrograd.engine.Value",
    .basicsize = sizeof(Node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = all_slots,
};

static int collect_spec(void) {
    size_t n = 0, k = 0;
    const PyMethodDef *methods[] = {value_methods, table_methods};
    const PyType_Slot *slots[] = {value_slots, number_slots, whole_slots};
    for (int i = 0; i < 2; i++)
        for (const PyMethodDef *m = methods[i]; m->ml_name != NULL && n < 127; m++) all_methods[n++] = *m;
    for (int i = 0; i < 3; i++)
        for (const PyType_Slot *s = slots[i]; s->slot != 0 && k < 62; s++) all_slots[k++] = *s;
    all_slots[k++] = (PyType_Slot){Py_tp_methods, all_methods};
    if (n < 127 && k < 63) return 0;
    PyErr_SetString(PyExc_SystemError, "the table has more methods than value.c has room for");
    return -1;
}

int value_init_type(PyObject *module) {
    str_backward = PyUnicode_InternFromString("_backward");
    str_op = PyUnicode_InternFromString("_op");
    str_label = PyUnicode_InternFromString("label");
    PyObject *names = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__dict__");
    class_of_object = names == NULL ? NULL : PyMapping_GetItemString(names, "__class__");
    Py_XDECREF(names);
    if (class_of_object == NULL) return -1;
    if (!str_backward || !str_op || !str_label || collect_spec() < 0 || add_type(module, "Value", &value_spec, &ValueType) < 0) return -1;
    ValueType->tp_vectorcall = value_vectorcall;
    PyObject *empty = PyUnicode_FromString("");
    int failed = empty == NULL || PyObject_SetAttr((PyObject *)ValueType, str_label, empty) < 0;
    Py_XDECREF(empty);
    return failed ? -1 : 0;
}
