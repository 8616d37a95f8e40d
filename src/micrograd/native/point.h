/* Running machine code at one point.

   int f(const double *in, const double *params, double *out, void *scratch);   not 0: a guard failed */

#include <stdlib.h>
#include <stdatomic.h>

typedef int (*PointFunction)(const double *, const double *, double *, void *);

/* Memory for one run. The last run's is kept for the next: to get 300 kB from the system and give them back takes 40 µs. */
typedef struct {
    size_t bytes;
    _Alignas(64) char memory[];
} Workspace;

static _Atomic(Workspace *) spare_workspace;

static Workspace *workspace_take(size_t bytes) { /* NULL without memory; `memory` is aligned to 64 bytes */
    Workspace *w = atomic_exchange(&spare_workspace, NULL);
    if (w != NULL && w->bytes >= bytes && w->bytes / 16 <= bytes + 65536) return w;
    free(w);
    w = aligned_alloc(64, (sizeof(Workspace) + bytes + 63) & ~(size_t)63);
    if (w != NULL) w->bytes = bytes;
    return w;
}

static void workspace_return(Workspace *w) {
    if (w != NULL) free(atomic_exchange(&spare_workspace, w));
}

/* ---- one run */

typedef struct {
    PointFunction function;
    Py_ssize_t n_in, n_params, n_out, n_scratch;
    PyObject **params, **first; /* first: the arguments that are Values; outputs are nodes over those and the params */
    Py_ssize_t n_first;
    Captured *shared; /* the params, where they are one */
    int op;           /* of the nodes; -1: outputs are plain numbers */
} Point;

static inline size_t in_lines(Py_ssize_t n) { return ((size_t)n + 7) & ~(size_t)7; } /* of 64 bytes, each part its own */
static inline Py_ssize_t point_width(const Point *p) { return p->op < 0 ? 0 : p->n_first + p->n_params; }

/* Memory for a run; it begins with n_in numbers, which the caller fills in. */
static Workspace *point_space(const Point *p) {
    size_t n_all = in_lines(p->n_out * (1 + point_width(p)));
    return workspace_take((in_lines(p->n_in) + in_lines(p->n_params) + n_all + (size_t)p->n_scratch + 8) * sizeof(double));
}

static PyObject *point_node(const Point *p, double y, const double *partials) {
    Py_ssize_t width = point_width(p);
    if (p->shared != NULL && p->n_first == 0) {
        double *out;
        Shared *s = shared_new(p->shared, &out);
        if (s == NULL) return NULL;
        memcpy(s->block.partial, partials, (size_t)width * sizeof(double));
        return make_shared(p->op, y, s);
    }
    Block *block = block_new(width);
    if (block == NULL) return NULL;
    for (Py_ssize_t k = 0; k < width; k++) {
        block->in[k] = (Node *)(k < p->n_first ? p->first[k] : p->params[k - p->n_first]);
        block->partial[k] = partials[k];
    }
    return make_many(p->op, y, block);
}

/* 1: results holds n_out new references; 0: a guard failed; -1: an error is set. The code gives n_out values, and then for each
   its partials. */
static int point_run(const Point *p, Workspace *space, PyObject **results) {
    double *in = (double *)space->memory, *params = in + in_lines(p->n_in), *out = params + in_lines(p->n_params);
    Py_ssize_t width = point_width(p);
    double *scratch = out + in_lines(p->n_out * (1 + width));
    Shared *direct = NULL; /* one node over what was captured: its partials are written where they stay */
    if (p->shared != NULL) {
        captured_read(p->shared, params);
        if (p->op >= 0 && p->n_out == 1 && p->n_first == 0 && (direct = shared_new(p->shared, &out)) == NULL) return -1;
    } else {
        Operand o;
        for (Py_ssize_t i = 0; i < p->n_params; i++) {
            int got = operand(p->params[i], &o);
            if (got == 0) refuse(p->params[i]);
            if (got <= 0) return -1;
            params[i] = o.data;
        }
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = p->function(in, params, out, scratch);
    Py_END_ALLOW_THREADS
    if (failed) {
        if (direct != NULL) shared_free(direct);
        return 0;
    }
    if (direct != NULL) return (results[0] = make_shared(p->op, out[0], direct)) != NULL ? 1 : -1;
    for (Py_ssize_t i = 0; i < p->n_out; i++) {
        results[i] = p->op < 0 ? PyFloat_FromDouble(out[i]) : point_node(p, out[i], out + p->n_out + i * width);
        if (results[i] != NULL) continue;
        while (i-- > 0) Py_CLEAR(results[i]);
        return -1;
    }
    return 1;
}

/* point(address, numbers, params, n_out, n_scratch, op, inputs) -> list of outputs, or None when a guard failed.
   params: a list, or what captured() gives. With an op, outputs are nodes over the inputs and the params. */
static PyObject *module_point(PyObject *module, PyObject *args) {
    (void)module;
    unsigned long long address;
    PyObject *numbers, *params, *op, *first;
    Point p = {.op = -1};
    if (!PyArg_ParseTuple(args, "KO!OnnOO!:point", &address, &PyList_Type, &numbers, &params, &p.n_out, &p.n_scratch, &op, &PyList_Type, &first))
        return NULL;
    if (is_captured(params)) p.shared = (Captured *)params;
    else if (!PyList_Check(params)) return PyErr_Format(PyExc_TypeError, "point(): params are a list of Values");
    if (p.n_out < 0 || p.n_scratch < 0) return PyErr_Format(PyExc_ValueError, "point(): a count is negative");
    /* reading a number may run Python code, and other threads run while the machine code does: no list may change meanwhile */
    PyObject *result = NULL;
    numbers = PyList_AsTuple(numbers);
    first = PyList_AsTuple(first);
    params = p.shared ? Py_NewRef(params) : PyList_AsTuple(params);
    Workspace *space = NULL;
    if (numbers == NULL || first == NULL || params == NULL) goto done;
    p.function = (PointFunction)(uintptr_t)address;
    p.n_in = PyTuple_GET_SIZE(numbers);
    p.n_params = Py_SIZE(params);
    p.params = p.shared ? (PyObject **)p.shared->item : ((PyTupleObject *)params)->ob_item;
    p.n_first = PyTuple_GET_SIZE(first);
    p.first = ((PyTupleObject *)first)->ob_item;
    if (op != Py_None && ((p.op = (int)row_of(op)) < 0 || !all_values(first) || (!p.shared && !all_values(params)))) goto done;
    if ((space = point_space(&p)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < p.n_in; i++) {
        Operand o;
        int got = operand(PyTuple_GET_ITEM(numbers, i), &o);
        if (got == 0) refuse(PyTuple_GET_ITEM(numbers, i));
        if (got <= 0) goto done;
        ((double *)space->memory)[i] = o.data;
    }
    if ((result = PyList_New(p.n_out)) == NULL) goto done;
    int ran = point_run(&p, space, ((PyListObject *)result)->ob_item);
    if (ran <= 0) Py_SETREF(result, ran < 0 ? NULL : Py_NewRef(Py_None));
done:
    workspace_return(space);
    Py_XDECREF(numbers);
    Py_XDECREF(first);
    Py_XDECREF(params);
    return result;
}

/* lay_flat(x, leaves) -> a key as bytes, with the numbers and Values of nested lists and tuples appended to leaves; None (and
   leaves to be thrown away) where something else is among them: structure.py, flatten then does it. */
static int lay_flat(PyObject *x, PyObject *leaves, List *key, int depth) {
    if (key->n == key->room && list_grow(key, 1) < 0) return -1;
    int is_list = PyList_CheckExact(x);
    if (is_list || PyTuple_CheckExact(x)) {
        if (depth > 32) return 0;
        key->item[key->n++] = is_list ? '[' : '(';
        for (Py_ssize_t i = 0; i < Py_SIZE(x); i++) {
            int done = lay_flat(is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), leaves, key, depth + 1);
            if (done <= 0) return done;
        }
        if (key->n == key->room && list_grow(key, 1) < 0) return -1;
        key->item[key->n++] = ']';
        return 1;
    }
    int is_node = Py_IS_TYPE(x, ValueType);
    if (!is_node && !PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return 0;
    key->item[key->n++] = is_node ? 'v' : '*';
    return PyList_Append(leaves, x) < 0 ? -1 : 1;
}

static PyObject *module_lay_flat(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *x, *leaves, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!:lay_flat", &x, &PyList_Type, &leaves)) return NULL;
    List key = {0};
    int done = lay_flat(x, leaves, &key, 0);
    if (done > 0 && (result = PyBytes_FromStringAndSize(NULL, key.n)) != NULL)
        for (Py_ssize_t i = 0; i < key.n; i++) PyBytes_AS_STRING(result)[i] = (char)key.item[i];
    PyMem_RawFree(key.item);
    if (done == 0) result = Py_NewRef(Py_None);
    if (result == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return result;
}

/* The same again, for arguments that should be laid out as in a key: 1, and the numbers are in `to`; 0 where they are not. */
static int lay_again(PyObject *x, const char **key, double **to) {
    char want = *(*key)++;
    if (want == '*') {
        if (PyFloat_CheckExact(x)) {
            *(*to)++ = PyFloat_AS_DOUBLE(x);
            return 1;
        }
        if (!PyLong_CheckExact(x)) return 0;
        double number = PyLong_AsDouble(x);
        *(*to)++ = number;
        if (number != -1.0 || !PyErr_Occurred()) return 1;
        PyErr_Clear(); /* too large: the general way says so */
        return 0;
    }
    int is_list = PyList_CheckExact(x);
    if (want != (is_list ? '[' : '(') || !(is_list || PyTuple_CheckExact(x))) return 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        if (!lay_again(is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), key, to)) return 0;
    return *(*key)++ == ']';
}
