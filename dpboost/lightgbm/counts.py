"""Row counts for LightGBM's tools: released ones, or shares of the public bin grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.tree.structure import Tree

#: Pseudo counts of a tree add up to about this: a leaf's count is its share in parts per billion.
GRID_TOTAL = 10**9
#: LightGBM sums counts as int32.
LARGEST_TOTAL = 2**31 - 1


def leaf_counts(tree: Tree, binner: Binner) -> list[int]:
    """Return a positive count for each leaf, whose total LightGBM can hold.

    SHAP values weigh the two branches of a node by these counts and need them positive.

    Parameters
    ----------
    tree : Tree
        A released tree.
    binner : Binner
        The public bins.

    Returns
    -------
    list of int, of length ``tree.n_leaves``
        Released counts, at least 1; without them each leaf's share of the cells of the bin grid.

    Privacy
    -------
    Post-processing of released counts, or a function of the released splits and the public bins.
    """
    if tree.leaf_count is None:
        return grid_counts(tree, binner)
    counts = [max(1, count) for count in tree.leaf_count.tolist()]
    total = sum(counts)
    if total > LARGEST_TOTAL:
        shrink = LARGEST_TOTAL - len(counts)
        counts = [max(1, count * shrink // total) for count in counts]
    return counts


def grid_counts(tree: Tree, binner: Binner) -> list[int]:
    """Return each leaf's share of the public bin grid, in parts per billion, at least 1.

    A cell of the grid is one bin of every feature, the missing bin included; all cells weigh
    the same.
    """
    counts = [GRID_TOTAL] * tree.n_leaves
    if tree.n_nodes == 0:
        return counts
    feature, sets = tree.feature.tolist(), tree.sets()
    left, right = tree.left.tolist(), tree.right.tolist()
    n_bins = [int(n) for n in binner.n_bins]
    # The bins of a feature that reach a node are the set bits of an integer; a feature that no
    # node above has split is absent from the node's dict.
    stack: list[tuple[int, float, dict[int, int]]] = [(0, 1.0, {})]
    while stack:
        node, share, reached = stack.pop()
        f, goes_left = feature[node], sets[node]
        here = reached.get(f)
        if here is None:
            here = (1 << (n_bins[f] + 1)) - 1
        width = here.bit_count()
        for child, part in ((left[node], here & goes_left), (right[node], here & ~goes_left)):
            child_share = share * part.bit_count() / width if width else 0.0
            if child < 0:
                counts[~child] = max(1, int(child_share * GRID_TOTAL))
            else:
                stack.append((child, child_share, {**reached, f: part}))
    return counts
