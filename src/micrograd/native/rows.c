/* Running machine code over the rows of arrays.

   int f(void **columns, const void *params, void **outs, int64_t n, void *acc, uint8_t *bad, void *scratch);
   Rows are cut into groups of a fixed size, each summed in a fixed order: the number of threads changes no bit. */

#include <stdatomic.h>

#include "code.h"
#include "platform.h"

#define FEW 2048                /* numbers that a call keeps on the stack: a moons step took 0.1 µs less than with malloc */
#define PACK_ROWS 512           /* strided rows are laid out as columns, at most this many at a time, */
#define PACK_BYTES (256 * 1024) /* and fewer where there are many columns, so that they stay in the level-2 cache */

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

/* In the thread that called: whether to stop, asked of Python now and then. */
static int interrupted(void *batch) {
    Batch *b = batch;
    if (!b->stop && !b->no_memory && signals_raised(&b->caller, &b->looked)) b->stop = 1;
    return b->stop || b->no_memory;
}

static int told_to_stop(void *batch) { /* in another thread */
    Batch *b = batch;
    return b->stop || b->no_memory;
}

/* Whether a guard failed, or machine code was left. A function of its own, for setjmp leaves variables that change unknown. */
static int batch_call(Batch *b, int calling, void **columns, void **outs, Py_ssize_t n, void *acc, uint8_t *bad, void *scratch) {
    Running running;
    int failed;
    CALL_CODE(failed, &running, calling ? interrupted : told_to_stop, b, b->function(columns, b->params, outs, n, acc, bad, scratch));
    if (failed == CODE_NO_MEMORY) b->no_memory = 1;
    return failed;
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

static int is_direct(const Batch *b, const Column *c) { return c->stride == b->item && c->kind == (b->item == 8 ? 'd' : 'f'); }

/* How many rows are laid out as columns at a time: a multiple of every width. */
static Py_ssize_t packed_rows(const Batch *b) {
    Py_ssize_t rows = b->n_columns ? PACK_BYTES / (b->n_columns * b->item) / 64 * 64 : PACK_ROWS;
    Py_ssize_t most = b->n_acc ? SEGMENT_ROWS : PACK_ROWS;
    return rows < 64 ? 64 : rows > most ? most : rows;
}

/* Columns that lie side by side in each row, as in an array of rows: `columns` of them from `base`, with `pitch` bytes between two
   columns of the result. A line of memory holds eight numbers of a row: it is read once, and not in eight passes. */
CLONES static void turn(const char *base, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t columns, char *to, Py_ssize_t pitch) {
    Py_ssize_t r = 0;
    for (; r + 8 <= rows; r += 8) {
        const char *from = base + r * stride;
        for (Py_ssize_t c = 0; c < columns; c++) {
            if (c % 8 == 0) /* the same line of the next eight rows is asked for */
                for (int k = 8; k < 16; k++) PREFETCH_READ((uintptr_t)from + (uintptr_t)(k * stride + 8 * c));
            double eight[8];
            for (int k = 0; k < 8; k++) memcpy(&eight[k], from + k * stride + 8 * c, 8);
            memcpy(to + c * pitch + 8 * r, eight, 64);
        }
    }
    for (; r < rows; r++)
        for (Py_ssize_t c = 0; c < columns; c++) memcpy(to + c * pitch + 8 * r, base + r * stride + 8 * c, 8);
}

static Py_ssize_t side_by_side(const Batch *b, Py_ssize_t c) { /* how many doubles lie side by side from this one on */
    const Column *first = &b->columns[c];
    Py_ssize_t n = 1;
    if (b->item != 8 || first->kind != 'd') return 1;
    while (c + n < b->n_columns && first[n].kind == 'd' && first[n].stride == first->stride && first[n].base == first->base + 8 * n) n++;
    return n;
}

/* Where the columns of some rows start; those that are strided or of another kind are laid out in `packed` first. */
static void lay_out(const Batch *b, Py_ssize_t from, Py_ssize_t rows, Py_ssize_t pitch, char *packed, void **columns) {
    for (Py_ssize_t c = 0; c < b->n_columns;) {
        const Column *column = &b->columns[c];
        if (is_direct(b, column)) {
            columns[c++] = (void *)(column->base + from * b->item);
            continue;
        }
        Py_ssize_t n = side_by_side(b, c);
        for (Py_ssize_t k = 0; k < n; k++) columns[c + k] = packed + (c + k) * pitch;
        if (n > 1) turn(column->base + from * column->stride, column->stride, rows, n, columns[c], pitch);
        else pack(column, from, rows, b->item, columns[c]);
        c += n;
    }
}

/* The sums of eight lanes, for each of n accumulators: halves are added until one is left. Eight accumulators are added at a time,
   two, four and eight of them side by side in a vector: 338 of them take 0.1 µs, and one by one 0.3. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
typedef double Eight __attribute__((vector_size(64), aligned(64)));
typedef int64_t Lanes __attribute__((vector_size(64)));

#define HALVES(a, b, ...) (__builtin_shuffle(a, b, (Lanes){__VA_ARGS__}))
#define ADD_4(a, b) (HALVES(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + HALVES(a, b, 4, 5, 6, 7, 12, 13, 14, 15))
#define ADD_2(a, b) (HALVES(a, b, 0, 1, 4, 5, 8, 9, 12, 13) + HALVES(a, b, 2, 3, 6, 7, 10, 11, 14, 15))
#define ADD_1(a, b) (HALVES(a, b, 0, 2, 4, 6, 8, 10, 12, 14) + HALVES(a, b, 1, 3, 5, 7, 9, 11, 13, 15))

CLONES static Py_ssize_t eights(const double *acc, Py_ssize_t n, double *sums) { /* how many are done: a multiple of eight */
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const Eight *a = (const Eight *)(acc + 8 * i);
        Eight all = ADD_1(ADD_2(ADD_4(a[0], a[1]), ADD_4(a[2], a[3])), ADD_2(ADD_4(a[4], a[5]), ADD_4(a[6], a[7])));
        memcpy(sums + i, &all, sizeof all);
    }
    return i;
}
#else
static Py_ssize_t eights(const double *acc, Py_ssize_t n, double *sums) { return (void)acc, (void)n, (void)sums, 0; }
#endif

/* The sums of lanes, for each of n accumulators: a tree, in which halves are added until one is left. */
CLONES static void lanes_sums(const void *acc, Py_ssize_t n, Py_ssize_t item, double *sums) {
    if (item == 8) { /* the usual case, written so that the compiler sees it whole */
        Py_ssize_t done = eights(acc, n, sums);
        const double *a = (const double *)acc + 8 * done;
        for (Py_ssize_t i = done; i < n; i++, a += 8) {
            double half[4], quarter[2];
            for (int k = 0; k < 4; k++) half[k] = a[k] + a[k + 4];
            for (int k = 0; k < 2; k++) quarter[k] = half[k] + half[k + 2];
            sums[i] = quarter[0] + quarter[1];
        }
        return;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        double lane[16];
        const float *a = (const float *)acc + 16 * i;
        for (int k = 0; k < 16; k++) lane[k] = (double)a[k];
        for (int half = 8; half >= 1; half /= 2)
            for (int k = 0; k < half; k++) lane[k] = lane[k] + lane[half + k];
        sums[i] = lane[0];
    }
}

CLONES static void add_sums(double *restrict total, const double *restrict sums, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) total[i] += sums[i];
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
    Py_ssize_t groups = (b->rows + GROUP_ROWS - 1) / GROUP_ROWS, segment = b->n_acc ? SEGMENT_ROWS : GROUP_ROWS;
    int direct = 1;
    for (Py_ssize_t c = 0; c < b->n_columns; c++) direct = direct && is_direct(b, &b->columns[c]);
    Py_ssize_t step = direct ? segment : packed_rows(b);
    Py_ssize_t pitch = step * b->item + 64; /* an odd number of lines, so that columns do not fall on the same places of a cache */
    size_t acc_bytes = (size_t)b->n_acc * LANES_BYTES, part_bytes = (size_t)b->n_acc * sizeof(double), pack_bytes = direct ? 0 : (size_t)(b->n_columns * pitch);
    size_t pointers = (size_t)(b->n_columns + b->n_outs + 1) * sizeof(void *);
    Workspace *space = workspace_take(acc_bytes + part_bytes + pack_bytes + (size_t)b->scratch_bytes + pointers + 256);
    if (space == NULL) {
        b->no_memory = 1;
        return;
    }
    char *acc = space->memory;
    double *part = (double *)(acc + acc_bytes); /* the sums of a segment */
    char *scratch = (char *)(((uintptr_t)(acc + acc_bytes + part_bytes) + 63) & ~(uintptr_t)63);
    char *packed = scratch + b->scratch_bytes;
    void **columns = (void **)(((uintptr_t)(packed + pack_bytes) + 15) & ~(uintptr_t)15), **outs = columns + b->n_columns;
    Py_ssize_t until = 0;
    for (Py_ssize_t group = 0;; group++) {
        if (group == until) group = batch_next(b, groups, &until);
        if (group >= groups || b->stop || b->no_memory || (calling && group % 4 == 0 && interrupted(b))) break;
        Py_ssize_t first = group * GROUP_ROWS, last = first + GROUP_ROWS < b->rows ? first + GROUP_ROWS : b->rows;
        double *sums = b->sums + group * b->n_acc;
        for (Py_ssize_t start = first; start < last && !b->stop && !b->no_memory; start += segment) {
            Py_ssize_t end = start + segment < last ? start + segment : last;
            memset(acc, 0, acc_bytes);
            for (Py_ssize_t from = start; from < end && !b->stop && !b->no_memory; from += step) {
                Py_ssize_t n = end - from < step ? end - from : step;
                lay_out(b, from, n, pitch, packed, columns);
                for (Py_ssize_t o = 0; o < b->n_outs; o++) outs[o] = b->outs[o] + from * b->item;
                uint8_t *bad = b->bad + from / b->width * ((b->width + 7) / 8);
                if (batch_call(b, calling, columns, outs, n, acc, bad, scratch)) b->any_bad = 1;
            }
            lanes_sums(acc, b->n_acc, b->item, start == first ? sums : part);
            if (start != first) add_sums(sums, part, b->n_acc);
        }
    }
    workspace_return(space);
}

static void work_on_groups(void *batch) { batch_groups(batch, 0); }
static void work_and_listen(void *batch) { batch_groups(batch, 1); }

static void batch_run(Batch *b, int threads) {
    Py_ssize_t groups = (b->rows + GROUP_ROWS - 1) / GROUP_ROWS;
    if (threads > groups) threads = (int)groups;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    b->threads = threads > 0 ? threads : 1;
    run_threads(b->threads, work_on_groups, b, work_and_listen, interrupted);
}

char buffer_kind(const Py_buffer *view) { /* 0 where it holds no real numbers in this machine's order */
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

CLONES static void scaled(double *restrict to, const double *restrict sums, double scale, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) to[i] = sums[i] * scale;
}

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
        scaled(y, sums, scale, n_acc);
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

static Py_ssize_t count_columns(const RowData *data) { /* over all views: the numbers in one row */
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < data->n_views; i++) {
        Py_ssize_t per_row = 1;
        for (int d = 0; d < data->views[i].ndim; d++)
            if (d != (data->axes ? data->axes[i] : 0)) per_row *= data->views[i].shape[d];
        n += per_row;
    }
    return n;
}

static PyObject *list_of(const double *numbers, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *x = PyFloat_FromDouble(numbers[i]);
        if (x == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, x);
    }
    return list;
}

static int run_groups(Batch *b, int threads) { /* 0, or -1 with an error set */
    if (threads <= 1 && b->rows <= 4096) { /* not worth giving the lock away */
        batch_groups(b, 1);
    } else {
        b->looked = seconds();
        b->caller = PyEval_SaveThread();
        batch_run(b, threads);
        PyEval_RestoreThread(b->caller);
    }
    if (b->no_memory && !b->stop) PyErr_NoMemory();
    return b->stop || b->no_memory ? -1 : 0;
}

int rows_fit(const RowCode *how) {
    const MachineCode *c = how->code;
    if (how->width == c->width && how->item == c->item && how->scratch >= c->scratch && how->scratch <= MOST_SCRATCH && how->n_acc >= 0 &&
        how->n_acc <= c->outputs)
        return 1;
    PyErr_Format(PyExc_ValueError, "the machine code takes %zd rows at a time of numbers of %zd bytes, has %zd outputs and needs %zd bytes", c->width, c->item,
                 c->outputs, c->scratch);
    return 0;
}

PyObject *run_rows(const RowCode *code, const RowData *data, int *any_bad) {
    Py_ssize_t groups = (data->rows + GROUP_ROWS - 1) / GROUP_ROWS, n_columns = count_columns(data), n_acc = code->n_acc;
    if (!code_fits(code->code, n_columns, Py_SIZE(data->uniform), data->n_outs + n_acc, code->scratch)) return NULL;
    size_t n_params = in_lines(Py_SIZE(data->uniform)), n_sums = (size_t)(groups * n_acc + n_acc);
    size_t bytes = (n_params + n_sums) * sizeof(double) + (size_t)n_columns * sizeof(Column) + 1;
    _Alignas(64) double few[FEW];
    double *params = bytes <= sizeof few ? few : PyMem_Malloc(bytes);
    if (params == NULL) return PyErr_NoMemory();
    double *sums = params + n_params, *total = sums + groups * n_acc;
    Column *columns = (Column *)(total + n_acc), *column = columns;
    PyObject *answer = NULL;
    for (Py_ssize_t i = 0; i < data->n_views; i++)
        column += row_columns(&data->views[i], data->axes ? data->axes[i] : 0, buffer_kind(&data->views[i]), column);
    Batch b = {.threads = 1, .function = (BatchFunction)code->code->address, .columns = columns, .n_columns = n_columns, .n_outs = data->n_outs, .n_acc = n_acc,
               .rows = data->rows, .width = code->width, .item = code->item, .scratch_bytes = code->scratch, .outs = data->outs,
               .params = params, .sums = sums, .bad = data->bad};
    if (read_uniform(data->uniform, code->item, params) < 0 || run_groups(&b, code->threads) < 0) goto done;
    memset(total, 0, (size_t)n_acc * sizeof(double));
    for (Py_ssize_t g = 0; g < groups; g++) add_sums(total, sums + g * n_acc, n_acc); /* in their order */
    *any_bad = b.any_bad;
    if (data->blocks != NULL) memcpy(data->blocks, sums, (size_t)(groups * n_acc) * sizeof(double));
    answer = code->op >= 0 && !b.any_bad ? batch_node(code->op, total, n_acc, data->scale, data->uniform) : list_of(total, n_acc);
done:
    if (params != few) PyMem_Free(params);
    return answer;
}
