"""The evals in JAX and in PyTorch, as one writes them there: whole arrays at a time."""
