"""Trees whose splits are public: rows as bins of declared ranges, and the leaves they fall into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.peers import encoded

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import DataDictionary


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cut points of every column, by public knowledge alone.

    Attributes
    ----------
    cuts : tuple of ndarray
        Of each column, in order; a row has as its bin the number of cuts below its value. Those
        of a category lie between its codes.
    is_category : tuple of bool
    """

    cuts: tuple[np.ndarray, ...]
    is_category: tuple[bool, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.cuts)

    def bins(self, X: pd.DataFrame, dictionary: DataDictionary) -> np.ndarray:
        """Return the bins of all cells, an integer array of shape (n_rows, n_columns)."""
        codes = encoded(X, dictionary)
        found = [np.searchsorted(cuts, codes[:, at]) for at, cuts in enumerate(self.cuts)]
        return np.column_stack(found)


def grid(
    columns: list[str],
    dictionary: DataDictionary,
    n_cuts: int,
    numeric_range: tuple[float, float] | None = None,
) -> Grid:
    """Return evenly spaced cuts inside of the declared bounds, and one bin for each category.

    Parameters
    ----------
    columns : list of str
        Names, in the order of the table.
    dictionary : DataDictionary
    n_cuts : int
        Cuts of each number.
    numeric_range : (float, float), optional
        Range of the cuts of all numbers, instead of their bounds.
    """
    cuts: list[np.ndarray] = []
    for name in columns:
        if name in dictionary.categories:
            # The code after the last category is that of a missing one.
            cuts.append(np.arange(len(dictionary.categories[name])) + 0.5)
        else:
            low, high = numeric_range or dictionary.bounds[name]
            cuts.append(np.linspace(low, high, n_cuts + 2)[1:-1])
    return Grid(
        cuts=tuple(cuts), is_category=tuple(name in dictionary.categories for name in columns)
    )


@dataclass(frozen=True, kw_only=True)
class Structure:
    """The splits of a full tree, level by level.

    Attributes
    ----------
    columns, cuts : ndarray of shape (2**depth - 1,)
        A row goes right if its bin in the column is greater than the cut.
    exact : ndarray of bool
        Where a row goes right instead if its bin is the cut.
    """

    columns: np.ndarray
    cuts: np.ndarray
    exact: np.ndarray

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.columns) + 1

    def leaves(self, bins: np.ndarray) -> np.ndarray:
        """Return the number of the leaf of each row."""
        place, rows = np.zeros(len(bins), dtype=np.int64), np.arange(len(bins))
        while (place < len(self.columns)).any():
            values, cuts = bins[rows, self.columns[place]], self.cuts[place]
            right = np.where(self.exact[place], values == cuts, values > cuts)
            place = 2 * place + 1 + right
        return place - len(self.columns)


def random_structure(
    grid: Grid,
    depth: int,
    columns: np.ndarray,
    random: np.random.Generator,
    *,
    one_against_rest: bool,
) -> Structure:
    """Return a tree with random splits that no row is asked for.

    Parameters
    ----------
    grid : Grid
    depth : int
    columns : ndarray
        Columns to draw from, one for each split.
    random : Generator
        Public.
    one_against_rest : bool
        Whether a split of a category parts one value from the others; else its codes are cut as
        numbers.

    Notes
    -----
    A cut is drawn among those that the splits above leave; where they leave none, any cut of the
    column, so that one side is empty.
    """
    n_nodes = 2**depth - 1
    chosen = random.choice(columns, n_nodes)
    cuts, exact = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=bool)
    ranges = np.array([[0, len(own)] for own in grid.cuts])
    left: list[np.ndarray | None] = [ranges] + [None] * (2 * n_nodes)
    for node in range(n_nodes):
        column, known = chosen[node], left[node]
        assert known is not None
        low, high = known[column]
        if high <= low:
            low, high = ranges[column]
        exact[node] = one_against_rest and grid.is_category[column]
        if exact[node]:
            cuts[node] = random.integers(len(grid.cuts[column]) + 1)
            left[2 * node + 1] = left[2 * node + 2] = known
            continue
        cuts[node] = random.integers(low, high)
        below, above = known.copy(), known.copy()
        below[column, 1], above[column, 0] = cuts[node], cuts[node] + 1
        left[2 * node + 1], left[2 * node + 2] = below, above
        left[node] = None
    return Structure(columns=chosen, cuts=cuts, exact=exact)


def sums(leaves: np.ndarray, values: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return the sum of the values of the rows of each leaf."""
    found: np.ndarray = np.bincount(leaves, weights=values, minlength=n_leaves)
    return found
