/* Making nodes: numbers in, one op, a node out. Operators, methods, the functions of micrograd.math and apply(). */

#include "engine.h"
#include "ops.h"

PyObject *op_rows;
static PyObject *op_index; /* Op -> place in that list */
static PyObject *op_class; /* micrograd.ops.Op */
static PyObject *str_apply;
static PyObject *engine_py; /* engine.py's own apply, unwatched: runs ops that are not in the table */

static inline void set_input(Node *out, int i, Operand x, double partial) {
    out->in[i] = x.node;
    if (x.node != NULL) {
        Py_INCREF(x.node);
        x.node->flags |= CONSUMED;
        out->partial[i] = partial;
        if (x.node->flags & TRACKED) node_track(out);
    } else {
        out->partial[i] = x.data;
    }
}

/* What no_grad leaves: a leaf; in a trace, a node that says that it is a number of that trace, and not a Value from outside. */
PyObject *unrecorded(Node *out) {
    static Py_ssize_t row = -1; /* of stop_gradient */
    if (out == NULL || thread_mode.trace == 0 || thread_mode.trace == PLAIN_RUN) return (PyObject *)out;
    if (row < 0) {
        PyObject *observed = PyImport_ImportModule("micrograd.observed");
        PyObject *stop = observed ? PyObject_GetAttrString(observed, "STOP") : NULL;
        row = stop ? row_of(stop) : -1;
        Py_XDECREF(observed);
        Py_XDECREF(stop);
        if (row < 0) {
            Py_DECREF(out);
            return NULL;
        }
    }
    out->op = (uint16_t)row;
    out->count = 1;
    out->in[0] = out->in[1] = NULL;
    out->partial[0] = out->data;
    return made(out);
}

static inline PyObject *make1(int op, Node *a) {
    double x = a->data, y = value1(op, x);
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) return unrecorded(out);
    out->op = (uint16_t)op;
    out->count = 1;
    out->in[0] = out->in[1] = NULL;
    set_input(out, 0, (Operand){a, x}, partial10(op, x, y));
    return made(out);
}

static inline PyObject *make2(int op, Operand a, Operand b) {
    double y = value2(op, a.data, b.data);
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) return unrecorded(out);
    out->op = (uint16_t)op;
    out->count = 2;
    out->in[0] = out->in[1] = NULL; /* tracking may look at both before both are set */
    set_input(out, 0, a, a.node ? partial20(op, a.data, b.data, y) : 0.0);
    set_input(out, 1, b, b.node ? partial21(op, a.data, b.data, y) : 0.0);
    return made(out);
}

/* Takes the block; places of numbers hold them already. */
PyObject *make_many(int op, double y, Block *block) {
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) {
        PyMem_Free(block);
        return unrecorded(out);
    }
    out->op = (uint16_t)op;
    out->flags |= MANY;
    out->block = block;
    int track = 0;
    for (Py_ssize_t i = 0; i < block->n; i++) {
        if (block->in[i] == NULL) continue;
        Py_INCREF(block->in[i]);
        track |= block->in[i]->flags & TRACKED;
        block->in[i]->flags |= CONSUMED;
    }
    if (track) node_track(out);
    return made(out);
}

static PyObject *make3(int op, const Operand *x) {
    double y = value3(op, x[0].data, x[1].data, x[2].data);
    Block *block = block_new(3);
    if (block == NULL) return NULL;
    for (int i = 0; i < 3; i++) block->in[i] = x[i].node, block->partial[i] = x[i].data;
    if (x[0].node) block->partial[0] = partial30(op, x[0].data, x[1].data, x[2].data, y);
    if (x[1].node) block->partial[1] = partial31(op, x[0].data, x[1].data, x[2].data, y);
    if (x[2].node) block->partial[2] = partial32(op, x[0].data, x[1].data, x[2].data, y);
    return make_many(op, y, block);
}

/* What an operand that is no number says of an op: places on a tape have an _apply. NULL with an error set for all others. */
PyObject *by_hook(PyObject *owner, int op, PyObject *const *args, Py_ssize_t n) {
    if (!PyObject_HasAttr(owner, str_apply)) return refuse(owner);
    PyObject *all = NULL; /* of dot(xs, ys): [*xs, *ys] */
    if (op == OP_DOT && n == 2) {
        if ((all = PySequence_List(args[0])) == NULL) return NULL;
        Py_SETREF(all, PySequence_InPlaceConcat(all, args[1]));
        if (all == NULL) return NULL;
    }
    PyObject *tuple = all ? PyTuple_Pack(1, all) : PyTuple_New(n);
    for (Py_ssize_t i = 0; all == NULL && tuple != NULL && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    Py_XDECREF(all);
    if (tuple == NULL) return NULL;
    PyObject *result = PyObject_CallMethodObjArgs(owner, str_apply, PyList_GET_ITEM(op_rows, op), tuple, NULL);
    Py_DECREF(tuple);
    return result;
}

/* ---- operators */

static PyObject *not_an_operand(PyObject *o, int op) { /* op is -1 for an operand on the left */
    if (PyErr_Occurred()) return NULL;
    int knows = is_foreign(o);
    if (!knows && op >= 0 && (knows = reflects(o, PyList_GET_ITEM(op_rows, op))) < 0) return NULL;
    if (knows) Py_RETURN_NOTIMPLEMENTED;
    return refuse(o);
}

/* Whether x ** y is finite, for small exponents without a look at it: squares are frequent. */
static inline int has_power(double x, double y) {
    return fabs(y) <= 4.0 && 1e-60 < fabs(x) && fabs(x) < 1e60 && (x > 0.0 || y == trunc(y));
}

/* Plain numbers may raise an exception where Values follow IEEE: a trace is told of it (tape/arithmetic.py). */
static inline int may_raise(int op, PyObject *left, PyObject *right, double x, double y) {
    const char *how = op == OP_DIV ? "/" : op == OP_FLOORDIV ? "//" : op == OP_MOD ? "%" : op == OP_POW ? "**" : NULL;
    const Mode *m = how == NULL ? NULL : special_mode();
    if (m == NULL || m->watcher == NULL) return 0;
    if (m->only_differences && (op == OP_POW ? x != 0.0 && (has_power(x, y) || isfinite(value2(OP_POW, x, y))) : y != 0.0)) return 0;
    return tell_difference(how, left, right) < 0;
}

/* A list that is to be repeated asks for a whole number: see value_index. */
static int is_repeated(int op, PyObject *o, PyObject *value) {
    const PySequenceMethods *methods = Py_TYPE(o)->tp_as_sequence;
    if (op != OP_MUL || !special_threads || methods == NULL || methods->sq_repeat == NULL || PyErr_Occurred()) return 0;
    return tell_difference("index()", value, Py_None);
}

static inline PyObject *operate(int op, PyObject *left, PyObject *right) {
    Operand a, b;
    if (Py_IS_TYPE(left, ValueType) && Py_IS_TYPE(right, ValueType)) { /* by far the most frequent */
        if (may_raise(op, left, right, ((Node *)left)->data, ((Node *)right)->data)) return NULL;
        a = (Operand){(Node *)left, ((Node *)left)->data};
        b = (Operand){(Node *)right, ((Node *)right)->data};
        return make2(op, a, b);
    }
    if (has_axes(left) || has_axes(right)) Py_RETURN_NOTIMPLEMENTED;
    if (operand(left, &a) <= 0) return is_repeated(op, left, right) < 0 ? NULL : not_an_operand(left, -1);
    if (operand(right, &b) <= 0) return is_repeated(op, right, left) < 0 ? NULL : not_an_operand(right, op);
    if (may_raise(op, left, right, a.data, b.data)) return NULL;
    if (a.node != NULL) a.data = a.node->data; /* the other one's __float__ may have changed it */
    return make2(op, a, b);
}

static PyObject *value_add_op(PyObject *a, PyObject *b) { return operate(OP_ADD, a, b); }
static PyObject *value_sub_op(PyObject *a, PyObject *b) { return operate(OP_SUB, a, b); }
static PyObject *value_mul_op(PyObject *a, PyObject *b) { return operate(OP_MUL, a, b); }
static PyObject *value_div_op(PyObject *a, PyObject *b) { return operate(OP_DIV, a, b); }
static PyObject *value_floordiv_op(PyObject *a, PyObject *b) { return operate(OP_FLOORDIV, a, b); }
static PyObject *value_mod_op(PyObject *a, PyObject *b) { return operate(OP_MOD, a, b); }
static PyObject *value_neg_op(PyObject *a) { return make1(OP_NEG, (Node *)a); }
static PyObject *value_abs_op(PyObject *a) { return make1(OP_ABS, (Node *)a); }
static PyObject *value_pos_op(PyObject *a) { return Py_NewRef(a); }

static PyObject *value_pow_op(PyObject *a, PyObject *b, PyObject *modulus) {
    if (modulus != Py_None) {
        if (special_threads && tell_difference("index()", is_value(a) ? a : is_value(b) ? b : modulus, Py_None) < 0) return NULL;
        PyErr_SetString(PyExc_TypeError, "pow() of a Value takes no modulus");
        return NULL;
    }
    return operate(OP_POW, a, b);
}

static PyObject *value_divmod_op(PyObject *a, PyObject *b) {
    PyObject *quotient = operate(OP_FLOORDIV, a, b);
    if (quotient == NULL || quotient == Py_NotImplemented) return quotient;
    PyObject *rest = operate(OP_MOD, a, b);
    if (rest == NULL) {
        Py_DECREF(quotient);
        return NULL;
    }
    return Py_BuildValue("(NN)", quotient, rest);
}

/* ---- ops by row: apply(), the functions of micrograd.math, the methods */

int row_arity[OP_COUNT];
static double row_default[OP_COUNT]; /* of the last input; nan where there is none */
static const char *row_name[OP_COUNT];

PyObject *call_row(int op, PyObject *const *args, Py_ssize_t nargs) {
    int arity = row_arity[op];
    if (arity < 0) {
        if (nargs != (op == OP_DOT ? 2 : 1)) {
            PyErr_Format(PyExc_TypeError, "%s() takes %s, got %zd arguments", row_name[op], op == OP_DOT ? "two lists" : "one list", nargs);
            return NULL;
        }
        return make_list(op, args, nargs);
    }
    if (nargs != arity && !(nargs == arity - 1 && !isnan(row_default[op]))) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d input%s, got %zd", row_name[op], arity, arity == 1 ? "" : "s", nargs);
        return NULL;
    }
    Operand x[3] = {{NULL, row_default[op]}, {NULL, row_default[op]}, {NULL, row_default[op]}};
    int values = 0;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int got = operand(args[i], &x[i]);
        if (got < 0) return NULL;
        if (got == 0) return by_hook(args[i], op, args, nargs);
        values += x[i].node != NULL;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (x[i].node != NULL) x[i].data = x[i].node->data; /* a later operand's __float__ may have changed it */
    if (values == 0) {
        double y = arity == 1 ? value1(op, x[0].data) : arity == 2 ? value2(op, x[0].data, x[1].data) : value3(op, x[0].data, x[1].data, x[2].data);
        return PyFloat_FromDouble(y);
    }
    return arity == 1 ? make1(op, x[0].node) : arity == 2 ? make2(op, x[0], x[1]) : make3(op, x);
}

static PyObject *function_call(PyObject *index, PyObject *const *args, Py_ssize_t nargs) {
    return call_row((int)PyLong_AsLong(index), args, nargs);
}

static PyMethodDef function_defs[OP_COUNT];

#define METHOD1(name, OP) \
    static PyObject *method_##name(PyObject *self, PyObject *unused) { (void)unused; return make1(OP, (Node *)self); }
#define METHOD2(name, OP) \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs) { return call_method(OP, self, args, nargs); }

static PyObject *call_method(int op, PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *all[2] = {self, nargs == 1 ? args[0] : NULL};
    return call_row(op, all, nargs > 1 ? nargs + 1 : 1 + nargs);
}

METHODS

#define SIGNATURE(name, more) #name "($self" more ", /)\n--\n\n" #name " of this value"
#define METHOD1_ROW(name, more) {#name, method_##name, METH_NOARGS, SIGNATURE(name, more) ", as a new node."},
#define METHOD2_ROW(name, more) {#name, CAST(method_##name), METH_FASTCALL, SIGNATURE(name, more) " and another, as a new node."},

PyMethodDef table_methods[] = {METHOD_ROWS{NULL, NULL, 0, NULL}};

Py_ssize_t row_of(PyObject *op) {
    if (!PyObject_TypeCheck(op, (PyTypeObject *)op_class)) {
        PyErr_Format(PyExc_TypeError, "an op is a row of micrograd.ops, not %s", type_name(op));
        return -1;
    }
    PyObject *known = PyDict_GetItemWithError(op_index, op);
    if (known != NULL) return PyLong_AsSsize_t(known);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t row = PyList_GET_SIZE(op_rows);
    if (row >= OP_GIVEN) {
        PyErr_SetString(PyExc_OverflowError, "more than 65,000 primitives: declare them once, outside of loops");
        return -1;
    }
    PyObject *index = PyLong_FromSsize_t(row);
    int failed = index == NULL || PyList_Append(op_rows, op) < 0;
    if (!failed && PyDict_SetItem(op_index, op, index) < 0) failed = PyList_SetSlice(op_rows, row, row + 1, NULL) | 1;
    Py_XDECREF(index);
    return failed ? -1 : row;
}

Py_ssize_t known_row(PyObject *op) { /* of the table; -2 for what is not in it, -1 with an error set */
    PyObject *known = PyDict_GetItemWithError(op_index, op);
    if (known == NULL) return PyErr_Occurred() ? -1 : -2;
    Py_ssize_t row = PyLong_AsSsize_t(known);
    return row < OP_COUNT ? row : -2;
}

PyObject *module_apply(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
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

PyType_Slot number_slots[] = {
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
    {0, NULL},
};

static int read_row(int i, PyObject *functions) { /* what is to be known of a row of the table, and a function for it */
    PyObject *op = PyList_GET_ITEM(op_rows, i), *index = PyLong_FromLong(i);
    PyObject *arity = PyObject_GetAttrString(op, "arity"), *name = PyObject_GetAttrString(op, "name");
    PyObject *defaults = PyObject_GetAttrString(op, "defaults"), *function = NULL;
    int failed = !index || !arity || !name || !defaults || PyDict_SetItem(op_index, op, index) < 0;
    if (!failed) {
        row_arity[i] = (int)PyLong_AsLong(arity);
        row_name[i] = PyUnicode_AsUTF8(name); /* the row keeps its name, the list keeps the row */
        row_default[i] = PyTuple_GET_SIZE(defaults) ? PyFloat_AsDouble(PyTuple_GET_ITEM(defaults, 0)) : NAN;
        function_defs[i] = (PyMethodDef){row_name[i], CAST(function_call), METH_FASTCALL, NULL};
        function = PyCFunction_New(&function_defs[i], index);
        failed = function == NULL || PyDict_SetItem(functions, name, function) < 0 || PyErr_Occurred();
    }
    Py_XDECREF(function);
    Py_XDECREF(index);
    Py_XDECREF(arity);
    Py_XDECREF(defaults);
    Py_XDECREF(name);
    return failed ? -1 : 0;
}

static int read_table(PyObject *functions) { /* the rows of ops.OPS, and a function for each */
    PyObject *ops = PyImport_ImportModule("micrograd.ops");
    PyObject *table = ops ? PyObject_GetAttrString(ops, "OPS") : NULL;
    op_class = ops ? PyObject_GetAttrString(ops, "Op") : NULL;
    Py_XDECREF(ops);
    op_rows = table ? PyDict_Values(table) : NULL;
    Py_XDECREF(table);
    op_index = PyDict_New();
    if (op_rows == NULL || op_index == NULL || op_class == NULL) return -1;
    if (PyList_GET_SIZE(op_rows) != OP_COUNT) {
        PyErr_SetString(PyExc_ImportError, "the C engine was built from another ops.py");
        return -1;
    }
    for (int i = 0; i < OP_COUNT; i++)
        if (read_row(i, functions) < 0) return -1;
    return 0;
}

int make_init(PyObject *module) {
    PyObject *functions = PyDict_New();
    str_apply = PyUnicode_InternFromString("_apply");
    if (functions == NULL || str_apply == NULL || read_table(functions) < 0) return -1;
    PyObject *engine = PyImport_ImportModule("micrograd.observed"); /* it is importing this module: this function is defined */
    engine_py = engine ? PyObject_GetAttrString(engine, "apply_primitive") : NULL;
    Py_XDECREF(engine);
    PyObject *mod = PyLong_FromVoidPtr(CAST(&mg_mod)), *floordiv = PyLong_FromVoidPtr(CAST(&mg_floordiv)); /* for LLVM's linker */
    PyObject *philox = PyLong_FromVoidPtr(CAST(&mg_philox));
    int failed = engine_py == NULL || PyModule_AddObjectRef(module, "functions", functions) < 0 ||
                 PyModule_AddObjectRef(module, "mod_address", mod) < 0 || PyModule_AddObjectRef(module, "floordiv_address", floordiv) < 0 ||
                 PyModule_AddObjectRef(module, "philox_address", philox) < 0;
    Py_DECREF(functions);
    Py_XDECREF(mod);
    Py_XDECREF(floordiv);
    Py_XDECREF(philox);
    return failed ? -1 : 0;
}
