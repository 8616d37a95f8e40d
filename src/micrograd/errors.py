"""What can go wrong, one class for each thing that a caller may want to catch."""


class MicrogradError(Exception):
    """The parent of all errors of this package that are not plain TypeErrors or ValueErrors."""


class TraceError(MicrogradError):
    """A function did something that a trace cannot see."""


class CompileError(MicrogradError):
    """A tape could not be turned into machine code."""


class AnomalyError(MicrogradError):
    """A nan or an inf appeared inside detect_anomaly()."""


class GradientError(MicrogradError, AssertionError):
    """check_grad found a derivative that differs from finite differences."""
