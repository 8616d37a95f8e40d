"""The exceptions of this package: one class for each kind of error that a caller may want to catch."""


class MicrogradError(Exception):
    """The base class of all exceptions of this package, apart from plain TypeErrors and ValueErrors."""


class TraceError(MicrogradError):
    """A function to be compiled does something that a trace cannot record."""


class CompileError(MicrogradError):
    """A tape could not be turned into machine code."""


class AnomalyError(MicrogradError):
    """A nan or an inf appeared inside detect_anomaly()."""


class ClusterError(MicrogradError):
    """Work on a cluster could not be completed, or would not be the same there."""


class GradientError(MicrogradError, AssertionError):
    """check_grad found a derivative that differs from finite differences."""
