/* A node: one Value in memory, how it is made and how it is freed.

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

typedef struct { /* of a node that is SHARED: see captured.h */
    Block block;     /* `in` is the owner's, and so are the references in it */
    PyObject *owner;
    Py_ssize_t room; /* partials that fit */
} Shared;

struct Node {
    PyObject_HEAD
    union {
        double data;
        Node *next; /* of a dead node: see dead and Slab.freed */
    };
    double grad;
    union {
        Node *in[2];
        Block *block; /* when MANY */
    };
    double partial[2];
    PyObject *dict; /* label, an assigned _backward, whatever else the user sets */
    uint16_t op;    /* row of the table, or one of the two below */
    uint8_t count;  /* inputs kept in the node itself: 0, 1, 2 */
    uint8_t flags;
    uint16_t scope; /* the nn module that made it, for drawings */
    uint16_t trace; /* the trace that made it; 0 outside of any, ELSEWHERE by another thread from what belongs to one */
};

#define ELSEWHERE UINT16_MAX

enum { OP_LEAF = 0xFFFF, OP_USER = 0xFFFE }; /* no inputs; made by Value(data, children, op) */

enum {
    VISITED = 1, /* set and cleared within one sort */
    TRACKED = 2, /* the cycle collector looks at it: it, or something behind it, has a __dict__ */
    MANY = 4,
    HOOKED = 8,  /* _backward was assigned */
    OURS = 16,   /* memory from node_alloc, not from the subclass machinery */
    SHARED = 32, /* MANY, and the block is a Shared */
};

static PyTypeObject *ValueType;
static size_t changes = 1; /* how often a Value got or lost a _backward, a class or inputs after it was made: seldom */
static size_t gc_head; /* bytes that the cycle collector keeps in front of an object: measured at import */

/* ---- memory: slabs of 2 MB, from the system in huge pages where it has them. With pages of 4 kB half of the time of a large
   graph went into page faults and missed translations (benchmarks/eager.py: time per node from 10^3 to 3*10^6 nodes). */

#define SLAB_BYTES ((size_t)1 << 21)

#ifdef MICROGRAD_SANITIZE /* every node is an allocation of its own, so that the sanitizer sees a use after free */

static inline Node *node_memory(void) {
    char *memory = PyObject_Malloc(gc_head + sizeof(Node));
    if (memory == NULL) return (Node *)PyErr_NoMemory();
    memset(memory, 0, gc_head);
    ((Node *)(memory + gc_head))->dict = NULL;
    return (Node *)(memory + gc_head);
}

static inline void node_memory_back(Node *n) { PyObject_Free((char *)n - gc_head); }

#else

#define SPARE_SLABS 8 /* empty ones that are kept at least: 16 MB, the graph of a training step */

typedef struct Slab {
    struct Slab *prev, *next; /* in the ring of slabs that have room */
    Node *freed;              /* nodes that were given back */
    char *fresh, *end;        /* memory that was never used */
    size_t live;
    int in_ring;
} Slab;

static Slab *slab_now; /* the slab that nodes come from; its ring holds the others with room */
static size_t empty_slabs, slabs, most_slabs; /* half of the most there were are kept too: a large graph seldom comes alone */

static inline size_t node_stride(void) { return gc_head + sizeof(Node); }
static inline Slab *slab_of(Node *n) { return (Slab *)((uintptr_t)n & ~(uintptr_t)(SLAB_BYTES - 1)); }

static void *slab_memory(void) { /* aligned to its size, so that a node finds its slab */
#ifdef _WIN32
    return _aligned_malloc(SLAB_BYTES, SLAB_BYTES);
#else
    char *wide = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED) return NULL;
    char *memory = (char *)(((uintptr_t)wide + SLAB_BYTES - 1) & ~(uintptr_t)(SLAB_BYTES - 1));
    if (memory > wide) munmap(wide, (size_t)(memory - wide));
    munmap(memory + SLAB_BYTES, SLAB_BYTES - (size_t)(memory - wide));
    return memory;
#endif
}

static void slab_release(Slab *s) {
#ifdef _WIN32
    _aligned_free(s);
#else
    munmap(s, SLAB_BYTES);
#endif
}

static void ring_add(Slab *s) {
    s->in_ring = 1;
    if (slab_now == NULL) {
        s->prev = s->next = s;
        slab_now = s;
        return;
    }
    s->next = slab_now->next;
    s->prev = slab_now;
    s->next->prev = s;
    slab_now->next = s;
}

static void ring_remove(Slab *s) {
    s->in_ring = 0;
    if (s->next == s) {
        slab_now = NULL;
    } else {
        s->prev->next = s->next;
        s->next->prev = s->prev;
        if (slab_now == s) slab_now = s->next;
    }
}

static inline Node *node_fresh(Slab *s) { /* memory that was never a node: a freed one leaves these two as they must be */
    Node *n = (Node *)s->fresh;
    s->fresh += node_stride();
    memset((char *)n - gc_head, 0, gc_head);
    n->dict = NULL;
    return n;
}

static Node *node_memory_slow(void) { /* the slab at hand is full, or there is none */
    while (slab_now != NULL && slab_now->freed == NULL && slab_now->fresh == slab_now->end) ring_remove(slab_now);
    if (slab_now == NULL) {
        static int had_one;
        Slab *s = slab_memory();
        if (s == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
#if !defined(_WIN32) && defined(MADV_HUGEPAGE)
        if (had_one) madvise(s, SLAB_BYTES, MADV_HUGEPAGE); /* not the first: most programs never fill it */
#endif
        had_one = 1;
        s->freed = NULL;
        s->live = 0;
        s->fresh = (char *)s + ((sizeof(Slab) + 63) & ~(size_t)63) + gc_head;
        s->end = s->fresh + ((char *)s + SLAB_BYTES - s->fresh) / (ptrdiff_t)node_stride() * (ptrdiff_t)node_stride();
        empty_slabs++;
        if (++slabs > most_slabs) most_slabs = slabs;
        ring_add(s);
    }
    Slab *s = slab_now;
    if (s->live++ == 0) empty_slabs--;
    Node *n = s->freed;
    if (n != NULL) {
        s->freed = n->next;
    } else {
        n = node_fresh(s);
    }
    return n;
}

static inline Node *node_memory(void) {
    Slab *s = slab_now;
    if (s == NULL || s->live == 0 || (s->freed == NULL && s->fresh == s->end)) return node_memory_slow();
    s->live++;
    Node *n = s->freed;
    if (n != NULL) {
        s->freed = n->next;
        return n;
    }
    return node_fresh(s);
}

static inline void node_memory_back(Node *n) {
    Slab *s = slab_of(n);
    n->next = s->freed;
    s->freed = n;
    if (!s->in_ring) ring_add(s);
    if (--s->live == 0) {
        if (++empty_slabs > SPARE_SLABS && empty_slabs > most_slabs / 2) {
            ring_remove(s);
            slab_release(s);
            empty_slabs--;
            slabs--;
        }
    }
}

#endif

static inline int is_value(PyObject *o) { return Py_IS_TYPE(o, ValueType) || PyType_IsSubtype(Py_TYPE(o), ValueType); }
static inline int is_shown_number(Node *in) { return ((uintptr_t)in & 1) != 0; }
static inline Node *pointer(Node *in) { return (Node *)((uintptr_t)in & ~(uintptr_t)1); }
static inline int has_gradient(Node *in) { return in != NULL && !is_shown_number(in); }

static inline int is_leaf(Node *n) { return n->op == OP_LEAF; }

static inline Py_ssize_t input_count(Node *n) { return n->flags & MANY ? n->block->n : n->count; }
static inline Node **inputs(Node *n) { return n->flags & MANY ? n->block->in : n->in; }
static inline double *input_partials(Node *n) { return n->flags & MANY ? n->block->partial : n->partial; }

static Block *block_new(Py_ssize_t n) {
    Block *block = PyMem_Malloc(sizeof(Block) + (size_t)n * (sizeof(Node *) + sizeof(double)));
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->n = n;
    block->in = (Node **)(block + 1);
    block->partial = (double *)(block->in + n);
    return block;
}

static Shared *spare_shared; /* the last that was freed: a training step makes one and frees one */

static void shared_free(Shared *s) {
    PyObject *owner = s->owner;
#ifndef MICROGRAD_SANITIZE
    Shared *kept = spare_shared;
    spare_shared = s;
    s = kept;
#endif
    PyMem_Free(s);
    Py_DECREF(owner);
}

static inline Node *node_alloc(double data) {
    Node *n = node_memory();
    if (n == NULL) return NULL;
#if defined(Py_TRACE_REFS) || defined(Py_REF_DEBUG) || defined(Py_GIL_DISABLED)
    PyObject_Init((PyObject *)n, ValueType);
#else
    Py_SET_TYPE((PyObject *)n, ValueType);
    Py_INCREF(ValueType);
    Py_SET_REFCNT((PyObject *)n, 1);
#endif
    n->data = data;
    n->grad = 0.0;
    n->op = OP_LEAF;
    n->count = 0;
    n->flags = OURS;
    n->scope = 0;
    n->trace = 0;
    return n;
}

static void node_track(Node *n) {
    if (!(n->flags & TRACKED)) {
        n->flags |= TRACKED;
        PyObject_GC_Track(n);
    }
}

static void node_untrack(Node *n) {
    PyObject_GC_UnTrack(n);
    n->flags &= (uint8_t)~TRACKED;
    if (n->flags & OURS) memset((char *)n - gc_head, 0, gc_head); /* as node_alloc expects it */
}

/* ---- freeing, without recursion: a dead node's inputs join a list, and whoever is freeing already takes them */

static Node *dead;
static int freeing;

static inline void give_back(Node *n) {
    if (n == NULL) return;
    if (Py_REFCNT(n) == 1 && Py_IS_TYPE((PyObject *)n, ValueType)) {
        if (n->flags & TRACKED) node_untrack(n); /* whoever asks for gc.get_objects() must not find it any more */
        n->next = dead;
        dead = n;
    } else {
        Py_DECREF(n);
    }
}

static void node_free(Node *n) {
    PyTypeObject *type = Py_TYPE(n);
    if (n->flags & TRACKED) node_untrack(n);
    PyObject *dict = n->dict;
    n->dict = NULL;
    if (n->flags & SHARED) {
        shared_free((Shared *)n->block);
    } else if (n->flags & MANY) {
        Block *block = n->block;
        for (Py_ssize_t i = 0; i < block->n; i++) give_back(pointer(block->in[i]));
        PyMem_Free(block);
    } else {
        /* the last input first: a chain acc = f(acc, x) is then freed along acc */
        if (n->count > 1) give_back(pointer(n->in[1]));
        if (n->count > 0) give_back(pointer(n->in[0]));
    }
    if (n->flags & OURS) {
        node_memory_back(n);
    } else {
        PyObject_GC_Del(n);
    }
    Py_DECREF(type);
    Py_XDECREF(dict); /* last: it may run anything */
}

static void value_dealloc(Node *n) {
    if (freeing) {
        if (n->flags & TRACKED) node_untrack(n);
        n->next = dead;
        dead = n;
        return;
    }
    freeing = 1;
    dead = NULL;
    node_free(n);
    while (dead != NULL) {
        n = dead;
        dead = n->next;
        __builtin_prefetch((char *)n - 8 * sizeof(Node), 1);
        node_free(n);
    }
    freeing = 0;
}

static int value_traverse(Node *n, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(n));
    Py_VISIT(n->dict);
    if (n->flags & SHARED) {
        Py_VISIT(((Shared *)n->block)->owner);
        return 0;
    }
    Node **in = inputs(n);
    for (Py_ssize_t i = 0, k = input_count(n); i < k; i++) Py_VISIT(pointer(in[i]));
    return 0;
}

static int value_clear(Node *n) {
    Py_CLEAR(n->dict); /* every cycle passes through some __dict__ */
    if (n->flags & HOOKED) changes++;
    n->flags &= (uint8_t)~HOOKED;
    return 0;
}

/* ---- what the current thread is doing (engine.py: _Mode) */

typedef struct {
    int recording_off;
    uint16_t scope;
    uint16_t trace;
    PyObject *watcher;
    PyObject *maker;
    int special; /* whether any of these is set */
} Mode;

static _Thread_local Mode thread_mode;
static int special_threads; /* 0: nobody needs to look at thread_mode, which costs a call */
static int tracing_threads;

static inline Mode *special_mode(void) {
    return special_threads && thread_mode.special ? &thread_mode : NULL;
}

static void mode_changed(void) {
    Mode *m = &thread_mode;
    int special = m->recording_off || m->scope || m->trace || m->watcher || m->maker;
    special_threads += special - m->special;
    m->special = special;
}

/* Tell whoever watches this thread; -1 where that raised. */
static int tell(const char *how, PyObject *v, PyObject *other, PyObject *result) {
    Mode *m = special_mode();
    if (m == NULL || m->watcher == NULL) return 0;
    PyObject *watcher = Py_NewRef(m->watcher); /* it may be taken off while it runs */
    PyObject *told = PyObject_CallFunction(watcher, "sOOO", how, v, other, result);
    Py_DECREF(watcher);
    Py_XDECREF(told);
    return told == NULL ? -1 : 0;
}
