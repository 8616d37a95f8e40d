"""Bridges to other libraries and languages: SciPy, PyTorch, JAX, NumPy, C and ONNX. Each is imported when it is asked for."""
