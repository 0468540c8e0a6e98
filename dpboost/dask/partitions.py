"""Alignment of the partitions of Dask collections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
from dask.delayed import Delayed

from dpboost._utils.validation import InvalidParameterError
from dpboost.dask.partition_tasks import gather


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces:
    """One array for each partition that a fit has created."""

    pieces: list[Delayed]


def is_array(collection: Any) -> bool:
    """Return whether this is a Dask array."""
    return isinstance(collection, da.Array)


def is_dataframe(collection: Any) -> bool:
    """Return whether this is a Dask DataFrame or Series."""
    return dask.is_dask_collection(collection) and hasattr(collection, "map_partitions")


def is_collection(collection: Any) -> bool:
    """Return whether this is a Dask array, DataFrame or Series."""
    return is_array(collection) or is_dataframe(collection)


def example_of(frame: Any) -> Any:
    """Return rows made up with the columns of a Dask DataFrame, of which none is computed."""
    from dask.dataframe.utils import make_meta, meta_nonempty

    return meta_nonempty(make_meta(frame))


def split(collection: Any, name: str) -> list[Delayed]:
    """Return the partitions of a collection, from the first row to the last.

    It is a Dask array, DataFrame or Series, or Pieces; ``name`` is that of the argument, for
    messages.
    """
    if isinstance(collection, Pieces):
        return collection.pieces
    if not is_collection(collection):
        raise InvalidParameterError(
            f"The {name!r} argument must be a Dask array, DataFrame or Series. Got "
            f"{type(collection).__name__} instead: use the estimators of dpboost for rows that "
            "this process holds."
        )
    if is_dataframe(collection):
        # Dask would join partitions of columns that it reads alone, and y would not fit X.
        return list(collection.to_delayed(optimize_graph=False))
    if not 1 <= collection.ndim <= 2:
        raise InvalidParameterError(f"The {name!r} argument must have one or two dimensions.")
    if collection.ndim == 2 and collection.numblocks[1] != 1:
        raise InvalidParameterError(
            f"The columns of the {name!r} argument are in several chunks: put those of a row "
            f"together with {name}.rechunk({{1: -1}})."
        )
    return list(collection.to_delayed().ravel())


def join(
    X: Any, y: Any, weight: Any, init_score: Any, user_ids: Any
) -> tuple[list[Delayed], list[Delayed]]:
    """Return partitions of rows with all that belongs to them, and the same without the tables."""
    columns = {
        "X": X,
        "y": y,
        "sample_weight": weight,
        "init_score": init_score,
        "user_ids": user_ids,
    }
    if y is None:
        raise InvalidParameterError(
            "This estimator requires y to be passed, but the target y is None."
        )
    pieces = {name: split(each, name) for name, each in columns.items() if each is not None}
    n_parts = len(pieces["X"])
    for name, own in pieces.items():
        if len(own) != n_parts:
            raise InvalidParameterError(
                f"The partitions of {name} must be those of X: rechunk or repartition it so that "
                "both are divided at the same rows."
            )
    nothing: list[Any] = [None] * n_parts
    X, *beside = (pieces.get(name, nothing) for name in columns)
    whole, labels = (
        [dask.delayed(gather, pure=False)(*own) for own in zip(tables, *beside, strict=True)]
        for tables in (X, nothing)
    )
    return whole, labels
