"""Reading of a partition on a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.containers import unpack
from dpboost.data.fingerprint import RowHash
from dpboost.data.labels import check_same_length, read_class_labels, read_regression_labels
from dpboost.data.table import ColumnFacts, Reading, read
from dpboost.data.users import (
    first_rows,
    n_taken,
    read_users,
    sample_rows,
    take_rows,
    user_hashes,
)
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.raw_rows import RawRows
from dpboost.schema import ResolvedSchema, Schema
from dpboost.training.inputs import read_extras

OTHER_ROWS = (
    "A partition held other rows, or the same in another order, when it was read again. The fit "
    "ends here, and what it has released stays charged. Make the rows deterministic (seed random "
    "numbers, sort what was shuffled, do not write to the files that are read), or persist() them."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Part:
    """One partition of the collections."""

    #: Array, sparse matrix or DataFrame of shape (n, n_features); None if nothing but labels and
    #: what goes with them is asked for.
    X: Any
    #: Array-like of shape (n,).
    y: Any
    #: Array-like of shape (n,) or None.
    weight: Any = None
    #: Array-like of shape (n,) or (n, n_outputs), or None.
    init_score: Any = None
    #: Array-like of shape (n,) or None.
    user_ids: Any = None

    def take(self, rows: NDArray[np.intp]) -> Part:
        """Return some of the rows."""
        given = (self.X, self.y, self.weight, self.init_score)
        own = (None if each is None else take_rows(each, rows) for each in given)
        X, y, weight, init_score = own
        return Part(X=X, y=y, weight=weight, init_score=init_score)


@dataclass(frozen=True, kw_only=True, repr=False)
class Fingerprint:
    """Keyed hashes of the rows of a partition; meaningless without the key."""

    #: Of features; empty if there is no table.
    table: bytes
    #: Of labels, weights, initial scores and users.
    beside: bytes


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartFacts:
    """Facts about a partition that the client has before the first release; private."""

    n_rows: int
    fingerprint: Fingerprint
    #: None if there are no rows.
    columns: ColumnFacts | None = None
    #: Categories that the column types of this partition list, where these are assumed public.
    lists: Mapping[int, list[Any]] = field(default_factory=dict)
    #: Labels that occur, of a classification.
    classes: tuple[Any, ...] = ()
    #: For how many outputs there are initial scores, 0 without them.
    n_outputs: int = 0
    #: Keyed hashes of the users, where these are protected.
    users: frozenset[bytes] = frozenset()
    #: How many rows take part.
    n_taken: int = 0

    @classmethod
    def of_no_rows(cls) -> PartFacts:
        """Return what there is to know of a partition without rows."""
        return cls(n_rows=0, fingerprint=Fingerprint(table=b"", beside=b""))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Site:
    """The rows that a partition keeps."""

    #: Its number.
    partition: int
    #: Number of its first row among all rows.
    first_row: int
    #: The same among the rows that take part.
    first_taken: int
    #: What its rows hashed to when they were first read.
    fingerprint: Fingerprint


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reader:
    """How partitions are read; public except for the key."""

    reading: Reading
    schema: Schema
    #: One of "regression", "classification".
    task: str
    #: Of the hash.
    key: bytes
    #: Whether initial scores are predictions of a model that is continued.
    continues: bool = False
    #: Maximum rows of a user that take part.
    rows_per_user: int | None = None
    #: Key of the coins that choose them; all rows take part without it.
    user_coins: bytes | None = None

    # A numpy warning about an odd cell would tell that there is one.
    @np.errstate(all="ignore")
    def look(self, part: Part) -> PartFacts:
        """Check a partition and return what the client has to know."""
        found = self.fingerprint(part)
        X = unpack(part.X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        check_same_length(n_rows, part.y)
        if n_rows == 0:
            return PartFacts(n_rows=0, fingerprint=found)
        rows = self._rows(part)
        scores = rows.extras.init_scores
        users, taken = None, n_rows
        if self.rows_per_user is not None:
            users = read_users(part.user_ids, n_rows)
            taken = n_taken(users, self.rows_per_user)
        return PartFacts(
            n_rows=n_rows,
            fingerprint=found,
            columns=rows.table.columns,
            lists=rows.table.categorical if self.reading.lists_assumed else {},
            classes=() if self.task == "regression" else tuple(np.unique(rows.labels).tolist()),
            n_outputs=0 if scores is None else len(scores),
            users=user_hashes(part.user_ids, users, self.key) if users is not None else frozenset(),
            n_taken=taken,
        )

    @np.errstate(all="ignore")
    def read(self, part: Part, site: Site) -> RawRows:
        """Read a partition again.

        InvalidParameterError if it does not hold the rows that it held before.
        """
        wanted = site.fingerprint
        if part.X is None:
            wanted = replace(wanted, table=b"")
        if self.fingerprint(part) != wanted:
            raise InvalidParameterError(OTHER_ROWS)
        if self.user_coins is None or self.rows_per_user is None:
            return replace(self._rows(part), first_row=site.first_taken)
        users = read_users(part.user_ids, len(part.user_ids))
        words = RowCoins(self.user_coins).words(site.first_row, len(users))
        chosen = sample_rows(users, self.rows_per_user, words)
        return replace(
            self._rows(part.take(chosen)),
            first_row=site.first_taken,
            counted=first_rows(users[chosen]),
        )

    def fingerprint(self, part: Part) -> Fingerprint:
        """Return keyed hashes of the rows."""
        return Fingerprint(
            table=b"" if part.X is None else self._hash(part.X),
            beside=self._hash(part.y, part.weight, part.init_score, part.user_ids),
        )

    def _hash(self, *arrays: Any) -> bytes:
        found = b""
        for array in arrays:
            own = RowHash(self.key)
            own.add(array)
            found += own.digest()
        return found

    def _rows(self, part: Part) -> RawRows:
        """Read table, labels, weights and initial scores."""
        table: Any = None if part.X is None else read(part.X, self.schema, self.reading)
        regression = self.task == "regression"
        labels = read_regression_labels(part.y) if regression else read_class_labels(part.y)
        return RawRows(
            table=table,
            labels=labels,
            extras=read_extras(part.weight, part.init_score, len(labels), continues=self.continues),
            read_again=partial(_read_again, part.X, self.reading),
        )


def _read_again(X: Any, reading: Reading, schema: ResolvedSchema) -> Any:
    return None if X is None else read(X, schema, reading)
