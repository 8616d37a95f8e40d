/* interpret(): run the instructions of a tape on numbers or Values, as tape/interpret.py does in Python. */

#include "engine.h"
#include "ops.h"

#define MOST_OPERANDS 8

/* The results of the instructions that run so far: values, a list that only this function has. */
static PyObject *instruction(PyObject *values, PyObject *op, PyObject *args, PyObject *other) {
    PyObject *few[MOST_OPERANDS], *list = NULL, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args), row = known_row(op), have = PyList_GET_SIZE(values);
    if (row == -1) return NULL;
    int in_table = row >= 0 && row_arity[row] >= 0 && n <= MOST_OPERANDS;
    if (!in_table && (list = PyList_New(n)) == NULL) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, i));
        if (k < 0 || k >= have) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "place %zd of a tape is read before it is computed", k);
            goto done;
        }
        PyObject *x = PyList_GET_ITEM(values, k); /* the list keeps it */
        if (in_table) few[i] = x;
        else PyList_SET_ITEM(list, i, Py_NewRef(x));
    }
    if (in_table) result = call_row((int)row, few, n);
    else if (row >= 0) result = make_list((int)row, &list, 1);
    else result = PyObject_CallFunctionObjArgs(other, op, args, list, NULL);
done:
    Py_XDECREF(list);
    return result;
}

/* interpret(ops, args, inputs, params, (INPUT, PARAM, CONST), other) -> what each instruction gives; other(op, args, operands) runs
   those that are not in the table. */
PyObject *module_interpret(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *ops, *args, *in, *params, *kinds, *other;
    if (!PyArg_ParseTuple(arguments, "O!O!OOO!O:interpret", &PyTuple_Type, &ops, &PyTuple_Type, &args, &in, &params, &PyTuple_Type, &kinds, &other))
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(ops);
    if (PyTuple_GET_SIZE(args) != n || PyTuple_GET_SIZE(kinds) != 3) {
        PyErr_SetString(PyExc_ValueError, "a tape has one tuple of operands for each op, and there are three kinds of sources");
        return NULL;
    }
    PyObject *values = PyList_New(0);
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        PyObject *op = PyTuple_GET_ITEM(ops, i), *row = PyTuple_GET_ITEM(args, i), *x;
        int source = op == PyTuple_GET_ITEM(kinds, 0) ? 0 : op == PyTuple_GET_ITEM(kinds, 1) ? 1 : op == PyTuple_GET_ITEM(kinds, 2) ? 2 : -1;
        if ((i & 0xFFF) == 0xFFF && PyErr_CheckSignals() < 0) x = NULL;
        else if (!PyTuple_Check(row) || (source >= 0 && PyTuple_GET_SIZE(row) != 1)) x = PyErr_Format(PyExc_TypeError, "the operands of an instruction are a tuple");
        else if (source >= 0) x = source == 2 ? Py_NewRef(PyTuple_GET_ITEM(row, 0)) : PyObject_GetItem(source ? params : in, PyTuple_GET_ITEM(row, 0));
        else x = instruction(values, op, row, other);
        if (x == NULL || PyList_Append(values, x) < 0) Py_CLEAR(values);
        Py_XDECREF(x);
    }
    return values;
}

/* ---- a tape of numbers alone, which is run again and again until there is machine code for it */

enum { FROM_INPUT = 0xFF00, FROM_PARAM, CONSTANT, PICKED, COPIED, UNLESS, JUMP, ROOM, SPECIAL = 8 }; /* program.py */

typedef struct {
    int32_t a, b;
    uint8_t how, went;
} Check;

typedef struct {
    PyObject_HEAD
    Py_ssize_t n, outputs, checks, inputs, params; /* instructions, and how many numbers are taken and given */
    uint16_t *op;
    int32_t *start, *arg, *output; /* instruction i reads arg[start[i]] up to arg[start[i + 1]] */
    Check *check;
    double *value, *list; /* of each instruction; the operands of one that takes a list */
    char *taken;          /* of each choice: 0 if it was not met in this run, 1 or 2 for how it came out */
} Program;

static PyTypeObject *ProgramType;

static void program_dealloc(Program *p) {
    void *all[] = {p->op, p->start, p->arg, p->output, p->check, p->value, p->list, p->taken};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyMem_RawFree(all[i]);
    PyTypeObject *type = Py_TYPE(p);
    PyObject_Free(p);
    Py_DECREF(type);
}

static int32_t place_in(PyObject *x, Py_ssize_t below) { /* -1 with an error set */
    Py_ssize_t k = PyLong_Check(x) ? PyLong_AsSsize_t(x) : -1;
    if (k >= 0 && k < below && k < INT32_MAX) return (int32_t)k;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an instruction of a tape reads a place that is not before it");
    return -1;
}

static int special_of(Program *p, Py_ssize_t i, int which, PyObject *row) {
    static const uint8_t operands[SPECIAL] = {1, 1, 1, 3, 2, 2, 1, 0};
    if (PyTuple_GET_SIZE(row) != operands[which]) return PyErr_SetString(PyExc_TypeError, "an instruction has another number of operands"), -1;
    int op = p->op[i] = (uint16_t)(FROM_INPUT + which);
    if (op == CONSTANT) return number(PyTuple_GET_ITEM(row, 0), &p->value[i]);
    if (op == ROOM) p->value[i] = 0.0;
    for (Py_ssize_t j = 0; j < operands[which]; j++) {
        int jumps = op == JUMP || (op == UNLESS && j == 1);
        int32_t k = place_in(PyTuple_GET_ITEM(row, j), op < CONSTANT ? INT32_MAX : jumps ? p->n + 1 : i);
        if (k < 0) return -1;
        if (jumps && k <= i) return PyErr_SetString(PyExc_ValueError, "a program jumps forward"), -1;
        p->arg[p->start[i] + j] = k;
    }
    Py_ssize_t *most = op == FROM_INPUT ? &p->inputs : &p->params;
    if (op < CONSTANT && p->arg[p->start[i]] >= *most) *most = p->arg[p->start[i]] + 1;
    return 0;
}

static int fill_program(Program *p, PyObject *ops, PyObject *args, PyObject *special) { /* 1; 0: it has more than numbers; -1 */
    Py_ssize_t most = 0, at = 0;
    memset(p->value, 0, (size_t)p->n * sizeof(double)); /* what is jumped over is a number, too */
    for (Py_ssize_t i = 0; i < p->n; i++) {
        PyObject *op = PyTuple_GET_ITEM(ops, i), *row = PyTuple_GET_ITEM(args, i);
        Py_ssize_t n = PyTuple_GET_SIZE(row), k;
        int which = 0;
        p->start[i] = (int32_t)at;
        p->start[i + 1] = (int32_t)(at += n);
        while (which < SPECIAL && op != PyTuple_GET_ITEM(special, which)) which++;
        if (which < SPECIAL) {
            if (special_of(p, i, which, row) < 0) return -1;
            continue;
        }
        if ((k = known_row(op)) == -1) return -1;
        if (k == -2 || (row_arity[k] < 0 ? n == 0 : n != row_arity[k])) return 0;
        p->op[i] = (uint16_t)k;
        if (n > most) most = n;
        for (Py_ssize_t j = 0; j < n; j++)
            if ((p->arg[p->start[i] + j] = place_in(PyTuple_GET_ITEM(row, j), i)) < 0) return -1;
    }
    p->list = PyMem_RawMalloc((size_t)(most + 1) * sizeof(double));
    return p->list == NULL ? -1 : 1;
}

static int fill_checks(Program *p, PyObject *outputs, PyObject *guards) {
    static const char *const names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    for (Py_ssize_t k = 0; k < p->outputs; k++)
        if ((p->output[k] = place_in(PyTuple_GET_ITEM(outputs, k), p->n)) < 0) return -1;
    for (Py_ssize_t k = 0; k < p->checks; k++) {
        const char *how;
        PyObject *a, *b;
        int went, which = 0;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(guards, k), "sOOp", &how, &a, &b, &went)) return -1;
        while (which < 5 && strcmp(how, names[which]) != 0) which++;
        p->check[k] = (Check){place_in(a, p->n), place_in(b, p->n), (uint8_t)which, (uint8_t)went};
        if (p->check[k].a < 0 || p->check[k].b < 0) return -1;
    }
    return 0;
}

static Program *program_new(Py_ssize_t n, Py_ssize_t operands, Py_ssize_t outputs, Py_ssize_t checks) {
    Program *p = PyObject_New(Program, ProgramType);
    if (p == NULL) return NULL;
    p->n = n, p->outputs = outputs, p->checks = checks, p->inputs = p->params = 0;
    p->op = PyMem_RawMalloc((size_t)(n + 1) * sizeof *p->op);
    p->start = PyMem_RawCalloc((size_t)n + 1, sizeof *p->start);
    p->arg = PyMem_RawMalloc((size_t)(operands + 1) * sizeof *p->arg);
    p->output = PyMem_RawMalloc((size_t)(outputs + 1) * sizeof *p->output);
    p->check = PyMem_RawMalloc((size_t)(checks + 1) * sizeof *p->check);
    p->value = PyMem_RawMalloc((size_t)(n + 1) * sizeof *p->value);
    p->taken = PyMem_RawCalloc((size_t)n + 1, 1);
    p->list = NULL;
    if (p->op && p->start && p->arg && p->output && p->check && p->value && p->taken) return p;
    Py_DECREF(p);
    PyErr_NoMemory();
    return NULL;
}

/* program(ops, args, outputs, guards, special) -> a Program; None where the tape has more than numbers. special: see the enum. */
PyObject *module_program(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *ops, *args, *outputs, *guards, *special;
    PyTypeObject *t = &PyTuple_Type;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!:program", t, &ops, t, &args, t, &outputs, t, &guards, t, &special)) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(ops), operands = 0;
    int right = PyTuple_GET_SIZE(args) == n && PyTuple_GET_SIZE(special) == SPECIAL;
    for (Py_ssize_t i = 0; right && i < n; i++) {
        right = PyTuple_Check(PyTuple_GET_ITEM(args, i));
        if (right) operands += PyTuple_GET_SIZE(PyTuple_GET_ITEM(args, i));
    }
    for (Py_ssize_t k = 0; right && k < PyTuple_GET_SIZE(guards); k++) right = PyTuple_Check(PyTuple_GET_ITEM(guards, k));
    if (!right) return PyErr_Format(PyExc_TypeError, "a tape has one tuple of operands for each op, and guards are tuples");
    if (operands >= INT32_MAX || n >= INT32_MAX) Py_RETURN_NONE;
    Program *p = program_new(n, operands, PyTuple_GET_SIZE(outputs), PyTuple_GET_SIZE(guards));
    if (p == NULL) return NULL;
    int got = fill_program(p, ops, args, special);
    if (got > 0 && fill_checks(p, outputs, guards) == 0) return (PyObject *)p;
    Py_DECREF(p);
    if (got == 0) Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static void run_instructions(Program *p) {
    double *v = p->value;
    memset(p->taken, 0, (size_t)p->n);
    for (Py_ssize_t i = 0; i < p->n; i++) {
        const int32_t *a = p->arg + p->start[i];
        int op = p->op[i];
        if (op >= FROM_INPUT) {
            if (op == PICKED || op == UNLESS) p->taken[i] = v[a[0]] != 0.0 ? 2 : 1;
            if (op == PICKED) v[i] = v[a[0]] != 0.0 ? v[a[1]] : v[a[2]];
            else if (op == COPIED) v[a[1]] = v[a[0]];
            else if (op == JUMP) i = a[0] - 1;
            else if (op == UNLESS && !(v[a[0]] != 0.0)) i = a[1] - 1;
            continue; /* a source has its number already */
        }
        switch (row_arity[op]) {
        case 1: v[i] = value1(op, v[a[0]]); break;
        case 2: v[i] = value2(op, v[a[0]], v[a[1]]); break;
        case 3: v[i] = value3(op, v[a[0]], v[a[1]], v[a[2]]); break;
        default: {
            Py_ssize_t n = p->start[i + 1] - p->start[i];
            for (Py_ssize_t j = 0; j < n; j++) p->list[j] = v[a[j]];
            v[i] = list_value(op, p->list, n);
        }
        }
    }
}

static int holds(const Program *p, const Check *c) {
    double a = p->value[c->a], b = p->value[c->b];
    switch (c->how) {
    case 0: return a < b;
    case 1: return a <= b;
    case 2: return a > b;
    case 3: return a >= b;
    case 4: return a == b;
    default: return a != b;
    }
}

/* A call: (inputs, params) -> the outputs, or None where a guard fails. Values count as their numbers. With True behind them, a pair: that,
   and how the choices came out. */
static PyObject *program_call(Program *p, PyObject *args, PyObject *keywords) {
    PyObject *given[2], *result = NULL;
    int choices = 0;
    double *numbers[2] = {NULL, NULL};
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) return PyErr_Format(PyExc_TypeError, "a program takes no arguments by name");
    if (!PyArg_ParseTuple(args, "O!O!|p", &PyList_Type, &given[0], &PyList_Type, &given[1], &choices)) return NULL;
    for (int k = 0; k < 2; k++) {
        Py_ssize_t n = PyList_GET_SIZE(given[k]);
        if (n < (k ? p->params : p->inputs)) PyErr_SetString(PyExc_IndexError, "a program is given too few numbers");
        else if ((numbers[k] = PyMem_RawMalloc((size_t)(n + 1) * sizeof(double))) == NULL) PyErr_NoMemory();
        for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
            PyObject *x = i < PyList_GET_SIZE(given[k]) ? Py_NewRef(PyList_GET_ITEM(given[k], i)) : NULL; /* reading one may run Python */
            if (x == NULL) PyErr_SetString(PyExc_ValueError, "the numbers of a program have changed while they were read");
            else if (is_value(x)) numbers[k][i] = ((Node *)x)->data;
            else number(x, &numbers[k][i]);
            Py_XDECREF(x);
        }
        if (PyErr_Occurred()) goto done;
    }
    for (Py_ssize_t i = 0; i < p->n; i++)
        if (p->op[i] == FROM_INPUT || p->op[i] == FROM_PARAM) p->value[i] = numbers[p->op[i] - FROM_INPUT][p->arg[p->start[i]]];
    run_instructions(p);
    int failed = 0;
    for (Py_ssize_t k = 0; k < p->checks && !failed; k++) failed = holds(p, &p->check[k]) != p->check[k].went;
    if (failed) result = Py_NewRef(Py_None);
    else result = PyList_New(p->outputs);
    for (Py_ssize_t k = 0; !failed && result != NULL && k < p->outputs; k++) {
        PyObject *x = PyFloat_FromDouble(p->value[p->output[k]]);
        if (x == NULL) Py_CLEAR(result);
        else PyList_SET_ITEM(result, k, x);
    }
    if (choices && result != NULL) result = Py_BuildValue("Ny#", result, p->taken, p->n);
done:
    PyMem_RawFree(numbers[0]);
    PyMem_RawFree(numbers[1]);
    return result;
}

static PyType_Slot program_slots[] = {
    {Py_tp_doc, "A tape of numbers alone, called with the numbers of its inputs and its parameters."},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_call, program_call},
    {0, NULL},
};

static PyType_Spec program_spec = {
    .name = "micrograd.engine.Program",
    .basicsize = sizeof(Program),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = program_slots,
};

int interpret_init(PyObject *module) { return add_type(module, "Program", &program_spec, &ProgramType); }
