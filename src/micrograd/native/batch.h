/* Running machine code over the rows of arrays.

   int f(void **columns, const void *params, void **outs, int64_t n, void *acc, uint8_t *bad, void *scratch);
   Rows are cut into groups of a fixed size, each summed in a fixed order: the number of threads changes no bit. */

#include <pthread.h>
#include <time.h>

#define GROUP_ROWS 2048 /* 49 groups of 100,000 rows: cores get even shares, and 300 sums a group cost 1 % */
#define PACK_ROWS 512   /* strided rows are laid out as columns this many at a time: 64 columns fit the level-2 cache */

typedef int (*BatchFunction)(void **, const void *, void **, int64_t, void *, uint8_t *, void *);

typedef struct {
    const char *base;
    Py_ssize_t stride;
    char kind; /* struct letter; 'd' and 'f' of the kernel's own size need no conversion */
} Column;

typedef struct {
    BatchFunction function;
    Column *columns;
    Py_ssize_t n_columns, n_outs, n_acc, rows, width, item, scratch_bytes;
    char **outs; /* where each result column starts */
    const void *params;
    double *sums;   /* n_acc for each group */
    uint8_t *bad;   /* a bit for each row that took another way, width rows a cell */
    atomic_long next;
    long threads;
    atomic_int any_bad, no_memory, stop;
    PyThreadState *caller; /* of the thread that has given the interpreter lock away; NULL where it was kept */
    double looked;         /* when it last asked whether somebody wants it to stop, in seconds */
} Batch;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ten times a second, let Python handle its signals; whether a handler raised, as that of Ctrl-C does. */
static int interrupted(Batch *b) {
    double now = seconds();
    if (now - b->looked < 0.1) return 0;
    b->looked = now;
    PyEval_RestoreThread(b->caller);
    if (PyErr_CheckSignals() < 0) b->stop = 1;
    b->caller = PyEval_SaveThread();
    return b->stop;
}

static double column_read(const Column *c, Py_ssize_t row) {
    const char *p = c->base + row * c->stride;
    switch (c->kind) {
    case 'd': { double x; memcpy(&x, p, 8); return x; }
    case 'f': { float x; memcpy(&x, p, 4); return (double)x; }
    case 'b': return (double)*(const signed char *)p;
    case 'B': case '?': return (double)*(const unsigned char *)p;
    case 'h': { int16_t x; memcpy(&x, p, 2); return (double)x; }
    case 'H': { uint16_t x; memcpy(&x, p, 2); return (double)x; }
    case 'i': { int32_t x; memcpy(&x, p, 4); return (double)x; }
    case 'I': { uint32_t x; memcpy(&x, p, 4); return (double)x; }
    case 'q': { int64_t x; memcpy(&x, p, 8); return (double)x; }
    default: { uint64_t x; memcpy(&x, p, 8); return (double)x; }
    }
}

static void pack(const Column *c, Py_ssize_t from, Py_ssize_t rows, Py_ssize_t item, char *to) {
    if (c->kind == 'd' && item == 8) {
        const char *p = c->base + from * c->stride;
        for (Py_ssize_t r = 0; r < rows; r++, p += c->stride) memcpy(to + 8 * r, p, 8);
    } else if (item == 8) {
        for (Py_ssize_t r = 0; r < rows; r++) ((double *)to)[r] = column_read(c, from + r);
    } else {
        for (Py_ssize_t r = 0; r < rows; r++) ((float *)to)[r] = (float)column_read(c, from + r);
    }
}

static double lanes_sum(const void *acc, Py_ssize_t width, Py_ssize_t item) { /* a tree: halves are added until one is left */
    if (width == 8 && item == 8) { /* the usual case, written so that the compiler sees it whole */
        const double *a = acc;
        return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    }
    double lane[64];
    for (Py_ssize_t i = 0; i < width; i++) lane[i] = item == 8 ? ((const double *)acc)[i] : (double)((const float *)acc)[i];
    for (Py_ssize_t half = width / 2; half >= 1; half /= 2)
        for (Py_ssize_t i = 0; i < half; i++) lane[i] = lane[i] + lane[half + i];
    return lane[0];
}

/* The first of some groups in a row, and where they end: neighbours, since rows are asked for ahead of time; fewer towards the
   end, so that all threads come to it together. */
static Py_ssize_t batch_next(Batch *b, Py_ssize_t groups, Py_ssize_t *until) {
    long from = b->next, more;
    do {
        more = (long)(groups - from) / (2 * b->threads);
        *until = from + (more > 1 ? more : 1);
    } while (!atomic_compare_exchange_weak(&b->next, &from, *until));
    return from;
}

static void batch_groups(Batch *b, int calling) {
    Py_ssize_t groups = (b->rows + GROUP_ROWS - 1) / GROUP_ROWS, vector = b->width * b->item;
    int direct = 1;
    for (Py_ssize_t c = 0; c < b->n_columns; c++)
        direct = direct && b->columns[c].stride == b->item && b->columns[c].kind == (b->item == 8 ? 'd' : 'f');
    Py_ssize_t step = direct ? GROUP_ROWS : PACK_ROWS;
    size_t acc_bytes = (size_t)(b->n_acc * vector), pack_bytes = direct ? 0 : (size_t)(b->n_columns * PACK_ROWS * b->item);
    size_t pointers = (size_t)(b->n_columns + b->n_outs + 1) * sizeof(void *);
    Workspace *space = workspace_take(acc_bytes + pack_bytes + (size_t)b->scratch_bytes + pointers + 256);
    if (space == NULL) {
        b->no_memory = 1;
        return;
    }
    char *acc = space->memory;
    char *scratch = (char *)(((uintptr_t)(acc + acc_bytes) + 63) & ~(uintptr_t)63);
    char *packed = scratch + b->scratch_bytes;
    void **columns = (void **)(((uintptr_t)(packed + pack_bytes) + 15) & ~(uintptr_t)15), **outs = columns + b->n_columns;
    Py_ssize_t until = 0;
    for (Py_ssize_t group = 0;; group++) {
        if (group == until) group = batch_next(b, groups, &until);
        if (group >= groups || b->stop || (calling && group % 4 == 0 && interrupted(b))) break;
        Py_ssize_t first = group * GROUP_ROWS, last = first + GROUP_ROWS < b->rows ? first + GROUP_ROWS : b->rows;
        memset(acc, 0, acc_bytes);
        for (Py_ssize_t from = first; from < last; from += step) {
            Py_ssize_t n = last - from < step ? last - from : step;
            for (Py_ssize_t c = 0; c < b->n_columns; c++) {
                Column *column = &b->columns[c];
                if (column->stride == b->item && column->kind == (b->item == 8 ? 'd' : 'f')) {
                    columns[c] = (void *)(column->base + from * column->stride);
                } else {
                    columns[c] = packed + c * PACK_ROWS * b->item;
                    pack(column, from, n, b->item, columns[c]);
                }
            }
            for (Py_ssize_t o = 0; o < b->n_outs; o++) outs[o] = b->outs[o] + from * b->item;
            if (b->function(columns, b->params, outs, n, acc, b->bad + from / b->width * ((b->width + 7) / 8), scratch)) b->any_bad = 1;
        }
        for (Py_ssize_t i = 0; i < b->n_acc; i++) b->sums[group * b->n_acc + i] = lanes_sum(acc + i * vector, b->width, b->item);
    }
    workspace_return(space);
}

static void *batch_work(void *batch) {
    batch_groups(batch, 0);
    return NULL;
}

#define MAX_THREADS 64

static void batch_run(Batch *b, int threads) {
    Py_ssize_t groups = (b->rows + GROUP_ROWS - 1) / GROUP_ROWS;
    if (threads > groups) threads = (int)groups;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    b->threads = threads > 0 ? threads : 1;
    pthread_t started[MAX_THREADS];
    int n = 0;
    while (n < threads - 1 && pthread_create(&started[n], NULL, batch_work, b) == 0) n++;
    batch_groups(b, 1);
    for (int i = 0; i < n; i++) pthread_join(started[i], NULL);
}

static char buffer_kind(const Py_buffer *view) { /* 0 where it holds no real numbers in this machine's order */
    const char *f = view->format ? view->format : "B";
    if (*f == '@' || *f == '=' || *f == '<') f++;
    char kind = *f;
    if (f[1] != 0) return 0;
    if (kind == 'l') kind = sizeof(long) == 8 ? 'q' : 'i';
    if (kind == 'L') kind = sizeof(long) == 8 ? 'Q' : 'I';
    return strchr("dfbB?hHiIqQ", kind) ? kind : 0;
}

/* Walk the places of one row of an array: every index of the axes other than `axis`, the last fastest. */
static Py_ssize_t row_columns(const Py_buffer *v, int axis, char kind, Column *columns) {
    Py_ssize_t count = 1, index[16] = {0};
    for (int d = 0; d < v->ndim; d++)
        if (d != axis) count *= v->shape[d];
    for (Py_ssize_t c = 0; c < count; c++) {
        const char *base = v->buf;
        for (int d = 0; d < v->ndim; d++)
            if (d != axis) base += index[d] * v->strides[d];
        columns[c] = (Column){base, v->strides[axis], kind};
        for (int d = v->ndim - 1; d >= 0; d--) {
            if (d == axis) continue;
            if (++index[d] < v->shape[d]) break;
            index[d] = 0;
        }
    }
    return count;
}

/* What machine code there is, and what is to be done with it. */
typedef struct {
    BatchFunction function;
    Py_ssize_t width, item, n_acc, scratch;
    int threads, op; /* op: of the node that is made; -1 for a list of sums */
} RowCode;

/* A node: scale * sums[0] is its value, scale * sums[1:] are its partials with respect to the uniform Values. */
static PyObject *batch_node(int op, const double *sums, Py_ssize_t n_acc, double scale, PyObject *uniform) {
    if (is_captured(uniform)) {
        if (n_acc != Py_SIZE(uniform) + 1) {
            PyErr_SetString(PyExc_ValueError, "batch(): one sum for each captured Value, and one for the result");
            return NULL;
        }
        double *y;
        Shared *s = shared_new((Captured *)uniform, &y);
        if (s == NULL) return NULL;
        for (Py_ssize_t i = 0; i < n_acc; i++) y[i] = sums[i] * scale;
        return make_shared(op, y[0], s);
    }
    Block *block = block_new(n_acc - 1);
    if (block == NULL) return NULL;
    Py_ssize_t k = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(uniform) && k < n_acc - 1; i++) {
        PyObject *u = PyTuple_GET_ITEM(uniform, i);
        if (!is_value(u)) continue;
        block->in[k] = (Node *)u;
        block->partial[k] = sums[k + 1] * scale;
        k++;
    }
    block->n = k;
    return make_many(op, sums[0] * scale, block);
}

static int read_uniform(PyObject *uniform, Py_ssize_t item, void *params) {
    if (is_captured(uniform) && item == 8) {
        captured_read((Captured *)uniform, params);
        return 0;
    }
    for (Py_ssize_t i = 0; i < Py_SIZE(uniform); i++) {
        Operand o;
        PyObject *x = is_captured(uniform) ? (PyObject *)((Captured *)uniform)->item[i] : PyTuple_GET_ITEM(uniform, i);
        int got = operand(x, &o);
        if (got == 0) refuse(x);
        if (got <= 0) return -1;
        if (item == 8) ((double *)params)[i] = o.data;
        else ((float *)params)[i] = (float)o.data;
    }
    return 0;
}

/* Run the rows of these views; a node or a list of sums, and whether a guard failed for some row. axes: NULL where all are 0.
   blocks: NULL, or room for the sums of each group of GROUP_ROWS rows, in order. */
static PyObject *batch_rows(const RowCode *code, const Py_buffer *views, Py_ssize_t n_views, const int *axes, PyObject *uniform, Py_ssize_t rows,
                            char **outs, Py_ssize_t n_outs, uint8_t *bad, double scale, int *any_bad, double *blocks) {
    Py_ssize_t groups = (rows + GROUP_ROWS - 1) / GROUP_ROWS, n_columns = 0, n_acc = code->n_acc;
    for (Py_ssize_t i = 0; i < n_views; i++) {
        Py_ssize_t per_row = 1;
        for (int d = 0; d < views[i].ndim; d++)
            if (d != (axes ? axes[i] : 0)) per_row *= views[i].shape[d];
        n_columns += per_row;
    }
    size_t n_params = in_lines(Py_SIZE(uniform)), n_sums = (size_t)(groups * n_acc + n_acc);
    double *params = PyMem_Malloc((n_params + n_sums) * sizeof(double) + (size_t)n_columns * sizeof(Column) + 1);
    if (params == NULL) return PyErr_NoMemory();
    double *sums = params + n_params, *total = sums + groups * n_acc;
    Column *columns = (Column *)(total + n_acc), *column = columns;
    PyObject *answer = NULL;
    for (Py_ssize_t i = 0; i < n_views; i++) column += row_columns(&views[i], axes ? axes[i] : 0, buffer_kind(&views[i]), column);
    if (read_uniform(uniform, code->item, params) < 0) goto done;
    Batch b = {.threads = 1, .function = code->function, .columns = columns, .n_columns = n_columns, .n_outs = n_outs, .n_acc = n_acc, .rows = rows,
               .width = code->width, .item = code->item, .scratch_bytes = code->scratch, .outs = outs, .params = params, .sums = sums, .bad = bad};
    if (code->threads <= 1 && rows <= 4096) { /* not worth giving the lock away */
        batch_groups(&b, 0);
    } else {
        b.looked = seconds();
        b.caller = PyEval_SaveThread();
        batch_run(&b, code->threads);
        PyEval_RestoreThread(b.caller);
    }
    if (b.stop) goto done;
    if (b.no_memory) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_acc; i++) { /* groups are added in their order */
        double sum = 0.0;
        for (Py_ssize_t g = 0; g < groups; g++) sum = sum + sums[g * n_acc + i];
        total[i] = sum;
    }
    *any_bad = b.any_bad;
    if (blocks != NULL) memcpy(blocks, sums, (size_t)(groups * n_acc) * sizeof(double));
    if (code->op >= 0 && !b.any_bad) {
        answer = batch_node(code->op, total, n_acc, scale, uniform);
        goto done;
    }
    answer = PyList_New(n_acc);
    for (Py_ssize_t i = 0; answer != NULL && i < n_acc; i++) {
        PyObject *x = PyFloat_FromDouble(total[i]);
        if (x == NULL) Py_CLEAR(answer);
        else PyList_SET_ITEM(answer, i, x);
    }
done:
    PyMem_Free(params);
    return answer;
}

/* batch(address, width, item, arrays, axes, uniform, rows, outs, n_acc, scratch, bad, threads, op, scale, blocks)
   arrays: buffers, each with its batch axis in axes; uniform: numbers and Values that are the same in each row, or what captured()
   gives; outs: writable buffers, one for each result column; bad: a writable buffer, zeroed; blocks: None, or a writable buffer
   that gets the sums of each group of GROUP_ROWS rows. Returns (any_bad, sums); with op, a
   node in place of the sums. */
static PyObject *module_batch(PyObject *module, PyObject *args) {
    (void)module;
    unsigned long long address;
    PyObject *arrays, *axes, *uniform, *outs, *bad, *op, *blocks = Py_None, *result = NULL;
    Py_ssize_t rows, row = -1;
    RowCode code;
    int n_views = 0, any_bad = 0;
    double scale;
    if (!PyArg_ParseTuple(args, "KnnO!O!OnO!nnOiOd|O:batch", &address, &code.width, &code.item, &PyTuple_Type, &arrays, &PyTuple_Type, &axes,
                          &uniform, &rows, &PyList_Type, &outs, &code.n_acc, &code.scratch, &bad, &code.threads, &op, &scale, &blocks))
        return NULL;
    if (!is_captured(uniform) && !PyList_Check(uniform)) return PyErr_Format(PyExc_TypeError, "batch(): uniform is a list");
    if (code.width < 1 || code.width > 64 || (code.item != 4 && code.item != 8) || code.n_acc < 0 || code.scratch < 0 || rows < 0)
        return PyErr_Format(PyExc_ValueError, "batch(): a width, a size or a count is out of range");
    if (PyTuple_GET_SIZE(axes) != PyTuple_GET_SIZE(arrays)) return PyErr_Format(PyExc_ValueError, "batch(): one axis for each array");
    if (op != Py_None && ((row = row_of(op)) < 0 || code.n_acc < 1))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "batch(): a node needs a sum");
    uniform = is_captured(uniform) ? Py_NewRef(uniform) : PyList_AsTuple(uniform); /* reading a number may run Python code */
    outs = uniform ? PyList_AsTuple(outs) : NULL;
    if (outs == NULL) {
        Py_XDECREF(uniform);
        return NULL;
    }
    code.function = (BatchFunction)(uintptr_t)address;
    code.op = (int)row;
    Py_ssize_t n_arrays = PyTuple_GET_SIZE(arrays), n_outs = PyTuple_GET_SIZE(outs);
    Py_buffer *views = PyMem_Calloc((size_t)(n_arrays + n_outs + 2), sizeof(Py_buffer));
    char **starts = PyMem_Malloc((size_t)(n_outs + 1) * sizeof(char *));
    int *along = PyMem_Malloc((size_t)(n_arrays + 1) * sizeof(int));
    if (views == NULL || starts == NULL || along == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_arrays; i++) {
        Py_buffer *v = &views[n_views];
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(arrays, i), v, PyBUF_STRIDES | PyBUF_FORMAT) < 0) goto done;
        n_views++;
        int axis = along[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(axes, i));
        if (axis == -1 && PyErr_Occurred()) goto done;
        if (v->ndim < 1 || v->ndim > 16 || axis < 0 || axis >= v->ndim || v->shape[axis] != rows || !buffer_kind(v)) {
            PyErr_SetString(PyExc_ValueError, "batch(): an array does not have these rows, or holds no real numbers");
            goto done;
        }
    }
    for (Py_ssize_t i = 0; i < n_outs; i++) {
        Py_buffer *v = &views[n_views];
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(outs, i), v, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) goto done;
        n_views++;
        if (v->len < rows * code.item) {
            PyErr_SetString(PyExc_ValueError, "batch(): a result array is too small");
            goto done;
        }
        starts[i] = v->buf;
    }
    if (PyObject_GetBuffer(bad, &views[n_views], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) goto done;
    Py_buffer *bad_view = &views[n_views++];
    Py_ssize_t cells = (rows + code.width - 1) / code.width;
    if (bad_view->len < 1 || (bad_view->len != 1 && bad_view->len < cells * ((code.width + 7) / 8))) {
        PyErr_SetString(PyExc_ValueError, "batch(): the array of refused rows is too small");
        goto done;
    }
    double *block_sums = NULL;
    if (blocks != Py_None) {
        if (PyObject_GetBuffer(blocks, &views[n_views], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) goto done;
        Py_buffer *v = &views[n_views++];
        if (v->len < (rows + GROUP_ROWS - 1) / GROUP_ROWS * code.n_acc * (Py_ssize_t)sizeof(double)) {
            PyErr_SetString(PyExc_ValueError, "batch(): the array for the sums of blocks is too small");
            goto done;
        }
        block_sums = v->buf;
    }
    PyObject *answer = batch_rows(&code, views, n_arrays, along, uniform, rows, starts, n_outs, bad_view->buf, scale, &any_bad, block_sums);
    if (answer != NULL) result = Py_BuildValue("(NN)", PyBool_FromLong(any_bad), answer);
done:
    for (int i = 0; i < n_views; i++) PyBuffer_Release(&views[i]);
    PyMem_Free(views);
    PyMem_Free(starts);
    PyMem_Free(along);
    Py_DECREF(uniform);
    Py_DECREF(outs);
    return result;
}
