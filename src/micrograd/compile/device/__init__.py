"""Rows on a device: kernels as LLVM text, and how they are run. What a device is, cuda/ and opencl/ say, each with a driver."""
