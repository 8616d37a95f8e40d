/* What the units share that run the machine code of compiled functions: layout.c, leave.c, point.c, arrange.c, kernel.c,
   rows.c, batch.c, row_call.c and structure.c. */

#ifndef MICROGRAD_CODE_H
#define MICROGRAD_CODE_H

#include "engine.h"
#include <setjmp.h>

/* ---- layout.c: how the numbers of a call lie in its arguments */

typedef struct {
    PyObject *key, *refs, *names; /* bytes; a tuple of what the key refers to; the names of arguments that are given by name */
    PyObject *bound;              /* an argument before the others, that of a method; may be NULL */
} Layout;

typedef struct { /* how far a call has been laid out */
    const char *key;
    PyObject *const *ref;
    double *to;
} Laying;

int lay_again(PyObject *x, Laying *at);
int lay_call(const Layout *layout, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, double *to);
Py_ssize_t layout_check(PyObject *key, PyObject *refs, PyObject *names);

/* ---- the machine code of compiled functions: a capsule that owns it */

typedef struct {
    void *address;
    PyObject *owner;
    int left, guarded; /* left: whether it may be left in the middle of a run */
    Py_ssize_t inputs, params, outputs, scratch; /* how many of each; scratch memory in bytes */
    Py_ssize_t width, item; /* of rows: how many at a time, and the bytes of a number; width 0: one point */
} MachineCode;

PyObject *module_machine_code(PyObject *module, PyObject *args);
const MachineCode *code_of(PyObject *code, int rows); /* NULL with an error set where it is none, or not of that kind */
int code_fits(const MachineCode *c, Py_ssize_t inputs, Py_ssize_t params, Py_ssize_t outputs, Py_ssize_t scratch); /* 0 with an error set */

#define MOST_SCRATCH (PY_SSIZE_T_MAX / 64) /* doubles */

typedef struct { /* memory for one run, aligned to 64 bytes */
    size_t bytes;
    _Alignas(64) char memory[];
} Workspace;

Workspace *workspace_take(size_t bytes); /* NULL without memory */
void workspace_return(Workspace *w);

static inline size_t in_lines(Py_ssize_t n) { return ((size_t)n + 7) & ~(size_t)7; } /* of 64 bytes, each part its own */

/* ---- leave.c: machine code that can be left in the middle

   Running r; int failed;
   CALL_CODE(failed, &r, asked, with, function(...));   failed: what it returned, or CODE_INTERRUPTED or CODE_NO_MEMORY */

#ifdef _WIN32 /* without unwinding, for which machine code made at run time has no tables */
#define LONGJMP(buffer, value) (((_JUMP_BUFFER *)(buffer))->Frame = 0, longjmp(buffer, value))
#define SETJMP(buffer) setjmp(buffer)
#else /* without the mask of signals, which takes a system call */
#define SETJMP(buffer) _setjmp(buffer)
#define LONGJMP(buffer, value) _longjmp(buffer, value)
#endif

#define CODE_INTERRUPTED 0x40000001
#define CODE_NO_MEMORY 0x40000002

typedef struct Grown Grown;

typedef struct Running {
    jmp_buf back;
    struct Running *outer;
    Grown *grown;           /* memory that the code has, and that is freed when it is left */
    int (*asked)(void *);   /* whether somebody wants the code to stop */
    void *with;
} Running;

typedef struct { /* the thread that calls machine code at one point */
    PyThreadState *caller; /* NULL: it holds the interpreter lock */
    double looked;
} Listening;

void code_enter(Running *r, int (*asked)(void *), void *with);
int code_left(Running *r, int how);
int signals_raised(PyThreadState **caller, double *looked);
int point_asked(void *listening);
int leave_init(PyObject *module);

#define CALL_CODE(failed, r, ask, with, call)                   \
    do {                                                        \
        code_enter(r, ask, with);                               \
        int left_ = SETJMP((r)->back);                          \
        failed = code_left(r, left_ != 0 ? left_ : (call));     \
    } while (0)

/* ---- pointer.c: C function pointers */

int pointer_init(PyObject *module);
int xla_init(PyObject *module); /* xla.c: the same for JAX */

/* ---- point.c: one run at one point */

typedef int (*PointFunction)(const double *, const double *, double *, void *);

int point_call(PointFunction function, const double *in, const double *params, double *out, void *scratch, int hold);

typedef struct {
    PointFunction function;
    Py_ssize_t n_in, n_params, n_out, n_scratch;
    PyObject **params, **first; /* first: the arguments that are Values; outputs are nodes over those and the params */
    Py_ssize_t n_first;
    Captured *shared; /* the params, where they are one */
    const char *unread; /* for each partial, 1 where the output has no such input (backend.py: nodes); NULL: it has all */
    int op;           /* of the nodes; -1: outputs are plain numbers */
} Point;

Py_ssize_t point_outputs(const Point *p); /* how many numbers the code gives: values, and partials of each; -1 for too many */
Workspace *point_space(const Point *p); /* it begins with n_in numbers, which the caller fills in */
int point_run(const Point *p, Workspace *space, PyObject **results); /* 1: n_out new references; 0: a guard failed; -1: an error */
PyObject *module_point(PyObject *module, PyObject *args);
extern PyType_Spec kernel_spec; /* kernel.c */

/* ---- arrange.c: how results are arranged */

/* A template of tuples alone as numbers, quicker to follow: k >= 0 is the k-th output, -1 - n begins a tuple of n. Those of
   before stay, for a call that is still at work when another is installed. */
typedef struct Plan {
    struct Plan *before;
    int32_t step[];
} Plan;

#define PLAN_STEPS 256 /* templates with more have no plan */

PyObject *arrange(PyObject *template, const double *out);
int template_fits(PyObject *template, Py_ssize_t n_out); /* whether it asks for no other outputs than there are */
int plan_new(PyObject *template, Plan *before, Plan **plan);
PyObject *plan_build(const int32_t **plan, const double *out);
PyObject *plan_refill(PyObject *old, const int32_t **plan, const double *out);

/* ---- rows.c: machine code over the rows of arrays; batch.c and row_call.c call it */

#define SEGMENT_ROWS 256 /* rows of a group that are summed in lanes: eight segments of eight lanes are 64 sums that a GPU can add at once */
#define LANES_BYTES 64   /* of the lanes of a sum: row i is added in lane i mod 8 (of floats, 16), however wide the vectors are */
#define GROUP_ROWS 2048 /* 49 groups of 100,000 rows: cores get even shares, and 300 sums a group cost 1 % */

typedef int (*BatchFunction)(void **, const void *, void **, int64_t, void *, uint8_t *, void *);

typedef struct { /* what machine code there is, and what is to be done with it */
    const MachineCode *code; /* the capsule that owns it is held by the caller */
    Py_ssize_t width, item, n_acc, scratch;
    int threads, op; /* op: of the node that is made; -1 for a list of sums */
} RowCode;

typedef struct { /* where rows come from, and where results go */
    const Py_buffer *views;
    Py_ssize_t n_views;
    const int *axes;   /* of each view; NULL where all are 0 */
    PyObject *uniform; /* what is the same in each row: a tuple of numbers and Values, or a Captured */
    Py_ssize_t rows;
    char **outs;
    Py_ssize_t n_outs;
    uint8_t *bad; /* a bit for each row that took another way */
    double scale; /* of the node */
    double *blocks; /* NULL, or room for the sums of each group of GROUP_ROWS rows, in order */
} RowData;

PyObject *run_rows(const RowCode *code, const RowData *data, int *any_bad); /* a node, or a list of sums */
int rows_fit(const RowCode *how); /* whether this code takes rows so; 0 with an error set */
char buffer_kind(const Py_buffer *view); /* 0 where it holds no real numbers in this machine's order */
PyObject *module_batch(PyObject *module, PyObject *args);
PyObject *module_row_call(PyObject *module, PyObject *args);

/* ---- structure.c: whether the modules that a compiled function has read are as they were (watch/guards.py) */

int structure_check(PyObject *key);     /* whether it is a key; an error is set where it is none */
int structure_unchanged(PyObject *key); /* NULL: there is nothing to watch */
PyObject *module_unchanged(PyObject *module, PyObject *key);

/* ---- exit.c */

PyObject *module_compiling(PyObject *module, PyObject *on); /* whether the process may end meanwhile */
extern PyTypeObject *RowCallType;
extern PyType_Spec row_call_spec;

#endif
