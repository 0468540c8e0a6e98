"""Private boosting estimators with the interface of LightGBM's."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

import lightgbm
import lightgbm.sklearn
import numpy as np
from numpy.typing import NDArray

from dpboost._utils.parameter_effects import with_effects
from dpboost._utils.threads import effective_n_threads
from dpboost._utils.validation import RefusedError, default
from dpboost.data.conform import laid_out_as
from dpboost.estimators import docs
from dpboost.estimators.base import PrivateEstimator
from dpboost.estimators.evaluation_sets import Evaluator
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.recipes import ALGORITHMS
from dpboost.training.fitted_model import FittedModel
from dpboost.training.public_schema import ASSUMED_BY_DEFAULT


class LGBMModel(PrivateEstimator, lightgbm.LGBMModel):
    """Common base of the two estimators, for ``isinstance``; cannot be instantiated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RefusedError(
            "LGBMModel does not determine whether labels are numbers or classes, and which of "
            "their metadata are public: use LGBMRegressor or LGBMClassifier."
        )


class LGBMRanker:
    """Not supported; raises an error, because there is no private training of rankings.

    Raises
    ------
    InvalidParameterError
        In any case.

    Privacy
    -------
    The gradient of a row in a ranking depends on the other rows of its query, so one row can change
    all of them, and its contribution has no bound.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RefusedError(
            f"{type(self).__name__} is not available: gradients of rankings mix the rows of a "
            "query, so the contribution of one row has no bound. Rank pointwise: fit LGBMRegressor "
            "to the relevance of single rows with Schema(label_bounds=...), or LGBMClassifier to "
            "clicks, and sort the rows of each query by the prediction."
        )

    def fit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, as the class does: code that looks for the method finds it."""
        LGBMRanker.__init__(self)

    def predict(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, as the class does: code that looks for the method finds it."""
        LGBMRanker.__init__(self)


class DPBoostRegressor(LGBMModel, lightgbm.LGBMRegressor):
    """Differentially private gradient boosting for regression.

    Drop-in replacement for ``lightgbm.LGBMRegressor``, with LightGBM's losses on labels inside
    public bounds. The fitted model is a LightGBM model.

    Notes
    -----
    The gradient of a row has a public bound under every objective, after its label is clipped to
    the label bounds and its gradient to the bound itself:

    * ``regression`` (the default): half-width of the label bounds, times ``gradient_clip``;
    * ``regression_l1``, ``huber``, ``fair``, ``quantile``: 1, ``alpha``, ``fair_c`` and the larger
      of ``alpha`` and ``1 - alpha`` by their own formulas (``losses.RobustLoss``). The first and
      the last also release an estimate of the label range, for 1 to 5 % of the budget;
      ``schema_`` then has that range. Several quantiles are fitted jointly, with common tree
      structures and one budget: the bound of a row is that of all of them together;
    * ``mape``: as ``regression_l1``, with row weights ``m / max(m, |label|)``, where ``m`` is the
      smallest absolute label between the bounds, and at least 1. With bounds far from zero, rows
      with large labels are not hidden by noise that is scaled for small ones;
    * ``cross_entropy``, ``binary``: 1, as label and prediction are between 0 and 1;
    * ``poisson``, ``gamma``, ``tweedie``: raw scores are clipped for gradients as well, to the
      logarithms of the label bounds; the bounds and their reasons are in ``losses.LogLinkLoss``.
      Labels must be positive for ``gamma`` and nonnegative for the others; other labels are
      clipped to the bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPBoostRegressor(epsilon=2.0, schema=dict(label_bounds=(25, 346)))
    """

    _task = "regression"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        recipe: str = "best",
        preset: str | None = None,
        schema: Any = None,
        neighbors: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
        boosting_type: str = default("gbdt"),
        num_leaves: int = default(31),
        max_depth: int | None = default(-1),
        learning_rate: float | None = default(0.1),
        n_estimators: int | None = default(100),
        subsample_for_bin: int = default(200000),
        min_split_gain: float = default(0.0),
        min_child_weight: float = default(1e-3),
        min_child_samples: int = default(20),
        subsample: float = default(1.0),
        subsample_freq: int = default(0),
        colsample_bytree: float = default(1.0),
        reg_alpha: float = default(0.0),
        reg_lambda: float | None = default(0.0),
        max_bin: int | None = None,
        trees_per_ensemble: int | None = None,
        selection: str | None = None,
        features_per_tree: int | None = None,
        gradient_clip: float | None = None,
        step_prior: float | None = None,
        hessian_share: float | None = None,
        max_interaction: int | None = None,
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        noise_seed: int | None = None,
        importance_type: str = "gain",
        verbosity: int = 1,
        objective: Any = None,
        alpha: float | Sequence[float] | None = None,
        fair_c: float | None = None,
        tweedie_variance_power: float | None = None,
        poisson_max_delta_step: float | None = None,
        gradient_bound: float | None = None,
        hessian_bound: float | None = None,
        score_bounds: tuple[float, float] | None = None,
        max_weight: float | None = None,
        rows_per_user: int | None = None,
        **kwargs: Any,
    ) -> None:
        lightgbm.LGBMRegressor.__init__(self, importance_type=importance_type)
        self._assign(locals())

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Predict with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the link: logarithms for ``poisson``, ``gamma`` and ``tweedie``,
            log-odds for ``cross_entropy``; the same values for the others.
        start_iteration, num_iteration, pred_leaf, pred_contrib, validate_features, **kwargs
            As in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, ...) for ``pred_leaf`` and ``pred_contrib``
            A column for each of several quantiles, in ascending order in every row. Raw scores of
            several quantiles, and what ``booster_`` predicts, are not sorted and may cross.
            With ``pred_contrib`` and a sparse matrix, a sparse matrix; of several quantiles a list
            with one for each.
        """
        options = {
            "start_iteration": start_iteration,
            "num_iteration": num_iteration,
            "pred_leaf": pred_leaf,
            "pred_contrib": pred_contrib,
            "validate_features": validate_features,
            **kwargs,
        }
        X = X if self._declaration is None else self._features(X)
        table = self._own_table(X, options)
        if table is not None:
            n_threads = effective_n_threads(self.n_jobs)
            ensemble = self.ensemble_
            predict = ensemble.predict_raw if raw_score else ensemble.predict
            return predict(table, n_threads)
        rows = self._conformed(X)
        found = laid_out_as(X, lightgbm.LGBMRegressor.predict(self, rows, raw_score, **options))
        if not (raw_score or pred_leaf or pred_contrib) and found.ndim == 2:
            found.sort(axis=1)
        return found

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """Predict intervals that cover labels of new rows at the level of ``fit(conformal=...)``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends, inside the label bounds: the prediction minus and plus the
            released quantile of the errors of the held-out rows. The coverage is marginal, for
            labels that are clipped to the label bounds.

        Raises
        ------
        InvalidParameterError
            Without ``conformal`` at ``fit``.

        Privacy
        -------
        Post-processing.
        """
        return self._calibration("predict_interval").intervals(self.predict(X))


class DPBoostClassifier(LGBMModel, lightgbm.LGBMClassifier):
    """Differentially private gradient boosting for classification.

    Drop-in replacement for ``lightgbm.LGBMClassifier``, with logistic loss for two classes, and
    softmax or one-vs-rest loss for more. The fitted model is a LightGBM model. ``classes_``
    contains the declared, assumed or estimated labels. The recipes ``dpboost``, ``para`` and
    ``seq`` support two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPBoostClassifier(epsilon=2.0, schema=dict(classes=[0, 1]))
    """

    _task = "classification"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        recipe: str = "best",
        preset: str | None = None,
        schema: Any = None,
        neighbors: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMED_BY_DEFAULT,
        boosting_type: str = default("gbdt"),
        num_leaves: int = default(31),
        max_depth: int | None = default(-1),
        learning_rate: float | None = default(0.1),
        n_estimators: int | None = default(100),
        subsample_for_bin: int = default(200000),
        min_split_gain: float = default(0.0),
        min_child_weight: float = default(1e-3),
        min_child_samples: int = default(20),
        subsample: float = default(1.0),
        subsample_freq: int = default(0),
        colsample_bytree: float = default(1.0),
        reg_alpha: float = default(0.0),
        reg_lambda: float | None = default(0.0),
        max_bin: int | None = None,
        trees_per_ensemble: int | None = None,
        selection: str | None = None,
        features_per_tree: int | None = None,
        gradient_clip: float | None = None,
        step_prior: float | None = None,
        hessian_share: float | None = None,
        max_interaction: int | None = None,
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        noise_seed: int | None = None,
        importance_type: str = "gain",
        verbosity: int = 1,
        objective: Any = None,
        gradient_bound: float | None = None,
        hessian_bound: float | None = None,
        score_bounds: tuple[float, float] | None = None,
        class_weight: Any = None,
        is_unbalance: bool = False,
        max_weight: float | None = None,
        rows_per_user: int | None = None,
        **kwargs: Any,
    ) -> None:
        lightgbm.LGBMClassifier.__init__(self, importance_type=importance_type)
        self._assign(locals())

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether the recipe is for two classes only."""
        tags = super().__sklearn_tags__()
        known = self.recipe in ALGORITHMS.names
        tags.classifier_tags.multi_class = known and ALGORITHMS.find(self.recipe, "").multiclass
        return tags

    def _store(
        self,
        fitted: FittedModel,
        evaluator: Evaluator | None,
        earlier: EarlierModel | None,
        *,
        has_names: bool,
    ) -> None:
        """Set the classes as well."""
        super()._store(fitted, evaluator, earlier, has_names=has_names)
        classes = np.asarray(fitted.completed.schema.classes)
        self._set_classes(classes)

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Predict class probabilities with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the logistic function.
        start_iteration, num_iteration, pred_leaf, pred_contrib, validate_features, **kwargs
            As in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Functions of released values only. With ``pred_contrib`` and a sparse matrix, a sparse
            matrix; of more than two classes a list with one for each.
        """
        options = {
            "start_iteration": start_iteration,
            "num_iteration": num_iteration,
            "pred_leaf": pred_leaf,
            "pred_contrib": pred_contrib,
            "validate_features": validate_features,
            **kwargs,
        }
        X = X if self._declaration is None else self._features(X)
        table = self._own_table(X, options)
        if table is not None:
            n_threads = effective_n_threads(self.n_jobs)
            if raw_score:
                return self.ensemble_.predict_raw(table, n_threads)
            if self.n_classes_ == 1:  # the noise of its trees says nothing of another class
                return np.ones((table.n_rows, 1))
            found = self.ensemble_.predict(table, n_threads)
            return found if found.ndim == 2 else np.column_stack((1.0 - found, found))
        rows = self._conformed(X)
        if self._two_scores():
            return laid_out_as(X, lightgbm.LGBMModel.predict(self, rows, raw_score, **options))
        probability: Any = lightgbm.LGBMClassifier.predict_proba(self, rows, raw_score, **options)
        probability = laid_out_as(X, probability)
        if self.n_classes_ == 1 and not (raw_score or pred_leaf or pred_contrib):
            return np.ones((len(probability), 1))
        return probability

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Predict sets of classes that cover those of new rows at the level of ``fit``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), bool
            One column for each of ``classes_``: whether its probability is at least one minus the
            released quantile of the errors of the held-out rows. A set may be empty.

        Raises
        ------
        InvalidParameterError
            Without ``fit(conformal=...)``.

        Privacy
        -------
        Post-processing.
        """
        return self._calibration("predict_set").sets(self.predict_proba(X))

    def decision_function(self, X: Any, **options: Any) -> NDArray[np.float64]:
        """Return raw scores: of two classes one a row, positive means the second class."""
        raw = self.predict_proba(X, raw_score=True, **options)
        return raw[:, 1] - raw[:, 0] if self._two_scores() else raw

    def _two_scores(self) -> bool:
        """Return whether two classes have a score each, as several have."""
        return getattr(self, "fitted_", False) and self.n_classes_ == self.ensemble_.n_outputs == 2


LGBMRegressor = DPBoostRegressor
LGBMClassifier = DPBoostClassifier

_DOCUMENTED = {
    DPBoostRegressor: (
        docs.OBJECTIVE.format(
            objectives="None or ``regression``, ``regression_l1``, ``mape``, ``huber``, ``fair``, "
            "``quantile``,\n        ``poisson``, ``gamma``, ``tweedie``, ``cross_entropy``, "
            "``binary``.",
            score_bounds="the label bounds",
            several="",
            norm="",
        )
        + docs.REGRESSION_OBJECTIVES
    ),
    DPBoostClassifier: (
        docs.OBJECTIVE.format(
            objectives="None or ``binary``, ``multiclass``, ``multiclassova``, ``cross_entropy``.",
            score_bounds="-6 and 6",
            **docs.OF_CLASSES,
        )
        + docs.CLASS_WEIGHTS
    ),
}
for _estimator, _more in _DOCUMENTED.items():
    _text = docs.docstring_of(_estimator)
    _position = _text.index("Notes\n---" if "Notes\n---" in _text else "Examples\n---")
    _shared = textwrap.dedent(f"{docs.PARAMETERS}{_more}{docs.KWARGS}\n{docs.ATTRIBUTES}")
    _whole = f"{_text[:_position]}{_shared}\n{_text[_position:]}\n"
    _estimator.__doc__ = with_effects(
        _whole, docs.ranges_of(max_depth="whole number, 1 to 12; 0 or less is the recipe's rule")
    )
