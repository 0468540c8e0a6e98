"""Prediction of Dask collections by partition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array
import numpy as np
import scipy.sparse
from dask.array.utils import meta_from_array

from dpboost._utils.validation import InvalidParameterError
from dpboost.dask.partitions import example_of, is_array, is_dataframe


def predict_collection(predict: Callable[[Any], Any], X: Any) -> Any:
    """Apply a released model to every partition.

    ``predict(rows)`` returns an array or a sparse matrix with one line for each row, or a list of
    them. The result is computed when it is asked for. What is sparse stays so; a list comes of each
    partition.

    Privacy
    -------
    A map of each row by a released model.
    """
    task = partial(_predict_part, predict)
    if is_dataframe(X) and X.ndim == 2:
        shape = np.shape(predict(example_of(X).iloc[:1]))
        meta: Any = np.empty((0, *shape[1:]))
        return X.map_partitions(task, shape[1:], meta=_frame(meta, None)).values
    if is_array(X) and X.ndim == 2:
        row = np.zeros((1, X.shape[1]))
        kind = meta_from_array(X)
        sample = predict(type(kind)(row) if scipy.sparse.issparse(kind) else row)
        one = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if isinstance(sample, list):
            return _several(predict, one, sample)
        shape = sample.shape
        chunks = (X.chunks[0], *((size,) for size in shape[1:]))
        options: dict[str, Any] = {} if len(shape) == 2 else {"drop_axis": 1}
        if scipy.sparse.issparse(sample):
            return one.map_blocks(predict, chunks=chunks, meta=sample[:0])
        meta = np.empty((0,) * len(shape))
        return one.map_blocks(task, shape[1:], chunks=chunks, meta=meta, **options)
    raise InvalidParameterError(
        "The 'X' argument of predict must be a Dask array or DataFrame with rows and columns. Got "
        f"{type(X).__name__} instead: to_local() predicts the rows of this process."
    )


def _several(predict: Callable[[Any], Any], X: Any, sample: list[Any]) -> list[Any]:
    """Return a collection for each sparse matrix of a prediction, as LightGBM does."""
    found = [dask.delayed(predict)(part) for part in X.to_delayed()[:, 0]]
    stack = dask.delayed(partial(scipy.sparse.vstack, format=sample[0].format))
    return [
        dask.array.from_delayed(
            stack([parts[place] for parts in found]),
            shape=(X.shape[0], each.shape[1]),
            meta=each[:0],
        )
        for place, each in enumerate(sample)
    ]


def _predict_part(predict: Callable[[Any], Any], rows: Any, width: tuple[int, ...]) -> Any:
    """Predict the rows of one partition, which may have none."""
    found = np.asarray(predict(rows)) if rows.shape[0] else np.empty((0, *width))
    return _frame(found, rows.index) if hasattr(rows, "iloc") else found


def _frame(found: np.ndarray, index: Any) -> Any:
    """Return predictions in the pandas type that map_partitions wants."""
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, index=index, name="predictions")
    return pd.DataFrame(found, index=index)
