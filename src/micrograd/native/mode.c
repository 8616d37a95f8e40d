/* What the current thread is doing: no_grad, the nn module that runs, a trace, who watches (observed.py has the same in Python). */

#include "eager.h"

_Thread_local Mode thread_mode;
int special_threads, tracing_threads;

static void mode_changed(void) {
    Mode *m = &thread_mode;
    int special = m->recording_off || m->scope || m->trace || m->watcher || m->maker;
    special_threads += special - m->special;
    m->special = special;
}

/* What a function runs in that is differentiated at one point, in a thread that does nothing special: see eager.c. */
void enter_trace(unsigned trace, PyObject *watcher) {
    Mode *m = &thread_mode;
    m->trace = (uint16_t)trace;
    m->watcher = Py_NewRef(watcher);
    m->only_differences = 1;
    tracing_threads++;
    mode_changed();
}

void leave_trace(void) { /* whatever the function has left behind, the thread does nothing special again */
    Mode *m = &thread_mode;
    PyObject *old[] = {m->watcher, m->maker};
    tracing_threads -= m->trace != 0;
    m->trace = 0;
    m->watcher = m->maker = NULL;
    m->recording_off = m->only_differences = 0;
    mode_changed();
    Py_XDECREF(old[0]);
    Py_XDECREF(old[1]);
}

static PyObject *ask_watcher(Mode *m, const char *how, PyObject *v, PyObject *other, PyObject *result) {
    PyObject *watcher = Py_NewRef(m->watcher); /* it may be taken off while it runs */
    PyObject *answer = PyObject_CallFunction(watcher, "sOOO", how, v, other, result);
    Py_DECREF(watcher);
    return answer;
}

PyObject *answer_of_watcher(const char *how, PyObject *v, PyObject *other) {
    Mode *m = special_mode();
    if (m == NULL || m->watcher == NULL) Py_RETURN_NONE;
    return ask_watcher(m, how, v, other, Py_None);
}

int tell(const char *how, PyObject *v, PyObject *other, PyObject *result) {
    Mode *m = special_mode();
    if (m == NULL || m->watcher == NULL || m->only_differences) return 0;
    PyObject *answer = ask_watcher(m, how, v, other, result);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

int tell_difference(const char *how, PyObject *v, PyObject *other) {
    PyObject *answer = answer_of_watcher(how, v, other);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

int is_watched(void) {
    const Mode *m = special_mode();
    return m != NULL && m->watcher != NULL && !m->only_differences;
}

int only_differences(void) {
    const Mode *m = special_mode();
    return m != NULL && m->only_differences;
}

int is_of_a_trace(Node *n) {
    Node **in = inputs(n);
    for (Py_ssize_t i = 0, k = input_count(n); i < k; i++)
        if (has_gradient(in[i]) && in[i]->trace) return 1;
    return 0;
}

PyObject *finish(Node *out) {
    Mode *m = special_mode();
    if (tracing_threads && (m == NULL || m->trace == 0) && is_of_a_trace(out)) out->trace = ELSEWHERE;
    if (m == NULL) return (PyObject *)out;
    stamp_scope(out, m->scope);
    if (m->trace) out->trace = m->trace;
    if (m->maker != NULL) {
        PyObject *maker = Py_NewRef(m->maker), *told = PyObject_CallOneArg(maker, (PyObject *)out);
        Py_DECREF(maker);
        if (told == NULL) {
            Py_DECREF(out);
            return NULL;
        }
        Py_DECREF(told);
    }
    return (PyObject *)out;
}

static PyObject *module_set_recording(PyObject *module, PyObject *on) {
    (void)module;
    int before = !thread_mode.recording_off;
    if (!PyBool_Check(on)) return PyErr_Format(PyExc_TypeError, "set_recording() takes True or False, not %s", type_name(on));
    thread_mode.recording_off = on == Py_False;
    mode_changed();
    return PyBool_FromLong(before);
}

static PyObject *module_is_recording(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(!thread_mode.recording_off);
}

/* ---- with no_grad(): in C, because Ctrl-C in the middle of a method in Python would leave the thread without recording */

typedef struct {
    PyObject_HEAD PyObject *before; /* a list: whether each block that is open was entered while nodes were recorded */
    Mode *entered;                  /* of the thread that has entered it last */
} NoGrad;

static PyObject *no_grad_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (PyTuple_GET_SIZE(args) > 0 || (keywords != NULL && PyDict_GET_SIZE(keywords) > 0)) {
        PyErr_SetString(PyExc_TypeError, "no_grad() takes no arguments: with no_grad(): for a block, @no_grad() for a function");
        return NULL;
    }
    NoGrad *self = (NoGrad *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->before = PyList_New(0);
    if (self->before == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

/* An exception between the call of __enter__ and the first line of the block, which Ctrl-C raises there since Python 3.14, is no
   longer that of the call and not yet that of the block: nobody calls __exit__. The object goes while the exception passes. */
static void no_grad_dealloc(NoGrad *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->before != NULL && PyList_GET_SIZE(self->before) > 0 && self->entered == &thread_mode && PyErr_Occurred()) {
        thread_mode.recording_off = PyList_GET_ITEM(self->before, 0) == Py_False;
        mode_changed();
    }
    Py_XDECREF(self->before);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *no_grad_enter(NoGrad *self, PyObject *unused) {
    (void)unused;
    if (tell("no_grad()", Py_None, Py_None, Py_None) < 0) return NULL; /* a trace takes its tape from the nodes that are recorded */
    if (PyList_Append(self->before, thread_mode.recording_off ? Py_False : Py_True) < 0) return NULL;
    self->entered = &thread_mode;
    thread_mode.recording_off = 1;
    mode_changed();
    Py_RETURN_NONE;
}

static PyObject *no_grad_exit(NoGrad *self, PyObject *unused) {
    (void)unused;
    Py_ssize_t last = PyList_GET_SIZE(self->before) - 1;
    if (last < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no_grad() is left, but was not entered");
        return NULL;
    }
    thread_mode.recording_off = PyList_GET_ITEM(self->before, last) == Py_False;
    mode_changed();
    if (PyList_SetSlice(self->before, last, last + 1, NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef no_grad_methods[] = {
    {"__enter__", CAST(no_grad_enter), METH_NOARGS, "Record no nodes from here on, in this thread."},
    {"__exit__", CAST(no_grad_exit), METH_VARARGS, "Record nodes again, if they were recorded before."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot no_grad_slots[] = {
    {Py_tp_doc, "The block of no_grad."},
    {Py_tp_new, no_grad_new},
    {Py_tp_dealloc, no_grad_dealloc},
    {Py_tp_methods, no_grad_methods},
    {0, NULL},
};

PyType_Spec no_grad_spec = {
    .name = "micrograd.engine.NoGrad",
    .basicsize = sizeof(NoGrad),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = no_grad_slots,
};

/* ---- scopes, traces, watchers */

int enter_scope(unsigned long scope) {
    if (scope > MAX_SCOPE) {
        PyErr_Format(PyExc_OverflowError, "a scope is a number up to %u", MAX_SCOPE);
        return -1;
    }
    thread_mode.scope = (uint32_t)scope;
    mode_changed();
    return 0;
}

static PyObject *module_set_scope(PyObject *module, PyObject *scope) {
    (void)module;
    unsigned long want = PyLong_AsUnsignedLong(scope), before = thread_mode.scope;
    if (PyErr_Occurred() || enter_scope(want) < 0) return NULL;
    return PyLong_FromUnsignedLong(before);
}

static PyObject *module_set_trace(PyObject *module, PyObject *trace) {
    (void)module;
    unsigned long want = PyLong_AsUnsignedLong(trace), before = thread_mode.trace;
    if (PyErr_Occurred()) return NULL;
    if (want >= ELSEWHERE) return PyErr_Format(PyExc_OverflowError, "a trace is a number below %d", ELSEWHERE);
    thread_mode.trace = (uint16_t)want;
    tracing_threads += (want != 0) - (before != 0);
    mode_changed();
    return PyLong_FromUnsignedLong(before);
}

static int is_function_or_none(PyObject *o) {
    if (o == Py_None || PyCallable_Check(o)) return 1;
    PyErr_Format(PyExc_TypeError, "expected a function or None, not %s", type_name(o));
    return 0;
}

static PyObject *module_set_watch(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *watcher, *maker;
    int only_differences = 0;
    if (!PyArg_ParseTuple(args, "OO|p:set_watch", &watcher, &maker, &only_differences) || !is_function_or_none(watcher) || !is_function_or_none(maker)) return NULL;
    Mode *m = &thread_mode;
    PyObject *old[] = {m->watcher, m->maker}, *differences = m->only_differences ? Py_True : Py_False;
    m->watcher = watcher == Py_None ? NULL : Py_NewRef(watcher);
    m->maker = maker == Py_None ? NULL : Py_NewRef(maker);
    m->only_differences = only_differences;
    mode_changed(); /* before the answer is made, which may fail: in a `finally`, nothing is left as it was */
    PyObject *before = PyTuple_Pack(3, old[0] ? old[0] : Py_None, old[1] ? old[1] : Py_None, differences);
    Py_XDECREF(old[0]);
    Py_XDECREF(old[1]);
    return before;
}

static PyObject *module_set_class_of(PyObject *module, PyObject *function) {
    (void)module;
    if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "set_class_of() takes a function, not %s", type_name(function));
    Py_XSETREF(class_of, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *module_is_plain(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyBool_FromLong(special_mode() == NULL);
}

static int add_scope(Node *n, void *set) {
    if (scope_of(n) == 0) return 0;
    PyObject *scope = PyLong_FromUnsignedLong(scope_of(n));
    int failed = scope == NULL || PySet_Add(set, scope) < 0;
    Py_XDECREF(scope);
    return failed;
}

static PyObject *module_scopes_in_use(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *set = PySet_New(NULL);
    if (set != NULL && for_each_node(add_scope, set) < 0) Py_CLEAR(set);
    return set;
}

PyMethodDef mode_methods[] = {
    {"set_recording", module_set_recording, METH_O, "set_recording(on) -> what it was, in this thread"},
    {"is_recording", module_is_recording, METH_NOARGS, "is_recording(): whether this thread records nodes"},
    {"set_scope", module_set_scope, METH_O, "set_scope(number) -> what it was, in this thread"},
    {"set_trace", module_set_trace, METH_O, "set_trace(number) -> what it was, in this thread"},
    {"set_watch", module_set_watch, METH_VARARGS, "set_watch(watcher, maker, only_differences=False) -> what they were, in this thread"},
    {"set_class_of", module_set_class_of, METH_O, "set_class_of(function): it answers for the __class__ of a Value in a trace"},
    {"is_plain", module_is_plain, METH_NOARGS, "is_plain(): this thread is inside no trace, no_grad, scope or watch"},
    {"scopes_in_use", module_scopes_in_use, METH_NOARGS, "scopes_in_use() -> the scopes of all Values (but of subclasses)"},
    {NULL, NULL, 0, NULL},
};
