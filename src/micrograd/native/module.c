/* The module _engine: the C twin of engine.py, the same Value, the same results to the bit. engine.py is the definition; read it
   first. engine.h lists the parts.

   The state of the engine (the type, the slabs, the table) belongs to the process and not to the module object, because each op
   would have to look the module up from the type of an operand: that alone adds 11 % to the time of building a graph, and 7 % to
   building it and going backward (benchmarks/module_state.py). So the module is for the first interpreter that imports it: in
   every other one the import fails, and the Python engine runs there. It needs the interpreter lock; engine.h refuses to compile
   for a free-threaded Python. */

#include "code.h"
#include "eager.h"
#include "optim.h"

/* One of gc.callbacks: a full collection has ended, after which memory that is not in use goes back to the system. */
static PyObject *after_collection(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs != 2 || !PyUnicode_Check(args[0]) || !PyDict_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "after_collection() takes a phase and a dict, as gc.callbacks are given them");
    if (PyUnicode_CompareWithASCIIString(args[0], "stop") != 0) Py_RETURN_NONE;
    PyObject *generation = known_item(args[1], str_generation);
    if (generation != NULL && PyLong_Check(generation) && PyLong_AsLong(generation) == 2) release_slabs();
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"linearize", module_linearize, METH_VARARGS, "linearize(roots, inputs, trace, sources): the graph between them as flat arrays"},
    {"interpret", module_interpret, METH_VARARGS, "interpret(ops, args, inputs, params, sources, other) -> what each instruction of a tape gives"},
    {"program", module_program, METH_VARARGS, "program(ops, args, outputs, guards, special) -> a tape of numbers to be called, or None"},
    {"captured", module_captured, METH_O, "captured(values) -> the same, for results to share; or the list itself"},
    {"lay_flat", module_lay_flat, METH_VARARGS, "lay_flat(x, leaves) -> a key, or None"},
    {"machine_code", module_machine_code, METH_VARARGS, "machine_code(address, owner, left, guarded, inputs, params, outputs, scratch, width=0, item=8) -> a capsule that owns it"},
    {"point", module_point, METH_VARARGS, "point(code, numbers, params, n_out, n_scratch, op, inputs) -> outputs, or None"},
    {"batch", module_batch, METH_VARARGS, "batch(code, ...): run machine code over the rows of arrays"},
    {"row_call", module_row_call, METH_VARARGS, "row_call(...): the same for arrays of kinds that are known, as a callable"},
    {"unchanged", module_unchanged, METH_O, "unchanged(key of a Watch) -> whether it still describes what is there"},
    {"compiling", module_compiling, METH_O, "compiling(on): a thread enters or leaves LLVM -> whether the process may end meanwhile"},
    {"after_collection", CAST(after_collection), METH_FASTCALL, "after_collection(phase, info): one of gc.callbacks, which gives memory back"},
    {NULL, NULL, 0, NULL},
};

/* How many bytes precede an object that the collector may track: asked of an empty list. */
static int measure_gc_head(void) {
    PyObject *list = PyList_New(0), *sys = PyImport_ImportModule("sys");
    PyObject *with = sys && list ? PyObject_CallMethod(sys, "getsizeof", "O", list) : NULL;
    PyObject *without = list ? PyObject_CallMethod(list, "__sizeof__", NULL) : NULL;
    if (with != NULL && without != NULL) gc_head = (size_t)(PyLong_AsLong(with) - PyLong_AsLong(without));
    Py_XDECREF(list);
    Py_XDECREF(sys);
    Py_XDECREF(with);
    Py_XDECREF(without);
    return PyErr_Occurred() ? -1 : 0;
}

int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **type) { /* *type keeps a reference */
    *type = (PyTypeObject *)PyType_FromSpec(spec);
    return *type == NULL || (name != NULL && PyModule_AddObjectRef(module, name, (PyObject *)*type) < 0) ? -1 : 0;
}

static void look(void) { look_at_gradients(); }
static int before_update(const char *how, PyObject *value) { return tell(how, value, Py_None, Py_None); }

/* The partials of a node that compiled code has made over leaves alone, which an optimizer reads without a sweep. */
static const double *leaf_partials(PyObject *root, PyObject **owner, PyObject *const **leaves, Py_ssize_t *n) {
    Node *node = (Node *)root;
    if (!Py_IS_TYPE(root, ValueType) || (node->flags & HOOKED) || !(node->flags & SHARED)) return NULL;
    *owner = ((Shared *)node->block)->owner;
    if (!captured_leaves((Captured *)*owner)) return NULL;
    *leaves = (PyObject *const *)node->block->in;
    *n = node->block->n;
    return node->block->partial;
}

_Static_assert(offsetof(Node, grad) == offsetof(Node, data) + sizeof(double), "optim.c reads the gradient behind the data");

static int module_exec(PyObject *module) {
    static PyObject *first; /* what a second import in the same interpreter gets, too */
    static int64_t owner;   /* the interpreter that the state belongs to */
    static PyTypeObject *kernel_type, *no_grad_type;
    int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (first != NULL && here != owner) {
        PyErr_SetString(PyExc_ImportError, "the C engine serves one interpreter, and another one of this process has loaded it");
        return -1;
    }
    if (first != NULL) return PyDict_Update(PyModule_GetDict(module), first);
    if (measure_gc_head() < 0 || operand_init() < 0 || value_init_type(module) < 0 || make_init(module) < 0 || leave_init(module) < 0 || pointer_init(module) < 0 || xla_init(module) < 0 || eager_init(module) < 0 || interpret_init(module) < 0 ||
        add_type(module, NULL, &captured_spec, &CapturedType) < 0 || add_type(module, NULL, &row_call_spec, &RowCallType) < 0 ||
        add_type(module, "Kernel", &kernel_spec, &kernel_type) < 0 || add_type(module, "NoGrad", &no_grad_spec, &no_grad_type) < 0 ||
        PyModule_AddFunctions(module, mode_methods) < 0 || PyModule_AddFunctions(module, derivative_methods) < 0 ||
        PyModule_AddFunctions(module, parameter_methods) < 0 || layer_init() < 0 || PyModule_AddFunctions(module, layer_methods) < 0 ||
        standard_init() < 0 || PyModule_AddFunctions(module, standard_methods) < 0 || PyModule_AddFunctions(module, value_module_methods) < 0 ||
        optim_add(module, &(ValueLayout){ValueType, offsetof(Node, data), before_update, leaf_partials, look, &data_changes}) < 0 ||
        PyModule_AddIntConstant(module, "MAX_SCOPE", MAX_SCOPE) < 0)
        return -1;
    owner = here;
    first = PyDict_Copy(PyModule_GetDict(module));
    return first == NULL ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, CAST(module_exec)},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, .m_name = "micrograd._engine", .m_size = 0, .m_methods = module_methods, .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__engine(void) { return PyModuleDef_Init(&module_def); }
