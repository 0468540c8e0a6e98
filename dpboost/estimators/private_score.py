"""The ``score`` method of estimators: charged to a budget, or with a warning."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import UNUSED

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.warnings import PrivacyWarning, warn_once
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.open_budgets import CarryingEstimator, is_open, warn_of_search
from dpboost.budgeting.windows import Window
from dpboost.evaluating.evaluate import evaluate


class ScoreWarning(PrivacyWarning):
    """A score is not charged, so it leaks data if its rows are private."""


class PrivateScore(CarryingEstimator):
    """Mixin for the ``score`` method of estimators; the first base class."""

    # What pays for a score is no metadata of rows: searches take a scorer of `SecretKFold`.
    __metadata_request__score = dict.fromkeys(("budget", "fraction", "user_ids"), UNUSED)

    # Whether a search of scikit-learn that made it has said what its fits add up to, and that
    # nothing pays for its scores.
    _counted, _scored = False, False

    def __sklearn_clone__(self) -> Any:
        """Return a clone; a search that makes it says how many fits it makes."""
        found = super().__sklearn_clone__()
        if not is_open(self):
            counted, scored = warn_of_search(self)
            if counted:
                vars(found).update(_counted=True, _scored=scored)
        return found

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        budget: Budget | DisjointTable | Window | None = None,
        fraction: Any = None,
        user_ids: Any = None,
    ) -> float:
        """Return the accuracy of a classifier, or the R2 of a regressor.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Of public rows only.
        budget : Budget, optional
            Budget that is charged for a score of private rows. Inside ``with Budget(...)`` that
            budget by default.
        fraction : float or Fraction, optional
            Fraction of the budget that the score takes, in (0, 1].
        user_ids : array-like of shape (n_rows,), optional
            User of each row; needed if the budget protects users.

        Returns
        -------
        float
            Under a budget the figure that :func:`dpboost.evaluate` releases; else the exact one.

        Raises
        ------
        InvalidParameterError
            Where a budget is given or open, and no fraction.
        BudgetExceededError
            If too little of the budget remains; nothing is drawn or charged.

        Warns
        -----
        ScoreWarning
            Without a budget: the exact score of private rows is a leak.

        Privacy
        -------
        Under a budget as :func:`dpboost.evaluate`. Without one it protects no one.
        """
        model: Any = self
        if budget is None and fraction is None and not is_open(self):
            if not self._scored:  # told before the first fit
                warn_once(
                    "This score is not differentially private, so it leaks information about "
                    "private rows. Use dpboost.evaluate(model, X, y, budget=..., fraction=...); "
                    "for public rows, filter dpboost.ScoreWarning.",
                    ScoreWarning,
                    tuple(getattr(model, "feature_name_", ())),
                )
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        if fraction is None:
            raise InvalidParameterError(
                f"A budget is open, and {type(self).__name__}.score does not say what it may take "
                "of it: give fraction=..., or to scikit-learn's functions cv=folds and "
                "scoring=folds.scorer('auc', fraction=...), where folds = dpboost.SecretKFold(5). "
                "Score public rows outside of `with Budget(...)`; where the model was pickled "
                "inside, by scikit-learn's metrics of model.predict(X)."
            )
        if sample_weight is not None:
            raise refuse("sample_weight", "score", "None under a budget", "an array")
        name = "accuracy" if is_classifier(model) else "r2"
        found = evaluate(
            model, X, y, budget=budget, fraction=fraction, metrics=[name], user_ids=user_ids
        )
        return found[name].value
