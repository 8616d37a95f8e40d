"""What may stand beside a Value or hold Values: NumPy's arrays and calls, subclasses, rounding, the user's lines."""
