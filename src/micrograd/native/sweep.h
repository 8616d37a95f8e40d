/* The sort and the sweep: backward() and zero_grad(). */

typedef struct {
    uintptr_t *item;
    Py_ssize_t n, room, used; /* used: the most that was in it, for list_return */
} List;

/* The last sweep's memory, for the next one; taken while in use, so that a sweep inside a sweep gets its own. */
static List spare_stack, spare_order, spare_held;

#define SPARE_ITEMS ((Py_ssize_t)1 << 22) /* 32 MB: the order of a graph of four million nodes */

static List list_take(List *spare) {
    List l = *spare;
    spare->item = NULL;
    spare->room = 0;
    l.n = 0;
    return l;
}

static void list_return(List *l, List *spare) {
    if (spare->item == NULL && l->room <= SPARE_ITEMS && l->room <= 4096 + 64 * l->used) { /* not what a small graph has no use for */
        l->used = 0;
        *spare = *l;
    } else {
        PyMem_RawFree(l->item);
    }
}

static int list_grow(List *l, Py_ssize_t more) {
    Py_ssize_t room = l->room ? l->room : 256;
    while (room < l->n + more) room *= 2;
    uintptr_t *item = PyMem_RawRealloc(l->item, (size_t)room * sizeof(uintptr_t));
    if (item == NULL) return -1;
    l->item = item;
    l->room = room;
#ifdef MADV_HUGEPAGE
    if ((size_t)room * sizeof(uintptr_t) >= 2 * SLAB_BYTES) {
        uintptr_t from = ((uintptr_t)item + SLAB_BYTES - 1) & ~(uintptr_t)(SLAB_BYTES - 1);
        uintptr_t to = (uintptr_t)(item + room) & ~(uintptr_t)(SLAB_BYTES - 1);
        madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
#endif
    return 0;
}

static void unvisit(List *l) {
    for (Py_ssize_t i = 0; i < l->n; i++) ((Node *)(l->item[i] & ~(uintptr_t)1))->flags &= (uint8_t)~VISITED;
}

/* What leaves had before this sweep, as pairs (leaf, bits of grad): the sweep sums from zero, and then adds to that in one
   addition, so that a second backward() doubles a leaf exactly. A leaf at zero needs no place here. */
static int hold(Node *leaf, List *held) {
    if (held->room < held->n + 2 && list_grow(held, 2) < 0) return -1;
    held->item[held->n++] = (uintptr_t)leaf;
    memcpy(&held->item[held->n++], &leaf->grad, sizeof(double));
    leaf->grad = 0.0;
    return 0;
}

static void release(List *held) {
    for (Py_ssize_t i = 0; i < held->n; i += 2) {
        double before;
        memcpy(&before, &held->item[i + 1], sizeof(double));
        ((Node *)held->item[i])->grad += before;
    }
    held->n = 0;
}

static inline int shared_leaves(Node *n) {
    return (n->flags & SHARED) && captured_leaves((Captured *)((Shared *)n->block)->owner);
}

/* Nodes behind root once each, inputs first, as a recursive depth-first visit would list them (engine.py: topological).
   A stack entry with its low bit set is a node whose inputs are done. Returns 1 when a node has a _backward that is
   Python, 0 when none has, -1 without memory. Marks are left on the nodes: the caller clears them.
   With `held` given, leaves go there and not into the order, but for those with a _backward of their own. */
static int sort(Node *root, List *order, List *held) {
    List stack = list_take(&spare_stack);
    int hooks = 0;
    if (list_grow(&stack, 4) < 0) goto no_memory;
    stack.item[stack.n++] = (uintptr_t)root;
    while (stack.n) {
        uintptr_t entry = stack.item[--stack.n];
        Node *n = (Node *)(entry & ~(uintptr_t)1);
        if (entry & 1) {
            if (order->n == order->room && list_grow(order, 1) < 0) {
                stack.item[stack.n++] = entry;
                goto no_memory;
            }
            order->item[order->n++] = (uintptr_t)n;
            continue;
        }
        if (n->flags & VISITED) continue;
        __builtin_prefetch((char *)n - 8 * sizeof(Node), 1); /* nodes made one after the other lie so: the inputs come first */
        Node **in = inputs(n);
        Py_ssize_t k = input_count(n);
        if (stack.room < stack.n + k + 1 && list_grow(&stack, k + 1) < 0) goto no_memory;
        if (held != NULL && is_leaf(n) && n->grad != 0.0 && hold(n, held) < 0) goto no_memory;
        n->flags |= VISITED;
        if (held != NULL && !is_leaf(n)) n->grad = 0.0; /* a backward pass: what is between is set anew */
        hooks |= (n->flags & HOOKED) || !Py_IS_TYPE((PyObject *)n, ValueType);
        stack.item[stack.n++] = (uintptr_t)n | 1;
        if (held != NULL && shared_leaves(n)) {
            for (Py_ssize_t i = 0; i < k; i++)
                if (in[i]->grad != 0.0 && hold(in[i], held) < 0) goto no_memory;
            continue;
        }
        for (Py_ssize_t i = k - 1; i >= 0; i--) {
            Node *c = in[i];
            if (held == NULL) c = pointer(c);
            if (c == NULL || is_shown_number(c) || (c->flags & VISITED)) continue;
            if (held != NULL && is_leaf(c) && !(c->flags & HOOKED) && Py_IS_TYPE((PyObject *)c, ValueType)) {
                if (c->grad != 0.0 && hold(c, held) < 0) goto no_memory;
                continue;
            }
            stack.item[stack.n++] = (uintptr_t)c;
        }
    }
    stack.used = order->used = order->n;
    list_return(&stack, &spare_stack);
    return hooks;
no_memory:
    unvisit(&stack);
    unvisit(order);
    if (held != NULL) release(held);
    list_return(&stack, &spare_stack);
    PyErr_NoMemory();
    return -1;
}

static void push_shared(const Block *b, double g) { /* apart from push, so that push stays small enough to be inlined */
    for (Py_ssize_t i = 0; i < b->n; i++) b->in[i]->grad += b->partial[i] * g;
}

static inline void push(Node *n) {
    double g = n->grad;
    if (n->op == OP_USER) return;
    if (!(n->flags & MANY)) {
        if (n->count > 0 && has_gradient(n->in[0])) n->in[0]->grad += n->partial[0] * g;
        if (n->count > 1 && has_gradient(n->in[1])) n->in[1]->grad += n->partial[1] * g;
        return;
    }
    Block *b = n->block;
    if (n->flags & SHARED) {
        push_shared(b, g);
        return;
    }
    for (Py_ssize_t i = 0; i < b->n; i++)
        if (has_gradient(b->in[i])) b->in[i]->grad += b->partial[i] * g;
}

static PyObject *str_backward;

static int call_backward(Node *n) {
    PyObject *result = PyObject_CallMethodNoArgs((PyObject *)n, str_backward);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static PyObject *sweep(Node *root, double seed) {
    if (!(root->flags & HOOKED) && shared_leaves(root) && Py_IS_TYPE((PyObject *)root, ValueType)) {
        root->grad = 0.0 + seed; /* leaves alone behind it, each once: what the sort would find, and one addition to each */
        push_shared(root->block, root->grad);
        Py_RETURN_NONE;
    }
    List order = list_take(&spare_order), held = list_take(&spare_held);
    int hooks = sort(root, &order, &held);
    if (hooks < 0) {
        list_return(&order, &spare_order);
        list_return(&held, &spare_held);
        return NULL;
    }
    for (Py_ssize_t i = 0; hooks && i < order.n; i++) Py_INCREF((PyObject *)order.item[i]); /* a hook may drop nodes still to come */
    root->grad += seed;
    int failed = 0;
    if (!hooks) {
        for (Py_ssize_t i = order.n - 1; i >= 0; i--) {
            Node *n = (Node *)order.item[i];
            if (i >= 16) __builtin_prefetch((void *)order.item[i - 16], 1);
            n->flags &= (uint8_t)~VISITED;
            push(n);
        }
        release(&held);
    } else {
        unvisit(&order); /* before any hook runs: it may start a sweep of its own */
        for (Py_ssize_t i = order.n - 1; i >= 0 && !failed; i--) {
            Node *n = (Node *)order.item[i];
            if ((n->flags & HOOKED) || !Py_IS_TYPE((PyObject *)n, ValueType)) {
                failed = call_backward(n) < 0;
            } else {
                push(n);
            }
        }
        release(&held);
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        for (Py_ssize_t i = 0; i < order.n; i++) Py_DECREF((PyObject *)order.item[i]);
        PyErr_Restore(type, value, traceback);
    }
    list_return(&order, &spare_order);
    list_return(&held, &spare_held);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *value_zero_grad(Node *root, PyObject *unused) {
    (void)unused;
    if (tell("grad =", (PyObject *)root, Py_None, Py_None) < 0) return NULL;
    List order = list_take(&spare_order);
    if (sort(root, &order, NULL) >= 0) {
        unvisit(&order);
        for (Py_ssize_t i = 0; i < order.n; i++) ((Node *)order.item[i])->grad = 0.0;
    }
    list_return(&order, &spare_order);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
