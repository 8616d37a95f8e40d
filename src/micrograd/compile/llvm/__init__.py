"""The LLVM backend: the text of a tape, and machine code made from it by llvmlite."""
