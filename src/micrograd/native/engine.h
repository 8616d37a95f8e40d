/* What the translation units of the C engine share: the node, and the functions that one unit offers to the others.

   memory.c     nodes come from slabs, and slabs go back to the system
   node.c       how a node is freed, and what the cycle collector sees of it
   captured.c   the Values that compiled code reads, shared by its results
   operand.c    Python objects as numbers and operands
   mode.c       what the current thread is doing: no_grad, scopes, traces, watchers
   make.c, lists.c   one op, a node out: operators, methods, the functions of micrograd.math
   sweep.c      the sort and the backward sweep
   parameters.c lists of Values in one go
   layer.c      the neurons of a layer in one go
   attributes.c, value.c, whole.c   the class Value
   linearize.c, interpret.c   a graph as a tape, and a tape run on Values
   derivatives.c, shape.c, run.c, eager.c   grad and jacobian at one point (eager.h)
   layout.c, point.c, arrange.c, kernel.c   machine code at one point
   rows.c, batch.c, row_call.c   machine code over the rows of arrays
   leave.c      how machine code is left in the middle: Ctrl-C, no memory
   standard.c   Python's own math and float, which take Values too
   structure.c  whether the modules that compiled code has read are as they were
   module.c     the module _engine

   Those that run machine code share code.h.

   Headers declare; the only functions in this one are accessors that must be inlined. */

#ifndef MICROGRAD_ENGINE_H
#define MICROGRAD_ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <structmember.h>

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch((address), 1)
#define PREFETCH_READ(address) __builtin_prefetch((const void *)(address), 0, 2)
#else
#define PREFETCH(address) ((void)(address))
#define PREFETCH_READ(address) ((void)(address))
#endif

#ifdef Py_GIL_DISABLED /* nodes lie in slabs, which the cycle collector of a free-threaded Python does not look into */
#error "the C engine needs a Python with the interpreter lock; a free-threaded one runs the Python engine"
#endif

#define CAST(f) ((void *)(f))
/* ---- the node

   96 bytes: Python's two headers (32), data and grad, two inputs with their partials, room for a __dict__.
   An input is one of three things:
       a pointer        another Value; partial[i] is d(this)/d(input)
       NULL             a plain number; partial[i] is that number: it has no gradient, so the place is free
       a pointer | 1    the same number after somebody asked for _prev: a leaf was made to show it
   Nodes of more than two inputs keep them in a block. */

typedef struct Node Node;

typedef struct {
    Py_ssize_t n;
    Node **in;
    double *partial;
} Block;

typedef struct {     /* the block of a node that is SHARED: see captured.c */
    Block block;     /* `in` is the owner's, and so are the references in it */
    PyObject *owner;
    Py_ssize_t room; /* partials that fit */
} Shared;

struct Node {
    PyObject_HEAD
    union {
        double data;
        Node *next; /* of a dead node, and of free memory */
    };
    double grad;
    union {
        Node *in[2];
        Block *block; /* when MANY */
    };
    double partial[2];
    PyObject *dict; /* label, an assigned _backward, whatever else the user sets */
    uint16_t op;    /* row of the table, or one of the three below */
    uint8_t flags;
    uint8_t count : 2;      /* inputs kept in the node itself: 0, 1, 2 */
    uint8_t scope_high : 6; /* the nn module that made it, for drawings: 22 bits, see scopes.py */
    uint16_t scope_low;
    uint16_t trace; /* the trace that made it; 0 outside of any, ELSEWHERE by another thread from what belongs to one */
};

#define ELSEWHERE UINT16_MAX
#define PLAIN_RUN (ELSEWHERE - 1) /* the trace in which functions run on plain numbers: stage/on_numbers.py */
#define MAX_SCOPE ((1u << 22) - 1)

enum {
    OP_LEAF = 0xFFFF,  /* no inputs */
    OP_USER = 0xFFFE,  /* Value(data, children, op): its _backward is written by hand */
    OP_GIVEN = 0xFFFD, /* Value(data, children, partials): the partials were given */
};

enum {
    VISITED = 1, /* set and cleared within one sort */
    TRACKED = 2, /* the cycle collector looks at it: it, or something behind it, has a __dict__ */
    MANY = 4,
    HOOKED = 8,    /* it may have a _backward of its own */
    OURS = 16,     /* memory from node_alloc, not from the subclass machinery */
    SHARED = 32,   /* MANY, and the block is a Shared */
    CONSUMED = 64, /* another node was made from it */
    EXPOSED = 128, /* its __dict__ was handed out, and may change unseen */
};

extern PyTypeObject *ValueType, *CapturedType;
extern size_t changes; /* how often a Value got or lost a _backward, a class or inputs after it was made: seldom */
extern size_t gc_head; /* bytes that the cycle collector keeps in front of an object: measured at import */

static inline int is_value(PyObject *o) { return Py_IS_TYPE(o, ValueType) || PyType_IsSubtype(Py_TYPE(o), ValueType); }
static inline int is_plain_value(PyObject *o) { return Py_IS_TYPE(o, ValueType); } /* not of a subclass */
static inline int is_shown_number(Node *in) { return ((uintptr_t)in & 1) != 0; }
static inline Node *pointer(Node *in) { return (Node *)((uintptr_t)in & ~(uintptr_t)1); }
static inline int has_gradient(Node *in) { return in != NULL && !is_shown_number(in); }
static inline int is_leaf(const Node *n) { return n->op == OP_LEAF; }
static inline int is_by_hand(const Node *n) { return n->op == OP_USER || n->op == OP_GIVEN; }
static inline Py_ssize_t input_count(const Node *n) { return n->flags & MANY ? n->block->n : n->count; }
static inline Node **inputs(Node *n) { return n->flags & MANY ? n->block->in : n->in; }
static inline double *input_partials(Node *n) { return n->flags & MANY ? n->block->partial : n->partial; }
static inline int has_hook(Node *n) { return (n->flags & HOOKED) || !Py_IS_TYPE((PyObject *)n, ValueType); } /* maybe a _backward */
static inline uint32_t scope_of(const Node *n) { return (uint32_t)n->scope_high << 16 | n->scope_low; }
static inline void stamp_scope(Node *n, uint32_t scope) { n->scope_high = (scope >> 16) & 63, n->scope_low = (uint16_t)scope; }

/* ---- memory.c */

#define SLAB_BYTES ((size_t)1 << 21)

typedef struct Slab {
    struct Slab *prev, *next;         /* in the ring of slabs that have room */
    struct Slab *all_prev, *all_next; /* in the ring of all slabs */
    Node *freed;                      /* nodes that were given back */
    char *fresh, *end;                /* memory that was never used */
    size_t live;
    int in_ring;
} Slab;

extern Slab *slab_now; /* the slab that nodes come from; its ring holds the others with room */

Node *node_memory_slow(void); /* NULL without memory, with the error set */
void node_memory_back(Node *n);
void release_slabs(void); /* give all memory back to the system in which no node is */
int for_each_node(int (*visit)(Node *n, void *argument), void *argument); /* of our own memory, alive; stops where visit gives not 0 */
void advise_huge(void *memory, size_t bytes);

typedef struct {
    uintptr_t *item;
    Py_ssize_t n, room, used; /* used: the most that was in it, for list_return */
} List;

List list_take(List *spare);
void list_return(List *l, List *spare);
static inline size_t node_stride(void) { return gc_head + sizeof(Node); }

static inline Node *node_fresh(Slab *s) { /* memory that was never a node: a freed one leaves these two as they must be */
    Node *n = (Node *)s->fresh;
    s->fresh += node_stride();
    memset((char *)n - gc_head, 0, gc_head);
    n->dict = NULL;
    return n;
}

static inline Node *node_memory(void) {
#ifdef MICROGRAD_SANITIZE
    return node_memory_slow();
#else
    Slab *s = slab_now;
    if (s == NULL || s->live == 0 || (s->freed == NULL && s->fresh == s->end)) return node_memory_slow();
    s->live++;
    Node *n = s->freed;
    if (n == NULL) return node_fresh(s);
    s->freed = n->next;
    return n;
#endif
}

/* ---- node.c */

Block *block_new(Py_ssize_t n);
void node_track(Node *n);       /* let the collector see it */
void node_track_late(Node *n);  /* the same, where it may have been an input already: nodes made from it must be seen too */
void node_drop_inputs(Node *n); /* what it is made from, and its block; it is a leaf afterwards */
void value_dealloc(Node *n);
int value_traverse(Node *n, visitproc visit, void *arg);
int value_clear(Node *n);
int hold_frees(void);          /* from now on no node is freed, but waits; gives what to release */
void release_frees(int before); /* free what has waited */

static inline Node *node_alloc(double data) {
    Node *n = node_memory();
    if (n == NULL) return NULL;
#if defined(Py_TRACE_REFS) || defined(Py_REF_DEBUG)
    PyObject_Init((PyObject *)n, ValueType);
#else
    Py_SET_TYPE((PyObject *)n, ValueType);
    Py_INCREF(ValueType);
    Py_SET_REFCNT((PyObject *)n, 1);
#endif
    n->data = data;
    n->grad = 0.0;
    n->op = OP_LEAF;
    n->flags = OURS;
    n->count = n->scope_high = 0;
    n->scope_low = n->trace = 0;
    return n;
}

/* ---- captured.c */

typedef struct { /* the data of all, in a row */
    size_t users;
    _Alignas(64) double number[];
} Numbers;

typedef struct Captured {
    PyObject_VAR_HEAD
    size_t checked;   /* the value of `changes` when `leaves` was found out */
    int leaves;       /* whether all are leaves without a _backward of their own */
    Numbers *numbers; /* NULL, or their data when `data_changes` was `read` */
    size_t read;
    double *gradients; /* NULL, or room for the gradient of each */
    size_t looks;      /* the value of `gradient_looks` after the last backward() of a result */
    Node *item[];
} Captured;

extern size_t data_changes;   /* how often the data of a Value were assigned after it was made: whoever does counts */
extern size_t gradient_looks; /* how often somebody looked at gradients, or wrote some */
extern Captured *ahead;       /* whose gradients wait in a row, and are not yet in its Values; mostly NULL */
void gradients_arrive(void);  /* write them to its Values */
extern int sweeping;          /* sweeps under way, in the middle of which other code may run */

static inline int is_captured(PyObject *o) { return Py_IS_TYPE(o, CapturedType); }

static inline void look_at_gradients(void) { /* before any gradient is read or written */
    gradient_looks++;
    if (ahead != NULL) gradients_arrive();
}

PyObject *module_captured(PyObject *module, PyObject *list);
void captured_read(const Captured *c, double *to);
Numbers *captured_take(Captured *c); /* their data, which stay as they are until given back; NULL without memory, with the error set */
void captured_give(Numbers *numbers);
void captured_push(Captured *c, const double *partial, double g); /* add g times its partial to the gradient of each, all leaves */
int captured_leaves(Captured *c);
Shared *shared_new(Captured *c, double **out);
void shared_free(Shared *s);
PyObject *make_shared(int op, double y, Shared *s);
extern PyType_Spec captured_spec;

/* ---- operand.c */

typedef struct { /* an operand is a Value, or a number */
    Node *node;  /* NULL for a number */
    double data;
} Operand;

int number(PyObject *o, double *out);        /* 0, or -1 with an error set */
int other_number(PyObject *o, double *out);  /* 1: *out is the number; 0: not a number; -1: an error is set */
int other_operand(PyObject *o, Operand *out);
extern PyObject *str_name, *str_generation; /* keys that are made once: making them needs memory, which may fail */
PyObject *known_item(PyObject *dict, PyObject *key);
int comparand(PyObject *o, const char *how, Operand *out);
PyObject *refuse(PyObject *o);               /* NULL, with the TypeError that names o */
int has_axes(PyObject *o);                   /* an array of NumPy's, which asks for each of its elements (operand.py) */
int reflects(PyObject *o, PyObject *row);    /* whether a class made from a container has the method for `value <op> o` */
int is_foreign(PyObject *o);                 /* whether o may know by itself what `value + o` is (operand.py) */
const char *type_name(PyObject *o); int asks_for_all_digits(PyObject *spec); /* of format() */
int all_values(PyObject *all);               /* of a tuple, or of a list that no Python code changes in between */
PyObject *fixed_sequence(PyObject *given);   /* its items, safe to walk: a tuple, or a list of Values and plain numbers */
int operand_init(void);

static inline int plain_number(PyObject *o, double *out) { /* 1: *out is the number; 0: not a number; -1: an error is set */
    if (PyFloat_Check(o)) {
        *out = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyLong_Check(o)) {
        *out = PyLong_AsDouble(o);
        return *out == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    return 0;
}

static inline int operand(PyObject *o, Operand *out) {
    if (Py_IS_TYPE(o, ValueType)) {
        out->node = (Node *)o;
        out->data = out->node->data;
        return 1;
    }
    out->node = NULL;
    int got = plain_number(o, &out->data);
    return got ? got : other_operand(o, out);
}

/* ---- mode.c: what the current thread is doing (observed.py) */

typedef struct {
    int recording_off;
    uint32_t scope;
    uint16_t trace;
    PyObject *watcher;
    PyObject *maker;
    int only_differences; /* the watcher is told only of what Values do in another way than plain numbers */
    int special, staged; /* whether any of these is set; functions are interpreted here: tape/staging.py */
} Mode;

extern _Thread_local Mode thread_mode;
extern int special_threads; /* 0: nobody needs to look at thread_mode, which costs a call */
extern int tracing_threads;

PyObject *answer_of_watcher(const char *how, PyObject *v, PyObject *other); /* None where nobody watches this thread */
int tell(const char *how, PyObject *v, PyObject *other, PyObject *result); /* whoever watches this thread; -1 where that raised */
int tell_difference(const char *how, PyObject *v, PyObject *other); /* the same for what is told to each watcher */
int is_watched(void), only_differences(void); /* whether somebody in this thread is told of everything, or of those */
PyObject *finish(Node *out); /* a new node, where somebody is drawing, tracing or looking for nan */
int is_of_a_trace(Node *n);  /* made from what a trace has made */
int enter_scope(unsigned long scope); /* -1 where there is no such scope, with an error set */
extern PyMethodDef mode_methods[];
extern PyType_Spec no_grad_spec;

static inline Mode *special_mode(void) { return special_threads && thread_mode.special ? &thread_mode : NULL; }
static inline int computes_plainly(void) { /* nothing but no_grad may be special in this thread */
    const Mode *m = special_mode();
    return m == NULL || !(m->scope || m->trace || m->watcher || m->maker);
}
static inline int is_recording(void) { return !special_threads || !thread_mode.recording_off; }
static inline PyObject *made(Node *out) { return special_threads ? finish(out) : (PyObject *)out; }
/* ---- make.c */

extern PyObject *op_rows; /* list of Op, in the order of the table; ops of users follow */
extern int row_arity[];
PyObject *call_row(int op, PyObject *const *args, Py_ssize_t nargs); /* an op of the table, on numbers and Values */
Py_ssize_t known_row(PyObject *op);                    /* of the table; -2 for what is not in it, -1 with an error set */
Py_ssize_t row_of(PyObject *op);                       /* the place of an Op; a user's new one is added at the end; -1: an error */
PyObject *unrecorded(Node *out);                       /* a result where nothing is recorded, or NULL */
PyObject *make_many(int op, double y, Block *block);   /* a node that keeps its inputs in a block; takes the block */
PyObject *make_list(int op, PyObject *const *args, Py_ssize_t nargs);             /* lists.c */
PyObject *by_hook(PyObject *owner, int op, PyObject *const *args, Py_ssize_t n); /* for an operand that is no number */
int make_init(PyObject *module), interpret_init(PyObject *module);
PyObject *module_apply(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
extern PyType_Slot number_slots[], whole_slots[];
extern PyMethodDef table_methods[];

/* ---- sweep.c */

int list_grow(List *l, Py_ssize_t more);
int sort_all(List *order); /* every node of our own memory, inputs first; 0, or -1 without memory. No marks are left. */
void unmark_suspended(void); /* before marks are set by somebody else than a sweep */
PyObject *value_backward(Node *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *value_push(Node *self, PyObject *unused);
PyObject *value_zero_grad(Node *root, PyObject *unused);

/* ---- steps.c */

extern const unsigned char op_steps[]; /* for each row of the table, a bit for each input in which it is a step */
void push_past_steps(Node *n);
int hides_nodes(Node *n);     /* whether a step of this node may keep a sweep without hooks from other nodes */
void tag_hidden(List *order); /* set the low bit of those that lie behind steps alone: see there */
Py_ssize_t leave_out_hidden(List *order, Py_ssize_t i, int marked);

/* ---- parameters.c, layer.c */

extern PyMethodDef parameter_methods[], layer_methods[];
int layer_init(void);

/* ---- attributes.c and value.c */

extern PyObject *str_backward, *str_label, *str_op;
extern PyObject *class_of, *class_of_object;
extern PyGetSetDef value_getset[];
int value_setattr(PyObject *self, PyObject *name, PyObject *value);
int node_set_dict(Node *n, PyObject *key, PyObject *value);
int node_take_inputs(Node *n, PyObject *children, PyObject *partials); /* instead of those it has; partials: a tuple, or NULL */
int node_has_own_backward(Node *n);                                    /* runs no Python code */
int value_init_type(PyObject *module);
extern PyMethodDef value_module_methods[];

PyObject *leave(const char *how, PyObject *self); /* the number, where it leaves the graph */

/* ---- derivatives.c, leave.c and standard.c */

extern PyMethodDef derivative_methods[], leaving_methods[], standard_methods[];
int standard_init(void);

/* ---- linearize.c, interpret.c, layout.c */

PyObject *module_linearize(PyObject *module, PyObject *arguments), *module_lay_flat(PyObject *module, PyObject *args);
PyObject *module_interpret(PyObject *module, PyObject *arguments), *module_program(PyObject *module, PyObject *arguments);
#define EXACT_INT (1LL << 53) /* up to here, a double holds every whole number */
int whole_number(PyObject *x, double *to);

int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **type); /* module.c */

#endif
