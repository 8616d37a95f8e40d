/* The sort and the sweep: backward() and zero_grad(). */

#include "engine.h"
#include "ops.h"
#include "platform.h"

/* ---- the memory of the last sweep is kept for the next one, and taken while in use, so that a sweep inside a sweep gets its own */

static List spare_stack, spare_order, spare_held;

int list_grow(List *l, Py_ssize_t more) { /* in this file, so that the compiler can keep the lists of sort() in registers */
    Py_ssize_t room = l->room ? l->room : 256;
    while (room < l->n + more) room *= 2;
    uintptr_t *item = PyMem_RawRealloc(l->item, (size_t)room * sizeof(uintptr_t));
    if (item == NULL) return -1;
    l->item = item;
    l->room = room;
    if ((size_t)room * sizeof(uintptr_t) >= 2 * SLAB_BYTES) {
        uintptr_t from = ((uintptr_t)item + SLAB_BYTES - 1) & ~(uintptr_t)(SLAB_BYTES - 1);
        uintptr_t to = (uintptr_t)(item + room) & ~(uintptr_t)(SLAB_BYTES - 1);
        advise_huge((void *)from, to - from);
    }
    return 0;
}

static inline Node *entry_node(uintptr_t entry) { return (Node *)(entry & ~(uintptr_t)1); }

/* ---- one sweep in progress

   Ten thousand nodes take less than a millisecond; in a graph of ten million somebody may press Ctrl-C, so that signals are
   looked at 20 times a second. A handler may run anything: it may drop nodes (they are not freed until this sweep has ended), and
   let another thread start a sweep (which first takes off the marks that this one has set); a sweep of its own is refused. Where
   it raises, all gradients are put back. */

typedef struct Sweep {
    List stack, order;
    List held;            /* pairs (node, bits of grad): what the sweep sets to zero, see hold */
    struct Sweep *outer;  /* another one that waits for a signal handler to return */
    int marked;           /* whether the nodes in stack and order are marked */
    int frees;            /* what hold_frees gave; 1 where none are held for this sweep */
    unsigned long thread;
    double looked;        /* when signals were looked at the last time */
} Sweep;

static Sweep *suspended;

static inline Node *ordered(const Sweep *s, Py_ssize_t i) { return entry_node(s->order.item[i]); }

#define LOOK_EVERY 65536 /* nodes, between looks at the clock */

static void set_marks(Sweep *s, int on) {
    if (s->marked == on) return;
    for (Py_ssize_t i = 0; i < s->order.n; i++) {
        Node *n = ordered(s, i);
        n->flags = (uint8_t)(on ? n->flags | VISITED : n->flags & ~VISITED);
    }
    for (Py_ssize_t i = 0; i < s->stack.n; i++) {
        if (!(s->stack.item[i] & 1)) continue; /* not visited yet */
        Node *n = entry_node(s->stack.item[i]);
        n->flags = (uint8_t)(on ? n->flags | VISITED : n->flags & ~VISITED);
    }
    s->marked = on;
}

void unmark_suspended(void) {
    for (Sweep *s = suspended; s != NULL; s = s->outer) set_marks(s, 0);
}

static int look_at_signals(Sweep *s, int marks_needed) { /* -1 where a handler has raised */
    double now = seconds();
    if (now - s->looked < 0.05) return 0;
    s->looked = now;
    s->outer = suspended;
    suspended = s;
    int failed = PyErr_CheckSignals();
    suspended = s->outer;
    if (!failed && marks_needed) set_marks(s, 1);
    return failed;
}

static int sweep_begin(Sweep *s) {
    unsigned long thread = PyThread_get_thread_ident();
    for (Sweep *other = suspended; other != NULL; other = other->outer)
        if (other->thread == thread) {
            PyErr_SetString(PyExc_RuntimeError, "a signal handler calls backward() or zero_grad(), and has interrupted another one\n"
                                                "  Both would write to the same gradients.\n"
                                                "  Set a flag in the handler, and act on it after backward() has returned.");
            return -1;
        }
    unmark_suspended();
    *s = (Sweep){.stack = list_take(&spare_stack), .order = list_take(&spare_order), .held = list_take(&spare_held), .marked = 1};
    s->thread = thread;
    look_at_gradients();
    sweeping++;
    s->frees = hold_frees();
    return 0;
}

static void sweep_end(Sweep *s) {
    set_marks(s, 0);
    sweeping--;
    s->stack.used = s->order.used = s->order.n;
    s->held.used = s->held.n;
    list_return(&s->stack, &spare_stack);
    list_return(&s->order, &spare_order);
    list_return(&s->held, &spare_held);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    release_frees(s->frees);
    PyErr_Restore(type, value, traceback);
}

/* What leaves and nodes between had before this sweep. It sums from zero and then adds to a leaf in one addition, so that a second
   backward() doubles a leaf exactly; where it is given up, all is put back from here. A gradient of zero needs no place. */
static int hold_grad(Node *n, List *held) {
    if (held->room < held->n + 2 && list_grow(held, 2) < 0) return -1;
    held->item[held->n++] = (uintptr_t)n;
    memcpy(&held->item[held->n++], &n->grad, sizeof(double));
    n->grad = 0.0;
    return 0;
}

static inline int hold(Node *n, List *held) {
    uint64_t bits;
    memcpy(&bits, &n->grad, sizeof bits);
    return bits == 0 ? 0 : hold_grad(n, held);
}

static double held_grad(const List *held, Py_ssize_t i) {
    double before;
    memcpy(&before, &held->item[i + 1], sizeof before);
    return before;
}

static void add_what_leaves_had(Sweep *s) {
    for (Py_ssize_t i = 0; i < s->held.n; i += 2) {
        Node *n = (Node *)s->held.item[i];
        if (is_leaf(n)) n->grad += held_grad(&s->held, i);
    }
}

static void put_back(Sweep *s) { /* all gradients as they were before */
    for (Py_ssize_t i = 0; i < s->order.n; i++) {
        Node *n = ordered(s, i), **in = inputs(n);
        n->grad = 0.0;
        for (Py_ssize_t k = 0, count = input_count(n); k < count; k++)
            if (has_gradient(in[k])) in[k]->grad = 0.0;
    }
    for (Py_ssize_t i = 0; i < s->held.n; i += 2) ((Node *)s->held.item[i])->grad = held_grad(&s->held, i);
}

static inline int shared_leaves(Node *n) {
    return (n->flags & SHARED) && captured_leaves((Captured *)((Shared *)n->block)->owner);
}

/* ---- the sort

   Nodes behind root once each, inputs first, as a recursive depth-first visit would list them (engine.py: topological), after
   those that are listed already. A stack entry with its low bit set is a node whose inputs are done. Returns 1 when a node may
   have a _backward that is Python, 0 when none has, -1 with an error set. Marks are left on the nodes.
   With `backward`, gradients are held and set to zero, and leaves are not listed, but for those with a _backward of their own. */

static int hold_all(Node **in, Py_ssize_t k, List *held) {
    for (Py_ssize_t i = 0; i < k; i++)
        if (hold(in[i], held) < 0) return -1;
    return 0;
}

static inline int sort(Node *root, Sweep *s, int backward) {
    List stack = s->stack, order = s->order; /* in registers; whoever is called gets them back by store() */
#define STORE() (s->stack = stack, s->order = order)
    int hooks = 0, until_look = LOOK_EVERY;
    if (stack.room < 4 && list_grow(&stack, 4) < 0) goto no_memory;
    stack.item[stack.n++] = (uintptr_t)root;
    while (stack.n) {
        uintptr_t entry = stack.item[--stack.n];
        Node *n = entry_node(entry);
        if (entry & 1) {
            if (order.n == order.room && list_grow(&order, 1) < 0) goto no_memory_here;
            order.item[order.n++] = (uintptr_t)n;
            continue;
        }
        if (n->flags & VISITED) continue;
        PREFETCH((char *)n - 8 * sizeof(Node)); /* nodes made one after the other lie so: the inputs come first */
        if (backward && --until_look == 0) {
            until_look = LOOK_EVERY;
            stack.n++; /* it is not visited yet */
            STORE();
            if (look_at_signals(s, 1) < 0) return -1;
            stack.n--;
        }
        Node **in = inputs(n);
        Py_ssize_t k = input_count(n);
        if (stack.room < stack.n + k + 1 && list_grow(&stack, k + 1) < 0) goto no_memory_here;
        if (backward && hold(n, &s->held) < 0) goto no_memory_here;
        n->flags |= VISITED;
        hooks |= has_hook(n);
        stack.item[stack.n++] = (uintptr_t)n | 1;
        if (backward && shared_leaves(n)) {
            if (hold_all(in, k, &s->held) < 0) goto no_memory;
            continue;
        }
        for (Py_ssize_t i = k - 1; i >= 0; i--) {
            Node *c = in[i];
            if (!backward) c = pointer(c);
            if (c == NULL || is_shown_number(c) || (c->flags & VISITED)) continue;
            if (backward && is_leaf(c) && !has_hook(c)) {
                if (hold(c, &s->held) < 0) goto no_memory;
                continue;
            }
            stack.item[stack.n++] = (uintptr_t)c;
        }
        continue;
    no_memory_here:
        stack.n++;
        goto no_memory;
    }
    STORE();
#undef STORE
    return hooks;
no_memory:
    s->stack = stack;
    s->order = order;
    PyErr_NoMemory();
    return -1;
}

static int sort_backward(Node *root, Sweep *s) { return sort(root, s, 1); }
static int sort_plain(Node *root, Sweep *s) { return sort(root, s, 0); }

static int sort_one(Node *n, void *sweep) {
    return n->flags & VISITED ? 0 : sort_plain(n, sweep) < 0;
}

int sort_all(List *order) {
    Sweep s;
    if (sweep_begin(&s) < 0) return -1;
    int failed = for_each_node(sort_one, &s);
    set_marks(&s, 0);
    if (!failed) {
        *order = s.order;
        s.order = (List){0};
    }
    sweep_end(&s);
    return failed;
}

/* ---- the sweep */

static inline int has_steps(const Node *n) { return n->op < OP_COUNT && op_steps[n->op]; }

static void push_shared(const Block *b, double g) { /* apart from push, so that push stays small enough to be inlined */
    for (Py_ssize_t i = 0; i < b->n; i++) b->in[i]->grad += b->partial[i] * g;
}

static inline void push_everywhere(Node *n) {
    double g = n->grad;
    if (!(n->flags & MANY)) {
        if (n->count > 0 && has_gradient(n->in[0])) n->in[0]->grad += n->partial[0] * g;
        if (n->count > 1 && has_gradient(n->in[1])) n->in[1]->grad += n->partial[1] * g;
        return;
    }
    Block *b = n->block;
    if (n->op == OP_USER) return;
    if (n->flags & SHARED) {
        push_shared(b, g);
        return;
    }
    for (Py_ssize_t i = 0; i < b->n; i++)
        if (has_gradient(b->in[i])) b->in[i]->grad += b->partial[i] * g;
}

static void push(Node *n) {
    if (has_steps(n)) push_past_steps(n);
    else push_everywhere(n);
}

PyObject *value_push(Node *self, PyObject *unused) {
    (void)unused;
    look_at_gradients();
    push(self);
    Py_RETURN_NONE;
}

static int call_backward(Node *n) {
    PyObject *result = PyObject_CallMethodNoArgs((PyObject *)n, str_backward);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int push_natively(Sweep *s) { /* no node has a hook */
    Py_ssize_t i = s->order.n - 1;
    int narrowed = 0;
    while (i >= 0) {
        Py_ssize_t until = i >= LOOK_EVERY ? i - LOOK_EVERY : -1;
        for (; i > until; i--) {
            Node *n = (Node *)s->order.item[i];
            if (i >= 16) PREFETCH((void *)s->order.item[i - 16]);
            n->flags &= (uint8_t)~VISITED;
            if (!has_steps(n)) {
                push_everywhere(n);
                continue;
            }
            if (!narrowed && hides_nodes(n)) {
                i = leave_out_hidden(&s->order, i, s->marked);
                narrowed = 1;
            }
            push_past_steps(n);
        }
        if (i >= 0 && look_at_signals(s, 0) < 0) return -1;
    }
    s->marked = 0;
    return 0;
}

static int push_with_hooks(Sweep *s) {
    ordered(s, s->order.n - 1)->flags &= (uint8_t)~VISITED; /* the root is reached */
    tag_hidden(&s->order);
    s->marked = 0; /* before any hook runs: it may start a sweep of its own */
    for (Py_ssize_t i = 0; i < s->order.n; i++) Py_INCREF((PyObject *)ordered(s, i)); /* a hook may drop nodes still to come */
    release_frees(s->frees);
    s->frees = 1;
    int failed = 0;
    for (Py_ssize_t i = s->order.n - 1; i >= 0 && !failed; i--) {
        Node *n = ordered(s, i);
        if ((s->order.item[i] & 1) && n->grad == 0.0) continue; /* behind a step, where no hook has brought anything */
        if (has_hook(n)) failed = call_backward(n) < 0;
        else push(n);
    }
    return failed ? -1 : 0;
}

static PyObject *sweep(Node *root, double seed) {
    if (!(root->flags & HOOKED) && shared_leaves(root) && Py_IS_TYPE((PyObject *)root, ValueType)) {
        root->grad = 0.0 + seed; /* leaves alone behind it, each once: what the sort would find, and one addition to each */
        captured_push((Captured *)((Shared *)root->block)->owner, root->block->partial, root->grad);
        Py_RETURN_NONE;
    }
    Sweep s;
    if (sweep_begin(&s) < 0) return NULL;
    int hooks = sort_backward(root, &s), failed = hooks < 0;
    if (!failed) {
        root->grad += seed;
        failed = (hooks ? push_with_hooks(&s) : push_natively(&s)) < 0;
    }
    if (failed) put_back(&s);
    else add_what_leaves_had(&s);
    if (hooks > 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        for (Py_ssize_t i = 0; i < s.order.n; i++) Py_DECREF((PyObject *)ordered(&s, i));
        PyErr_Restore(type, value, traceback);
        s.order.n = 0;
    }
    sweep_end(&s);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

PyObject *value_backward(Node *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    double seed = 1.0;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs + nkw > 1 || (nkw == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "gradient") != 0)) {
        PyErr_SetString(PyExc_TypeError, "backward() takes one argument, gradient=1.0");
        return NULL;
    }
    if (nargs + nkw == 1 && number(args[0], &seed) < 0) return NULL;
    if (special_threads && tell("backward()", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    return sweep(self, seed);
}

PyObject *value_zero_grad(Node *root, PyObject *unused) {
    (void)unused;
    Sweep s;
    if (tell("grad =", (PyObject *)root, Py_None, Py_None) < 0 || sweep_begin(&s) < 0) return NULL;
    int failed = sort_plain(root, &s) < 0;
    for (Py_ssize_t i = 0; !failed && i < s.order.n; i++) ((Node *)s.order.item[i])->grad = 0.0;
    sweep_end(&s);
    if (failed) return NULL;
    Py_RETURN_NONE;
}
