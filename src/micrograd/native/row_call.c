/* A call of vmap(reduce=...) like the last one: arrays of the same kinds go to its machine code without a second look. In Python
   the look takes longer than the machine code does for 100 rows of a small network (benchmarks/compiled.py, a moons step: 8.5 µs
   with it, 26 µs without). */

#include "code.h"

typedef struct {
    int ndim;
    char kind;
    Py_ssize_t shape[16]; /* of a row, from 1 on */
} Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *codes, *key, *code; /* it holds as long as codes[key] is this code */
    PyObject *machine_code;
    PyObject *captured;
    PyObject *watch; /* the modules that were read, as they were; NULL where there are none */
    PyTypeObject *array; /* what the arguments are: NumPy's array itself, no subclass */
    RowCode rows; /* its op is -1 for a number without a gradient */
    int mean;
    Py_ssize_t n;
    Kind *kinds;
} RowCall;

#define MOST_ARGUMENTS 16

/* Open the arrays of a call: how many are open, and whether all are of the kinds that are known. */
static Py_ssize_t open_same(RowCall *a, PyObject *const *args, Py_buffer *views, int *same) {
    Py_ssize_t got = 0;
    for (*same = 1; got < a->n && *same;) {
        Py_buffer *v = &views[got];
        const Kind *kind = &a->kinds[got];
        if (PyObject_GetBuffer(args[got], v, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
            PyErr_Clear(); /* the general way says why */
            *same = 0;
            break;
        }
        got++;
        *same = v->ndim == kind->ndim && buffer_kind(v) == kind->kind;
        for (int d = 1; d < kind->ndim && *same; d++) *same = v->shape[d] == kind->shape[d];
        *same = *same && v->shape[0] > 0 && v->shape[0] == views[0].shape[0];
    }
    return got;
}

/* Whether the thread is in the mode that the code was made for: with a gradient, or inside no_grad(); without any Value, in both. */
static int mode_fits(const RowCall *a) {
    if (a->rows.op >= 0) return special_mode() == NULL;
    return computes_plainly() && (Py_SIZE(a->captured) == 0 || !is_recording());
}

/* The sum of code without a gradient, from a list that is given away: a number, or a Value where there are Values. */
static PyObject *one_number(const RowCall *a, PyObject *sums, double scale) {
    if (sums == NULL) return NULL;
    double y = PyFloat_AS_DOUBLE(PyList_GET_ITEM(sums, 0)) * scale;
    Py_DECREF(sums);
    return Py_SIZE(a->captured) ? (PyObject *)node_alloc(y) : PyFloat_FromDouble(y);
}

static PyObject *row_call_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    RowCall *a = (RowCall *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n != a->n || kwnames != NULL || !mode_fits(a) || !structure_unchanged(a->watch)) Py_RETURN_NONE;
    PyObject *now = PyDict_GetItemWithError(a->codes, a->key);
    if (now != a->code) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!Py_IS_TYPE(args[i], a->array)) Py_RETURN_NONE;
    Py_buffer views[MOST_ARGUMENTS];
    int same, any_bad = 0;
    uint8_t none = 0;
    PyObject *result = NULL;
    Py_INCREF(self); /* other threads run meanwhile */
    Py_ssize_t got = open_same(a, args, views, &same);
    if (same) {
        RowData data = {.views = views, .n_views = n, .uniform = a->captured, .rows = views[0].shape[0], .bad = &none};
        data.scale = a->mean ? 1.0 / (double)data.rows : 1.0;
        result = run_rows(&a->rows, &data, &any_bad);
        if (a->rows.op < 0) result = one_number(a, result, data.scale);
    }
    for (Py_ssize_t i = 0; i < got; i++) PyBuffer_Release(&views[i]);
    Py_DECREF(self);
    return same ? result : Py_NewRef(Py_None);
}

PyTypeObject *RowCallType;

static int learn_kinds(RowCall *a, PyObject *args) { /* 1: done; 0: one of them does not fit; -1: an error is set */
    for (Py_ssize_t i = 0; i < a->n; i++) {
        Py_buffer v;
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(args, i), &v, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return -1;
        int fits = v.ndim >= 1 && v.ndim <= 16 && (a->kinds[i].kind = buffer_kind(&v)) != 0;
        a->kinds[i].ndim = v.ndim;
        for (int d = 1; d < v.ndim && fits; d++) a->kinds[i].shape[d] = v.shape[d];
        PyBuffer_Release(&v);
        if (!fits) return 0;
    }
    return 1;
}

/* row_call(args, (codes, key, code), captured, (machine code, width, item, n_acc, scratch, threads), op or None, mean, the key of a
   Watch or None) -> a callable that gives the node for arguments like these, or None for others; None itself where there are too many.
   The code has no guards. Without an op it has no gradients: then the callable gives a number, or a Value inside no_grad(). */
PyObject *module_row_call(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *args, *codes, *key, *code, *captured, *op, *machine_code, *watch;
    RowCode rows;
    int mean;
    PyObject *here, *work; /* not "(O!OO)" in the format: of a sequence that is no tuple, it gives objects that may be gone */
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!OpO:row_call", &PyTuple_Type, &args, &PyTuple_Type, &here, CapturedType, &captured, &PyTuple_Type, &work,
                          &op, &mean, &watch) ||
        !PyArg_ParseTuple(here, "O!OO:row_call", &PyDict_Type, &codes, &key, &code) ||
        !PyArg_ParseTuple(work, "Onnnni:row_call", &machine_code, &rows.width, &rows.item, &rows.n_acc, &rows.scratch, &rows.threads))
        return NULL;
    if (watch != Py_None && !structure_check(watch)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args), row = op == Py_None ? -1 : row_of(op);
    if ((row < 0 && op != Py_None) || (rows.code = code_of(machine_code, 1)) == NULL || !rows_fit(&rows)) return NULL;
    if (rows.n_acc != (row < 0 ? 0 : Py_SIZE(captured)) + 1 || rows.n_acc != rows.code->outputs || rows.code->guarded)
        return PyErr_Format(PyExc_ValueError, "row_call(): the code has guards, or other results than one sum for each captured Value and one more");
    if (n < 1 || n > MOST_ARGUMENTS) Py_RETURN_NONE;
    rows.op = (int)row;
    Kind *kinds = PyMem_Calloc((size_t)n, sizeof(Kind));
    RowCall *a = kinds ? PyObject_GC_New(RowCall, RowCallType) : NULL;
    if (a == NULL) {
        PyMem_Free(kinds);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    a->vectorcall = row_call_vectorcall;
    a->codes = Py_NewRef(codes);
    a->key = Py_NewRef(key);
    a->code = Py_NewRef(code);
    a->machine_code = Py_NewRef(machine_code);
    a->captured = Py_NewRef(captured);
    a->watch = watch == Py_None ? NULL : Py_NewRef(watch);
    a->array = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(PyTuple_GET_ITEM(args, 0)));
    a->rows = rows;
    a->mean = mean;
    a->n = n;
    a->kinds = kinds;
    PyObject_GC_Track(a);
    int learned = learn_kinds(a, args);
    if (learned == 1) return (PyObject *)a;
    Py_DECREF(a);
    return learned < 0 ? NULL : Py_NewRef(Py_None);
}

static int row_call_traverse(RowCall *a, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(a));
    Py_VISIT(a->codes);
    Py_VISIT(a->key);
    Py_VISIT(a->code);
    Py_VISIT(a->captured);
    Py_VISIT(a->watch);
    Py_VISIT(a->array);
    return 0;
}

static void row_call_dealloc(RowCall *a) { /* no clear: whatever it is part of has a dict in it */
    PyTypeObject *type = Py_TYPE(a);
    PyObject_GC_UnTrack(a);
    Py_DECREF(a->codes);
    Py_DECREF(a->key);
    Py_DECREF(a->code);
    Py_DECREF(a->machine_code);
    Py_DECREF(a->captured);
    Py_XDECREF(a->watch);
    Py_DECREF(a->array);
    PyMem_Free(a->kinds);
    PyObject_GC_Del(a);
    Py_DECREF(type);
}

static PyMemberDef row_call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RowCall, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot row_call_slots[] = {
    {Py_tp_dealloc, row_call_dealloc},
    {Py_tp_traverse, row_call_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, row_call_members},
    {0, NULL},
};

PyType_Spec row_call_spec = {
    .name = "micrograd.compile.RowCall",
    .basicsize = sizeof(RowCall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = row_call_slots,
};
