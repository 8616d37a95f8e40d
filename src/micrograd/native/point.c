/* Running machine code at one point.

   int f(const double *in, const double *params, double *out, void *scratch);   not 0: a guard failed */

#include <stdatomic.h>

#include "code.h"
#include "platform.h"

/* ---- machine code: a capsule that owns it */

#define CODE_NAME "micrograd.machine_code"

static void code_free(PyObject *capsule) {
    MachineCode *c = PyCapsule_GetPointer(capsule, CODE_NAME);
    Py_XDECREF(c->owner);
    PyMem_Free(c);
}

/* machine_code(address, owner, left, guarded, inputs, params, outputs, scratch, width=0, item=8) -> a capsule, which whatever runs
   the code takes. The owner (of the memory that the code is in) lives as long. The code is that of one point (width 0), or of
   rows, `width` numbers of `item` bytes at a time. left: whether it calls mg_pause or mg_alloc (leave.c). */
PyObject *module_machine_code(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *number;
    MachineCode c = {.item = 8};
    if (!PyArg_ParseTuple(args, "O!Oppnnnn|nn:machine_code", &PyLong_Type, &number, &c.owner, &c.left, &c.guarded, &c.inputs, &c.params,
                          &c.outputs, &c.scratch, &c.width, &c.item))
        return NULL;
    c.address = PyLong_AsVoidPtr(number);
    if (c.address == NULL) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "machine_code(): there is no code at 0");
    if (c.inputs < 0 || c.params < 0 || c.outputs < 0 || c.scratch < 0 || c.width < 0 || c.width > 64 || (c.item != 4 && c.item != 8))
        return PyErr_Format(PyExc_ValueError, "machine_code(): a count, a width or a size is out of range");
    MachineCode *kept = PyMem_Malloc(sizeof c);
    PyObject *capsule = kept == NULL ? PyErr_NoMemory() : PyCapsule_New(kept, CODE_NAME, code_free);
    if (capsule == NULL) {
        PyMem_Free(kept);
        return NULL;
    }
    *kept = c;
    Py_INCREF(c.owner);
    return capsule;
}

const MachineCode *code_of(PyObject *code, int rows) {
    const MachineCode *c = PyCapsule_IsValid(code, CODE_NAME) ? PyCapsule_GetPointer(code, CODE_NAME) : NULL;
    if (c == NULL) PyErr_Format(PyExc_TypeError, "expected what machine_code() gives, not %s", type_name(code));
    else if ((c->width > 0) != rows) PyErr_SetString(PyExc_TypeError, rows ? "expected machine code of rows" : "expected machine code of one point");
    else return c;
    return NULL;
}

int code_fits(const MachineCode *c, Py_ssize_t inputs, Py_ssize_t params, Py_ssize_t outputs, Py_ssize_t scratch) {
    if (c->inputs == inputs && c->params == params && c->outputs == outputs && c->scratch <= scratch) return 1;
    PyErr_Format(PyExc_ValueError, "the machine code has %zd inputs, %zd parameters, %zd outputs and %zd bytes of scratch memory, not %zd, %zd, %zd and %zd",
                 c->inputs, c->params, c->outputs, c->scratch, inputs, params, outputs, scratch);
    return 0;
}

/* Memory for one run. The last run's is kept for the next: to get 300 kB from the system and give them back takes 40 µs. */
static _Atomic(Workspace *) spare_workspace;

Workspace *workspace_take(size_t bytes) { /* NULL without memory; `memory` is aligned to 64 bytes */
    Workspace *w = atomic_exchange(&spare_workspace, NULL);
    if (w != NULL && w->bytes >= bytes && w->bytes / 16 <= bytes + 65536) return w;
    lines_free(w);
    w = lines_alloc(sizeof(Workspace) + bytes);
    if (w != NULL) w->bytes = bytes;
    return w;
}

void workspace_return(Workspace *w) {
    if (w != NULL) lines_free(atomic_exchange(&spare_workspace, w));
}

/* ---- one run */

static inline Py_ssize_t point_width(const Point *p) { return p->op < 0 ? 0 : p->n_first + p->n_params; }

Py_ssize_t point_outputs(const Point *p) {
    Py_ssize_t each = 1 + point_width(p);
    return p->n_out <= PY_SSIZE_T_MAX / each ? p->n_out * each : -1;
}

/* Memory for a run; it begins with n_in numbers, which the caller fills in. */
Workspace *point_space(const Point *p) {
    size_t n_all = in_lines(p->n_out * (1 + point_width(p))), n_params = p->shared ? 0 : in_lines(p->n_params);
    return workspace_take((in_lines(p->n_in) + n_params + n_all + (size_t)p->n_scratch + 8) * sizeof(double));
}

static PyObject *point_node(const Point *p, Py_ssize_t output, double y, const double *partials) {
    Py_ssize_t width = point_width(p), kept = width;
    const char *unread = p->unread ? p->unread + output * width : NULL;
    for (Py_ssize_t k = 0; unread != NULL && k < width; k++) kept -= unread[k] != 0;
    if (kept == 0 && width > 0) return (PyObject *)node_alloc(y);
    if (p->shared != NULL && p->n_first == 0 && kept == width) {
        double *out;
        Shared *s = shared_new(p->shared, &out);
        if (s == NULL) return NULL;
        memcpy(s->block.partial, partials, (size_t)width * sizeof(double));
        return make_shared(p->op, y, s);
    }
    Block *block = block_new(kept);
    if (block == NULL) return NULL;
    for (Py_ssize_t k = 0, to = 0; k < width; k++) {
        if (unread != NULL && unread[k]) continue;
        block->in[to] = (Node *)(k < p->n_first ? p->first[k] : p->params[k - p->n_first]);
        block->partial[to++] = partials[k];
    }
    return make_many(p->op, y, block);
}

/* A guard failed (1), an error is set (-1), or neither (0). A function of its own, for setjmp leaves variables that change unknown. */
int point_call(PointFunction function, const double *in, const double *params, double *out, void *scratch, int hold) {
    Running running;
    Listening listening = {.caller = hold ? NULL : PyEval_SaveThread(), .looked = 0.0};
    int failed;
    CALL_CODE(failed, &running, point_asked, &listening, function(in, params, out, scratch));
    if (listening.caller != NULL) PyEval_RestoreThread(listening.caller);
    if (failed == CODE_NO_MEMORY) PyErr_NoMemory();
    return failed == CODE_NO_MEMORY || failed == CODE_INTERRUPTED ? -1 : failed != 0;
}

/* 1: results holds n_out new references; 0: a guard failed; -1: an error is set. The code gives n_out values, and then for each
   its partials. */
int point_run(const Point *p, Workspace *space, PyObject **results) {
    double *in = (double *)space->memory, *room = in + in_lines(p->n_in), *out = room + (p->shared ? 0 : in_lines(p->n_params));
    const double *params = room;
    Py_ssize_t width = point_width(p);
    double *scratch = out + in_lines(p->n_out * (1 + width));
    Numbers *numbers = NULL;
    Shared *direct = NULL; /* one node over what was captured: its partials are written where they stay */
    if (p->shared != NULL) {
        if ((numbers = captured_take(p->shared)) == NULL) return -1;
        params = numbers->number;
        if (p->op >= 0 && p->n_out == 1 && p->n_first == 0 && p->unread == NULL && (direct = shared_new(p->shared, &out)) == NULL) {
            captured_give(numbers);
            return -1;
        }
    } else {
        Operand o;
        for (Py_ssize_t i = 0; i < p->n_params; i++) {
            int got = operand(p->params[i], &o);
            if (got == 0) refuse(p->params[i]);
            if (got <= 0) return -1;
            room[i] = o.data;
        }
    }
    int failed = point_call(p->function, in, params, out, scratch, 0);
    if (numbers != NULL) captured_give(numbers);
    if (failed) {
        if (direct != NULL) shared_free(direct);
        return failed < 0 ? -1 : 0;
    }
    if (direct != NULL) return (results[0] = make_shared(p->op, out[0], direct)) != NULL ? 1 : -1;
    for (Py_ssize_t i = 0; i < p->n_out; i++) {
        results[i] = p->op < 0 ? PyFloat_FromDouble(out[i]) : point_node(p, i, out[i], out + p->n_out + i * width);
        if (results[i] != NULL) continue;
        while (i-- > 0) Py_CLEAR(results[i]);
        return -1;
    }
    return 1;
}

/* point(code, numbers, params, n_out, n_scratch, op, inputs, unread=None) -> list of outputs, or None when a guard failed.
   params: a list, or what captured() gives. With an op, outputs are nodes over the inputs and the params, but for those that
   have a 1 in `unread`: bytes, one for each partial. */
PyObject *module_point(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *code, *numbers, *params, *op, *first, *unread = Py_None;
    Point p = {.op = -1};
    if (!PyArg_ParseTuple(args, "OOOnnOO!|O:point", &code, &numbers, &params, &p.n_out, &p.n_scratch, &op, &PyList_Type, &first, &unread))
        return NULL;
    if (is_captured(params)) p.shared = (Captured *)params;
    else if (!PyList_Check(params)) return PyErr_Format(PyExc_TypeError, "point(): params are a list of Values");
    const MachineCode *machine = code_of(code, 0);
    if (machine == NULL) return NULL;
    p.function = (PointFunction)machine->address;
    if (p.n_out < 0 || p.n_scratch < 0 || p.n_scratch > MOST_SCRATCH) return PyErr_Format(PyExc_ValueError, "point(): a count is out of range");
    /* reading a number may run Python code, and other threads run while the machine code does: no list may change meanwhile */
    PyObject *result = NULL;
    numbers = PySequence_Tuple(numbers);
    first = PyList_AsTuple(first);
    params = p.shared ? Py_NewRef(params) : PyList_AsTuple(params);
    Workspace *space = NULL;
    if (numbers == NULL || first == NULL || params == NULL) goto done;
    p.n_in = PyTuple_GET_SIZE(numbers);
    p.n_params = Py_SIZE(params);
    p.params = p.shared ? (PyObject **)p.shared->item : ((PyTupleObject *)params)->ob_item;
    p.n_first = PyTuple_GET_SIZE(first);
    p.first = ((PyTupleObject *)first)->ob_item;
    if (op != Py_None && ((p.op = (int)row_of(op)) < 0 || !all_values(first) || (!p.shared && !all_values(params)))) goto done;
    if (!code_fits(machine, p.n_in, p.n_params, point_outputs(&p), p.n_scratch * 8)) goto done;
    if (unread != Py_None) {
        if (!PyBytes_Check(unread) || PyBytes_GET_SIZE(unread) != p.n_out * point_width(&p)) {
            PyErr_SetString(PyExc_TypeError, "point(): unread is None, or bytes: one for each partial");
            goto done;
        }
        p.unread = PyBytes_AS_STRING(unread);
    }
    if ((space = point_space(&p)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < p.n_in; i++) {
        Operand o;
        int got = operand(PyTuple_GET_ITEM(numbers, i), &o);
        if (got == 0) refuse(PyTuple_GET_ITEM(numbers, i));
        if (got <= 0) goto done;
        ((double *)space->memory)[i] = o.data;
    }
    if ((result = PyList_New(p.n_out)) == NULL) goto done;
    int ran = point_run(&p, space, ((PyListObject *)result)->ob_item);
    if (ran <= 0) Py_SETREF(result, ran < 0 ? NULL : Py_NewRef(Py_None));
done:
    workspace_return(space);
    Py_XDECREF(numbers);
    Py_XDECREF(first);
    Py_XDECREF(params);
    return result;
}
