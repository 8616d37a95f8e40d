"""A backend is the text of a tape in some language, a compiler and a runner. `python` is the definition of the others."""
