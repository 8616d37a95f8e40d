"""What can go wrong, one class for each thing that a caller may want to catch."""


class MicrogradError(Exception):
    """The parent of all errors of this package that are not plain TypeErrors or ValueErrors."""
