"""What is public about the columns of a table by their names and types."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from dpboost.data.table import Table
from dpboost.schema import ResolvedSchema


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFacts:
    """Names and kinds of columns, public by assumption; the same for all sites of rows.

    Parameters
    ----------
    categorical : frozenset of int
        Positions of the columns that are read by position in a list of categories. The lists are
        not here: what a table lists undeclared is part of its rows.
    ordered : frozenset of int
        Those of them whose codes are compared as numbers.
    integer : frozenset of int
        Positions of the columns of integer or boolean type.
    boolean : frozenset of int
        Those of them of boolean type.
    """

    feature_names: tuple[str, ...]
    categorical: frozenset[int] = frozenset()
    ordered: frozenset[int] = frozenset()
    integer: frozenset[int] = frozenset()
    boolean: frozenset[int] = frozenset()
    zero_as_missing: bool = False

    @classmethod
    def of(cls, table: Table) -> ColumnFacts:
        """Return what is public of a table."""
        return cls(
            feature_names=table.feature_names,
            categorical=frozenset(table.categorical),
            ordered=table.ordered,
            integer=table.integer,
            boolean=table.boolean,
            zero_as_missing=table.zero_as_missing,
        )

    @property
    def key(self) -> Hashable:
        """Names and types, by which a process knows a table again."""
        kinds = (self.categorical, self.integer, self.boolean)
        return (self.feature_names, *map(frozenset, kinds))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.feature_names)

    def lists(self, schema: ResolvedSchema) -> dict[int, list[Any]]:
        """Return the lists of categories by position, from a complete schema."""
        return {
            position: list(schema.categories[position]) for position in sorted(self.categorical)
        }
