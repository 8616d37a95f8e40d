/* Making nodes: numbers in, one op, a node out. */

static PyObject *op_rows;  /* list of Op, in the order of the enum; ops of users follow */
static PyObject *op_index; /* Op -> place in that list */
static PyObject *real_abc; /* numbers.Real: NumPy's scalars are registered with it */
static PyObject *str_apply, *str_array;

/* 1: *out is the number; 0: not a number; -1: an error is set. */
static inline int plain_number(PyObject *o, double *out) {
    if (PyFloat_Check(o)) {
        *out = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyLong_Check(o)) {
        *out = PyLong_AsDouble(o);
        return *out == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    return 0;
}

static int other_number(PyObject *o, double *out) {
    int real = PyObject_IsInstance(o, real_abc);
    if (real <= 0) return real;
    PyObject *x = PyNumber_Float(o);
    if (x == NULL) return -1;
    *out = PyFloat_AS_DOUBLE(x);
    Py_DECREF(x);
    return 1;
}

static const char *type_name(PyObject *o) { /* without its module, as Python's __name__ */
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static PyObject *refuse(PyObject *o) {
    PyObject *text = PyObject_Repr(o);
    if (text == NULL) return NULL;
    if (PyUnicode_GET_LENGTH(text) > 60) {
        PyObject *head = PyUnicode_Substring(text, 0, 57);
        Py_SETREF(text, head ? PyUnicode_FromFormat("%U...", head) : NULL);
        Py_XDECREF(head);
        if (text == NULL) return NULL;
    }
    PyErr_Format(PyExc_TypeError, "a Value holds one real number (int, float or NumPy scalar), not %s: %U",
                 type_name(o), text);
    Py_DECREF(text);
    return NULL;
}

static int number(PyObject *o, double *out) {
    int got = plain_number(o, out);
    if (got == 0) got = other_number(o, out);
    if (got == 0) refuse(o);
    return got == 1 ? 0 : -1;
}

/* An operand is a Value, or a number. */
typedef struct {
    Node *node; /* NULL for a number */
    double data;
} Operand;

static inline int operand(PyObject *o, Operand *out) {
    if (is_value(o)) {
        out->node = (Node *)o;
        out->data = out->node->data;
        return 1;
    }
    out->node = NULL;
    int got = plain_number(o, &out->data);
    return got ? got : other_number(o, &out->data);
}

static int is_of_a_trace(Node *n) { /* made from what a trace has made */
    Node **in = inputs(n);
    for (Py_ssize_t i = 0, k = input_count(n); i < k; i++)
        if (has_gradient(in[i]) && in[i]->trace) return 1;
    return 0;
}

static PyObject *finish(Node *out) { /* the rare part: somebody is drawing, tracing or looking for nan */
    Mode *m = special_mode();
    if (tracing_threads && (m == NULL || m->trace == 0) && is_of_a_trace(out)) out->trace = ELSEWHERE;
    if (m == NULL) return (PyObject *)out;
    out->scope = m->scope;
    if (m->trace) out->trace = m->trace;
    if (m->maker != NULL) {
        PyObject *maker = Py_NewRef(m->maker), *told = PyObject_CallOneArg(maker, (PyObject *)out);
        Py_DECREF(maker);
        if (told == NULL) {
            Py_DECREF(out);
            return NULL;
        }
        Py_DECREF(told);
    }
    return (PyObject *)out;
}

static inline int is_recording(void) {
    return !special_threads || !thread_mode.recording_off;
}

static inline PyObject *made(Node *out) { return special_threads ? finish(out) : (PyObject *)out; }

static inline void set_input(Node *out, int i, Operand x, double partial) {
    out->in[i] = x.node;
    if (x.node != NULL) {
        Py_INCREF(x.node);
        out->partial[i] = partial;
        if (x.node->flags & TRACKED) node_track(out);
    } else {
        out->partial[i] = x.data;
    }
}

static inline PyObject *make1(int op, Node *a) {
    double x = a->data, y = value1(op, x);
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) return (PyObject *)out;
    out->op = (uint16_t)op;
    out->count = 1;
    out->in[0] = out->in[1] = NULL;
    set_input(out, 0, (Operand){a, x}, partial10(op, x, y));
    return made(out);
}

static inline PyObject *make2(int op, Operand a, Operand b) {
    double y = value2(op, a.data, b.data);
    Node *out = node_alloc(y);
    if (out == NULL || !is_recording()) return (PyObject *)out;
    out->op = (uint16_t)op;
    out->count = 2;
    out->in[0] = out->in[1] = NULL; /* tracking may look at both before both are set */
    set_input(out, 0, a, a.node ? partial20(op, a.data, b.data, y) : 0.0);
    set_input(out, 1, b, b.node ? partial21(op, a.data, b.data, y) : 0.0);
    return made(out);
}

/* A node that keeps its inputs in a block; takes the block. Places of numbers hold them already. */
static PyObject *make_many(int op, double y, Block *block) {
    Node *out = node_alloc(y);
    if (out == NULL || (!is_recording() && op != OP_USER)) {
        PyMem_Free(block);
        return (PyObject *)out;
    }
    out->op = (uint16_t)op;
    out->flags |= MANY;
    out->block = block;
    int track = 0;
    for (Py_ssize_t i = 0; i < block->n; i++) {
        Py_XINCREF(block->in[i]);
        if (block->in[i] != NULL) track |= block->in[i]->flags & TRACKED;
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

/* ---- lists of inputs: the order of each sum is that of ops.py, so that the bits are */

static double list_value(int op, const double *x, Py_ssize_t n) {
    double acc = op == OP_PROD ? 1.0 : 0.0;
    switch (op) {
    case OP_SUM:
    case OP_MEAN:
        for (Py_ssize_t i = 0; i < n; i++) acc = acc + x[i];
        return op == OP_MEAN ? acc / (double)n : acc;
    case OP_PROD:
        for (Py_ssize_t i = 0; i < n; i++) acc = acc * x[i];
        return acc;
    case OP_DOT:
        for (Py_ssize_t i = 0, half = n / 2; i < half; i++) acc = acc + x[i] * x[half + i];
        return acc;
    default: { /* OP_LOGSUMEXP */
        double top = x[0];
        for (Py_ssize_t i = 1; i < n; i++) top = value_max(top, x[i]);
        top = fabs(top) < INFINITY ? top : 0.0;
        for (Py_ssize_t i = 0; i < n; i++) acc = acc + exp(x[i] - top);
        return top + log(acc);
    }
    }
}

static void list_partials(int op, const double *x, Py_ssize_t n, double y, double *partial) {
    Py_ssize_t half = n / 2;
    switch (op) {
    case OP_SUM:
        for (Py_ssize_t i = 0; i < n; i++) partial[i] = partial_sum(y);
        return;
    case OP_MEAN:
        for (Py_ssize_t i = 0; i < n; i++) partial[i] = partial_mean((double)n);
        return;
    case OP_DOT:
        for (Py_ssize_t i = 0; i < half; i++) partial[i] = partial_dot(x[half + i]), partial[half + i] = partial_dot(x[i]);
        return;
    case OP_PROD: {
        double before = 1.0, after = 1.0;
        for (Py_ssize_t i = 0; i < n; i++) partial[i] = before, before = before * x[i];
        for (Py_ssize_t i = n - 1; i >= 0; i--) partial[i] = partial_prod(partial[i] * after), after = after * x[i];
        return;
    }
    default: { /* OP_LOGSUMEXP: ops.py, shares */
        double total = 0.0;
        for (Py_ssize_t i = 0; i < n; i++) {
            partial[i] = x[i] == y ? 1.0 : exp(x[i] - y);
            total = total + partial[i];
        }
        for (Py_ssize_t i = 0; i < n; i++) partial[i] = partial_logsumexp(partial[i] / total);
    }
    }
}

static PyObject *by_hook(PyObject *owner, int op, PyObject *const *args, Py_ssize_t n);

/* The items of a sequence, safe to walk. A list of Values, floats and ints is taken as it is, since looking at those runs no Python
   code that could change it; everything else is copied to a tuple first. */
static PyObject *fixed_sequence(PyObject *given) {
    if (PyTuple_CheckExact(given)) return Py_NewRef(given);
    if (PyList_CheckExact(given)) {
        Py_ssize_t i = 0, n = PyList_GET_SIZE(given);
        for (; i < n; i++) {
            PyObject *item = PyList_GET_ITEM(given, i);
            if (!Py_IS_TYPE(item, ValueType) && !PyFloat_Check(item) && !PyLong_Check(item) && !is_value(item)) break;
        }
        if (i == n) return Py_NewRef(given);
        return PyList_AsTuple(given);
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

/* One op over sequences of operands: dot has two (or one, of both in a row), the others one. Numbers alone give a number. */
static PyObject *make_list(int op, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *fast[2] = {NULL, NULL}, *result = NULL;
    Block *block = NULL;
    double small[64], *x = small;
    Py_ssize_t n = 0, values = 0;
    for (Py_ssize_t a = 0; a < nargs; a++)
        if ((fast[a] = fixed_sequence(args[a])) == NULL) goto done;
    for (Py_ssize_t a = 0; a < nargs; a++) n += PySequence_Fast_GET_SIZE(fast[a]); /* now that no Python code runs any more */
    Py_ssize_t first = nargs == 2 ? PySequence_Fast_GET_SIZE(fast[0]) : n / 2;
    if (op == OP_DOT && n != 2 * first) {
        PyErr_Format(PyExc_ValueError, "dot() of lists of different lengths: %zd and %zd", first, n - first);
        goto done;
    }
    if (n > 64 && (x = PyMem_Malloc((size_t)n * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if ((block = block_new(n)) == NULL) goto done;
    for (Py_ssize_t a = 0, k = 0; a < nargs; a++) {
        for (Py_ssize_t i = 0, size = PySequence_Fast_GET_SIZE(fast[a]); i < size; i++, k++) {
            Operand o;
            PyObject *item = PySequence_Fast_GET_ITEM(fast[a], i);
            int got = operand(item, &o);
            if (got <= 0) {
                if (got == 0 && PyObject_HasAttr(item, str_apply)) {
                    result = by_hook(item, op, fast, nargs);
                } else if (got == 0) {
                    refuse(item);
                }
                goto done;
            }
            block->in[k] = o.node;
            x[k] = o.data;
            values += o.node != NULL;
        }
    }
    for (Py_ssize_t k = 0; k < n; k++)
        if (block->in[k] != NULL) x[k] = block->in[k]->data; /* a later item's __float__ may have changed it */
    if (n == 0 && (op == OP_LOGSUMEXP || op == OP_MEAN)) {
        PyErr_Format(PyExc_ValueError, "%s of an empty list has no value", op == OP_MEAN ? "mean" : "logsumexp");
        goto done;
    }
    double y = list_value(op, x, n);
    if (values == 0) {
        result = PyFloat_FromDouble(y);
        goto done;
    }
    list_partials(op, x, n, y, block->partial);
    for (Py_ssize_t i = 0; i < n; i++)
        if (block->in[i] == NULL) block->partial[i] = x[i];
    result = make_many(op, y, block);
    block = NULL;
done:
    if (x != small) PyMem_Free(x);
    PyMem_Free(block);
    Py_XDECREF(fast[0]);
    Py_XDECREF(fast[1]);
    return result;
}
