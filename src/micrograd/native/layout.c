/* How the numbers of a call lie in its arguments: nested lists and tuples as a key of bytes. */

#include "code.h"

/* lay_flat(x, leaves) -> a key as bytes, with the numbers and Values of nested lists and tuples appended to leaves; None (and
   leaves to be thrown away) where something else is among them: flatten then does it. */
static int lay_flat(PyObject *x, PyObject *leaves, List *key, int depth) {
    if (key->n == key->room && list_grow(key, 1) < 0) return -1;
    int is_list = PyList_CheckExact(x);
    if (is_list || PyTuple_CheckExact(x)) {
        if (depth > 32) return 0;
        if (x == leaves) { /* it would grow while it is read */
            PyErr_SetString(PyExc_ValueError, "lay_flat(): the list of leaves is a part of what is laid out");
            return -1;
        }
        key->item[key->n++] = is_list ? '[' : '(';
        for (Py_ssize_t i = 0; i < Py_SIZE(x); i++) {
            int done = lay_flat(is_list ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), leaves, key, depth + 1);
            if (done <= 0) return done;
        }
        if (key->n == key->room && list_grow(key, 1) < 0) return -1;
        key->item[key->n++] = ']';
        return 1;
    }
    int is_node = Py_IS_TYPE(x, ValueType);
    if (!is_node && !PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return 0;
    key->item[key->n++] = is_node ? 'v' : '*';
    return PyList_Append(leaves, x) < 0 ? -1 : 1;
}

PyObject *module_lay_flat(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *x, *leaves, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!:lay_flat", &x, &PyList_Type, &leaves)) return NULL;
    List key = {0};
    int done = lay_flat(x, leaves, &key, 0);
    if (done > 0 && (result = PyBytes_FromStringAndSize(NULL, key.n)) != NULL)
        for (Py_ssize_t i = 0; i < key.n; i++) PyBytes_AS_STRING(result)[i] = (char)key.item[i];
    PyMem_RawFree(key.item);
    if (done == 0) result = Py_NewRef(Py_None);
    if (result == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return result;
}

/* Whether a double holds an int, with room to spare; the general way sees to larger ones. */
int whole_number(PyObject *x, double *to) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(x, &overflow);
    *to = (double)number;
    return !overflow && -EXACT_INT <= number && number <= EXACT_INT;
}

/* ---- the same again, for arguments that should be laid out as in a key

   f, i, *        a float, an int, either
   t              a number of another class, such as a scalar of NumPy's; that class
   [ ... ]  ( ... ]   a list, a tuple
   { ... ]        a dict; the next of the refs has its keys, in order
   n ... ]        a named tuple; its class
   o ... ]        an object; its class, and the names of its attributes, in order
   s ... ]        an object with slots; its class, and the names of all of them
   a ... ]        an array of floats, doubles or whole numbers; its class and its shape
   =              a constant; that one

   signature.py writes keys, and the refs for them. */

static int same_constant(PyObject *x, PyObject *then) { /* runs no Python code; 0 where it might be needed to tell */
    if (x == then) return 1;
    if (PyUnicode_CheckExact(x) && PyUnicode_CheckExact(then)) return PyUnicode_Compare(x, then) == 0;
    if (PyLong_CheckExact(x) && PyLong_CheckExact(then)) return PyObject_RichCompareBool(x, then, Py_EQ) == 1;
    return PyFloat_CheckExact(x) && PyFloat_CheckExact(then) && memcmp(&((PyFloatObject *)x)->ob_fval, &((PyFloatObject *)then)->ob_fval, sizeof(double)) == 0;
}

/* The elements of an array as doubles; whole numbers as far as a double holds them. */
#define LAY_FLOATS(T) for (size_t i = 0; i < n; i++) at->to[i] = (double)((const T *)from)[i]
#define LAY_WHOLE(T) \
    for (size_t i = 0; i < n; i++) { \
        T x = ((const T *)from)[i]; \
        if ((double)x < -(double)EXACT_INT || (double)x > (double)EXACT_INT) return 0; \
        at->to[i] = (double)x; \
    }

static int lay_elements(char format, Py_ssize_t size, const void *from, size_t n, Laying *at) {
    const char *kinds = format == 'd' || format == 'f' ? "f*" : "i*";
    if (strspn(at->key, kinds) < n || at->key[n] != ']') return 0;
    if (format == 'd' && size == sizeof(double)) memcpy(at->to, from, n * sizeof(double));
    else if (format == 'f' && size == sizeof(float)) LAY_FLOATS(float);
    else if (format == 'b' && size == 1) LAY_WHOLE(signed char)
    else if (format == 'B' && size == 1) LAY_WHOLE(unsigned char)
    else if (format == 'h' && size == sizeof(short)) LAY_WHOLE(short)
    else if (format == 'H' && size == sizeof(short)) LAY_WHOLE(unsigned short)
    else if (format == 'i' && size == sizeof(int)) LAY_WHOLE(int)
    else if (format == 'I' && size == sizeof(int)) LAY_WHOLE(unsigned int)
    else if (format == 'l' && size == sizeof(long)) LAY_WHOLE(long)
    else if (format == 'L' && size == sizeof(long)) LAY_WHOLE(unsigned long)
    else if (format == 'q' && size == sizeof(long long)) LAY_WHOLE(long long)
    else if (format == 'Q' && size == sizeof(long long)) LAY_WHOLE(unsigned long long)
    else return 0;
    at->to += n;
    at->key += n + 1;
    return 1;
}

static int lay_array(PyObject *x, PyObject *shape, Laying *at) {
    Py_buffer view;
    if (PyObject_GetBuffer(x, &view, PyBUF_FORMAT | PyBUF_STRIDES) < 0) return PyErr_Clear(), 0;
    int good = view.itemsize > 0 && strlen(view.format) == 1 && view.ndim == PyTuple_GET_SIZE(shape);
    for (int i = 0; good && i < view.ndim; i++) good = view.shape[i] == PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    void *copy = NULL, *from = view.buf; /* in a row: of a column, or of every second element */
    if (good && !PyBuffer_IsContiguous(&view, 'C')) {
        from = copy = PyMem_Malloc((size_t)view.len + 1);
        good = copy != NULL && PyBuffer_ToContiguous(copy, &view, view.len, 'C') == 0;
        if (!good) PyErr_Clear();
    }
    good = good && lay_elements(view.format[0], view.itemsize, from, (size_t)(view.len / view.itemsize), at);
    PyMem_Free(copy);
    PyBuffer_Release(&view);
    return good;
}

static int lay_dict(PyObject *dict, PyObject *names, Laying *at) {
    PyObject *name, *item;
    Py_ssize_t i = 0, n = PyTuple_GET_SIZE(names);
    int done = 1;
    Py_INCREF(dict);
    for (Py_ssize_t place = 0; done && PyDict_Next(dict, &place, &name, &item); i++)
        done = i < n && same_constant(name, PyTuple_GET_ITEM(names, i)) && lay_again(item, at);
    Py_DECREF(dict);
    return done && i == n && *at->key++ == ']';
}

static int lay_object(PyObject *x, PyObject *names, Laying *at) {
    Py_INCREF(x); /* making a dict of attributes may collect garbage, which runs anything */
    PyObject *dict = PyObject_GenericGetDict(x, NULL);
    int done = dict != NULL && PyDict_CheckExact(dict) && lay_dict(dict, names, at);
    if (dict == NULL) PyErr_Clear();
    Py_XDECREF(dict);
    Py_DECREF(x);
    return done;
}

static int lay_slots(PyObject *x, PyObject *names, Laying *at) { /* signature.py: the names are those of member descriptors */
    int done = 1;
    Py_INCREF(x);
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *item = PyObject_GetAttr(x, PyTuple_GET_ITEM(names, i));
        done = item != NULL && lay_again(item, at);
        if (item == NULL) PyErr_Clear();
        Py_XDECREF(item);
    }
    Py_DECREF(x);
    return done && *at->key++ == ']';
}

static int lay_scalar(PyObject *x, Laying *at) { /* of a class that is written in C, whose __float__ is too: signature.py */
    if (PyFloat_Check(x)) {
        *at->to++ = PyFloat_AS_DOUBLE(x);
        return 1;
    }
    PyNumberMethods *methods = Py_TYPE(x)->tp_as_number;
    PyObject *number = methods != NULL && methods->nb_float != NULL ? methods->nb_float(x) : NULL;
    int good = number != NULL && PyFloat_CheckExact(number);
    if (good) *at->to++ = PyFloat_AS_DOUBLE(number);
    else PyErr_Clear();
    Py_XDECREF(number);
    return good;
}

/* 1, and the numbers are in at->to; 0 where x is laid out otherwise. No error is set. */
int lay_again(PyObject *x, Laying *at) {
    char want = *at->key++;
    if (want == '*' || want == 'f' || want == 'i') {
        if (want != 'i' && PyFloat_CheckExact(x)) {
            *at->to++ = PyFloat_AS_DOUBLE(x);
            return 1;
        }
        return want != 'f' && PyLong_CheckExact(x) && whole_number(x, at->to++);
    }
    PyObject *const *ref = at->ref;
    switch (want) {
    case 't': at->ref += 1; return Py_IS_TYPE(x, (PyTypeObject *)ref[0]) && lay_scalar(x, at);
    case '=': at->ref += 1; return same_constant(x, ref[0]);
    case '{': at->ref += 1; return PyDict_CheckExact(x) && lay_dict(x, ref[0], at);
    case 'o': at->ref += 2; return Py_IS_TYPE(x, (PyTypeObject *)ref[0]) && lay_object(x, ref[1], at);
    case 's': at->ref += 2; return Py_IS_TYPE(x, (PyTypeObject *)ref[0]) && lay_slots(x, ref[1], at);
    case 'a': at->ref += 2; return Py_IS_TYPE(x, (PyTypeObject *)ref[0]) && lay_array(x, ref[1], at);
    case 'n': at->ref += 1; if (!Py_IS_TYPE(x, (PyTypeObject *)ref[0]) || !PyTuple_Check(x)) return 0; break;
    case '[': if (!PyList_CheckExact(x)) return 0; break;
    case '(': if (!PyTuple_CheckExact(x)) return 0; break;
    default: return 0;
    }
    int done = 1;
    Py_INCREF(x); /* see lay_object */
    for (Py_ssize_t i = 0; done && i < Py_SIZE(x); i++)
        done = lay_again(want == '[' ? PyList_GET_ITEM(x, i) : PyTuple_GET_ITEM(x, i), at);
    Py_DECREF(x);
    return done && *at->key++ == ']';
}

/* Whether a part of a key is one, with refs of the kinds that it asks for; counts the numbers. */
static int check_part(const char **key, PyObject *refs, Py_ssize_t *ref, Py_ssize_t *numbers, int depth) {
    char kind = *(*key)++;
    if (kind == '*' || kind == 'f' || kind == 'i') return ++*numbers;
    if (kind == 0 || strchr("=[({nosat", kind) == NULL || depth > 64) return 0;
    Py_ssize_t wanted = kind == '=' || kind == 't' || kind == '{' || kind == 'n' ? 1 : kind == 'o' || kind == 's' || kind == 'a' ? 2 : 0, parts = 0;
    if (*ref + wanted > PyTuple_GET_SIZE(refs)) return 0;
    PyObject *first = wanted > 0 ? PyTuple_GET_ITEM(refs, *ref) : NULL, *last = wanted > 0 ? PyTuple_GET_ITEM(refs, *ref + wanted - 1) : NULL;
    *ref += wanted;
    if (kind == '=') return 1;
    if (kind == 't') return PyType_Check(first) && ++*numbers;
    if ((kind == 'n' || wanted == 2) && !PyType_Check(first)) return 0;
    if ((kind == '{' || wanted == 2) && !PyTuple_CheckExact(last)) return 0;
    for (Py_ssize_t i = 0; kind == 'a' && i < PyTuple_GET_SIZE(last); i++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(last, i)) || PyLong_AsSsize_t(PyTuple_GET_ITEM(last, i)) < 0) return PyErr_Clear(), 0;
    for (; **key != ']'; parts++)
        if ((kind == 'a' && !strchr("*fi", **key)) || !check_part(key, refs, ref, numbers, depth + 1)) return 0;
    ++*key;
    return !(kind == '{' || kind == 'o' || kind == 's') || parts == PyTuple_GET_SIZE(last);
}

/* How many numbers a call has whose arguments are laid out so; -1 with an error set where this is no layout. */
Py_ssize_t layout_check(PyObject *key, PyObject *refs, PyObject *names) {
    const char *at = PyBytes_AS_STRING(key), *end = at + PyBytes_GET_SIZE(key);
    Py_ssize_t ref = 0, numbers = 0;
    int good = *at == '(' && strlen(at) == (size_t)(end - at) && check_part(&at, refs, &ref, &numbers, 0) && at == end;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) good = good && PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i));
    if (good && ref == PyTuple_GET_SIZE(refs)) return numbers;
    PyErr_Format(PyExc_ValueError, "%R is no layout of arguments", key);
    return -1;
}

/* The numbers of a call, laid out as a layout says: first those of `bound`, if there is one; 1, or 0 where they lie otherwise. */
int lay_call(const Layout *layout, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, double *to) {
    Py_ssize_t n = PyTuple_GET_SIZE(layout->names);
    if ((kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)) != n) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!same_constant(PyTuple_GET_ITEM(kwnames, i), PyTuple_GET_ITEM(layout->names, i))) return 0;
    Laying at = {PyBytes_AS_STRING(layout->key) + 1, ((PyTupleObject *)layout->refs)->ob_item, to};
    if (layout->bound != NULL && !lay_again(layout->bound, &at)) return 0;
    for (Py_ssize_t i = 0; i < nargs + n; i++)
        if (!lay_again(args[i], &at)) return 0;
    return *at.key == ']';
}
