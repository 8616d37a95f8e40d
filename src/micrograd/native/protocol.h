/* Python's number protocol, and the functions of micrograd.math: from Python objects to one op. */

/* ---- operators */

/* Whether o may know by itself what `value + o` is; plain containers and arrays do not (engine.py: _foreign). */
static int is_foreign(PyObject *o) {
    if (PyUnicode_Check(o) || PyBytes_Check(o) || PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o) ||
        PySet_Check(o) || PyComplex_Check(o) || o == Py_None)
        return 0;
    return !PyObject_HasAttr(o, str_array);
}

static PyObject *not_an_operand(PyObject *o) {
    if (PyErr_Occurred()) return NULL;
    if (is_foreign(o)) Py_RETURN_NOTIMPLEMENTED;
    return refuse(o);
}

static inline PyObject *operate(int op, PyObject *left, PyObject *right) {
    Operand a, b;
    if (Py_IS_TYPE(left, ValueType) && Py_IS_TYPE(right, ValueType)) { /* by far the most frequent */
        a = (Operand){(Node *)left, ((Node *)left)->data};
        b = (Operand){(Node *)right, ((Node *)right)->data};
        return make2(op, a, b);
    }
    if (operand(left, &a) <= 0) return not_an_operand(left);
    if (operand(right, &b) <= 0) return not_an_operand(right);
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

/* ---- numbers that leave the graph */

static PyObject *value_compare(PyObject *self, PyObject *other, int how) {
    static const char *const names[] = {"lt", "le", "eq", "ne", "gt", "ge"}; /* in the order of Py_LT ... Py_GE */
    Operand b;
    int got = operand(other, &b);
    if (got < 0) return NULL;
    if (got == 0) Py_RETURN_NOTIMPLEMENTED;
    double x = ((Node *)self)->data, y = b.data;
    int result = how == Py_LT ? x < y : how == Py_LE ? x <= y : how == Py_EQ ? x == y : how == Py_NE ? x != y : how == Py_GT ? x > y : x >= y;
    if (special_threads) {
        PyObject *shown = b.node ? Py_NewRef(other) : PyFloat_FromDouble(y);
        int failed = shown == NULL || tell(names[how], self, shown, result ? Py_True : Py_False) < 0;
        Py_XDECREF(shown);
        if (failed) return NULL;
    }
    return PyBool_FromLong(result);
}

static int value_bool(PyObject *self) {
    int result = ((Node *)self)->data != 0.0;
    if (special_threads) {
        PyObject *zero = PyFloat_FromDouble(0.0);
        int failed = zero == NULL || tell("ne", self, zero, result ? Py_True : Py_False) < 0;
        Py_XDECREF(zero);
        if (failed) return -1;
    }
    return result;
}

static PyObject *leave(const char *how, PyObject *self) {
    if (special_threads && tell(how, self, Py_None, Py_None) < 0) return NULL;
    return PyFloat_FromDouble(((Node *)self)->data);
}

static PyObject *leave_by(const char *how, PyObject *self, const char *method) {
    PyObject *x = leave(how, self);
    if (x == NULL) return NULL;
    PyObject *result = PyObject_CallMethod(x, method, NULL);
    Py_DECREF(x);
    return result;
}

static PyObject *value_float(PyObject *self) { return leave("float()", self); }
static PyObject *value_int(PyObject *self) { return leave_by("int()", self, "__int__"); }
static PyObject *value_floor_py(PyObject *self, PyObject *unused) { (void)unused; return leave_by("math.floor()", self, "__floor__"); }
static PyObject *value_ceil_py(PyObject *self, PyObject *unused) { (void)unused; return leave_by("math.ceil()", self, "__ceil__"); }
static PyObject *value_trunc_py(PyObject *self, PyObject *unused) { (void)unused; return leave_by("math.trunc()", self, "__trunc__"); }

static PyObject *value_round_py(PyObject *self, PyObject *args) {
    PyObject *digits = Py_None;
    if (!PyArg_ParseTuple(args, "|O:__round__", &digits)) return NULL;
    PyObject *x = leave("round()", self);
    if (x == NULL) return NULL;
    PyObject *result = PyObject_CallMethod(x, "__round__", "O", digits);
    Py_DECREF(x);
    return result;
}

static PyObject *value_format(PyObject *self, PyObject *spec) {
    if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return PyObject_Str(self);
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

/* ---- ops by row: apply(), the functions of micrograd.math, the methods */

static PyObject *by_hook(PyObject *owner, int op, PyObject *const *args, Py_ssize_t n) {
    PyObject *all = n == 2 && PyList_Check(args[0]) ? PyNumber_Add(args[0], args[1]) : NULL; /* dot(xs, ys) */
    PyErr_Clear();
    PyObject *tuple = all ? PyTuple_Pack(1, all) : PyTuple_New(n);
    Py_XDECREF(all);
    if (tuple == NULL) return NULL;
    for (Py_ssize_t i = 0; all == NULL && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    PyObject *result = PyObject_CallMethodObjArgs(owner, str_apply, PyList_GET_ITEM(op_rows, op), tuple, NULL);
    Py_DECREF(tuple);
    return result;
}

static int row_arity[OP_COUNT];
static double row_default[OP_COUNT]; /* of the last input; nan where there is none */
static const char *row_name[OP_COUNT];

static PyObject *call_row(int op, PyObject *const *args, Py_ssize_t nargs) {
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
        if (got == 0) return PyObject_HasAttr(args[i], str_apply) ? by_hook(args[i], op, args, nargs) : refuse(args[i]);
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
