"""Sensitivity of the histograms of all features of a tree level.

Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

from dpboost._utils.validation import check_integer
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity


def level_sums(n_features: int, gradient_limit: int, neighbors: Neighbors) -> Sensitivity:
    r"""L1 sensitivity of gradient sums and counts in the cells of all features and nodes.

    Parameters
    ----------
    n_features : int
        Features; each has a histogram of every node.
    gradient_limit : int
        Largest absolute gradient of a row, in units of the sums; a count is worth as many units.

    Returns
    -------
    Sensitivity
        :math:`2 p g` for add/remove, twice that for replace.

    Notes
    -----
    An added row is in one node of the level, and there in one cell of each feature: it moves the
    sum of each of these :math:`p` cells by at most :math:`g` and its count by :math:`g` units.
    Histograms of different features are of the same rows: they add up. Proof:
    docs/proofs/level-histograms.md.
    """
    features = check_integer("n_features", "level_sums", n_features, low=1)
    limit = check_integer("gradient_limit", "level_sums", gradient_limit, low=1)
    rows = neighbors.rows
    return Sensitivity(
        "l1",
        rows * 2 * features * limit,
        "a row adds one gradient and one count to one cell of every feature",
        rows * 2 * features,
    )
