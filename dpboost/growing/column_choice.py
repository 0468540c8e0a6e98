"""Private choice of the columns that are split first and most often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.feature_sampler import FeatureQueue
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost, number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import ExponentialMechanism
from dpboost.privacy.queries import RowHandle, Sensitive
from dpboost.rows.column_scores import MOST_CELLS, among, scores_of_columns


@dataclass(frozen=True, kw_only=True)
class ChoicePlan:
    """The number of chosen columns, from public numbers."""

    #: Columns that are chosen in any case.
    n_first: int
    #: Most columns.
    n_most: int
    #: Part of the trees' budget for ``n_most`` choices.
    share: Fraction
    #: Where so many columns are chosen, most tell something, and none is preferred.
    all_alike_from: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnChoice:
    """Choose informative columns sequentially by the exponential mechanism.

    The noise of a choice does not grow with the number of columns; the noise of a vector of their
    scores would grow with its square root. After the first choices, stopping is a candidate as
    well: its score is that of a typical column of noise, raised to that of the best of them.

    Privacy
    -------
    One release for each choice, among the columns that were not chosen before
    (``constants.column_scores``). They add up.
    """

    plan: ChoicePlan
    #: Of shape (n_features, 256). Public cell of each bin of each column.
    cells: NDArray[np.uint16]
    #: Public clip of a row's gradient, as the loss takes it.
    gradient_limit: float
    #: Public estimate of an output's score of a column of noise, if gradients have mean zero.
    by_chance: int
    #: Columns that a tree may split.
    allowed: NDArray[np.integer]
    #: Prefers the chosen columns.
    queue: FeatureQueue

    def release(
        self, rows: RowHandle, loss: Loss, ledger: Ledger, budget: PrivacyCost
    ) -> PrivacyCost:
        """Release the columns, and have the queue prefer them; return what is left of a budget."""
        plan, limit, left = self.plan, self.gradient_limit, self.allowed.tolist()
        scores = scores_of_columns(
            rows, self.cells, loss, limit, ledger.neighbors, by_chance=self.by_chance
        )
        each = budget * (plan.share / plan.n_most)
        mechanism = ledger.accountant.calibrate(ExponentialMechanism, each)
        chosen: list[int] = []
        n_releases = 0
        with ledger.sequential("columns"):
            while left and n_releases < plan.n_most:
                margin = None
                if n_releases >= plan.n_first:
                    margin = self._margin(mechanism, scores, len(left))
                candidates = among(scores, left, margin)
                place = int(ledger.release(mechanism, candidates, label="column choice")[0])
                n_releases += 1
                if place == len(left):
                    break
                chosen.append(left.pop(place))
        if 0 < len(chosen) < plan.all_alike_from:
            self.queue.prefer(chosen)
        return budget if budget == math.inf else budget - each * n_releases

    def _margin(self, mechanism: ExponentialMechanism, scores: Sensitive, n_columns: int) -> int:
        """Return by how much "no more" is raised, so that it wins against so many of noise.

        It is about the largest of so many deviations from the typical score of a column of noise:
        exponential ones by the mechanism, or normal ones of sums over cells. One deviation of
        the mechanism less: to miss a column costs more than to prefer one of noise.
        """
        spread = math.sqrt((math.pi / 2 - 1) / MOST_CELLS)
        by_chance = round(spread * self.by_chance * math.sqrt(2 * math.log(n_columns)))
        if mechanism.epsilon == math.inf:
            return by_chance
        drawn = scores.bounds[0].constant / Fraction(number_of(mechanism.epsilon))
        return max(by_chance, round(drawn * Fraction(max(math.log(n_columns) - 1, 0.0))))
