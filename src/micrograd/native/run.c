/* A run of a function that C differentiates, as Python sees it meanwhile: tape/trace.py follows it, tape/kinds.py asks for classes. */

#include "eager.h"

static PyTypeObject *RunType;
static _Thread_local Run *running;

static unsigned next_serial(void) { /* a node has two bytes for it, and two numbers are taken */
    static unsigned serials;
    return serials++ % (ELSEWHERE - 2) + 1;
}

Run *run_new(PyObject *f, PyObject *told) { /* called by the code of the frame that is running now */
    Run *r = PyObject_New(Run, RunType);
    if (r == NULL) return NULL;
    r->f = Py_NewRef(f);
    r->told = Py_NewRef(told);
    r->frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    r->refused = r->kinds = NULL;
    r->arguments = NULL;
    r->inputs = NULL;
    r->outer = NULL;
    r->serial = next_serial();
    return r;
}

void run_end(Run *r) { /* it tells nothing any more */
    r->arguments = NULL;
    r->inputs = NULL;
    Py_CLEAR(r->frame);
    Py_CLEAR(r->refused); /* an error whose traceback has the frame of `told`, and so this run, which no collector sees */
    Py_CLEAR(r->kinds);
    Py_DECREF(r);
}

void run_begin(Run *r, Shape *arguments, Node **inputs) {
    r->arguments = arguments;
    r->inputs = inputs;
    r->outer = running;
    running = r;
    enter_trace(r->serial, (PyObject *)r);
}

void run_leave(Run *r) {
    leave_trace();
    running = r->outer;
}

static PyObject *module_next_trace(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromUnsignedLong(next_serial());
}

static PyObject *module_running(PyObject *module, PyObject *serial) {
    (void)module;
    unsigned long wanted = PyLong_AsUnsignedLong(serial);
    if (PyErr_Occurred()) return NULL;
    for (Run *r = running; r != NULL; r = r->outer)
        if (r->serial == wanted) return Py_NewRef(r);
    Py_RETURN_NONE;
}

static PyObject *module_set_staged(PyObject *module, PyObject *on) {
    (void)module;
    int now = PyObject_IsTrue(on);
    if (now < 0) return NULL;
    thread_mode.staged = now;
    Py_RETURN_NONE;
}

static PyObject *list_of(PyObject *const *items, Py_ssize_t n) {
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) PyList_SET_ITEM(list, i, Py_NewRef(items[i]));
    return list;
}

static PyObject *run_inputs(Run *r, void *unused) {
    (void)unused;
    return list_of((PyObject *const *)r->inputs, r->arguments ? r->arguments->n : 0);
}

static PyObject *run_origins(Run *r, void *unused) {
    (void)unused;
    return list_of(r->arguments ? r->arguments->leaf : NULL, r->arguments ? r->arguments->n : 0);
}

static PyObject *run_call(Run *r, PyObject *args, PyObject *keywords) { /* as a watcher */
    if (r->told == NULL || PyTuple_GET_SIZE(args) != 4 || (keywords != NULL && PyDict_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "a run is told of four things while it is under way");
    PyObject *told = Py_NewRef(r->told), *given[5] = {(PyObject *)r};
    for (int i = 0; i < 4; i++) given[i + 1] = PyTuple_GET_ITEM(args, i);
    PyObject *answer = PyObject_Vectorcall(told, given, 5, NULL);
    Py_DECREF(told);
    return answer;
}

static void run_dealloc(Run *r) {
    Py_XDECREF(r->f);
    Py_XDECREF(r->told);
    Py_XDECREF(r->frame);
    Py_XDECREF(r->refused);
    Py_XDECREF(r->kinds);
    PyTypeObject *type = Py_TYPE(r);
    PyObject_Free(r);
    Py_DECREF(type);
}

static PyMemberDef run_members[] = {
    {"f", T_OBJECT, offsetof(Run, f), READONLY, NULL},
    {"frame", T_OBJECT, offsetof(Run, frame), READONLY, NULL},
    {"refused", T_OBJECT, offsetof(Run, refused), 0, NULL},
    {"serial", T_UINT, offsetof(Run, serial), READONLY, NULL},
    {"kinds", T_OBJECT, offsetof(Run, kinds), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef run_getset[] = {
    {"inputs", (getter)run_inputs, NULL, NULL, NULL},
    {"origins", (getter)run_origins, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot run_slots[] = {
    {Py_tp_dealloc, run_dealloc}, {Py_tp_call, run_call}, {Py_tp_members, run_members}, {Py_tp_getset, run_getset}, {0, NULL},
};

static PyType_Spec run_spec = {
    .name = "micrograd.engine.EagerRun",
    .basicsize = sizeof(Run),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = run_slots,
};

static PyMethodDef run_methods[] = {
    {"next_trace", module_next_trace, METH_NOARGS, "next_trace() -> a number for the nodes of a trace"},
    {"running", module_running, METH_O, "running(number) -> the run of this thread with that number that C has begun, or None"},
    {"set_arrays", module_set_arrays, METH_VARARGS, "set_arrays(ndarray, empty, carrying): the classes and the maker of arrays"},
    {"set_staged", module_set_staged, METH_O, "set_staged(on): this thread interprets functions, and runs none"},
    {NULL, NULL, 0, NULL},
};

int run_init(PyObject *module) {
    return add_type(module, "EagerRun", &run_spec, &RunType) < 0 || PyModule_AddFunctions(module, run_methods) < 0 ? -1 : 0;
}
