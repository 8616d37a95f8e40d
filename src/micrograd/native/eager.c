/* grad, value_and_grad and jacobian of a function at one point, for what backward() costs: the arguments become Values, the function
   runs as in a trace (tape/trace.py), the sweeps of derivatives.c go over the graph, and the numbers are arranged as the arguments.

   That is all there is to it where the arguments are numbers in lists, tuples, dicts and arrays, nobody watches this thread, and the function
   returns numbers. Everything else is handed to Python: before the function has run by `slow`, which does the whole call; afterwards
   by `finish` and `failed`, which get the run, since the function must not run twice. */

#include "eager.h"

/* ---- the object that is called */

enum { GRAD, VALUE_AND_GRAD, JACOBIAN, JACFWD, JACREV };
#define MOST_ARGNUMS 8

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *slow, *f, *hooks; /* hooks: see the enum below; NULL where all calls are slow */
    PyObject *ends;             /* the op that ends all sweeps */
    PyObject *known;            /* the code of f that was looked at */
    int how, single, aux;
    Py_ssize_t n, argnum[MOST_ARGNUMS];
} Derivative;

enum { LOOK, TOLD, FAILED, FINISH, FORGET, NUMBERS, HOOKS };

static PyObject *hook(Derivative *d, int which) { return PyTuple_GET_ITEM(d->hooks, which); }

static PyObject *code_of(PyObject *f) { /* borrowed; f itself where its code cannot be another one */
    if (PyMethod_Check(f)) f = PyMethod_GET_FUNCTION(f);
    return PyFunction_Check(f) ? PyFunction_GET_CODE(f) : f;
}

/* 1: this function may run at once; 0: it is left to Python, -1 with an error. */
static int is_known(Derivative *d) {
    PyObject *code = code_of(d->f);
    if (code == d->known) return 1;
    code = Py_NewRef(code);
    PyObject *answer = PyObject_CallOneArg(hook(d, LOOK), d->f);
    int known = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (known > 0) Py_XSETREF(d->known, code);
    else Py_DECREF(code);
    return known;
}

typedef struct { /* one call */
    Derivative *d;
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;
    Shape shape; /* of the wanted arguments, one after the other */
    Node **inputs;
    Node *few[8];
    Run *run;
} Call;

static int take_arguments(Call *c) { /* as shape_of */
    Py_ssize_t before = -1;
    for (Py_ssize_t j = 0; j < c->d->n; j++) {
        Py_ssize_t k = c->d->argnum[j];
        if (k < 0) k += c->nargs;
        if (k <= before || k >= c->nargs) return 0; /* not there, or in another order */
        before = k;
        int got = shape_of(&c->shape, c->args[k], 0, 0);
        if (got <= 0) return got;
    }
    return 1;
}

static int make_inputs(Call *c) {
    Py_ssize_t n = c->shape.n;
    c->inputs = n <= 8 ? c->few : PyMem_RawMalloc((size_t)n * sizeof *c->inputs);
    if (c->inputs == NULL) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = c->shape.leaf[i];
        double number = PyFloat_Check(x) ? PyFloat_AS_DOUBLE(x) : PyLong_AsDouble(x);
        int strange = number == -1.0 && PyErr_Occurred(); /* no double is that large */
        Node *v = strange ? NULL : node_alloc(number);
        if (v == NULL) {
            while (i > 0) Py_DECREF(c->inputs[--i]);
            if (c->inputs != c->few) PyMem_RawFree(c->inputs);
            c->inputs = NULL;
            return strange ? 0 : -1;
        }
        v->trace = (uint16_t)c->run->serial;
        c->inputs[i] = v;
    }
    return 1;
}

/* The arguments of this call with `leaf` in place of the numbers in the wanted ones: values[0] and on. */
static int fill(const Call *c, PyObject *const *leaf, PyObject **values) {
    Place p = {.shape = &c->shape, .number = shape_object, .objects = leaf, .of_values = leaf != c->shape.leaf};
    Py_ssize_t all = c->nargs + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
    for (Py_ssize_t i = 0; i < all; i++) values[i] = c->args[i];
    for (Py_ssize_t j = 0; j < c->d->n; j++) {
        Py_ssize_t k = c->d->argnum[j];
        if (k < 0) k += c->nargs;
        values[k] = build(&p);
        if (values[k] == NULL) {
            while (j-- > 0) Py_DECREF(values[c->d->argnum[j] < 0 ? c->d->argnum[j] + c->nargs : c->d->argnum[j]]);
            return -1;
        }
    }
    return 0;
}

static void empty(const Call *c, PyObject **values) {
    for (Py_ssize_t j = 0; j < c->d->n; j++) Py_DECREF(values[c->d->argnum[j] < 0 ? c->d->argnum[j] + c->nargs : c->d->argnum[j]]);
}

#define MOST_ARGS 32

static PyObject *run_function(Call *c) {
    PyObject *values[MOST_ARGS + 1], **given = values + 1; /* one before them: PY_VECTORCALL_ARGUMENTS_OFFSET */
    Run *r = c->run;
    if (fill(c, (PyObject *const *)c->inputs, given) < 0) return NULL;
    run_begin(r, &c->shape, c->inputs);
    PyObject *f = Py_NewRef(c->d->f);
    PyObject *result = PyObject_Vectorcall(f, given, (size_t)c->nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, c->kwnames);
    run_leave(r);
    Py_DECREF(f);
    if (r->kinds != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *number = PyLong_FromUnsignedLong(r->serial), *done = number ? PyObject_CallOneArg(hook(c->d, FORGET), number) : NULL;
        if (done == NULL) PyErr_Clear();
        Py_XDECREF(done);
        Py_XDECREF(number);
        PyErr_Restore(type, value, traceback);
    }
    empty(c, given);
    return result;
}

/* Ask Python to go on: hook(derivative, args, kwargs, run, x), with the arguments as they were. */
static PyObject *go_on(Call *c, int which, PyObject *x) {
    PyObject *values[MOST_ARGS], *answer = NULL;
    if (fill(c, c->shape.leaf, values) < 0) return NULL;
    PyObject *args = PyTuple_New(c->nargs), *kwargs = PyDict_New();
    if (args != NULL && kwargs != NULL) {
        int failed = 0;
        for (Py_ssize_t i = 0; i < c->nargs; i++) PyTuple_SET_ITEM(args, i, Py_NewRef(values[i]));
        for (Py_ssize_t i = 0; c->kwnames != NULL && i < PyTuple_GET_SIZE(c->kwnames) && !failed; i++)
            failed = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(c->kwnames, i), c->args[c->nargs + i]) < 0;
        PyObject *given[] = {(PyObject *)c->d, args, kwargs, (PyObject *)c->run, x};
        if (!failed) answer = PyObject_Vectorcall(hook(c->d, which), given, 5, NULL);
    }
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    empty(c, values);
    return answer;
}

/* The function has raised an exception, or has caught one of the trace's: what is raised in its place. No error is set where the
   function has imported what takes Values from now on, so that it is run again. */
static void raise_clearer(Call *c, PyObject *result) {
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    if (result == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return; /* as it is */
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback != NULL) PyException_SetTraceback(value, traceback);
    }
    PyObject *clearer = go_on(c, FAILED, value ? value : Py_None);
    if (clearer == NULL) { /* another error on the way */
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else if (clearer == Py_None) {
        PyErr_Restore(type, value, traceback);
        Py_DECREF(clearer);
    } else {
        if (clearer != Py_NotImplemented) PyErr_SetObject((PyObject *)Py_TYPE(clearer), clearer);
        Py_DECREF(clearer);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
}

static PyObject *gradient_at(const Call *c, const double *slopes) { /* as the wanted arguments are */
    Place p = {.shape = &c->shape, .number = shape_float, .numbers = slopes};
    if (c->d->single) return build(&p);
    PyObject *all = PyTuple_New(c->d->n);
    for (Py_ssize_t j = 0; all != NULL && j < c->d->n; j++) {
        PyObject *part = build(&p);
        if (part == NULL) Py_CLEAR(all);
        else PyTuple_SET_ITEM(all, j, part);
    }
    return all;
}

typedef struct {
    Place place;
    const Call *call;
} Rows;

static PyObject *a_row(Place *p) {
    const Call *c = ((Rows *)p)->call;
    return gradient_at(c, p->numbers + p->leaf++ * c->shape.n);
}

static int number_of(PyObject *x, double *to) { /* a result: a Value, a float or an int */
    *to = is_value(x) ? ((Node *)x)->data : PyFloat_Check(x) ? PyFloat_AS_DOUBLE(x) : PyLong_AsDouble(x);
    return *to == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* (result, aux) of a function -> what the transform gives, (derivatives, aux) or ((value, aux), gradient). Takes `found`. */
static PyObject *with_aux(const Call *c, PyObject *found, PyObject *aux) {
    if (found == NULL) return NULL;
    aux = PyObject_CallOneArg(hook(c->d, NUMBERS), aux); /* with the numbers of Values in their place */
    PyObject *both = aux == NULL                  ? NULL
                     : c->d->how == VALUE_AND_GRAD ? Py_BuildValue("(OO)O", PyTuple_GET_ITEM(found, 0), aux, PyTuple_GET_ITEM(found, 1))
                                                   : PyTuple_Pack(2, found, aux);
    Py_XDECREF(aux);
    Py_DECREF(found);
    return both;
}

/* The derivatives from the graph; NULL without an error where that is left to Python. */
static PyObject *derivatives_of(Call *c, PyObject *result) {
    Shape out;
    double few[16], *slopes = few, y;
    PyObject *found = NULL, *gradient;
    int how = c->d->how;
    shape_init(&out);
    int got = shape_of(&out, result, 1, 0), forward = how == JACFWD || (how == JACOBIAN && c->shape.n < out.n);
    if (got <= 0 || (how < JACOBIAN && out.entry.item[0] != NUMBER_HERE)) goto done;
    Py_ssize_t n = c->shape.n * out.n;
    if (n > 16) slopes = PyMem_RawMalloc((size_t)n * sizeof(double));
    if (slopes == NULL) {
        got = -1;
        goto done;
    }
    memset(slopes, 0, (size_t)n * sizeof(double));
    got = derive(out.leaf, out.n, c->inputs, c->shape.n, c->run->serial, c->d->ends, NULL, forward, slopes);
    if (got != 0) goto done;
    if (how == GRAD) found = gradient_at(c, slopes);
    else if (how == VALUE_AND_GRAD) {
        if (number_of(out.leaf[0], &y) == 0 && (gradient = gradient_at(c, slopes)) != NULL) found = Py_BuildValue("dN", y, gradient);
    } else {
        Rows rows = {.place = {.shape = &out, .number = a_row, .numbers = slopes}, .call = c};
        found = build(&rows.place);
    }
done:
    if (got < 0 && !PyErr_Occurred()) PyErr_NoMemory();
    if (slopes != few) PyMem_RawFree(slopes);
    shape_drop(&out);
    return found;
}

static PyObject *derivative_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Derivative *d = (Derivative *)self;
    Call c;
    c.d = d;
    c.args = args;
    c.nargs = PyVectorcall_NARGS(nargsf);
    c.kwnames = kwnames;
    c.inputs = NULL;
    c.run = NULL;
    PyObject *result = NULL, *found = NULL;
    if (d->slow == NULL) return PyErr_Format(PyExc_TypeError, "a derivative of nothing is called");
    if (d->hooks == NULL || special_mode() != NULL || thread_mode.staged || !numpy_is_watched() ||
        c.nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > MOST_ARGS)
        return PyObject_Vectorcall(d->slow, args, nargsf, kwnames);
    int got = is_known(d);
    if (got < 0) return NULL;
    Py_INCREF(self);
    shape_init(&c.shape);
    if (got > 0) got = take_arguments(&c);
    if (got > 0) {
        c.run = run_new(d->f, hook(d, TOLD));
        got = c.run == NULL ? -1 : make_inputs(&c);
    }
    if (got > 0) {
        result = run_function(&c);
        if (result == NULL || c.run->refused != NULL) {
            raise_clearer(&c, result);
            if (!PyErr_Occurred()) found = PyObject_Vectorcall(d->slow, args, nargsf, kwnames);
        } else {
            int pair = d->aux && PyTuple_Check(result) && PyTuple_GET_SIZE(result) == 2;
            if (!d->aux) found = derivatives_of(&c, result);
            else if (pair) found = with_aux(&c, derivatives_of(&c, PyTuple_GET_ITEM(result, 0)), PyTuple_GET_ITEM(result, 1));
            if (found == NULL && !PyErr_Occurred()) found = go_on(&c, FINISH, result);
        }
        for (Py_ssize_t i = 0; i < c.shape.n; i++) Py_DECREF(c.inputs[i]);
        if (c.inputs != c.few) PyMem_RawFree(c.inputs);
        Py_XDECREF(result);
    } else if (got == 0) {
        PyErr_Clear();
        found = PyObject_Vectorcall(d->slow, args, nargsf, kwnames);
    } else if (!PyErr_Occurred()) PyErr_NoMemory();
    if (c.run != NULL) run_end(c.run);
    shape_drop(&c.shape);
    Py_DECREF(self);
    return found;
}

/* prepare(f, slow, how, argnums, aux, hooks, ends): how is one of grad, value_and_grad, jacobian, jacfwd, jacrev; "" for none of them */
static PyObject *derivative_prepare(Derivative *d, PyObject *args) {
    static const char *const names[] = {"grad", "value_and_grad", "jacobian", "jacfwd", "jacrev"};
    PyObject *f, *slow, *argnums, *hooks, *ends;
    const char *name;
    int aux;
    if (!PyArg_ParseTuple(args, "OOsOpO!O:prepare", &f, &slow, &name, &argnums, &aux, &PyTuple_Type, &hooks, &ends)) return NULL;
    int how = 0;
    d->aux = aux;
    while (how < 5 && strcmp(name, names[how]) != 0) how++;
    d->single = PyLong_CheckExact(argnums);
    d->n = d->single ? 1 : PyTuple_CheckExact(argnums) ? PyTuple_GET_SIZE(argnums) : 0;
    int fast = how < 5 && 0 < d->n && d->n <= MOST_ARGNUMS && PyTuple_GET_SIZE(hooks) == HOOKS;
    for (Py_ssize_t j = 0; fast && j < d->n; j++) {
        PyObject *k = d->single ? argnums : PyTuple_GET_ITEM(argnums, j);
        d->argnum[j] = PyLong_CheckExact(k) ? PyLong_AsSsize_t(k) : PY_SSIZE_T_MIN;
        if (PyErr_Occurred() || d->argnum[j] < -MOST_ARGS || d->argnum[j] > MOST_ARGS) fast = 0;
        PyErr_Clear();
    }
    d->vectorcall = derivative_vectorcall;
    d->how = how;
    Py_XSETREF(d->f, Py_NewRef(f));
    Py_XSETREF(d->slow, Py_NewRef(slow));
    Py_XSETREF(d->ends, Py_NewRef(ends));
    Py_XSETREF(d->hooks, fast ? Py_NewRef(hooks) : NULL);
    Py_CLEAR(d->known);
    Py_RETURN_NONE;
}

static PyObject *derivative_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    Derivative *d = (Derivative *)type->tp_alloc(type, 0);
    if (d != NULL) d->vectorcall = derivative_vectorcall;
    return (PyObject *)d;
}

static int derivative_traverse(Derivative *d, visitproc visit, void *arg) {
    Py_VISIT(d->slow);
    Py_VISIT(d->f);
    Py_VISIT(d->hooks);
    Py_VISIT(d->ends);
    Py_VISIT(d->known);
    Py_VISIT(Py_TYPE(d));
    return 0;
}

static int derivative_clear(Derivative *d) {
    Py_CLEAR(d->slow);
    Py_CLEAR(d->f);
    Py_CLEAR(d->hooks);
    Py_CLEAR(d->ends);
    Py_CLEAR(d->known);
    return 0;
}

static void derivative_dealloc(Derivative *d) {
    PyTypeObject *type = Py_TYPE(d);
    PyObject_GC_UnTrack(d);
    derivative_clear(d);
    type->tp_free(d);
    Py_DECREF(type);
}

static PyMethodDef derivative_methods_of_type[] = {
    {"_prepare", CAST(derivative_prepare), METH_VARARGS, "_prepare(f, slow, how, argnums, aux, hooks, ends)"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef derivative_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Derivative, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot derivative_slots[] = {
    {Py_tp_doc, "What a transform makes of a function; called like it."},
    {Py_tp_new, derivative_new},
    {Py_tp_dealloc, derivative_dealloc},
    {Py_tp_traverse, derivative_traverse},
    {Py_tp_clear, derivative_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, derivative_methods_of_type},
    {Py_tp_members, derivative_members},
    {0, NULL},
};

static PyType_Spec derivative_spec = {
    .name = "micrograd.engine.Derivative",
    .basicsize = sizeof(Derivative),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = derivative_slots,
};

int eager_init(PyObject *module) {
    static PyTypeObject *derivative_type;
    return run_init(module) < 0 || add_type(module, "Derivative", &derivative_spec, &derivative_type) < 0 ? -1 : 0;
}
