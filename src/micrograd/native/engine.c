/* The C twin of engine.py: the same Value, the same results to the bit. engine.py is the definition; read it first.

   ops.h    the op switch, made from ops.py
   node.h   a node in memory, and how it is freed
   make.h   numbers in, one op, a node out
   captured.h  the Values that compiled code reads, shared by its results
   sweep.h  the sort and the backward sweep
   protocol.h  operators, comparisons, float() and the like, the functions of micrograd.math
   here      the class: constructor, attributes, methods; and the module
   trace.h  a graph as a tape; parameters in one go
   point.h, kernel.h  running machine code at one point
   batch.h, again.h  and over rows of arrays */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <structmember.h>
#ifdef _WIN32
#include <malloc.h>
#else
#include <sys/mman.h>
#endif

#include "optim.h"
#include "ops.h"
#include "node.h"
#include "make.h"
#include "captured.h"
#include "sweep.h"

#define CAST(f) ((void *)(f))

#include "protocol.h"

/* ---- Value(data, _children=(), _op='', label='') */

static PyObject *str_op, *str_label, *str_symbol;

static int node_set_dict(Node *n, PyObject *key, PyObject *value) {
    if (n->dict == NULL && (n->dict = PyDict_New()) == NULL) return -1;
    return PyDict_SetItem(n->dict, key, value);
}

static int take_children(Node *n, PyObject *children) {
    PyObject *fast = PySequence_Tuple(children);
    if (fast == NULL) return -1;
    Py_ssize_t k = PySequence_Fast_GET_SIZE(fast);
    if (k > 0) {
        for (Py_ssize_t i = 0; i < k; i++) {
            PyObject *child = PySequence_Fast_GET_ITEM(fast, i);
            if (!is_value(child)) {
                PyErr_Format(PyExc_TypeError, "_children are Values, not %s: %R", type_name(child), child);
                Py_DECREF(fast);
                return -1;
            }
        }
        Block *block = block_new(k);
        if (block == NULL) {
            Py_DECREF(fast);
            return -1;
        }
        int track = 0;
        for (Py_ssize_t i = 0; i < k; i++) {
            block->in[i] = (Node *)Py_NewRef(PySequence_Fast_GET_ITEM(fast, i));
            block->partial[i] = 0.0;
            track |= block->in[i]->flags & TRACKED;
        }
        n->op = OP_USER;
        n->block = block;
        n->flags |= MANY;
        changes++;
        if (track) node_track(n);
    }
    Py_DECREF(fast);
    return 0;
}

static int value_init(Node *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "_children", "_op", "label", NULL};
    PyObject *data, *children = NULL, *op = NULL, *label = NULL;
    double x;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OUO:Value", names, &data, &children, &op, &label)) return -1;
    if (is_value(data) ? (refuse(data), 1) : number(data, &x) < 0) return -1;
    self->data = x;
    self->grad = 0.0;
    if (special_threads) self->scope = thread_mode.scope, self->trace = thread_mode.trace;
    if (input_count(self) == 0 && children != NULL && take_children(self, children) < 0) return -1;
    if (tracing_threads && self->trace == 0 && is_of_a_trace(self)) self->trace = ELSEWHERE;
    if (op != NULL && PyUnicode_GET_LENGTH(op) > 0 && node_set_dict(self, str_op, op) < 0) return -1;
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
        if (is_value(args[0]) ? (refuse(args[0]), 1) : number(args[0], &x) < 0) return NULL;
        Node *n = node_alloc(x);
        if (n != NULL && special_threads) n->scope = thread_mode.scope, n->trace = thread_mode.trace;
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

/* ---- attributes */

static PyObject *get_data(PyObject *self, void *unused) { (void)unused; return leave("data", self); }
static PyObject *get_raw_data(Node *self, void *unused) { (void)unused; return PyFloat_FromDouble(self->data); }
static PyObject *get_grad(Node *self, void *unused) {
    (void)unused;
    if (special_threads && tell("grad", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    return PyFloat_FromDouble(self->grad);
}
static PyObject *get_scope(Node *self, void *unused) { (void)unused; return PyLong_FromUnsignedLong(self->scope); }

static int set_double(PyObject *value, double *place, const char *name) {
    if (value == NULL) {
        PyErr_Format(PyExc_AttributeError, "%s of a Value cannot be deleted", name);
        return -1;
    }
    double x;
    if (number(value, &x) < 0) return -1;
    *place = x;
    return 0;
}

static int set_data(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (special_threads && tell("data =", (PyObject *)self, Py_None, Py_None) < 0) return -1;
    return set_double(value, &self->data, "data");
}

static int set_grad(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (special_threads && tell("grad =", (PyObject *)self, Py_None, Py_None) < 0) return -1;
    return set_double(value, &self->grad, "grad");
}

static PyObject *get_prev(Node *self, void *unused) {
    (void)unused;
    Py_ssize_t k = input_count(self);
    PyObject *all = PyTuple_New(k);
    if (all == NULL) return NULL;
    for (Py_ssize_t i = 0; i < k; i++) {
        Node **in = inputs(self) + i;
        if (*in == NULL) { /* a plain number: show it as a leaf, the same one each time */
            Node *leaf = node_alloc(input_partials(self)[i]);
            if (leaf == NULL) {
                Py_DECREF(all);
                return NULL;
            }
            leaf->scope = self->scope;
            *in = (Node *)((uintptr_t)leaf | 1);
        }
        PyTuple_SET_ITEM(all, i, Py_NewRef((PyObject *)pointer(*in)));
    }
    return all;
}

static PyObject *get_partials(Node *self, void *unused) {
    (void)unused;
    Py_ssize_t k = self->op == OP_USER ? 0 : input_count(self);
    PyObject *all = PyTuple_New(k);
    if (all == NULL) return NULL;
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *p = has_gradient(inputs(self)[i]) ? PyFloat_FromDouble(input_partials(self)[i]) : Py_NewRef(Py_None);
        if (p == NULL) {
            Py_DECREF(all);
            return NULL;
        }
        PyTuple_SET_ITEM(all, i, p);
    }
    return all;
}

static PyObject *get_op(Node *self, void *unused) {
    (void)unused;
    PyObject *given = self->dict ? PyDict_GetItemWithError(self->dict, str_op) : NULL;
    if (given != NULL) return Py_NewRef(given);
    if (PyErr_Occurred()) return NULL;
    if (self->op >= OP_USER) return PyUnicode_FromString("");
    return PyObject_GetAttr(PyList_GET_ITEM(op_rows, self->op), str_symbol);
}

static PyObject *get_rule(Node *self, void *unused) {
    (void)unused;
    return Py_NewRef(self->op >= OP_USER ? Py_None : PyList_GET_ITEM(op_rows, self->op));
}

static PyObject *get_trace(Node *self, void *unused) { (void)unused; return PyLong_FromLong(self->trace); }

static int set_op(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "_op is a str");
        return -1;
    }
    return node_set_dict(self, str_op, value);
}

static int value_setattr(PyObject *self, PyObject *name, PyObject *value) {
    if (PyObject_GenericSetAttr(self, name, value) < 0) return -1;
    Node *n = (Node *)self;
    if (!Py_IS_TYPE(self, ValueType)) { /* perhaps since now: __class__ was assigned */
        changes++;
        node_track(n); /* as Python's own dealloc of a subclass expects it */
    }
    if (n->dict != NULL) {
        if (value != NULL && !PyUnicode_Check(value)) node_track(n); /* it may be part of a cycle now */
        if (PyUnicode_Compare(name, str_backward) == 0) {
            int has = PyDict_Contains(n->dict, str_backward);
            if (has < 0) return -1;
            n->flags = (uint8_t)(has ? n->flags | HOOKED : n->flags & ~HOOKED);
            changes++;
        }
    }
    return 0;
}

static PyObject *value_repr(Node *self) {
    if (tell("repr()", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    PyObject *label = PyObject_GetAttr((PyObject *)self, str_label), *result = NULL;
    PyObject *data = PyFloat_FromDouble(self->data), *grad = PyFloat_FromDouble(self->grad);
    int labelled = label == NULL ? -1 : PyObject_IsTrue(label);
    if (data != NULL && grad != NULL && labelled >= 0)
        result = labelled ? PyUnicode_FromFormat("Value(data=%R, grad=%R, label=%R)", data, grad, label)
                          : PyUnicode_FromFormat("Value(data=%R, grad=%R)", data, grad);
    Py_XDECREF(label);
    Py_XDECREF(data);
    Py_XDECREF(grad);
    return result;
}

/* ---- methods */

static PyObject *value_backward(Node *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    double seed = 1.0;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs + nkw > 1 || (nkw == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "gradient") != 0)) {
        PyErr_SetString(PyExc_TypeError, "backward() takes one argument, gradient=1.0");
        return NULL;
    }
    if (nargs + nkw == 1 && number(args[0], &seed) < 0) return NULL;
    if (special_threads && tell("backward()", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    return sweep(self, seed);
}

static PyObject *value_push(Node *self, PyObject *unused) {
    (void)unused;
    push(self);
    Py_RETURN_NONE;
}

static PyObject *value_detach(Node *self, PyObject *unused) {
    (void)unused;
    if (special_threads && tell("detach()", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    return (PyObject *)node_alloc(self->data);
}

static PyObject *module_apply(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

static PyObject *value_apply_hook(PyObject *self, PyObject *args) { /* _apply(op, args) */
    (void)self;
    PyObject *op, *operands;
    if (!PyArg_ParseTuple(args, "OO!:_apply", &op, &PyTuple_Type, &operands)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(operands);
    PyObject *all[5] = {op};
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

#define METHOD1_ROW(name) {#name, method_##name, METH_NOARGS, #name " of this value, as a new node."},
#define METHOD2_ROW(name) {#name, CAST(method_##name), METH_FASTCALL, #name " of this value and another, as a new node."},

static PyMethodDef value_methods[] = {
    {"backward", CAST(value_backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, gradient=1.0)\n--\n\nFill in `.grad` of every node that this one was made from.\n\n"
     "Leaves accumulate over calls; the nodes in between hold the gradient of this call."},
    {"_backward", CAST(value_push), METH_NOARGS, "Push this node's gradient into its inputs. Assign a function here to write an op of your own."},
    {"zero_grad", CAST(value_zero_grad), METH_NOARGS, "Set `.grad` to zero in the whole graph behind this node."},
    {"detach", CAST(value_detach), METH_NOARGS, "A leaf with the same data: no gradient passes through it."},
    {"_apply", value_apply_hook, METH_VARARGS, NULL},
    {"__round__", value_round_py, METH_VARARGS, NULL},
    {"__floor__", value_floor_py, METH_NOARGS, NULL},
    {"__ceil__", value_ceil_py, METH_NOARGS, NULL},
    {"__trunc__", value_trunc_py, METH_NOARGS, NULL},
    {"__format__", value_format, METH_O, NULL},
    {"__reduce_ex__", value_reduce, METH_O, NULL},
    {"__copy__", value_copy, METH_NOARGS, NULL},
    {"__deepcopy__", value_deepcopy, METH_O, NULL},
    METHOD_ROWS
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef value_getset[] = {
    {"data", get_data, CAST(set_data), "the number", NULL},
    {"_data", CAST(get_raw_data), NULL, "the number, unseen by a watcher", NULL},
    {"grad", CAST(get_grad), CAST(set_grad), "d(root)/d(self), once backward() has been called on a root", NULL},
    {"_prev", CAST(get_prev), NULL, "the inputs in operand order: a*a has two", NULL},
    {"_partials", CAST(get_partials), NULL, "d(self)/d(input), one per input; None for a plain number", NULL},
    {"_op", CAST(get_op), CAST(set_op), "the op that made this node", NULL},
    {"_rule", CAST(get_rule), NULL, "the row of the table; None for a leaf and for a node made by hand", NULL},
    {"_trace", CAST(get_trace), NULL, "which trace made this node", NULL},
    {"_scope", CAST(get_scope), NULL, "which nn module made this node", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef value_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

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
    {Py_tp_methods, value_methods},
    {Py_tp_getset, value_getset},
    {Py_tp_members, value_members},
    {Py_nb_add, value_add_op},
    {Py_nb_subtract, value_sub_op},
    {Py_nb_multiply, value_mul_op},
    {Py_nb_true_divide, value_div_op},
    {Py_nb_floor_divide, value_floordiv_op},
    {Py_nb_remainder, value_mod_op},
    {Py_nb_divmod, value_divmod_op},
    {Py_nb_power, value_pow_op},
    {Py_nb_negative, value_neg_op},
    {Py_nb_positive, value_pos_op},
    {Py_nb_absolute, value_abs_op},
    {Py_nb_bool, value_bool},
    {Py_nb_float, value_float},
    {Py_nb_int, value_int},
    {0, NULL},
};

static PyType_Spec value_spec = {
    .name = "micrograd.engine.Value",
    .basicsize = sizeof(Node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = value_slots,
};

/* ---- the module */

static Py_ssize_t row_of(PyObject *op) { /* the place of an Op; a user's new one is added at the end */
    PyObject *known = PyDict_GetItemWithError(op_index, op);
    if (known != NULL) return PyLong_AsSsize_t(known);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t row = PyList_GET_SIZE(op_rows);
    if (row >= OP_USER) {
        PyErr_SetString(PyExc_OverflowError, "more than 65,000 primitives: declare them once, outside of loops");
        return -1;
    }
    PyObject *index = PyLong_FromSsize_t(row);
    if (index == NULL || PyDict_SetItem(op_index, op, index) < 0 || PyList_Append(op_rows, op) < 0) {
        Py_XDECREF(index);
        return -1;
    }
    Py_DECREF(index);
    return row;
}

static PyObject *engine_py; /* engine.py's own apply: runs ops that are not in the table */

static PyObject *module_apply(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "apply(op, *operands)");
        return NULL;
    }
    PyObject *known = PyDict_GetItemWithError(op_index, args[0]);
    if (known == NULL && PyErr_Occurred()) return NULL;
    Py_ssize_t row = known ? PyLong_AsSsize_t(known) : OP_COUNT;
    if (row >= OP_COUNT) return PyObject_Vectorcall(engine_py, args, (size_t)nargs, NULL);
    if (row == OP_DOT && nargs == 2) return make_list(OP_DOT, args + 1, 1); /* as engine.py has it: [*xs, *ys] */
    return call_row((int)row, args + 1, nargs - 1);
}

static PyObject *module_node(PyObject *module, PyObject *args) { /* node(y, op, inputs, slopes): value and partials known */
    (void)module;
    PyObject *data, *op, *in, *slopes, *result = NULL;
    double y;
    if (!PyArg_ParseTuple(args, "OOOO:node", &data, &op, &in, &slopes) || number(data, &y) < 0) return NULL;
    PyObject *fast_in = PySequence_Tuple(in), *fast_slopes = fast_in ? PySequence_Tuple(slopes) : NULL;
    Block *block = NULL;
    if (fast_in == NULL || fast_slopes == NULL) goto done;
    Py_ssize_t k = PySequence_Fast_GET_SIZE(fast_in), row = row_of(op);
    if (row < 0 || (block = block_new(k)) == NULL) goto done;
    if (PySequence_Fast_GET_SIZE(fast_slopes) != k) {
        PyErr_SetString(PyExc_ValueError, "node() needs one slope for each input");
        goto done;
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *x = PySequence_Fast_GET_ITEM(fast_in, i), *slope = PySequence_Fast_GET_ITEM(fast_slopes, i);
        if (!is_value(x)) {
            refuse(x);
            goto done;
        }
        block->in[i] = slope == Py_None ? NULL : (Node *)x;
        if (slope != Py_None && number(slope, &block->partial[i]) < 0) goto done;
    }
    for (Py_ssize_t i = 0; i < k; i++)
        if (block->in[i] == NULL) block->partial[i] = ((Node *)PyTuple_GET_ITEM(fast_in, i))->data;
    result = make_many((int)row, y, block);
    block = NULL;
done:
    PyMem_Free(block);
    Py_XDECREF(fast_in);
    Py_XDECREF(fast_slopes);
    return result;
}

static PyObject *module_set_recording(PyObject *module, PyObject *on) {
    (void)module;
    int want = PyObject_IsTrue(on), before = !thread_mode.recording_off;
    if (want < 0) return NULL;
    thread_mode.recording_off = !want;
    mode_changed();
    return PyBool_FromLong(before);
}

static PyObject *module_set_scope(PyObject *module, PyObject *scope) {
    (void)module;
    unsigned long want = PyLong_AsUnsignedLong(scope), before = thread_mode.scope;
    if (PyErr_Occurred()) return NULL;
    thread_mode.scope = want > UINT16_MAX ? 0 : (uint16_t)want; /* more modules than marks: the rest stay unmarked */
    mode_changed();
    return PyLong_FromUnsignedLong(before);
}

static PyObject *module_set_trace(PyObject *module, PyObject *trace) {
    (void)module;
    unsigned long want = PyLong_AsUnsignedLong(trace), before = thread_mode.trace;
    if (PyErr_Occurred()) return NULL;
    thread_mode.trace = (uint16_t)want;
    tracing_threads += (want != 0) - (before != 0);
    mode_changed();
    return PyLong_FromUnsignedLong(before);
}

static PyObject *module_set_watch(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *watcher, *maker;
    if (!PyArg_ParseTuple(args, "OO:set_watch", &watcher, &maker)) return NULL;
    Mode *m = &thread_mode;
    PyObject *before = PyTuple_Pack(2, m->watcher ? m->watcher : Py_None, m->maker ? m->maker : Py_None);
    if (before == NULL) return NULL;
    Py_XSETREF(m->watcher, watcher == Py_None ? NULL : Py_NewRef(watcher));
    Py_XSETREF(m->maker, maker == Py_None ? NULL : Py_NewRef(maker));
    mode_changed();
    return before;
}

#include "trace.h"
#include "point.h"
#include "kernel.h"
#include "batch.h"
#include "again.h"

static PyMethodDef module_methods[] = {
    {"apply", CAST(module_apply), METH_FASTCALL, "apply(op, *operands): run one op"},
    {"node", module_node, METH_VARARGS, "node(y, op, inputs, slopes): make a node of which value and partials are known"},
    {"set_recording", module_set_recording, METH_O, "set_recording(on) -> what it was, in this thread"},
    {"set_scope", module_set_scope, METH_O, "set_scope(number) -> what it was, in this thread"},
    {"set_trace", module_set_trace, METH_O, "set_trace(number) -> what it was, in this thread"},
    {"linearize", module_linearize, METH_VARARGS, "linearize(roots, inputs, trace): the graph between them as flat arrays"},
    {"gradients", module_gradients, METH_VARARGS, "gradients(root, inputs) -> list; no .grad changes"},
    {"zero_grads", module_zero_grads, METH_O, "zero_grads(values)"},
    {"descend", module_descend, METH_VARARGS, "descend(values, lr, weight_decay): one step of gradient descent"},
    {"is_plain", module_is_plain, METH_NOARGS, "is_plain(): this thread is inside no trace, no_grad, scope or watch"},
    {"captured", module_captured, METH_O, "captured(values) -> the same, for results to share; or the list itself"},
    {"lay_flat", module_lay_flat, METH_VARARGS, "lay_flat(x, leaves) -> a key, or None"},
    {"point", module_point, METH_VARARGS, "point(address, numbers, params, n_out, n_scratch) -> outputs, or None"},
    {"batch", module_batch, METH_VARARGS, "batch(...): run machine code over the rows of arrays"},
    {"again", module_again, METH_VARARGS, "again(...): the same for arrays of kinds that are known, as a callable"},
    {"set_watch", module_set_watch, METH_VARARGS, "set_watch(watcher, maker) -> what they were, in this thread"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "micrograd._engine", .m_size = -1, .m_methods = module_methods};

/* How many bytes precede an object that the collector may track: asked of an empty list. */
static int measure_gc_head(void) {
    PyObject *list = PyList_New(0), *sys = PyImport_ImportModule("sys");
    PyObject *with = sys && list ? PyObject_CallMethod(sys, "getsizeof", "O", list) : NULL;
    PyObject *without = list ? PyObject_CallMethod(list, "__sizeof__", NULL) : NULL;
    if (with != NULL && without != NULL) gc_head = (size_t)(PyLong_AsLong(with) - PyLong_AsLong(without));
    Py_XDECREF(list);
    Py_XDECREF(sys);
    Py_XDECREF(with);
    Py_XDECREF(without);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_table(PyObject *functions) { /* the rows of ops.OPS, and a function for each */
    PyObject *ops = PyImport_ImportModule("micrograd.ops");
    PyObject *table = ops ? PyObject_GetAttrString(ops, "OPS") : NULL;
    Py_XDECREF(ops);
    if (table == NULL) return -1;
    op_rows = PyDict_Values(table);
    Py_DECREF(table);
    op_index = PyDict_New();
    if (op_rows == NULL || op_index == NULL) return -1;
    if (PyList_GET_SIZE(op_rows) != OP_COUNT) {
        PyErr_SetString(PyExc_ImportError, "_engine was built from another ops.py: run `make ops` and build again");
        return -1;
    }
    for (int i = 0; i < OP_COUNT; i++) {
        PyObject *op = PyList_GET_ITEM(op_rows, i), *index = PyLong_FromLong(i);
        PyObject *arity = PyObject_GetAttrString(op, "arity"), *name = PyObject_GetAttrString(op, "name"), *defaults = PyObject_GetAttrString(op, "defaults");
        if (!index || !arity || !name || !defaults || PyDict_SetItem(op_index, op, index) < 0) return -1;
        row_arity[i] = (int)PyLong_AsLong(arity);
        row_name[i] = PyUnicode_AsUTF8(name); /* the row keeps its name, the list keeps the row */
        row_default[i] = PyTuple_GET_SIZE(defaults) ? PyFloat_AsDouble(PyTuple_GET_ITEM(defaults, 0)) : NAN;
        function_defs[i] = (PyMethodDef){row_name[i], CAST(function_call), METH_FASTCALL, NULL};
        PyObject *function = PyCFunction_New(&function_defs[i], index);
        if (function == NULL || PyDict_SetItem(functions, name, function) < 0) return -1;
        Py_DECREF(function);
        Py_DECREF(index);
        Py_DECREF(arity);
        Py_DECREF(defaults);
        Py_DECREF(name);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int before_update(const char *how, PyObject *value) { return tell(how, value, Py_None, Py_None); }

static const double *leaf_partials(PyObject *root, PyObject **owner, PyObject *const **leaves, Py_ssize_t *n) {
    Node *node = (Node *)root;
    if (!Py_IS_TYPE(root, ValueType) || (node->flags & HOOKED) || !shared_leaves(node)) return NULL;
    *owner = ((Shared *)node->block)->owner;
    *leaves = (PyObject *const *)node->block->in;
    *n = node->block->n;
    return node->block->partial;
}

PyMODINIT_FUNC PyInit__engine(void) {
    PyObject *module = PyModule_Create(&module_def), *functions = PyDict_New();
    PyObject *numbers = PyImport_ImportModule("numbers");
    if (module == NULL || functions == NULL || numbers == NULL) return NULL;
    real_abc = PyObject_GetAttrString(numbers, "Real");
    Py_DECREF(numbers);
    str_apply = PyUnicode_InternFromString("_apply");
    str_array = PyUnicode_InternFromString("__array__");
    str_backward = PyUnicode_InternFromString("_backward");
    str_op = PyUnicode_InternFromString("_op");
    str_label = PyUnicode_InternFromString("label");
    str_symbol = PyUnicode_InternFromString("symbol");
    if (real_abc == NULL || measure_gc_head() < 0) return NULL;
    ValueType = (PyTypeObject *)PyType_FromSpec(&value_spec);
    if (ValueType == NULL || read_table(functions) < 0) return NULL;
    ValueType->tp_vectorcall = value_vectorcall;
    PyObject *empty = PyUnicode_FromString("");
    if (empty == NULL || PyObject_SetAttr((PyObject *)ValueType, str_label, empty) < 0 ||
        PyObject_SetAttrString((PyObject *)ValueType, "__array_ufunc__", Py_None) < 0)
        return NULL;
    Py_DECREF(empty);
    PyObject *engine = PyImport_ImportModule("micrograd.engine"); /* it is importing this module: its apply is defined */
    if (engine == NULL || (engine_py = PyObject_GetAttrString(engine, "apply")) == NULL) return NULL;
    Py_DECREF(engine);
    _Static_assert(offsetof(Node, grad) == offsetof(Node, data) + sizeof(double), "optim.c reads the gradient behind the data");
    if (optim_add(module, &(ValueLayout){ValueType, offsetof(Node, data), before_update, leaf_partials}) < 0) return NULL;
    CapturedType = (PyTypeObject *)PyType_FromSpec(&captured_spec);
    AgainType = (PyTypeObject *)PyType_FromSpec(&again_spec);
    if (CapturedType == NULL || AgainType == NULL) return NULL;
    PyObject *kernel_type = PyType_FromSpec(&kernel_spec);
    if (kernel_type == NULL || PyModule_AddObject(module, "Kernel", kernel_type) < 0) return NULL;
    if (PyModule_AddIntConstant(module, "mod_address", (long)(intptr_t)&mg_mod) < 0 || PyModule_AddIntConstant(module, "floordiv_address", (long)(intptr_t)&mg_floordiv) < 0) return NULL;
    if (PyModule_AddObject(module, "functions", functions) < 0 || PyModule_AddObject(module, "Value", Py_NewRef((PyObject *)ValueType)) < 0) return NULL;
    return module;
}
