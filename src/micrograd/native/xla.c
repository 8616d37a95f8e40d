/* A handler for XLA's foreign function interface, through which JAX calls machine code without Python (interop/jax.py).

   JAX gives it an array of rows, an array for the results of each row, and the address of a function with the signature
   int (const double *in, double *out, int64_t rows) as the attribute `address`. The structs are those of XLA's C interface, version
   0.3 (xla/ffi/api/c_api.h), as far as they are read here. */

#include <stdlib.h>
#include <string.h>

#include "code.h"

enum { XLA_MAJOR = 0, XLA_MINOR = 3, XLA_METADATA = 1, XLA_S64 = 5, XLA_F32 = 11, XLA_F64 = 12, XLA_SCALAR = 3 };
enum { XLA_INVALID_ARGUMENT = 3, XLA_RESOURCE_EXHAUSTED = 8 };

typedef struct Extension {
    size_t struct_size;
    int type;
    struct Extension *next;
} Extension;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int major, minor;
} Version;

typedef struct { /* what XLA asks for when the handler is registered */
    Extension base;
    struct {
        size_t struct_size;
        Version version;
    } *metadata;
} Metadata;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    const char *message;
    int code;
} ErrorText;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    Version version;
    const void *internal;
    void *(*error)(ErrorText *);
} Interface;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int dtype;
    void *data;
    int64_t rank, *dims;
} Buffer;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int64_t size;
    int *types;
    void **items;
} Buffers;

typedef struct {
    const char *text;
    size_t length;
} Name;

typedef struct {
    int dtype;
    void *value;
} Scalar;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    const Interface *interface;
    void *context;
    int stage;
    Buffers args, results;
    struct {
        size_t struct_size;
        Extension *extensions;
        int64_t size;
        int *types;
        Name **names;
        void **items;
    } attributes;
} Frame;

typedef int (*RowsFunction)(const double *, double *, int64_t);

static void *problem(const Frame *frame, const char *message, int code) {
    ErrorText text = {sizeof text, NULL, message, code};
    return frame->interface->error(&text);
}

static RowsFunction address(const Frame *frame) {
    for (int64_t i = 0; i < frame->attributes.size; i++) {
        const Name *name = frame->attributes.names[i];
        if (name->length != 7 || memcmp(name->text, "address", 7) != 0 || frame->attributes.types[i] != XLA_SCALAR) continue;
        const Scalar *scalar = frame->attributes.items[i];
        int64_t number;
        if (scalar->dtype != XLA_S64) return NULL;
        memcpy(&number, scalar->value, sizeof number);
        return (RowsFunction)(intptr_t)number;
    }
    return NULL;
}

/* Single precision: rows are converted, some at a time. 2 without memory. */
static int narrow_rows(RowsFunction function, const float *in, float *out, int64_t rows, int64_t n, int64_t m) {
    int64_t step = 4096 / (n + m) + 1;
    double *wide = malloc((size_t)(step * (n + m)) * sizeof *wide), *found = wide + step * n;
    int worst = wide == NULL ? 2 : 0;
    for (int64_t from = 0; wide != NULL && from < rows; from += step) {
        int64_t some = rows - from < step ? rows - from : step;
        for (int64_t k = 0; k < some * n; k++) wide[k] = (double)in[from * n + k];
        int failed = function(wide, found, some);
        if (failed > worst) worst = failed;
        for (int64_t k = 0; k < some * m; k++) out[from * m + k] = (float)found[k];
    }
    free(wide);
    return worst;
}

static void *xla_rows(Frame *frame) {
    for (Extension *e = frame->extensions; e != NULL; e = e->next)
        if (e->type == XLA_METADATA) {
            Version *version = &((Metadata *)e)->metadata->version;
            version->major = XLA_MAJOR;
            version->minor = XLA_MINOR;
            return NULL;
        }
    RowsFunction function = address(frame);
    if (function == NULL || frame->args.size != 1 || frame->results.size != 1)
        return problem(frame, "micrograd: a call takes one array, gives one, and has the address of a function", XLA_INVALID_ARGUMENT);
    const Buffer *in = frame->args.items[0], *out = frame->results.items[0];
    if (in->rank < 1 || out->rank != in->rank || in->dtype != out->dtype || (in->dtype != XLA_F64 && in->dtype != XLA_F32))
        return problem(frame, "micrograd: arrays of rows in float32 or float64 are needed", XLA_INVALID_ARGUMENT);
    int64_t rows = 1, n = in->dims[in->rank - 1], m = out->dims[out->rank - 1];
    for (int64_t k = 0; k + 1 < in->rank; k++) rows *= in->dims[k];
    int failed = in->dtype == XLA_F64 ? function(in->data, out->data, rows) : narrow_rows(function, in->data, out->data, rows, n, m);
    return failed == 2 ? problem(frame, "micrograd: there is not enough memory for a call", XLA_RESOURCE_EXHAUSTED) : NULL;
}

int xla_init(PyObject *module) {
    PyObject *address = PyLong_FromVoidPtr(CAST(&xla_rows));
    int failed = address == NULL || PyModule_AddObjectRef(module, "xla_rows_address", address) < 0;
    Py_XDECREF(address);
    return failed ? -1 : 0;
}
