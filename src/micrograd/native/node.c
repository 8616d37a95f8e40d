/* How a node is freed, and what the cycle collector sees of it. */

#include "engine.h"

PyTypeObject *ValueType;
size_t changes = 1;

Block *block_new(Py_ssize_t n) {
    size_t each = sizeof(Node *) + sizeof(double);
    Block *block = (size_t)n > (PY_SSIZE_T_MAX - sizeof(Block)) / each ? NULL : PyMem_Malloc(sizeof(Block) + (size_t)n * each);
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->n = n;
    block->in = (Node **)(block + 1);
    block->partial = (double *)(block->in + n);
    return block;
}

/* ---- the cycle collector

   Most nodes are hidden from it: their inputs were there before them, so that they are part of no cycle, and to walk a million of
   them takes long. A node with an attribute that may refer to anything is tracked, and every node that is made from a tracked one.
   Where an input gets such an attribute after nodes were made from it, these are found at the next collection: a walk over all
   nodes, see collection_starts. */

static int late; /* a node became tracked when it was an input already */

void node_track(Node *n) {
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

static int track_if_behind(Node *n) { /* whether something that it is made from is tracked */
    if (n->flags & SHARED) return 1; /* such a node is tracked from the beginning */
    Node **in = inputs(n);
    for (Py_ssize_t i = 0, k = input_count(n); i < k; i++)
        if (has_gradient(in[i]) && (in[i]->flags & TRACKED)) return 1;
    return 0;
}

static PyObject *collection_starts(PyObject *module, PyObject *args) { /* one of gc.callbacks: (phase, info) */
    (void)module;
    const char *phase;
    PyObject *info;
    if (!PyArg_ParseTuple(args, "sO!", &phase, &PyDict_Type, &info)) return NULL;
    PyObject *generation = known_item(info, str_generation);
    if (!late || strcmp(phase, "start") != 0 || (generation != NULL && PyLong_AsLong(generation) == 0)) Py_RETURN_NONE;
    List order = {0};
    if (sort_all(&order) == 0) {
        late = 0;
        for (Py_ssize_t i = 0; i < order.n; i++) {
            Node *n = (Node *)order.item[i];
            if (!(n->flags & TRACKED) && !is_leaf(n) && track_if_behind(n)) node_track(n);
        }
    } else {
        PyErr_Clear(); /* without memory, the next collection tries again */
    }
    PyMem_RawFree(order.item);
    Py_RETURN_NONE;
}

static void ask_for_collections(void) { /* from the first late one on */
    static PyMethodDef def = {"micrograd", collection_starts, METH_VARARGS, NULL};
    static int asked;
    if (asked) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *gc = PyImport_ImportModule("gc"), *callbacks = gc ? PyObject_GetAttrString(gc, "callbacks") : NULL;
    PyObject *function = callbacks ? PyCFunction_New(&def, NULL) : NULL;
    asked = function != NULL && PyList_Check(callbacks) && PyList_Append(callbacks, function) == 0;
    Py_XDECREF(function);
    Py_XDECREF(callbacks);
    Py_XDECREF(gc);
    PyErr_Restore(type, value, traceback); /* nothing is lost but a cycle, if this fails */
}

void node_track_late(Node *n) {
    if (n->flags & TRACKED) return;
    node_track(n);
    if (n->flags & CONSUMED) {
        late = 1;
        ask_for_collections();
    }
}

int value_traverse(Node *n, visitproc visit, void *arg) {
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

int value_clear(Node *n) {
    Py_CLEAR(n->dict);
    node_drop_inputs(n); /* a cycle may pass through inputs alone, where _prev was assigned */
    changes++;
    n->flags &= (uint8_t)~HOOKED;
    return 0;
}

/* ---- freeing, without recursion: a dead node's inputs join a list, and whoever is freeing already takes them */

static Node *dead;
static int freeing;

static void wait_to_be_freed(Node *n) {
    if (n->flags & TRACKED) node_untrack(n); /* whoever asks for gc.get_objects() must not find it any more */
    Py_SET_REFCNT((PyObject *)n, 0);
    n->next = dead;
    dead = n;
}

static inline void give_back(Node *n) {
    if (n == NULL) return;
    if (Py_REFCNT(n) == 1 && Py_IS_TYPE((PyObject *)n, ValueType)) {
        wait_to_be_freed(n);
    } else {
        Py_DECREF(n);
    }
}

static void give_back_inputs(Node *n) {
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
}

static void node_free(Node *n) {
    PyTypeObject *type = Py_TYPE(n);
    if (n->flags & TRACKED) node_untrack(n);
    PyObject *dict = n->dict;
    n->dict = NULL;
    if (n->op != OP_LEAF) give_back_inputs(n);
    if (n->flags & OURS) {
        node_memory_back(n);
    } else {
        PyObject_GC_Del(n);
    }
    Py_DECREF(type);
    Py_XDECREF(dict); /* last: it may run anything */
}

static void free_dead(void) {
    while (dead != NULL) {
        Node *n = dead;
        dead = n->next;
        PREFETCH((char *)n - 8 * sizeof(Node));
        node_free(n);
    }
}

void value_dealloc(Node *n) {
    /* A Value that was given the class of a subclass: CPython tracks it before it gets here. */
    if (!Py_IS_TYPE((PyObject *)n, ValueType) && !(n->flags & TRACKED) && PyObject_GC_IsTracked((PyObject *)n)) n->flags |= TRACKED;
    if (freeing) {
        wait_to_be_freed(n);
        return;
    }
    freeing = 1;
    node_free(n);
    free_dead();
    freeing = 0;
}

int hold_frees(void) {
    int before = freeing;
    freeing = 1;
    return before;
}

void release_frees(int before) {
    if (before) return; /* whoever held them first frees them */
    free_dead();
    freeing = 0;
}

void node_drop_inputs(Node *n) {
    if (n->op == OP_LEAF) return;
    Node old = *n; /* the references, taken out of the node before any of them goes */
    n->op = OP_LEAF;
    n->count = 0;
    n->flags &= (uint8_t) ~(MANY | SHARED);
    n->in[0] = n->in[1] = NULL;
    int before = hold_frees();
    give_back_inputs(&old);
    release_frees(before);
}
