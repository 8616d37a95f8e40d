/* A Kernel object: machine code, called from Python without a frame on the way. */

#include "code.h"

#define OTHERS 4

/* ---- Kernel: a callable that goes straight to machine code when its arguments are plain numbers */

typedef struct {
    Layout layout; /* how the numbers lie in the arguments; without a key where there is no such step */
    PyObject *code;
    Point point;
} Step;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *owner;    /* the Python object behind it: called when the fast way does not apply; lends its attributes */
    PyObject *slow;     /* bound method of the owner */
    PyObject *code;     /* the machine code */
    Plan *plan;         /* NULL where the template says more than a plan can */
    Plan *plans;        /* all there ever were */
    PyObject *template; /* how results are arranged: an int is a place in out; tuples, lists and dicts hold them */
    PyObject *given[2]; /* the results of the last two calls: see plan_refill */
    int turn;
    PointFunction function;
    int left; /* whether it may be left in the middle of a run */
    Py_ssize_t n_in, n_out, n_scratch;
    Layout layout; /* without a key where the arguments are at most SMALL plain numbers */
    Layout others[OTHERS]; /* more of them, such as with scalars of NumPy's; without a key from the first one on that is not there */
    uint64_t ints, floats; /* of these, the ones that may be an int, and those that may be a float: bit i for argument i */
    Step steps[2]; /* where Values were captured: a node over them, and the number alone under no_grad */
    PyObject *watch; /* the modules that were read, as they were; NULL where there are none */
} Kernel;

#if PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) /* 3.14: a tuple remembers its hash */
#define REFILL 1
#else
#define REFILL 0
#endif

#define SMALL 64

static Layout layout_hold(Layout l) { /* the same, with references of its own */
    return (Layout){Py_XNewRef(l.key), Py_XNewRef(l.refs), Py_XNewRef(l.names), Py_XNewRef(l.bound)};
}

static void layout_drop(Layout l) {
    Py_XDECREF(l.key);
    Py_XDECREF(l.refs);
    Py_XDECREF(l.names);
    Py_XDECREF(l.bound);
}

static void layout_take(Layout *to, Layout l) { /* in its place; takes the references */
    Layout before = *to;
    *to = l;
    layout_drop(before);
}

/* What Python gives as a layout: (key, refs, names, bound or None). How many numbers there are; -1 with an error set. */
static Py_ssize_t layout_read(PyObject *given, Layout *l) {
    if (!PyArg_ParseTuple(given, "SO!O!O:layout", &l->key, &PyTuple_Type, &l->refs, &PyTuple_Type, &l->names, &l->bound)) return -1;
    if (l->bound == Py_None) l->bound = NULL;
    return layout_check(l->key, l->refs, l->names);
}

static int layout_visit(const Layout *l, visitproc visit, void *arg) {
    Py_VISIT(l->refs);
    Py_VISIT(l->bound);
    return 0;
}

/* One Value from arguments that are laid out as the key says: a training step. NULL without an error: some other call. */
static PyObject *kernel_step(const Step *given, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    Point point = given->point;
    Workspace *space = point_space(&point);
    if (space == NULL) return PyErr_NoMemory();
    Layout layout = layout_hold(given->layout);
    PyObject *result = NULL, *keep = Py_NewRef(given->code);
    Py_INCREF(point.shared);
    if (lay_call(&layout, args, nargs, kwnames, (double *)space->memory)) point_run(&point, space, &result);
    workspace_return(space);
    Py_DECREF(point.shared);
    Py_DECREF(keep);
    layout_drop(layout);
    if (point.op < 0 && result != NULL) Py_SETREF(result, (PyObject *)node_alloc(PyFloat_AS_DOUBLE(result)));
    return result;
}

/* Run the code, and arrange what it gives; NULL without an error where a guard failed. `memory`: for outputs and scratch, if
   there are many. */
static PyObject *kernel_run(Kernel *k, const double *in, double *memory) {
    double out_small[SMALL], *out = memory != NULL ? memory : out_small, *scratch = memory != NULL ? out + k->n_out : NULL;
    int failed = k->left ? point_call(k->function, in, NULL, out, scratch, 1) : k->function(in, NULL, out, scratch) != 0;
    Plan *used = k->plan;
    const int32_t *plan = used ? used->step : NULL;
    PyObject *result = NULL;
    if (failed) return NULL;
    if (REFILL && plan != NULL && *plan < 0) { /* two of them in turn: `r = f(x)` still has the last one */
        int turn = k->turn ^= 1;
        PyObject *old = k->given[turn];
        k->given[turn] = NULL; /* whatever an allocation sets off does not see it half written */
        result = old != NULL ? plan_refill(old, &plan, out) : plan_build(&plan, out);
        if (k->plan == used) Py_XSETREF(k->given[turn], Py_XNewRef(result));
    } else {
        PyObject *template = Py_NewRef(k->template);
        result = plan ? plan_build(&plan, out) : arrange(template, out);
        Py_DECREF(template);
    }
    return result;
}

static inline Py_ssize_t kernel_memory(const Kernel *k) { /* how many doubles beside the inputs are no small matter */
    return k->n_out > SMALL || k->n_scratch ? k->n_out + k->n_scratch + 8 : 0;
}

/* A call whose arguments hold numbers in lists, dicts and objects, or are given by name. */
static PyObject *kernel_laid_out(Kernel *k, const Layout *which, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    double small[SMALL], *in = small;
    Py_ssize_t n_in = k->n_in, others = kernel_memory(k);
    PyObject *result = NULL, *code = Py_NewRef(k->code);
    Layout layout = layout_hold(*which);
    Workspace *space = NULL;
    if (n_in > SMALL || others) in = (space = workspace_take((size_t)(n_in + others) * sizeof(double))) != NULL ? (double *)space->memory : NULL;
    if (in == NULL) PyErr_NoMemory();
    else if (lay_call(&layout, args, nargs, kwnames, in) && k->function != NULL && k->code == code && which->key == layout.key)
        /* That is what it was before: reading attributes may collect garbage, and what that runs may install other code. */
        result = kernel_run(k, in, others ? in + n_in : NULL);
    workspace_return(space);
    layout_drop(layout);
    Py_DECREF(code);
    return result;
}

static PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Kernel *k = (Kernel *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *result = NULL;
    if (k->function == NULL || !computes_plainly() || !structure_unchanged(k->watch)) goto slow;
    if (k->layout.key != NULL) {
        result = kernel_laid_out(k, &k->layout, args, nargs, kwnames);
        if (result != NULL || PyErr_Occurred()) return result;
        goto other;
    }
    if (nargs != k->n_in || kwnames != NULL) goto other;
    double in[SMALL], *memory = NULL;
    uint64_t ints = 0;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (PyFloat_CheckExact(args[i])) in[i] = PyFloat_AS_DOUBLE(args[i]);
        else if (PyLong_CheckExact(args[i]) && whole_number(args[i], &in[i])) ints |= (uint64_t)1 << i;
        else goto other;
    }
    if ((ints & k->ints) != ints || (k->floats | ints) != ~(uint64_t)0) goto other;
    Py_ssize_t others = kernel_memory(k);
    if (others && (memory = PyMem_Malloc((size_t)others * sizeof(double))) == NULL) return PyErr_NoMemory();
    result = kernel_run(k, in, memory);
    if (memory != NULL) PyMem_Free(memory);
    if (result != NULL || PyErr_Occurred()) return result;
    goto slow;
other:
    for (int i = 0; i < OTHERS && k->others[i].key != NULL && k->function != NULL; i++) {
        result = kernel_laid_out(k, &k->others[i], args, nargs, kwnames);
        if (result != NULL || PyErr_Occurred()) return result;
    }
slow:;
    const Step *step = &k->steps[!is_recording()];
    if (step->layout.key != NULL && computes_plainly() && structure_unchanged(k->watch)) {
        PyObject *node = kernel_step(step, args, nargs, kwnames);
        if (node != NULL || PyErr_Occurred()) return node;
    }
    return PyObject_Vectorcall(k->slow, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyObject *owner, *slow;
    if (!PyArg_ParseTuple(args, "OO:Kernel", &owner, &slow)) return NULL;
    Kernel *k = (Kernel *)type->tp_alloc(type, 0);
    if (k == NULL) return NULL;
    k->vectorcall = kernel_vectorcall;
    k->owner = Py_NewRef(owner);
    k->slow = Py_NewRef(slow);
    return (PyObject *)k;
}

static int kernel_traverse(Kernel *k, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(k));
    Py_VISIT(k->owner);
    Py_VISIT(k->slow);
    Py_VISIT(k->template);
    for (int i = 0; i < 2; i++) {
        int found = layout_visit(&k->steps[i].layout, visit, arg);
        if (found) return found;
        Py_VISIT(k->steps[i].point.shared);
    }
    Py_VISIT(k->watch);
    for (int i = 0; i < OTHERS; i++) {
        int found = layout_visit(&k->others[i], visit, arg);
        if (found) return found;
    }
    return layout_visit(&k->layout, visit, arg);
}

static int kernel_clear(Kernel *k) {
    k->function = NULL;
    Py_CLEAR(k->given[0]);
    Py_CLEAR(k->given[1]);
    Py_CLEAR(k->owner);
    Py_CLEAR(k->slow);
    Py_CLEAR(k->code);
    Py_CLEAR(k->template);
    layout_take(&k->layout, (Layout){0});
    for (int i = 0; i < OTHERS; i++) layout_take(&k->others[i], (Layout){0});
    for (int i = 0; i < 2; i++) {
        layout_take(&k->steps[i].layout, (Layout){0});
        Py_CLEAR(k->steps[i].code);
        Py_CLEAR(k->steps[i].point.shared);
    }
    Py_CLEAR(k->watch);
    return 0;
}

static void kernel_dealloc(Kernel *k) {
    PyTypeObject *type = Py_TYPE(k);
    PyObject_GC_UnTrack(k);
    kernel_clear(k);
    for (Plan *plan = k->plans, *before; plan != NULL; plan = before) {
        before = plan->before;
        PyMem_Free(plan);
    }
    type->tp_free(k);
    Py_DECREF(type);
}

/* install(code, layout, outputs, scratch, template, others=()): from now on numbers that are laid out in one of these ways go to
   this code */
static PyObject *kernel_install(Kernel *k, PyObject *args) {
    Py_ssize_t n_in, n_out, n_scratch;
    PyObject *template, *code, *given, *more = NULL;
    Layout layout, others[OTHERS] = {0};
    uint64_t ints = 0, floats = ~(uint64_t)0;
    if (!PyArg_ParseTuple(args, "OO!nnO|O!:install", &code, &PyTuple_Type, &given, &n_out, &n_scratch, &template, &PyTuple_Type, &more)) return NULL;
    const MachineCode *machine = code_of(code, 0);
    if (machine == NULL || (n_in = layout_read(given, &layout)) < 0 || !template_fits(template, n_out)) return NULL;
    for (Py_ssize_t i = 0; more != NULL && i < PyTuple_GET_SIZE(more) && i < OTHERS; i++) {
        Py_ssize_t numbers = PyTuple_Check(PyTuple_GET_ITEM(more, i)) ? layout_read(PyTuple_GET_ITEM(more, i), &others[i]) : -1;
        if (numbers != n_in && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "install(): another layout is of other numbers");
        if (numbers != n_in) return NULL;
    }
    if (n_scratch < 0 || n_scratch > MOST_SCRATCH) return PyErr_Format(PyExc_ValueError, "install(): a count is out of range");
    if (!code_fits(machine, n_in, 0, n_out, n_scratch * 8)) return NULL;
    const char *key = PyBytes_AS_STRING(layout.key) + 1;
    int simple = layout.bound == NULL && PyTuple_GET_SIZE(layout.names) == 0 && n_in <= SMALL && strspn(key, "fi*") == (size_t)n_in &&
                 PyBytes_GET_SIZE(layout.key) == n_in + 2;
    for (Py_ssize_t i = 0; simple && i < n_in; i++) {
        if (key[i] != 'f') ints |= (uint64_t)1 << i;
        if (key[i] == 'i') floats ^= (uint64_t)1 << i;
    }
    Plan *plan;
    if (plan_new(template, k->plans, &plan) < 0) return PyErr_NoMemory();
    if (plan != NULL) k->plans = plan;
    k->function = NULL; /* until all of it is there: what is dropped here may run anything */
    layout_take(&k->layout, simple ? (Layout){0} : layout_hold(layout));
    for (int i = 0; i < OTHERS; i++) layout_take(&k->others[i], layout_hold(others[i]));
    Py_XSETREF(k->template, Py_NewRef(template));
    Py_XSETREF(k->code, Py_NewRef(code));
    Py_CLEAR(k->given[0]); /* arranged otherwise */
    Py_CLEAR(k->given[1]);
    k->plan = plan;
    k->n_in = n_in;
    k->ints = ints;
    k->floats = floats;
    k->n_out = n_out;
    k->n_scratch = n_scratch;
    k->left = machine->left;
    k->function = (PointFunction)machine->address;
    Py_RETURN_TRUE;
}

/* install_step(code, layout, scratch, captured, op): the same for code that gives one node over what was captured; with None for
   the op, under no_grad and without partials */
static PyObject *kernel_install_step(Kernel *k, PyObject *args) {
    Py_ssize_t row = -1;
    PyObject *given, *captured, *op, *code;
    Layout layout;
    Point point = {.n_out = 1};
    const MachineCode *machine;
    if (!PyArg_ParseTuple(args, "OO!nO!O:install_step", &code, &PyTuple_Type, &given, &point.n_scratch, CapturedType, &captured, &op) ||
        (machine = code_of(code, 0)) == NULL || (op != Py_None && (row = row_of(op)) < 0) || (point.n_in = layout_read(given, &layout)) < 0)
        return NULL;
    if (point.n_scratch < 0 || point.n_scratch > MOST_SCRATCH) return PyErr_Format(PyExc_ValueError, "install_step(): a count is out of range");
    point.op = (int)row;
    point.n_params = Py_SIZE(captured);
    point.function = (PointFunction)machine->address;
    if (!code_fits(machine, point.n_in, point.n_params, point_outputs(&point), point.n_scratch * 8)) return NULL;
    point.shared = (Captured *)Py_NewRef(captured);
    point.params = (PyObject **)point.shared->item;
    Step *step = &k->steps[op == Py_None], before = *step;
    *step = (Step){layout_hold(layout), Py_NewRef(code), point};
    layout_drop(before.layout);
    Py_XDECREF(before.code);
    Py_XDECREF(before.point.shared);
    Py_RETURN_NONE;
}

/* look_at(key of a Watch, or None): go to machine code only as long as the modules are as the key says */
static PyObject *kernel_look_at(Kernel *k, PyObject *key) {
    if (key != Py_None && !structure_check(key)) return NULL;
    Py_XSETREF(k->watch, key == Py_None ? NULL : Py_NewRef(key));
    Py_RETURN_NONE;
}

/* forget(): what was installed no longer holds */
static PyObject *kernel_forget(Kernel *k, PyObject *unused) {
    (void)unused;
    k->function = NULL;
    for (int i = 0; i < 2; i++) layout_take(&k->steps[i].layout, (Layout){0});
    Py_CLEAR(k->watch);
    Py_RETURN_NONE;
}

static PyObject *kernel_getattr(PyObject *self, PyObject *name) {
    if (((Kernel *)self)->owner != NULL && (PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                                            PyUnicode_CompareWithASCIIString(name, "__module__") == 0))
        return PyObject_GetAttr(((Kernel *)self)->owner, name); /* those of the function, not of this type */
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    Kernel *k = (Kernel *)self;
    if (k->owner == NULL) {
        PyErr_SetObject(PyExc_AttributeError, name);
        return NULL;
    }
    return PyObject_GetAttr(k->owner, name);
}

static PyObject *kernel_get(PyObject *self, PyObject *instance, PyObject *type) { /* a method, when it is found on a class */
    (void)type;
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *kernel_repr(Kernel *k) { return k->owner ? PyObject_Repr(k->owner) : PyUnicode_FromString("<kernel>"); }
static PyObject *kernel_reduce(Kernel *k, PyObject *unused) { (void)unused; return PyObject_CallMethod(k->owner, "__reduce__", NULL); }
static PyObject *kernel_dir(Kernel *k, PyObject *unused) { (void)unused; return PyObject_Dir(k->owner); }

static PyMethodDef kernel_methods[] = {
    {"install", CAST(kernel_install), METH_VARARGS, NULL},
    {"install_step", CAST(kernel_install_step), METH_VARARGS, NULL},
    {"look_at", CAST(kernel_look_at), METH_O, NULL},
    {"forget", CAST(kernel_forget), METH_NOARGS, NULL},
    {"__reduce__", CAST(kernel_reduce), METH_NOARGS, NULL},
    {"__dir__", CAST(kernel_dir), METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, kernel_getattr},
    {Py_tp_descr_get, kernel_get},
    {Py_tp_repr, kernel_repr},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members},
    {0, NULL},
};

PyType_Spec kernel_spec = {
    .name = "micrograd.compile.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = kernel_slots,
};
