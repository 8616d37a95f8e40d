/* pull() and push(): the derivatives of the results of a function at one point, from the graph that it has left behind.

   Nodes are numbered as the places of a tape would be (linearize.c), and the sweeps add in the order in which those over the tape
   add: eager and compiled derivatives have the same bits. The place of a node stands in its grad, and `seen` has the pairs
   (node, bits of its grad) from which all is put back; no Python code runs in between. graph.py has the same in Python. */

#include "eager.h"
#include "ops.h"

typedef struct {
    List seen, stack, order; /* order: the nodes behind the inputs, by place */
    Py_ssize_t k;            /* inputs; their places come first */
    double *carried;         /* the cotangent or tangent of each place */
    uint8_t *reached;        /* whether it has one */
    unsigned int trace;
    PyObject *ends; /* the op that ends all sweeps: stop_gradient */
} Graph;

static int room(List *l, Py_ssize_t more) { return l->room < l->n + more ? list_grow(l, more) : 0; }

static int64_t place_of(const Node *n) {
    int64_t place;
    memcpy(&place, &n->grad, sizeof place);
    return place;
}

static void set_place(Node *n, int64_t place) { memcpy(&n->grad, &place, sizeof place); }

static int remember(Graph *g, Node *n) { /* a node that is met for the first time; its grad is free from now on */
    if (room(&g->seen, 2) < 0) return -1;
    g->seen.item[g->seen.n++] = (uintptr_t)n;
    memcpy(&g->seen.item[g->seen.n++], &n->grad, sizeof(double));
    n->flags |= VISITED;
    return 0;
}

static void put_back(Graph *g) {
    for (Py_ssize_t i = g->seen.n - 2; i >= 0; i -= 2) {
        Node *n = (Node *)g->seen.item[i];
        memcpy(&n->grad, &g->seen.item[i + 1], sizeof(double));
        n->flags &= (uint8_t)~VISITED;
    }
}

#define ALL_STEPS ~0u

static unsigned steps_of_row(const Graph *g, const Node *n) { /* of an op that is not in the table */
    PyObject *row = PyList_GET_ITEM(op_rows, n->op);
    if (row == g->ends) return ALL_STEPS;
    PyObject *steps = PyObject_GetAttrString(row, "steps"); /* a slot: no Python code runs */
    unsigned bits = 0;
    for (Py_ssize_t i = 0; steps != NULL && PyTuple_Check(steps) && i < PyTuple_GET_SIZE(steps); i++)
        bits |= 1u << (PyLong_AsUnsignedLong(PyTuple_GET_ITEM(steps, i)) & 31);
    if (steps == NULL) PyErr_Clear();
    Py_XDECREF(steps);
    return bits;
}

static inline unsigned steps_of(const Graph *g, const Node *n) { /* a bit for each input to which nothing passes */
    return n->op < OP_COUNT ? op_steps[n->op] : steps_of_row(g, n);
}

static inline int is_step(unsigned steps, Py_ssize_t i) { return steps == ALL_STEPS || (i < 31 && (steps >> i & 1)); }

/* Give the nodes behind a root their places, inputs first. 0; -1 without memory; 1 where the graph has what these sweeps leave to
   the tape: a Value from outside, or a rule that somebody has written by hand. */
static int place_behind(Graph *g, Node *root) {
    if (room(&g->stack, 1) < 0) return -1;
    g->stack.item[g->stack.n++] = (uintptr_t)root;
    while (g->stack.n) {
        uintptr_t entry = g->stack.item[--g->stack.n];
        Node *n = (Node *)(entry & ~(uintptr_t)1);
        if (entry & 1) {
            if (room(&g->order, 1) < 0) return -1;
            set_place(n, g->k + g->order.n);
            g->order.item[g->order.n++] = (uintptr_t)n;
            continue;
        }
        if (n->flags & VISITED) continue;
        if (n->trace != g->trace || is_leaf(n) || is_by_hand(n) || has_hook(n)) return 1;
        Node **in = inputs(n);
        Py_ssize_t k = input_count(n);
        if (remember(g, n) < 0 || room(&g->stack, k + 1) < 0) return -1;
        PREFETCH((char *)n - 8 * sizeof(Node));
        g->stack.item[g->stack.n++] = (uintptr_t)n | 1;
        for (Py_ssize_t i = k - 1; i >= 0; i--)
            if (has_gradient(in[i]) && !(in[i]->flags & VISITED)) g->stack.item[g->stack.n++] = (uintptr_t)in[i];
    }
    return 0;
}

static inline Node *at(const Graph *g, int64_t place) { return (Node *)g->order.item[place - g->k]; }

/* ---- the sweeps */

static inline void add(Graph *g, int64_t place, double part) {
    g->carried[place] = g->reached[place] ? g->carried[place] + part : part;
    g->reached[place] = 1;
}

static inline void pull_into(Graph *g, Node *n, double cotangent) {
    Node **in = inputs(n);
    double *partial = input_partials(n);
    unsigned steps = steps_of(g, n);
    for (Py_ssize_t i = 0, k = input_count(n); i < k; i++)
        if (has_gradient(in[i]) && !(steps && is_step(steps, i))) add(g, place_of(in[i]), partial[i] * cotangent);
}

static void pull_back(Graph *g, int64_t last, double *to) { /* what the places up to the last carry; nothing is reached afterwards */
    static const uint8_t nothing[8];
    for (int64_t p = last; p >= 0; p--) {
        if (!g->reached[p]) {
            while (p >= 8 && memcmp(&g->reached[p - 8], nothing, 8) == 0) p -= 8;
            continue;
        }
        g->reached[p] = 0;
        if (p >= g->k) pull_into(g, at(g, p), g->carried[p]);
        else to[p] = g->carried[p];
    }
}

static void push_along(Graph *g) {
    for (int64_t p = g->k; p < g->k + g->order.n; p++) {
        Node *n = at(g, p), **in = inputs(n);
        double *partial = input_partials(n);
        unsigned steps = steps_of(g, n);
        for (Py_ssize_t i = 0, k = input_count(n); i < k; i++) {
            if (!has_gradient(in[i]) || (steps && is_step(steps, i))) continue;
            int64_t from = place_of(in[i]);
            if (g->reached[from]) add(g, p, partial[i] * g->carried[from]);
        }
    }
}

static void pull_all(Graph *g, PyObject *const *roots, Py_ssize_t m, const double *seeds, double *to) {
    for (Py_ssize_t r = 0; r < m; r++) { /* the gradient of a constant is 0.0 already */
        if (is_value(roots[r])) add(g, place_of((Node *)roots[r]), seeds ? seeds[r] : 1.0);
        if (seeds) continue;
        if (is_value(roots[r])) pull_back(g, place_of((Node *)roots[r]), to);
        to += g->k;
    }
    if (seeds) pull_back(g, g->k + g->order.n - 1, to);
}

static void push_all(Graph *g, PyObject *const *roots, Py_ssize_t m, const double *direction, double *to) {
    Py_ssize_t columns = direction ? 1 : g->k;
    for (Py_ssize_t c = 0; c < columns; c++) {
        for (Py_ssize_t i = direction ? 0 : c; i < (direction ? g->k : c + 1); i++) add(g, i, direction ? direction[i] : 1.0);
        push_along(g);
        for (Py_ssize_t r = 0; r < m; r++) {
            Node *root = (Node *)roots[r];
            if (is_value(roots[r]) && g->reached[place_of(root)]) to[r * columns + c] = g->carried[place_of(root)];
        }
        memset(g->reached, 0, (size_t)(g->k + g->order.n));
    }
}

/* ---- a whole derivation */

static List spare_seen, spare_stack, spare_order, spare_carried;

/* No Python code runs between the first mark and put_back(), so the lists are free when this is entered. */
int derive(PyObject *const *roots, Py_ssize_t m, Node *const *in, Py_ssize_t k, unsigned trace, PyObject *ends, const double *along,
           int forward, double *to) {
    Graph g = {.trace = trace, .ends = ends, .k = k, .seen = list_take(&spare_seen), .stack = list_take(&spare_stack), .order = list_take(&spare_order)};
    List carried = list_take(&spare_carried);
    int failed = 0;
    unmark_suspended();
    for (Py_ssize_t i = 0; i < k && !failed; i++) {
        failed = remember(&g, in[i]);
        if (!failed) set_place(in[i], i);
    }
    for (Py_ssize_t r = 0; r < m && !failed; r++)
        if (is_value(roots[r])) failed = place_behind(&g, (Node *)roots[r]);
    if (!failed) {
        Py_ssize_t places = k + g.order.n + 1, words = places + places / (Py_ssize_t)sizeof(uintptr_t) + 1;
        if ((Py_ssize_t)sizeof(uintptr_t) < (Py_ssize_t)sizeof(double)) words *= 2;
        if (room(&carried, words) < 0) failed = -1;
        else {
            g.carried = (double *)carried.item;
            g.reached = (uint8_t *)(g.carried + places);
            memset(g.reached, 0, (size_t)places);
            carried.used = words;
            if (forward) push_all(&g, roots, m, along, to);
            else pull_all(&g, roots, m, along, to);
        }
    }
    put_back(&g);
    g.seen.used = g.seen.n;
    g.stack.used = g.order.used = g.order.n;
    list_return(&g.seen, &spare_seen);
    list_return(&g.stack, &spare_stack);
    list_return(&g.order, &spare_order);
    list_return(&carried, &spare_carried);
    if (failed < 0 && !PyErr_Occurred()) PyErr_NoMemory();
    return failed;
}

/* ---- the functions of the module */

static PyObject *list_of(const double *numbers, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *x = PyFloat_FromDouble(numbers[i]);
        if (x == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, x);
    }
    return list;
}

static PyObject *derivatives(PyObject *args, int forward) {
    PyObject *roots, *in, *ends, *direction = Py_None, *result = NULL;
    Py_ssize_t trace;
    if (!PyArg_ParseTuple(args, forward ? "O!O!nO|O:push" : "O!O!nO|O:pull", &PyList_Type, &roots, &PyList_Type, &in, &trace, &ends, &direction))
        return NULL;
    if (trace <= 0 || trace >= ELSEWHERE) return PyErr_Format(PyExc_ValueError, "a trace is a number from 1 to %d", ELSEWHERE - 1);
    double *numbers = NULL, *along = NULL;
    roots = PyList_AsTuple(roots);
    in = PyList_AsTuple(in);
    if (roots == NULL || in == NULL || !all_values(in)) goto done;
    Py_ssize_t k = PyTuple_GET_SIZE(in), m = PyTuple_GET_SIZE(roots), given = forward ? k : m;
    Py_ssize_t n = direction == Py_None ? m * k : forward ? m : k;
    for (Py_ssize_t i = 0; i < k; i++)
        if (!is_leaf((Node *)PyTuple_GET_ITEM(in, i))) {
            PyErr_SetString(PyExc_ValueError, "the inputs are leaves, and one of these Values is made from others");
            goto done;
        }
    numbers = PyMem_RawCalloc((size_t)n + 1, sizeof(double));
    along = PyMem_RawCalloc((size_t)given + 1, sizeof(double));
    if (numbers == NULL || along == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (direction != Py_None) {
        if (!PyList_Check(direction) || PyList_GET_SIZE(direction) != given) {
            PyErr_Format(PyExc_ValueError, "%s has one number for each %s", forward ? "a direction" : "a cotangent", forward ? "input" : "root");
            goto done;
        }
        for (Py_ssize_t i = 0; i < given; i++) {
            PyObject *x = Py_NewRef(PyList_GET_ITEM(direction, i));
            int failed = number(x, &along[i]) < 0 || PyList_GET_SIZE(direction) != given;
            Py_DECREF(x);
            if (failed) goto done;
        }
    }
    int how = derive(&PyTuple_GET_ITEM(roots, 0), m, (Node *const *)&PyTuple_GET_ITEM(in, 0), k, (unsigned)trace, ends,
                     direction == Py_None ? NULL : along, forward, numbers);
    if (how == 0) result = list_of(numbers, n);
    else if (how > 0) result = Py_NewRef(Py_None);
done:
    if (result == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the direction has changed while it was read");
    PyMem_RawFree(numbers);
    PyMem_RawFree(along);
    Py_XDECREF(roots);
    Py_XDECREF(in);
    return result;
}

static PyObject *module_pull(PyObject *module, PyObject *args) {
    (void)module;
    return derivatives(args, 0);
}

static PyObject *module_push(PyObject *module, PyObject *args) {
    (void)module;
    return derivatives(args, 1);
}

PyMethodDef derivative_methods[] = {
    {"pull", module_pull, METH_VARARGS, "pull(roots, inputs, trace, end, cotangent=None) -> for each root its gradient, or one of all; None where a tape is needed"},
    {"push", module_push, METH_VARARGS, "push(roots, inputs, trace, end, direction=None) -> the same by forward sweeps, or one derivative"},
    {NULL, NULL, 0, NULL},
};
