"""What is public about the columns of a table by their names and types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpboost.data.table import Table
from dpboost.schema import ResolvedSchema


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFacts:
    """Names and kinds of columns, public by assumption; the same for all places of rows.

    Parameters
    ----------
    feature_names : tuple of str
    categorical : dict of int to list
        Positions of the columns that are read by position in a list of categories.
    ordered : frozenset of int
        Those of them whose codes are compared as numbers.
    zero_as_missing : bool
    """

    feature_names: tuple[str, ...]
    categorical: Mapping[int, list[Any]] = field(default_factory=dict)
    ordered: frozenset[int] = frozenset()
    zero_as_missing: bool = False

    @classmethod
    def of(cls, table: Table) -> ColumnFacts:
        """Return what is public of a table."""
        return cls(
            feature_names=table.feature_names,
            categorical=table.categorical,
            ordered=table.ordered,
            zero_as_missing=table.zero_as_missing,
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.feature_names)

    def under(self, schema: ResolvedSchema, *, keep_order: bool = True) -> ColumnFacts:
        """Return the facts once the lists of categories are those of a complete schema.

        Parameters
        ----------
        schema : ResolvedSchema
        keep_order : bool, default=True
            Whether codes of ordered columns are still compared as numbers.
        """
        lists = {
            place: list(schema.categories.get(place, listed))
            for place, listed in self.categorical.items()
        }
        return replace(self, categorical=lists, ordered=self.ordered if keep_order else frozenset())
