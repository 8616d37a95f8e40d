/* A call of vmap(reduce=...) like the last one: arrays of the same kinds go to its machine code without a second look. In Python
   the look takes 5 µs, as long as the machine code takes for 100 rows of a small network. */

typedef struct {
    int ndim;
    char kind;
    Py_ssize_t shape[16]; /* of a row, from 1 on */
} Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *codes, *key, *code; /* it holds as long as codes[key] is this code */
    PyObject *captured;
    PyTypeObject *array; /* what the arguments are: NumPy's array itself, no subclass */
    RowCode rows;
    int mean;
    Py_ssize_t n;
    Kind *kinds;
} Again;

#define AGAIN_ARGUMENTS 16

static PyObject *again_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Again *a = (Again *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n != a->n || kwnames != NULL || special_mode() != NULL) Py_RETURN_NONE;
    PyObject *now = PyDict_GetItemWithError(a->codes, a->key);
    if (now != a->code) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!Py_IS_TYPE(args[i], a->array)) Py_RETURN_NONE;
    Py_buffer views[AGAIN_ARGUMENTS];
    Py_ssize_t got = 0, rows = 0;
    int same = 1, any_bad = 0;
    while (got < n && same) {
        Py_buffer *v = &views[got];
        const Kind *kind = &a->kinds[got];
        if (PyObject_GetBuffer(args[got], v, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
            PyErr_Clear(); /* the general way says why */
            same = 0;
            break;
        }
        got++;
        same = v->ndim == kind->ndim && buffer_kind(v) == kind->kind;
        for (int d = 1; d < kind->ndim && same; d++) same = v->shape[d] == kind->shape[d];
        if (!same) break;
        if (got == 1) rows = v->shape[0];
        same = rows > 0 && v->shape[0] == rows;
    }
    PyObject *result = Py_None, *code = Py_NewRef(a->code), *captured = Py_NewRef(a->captured);
    uint8_t none = 0;
    if (same) result = batch_rows(&a->rows, views, n, NULL, captured, rows, NULL, 0, &none, a->mean ? 1.0 / (double)rows : 1.0, &any_bad, NULL);
    else Py_INCREF(result);
    for (Py_ssize_t i = 0; i < got; i++) PyBuffer_Release(&views[i]);
    Py_DECREF(code);
    Py_DECREF(captured);
    return result;
}

static PyTypeObject *AgainType;

/* again(args, (codes, key, code), captured, (address, width, item, n_acc, scratch, threads), op, mean) -> a callable that gives
   the node for arguments like these, or None for others; None itself where there are too many of them. The code has no guards. */
static PyObject *module_again(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *args, *codes, *key, *code, *captured, *op;
    RowCode rows;
    unsigned long long address;
    int mean;
    if (!PyArg_ParseTuple(arguments, "O!(O!OO)O!(Knnnni)Op:again", &PyTuple_Type, &args, &PyDict_Type, &codes, &key, &code, CapturedType, &captured,
                          &address, &rows.width, &rows.item, &rows.n_acc, &rows.scratch, &rows.threads, &op, &mean))
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args), row = row_of(op);
    if (row < 0) return NULL;
    if (n < 1 || n > AGAIN_ARGUMENTS) Py_RETURN_NONE;
    rows.function = (BatchFunction)(uintptr_t)address;
    rows.op = (int)row;
    Again *a = PyObject_GC_New(Again, AgainType);
    if (a == NULL) return NULL;
    a->vectorcall = again_vectorcall;
    a->codes = Py_NewRef(codes);
    a->key = Py_NewRef(key);
    a->code = Py_NewRef(code);
    a->captured = Py_NewRef(captured);
    a->array = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(PyTuple_GET_ITEM(args, 0)));
    a->rows = rows;
    a->mean = mean;
    a->n = n;
    a->kinds = PyMem_Calloc((size_t)n, sizeof(Kind));
    PyObject_GC_Track(a);
    if (a->kinds == NULL) {
        Py_DECREF(a);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_buffer v;
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(args, i), &v, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
            Py_DECREF(a);
            return NULL;
        }
        int fits = v.ndim >= 1 && v.ndim <= 16 && (a->kinds[i].kind = buffer_kind(&v)) != 0;
        a->kinds[i].ndim = v.ndim;
        for (int d = 1; d < v.ndim && fits; d++) a->kinds[i].shape[d] = v.shape[d];
        PyBuffer_Release(&v);
        if (!fits) {
            Py_DECREF(a);
            Py_RETURN_NONE;
        }
    }
    return (PyObject *)a;
}

static int again_traverse(Again *a, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(a));
    Py_VISIT(a->codes);
    Py_VISIT(a->key);
    Py_VISIT(a->code);
    Py_VISIT(a->captured);
    Py_VISIT(a->array);
    return 0;
}

static void again_dealloc(Again *a) { /* no clear: whatever it is part of has a dict in it */
    PyTypeObject *type = Py_TYPE(a);
    PyObject_GC_UnTrack(a);
    Py_DECREF(a->codes);
    Py_DECREF(a->key);
    Py_DECREF(a->code);
    Py_DECREF(a->captured);
    Py_DECREF(a->array);
    PyMem_Free(a->kinds);
    PyObject_GC_Del(a);
    Py_DECREF(type);
}

static PyMemberDef again_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Again, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot again_slots[] = {
    {Py_tp_dealloc, again_dealloc},
    {Py_tp_traverse, again_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, again_members},
    {0, NULL},
};

static PyType_Spec again_spec = {
    .name = "micrograd.compile.Again",
    .basicsize = sizeof(Again),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = again_slots,
};
