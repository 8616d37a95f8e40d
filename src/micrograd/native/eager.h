/* What eager.c asks of shape.c, how numbers lie in an argument or a result, and of run.c, what is known of a run. */

#ifndef MICROGRAD_EAGER_H
#define MICROGRAD_EAGER_H

#include "engine.h"

/* Each entry but a number is followed by its length; that of an array by the count of its axes, and these. */
enum { NUMBER_HERE, LIST_HERE, TUPLE_HERE, DICT_HERE, ARRAY_HERE };

typedef struct {
    List entry;     /* in the order in which they are met */
    PyObject *keys; /* NULL, or a list of tuples: those of the dicts */
    PyObject **leaf;
    Py_ssize_t n, room; /* leaves */
    PyObject *few[8];   /* room for these in a small shape, and for its entries */
    uintptr_t few_entries[16];
} Shape;

typedef struct Place { /* where in a shape: what is built next */
    const Shape *shape;
    Py_ssize_t entry, dict, leaf;
    PyObject *(*number)(struct Place *);
    PyObject *const *objects; /* what number() gives; or */
    const double *numbers;
    int of_values; /* whether arrays hold Values; else numbers */
} Place;

void shape_init(Shape *s);
void shape_drop(Shape *s);
int shape_of(Shape *s, PyObject *x, int values, int depth); /* 1: appended; 0: x holds something else than numbers; -1: no memory */
PyObject *shape_object(Place *p);                           /* two kinds of number() */
PyObject *shape_float(Place *p);
PyObject *build(Place *p); /* what has the shape, from the place on */
PyObject *module_set_arrays(PyObject *module, PyObject *args);
int numpy_is_watched(void); /* or not imported; else trace.py sees to it */

/* ---- derivatives.c */

/* The derivatives of m roots with respect to k leaves, row by row, from the graph of a trace; with `along`, those of each root in
   this direction, or the gradient of the sum of the roots times these numbers. `ends` is the op that ends all sweeps. 0; -1 with an error set; 1 where the graph is left to the tape. */
int derive(PyObject *const *roots, Py_ssize_t m, Node *const *in, Py_ssize_t k, unsigned trace, PyObject *ends, const double *along,
           int forward, double *to);

/* ---- mode.c, run.c, eager.c */

void enter_trace(unsigned trace, PyObject *watcher);
void leave_trace(void);
int eager_init(PyObject *module);

typedef struct Run {
    PyObject_HEAD
    PyObject *f, *told;
    PyObject *frame;   /* that called the transform; NULL without one */
    PyObject *refused; /* a list of the errors that the function may have caught */
    Shape *arguments;  /* NULL when the run has ended */
    Node **inputs;     /* the leaves of the shape, as Values */
    unsigned serial;
    PyObject *kinds; /* what kinds.py keeps for it; NULL where nobody has asked for a class */
    struct Run *outer;
} Run;

Run *run_new(PyObject *f, PyObject *told);
void run_begin(Run *r, Shape *arguments, Node **inputs); /* from here on, the thread is inside of it */
void run_leave(Run *r);
void run_end(Run *r); /* releases it */
int run_init(PyObject *module);

#endif
