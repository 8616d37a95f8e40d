/* Steps (floor, x < y): no gradient passes them, so that a sweep leaves out the nodes that lie behind steps alone. There the
   cotangent 0 would meet slopes that may be infinite. engine.py has the same as behind_steps. */

#include "engine.h"
#include "ops.h"

const unsigned char op_steps[OP_COUNT] = OP_STEPS_ROWS;

void push_past_steps(Node *n) { /* not even 0 times an infinite slope */
    Node **in = inputs(n);
    unsigned steps = op_steps[n->op];
    for (Py_ssize_t i = 0; i < input_count(n); i++)
        if (!(steps >> i & 1) && has_gradient(in[i])) in[i]->grad += input_partials(n)[i] * n->grad;
}

static int class_has_own_backward(PyTypeObject *type) { /* of a subclass; runs no Python code */
    PyObject *classes = type->tp_mro;
    for (Py_ssize_t i = 0; classes != NULL && i < PyTuple_GET_SIZE(classes); i++) {
        PyTypeObject *c = (PyTypeObject *)PyTuple_GET_ITEM(classes, i);
        if (c == ValueType) return 0;
        if (c->tp_dict != NULL && PyDict_GetItem(c->tp_dict, str_backward) != NULL) return 1;
    }
    return 0;
}

static unsigned steps_of(Node *n) { /* a bit for each input to which nothing passes; a hand-written _backward may pass it on */
    unsigned steps = n->op < OP_COUNT ? op_steps[n->op] : 0;
    if (steps == 0 || !has_hook(n)) return steps;
    return node_has_own_backward(n) || class_has_own_backward(Py_TYPE(n)) ? 0 : steps;
}

int hides_nodes(Node *n) {
    unsigned steps = steps_of(n);
    for (Py_ssize_t i = 0; steps >> i; i++) {
        Node *in = inputs(n)[i];
        if ((steps >> i & 1) && has_gradient(in) && !is_leaf(in)) return 1;
    }
    return 0;
}

/* On entry the nodes that are known to be reached have no mark, and all others have one; on return none has. */
void tag_hidden(List *order) {
    for (Py_ssize_t k = order->n - 1; k >= 0; k--) {
        Node *n = (Node *)order->item[k], **in = inputs(n);
        if (n->flags & VISITED) {
            n->flags &= (uint8_t)~VISITED;
            order->item[k] |= 1;
            continue;
        }
        unsigned steps = steps_of(n);
        for (Py_ssize_t i = 0, count = input_count(n); i < count; i++)
            if (!(i < 8 && (steps >> i & 1)) && has_gradient(in[i])) in[i]->flags &= (uint8_t)~VISITED;
    }
}

/* Leave out the nodes that lie behind steps alone; all after item i were reached, and pushed. Gives the new place of item i.
   `marked`: whether the others still have their mark, or a signal handler has let another sweep take it off. */
Py_ssize_t leave_out_hidden(List *order, Py_ssize_t i, int marked) {
    Py_ssize_t after = order->n - i, kept = 0;
    for (Py_ssize_t k = 0; !marked && k < i; k++) ((Node *)order->item[k])->flags |= VISITED;
    tag_hidden(order);
    for (Py_ssize_t k = 0; k < order->n; k++)
        if (!(order->item[k] & 1)) order->item[kept++] = order->item[k];
    order->n = kept;
    return kept - after;
}
