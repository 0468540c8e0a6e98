"""Conversion of a fitted estimator to one of LightGBM's."""

from __future__ import annotations

from typing import Any

import lightgbm
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dpboost.compacting.compact import compact
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.installed import with_fit_of


class StockModel:
    """Mixin that converts an estimator to one of LightGBM's; the first base class."""

    def to_lightgbm(self) -> Any:
        """Return the model as LightGBM's own estimator, for tools that ask for its type.

        Returns
        -------
        lightgbm.LGBMRegressor or lightgbm.LGBMClassifier
            Fitted. Predicts the same doubles of the rows that LightGBM takes; its ``booster_`` is
            that of :meth:`dpboost.Booster.to_lightgbm`, which keeps the privacy report.

        Raises
        ------
        NotFittedError
            Before ``fit``.

        Privacy
        -------
        Holds released values alone. Its ``fit`` is LightGBM's own and protects no one.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import dpboost
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = dpboost.DPBoostClassifier(schema=dict(classes=[0, 1]), verbosity=0)
        >>> stock = model.set_params(n_estimators=2).fit(X, y).to_lightgbm()
        >>> bool((stock.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        own: Any = self
        kind = lightgbm.LGBMClassifier if is_classifier(self) else lightgbm.LGBMRegressor
        stock = kind(importance_type=own.importance_type, n_jobs=own.n_jobs)
        if own.booster_.num_model_per_iteration() == 2 == getattr(own, "n_classes_", 0):
            stock.set_params(num_class=2)  # which LightGBM finds out of more classes only
        return with_fit_of(stock, own, own.booster_.to_lightgbm())

    def compact(
        self,
        *,
        n_trees: int = 300,
        num_leaves: int = 31,
        max_error: float | None = None,
        public_rows: Any = None,
    ) -> Booster:
        """Return a small LightGBM model that says what this one says.

        Parameters
        ----------
        n_trees, num_leaves, max_error, public_rows
            As in :func:`dpboost.compact`.

        Returns
        -------
        Booster

        Raises
        ------
        InvalidParameterError
            As :func:`dpboost.compact` does.
        NotFittedError
            Before ``fit``.

        Privacy
        -------
        Post-processing: no private row is read and nothing is charged.
        """
        check_is_fitted(self)
        return compact(
            self,
            n_trees=n_trees,
            num_leaves=num_leaves,
            max_error=max_error,
            public_rows=public_rows,
        )
