/* Ops over lists of operands, one node for all of it: sum, mean, prod, dot, logsumexp. */

#include "engine.h"
#include "ops.h"

/* The order of each sum is that of ops.py, so that the bits are. */

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

/* Read the operands of these sequences: their nodes to block->in, their numbers to x. Gives how many are Values; -1 where
   reading ended, with an error set or with what an operand's own _apply gave in *result. */
static Py_ssize_t read_operands(int op, PyObject *const *fast, Py_ssize_t nargs, Block *block, double *x, PyObject **result) {
    Py_ssize_t k = 0, values = 0;
    for (Py_ssize_t a = 0; a < nargs; a++) {
        for (Py_ssize_t i = 0, size = PySequence_Fast_GET_SIZE(fast[a]); i < size; i++, k++) {
            Operand o;
            PyObject *item = PySequence_Fast_GET_ITEM(fast[a], i);
            int got = operand(item, &o);
            if (got <= 0) {
                if (got == 0) *result = by_hook(item, op, fast, nargs);
                return -1;
            }
            block->in[k] = o.node;
            x[k] = o.data;
            values += o.node != NULL;
        }
    }
    for (Py_ssize_t i = 0; i < k; i++)
        if (block->in[i] != NULL) x[i] = block->in[i]->data; /* a later item's __float__ may have changed it */
    return values;
}

static int check_lengths(int op, Py_ssize_t n, Py_ssize_t first) {
    if (op == OP_DOT && n != 2 * first) {
        PyErr_Format(PyExc_ValueError, "dot() of lists of different lengths: %zd and %zd", first, n - first);
        return -1;
    }
    if (n == 0 && (op == OP_LOGSUMEXP || op == OP_MEAN)) {
        PyErr_Format(PyExc_ValueError, "%s of an empty list has no value", op == OP_MEAN ? "mean" : "logsumexp");
        return -1;
    }
    return 0;
}

/* One op over sequences of operands: dot has two (or one, of both in a row), the others one. Numbers alone give a number. */
PyObject *make_list(int op, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *fast[2] = {NULL, NULL}, *result = NULL;
    Block *block = NULL;
    double small[64], *x = small;
    Py_ssize_t n = 0, values;
    for (Py_ssize_t a = 0; a < nargs; a++)
        if ((fast[a] = fixed_sequence(args[a])) == NULL) goto done;
    for (Py_ssize_t a = 0; a < nargs; a++) n += PySequence_Fast_GET_SIZE(fast[a]); /* now that no list changes any more */
    if (check_lengths(op, n, nargs == 2 ? PySequence_Fast_GET_SIZE(fast[0]) : n / 2) < 0) goto done;
    if (n > 64 && (x = PyMem_Malloc((size_t)n * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if ((block = block_new(n)) == NULL || (values = read_operands(op, fast, nargs, block, x, &result)) < 0) goto done;
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
