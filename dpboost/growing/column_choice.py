"""Which columns are cut first and most often, chosen privately before the first tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.feature_sampler import FeatureQueue
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import ExponentialMechanism
from dpboost.privacy.queries import RowHandle
from dpboost.rows.column_scores import among, scores_of_columns


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnChoice:
    """Choose the columns that tell most, one after the other, by the exponential mechanism.

    The noise of a choice does not grow with the number of columns; that of a vector of their
    scores would grow with its root.

    Parameters
    ----------
    n_chosen : int
    budget : Fraction or inf
        Of all choices together, in the unit of the ledger's accountant.
    cells : ndarray of shape (n_features, 256), uint16
        Public cell of each bin of each column.
    gradient_limit : float
        Public clip of a row's gradient, as the loss takes it.
    allowed : ndarray of int
        Columns that a tree may cut.
    queue : FeatureQueue
        Is told which columns to prefer.

    Privacy
    -------
    One release for each choice, among the columns that were not chosen before
    (``constants.column_scores``). They add up.
    """

    n_chosen: int
    budget: PrivacyCost
    cells: NDArray[np.uint16]
    gradient_limit: float
    allowed: NDArray[np.integer]
    queue: FeatureQueue

    def release(self, rows: RowHandle, loss: Loss, ledger: Ledger) -> None:
        """Release the columns, and have the queue prefer them."""
        limit, neighbours = self.gradient_limit, ledger.neighbours
        scores = scores_of_columns(rows, self.cells, loss, limit, neighbours)
        left = self.allowed.tolist()
        n_chosen = min(self.n_chosen, len(left))
        mechanism = ledger.accountant.calibrate(ExponentialMechanism, self.budget / n_chosen)
        chosen = []
        with ledger.sequential("columns"):
            for _ in range(n_chosen):
                place = ledger.release(mechanism, among(scores, left), label="column choice")
                chosen.append(left.pop(int(place[0])))
        self.queue.prefer(chosen)
