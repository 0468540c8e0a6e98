"""A scorer and secret folds for scikit-learn's model selection under a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    refuse,
)
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.data.users import read_users
from dpboost.evaluating.class_figures import CLASS_METRICS
from dpboost.evaluating.evaluate import evaluate
from dpboost.evaluating.number_figures import NUMBER_METRICS
from dpboost.privacy.exact_arithmetic import as_fraction
from dpboost.privacy.randomness import Entropy, RowCoins

#: Metrics of which more is better; the others get a minus, as scikit-learn's scorers do.
HIGHER_IS_BETTER = ("accuracy", "auc", "r2")


def deal_folds(
    coins: RowCoins, n_folds: int, units: NDArray[np.int64], first_unit: int = 0
) -> NDArray[np.int32]:
    """Return the fold of each row, by a secret draw for each unit.

    ``units`` is the row itself, by its number, or whose it is: rows of one unit are in one fold.
    ``first_unit`` is the number of the first unit among those of all parties; only relevant with a
    seed.

    Privacy
    -------
    A draw does not depend on rows: an additional row gets an independent fold, and moves no other.
    """
    equal = [Fraction(1, n_folds)] * n_folds
    n_units = int(units.max()) + 1 if len(units) else 0
    return coins.blocks(equal, n_units, first_unit)[units]


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateScorer:
    """A scikit-learn scorer that charges every score; created by `SecretKFold.scorer`."""

    #: Folds that have assigned the rows.
    folds: SecretKFold
    metric: str
    fraction: Fraction
    budget: Budget | DisjointTable | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Evaluate a released model on private rows, and return the released metric.

        InvalidParameterError if these folds have assigned no rows, or there is no budget.
        """
        if not self.folds.dealt:
            raise InvalidParameterError(
                "This scorer belongs to a SecretKFold that has assigned no rows: pass the same "
                "SecretKFold as cv=... too. Folds by position depend on the rows before them, so "
                "that no fit or score on such a fold keeps its epsilon."
            )
        found = evaluate(
            estimator, X, y, budget=self.budget, fraction=self.fraction, metrics=[self.metric]
        )
        value = found[self.metric].value
        return value if self.metric in HIGHER_IS_BETTER else -value


class SecretKFold:
    """Secret folds for scikit-learn: an independent draw assigns each row, or each user.

    Parameters
    ----------
    n_splits : int, default=5
        2 to 100.

    Raises
    ------
    InvalidParameterError
        If the number is outside of this range.

    Privacy
    -------
    A draw depends on no cell and on no other row. One row more or less therefore changes one fold
    by that row and no other fold, so a fit on some folds keeps its epsilon. Folds by position do
    not have this property: they shift if a row is added before them. Keep the indices as secret
    as the rows. ``groups`` of :meth:`split` are the users; all rows of a user are in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from dpboost import Budget, DPBoostRegressor, SecretKFold
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> model = DPBoostRegressor(schema=dict(bounds={0: (0, 1)}, label_bounds=(0, 1)))
    >>> folds = SecretKFold(3)
    >>> with Budget(epsilon=5, delta=1e-6) as budget:
    ...     search = GridSearchCV(
    ...         model,
    ...         {"max_depth": [1, 2]},
    ...         cv=folds,
    ...         scoring=folds.scorer("r2", fraction=0.01),
    ...     ).fit(X, X[:, 0], fraction=0.1)
    >>> len(budget.lines)  # six fits, six scores and the last fit
    13
    """

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = check_integer("n_splits", "SecretKFold", n_splits, low=2, high=100)
        self.dealt = False

    def scorer(
        self, metric: str, *, fraction: Any, budget: Budget | DisjointTable | None = None
    ) -> PrivateScorer:
        """Return a scorer for scikit-learn that charges a fraction of a budget for each score.

        Parameters
        ----------
        metric : str
            A metric of :func:`dpboost.evaluate`, such as ``auc``, ``accuracy`` or ``r2``; losses
            are negated.
        fraction : float or Fraction
            Fraction of the budget for each score, in (0, 1].
        budget : Budget, optional
            The open budget by default.

        Returns
        -------
        PrivateScorer
            For ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and similar functions,
            together with these folds as ``cv=``.

        Raises
        ------
        InvalidParameterError
            For another metric or fraction.

        Privacy
        -------
        Every score is a separate evaluation, and its charge adds to those of the fits.
        """
        owner = "SecretKFold.scorer"
        known = tuple(dict.fromkeys((*CLASS_METRICS, *NUMBER_METRICS)))
        check_choice("metric", owner, metric, known)
        size = as_fraction("fraction", owner, fraction)
        if not 0 < size <= 1:
            raise refuse("fraction", owner, "in (0, 1]", fraction)
        return PrivateScorer(folds=self, metric=metric, fraction=size, budget=budget)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the indices of training rows and test rows of each fold.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        y : ignored
        groups : array-like of shape (n_rows,), optional
            User of each row.

        Yields
        ------
        train, test : ndarray of intp

        Raises
        ------
        InvalidParameterError
            If X has no rows in memory.
        """
        size = X.shape[0] if hasattr(X, "shape") else len(X)
        if not isinstance(size, (int, np.integer)):
            raise InvalidParameterError(
                "The 'X' argument of SecretKFold.split must be in the memory of this process."
            )
        self.dealt = True
        coins = Entropy.secure().row_coins()
        units = np.arange(int(size)) if groups is None else read_users(groups, int(size))
        fold = deal_folds(coins, self.n_splits, units)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
