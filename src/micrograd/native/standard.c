/* Python's own math takes Values; while a function is traced, float() passes them on, and NumPy makes arrays that carry them.

   A function of the module math is an object that finds its C code through a table, PyMethodDef. For each function that has a
   twin in micrograd.math, the object gets a table of ours, which differs in nothing but that code: a few lines that look at the
   class of the argument, and either call the twin or go on to the code of Python. So every name of the function is served, in
   whatever module, default argument or map() it stands; its identity, its name, its signature and how it is pickled stay as they
   are; no module is changed; and a number costs one comparison more.

   The table of a function is read at each call, by the interpreter and by the machine code that it makes (3.11 to 3.15). How
   arguments are handed over is a flag of the table, which differs by version. A function with flags that are not known here is
   left as it is; it then asks a Value for its number, which is an error inside of a trace. */

#include "engine.h"

/* Of one number, and of several or with names; those marked T raise an exception for no number. Those that are missing in a
   version of Python are passed over. floor, ceil and trunc ask a Value themselves, prod computes with operators, and the others
   are functions of whole numbers. */
#define OF_ONE(F, T) \
    F(acos) F(acosh) F(asin) T(asinh) T(atan) F(atanh) T(cbrt) F(cos) F(cosh) T(degrees) T(erf) T(erfc) F(exp) F(exp2) F(expm1) \
    T(fabs) T(frexp) F(gamma) T(isfinite) T(isinf) T(isnan) T(isnormal) T(issubnormal) F(lgamma) F(log10) F(log1p) F(log2) T(modf) \
    T(radians) T(signbit) F(sin) F(sinh) F(sqrt) F(tan) T(tanh) T(ulp)
#define OF_SEVERAL(F, T) \
    T(atan2) T(copysign) T(fma) T(fmax) T(fmin) F(fmod) T(hypot) T(isclose) T(ldexp) F(log) T(nextafter) F(pow) F(remainder)
#define OF_LISTS(F) F(dist) F(fsum) F(sumprod)

#define ROW(name) ROW_##name,
enum { OF_ONE(ROW, ROW) OF_SEVERAL(ROW, ROW) OF_LISTS(ROW) ROWS };

typedef struct {
    const char *name, *how; /* how: what a watcher is told; NULL where a plain number never raises an exception */
    void *code[4];          /* by convention: one argument; fast; fast with names; a tuple */
    PyMethodDef def;        /* Python's own with our code in it */
    PyCFunction original;
    PyObject *twin; /* the function of micrograd.math */
} Function;

static Function table[ROWS];
static PyObject *str_apply, *passed_on; /* passed_on: whom float(x) of a Value asks, tape/kinds.py */
static PyObject *float_of_object(PyObject *type, PyObject *x);

static inline int tracing(void) { return special_threads && thread_mode.trace && thread_mode.trace != PLAIN_RUN; }

static int is_operand(PyObject *x) { /* a Value, or a place on a tape */
    if (PyFloat_Check(x) || PyLong_Check(x)) return 0;
    return is_value(x) || PyObject_HasAttr((PyObject *)Py_TYPE(x), str_apply);
}

/* A trace is told first: a plain number may raise an exception, which the function may catch (tape/arithmetic.py). It raises
   none where the result is finite. */
static int told(const Function *f, PyObject *const *args, Py_ssize_t nargs) {
    return tell_difference(f->how, args[0], nargs == 2 ? args[1] : Py_None);
}

static PyObject *call_twin(const Function *f, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    int may_raise = special_threads && f->how != NULL && nargs <= 2 && names == NULL, late = may_raise && only_differences();
    if (may_raise && !late && told(f, args, nargs) < 0) return NULL;
    PyObject *y = PyObject_Vectorcall(f->twin, args, (size_t)nargs, names);
    if (late && y != NULL && !(is_value(y) && isfinite(((Node *)y)->data)) && told(f, args, nargs) < 0) Py_CLEAR(y);
    return y;
}

/* ---- lists: those that are walked once are kept in a list, up to the first Value */

enum { LOOKED_AT = 4096 }; /* items, outside of a trace: then an iterator of numbers is long, and is not kept */

static int any_operand(PyObject *const *items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_operand(items[i])) return 1;
    return 0;
}

/* The same items, safe to walk twice; *found tells whether there are operands among them. */
static PyObject *looked_through(PyObject *x, int *found) {
    if (PyTuple_Check(x) || PyList_CheckExact(x)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
        for (Py_ssize_t i = 0; !*found && i < n && i < PySequence_Fast_GET_SIZE(x); i++)
            *found = is_operand(PySequence_Fast_GET_ITEM(x, i));
        return Py_NewRef(x);
    }
    PyObject *items = PyList_New(0), *walk = PyObject_GetIter(x), *item;
    if (items == NULL || walk == NULL) goto failed;
    while ((item = PyIter_Next(walk)) != NULL) {
        *found = *found || is_operand(item);
        int full = PyList_Append(items, item) < 0;
        Py_DECREF(item);
        if (full) goto failed;
        if (!*found && !tracing() && PyList_GET_SIZE(items) == LOOKED_AT) {
            PyObject *itertools = PyImport_ImportModule("itertools");
            PyObject *chained = itertools ? PyObject_CallMethod(itertools, "chain", "OO", items, walk) : NULL;
            Py_XDECREF(itertools);
            Py_DECREF(items);
            Py_DECREF(walk);
            return chained;
        }
    }
    if (PyErr_Occurred()) goto failed;
    Py_DECREF(walk);
    return items;
failed:
    Py_XDECREF(items);
    Py_XDECREF(walk);
    return NULL;
}

/* ---- the code, by convention */

static int may_hold(PyObject *x) { /* an object in a trace whose class has a __float__ in Python, which may return a Value */
    if (PyFloat_Check(x) || PyLong_Check(x) || !tracing() || passed_on == NULL || is_operand(x)) return 0;
    return PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE) && Py_TYPE(x)->tp_as_number && Py_TYPE(x)->tp_as_number->nb_float;
}

static PyObject *one(int row, PyObject *self, PyObject *x) {
    const Function *f = &table[row];
    if (is_operand(x)) return call_twin(f, &x, 1, NULL);
    if (!may_hold(x)) return f->original(self, x);
    PyObject *held = float_of_object((PyObject *)&PyFloat_Type, x), *found = NULL;
    if (held != NULL) found = is_operand(held) ? call_twin(f, &held, 1, NULL) : f->original(self, held);
    Py_XDECREF(held);
    return found;
}

typedef PyObject *(*Fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*Named)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

static PyObject *fast(int row, PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    const Function *f = &table[row];
    if (any_operand(args, nargs)) return call_twin(f, args, nargs, NULL);
    return ((Fast)CAST(f->original))(self, args, nargs);
}

static PyObject *named(int row, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    const Function *f = &table[row];
    if (any_operand(args, nargs + (names ? PyTuple_GET_SIZE(names) : 0))) return call_twin(f, args, nargs, names);
    return ((Named)CAST(f->original))(self, args, nargs, names);
}

static PyObject *tuple(int row, PyObject *self, PyObject *args) {
    const Function *f = &table[row];
    PyObject *const *items = &PyTuple_GET_ITEM(args, 0);
    if (any_operand(items, PyTuple_GET_SIZE(args))) return call_twin(f, items, PyTuple_GET_SIZE(args), NULL);
    return f->original(self, args);
}

static PyObject *lists(int row, PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    const Function *f = &table[row];
    PyObject *seen[2] = {NULL, NULL}, *result = NULL;
    int found = 0, wanted = row == ROW_fsum ? 1 : 2;
    if (nargs != wanted) /* the error is Python's */
        return row == ROW_fsum ? f->original(self, args[0]) : ((Fast)CAST(f->original))(self, args, nargs);
    for (Py_ssize_t i = 0; i < nargs; i++)
        if ((seen[i] = looked_through(args[i], &found)) == NULL) goto done;
    if (found) result = PyObject_Vectorcall(f->twin, seen, (size_t)nargs, NULL);
    else result = row == ROW_fsum ? f->original(self, seen[0]) : ((Fast)CAST(f->original))(self, seen, nargs);
done:
    Py_XDECREF(seen[0]);
    Py_XDECREF(seen[1]);
    return result;
}

#define CODE_OF_ONE(row) \
    static PyObject *one_##row(PyObject *self, PyObject *x) { return PyFloat_CheckExact(x) ? table[ROW_##row].original(self, x) : one(ROW_##row, self, x); }
#define CODE_OF_SEVERAL(row) \
    static PyObject *fast_##row(PyObject *self, PyObject *const *args, Py_ssize_t nargs) { return fast(ROW_##row, self, args, nargs); } \
    static PyObject *named_##row(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) { return named(ROW_##row, self, args, nargs, names); } \
    static PyObject *tuple_##row(PyObject *self, PyObject *args) { return tuple(ROW_##row, self, args); }
#define CODE_OF_LISTS(row) \
    static PyObject *one_##row(PyObject *self, PyObject *x) { return lists(ROW_##row, self, &x, 1); } \
    static PyObject *fast_##row(PyObject *self, PyObject *const *args, Py_ssize_t nargs) { return lists(ROW_##row, self, args, nargs); }

OF_ONE(CODE_OF_ONE, CODE_OF_ONE)
OF_SEVERAL(CODE_OF_SEVERAL, CODE_OF_SEVERAL)
OF_LISTS(CODE_OF_LISTS)

#define SEVERAL(row) {NULL, CAST(fast_##row), CAST(named_##row), CAST(tuple_##row)}
#define FUNCTION_OF_ONE(row) {.name = #row, .how = "math." #row, .code = {CAST(one_##row)}},
#define TOTAL_OF_ONE(row) {.name = #row, .code = {CAST(one_##row)}},
#define FUNCTION_OF_SEVERAL(row) {.name = #row, .how = "math." #row, .code = SEVERAL(row)},
#define TOTAL_OF_SEVERAL(row) {.name = #row, .code = SEVERAL(row)},
#define FUNCTION_OF_LISTS(row) {.name = #row, .code = {CAST(one_##row), CAST(fast_##row)}},

static Function table[ROWS] = {OF_ONE(FUNCTION_OF_ONE, TOTAL_OF_ONE) OF_SEVERAL(FUNCTION_OF_SEVERAL, TOTAL_OF_SEVERAL) OF_LISTS(FUNCTION_OF_LISTS)};

static void *code_for(const Function *f, int flags) {
    switch (flags) {
    case METH_O: return f->code[0];
    case METH_FASTCALL: return f->code[1];
    case METH_FASTCALL | METH_KEYWORDS: return f->code[2];
    case METH_VARARGS: return f->code[3];
    default: return NULL;
    }
}

/* extend(functions of math, those of micrograd.math): two dicts by name -> the names of those that take Values now */
static PyObject *module_extend(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *standard, *twins, *names;
    if (!PyArg_ParseTuple(args, "O!O!:extend", &PyDict_Type, &standard, &PyDict_Type, &twins)) return NULL;
    if ((names = PyList_New(0)) == NULL) return NULL;
    for (int row = 0; row < ROWS; row++) {
        Function *f = &table[row];
        PyObject *function = PyDict_GetItemString(standard, f->name), *twin = PyDict_GetItemString(twins, f->name);
        if (function == NULL || twin == NULL || !PyCFunction_CheckExact(function)) continue;
        PyCFunctionObject *object = (PyCFunctionObject *)function;
        if (object->m_ml != &f->def) {
            void *code = code_for(f, object->m_ml->ml_flags);
            if (code == NULL || f->original != NULL) continue; /* f->original: math was imported again, and is a second module */
            f->def = *object->m_ml;
            f->original = f->def.ml_meth;
            f->def.ml_meth = code;
            f->twin = Py_NewRef(twin);
            object->m_ml = &f->def;
        }
        PyObject *name = PyUnicode_FromString(f->name);
        int failed = name == NULL || PyList_Append(names, name) < 0;
        Py_XDECREF(name);
        if (failed) {
            Py_DECREF(names);
            return NULL;
        }
    }
    return names;
}

/* ---- float(x) of a float is that float. Python reads the code of the class at each call, too. */

static vectorcallfunc float_original;

static PyObject *float_of_value(PyObject *type, PyObject *value) { /* NULL without an error where it is to be a number */
    PyObject *ask = Py_NewRef(passed_on), *found = PyObject_CallOneArg(ask, value);
    Py_DECREF(ask);
    (void)type;
    if (found == Py_None) Py_CLEAR(found);
    return found;
}

/* float(x) of an object whose class has a __float__ in Python, which may return the Value that it holds */
static PyObject *float_of_object(PyObject *type, PyObject *x) {
    PyObject *held = Py_TYPE(x)->tp_as_number->nb_float(x), *found;
    if (held == NULL) return NULL;
    if (is_value(held)) {
        found = float_of_value(type, held);
        if (found == NULL && !PyErr_Occurred()) found = float_original(type, &held, 1, NULL);
    } else if (PyFloat_Check(held)) {
        found = float_original(type, &held, 1, NULL);
    } else {
        found = PyErr_Format(PyExc_TypeError, "%.50s.__float__ returned non-float (type %.50s)", type_name(x), type_name(held));
    }
    Py_DECREF(held);
    return found;
}

static PyObject *float_call(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names) {
    if (PyVectorcall_NARGS(nargsf) == 1 && names == NULL && tracing() && passed_on != NULL) {
        PyObject *x = args[0];
        if (is_value(x)) {
            PyObject *found = float_of_value(type, x);
            if (found != NULL || PyErr_Occurred()) return found;
        } else if (!PyFloat_Check(x) && PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE) && Py_TYPE(x)->tp_as_number != NULL &&
                   Py_TYPE(x)->tp_as_number->nb_float != NULL) {
            return float_of_object(type, x);
        }
    }
    return float_original(type, args, nargsf, names);
}

static PyObject *module_set_float_of(PyObject *module, PyObject *function) {
    (void)module;
    if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "set_float_of() takes a function, not %s", type_name(function));
    Py_XSETREF(passed_on, Py_NewRef(function));
    if (float_original == NULL && PyFloat_Type.tp_vectorcall != NULL) {
        float_original = PyFloat_Type.tp_vectorcall;
        PyFloat_Type.tp_vectorcall = float_call;
    }
    return PyBool_FromLong(float_original != NULL);
}

/* ---- functions of NumPy's that make an array: inside of a trace, buffers.py is asked first */

#define MAKERS(F) F(array) F(asarray) F(asanyarray) F(ascontiguousarray) F(empty) F(zeros)
#define MAKER(name) MAKE_##name,
enum { MAKERS(MAKER) MAKER_COUNT };

typedef PyObject *(*Keywords)(PyObject *, PyObject *, PyObject *);

static Function makers[MAKER_COUNT];
static PyObject *ask_maker;

static PyObject *asked(int row, PyObject *args, PyObject *kwargs) { /* NotImplemented where NumPy is to make it */
    if (!tracing() || ask_maker == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *none = kwargs == NULL ? PyDict_New() : Py_NewRef(kwargs), *found = NULL;
    if (none != NULL) found = PyObject_CallFunction(ask_maker, "sOO", makers[row].name, args, none);
    Py_XDECREF(none);
    return found;
}

static PyObject *make_by_tuple(int row, PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *found = asked(row, args, kwargs);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return ((Keywords)CAST(makers[row].original))(self, args, kwargs);
}

static PyObject *make_by_vector(int row, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    if (tracing() && ask_maker != NULL) {
        PyObject *all = PyTuple_New(nargs), *kwargs = PyDict_New(), *found = NULL;
        int failed = all == NULL || kwargs == NULL;
        for (Py_ssize_t i = 0; !failed && i < nargs; i++) PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
        for (Py_ssize_t i = 0; !failed && names != NULL && i < PyTuple_GET_SIZE(names); i++)
            failed = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[nargs + i]) < 0;
        if (!failed) found = asked(row, all, kwargs);
        Py_XDECREF(all);
        Py_XDECREF(kwargs);
        if (found != Py_NotImplemented) return found;
        Py_DECREF(found);
    }
    return ((Named)CAST(makers[row].original))(self, args, nargs, names);
}

#define CODE_OF_MAKER(row) \
    static PyObject *tuple_##row(PyObject *self, PyObject *args, PyObject *kwargs) { return make_by_tuple(MAKE_##row, self, args, kwargs); } \
    static PyObject *vector_##row(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) { return make_by_vector(MAKE_##row, self, args, nargs, names); }
#define FUNCTION_OF_MAKER(row) {.name = #row, .code = {CAST(tuple_##row), CAST(vector_##row)}},

MAKERS(CODE_OF_MAKER)
static Function makers[MAKER_COUNT] = {MAKERS(FUNCTION_OF_MAKER)};

/* np.zeros_like and its relatives are objects of a class of NumPy's that keep the code in themselves, as vectorcall has it. */
#define LIKE_COUNT 4
static const char *const like_names[LIKE_COUNT] = {"zeros_like", "ones_like", "empty_like", "full_like"};
static struct { PyObject *function; vectorcallfunc original; } likes[LIKE_COUNT];

static PyObject *make_like(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names) {
    int row = 0;
    while (row < LIKE_COUNT - 1 && likes[row].function != function) row++;
    if (tracing() && ask_maker != NULL && names == NULL) {
        PyObject *all = PyTuple_New(PyVectorcall_NARGS(nargsf)), *found = NULL;
        for (Py_ssize_t i = 0; all != NULL && i < PyTuple_GET_SIZE(all); i++) PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
        PyObject *kwargs = all ? PyDict_New() : NULL;
        if (kwargs != NULL) found = PyObject_CallFunction(ask_maker, "sOO", like_names[row], all, kwargs);
        Py_XDECREF(kwargs);
        Py_XDECREF(all);
        if (found != Py_NotImplemented) return found;
        Py_DECREF(found);
    }
    return likes[row].original(function, args, nargsf, names);
}

static void extend_like(int row, PyObject *function) {
    if (function == NULL || likes[row].function != NULL || PyFunction_Check(function) || !PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_HAVE_VECTORCALL)) return;
    vectorcallfunc *code = (vectorcallfunc *)((char *)function + Py_TYPE(function)->tp_vectorcall_offset);
    if (*code == NULL || PyType_Check(function) || PyCFunction_Check(function)) return;
    likes[row].function = Py_NewRef(function);
    likes[row].original = *code;
    *code = make_like;
}

/* extend_makers(functions of numpy by name, function): function(name, args, kwargs) makes the array, or gives NotImplemented */
static PyObject *module_extend_makers(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *numpy, *ask;
    if (!PyArg_ParseTuple(args, "O!O:extend_makers", &PyDict_Type, &numpy, &ask)) return NULL;
    for (int row = 0; row < MAKER_COUNT; row++) {
        Function *f = &makers[row];
        PyObject *function = PyDict_GetItemString(numpy, f->name);
        if (function == NULL || !PyCFunction_CheckExact(function) || f->original != NULL) continue;
        PyCFunctionObject *object = (PyCFunctionObject *)function;
        int flags = object->m_ml->ml_flags;
        void *code = flags == (METH_VARARGS | METH_KEYWORDS) ? f->code[0] : flags == (METH_FASTCALL | METH_KEYWORDS) ? f->code[1] : NULL;
        if (code == NULL) continue;
        f->def = *object->m_ml;
        f->original = f->def.ml_meth;
        f->def.ml_meth = code;
        object->m_ml = &f->def;
    }
    for (int row = 0; row < LIKE_COUNT; row++) extend_like(row, PyDict_GetItemString(numpy, like_names[row]));
    Py_XSETREF(ask_maker, Py_NewRef(ask));
    Py_RETURN_NONE;
}

PyMethodDef standard_methods[] = {
    {"extend", module_extend, METH_VARARGS, "extend(functions of math, those of micrograd.math) -> the names of those that take Values now"},
    {"set_float_of", module_set_float_of, METH_O, "set_float_of(function): it answers float(x) of a Value in a trace; None for the number itself"},
    {"extend_makers", module_extend_makers, METH_VARARGS, "extend_makers(functions of numpy, function): in a trace it makes their arrays, or not"},
    {NULL, NULL, 0, NULL},
};

int standard_init(void) { return (str_apply = PyUnicode_InternFromString("_apply")) == NULL ? -1 : 0; }
