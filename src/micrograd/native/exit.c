/* The end of a process in which a thread compiles. Python stops its threads where they want the interpreter lock, but a thread
   that is inside of LLVM goes on while exit() destroys the globals of LLVM. Waiting for it could take minutes. So the process
   ends at once after Python has been finalized, with its status, and without the destructors of libraries. */

#include "code.h"

#ifdef __GLIBC__ /* only there does a function that is called at exit know the status */

#include <stdlib.h>
#include <unistd.h>

static int compiling; /* written with the interpreter lock, read when there is no interpreter any longer */

static void end_at_once(int status, void *nothing) {
    (void)nothing;
    fflush(NULL);
    _exit(status);
}

static void after_python(void) { /* what is registered last is called first, before any destructor */
    if (compiling) on_exit(end_at_once, NULL);
}

PyObject *module_compiling(PyObject *module, PyObject *on) {
    static int registered; /* 1: it was; -1: there was no room */
    (void)module;
    int now = PyObject_IsTrue(on);
    if (now < 0) return NULL;
    if (registered == 0) registered = Py_AtExit(after_python) == 0 ? 1 : -1;
    compiling = now;
    return PyBool_FromLong(registered > 0);
}

#else

PyObject *module_compiling(PyObject *module, PyObject *on) {
    (void)module;
    return PyObject_IsTrue(on) < 0 ? NULL : Py_NewRef(Py_False);
}

#endif
