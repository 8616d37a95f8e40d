"""The compiler: trace.py → tape.py → passes.py → backends/ → jit.py, in the order in which a function passes through."""
