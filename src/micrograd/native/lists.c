/* Ops over lists of operands, one node for all of it: sum, mean, prod, dot, logsumexp. Their loops are in ops.h, made from the table. */

#include "engine.h"
#include "ops.h"

/* Read the operands of lists and tuples that hold only Values, floats and ints, as most do: no Python code runs meanwhile, so
   that they cannot change. Returns the number of Values; -1 with an error set, -2 if there is anything else. */
static Py_ssize_t read_plain(PyObject *const *args, Py_ssize_t nargs, Block *block, double *x) {
    Py_ssize_t k = 0, values = 0;
    for (Py_ssize_t a = 0; a < nargs; a++) {
        PyObject **item = PySequence_Fast_ITEMS(args[a]);
        for (Py_ssize_t i = 0, size = PySequence_Fast_GET_SIZE(args[a]); i < size; i++, k++) {
            if (Py_IS_TYPE(item[i], ValueType)) {
                block->in[k] = (Node *)item[i];
                x[k] = block->in[k]->data;
                values++;
                continue;
            }
            block->in[k] = NULL;
            int got = plain_number(item[i], &x[k]);
            if (got <= 0) return got == 0 ? -2 : -1;
        }
    }
    return values;
}

/* Read the operands of these sequences: their nodes to block->in, their numbers to x. Returns the number of Values; -1 where
   reading ended, with an error set or with the result of an operand's own _apply in *result. */
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

static int is_sequence(PyObject *o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }

/* A node over operands that are read, or a number where none is a Value; takes the block. */
static PyObject *make_of(int op, Block *block, const double *x, Py_ssize_t values) {
    Py_ssize_t n = block->n;
    double y = list_value(op, x, n);
    if (values == 0) {
        PyMem_Free(block);
        return PyFloat_FromDouble(y);
    }
    list_partials(op, x, n, y, block->partial);
    if (values < n)
        for (Py_ssize_t i = 0; i < n; i++)
            if (block->in[i] == NULL) block->partial[i] = x[i];
    return make_many(op, y, block);
}

/* One op over sequences of operands: dot has two (or one, of both in a row), the others one. Numbers alone give a number. */
PyObject *make_list(int op, PyObject *const *args, Py_ssize_t nargs) {
    PyObject *fast[2] = {NULL, NULL}, *result = NULL;
    Block *block = NULL;
    double small[64], *x = small;
    int plain = is_sequence(args[0]) && (nargs < 2 || is_sequence(args[1]));
again:
    if (!plain)
        for (Py_ssize_t a = 0; a < nargs; a++)
            if ((fast[a] = fixed_sequence(args[a])) == NULL) goto done;
    PyObject *const *from = plain ? args : fast;
    Py_ssize_t n = 0, values;
    for (Py_ssize_t a = 0; a < nargs; a++) n += PySequence_Fast_GET_SIZE(from[a]); /* now that no list changes any more */
    if (check_lengths(op, n, nargs == 2 ? PySequence_Fast_GET_SIZE(from[0]) : n / 2) < 0) goto done;
    if (n > 64 && (x = PyMem_Malloc((size_t)n * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if ((block = block_new(n)) == NULL) goto done;
    values = plain ? read_plain(args, nargs, block, x) : read_operands(op, fast, nargs, block, x, &result);
    if (values == -2) { /* there is something else among them: read copies instead */
        plain = 0;
        if (x != small) PyMem_Free(x);
        PyMem_Free(block);
        x = small;
        block = NULL;
        goto again;
    }
    if (values < 0) goto done;
    result = make_of(op, block, x, values);
    block = NULL;
done:
    if (x != small) PyMem_Free(x);
    PyMem_Free(block);
    Py_XDECREF(fast[0]);
    Py_XDECREF(fast[1]);
    return result;
}
