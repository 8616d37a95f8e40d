"""The rows of a batch on a cluster: `vmap(f, client=client)` with a client of dask.distributed.

columns.py   the rows of an argument, chunk by chunk: NumPy arrays, ranges, Dask arrays and dataframe columns
worker.py    what a worker does: it compiles the tape once, and sums blocks of rows
run.py       what the caller does: it hands out chunks, waits, and adds the blocks in the order of their numbers
vmap.py      Vmap with those two in place of threads
"""
