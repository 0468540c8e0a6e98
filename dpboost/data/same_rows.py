"""Rows that are read several times must be the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.fingerprint import RowHash, new_key

if TYPE_CHECKING:
    from dpboost.data.batch import Batch


class SameRows:
    """Compares each pass through a source of rows with those before it.

    Parameters
    ----------
    source : any object
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
        batches : iterator of Batch
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
            f"The source of X, of type {self._source}, gave other rows, or more or fewer of them, "
            "than it said or than when it was read before. The fit ends here, and what it has "
            "released stays charged. Give the same rows in the same order each time, as many as "
            "len() says: do not shuffle them or write to the files that are read."
        )
