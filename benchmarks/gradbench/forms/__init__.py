"""Other ways to write some of the evals: data as rows of `vmap`, or one compiled function where the tool has several."""
