/* The attributes of a Value. */

#include "engine.h"

PyObject *str_backward, *str_label, *str_op;

/* ---- the __dict__: label, an assigned _backward, whatever else the user sets */

static void dict_may_refer(Node *n, PyObject *value) { /* to something that is part of a cycle with it */
    if (value != NULL && PyObject_IS_GC(value)) node_track_late(n);
}

int node_set_dict(Node *n, PyObject *key, PyObject *value) {
    if (n->dict == NULL && (n->dict = PyDict_New()) == NULL) return -1;
    if (PyDict_SetItem(n->dict, key, value) < 0) return -1;
    dict_may_refer(n, value);
    return 0;
}

int node_has_own_backward(Node *n) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!(n->flags & HOOKED) || n->dict == NULL) return 0;
    while (PyDict_Next(n->dict, &at, &key, &value)) /* a lookup might run the __eq__ of some other key */
        if (key == str_backward || (PyUnicode_CheckExact(key) && PyUnicode_Compare(key, str_backward) == 0)) return 1;
    return 0;
}

static PyObject *get_dict(PyObject *self, void *unused) { /* from now on it may change unseen */
    Node *n = (Node *)self;
    if (!(n->flags & EXPOSED)) {
        n->flags |= EXPOSED | HOOKED;
        changes++;
    }
    node_track_late(n);
    return PyObject_GenericGetDict(self, unused);
}

static int set_dict(PyObject *self, PyObject *value, void *unused) {
    if (PyObject_GenericSetDict(self, value, unused) < 0) return -1;
    Node *n = (Node *)self;
    n->flags |= EXPOSED | HOOKED;
    changes++;
    node_track_late(n);
    return 0;
}

int value_setattr(PyObject *self, PyObject *name, PyObject *value) {
    if (PyObject_GenericSetAttr(self, name, value) < 0) return -1;
    Node *n = (Node *)self;
    if (!Py_IS_TYPE(self, ValueType)) { /* perhaps since now: __class__ was assigned */
        changes++;
        node_track_late(n); /* as Python's own dealloc of a subclass expects it */
    }
    if (n->dict == NULL) return 0;
    dict_may_refer(n, value);
    if (PyUnicode_Compare(name, str_backward) == 0 && !(n->flags & EXPOSED)) {
        n->flags |= HOOKED;
        if (!node_has_own_backward(n)) n->flags &= (uint8_t)~HOOKED;
        changes++;
    }
    return 0;
}

/* ---- data and grad */

PyObject *leave(const char *how, PyObject *self) {
    if (special_threads && tell(how, self, Py_None, Py_None) < 0) return NULL;
    return PyFloat_FromDouble(((Node *)self)->data);
}

static PyObject *get_data(PyObject *self, void *unused) { (void)unused; return leave("data", self); }
static PyObject *get_raw_data(Node *self, void *unused) { (void)unused; return PyFloat_FromDouble(self->data); }

static PyObject *get_grad(Node *self, void *unused) {
    (void)unused;
    if (special_threads && tell("grad", (PyObject *)self, Py_None, Py_None) < 0) return NULL;
    look_at_gradients();
    return PyFloat_FromDouble(self->grad);
}

static int new_number(PyObject *value, double *x, const char *name) {
    if (value == NULL) {
        PyErr_Format(PyExc_AttributeError, "%s of a Value cannot be deleted", name);
        return -1;
    }
    return number(value, x);
}

static int set_data(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (special_threads && tell("data =", (PyObject *)self, Py_None, Py_None) < 0) return -1;
    double x;
    if (new_number(value, &x, "data") < 0) return -1;
    self->data = x;
    data_changes++;
    return 0;
}

static int set_grad(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (special_threads && tell("grad =", (PyObject *)self, Py_None, Py_None) < 0) return -1;
    double x;
    if (new_number(value, &x, "grad") < 0) return -1;
    look_at_gradients();
    self->grad = x;
    return 0;
}

/* ---- the inputs */

static Block *block_of(PyObject *children, PyObject *partials) { /* both tuples, or partials NULL; references are taken */
    Py_ssize_t k = PyTuple_GET_SIZE(children);
    if (partials != NULL && PyTuple_GET_SIZE(partials) != k) {
        PyErr_Format(PyExc_ValueError, "%zd local derivatives for %zd inputs: each needs one", PyTuple_GET_SIZE(partials), k);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *child = PyTuple_GET_ITEM(children, i);
        if (!is_value(child)) return PyErr_Format(PyExc_TypeError, "_children are Values, not %s: %R", type_name(child), child), NULL;
    }
    Block *block = block_new(k);
    if (block == NULL) return NULL;
    for (Py_ssize_t i = 0; i < k; i++) {
        block->in[i] = (Node *)PyTuple_GET_ITEM(children, i);
        block->partial[i] = 0.0;
        if (partials != NULL && number(PyTuple_GET_ITEM(partials, i), &block->partial[i]) < 0) {
            PyMem_Free(block);
            return NULL;
        }
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        Py_INCREF(block->in[i]);
        block->in[i]->flags |= CONSUMED;
    }
    return block;
}

int node_take_inputs(Node *n, PyObject *children, PyObject *partials) {
    PyObject *all = PySequence_Tuple(children);
    PyObject *slopes = all && partials ? PySequence_Tuple(partials) : NULL;
    Block *block = all && (slopes || !partials) ? block_of(all, slopes) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(slopes);
    if (block == NULL) return -1;
    int fresh = is_leaf(n) && !(n->flags & CONSUMED), track = 0;
    node_drop_inputs(n);
    changes++;
    if (block->n == 0) {
        PyMem_Free(block);
        return 0;
    }
    n->op = partials ? OP_GIVEN : OP_USER;
    n->block = block;
    n->flags |= MANY;
    for (Py_ssize_t i = 0; i < block->n; i++) track |= block->in[i]->flags & TRACKED;
    if (track || !fresh) node_track_late(n); /* an old node with new inputs may be part of a cycle */
    return 0;
}

static PyObject *get_prev(Node *self, void *unused) {
    (void)unused;
    Py_ssize_t k = input_count(self);
    PyObject *all = PyTuple_New(k);
    if (all == NULL) return NULL;
    if (input_count(self) != k) { /* the collector ran, and somebody has assigned _prev */
        Py_DECREF(all);
        return get_prev(self, unused);
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        Node **in = inputs(self) + i;
        if (*in == NULL) { /* a plain number: show it as a leaf, the same one each time */
            Node *leaf = node_alloc(input_partials(self)[i]);
            if (leaf == NULL) {
                Py_DECREF(all);
                return NULL;
            }
            stamp_scope(leaf, scope_of(self));
            leaf->flags |= CONSUMED;
            *in = (Node *)((uintptr_t)leaf | 1);
        }
        PyTuple_SET_ITEM(all, i, Py_NewRef((PyObject *)pointer(*in)));
    }
    return all;
}

static int set_prev(Node *self, PyObject *value, void *unused) { /* a node made by hand from now on */
    (void)unused;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_prev of a Value cannot be deleted");
        return -1;
    }
    PyObject *op = PyObject_GetAttr((PyObject *)self, str_op); /* it stays */
    if (op == NULL) return -1;
    int failed = PyUnicode_Check(op) && PyUnicode_GET_LENGTH(op) > 0 && node_set_dict(self, str_op, op) < 0;
    Py_DECREF(op);
    return failed ? -1 : node_take_inputs(self, value, NULL);
}

static PyObject *get_partials(Node *self, void *unused) {
    (void)unused;
    Py_ssize_t k = self->op == OP_USER ? 0 : input_count(self);
    PyObject *all = PyTuple_New(k);
    if (all == NULL) return NULL;
    if (k != (self->op == OP_USER ? 0 : input_count(self))) {
        Py_DECREF(all);
        return get_partials(self, unused);
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *p = has_gradient(inputs(self)[i]) ? PyFloat_FromDouble(input_partials(self)[i]) : Py_NewRef(Py_None);
        if (p == NULL) {
            Py_DECREF(all);
            return NULL;
        }
        PyTuple_SET_ITEM(all, i, p);
    }
    return all;
}

/* ---- the class that a Value of a trace stands for: tape/kinds.py */

PyObject *class_of, *class_of_object; /* whom to ask, NULL for nobody; and what object itself has for __class__ */

static PyObject *get_class(PyObject *self, void *unused) {
    (void)unused;
    if (class_of == NULL || !special_threads || !thread_mode.trace || !((Node *)self)->trace) return Py_NewRef((PyObject *)Py_TYPE(self));
    PyObject *ask = Py_NewRef(class_of), *found = PyObject_CallOneArg(ask, self);
    Py_DECREF(ask);
    return found;
}

static int set_class(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    return Py_TYPE(class_of_object)->tp_descr_set(class_of_object, self, value);
}

/* ---- where it came from */

static PyObject *get_op(Node *self, void *unused) {
    (void)unused;
    if (self->dict != NULL) {
        PyObject *dict = Py_NewRef(self->dict); /* the __eq__ of some key may put another in its place */
        PyObject *given = Py_XNewRef(PyDict_GetItemWithError(dict, str_op));
        Py_DECREF(dict);
        if (given != NULL || PyErr_Occurred()) return given;
    }
    if (self->op >= OP_GIVEN) return PyUnicode_FromString("");
    return PyObject_GetAttrString(PyList_GET_ITEM(op_rows, self->op), "symbol");
}

static int set_op(Node *self, PyObject *value, void *unused) {
    (void)unused;
    if (value == NULL || !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "_op is a str");
        return -1;
    }
    return node_set_dict(self, str_op, value);
}

static PyObject *get_rule(Node *self, void *unused) {
    (void)unused;
    return Py_NewRef(self->op >= OP_GIVEN ? Py_None : PyList_GET_ITEM(op_rows, self->op));
}

static PyObject *get_trace(Node *self, void *unused) { (void)unused; return PyLong_FromLong(self->trace); }
static PyObject *get_scope(Node *self, void *unused) { (void)unused; return PyLong_FromUnsignedLong(scope_of(self)); }

PyGetSetDef value_getset[] = {
    {"data", get_data, CAST(set_data), "the number", NULL},
    {"_data", CAST(get_raw_data), NULL, "the number, unseen by a watcher", NULL},
    {"grad", CAST(get_grad), CAST(set_grad), "d(root)/d(self), once backward() has been called on a root", NULL},
    {"_prev", CAST(get_prev), CAST(set_prev), "the inputs in operand order: a*a has two", NULL},
    {"_partials", CAST(get_partials), NULL, "d(self)/d(input), one per input; None for a plain number", NULL},
    {"_op", CAST(get_op), CAST(set_op), "the op that made this node", NULL},
    {"_rule", CAST(get_rule), NULL, "the row of the table; None for a leaf and for a node made by hand", NULL},
    {"_trace", CAST(get_trace), NULL, "which trace made this node", NULL},
    {"_scope", CAST(get_scope), NULL, "which nn module made this node", NULL},
    {"__dict__", get_dict, set_dict, NULL, NULL},
    {"__class__", get_class, set_class, "the class; of a Value in a trace, that of the number it stands for", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
