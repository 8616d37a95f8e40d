/* Reading a graph and leaving it as it was: linearize() writes it down for a tape, gradients() sweeps it on the side. */

/* The place of a node stands in its grad while the graph is read: a table beside it took twice the time, most of it waiting for
   memory. `seen` has the pairs (node, bits of its grad) from which all is put back; no Python code runs in between. */
static inline void set_place(Node *n, int64_t place) { memcpy(&n->grad, &place, sizeof place); }

static inline int64_t place_of(Node *n) {
    int64_t place;
    memcpy(&place, &n->grad, sizeof place);
    return place;
}

static int see(List *seen, Node *n) {
    if (seen->room < seen->n + 2 && list_grow(seen, 2) < 0) return -1;
    seen->item[seen->n++] = (uintptr_t)n;
    memcpy(&seen->item[seen->n++], &n->grad, sizeof(double));
    n->flags |= VISITED;
    return 0;
}

static void unsee(List *seen) {
    for (Py_ssize_t i = 0; i < seen->n; i += 2) {
        Node *n = (Node *)seen->item[i];
        memcpy(&n->grad, &seen->item[i + 1], sizeof(double));
        n->flags &= (uint8_t)~VISITED;
    }
}

/* bits of a number -> the place of its constant, by open addressing; place 0 is never a constant's (see linearize) */
typedef struct {
    uint64_t *bits;
    int32_t *place;
    size_t mask, used;
} Constants;

static int constants_grow(Constants *m) {
    size_t size = m->mask ? (m->mask + 1) * 2 : 64;
    Constants next = {PyMem_RawMalloc(size * sizeof(uint64_t)), PyMem_RawCalloc(size, sizeof(int32_t)), size - 1, m->used};
    if (next.bits == NULL || next.place == NULL) {
        PyMem_RawFree(next.bits);
        PyMem_RawFree(next.place);
        return -1;
    }
    for (size_t i = 0; m->mask && i <= m->mask; i++) {
        if (m->place[i] == 0) continue;
        size_t at = m->bits[i] * 0x9E3779B97F4A7C15u >> 20 & next.mask;
        while (next.place[at] != 0) at = (at + 1) & next.mask;
        next.bits[at] = m->bits[i];
        next.place[at] = m->place[i];
    }
    PyMem_RawFree(m->bits);
    PyMem_RawFree(m->place);
    *m = next;
    return 0;
}

static int32_t *constants_find(Constants *m, double x) { /* NULL without memory; *result is 0 for a new one */
    uint64_t bits;
    if (m->used * 2 >= m->mask && constants_grow(m) < 0) return NULL;
    memcpy(&bits, &x, sizeof bits);
    size_t at = bits * 0x9E3779B97F4A7C15u >> 20 & m->mask;
    while (m->place[at] != 0 && m->bits[at] != bits) at = (at + 1) & m->mask;
    if (m->place[at] == 0) {
        m->bits[at] = bits;
        m->used++;
    }
    return &m->place[at];
}

static int all_values(PyObject *all) { /* of a tuple, or of a list that no Python code changes in between */
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all); i++)
        if (!is_value(PySequence_Fast_GET_ITEM(all, i))) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(all, i));
            refuse(item);
            Py_DECREF(item);
            return 0;
        }
    return 1;
}

enum { IS_PARAM = 0x10000, IS_CONST = 0x10001 }; /* beside the rows of the table */

/* linearize(roots, inputs, trace, (INPUT, PARAM, CONST)) -> (ops, args, captured, places): what a tape is made of.
   graph.py has the same in Python. A node with a hand-written _backward cannot be written down: then it is a tuple of that
   node alone. */
static PyObject *module_linearize(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *roots, *in_list, *source_input, *source_param, *source_const, *result = NULL, *captured = NULL, *places = NULL;
    unsigned int trace;
    if (!PyArg_ParseTuple(arguments, "O!O!I(OOO):linearize", &PyList_Type, &roots, &PyList_Type, &in_list, &trace, &source_input, &source_param, &source_const))
        return NULL;
    Constants constants = {0};
    List seen = {0}, stack = {0}, numbers = {0}, where = {0};
    List ops = {0}, args = {0}; /* ops: (row, where its args start) pairs; of a constant the one arg is its bits */
    Node *strange = NULL; /* whose rule is Python */
    double x;
    captured = PyList_New(0);
    roots = captured ? PyList_AsTuple(roots) : NULL; /* reading a root may run Python code, which may change the lists */
    in_list = roots ? PyList_AsTuple(in_list) : NULL;
    if (in_list == NULL || !all_values(in_list)) goto done;
    int32_t *constant, next = 0, n_in = (int32_t)PyTuple_GET_SIZE(in_list);
    Py_ssize_t n_roots = PyTuple_GET_SIZE(roots);
#define NEED(list, k) if ((list).room < (list).n + (k) && list_grow(&(list), (k)) < 0) goto no_memory
#define OPEN(row) (ops.item[ops.n++] = (uintptr_t)(row), ops.item[ops.n++] = (uintptr_t)args.n)
    NEED(numbers, n_roots);
    NEED(where, n_roots);
    for (Py_ssize_t r = 0; r < n_roots; r++) { /* the plain numbers among the results: reading one may run Python code */
        PyObject *root = PyTuple_GET_ITEM(roots, r);
        x = 0.0;
        if (!is_value(root) && number(root, &x) < 0) goto done;
        memcpy(&numbers.item[r], &x, sizeof x);
    }
    for (; next < n_in; next++) {
        Node *n = (Node *)PyTuple_GET_ITEM(in_list, next);
        if (see(&seen, n) < 0) goto no_memory;
        set_place(n, next);
    }
    for (Py_ssize_t r = 0; r < n_roots; r++) {
        PyObject *root = PyTuple_GET_ITEM(roots, r);
        if (!is_value(root)) {
            memcpy(&x, &numbers.item[r], sizeof x);
            if ((constant = constants_find(&constants, x)) == NULL) goto no_memory;
            if (*constant == 0) {
                NEED(ops, 2);
                NEED(args, 1);
                OPEN(IS_CONST);
                memcpy(&args.item[args.n++], &x, sizeof x);
                *constant = ++next;
            }
            where.item[where.n++] = (uintptr_t)(*constant - 1);
            continue;
        }
        NEED(stack, 1);
        stack.item[stack.n++] = (uintptr_t)root;
        while (stack.n) {
            uintptr_t entry = stack.item[--stack.n];
            Node *n = (Node *)(entry & ~(uintptr_t)1);
            Py_ssize_t k = input_count(n);
            Node **in = inputs(n);
            if (!(entry & 1)) {
                if (n->flags & VISITED) continue;
                int outside = n->trace != trace || is_leaf(n);
                if (!outside && (n->op == OP_USER || (n->flags & HOOKED))) {
                    strange = (Node *)Py_NewRef((PyObject *)n);
                    goto done;
                }
                if (see(&seen, n) < 0) goto no_memory;
                NEED(stack, k + 1);
                if (outside) {
                    NEED(ops, 2);
                    NEED(args, 1);
                    OPEN(IS_PARAM);
                    args.item[args.n++] = (uintptr_t)PyList_GET_SIZE(captured);
                    set_place(n, next++);
                    if (PyList_Append(captured, (PyObject *)n) < 0) goto done;
                    continue;
                }
                __builtin_prefetch((char *)n - 8 * sizeof(Node), 1);
                stack.item[stack.n++] = (uintptr_t)n | 1;
                for (Py_ssize_t i = k - 1; i >= 0; i--)
                    if (has_gradient(in[i]) && !(in[i]->flags & VISITED)) stack.item[stack.n++] = (uintptr_t)in[i];
                continue;
            }
            NEED(ops, 2 * (k + 1));
            NEED(args, 2 * k);
            for (Py_ssize_t i = 0; i < k; i++) { /* constants that are new come first */
                if (has_gradient(in[i])) continue;
                x = input_partials(n)[i];
                if ((constant = constants_find(&constants, x)) == NULL) goto no_memory;
                if (*constant == 0) {
                    OPEN(IS_CONST);
                    memcpy(&args.item[args.n++], &x, sizeof x);
                    *constant = ++next; /* one more than its place, so that it is not 0 */
                }
            }
            OPEN(n->op);
            for (Py_ssize_t i = 0; i < k; i++)
                args.item[args.n++] = has_gradient(in[i])
                                          ? (uintptr_t)place_of(in[i])
                                          : (uintptr_t)(*constants_find(&constants, input_partials(n)[i]) - 1);
            set_place(n, next++);
        }
        where.item[where.n++] = (uintptr_t)place_of((Node *)root);
    }
    unsee(&seen);
    seen.n = 0;
    if ((places = PyList_New(n_roots)) == NULL) goto done;
    for (Py_ssize_t r = 0; r < n_roots; r++) {
        PyObject *at = PyLong_FromSsize_t((Py_ssize_t)where.item[r]);
        if (at == NULL) goto done;
        PyList_SET_ITEM(places, r, at);
    }
    PyObject *out_ops = PyList_New(n_in + ops.n / 2), *out_args = PyList_New(n_in + ops.n / 2), *row;
    if (out_ops == NULL || out_args == NULL) goto lists_failed;
    for (Py_ssize_t i = 0; i < n_in; i++) {
        PyList_SET_ITEM(out_ops, i, Py_NewRef(source_input));
        if ((row = Py_BuildValue("(n)", i)) == NULL) goto lists_failed;
        PyList_SET_ITEM(out_args, i, row);
    }
    for (Py_ssize_t i = 0; i < ops.n / 2; i++) {
        uintptr_t op = ops.item[2 * i];
        Py_ssize_t from = (Py_ssize_t)ops.item[2 * i + 1], to = i + 1 < ops.n / 2 ? (Py_ssize_t)ops.item[2 * i + 3] : args.n;
        PyObject *which = op == IS_PARAM ? source_param : op == IS_CONST ? source_const : PyList_GET_ITEM(op_rows, (Py_ssize_t)op);
        PyList_SET_ITEM(out_ops, n_in + i, Py_NewRef(which));
        if ((row = PyTuple_New(to - from)) == NULL) goto lists_failed;
        PyList_SET_ITEM(out_args, n_in + i, row);
        for (Py_ssize_t j = from; j < to; j++) {
            memcpy(&x, &args.item[j], sizeof x);
            PyObject *at = op == IS_CONST ? PyFloat_FromDouble(x) : PyLong_FromSsize_t((Py_ssize_t)args.item[j]);
            if (at == NULL) goto lists_failed;
            PyTuple_SET_ITEM(row, j - from, at);
        }
        PyObject_GC_UnTrack(row); /* the collector finds out by itself that numbers are no cycle, but slowly */
    }
    result = Py_BuildValue("(NNOO)", out_ops, out_args, captured, places);
    goto done;
lists_failed:
    Py_XDECREF(out_ops);
    Py_XDECREF(out_args);
    goto done;
no_memory:
    PyErr_NoMemory();
done:
    unsee(&seen);
    if (strange != NULL) result = PyTuple_Pack(1, (PyObject *)strange);
    Py_XDECREF(strange);
    if (captured != NULL) Py_XDECREF(roots);
    if (captured != NULL && roots != NULL) Py_XDECREF(in_list);
    PyMem_RawFree(constants.bits);
    PyMem_RawFree(constants.place);
    PyMem_RawFree(seen.item);
    PyMem_RawFree(stack.item);
    PyMem_RawFree(numbers.item);
    PyMem_RawFree(where.item);
    PyMem_RawFree(ops.item);
    PyMem_RawFree(args.item);
    Py_XDECREF(captured);
    Py_XDECREF(places);
    return result;
}

/* gradients(root, inputs): what backward() would add to the inputs. Every .grad is put back afterwards. */
static PyObject *module_gradients(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *root_object, *in_list;
    if (!PyArg_ParseTuple(arguments, "O!O!:gradients", ValueType, &root_object, &PyList_Type, &in_list)) return NULL;
    if ((in_list = PyList_AsTuple(in_list)) == NULL) return NULL;
    if (!all_values(in_list)) {
        Py_DECREF(in_list);
        return NULL;
    }
    Node *root = (Node *)root_object;
    List order = list_take(&spare_order);
    PyObject *result = NULL;
    int hooks = sort(root, &order, NULL);
    double *saved = hooks < 0 ? NULL : PyMem_RawMalloc((size_t)(order.n + 1) * sizeof(double));
    if (hooks >= 0) unvisit(&order);
    if (saved == NULL) goto done;
    Py_ssize_t k = PyTuple_GET_SIZE(in_list);
    double *saved_in = PyMem_RawMalloc((size_t)(k + 1) * sizeof(double));
    if (saved_in == NULL) goto done;
    for (Py_ssize_t i = 0; i < k; i++) { /* an input that the root does not depend on is not in the order */
        Node *n = (Node *)PyTuple_GET_ITEM(in_list, i);
        saved_in[i] = n->grad;
    }
    for (Py_ssize_t i = 0; i < order.n; i++) {
        Node *n = (Node *)order.item[i];
        saved[i] = n->grad;
        Py_INCREF(n);
    }
    for (Py_ssize_t i = 0; i < k; i++) ((Node *)PyTuple_GET_ITEM(in_list, i))->grad = 0.0;
    for (Py_ssize_t i = 0; i < order.n; i++) ((Node *)order.item[i])->grad = 0.0;
    root->grad = 1.0;
    int failed = 0;
    for (Py_ssize_t i = order.n - 1; i >= 0 && !failed; i--) {
        Node *n = (Node *)order.item[i];
        if ((n->flags & HOOKED) || !Py_IS_TYPE((PyObject *)n, ValueType)) {
            failed = call_backward(n) < 0;
        } else {
            push(n);
        }
    }
    result = failed ? NULL : PyList_New(k);
    for (Py_ssize_t i = 0; result != NULL && i < k; i++) {
        PyObject *g = PyFloat_FromDouble(((Node *)PyTuple_GET_ITEM(in_list, i))->grad);
        if (g == NULL) {
            Py_CLEAR(result);
            break;
        }
        PyList_SET_ITEM(result, i, g);
    }
    for (Py_ssize_t i = 0; i < k; i++) ((Node *)PyTuple_GET_ITEM(in_list, i))->grad = saved_in[i];
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < order.n; i++) {
        Node *n = (Node *)order.item[i];
        n->grad = saved[i];
        Py_DECREF(n);
    }
    PyErr_Restore(type, value, traceback);
    PyMem_RawFree(saved_in);
done:
    PyMem_RawFree(saved);
    list_return(&order, &spare_order);
    Py_DECREF(in_list);
    if (result == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return result;
}

/* ---- parameters in one go: what optimizers do to lists of Values */

static int tell_of_all(const char *how, PyObject *list) { /* of the first: a watcher that minds one minds all */
    return PyList_GET_SIZE(list) && is_value(PyList_GET_ITEM(list, 0)) ? tell(how, PyList_GET_ITEM(list, 0), Py_None, Py_None) : 0;
}

static PyObject *module_zero_grads(PyObject *module, PyObject *values) {
    (void)module;
    if (!PyList_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "zero_grads() takes a list of Values");
        return NULL;
    }
    if (tell_of_all("grad =", values) < 0 || !all_values(values)) return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) ((Node *)PyList_GET_ITEM(values, i))->grad = 0.0;
    Py_RETURN_NONE;
}

static PyObject *module_descend(PyObject *module, PyObject *args) { /* descend(values, lr, weight_decay) */
    (void)module;
    PyObject *values;
    double lr, decay;
    if (!PyArg_ParseTuple(args, "O!dd:descend", &PyList_Type, &values, &lr, &decay) || tell_of_all("data =", values) < 0 ||
        !all_values(values))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        Node *n = (Node *)PyList_GET_ITEM(values, i);
        double g = decay != 0.0 ? n->grad + decay * n->data : n->grad;
        n->data = n->data - lr * g;
    }
    Py_RETURN_NONE;
}

static PyObject *module_is_plain(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(special_mode() == NULL);
}
