"""An attack: boxes that hold exactly one row, by the numbers of rows that trees state.

Every node of a tree says how many rows meet the conditions on its path. A node with one row singles
it out; so do two nodes whose conditions differ in one column alone, one inside the other, with
one row more in the outer one: that row is between them. Where the numbers are exact, so is the
claim. That someone is in a box that holds nearly no one of the population is what anonymity is
to prevent (Cohen and Nissim, PNAS 2020: predicate singling out).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.federated.reconstruction import Grid, Mask, ReadTree, Table

#: Rows that the population would have in a box that is claimed, at most.
MOST_EXPECTED = 0.2
# Nested boxes of one group that are compared, at most.
_MOST_PAIRS = 2_000

Box = tuple[tuple[int, bytes], ...]


def claims(trees: Sequence[ReadTree], grid: Grid, n_rows: int, public: Table) -> list[Box]:
    """Return boxes that hold one row by the trees, and hardly one in so many others.

    Parameters
    ----------
    trees : sequence of ReadTree
    grid : Grid
        Of these trees.
    n_rows : int
        Rows that the trees were grown on.
    public : Table
        Rows of other people, who say how likely a box is.

    Returns
    -------
    list of tuple of (int, bytes)
        Of each box the columns that matter, and which of their parts it admits.
    """
    counts = {}
    for tree in trees:
        counts.update(_nodes(tree, grid))
    found = {box: None for box, count in counts.items() if count == 1}
    groups: dict[tuple[int, Box], list[tuple[bytes, float]]] = defaultdict(list)
    for box, count in counts.items():
        for position, (column, admitted) in enumerate(box):
            groups[column, box[:position] + box[position + 1 :]].append((admitted, count))
    for (column, rest), own in groups.items():
        for admitted in _between(own):
            found[tuple(sorted((*rest, (column, admitted))))] = None
    return [box for box in found if _expected(box, grid, public, n_rows) <= MOST_EXPECTED]


def _nodes(tree: ReadTree, grid: Grid) -> Iterator[tuple[Box, float]]:
    """Yield the box and the number of rows of every node but the root."""
    below: dict[tuple[object, ...], float] = defaultdict(float)
    for path, count in zip(tree.paths, tree.counts, strict=True):
        for length in range(1, len(path) + 1):
            below[tuple(path[:length])] += count
    for path, count in below.items():
        admitted: dict[int, Mask] = {}
        for column, is_left, where in path:  # type: ignore[misc]
            side = grid.left(column, where) == is_left
            admitted[column] = admitted.get(column, side) & side
        yield tuple(sorted((column, mask.tobytes()) for column, mask in admitted.items())), count


def _between(own: Sequence[tuple[bytes, float]]) -> Iterator[bytes]:
    """Yield what lies between two masks, one inside the other, with a row more in the outer."""
    if len(own) < 2:
        return
    masks = np.array([np.frombuffer(mask, dtype=bool) for mask, _ in own])
    counts = np.array([count for _, count in own])
    outer, inner = np.nonzero(counts[:, None] - counts[None, :] == 1)
    for one, other in zip(outer[:_MOST_PAIRS], inner[:_MOST_PAIRS], strict=True):
        if not (masks[other] & ~masks[one]).any():
            yield (masks[one] & ~masks[other]).tobytes()


def inside(box: Box, grid: Grid, rows: Table) -> NDArray[np.bool_]:
    """Return which rows are in a box."""
    found = np.ones(len(rows.values), dtype=bool)
    for column, admitted in box:
        mask = np.frombuffer(admitted, dtype=bool)
        found &= mask[grid.parts(rows.values[:, column], column)]
    return found


def _expected(box: Box, grid: Grid, public: Table, n_rows: int) -> float:
    """Return how many of so many rows of the population are in a box."""
    share = (np.count_nonzero(inside(box, grid, public)) + 0.5) / (len(public.values) + 1)
    return n_rows * share


def counted(
    trees: Sequence[ReadTree], public: Table, tables: Mapping[str, Table]
) -> dict[str, float]:
    """Return the number of claims, and of how many each table has exactly one row."""
    grid = Grid(trees, public)
    sizes = {len(table.values) for table in tables.values()}
    (n_rows,) = sizes
    claimed = claims(trees, grid, n_rows, public)
    found = {
        name: float(sum(np.count_nonzero(inside(box, grid, table)) == 1 for box in claimed))
        for name, table in tables.items()
    }
    return {"claims": float(len(claimed)), **found}
