/* What the files of the optimizers share: optim.c (Slots and updates), optim_step.c (a whole step), optim_vector.c (vectors). */
#ifndef MICROGRAD_OPTIM_SLOTS_H
#define MICROGRAD_OPTIM_SLOTS_H

#include "optim.h"
#include <stdint.h>

#define MOST_KEPT 3
#define MOST_CONSTANTS 16

typedef void (*Update)(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, const double *c);

typedef struct {
    const char *name;
    Update update;
    int kept, constants;
} RuleRow;

typedef struct {
    PyObject_HEAD
    PyObject *values; /* a tuple, which keeps the addresses valid */
    Py_ssize_t n;
    double **at;      /* of the data of each; the gradient is at[i][1] */
    uint8_t *frozen;  /* a byte for each; NULL where none is */
    double *gradient; /* of each, while a step is taken */
    PyObject *owner;  /* of the leaves of the last compiled loss; `place` is where each parameter is among them, or -1 */
    int32_t *place;
} Slots;

typedef struct { /* one update, with all that it reads and writes */
    Slots *slots;
    const RuleRow *rule;
    double constants[MOST_CONSTANTS];
    Py_buffer kept[MOST_KEPT];
    int views; /* of kept, that are to be released */
} Work;

extern ValueLayout value_layout;

static inline int is_frozen(const Slots *s, Py_ssize_t i) { return s->frozen != NULL && s->frozen[i]; }

static inline void look_at_gradients(void) { value_layout.look_at_gradients(); }

int slots_announce(Slots *s, const char *how); /* that they are about to change; -1 with an exception where that is refused */
void slots_zero_all(Slots *s);                 /* set all gradients to zero */
double slots_measure(const Slots *s);          /* the norm of the gradients */

int work_take(Work *w, PyObject *slots, Py_ssize_t rule, PyObject *constants, PyObject *kept);
void work_run(const Work *w, const double *given);
void work_release(Work *w);

PyObject *slots_descend(Slots *s, PyObject *args);
PyObject *slots_dot(PyObject *type, PyObject *args);
PyObject *slots_add(PyObject *type, PyObject *args);
PyObject *slots_copy(Slots *s, PyObject *args);

#endif
