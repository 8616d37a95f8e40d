"""GradBench's twelve evals: plain Python compiled by this package, beside C written by hand, JAX and PyTorch."""
