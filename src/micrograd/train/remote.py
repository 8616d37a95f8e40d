"""The data of fit on a cluster: rows that stay on the workers of a Dask client while the parameters go to and fro."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.cluster.columns import chunk_rows, dask_array, is_collection
from micrograd.train.objective import Examples, mapped


def is_remote(x: Any) -> bool:
    """Whether data are a Dask array or a column of a Dask dataframe."""
    return is_collection(x)


def rows_of(X: Any, y: Any, client: Any, batch_size: int | None) -> Examples:
    """Return the rows of data wherever they are; what cannot be trained on is refused."""
    if not is_remote(X) and not is_remote(y):
        return Examples(X, y)
    if client is None:
        raise TypeError("the data are Dask collections, which are trained on by a cluster: fit(..., client=client)")
    if not is_remote(X) or not is_remote(y):
        raise TypeError("either inputs and targets are both Dask collections, or neither of them is")
    if batch_size is not None:
        raise ValueError(
            "batches are drawn from rows in this process, and Dask collections stay on the cluster: leave batch_size out, "
            "or call .compute() on data that fit into memory"
        )
    return RemoteRows(dask_array(X, "the input").astype(float), dask_array(y, "the target").astype(float))


def spread(array: Any, client: Any) -> Any:
    """Put an array on the workers, in the chunks in which it is computed; Dask makes those of a lost worker again."""
    import dask.array as da

    return client.persist(da.from_array(array, chunks=(chunk_rows(len(array)), *array.shape[1:])))


def here(x: Any) -> Any:
    """Fetch what is on the cluster or on a GPU, in any arrangement."""
    if is_remote(x):
        return x.compute()
    if getattr(x, "on_device", False) is True:
        return x.to_numpy()
    return mapped(here, x) if isinstance(x, (list, tuple, dict)) else x


class RemoteRows(Examples):
    """Inputs and targets that are Dask arrays: only the rows that are asked for come to this process."""

    def lists(self, part: Any) -> tuple[list[Any], list[Any]]:
        """Fetch some rows."""
        X: Any = self.X
        return list(here(X if part is None else X[list(part)])), self.targets(part)

    def targets(self, part: Any) -> list[Any]:
        """Fetch the targets of some rows."""
        y: Any = self.y
        return here(y if part is None else y[list(part)]).tolist()  # type: ignore[no-any-return]

    def first(self) -> Any:
        """Fetch the first input."""
        return here(self.X[0])

    def arrays(self) -> tuple[Any, Any]:
        """Return the Dask arrays themselves."""
        return self.X, self.y

    def first_not_finite(self) -> int | None:
        """The number of the first row whose input is not finite, found on the cluster."""
        import dask.array as da

        bad = ~da.isfinite(self.X)
        by_row = bad if bad.ndim == 1 else bad.any(axis=tuple(range(1, bad.ndim)))
        return int(by_row.argmax().compute()) if bool(by_row.any().compute()) else None


def sizes(y: Sequence[Any]) -> int:
    """How many targets a row of an array has."""
    count = 1
    for n in getattr(y, "shape", (0,))[1:]:
        count *= n
    return count
