/* linearize(): a graph written down for a tape, and left as it was. */

#include "engine.h"

/* The place of a node stands in its grad while the graph is read: a table beside it took twice the time, most of it waiting for
   memory. `seen` has the pairs (node, bits of its grad) from which all is put back; no Python code runs in between. */
static inline void set_place(Node *n, int64_t place) { memcpy(&n->grad, &place, sizeof place); }

static inline int64_t place_of(Node *n) {
    int64_t place;
    memcpy(&place, &n->grad, sizeof place);
    return place;
}

static int see(List *seen, Node *n) {
    if (seen->room < seen->n + 2 && list_grow(seen, 2) < 0) return -1;
    seen->item[seen->n++] = (uintptr_t)n;
    memcpy(&seen->item[seen->n++], &n->grad, sizeof(double));
    n->flags |= VISITED;
    return 0;
}

static void unsee(List *seen) {
    for (Py_ssize_t i = seen->n - 2; i >= 0; i -= 2) { /* backward: what was seen twice has its own grad in the first place */
        Node *n = (Node *)seen->item[i];
        memcpy(&n->grad, &seen->item[i + 1], sizeof(double));
        n->flags &= (uint8_t)~VISITED;
    }
}

/* bits of a number -> the place of its constant, by open addressing; place 0 is never a constant's (see linearize) */
typedef struct {
    uint64_t *bits;
    int32_t *place;
    size_t mask, used;
} Constants;

static int constants_grow(Constants *m) {
    size_t size = m->mask ? (m->mask + 1) * 2 : 64;
    Constants next = {PyMem_RawMalloc(size * sizeof(uint64_t)), PyMem_RawCalloc(size, sizeof(int32_t)), size - 1, m->used};
    if (next.bits == NULL || next.place == NULL) {
        PyMem_RawFree(next.bits);
        PyMem_RawFree(next.place);
        return -1;
    }
    for (size_t i = 0; m->mask && i <= m->mask; i++) {
        if (m->place[i] == 0) continue;
        size_t at = m->bits[i] * 0x9E3779B97F4A7C15u >> 20 & next.mask;
        while (next.place[at] != 0) at = (at + 1) & next.mask;
        next.bits[at] = m->bits[i];
        next.place[at] = m->place[i];
    }
    PyMem_RawFree(m->bits);
    PyMem_RawFree(m->place);
    *m = next;
    return 0;
}

static int32_t *constants_find(Constants *m, double x) { /* NULL without memory; *result is 0 for a new one */
    uint64_t bits;
    if (m->used * 2 >= m->mask && constants_grow(m) < 0) return NULL;
    memcpy(&bits, &x, sizeof bits);
    size_t at = bits * 0x9E3779B97F4A7C15u >> 20 & m->mask;
    while (m->place[at] != 0 && m->bits[at] != bits) at = (at + 1) & m->mask;
    if (m->place[at] == 0) {
        m->bits[at] = bits;
        m->used++;
    }
    return &m->place[at];
}

enum { IS_PARAM = 0x10000, IS_CONST = 0x10001 }; /* beside the rows of the table */

typedef struct {
    unsigned int trace;
    Constants constants;
    List seen, stack;
    List ops;           /* (row, where its args start) pairs */
    List args;          /* places; of a constant the one arg is its bits */
    List where;         /* the places of the roots */
    int32_t next;       /* the next place */
    PyObject *captured; /* Values from outside of the trace */
    Node *strange;      /* whose rule is Python: it cannot be written down */
} Writer;

static int need(List *l, Py_ssize_t more) { return l->room < l->n + more ? list_grow(l, more) : 0; }

static void open_row(Writer *w, uintptr_t row) { /* there is room for it */
    w->ops.item[w->ops.n++] = row;
    w->ops.item[w->ops.n++] = (uintptr_t)w->args.n;
}

static int32_t constant_place(Writer *w, double x) { /* -1 without memory */
    int32_t *constant = constants_find(&w->constants, x);
    if (constant == NULL) return -1;
    if (*constant == 0) {
        if (need(&w->ops, 2) < 0 || need(&w->args, 1) < 0) return -1;
        open_row(w, IS_CONST);
        memcpy(&w->args.item[w->args.n++], &x, sizeof x);
        *constant = ++w->next; /* one more than its place, so that it is not 0 */
    }
    return *constant - 1;
}

/* A node that is met for the first time: a parameter, or its inputs come first. 0, or -1 without memory or where it is strange. */
static int enter(Writer *w, Node *n) {
    int outside = n->trace != w->trace || is_leaf(n);
    if (!outside && (is_by_hand(n) || node_has_own_backward(n))) {
        w->strange = (Node *)Py_NewRef((PyObject *)n);
        return -1;
    }
    Py_ssize_t k = input_count(n);
    Node **in = inputs(n);
    if (see(&w->seen, n) < 0 || need(&w->stack, k + 1) < 0) return -1;
    if (outside) {
        if (need(&w->ops, 2) < 0 || need(&w->args, 1) < 0) return -1;
        open_row(w, IS_PARAM);
        w->args.item[w->args.n++] = (uintptr_t)PyList_GET_SIZE(w->captured);
        set_place(n, w->next++);
        return PyList_Append(w->captured, (PyObject *)n);
    }
    PREFETCH((char *)n - 8 * sizeof(Node));
    w->stack.item[w->stack.n++] = (uintptr_t)n | 1;
    for (Py_ssize_t i = k - 1; i >= 0; i--)
        if (has_gradient(in[i]) && !(in[i]->flags & VISITED)) w->stack.item[w->stack.n++] = (uintptr_t)in[i];
    return 0;
}

static int write_node(Writer *w, Node *n) { /* its inputs are written */
    Py_ssize_t k = input_count(n);
    Node **in = inputs(n);
    for (Py_ssize_t i = 0; i < k; i++) /* constants that are new come first */
        if (!has_gradient(in[i]) && constant_place(w, input_partials(n)[i]) < 0) return -1;
    if (need(&w->ops, 2) < 0 || need(&w->args, k) < 0) return -1;
    open_row(w, n->op);
    for (Py_ssize_t i = 0; i < k; i++)
        w->args.item[w->args.n++] = (uintptr_t)(has_gradient(in[i]) ? place_of(in[i]) : constant_place(w, input_partials(n)[i]));
    set_place(n, w->next++);
    return 0;
}

static int write_root(Writer *w, Node *root) {
    if (need(&w->stack, 1) < 0) return -1;
    w->stack.item[w->stack.n++] = (uintptr_t)root;
    while (w->stack.n) {
        uintptr_t entry = w->stack.item[--w->stack.n];
        Node *n = (Node *)(entry & ~(uintptr_t)1);
        if (entry & 1) {
            if (write_node(w, n) < 0) return -1;
        } else if (!(n->flags & VISITED) && enter(w, n) < 0) {
            return -1;
        }
    }
    w->where.item[w->where.n++] = (uintptr_t)place_of(root);
    return 0;
}

/* Write down all roots; no Python code runs between the first mark and unsee(). -1 with an error set, or where one is strange. */
static int write_all(Writer *w, PyObject *roots, PyObject *in, const double *numbers) {
    Py_ssize_t n_roots = PyTuple_GET_SIZE(roots), n_in = PyTuple_GET_SIZE(in);
    int failed = need(&w->where, n_roots);
    unmark_suspended();
    for (; w->next < n_in && !failed; w->next++) {
        Node *n = (Node *)PyTuple_GET_ITEM(in, w->next);
        if ((failed = see(&w->seen, n)) == 0) set_place(n, w->next);
    }
    for (Py_ssize_t r = 0; r < n_roots && !failed; r++) {
        PyObject *root = PyTuple_GET_ITEM(roots, r);
        if (is_value(root)) {
            failed = write_root(w, (Node *)root);
        } else {
            int32_t place = constant_place(w, numbers[r]);
            failed = place < 0 ? -1 : 0;
            w->where.item[w->where.n++] = (uintptr_t)place;
        }
    }
    unsee(&w->seen);
    if (failed && w->strange == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return failed;
}

static PyObject *row_args(const Writer *w, Py_ssize_t i) { /* of instruction i, as a tuple */
    Py_ssize_t from = (Py_ssize_t)w->ops.item[2 * i + 1], to = 2 * i + 3 < w->ops.n ? (Py_ssize_t)w->ops.item[2 * i + 3] : w->args.n;
    int is_const = w->ops.item[2 * i] == IS_CONST;
    PyObject *row = PyTuple_New(to - from);
    for (Py_ssize_t j = from; row != NULL && j < to; j++) {
        double x;
        memcpy(&x, &w->args.item[j], sizeof x);
        PyObject *at = is_const ? PyFloat_FromDouble(x) : PyLong_FromSsize_t((Py_ssize_t)w->args.item[j]);
        if (at == NULL) Py_CLEAR(row);
        else PyTuple_SET_ITEM(row, j - from, at);
    }
    if (row != NULL) PyObject_GC_UnTrack(row); /* the collector finds out by itself that numbers are no cycle, but slowly */
    return row;
}

/* (ops, args, captured, places) as Python objects; sources: the ops of an input, a captured Value and a constant. */
static PyObject *written(const Writer *w, Py_ssize_t n_in, PyObject *const *sources) {
    Py_ssize_t n = w->ops.n / 2;
    PyObject *ops = PyList_New(n_in + n), *args = PyList_New(n_in + n), *places = PyList_New(w->where.n);
    int failed = ops == NULL || args == NULL || places == NULL;
    for (Py_ssize_t i = 0; i < n_in + n && !failed; i++) {
        uintptr_t op = i < n_in ? 0 : w->ops.item[2 * (i - n_in)];
        PyObject *which = i < n_in           ? sources[0]
                          : op == IS_PARAM ? sources[1]
                          : op == IS_CONST ? sources[2]
                                           : PyList_GET_ITEM(op_rows, (Py_ssize_t)op);
        PyObject *row = i < n_in ? Py_BuildValue("(n)", i) : row_args(w, i - n_in);
        PyList_SET_ITEM(ops, i, Py_NewRef(which));
        PyList_SET_ITEM(args, i, row);
        failed = row == NULL;
    }
    for (Py_ssize_t r = 0; r < w->where.n && !failed; r++) {
        PyObject *at = PyLong_FromSsize_t((Py_ssize_t)w->where.item[r]);
        PyList_SET_ITEM(places, r, at);
        failed = at == NULL;
    }
    PyObject *result = failed ? NULL : PyTuple_Pack(4, ops, args, w->captured, places);
    Py_XDECREF(ops);
    Py_XDECREF(args);
    Py_XDECREF(places);
    return result;
}

/* linearize(roots, inputs, trace, (INPUT, PARAM, CONST)) -> (ops, args, captured, places): what a tape is made of.
   graph.py has the same in Python. A node with a hand-written _backward cannot be written down: then it is a tuple of that
   node alone. */
PyObject *module_linearize(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *roots, *in, *kinds, *sources[3], *result = NULL;
    Py_ssize_t trace;
    Writer w = {0};
    double *numbers = NULL;
    /* not "(OOO)" in the format: of a sequence that is no tuple, it gives objects that may be gone */
    if (!PyArg_ParseTuple(arguments, "O!O!nO!:linearize", &PyList_Type, &roots, &PyList_Type, &in, &trace, &PyTuple_Type, &kinds) ||
        !PyArg_ParseTuple(kinds, "OOO:linearize", &sources[0], &sources[1], &sources[2]))
        return NULL;
    if (trace < 0 || trace >= ELSEWHERE) return PyErr_Format(PyExc_ValueError, "a trace is a number below %d", ELSEWHERE);
    w.trace = (unsigned)trace;
    roots = PyList_AsTuple(roots); /* reading a root may run Python code, which may change the lists */
    in = PyList_AsTuple(in);
    w.captured = PyList_New(0);
    if (roots == NULL || in == NULL || w.captured == NULL || !all_values(in)) goto done;
    Py_ssize_t n_roots = PyTuple_GET_SIZE(roots);
    if ((numbers = PyMem_RawCalloc((size_t)n_roots + 1, sizeof(double))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t r = 0; r < n_roots; r++) {
        PyObject *root = PyTuple_GET_ITEM(roots, r);
        if (!is_value(root) && number(root, &numbers[r]) < 0) goto done;
    }
    if (write_all(&w, roots, in, numbers) == 0) result = written(&w, PyTuple_GET_SIZE(in), sources);
    else if (w.strange != NULL) result = PyTuple_Pack(1, (PyObject *)w.strange);
done:
    Py_XDECREF(w.strange);
    PyMem_RawFree(w.constants.bits);
    PyMem_RawFree(w.constants.place);
    List *lists[] = {&w.seen, &w.stack, &w.where, &w.ops, &w.args};
    for (int i = 0; i < 5; i++) PyMem_RawFree(lists[i]->item);
    PyMem_RawFree(numbers);
    Py_XDECREF(w.captured);
    Py_XDECREF(roots);
    Py_XDECREF(in);
    return result;
}
