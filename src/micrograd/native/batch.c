/* batch(): machine code over the rows of the arrays of one call. */

#include "code.h"

typedef struct {
    PyObject *code, *arrays, *axes, *uniform, *outs, *bad, *op, *blocks;
    RowCode how;
    Py_buffer *views; /* of the arrays, the outs, bad and blocks */
    Py_ssize_t n_views;
    char **starts;
    int *along;
    RowData data;
} Call;

static int check_numbers(Call *c) {
    RowCode *how = &c->how;
    Py_ssize_t row = c->op == Py_None ? -1 : row_of(c->op);
    how->op = (int)row;
    if ((c->op != Py_None && row < 0) || (how->code = code_of(c->code, 1)) == NULL || !rows_fit(how)) return -1;
    const char *wrong = NULL;
    if (how->n_acc < (row >= 0) || c->data.rows < 0) wrong = "a count is too small";
    else if (c->data.rows > PY_SSIZE_T_MAX / 64) wrong = "there cannot be so many rows";
    else if (PyList_GET_SIZE(c->outs) != how->code->outputs - how->n_acc) wrong = "one array for each result that is not summed";
    else if (PyTuple_GET_SIZE(c->axes) != PyTuple_GET_SIZE(c->arrays)) wrong = "one axis for each array";
    else if (!is_captured(c->uniform) && !PyList_Check(c->uniform)) wrong = "uniform is a list";
    if (wrong == NULL) return 0;
    PyErr_Format(PyExc_ValueError, "batch(): %s", wrong);
    return -1;
}

static Py_buffer *view(Call *c, PyObject *o, int flags) {
    Py_buffer *v = &c->views[c->n_views];
    if (PyObject_GetBuffer(o, v, flags) < 0) return NULL;
    c->n_views++;
    return v;
}

static int open_arrays(Call *c) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c->arrays); i++) {
        long axis = PyLong_AsLong(PyTuple_GET_ITEM(c->axes, i));
        if (axis == -1 && PyErr_Occurred()) return -1;
        Py_buffer *v = view(c, PyTuple_GET_ITEM(c->arrays, i), PyBUF_STRIDES | PyBUF_FORMAT);
        if (v == NULL) return -1;
        if (v->ndim < 1 || v->ndim > 16 || axis < 0 || axis >= v->ndim || v->shape[axis] != c->data.rows || !buffer_kind(v)) {
            PyErr_SetString(PyExc_ValueError, "batch(): an array does not have these rows, or holds no real numbers");
            return -1;
        }
        c->along[i] = (int)axis;
    }
    return 0;
}

static int open_results(Call *c) {
    Py_ssize_t rows = c->data.rows, width = c->how.width;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c->outs); i++) {
        Py_buffer *v = view(c, PyTuple_GET_ITEM(c->outs, i), PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
        if (v == NULL) return -1;
        if (v->len < rows * c->how.item) {
            PyErr_SetString(PyExc_ValueError, "batch(): a result array is too small");
            return -1;
        }
        c->starts[i] = v->buf;
    }
    Py_buffer *bad = view(c, c->bad, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
    if (bad == NULL) return -1;
    if (bad->len < (c->how.code->guarded ? (rows + width - 1) / width * ((width + 7) / 8) : 1)) {
        PyErr_SetString(PyExc_ValueError, "batch(): the array of refused rows is too small");
        return -1;
    }
    c->data.bad = bad->buf;
    if (c->blocks == Py_None) return 0;
    Py_buffer *blocks = view(c, c->blocks, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
    if (blocks == NULL) return -1;
    if (blocks->len < (rows + GROUP_ROWS - 1) / GROUP_ROWS * c->how.n_acc * (Py_ssize_t)sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "batch(): the array for the sums of blocks is too small");
        return -1;
    }
    c->data.blocks = blocks->buf;
    return 0;
}

static PyObject *run_call(Call *c) {
    Py_ssize_t n_arrays = PyTuple_GET_SIZE(c->arrays), n_outs = PyTuple_GET_SIZE(c->outs);
    c->views = PyMem_Calloc((size_t)(n_arrays + n_outs + 2), sizeof(Py_buffer));
    c->starts = PyMem_Malloc((size_t)(n_outs + 1) * sizeof(char *));
    c->along = PyMem_Malloc((size_t)(n_arrays + 1) * sizeof(int));
    PyObject *answer = NULL;
    int any_bad = 0;
    if (c->views == NULL || c->starts == NULL || c->along == NULL) {
        PyErr_NoMemory();
    } else if (open_arrays(c) == 0 && open_results(c) == 0) {
        c->data.views = c->views;
        c->data.n_views = n_arrays;
        c->data.axes = c->along;
        c->data.uniform = c->uniform;
        c->data.outs = c->starts;
        c->data.n_outs = n_outs;
        answer = run_rows(&c->how, &c->data, &any_bad);
    }
    for (Py_ssize_t i = 0; i < c->n_views; i++) PyBuffer_Release(&c->views[i]);
    PyMem_Free(c->views);
    PyMem_Free(c->starts);
    PyMem_Free(c->along);
    return answer ? Py_BuildValue("(NN)", PyBool_FromLong(any_bad), answer) : NULL;
}

/* batch(code, width, item, arrays, axes, uniform, rows, outs, n_acc, scratch, bad, threads, op, scale, blocks)
   arrays: buffers, each with its batch axis in axes; uniform: numbers and Values that are the same in each row, or what captured()
   gives; outs: writable buffers, one for each result column; bad: a writable buffer, zeroed; blocks: None, or a writable buffer
   that gets the sums of each group of GROUP_ROWS rows. Returns (any_bad, sums); with op, a node in place of the sums. */
PyObject *module_batch(PyObject *module, PyObject *args) {
    (void)module;
    Call c = {.blocks = Py_None};
    RowCode *how = &c.how;
    if (!PyArg_ParseTuple(args, "OnnO!O!OnO!nnOiOd|O:batch", &c.code, &how->width, &how->item, &PyTuple_Type, &c.arrays, &PyTuple_Type,
                          &c.axes, &c.uniform, &c.data.rows, &PyList_Type, &c.outs, &how->n_acc, &how->scratch, &c.bad, &how->threads, &c.op,
                          &c.data.scale, &c.blocks) ||
        check_numbers(&c) < 0)
        return NULL;
    /* reading a number or an array may run Python code, which may change the lists */
    c.uniform = is_captured(c.uniform) ? Py_NewRef(c.uniform) : PyList_AsTuple(c.uniform);
    c.outs = PyList_AsTuple(c.outs);
    PyObject *result = c.uniform && c.outs ? run_call(&c) : NULL;
    Py_XDECREF(c.uniform);
    Py_XDECREF(c.outs);
    return result;
}
