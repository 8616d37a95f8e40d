"""Machine code of typed tapes: who owns each array (inplace), LLVM text (emit, memory), and how it is called (kernel)."""
