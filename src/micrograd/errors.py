"""The exceptions of this package: one class for each kind of error that a caller may want to catch."""


class MicrogradError(Exception):
    """The base class of all exceptions of this package, apart from plain TypeErrors and ValueErrors.

    >>> from micrograd import MicrogradError, jit
    >>> try:
    ...     jit(lambda x: {1.0: 2.0}[x])(1.0)
    ... except MicrogradError as error:
    ...     print(type(error).__name__)
    TraceError
    """


class TraceError(MicrogradError):
    """A function to be compiled does something that a trace cannot record.

    >>> from micrograd import TraceError, jit
    >>> try:
    ...     jit(lambda x: x.data * 2.0)(1.0)
    ... except TraceError as error:
    ...     print(str(error).split(", at")[0])
    .data of a Value read inside a compiled function
    """

    of_number = (
        False  # whether a number was read, as for the text of an exception, and nothing else was done with a Value
    )
    unsteady = False  # whether two runs differ: perhaps by something outside, which another thread may have changed


class CompileError(MicrogradError):
    """A tape could not be turned into machine code.

    >>> from micrograd import CompileError, export_c
    >>> try:
    ...     export_c(lambda x: None, 1.0)
    ... except CompileError as error:
    ...     print(error)
    <lambda> returns no numbers, so there is nothing to export
    """


class AnomalyError(MicrogradError):
    """A nan or an inf appeared inside detect_anomaly().

    >>> from micrograd import AnomalyError, Value, detect_anomaly, math
    >>> try:
    ...     with detect_anomaly():
    ...         math.log(Value(0.0))
    ... except AnomalyError as error:
    ...     print(str(error).splitlines()[1])
      log(0.0) = -inf
    """


class ClusterError(MicrogradError):
    """Work on a cluster could not be completed, or would not be the same there."""


class GradientError(MicrogradError, AssertionError):
    """check_grad found a derivative that differs from finite differences.

    >>> from micrograd import GradientError, check_grad, primitive
    >>> @primitive(lambda x, y: 2.0 * x * x)
    ... def cube(x):
    ...     return x * x * x
    >>> try:
    ...     check_grad(cube, 2.0)
    ... except GradientError as error:
    ...     print(str(error).splitlines()[1])
      argument 0: backward() gives 8, finite differences 12
    """
