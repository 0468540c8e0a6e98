"""Rows in batches, which are never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.columns import is_categorical
from dpboost.data.containers import (
    arrow_kind,
    as_array,
    is_frame,
    is_sequence,
    sequence_slices,
    unpack,
)
from dpboost.data.fingerprint import RowHash, new_key

# Rows read at a time from a source that does not say how many it likes.
ROWS_AT_ONCE = 1 << 16
READ_ONCE = (
    "The batches of X come from an iterator, which gives its rows once, and this fit reads them "
    "more often: {reason}. Pass a source that can be read again: a lightgbm.Sequence, a list of "
    "batches, a pyarrow.dataset.Dataset, or an object whose __iter__ starts again."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Batch:
    """Some rows: a table of a supported kind, with its labels and weights."""

    #: Array or DataFrame of shape (n, n_features).
    X: Any
    #: Ndarray of shape (n,) or None.
    label: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows; private."""
        return int(self.X.shape[0])


class Batches:
    """A table in batches of rows, read from its beginning by each iteration.

    Parameters
    ----------
    source : any object
        One for which `is_batched` holds. What it gives are arrays, DataFrames, Arrow or polars
        tables, or tuples ``(X, y)`` and ``(X, y, weight)`` of one of them and arrays.
    label, weight : str, optional
        Names of columns that hold them.

    Attributes
    ----------
    read_labels : callable or None
        Applied to all labels together.

    Privacy
    -------
    Holds private rows and releases nothing.
    """

    def __init__(
        self,
        source: Any,
        *,
        label: str | None = None,
        weight: str | None = None,
    ) -> None:
        self._source = source
        self._label = label
        self._weight = weight
        self.read_labels: Callable[[Any], Any] | None = None
        self._read = False
        self._same = SameRows(source, _known_rows(source))
        # Arrow's sources have one type throughout, and the slices of a sequence are taken to.
        loose = isinstance(source, (list, tuple)) and not all(map(is_sequence, source))
        self._checked = self._same.n_rows is not None and not loose
        self._first: Batch | None = None
        self._beside: list[tuple[Any, Any]] | None = None

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once."""
        return isinstance(self._source, Iterator) or arrow_kind(self._source) == "reader"

    @property
    def labeled(self) -> bool:
        """Whether labels come with the rows."""
        return self._label is not None or self.first.label is not None

    @property
    def first(self) -> Batch:
        """The first batch; one that can be read only once still begins with it."""
        if self._first is None:
            found = next(self._batches(), None)
            if found is None:
                raise _no_rows()
            self._first = found
        return self._first

    @property
    def checked(self) -> bool:
        """Whether all batches are known to be like the first one."""
        return self._checked

    @property
    def n_rows(self) -> int:
        """Number of rows, private; a source that does not know it is gone through."""
        if self._same.n_rows is None:
            return sum(batch.n_rows for batch in self)
        return self._same.n_rows

    def check(self, batch_fits: Callable[[Batch], Any]) -> None:
        """Go through the batches, unless they are known to be alike, and keep their labels.

        Parameters
        ----------
        batch_fits : callable
            Raises where a batch is not like the first one.
        """
        if self._checked:
            return
        beside = []
        for batch in self:
            batch_fits(batch)
            beside.append((batch.label, batch.weight))
        self._checked, self._beside = True, beside

    def __iter__(self) -> Iterator[Batch]:
        if not self.once:
            return self._batches()
        if self._read:
            raise InvalidParameterError(READ_ONCE.format(reason="they were read before"))
        first = self.first
        self._read = True
        return chain([first], self._batches())

    def labels(self) -> tuple[Any, Any]:
        """Return labels and weights (or None): those of `check`, once, or of another pass."""
        beside, self._beside = self._beside, None
        if beside is None:
            beside = [(batch.label, batch.weight) for batch in self._columns_only()]
        return self.joined(beside)

    def joined(self, parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Put the labels and the weights of batches in one array each."""
        if not parts:
            raise _no_rows()
        labels, weights = zip(*parts, strict=True)
        joined = _join(labels, "labels")
        if self.read_labels is not None and joined is not None:
            joined = self.read_labels(joined)
        return joined, _join(weights, "weights")

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows as one table, reading all batches."""
        if self.once:
            raise InvalidParameterError(READ_ONCE.format(reason="some of the rows are chosen"))
        order = np.argsort(rows, kind="stable")
        wanted = np.asarray(rows)[order]
        parts, first_row = [], 0
        for batch in self:
            start, stop = np.searchsorted(wanted, [first_row, first_row + batch.n_rows])
            parts.append(_safe_indexing(batch.X, wanted[start:stop] - first_row))
            first_row += batch.n_rows
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        if not is_frame(parts[0]):
            return np.concatenate([np.asarray(part) for part in parts])[position]
        import pandas as pd

        return pd.concat(_of_one_type(parts), ignore_index=True).iloc[position]

    def _columns_only(self) -> Iterator[Batch]:
        """Go through the rows reading no more than labels and weights, where that can be had."""
        names = [name for name in (self._label, self._weight) if name is not None]
        if names and arrow_kind(self._source) in ("dataset", "file"):
            return self._batches(names)
        return iter(self)

    def _batches(self, names: list[str] | None = None) -> Iterator[Batch]:
        """Go through the rows; those that can be read again are compared with other passes."""
        batches = self._not_empty(names)
        return batches if self.once else self._same.follow(batches, whole=names is None)

    def _not_empty(self, names: list[str] | None) -> Iterator[Batch]:
        for part in _parts(self._source, names):
            batch = self._batch(part)
            for beside in (batch.label, batch.weight):
                if beside is not None and beside.shape[:1] != (batch.n_rows,):
                    raise InvalidParameterError(
                        "Each batch of X must have as many labels and weights as rows."
                    )
            if batch.n_rows:
                yield batch

    def _batch(self, part: Any) -> Batch:
        """Return a batch of a usual kind of table, without the columns of labels and weights."""
        X, label, weight = part, None, None
        if isinstance(part, tuple):
            if not 1 <= len(part) <= 3:
                raise InvalidParameterError(
                    "The batches of X must be tables, (X, y) or (X, y, weight)."
                )
            X, label, weight = (*part, None, None)[:3]
        X, label, weight = unpack(X), _array(label), _array(weight)
        if hasattr(X, "tocsr"):
            raise InvalidParameterError(
                "The batches of X are sparse matrices, which are not read one by one: put them "
                "together with scipy.sparse.vstack."
            )
        if not is_frame(X):
            if self._label is not None or self._weight is not None:
                raise InvalidParameterError(
                    "The label of a Dataset names a column, but its batches have no names: pass "
                    "DataFrames or Arrow tables, or batches of (X, y)."
                )
            empty = hasattr(X, "__len__") and len(X) == 0
            array = np.empty((0, 0)) if empty else as_array(X, may_be_empty=True)
            return Batch(X=array, label=label, weight=weight)
        taken = {}
        for name in (self._label, self._weight):
            if name is not None and name not in X.columns:
                raise InvalidParameterError(
                    f"The Dataset is to find labels or weights in the column {name!r}, which its "
                    "batches do not have."
                )
            if name is not None:
                taken[name] = _array(X[name])
        if taken:
            X = X.drop(columns=list(taken))
        label = label if self._label is None else taken[self._label]
        weight = weight if self._weight is None else taken[self._weight]
        return Batch(X=X, label=label, weight=weight)


def _of_one_type(frames: Sequence[Any]) -> Sequence[Any]:
    """Give the categorical columns of all frames the categories of any, which join as objects."""
    from pandas.api.types import union_categoricals

    first = frames[0]
    mixed = {
        position: [frame.iloc[:, position] for frame in frames]
        for position, dtype in enumerate(first.dtypes)
        if is_categorical(first.iloc[:, position])
        and any(frame.dtypes.iloc[position] != dtype for frame in frames)
    }
    if not mixed:
        return frames
    frames = [frame.copy(deep=False) for frame in frames]
    for position, columns in mixed.items():
        if all(map(is_categorical, columns)):
            union = union_categoricals(columns, ignore_order=True).dtype
            for frame, column in zip(frames, columns, strict=True):
                frame.isetitem(position, column.astype(union))
    return frames


def _known_rows(source: Any) -> int | None:
    """Return the number of rows of a source that knows it."""
    kind = arrow_kind(source)
    if kind == "dataset":
        return int(source.count_rows())
    if kind == "file":
        return int(source.metadata.num_rows)
    if is_sequence(source):
        return len(source)
    if isinstance(source, (list, tuple)):
        tables = [part[0] if isinstance(part, tuple) else part for part in source]
        return sum(part.shape[0] if hasattr(part, "shape") else len(part) for part in tables)
    return None


def _parts(source: Any, names: list[str] | None) -> Iterator[Any]:
    """Give the parts of a source, one after the other."""
    kind = arrow_kind(source)
    if kind == "dataset":
        # A small read-ahead: the batches in flight are memory, too.
        ahead = {"batch_size": ROWS_AT_ONCE, "batch_readahead": 2, "fragment_readahead": 1}
        yield from source.to_batches(columns=names, **ahead)
    elif kind == "file":
        yield from source.iter_batches(batch_size=ROWS_AT_ONCE, columns=names)
    elif is_sequence(source):
        yield from sequence_slices(source, ROWS_AT_ONCE)
    else:
        for part in source:
            if is_sequence(part):
                yield from _parts(part, None)
            else:
                yield part


def _join(parts: tuple[Any, ...], what: str) -> Any:
    """Put arrays one behind the other; None if there are none."""
    missing = [part is None for part in parts]
    if all(missing):
        return None
    if any(missing):
        raise InvalidParameterError(f"Some of the batches of X come with {what} and some without.")
    if len({array.shape[1:] for array in parts}) > 1:
        raise InvalidParameterError(f"The batches of X come with {what} of several shapes.")
    return np.concatenate(parts)


def _array(beside: Any) -> NDArray[Any] | None:
    """Return the labels or the weights of a batch as an array."""
    if beside is None:
        return None
    array = None
    with suppress(ValueError):
        array = np.asarray(beside)
    if array is None or array.ndim == 0:
        raise InvalidParameterError("y should be a 1d array, one label for each row of X.")
    return array


def _no_rows() -> InvalidParameterError:
    return InvalidParameterError(
        "Found array with 0 sample(s): the batches of X are empty, while a minimum of 1 is "
        "required."
    )


class SameRows:
    """Check that each pass through a row source returns the same rows.

    Parameters
    ----------
    n_rows : int or None
        What the source says.

    Attributes
    ----------
    n_rows : int or None
        What the source said or, once it was read, gave.

    Privacy
    -------
    Holds hashes under a key of its own, which nothing else sees. Whether a fit is refused depends
    on the source repeating itself and not on what its cells hold: one that gives the same rows
    each time, as many as it says, is never refused, whichever rows they are.
    """

    def __init__(self, source: Any, n_rows: int | None) -> None:
        self._source = type(source).__name__
        self._key = new_key()
        self._found: dict[tuple[str, str], bytes] = {}
        self.n_rows = n_rows

    def follow(self, batches: Iterator[Batch], *, whole: bool) -> Iterator[Batch]:
        """Go through the batches of one pass, and raise where they are not those of another.

        Parameters
        ----------
        whole : bool
            Whether the table is read; else nothing but labels and weights.

        Yields
        ------
        Batch
            Together never more rows than were said, and as many when none is left.
        """
        names = ("X", "label", "weight") if whole else ("label", "weight")
        hashes = {name: RowHash(self._key) for name in names}
        n_rows = 0
        for batch in batches:
            for name, own in hashes.items():
                own.add(getattr(batch, name))
            # A source that needs only one pass shows by its first batch, looked at before for its
            # columns, that it shuffles; what comes after is then what it gives, and is taken.
            # Where only some columns are read batches may be of other lengths.
            if n_rows == 0 and whole:
                self._compare("first", hashes)
            n_rows += batch.n_rows
            if self.n_rows is not None and n_rows > self.n_rows:
                raise self._refusal()
            yield batch
        if self.n_rows is not None and n_rows != self.n_rows:
            raise self._refusal()
        self.n_rows = n_rows
        self._compare("all", hashes)

    def _compare(self, which: str, hashes: dict[str, RowHash]) -> None:
        for name, own in hashes.items():
            found = own.digest()
            if self._found.setdefault((which, name), found) != found:
                raise self._refusal()

    def _refusal(self) -> InvalidParameterError:
        return InvalidParameterError(
            f"The source of X, of type {self._source}, returned different rows, or a different "
            "number of rows, than before or than len() states. The fit ends here; all releases "
            "remain charged. Return the same rows in the same order at each reading: do not "
            "shuffle them, and do not write to the files."
        )
