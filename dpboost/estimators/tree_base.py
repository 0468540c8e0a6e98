"""Shared code of single-tree estimators: predictions, text, and scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.data.conform import conform, laid_out_as
from dpboost.data.containers import as_array
from dpboost.data.declared_rows import DeclaredColumns
from dpboost.estimators.private_score import PrivateScore
from dpboost.lightgbm.booster import Booster
from dpboost.reporting.model_page import ModelPage
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import ResolvedSchema
from dpboost.training.fitted_model import FittedModel
from dpboost.transcripts.recorded import without_transcript
from dpboost.trees.exported_tree import ReleasedTree

# Hyper-parameters that a recipe decides when they are None; the value used is stored under the
# same name with an underscore after ``fit``.
DECIDED_BY_RECIPE = (
    "preset",
    "max_depth",
    "criterion",
    "max_bin",
    "selection",
    "leaf_share",
    "n_splits",
    "depth_budget",
    "target_error",
    "min_gain",
    "threshold_draws",
    "prune",
    "min_rows",
    "bounds_share",
)

# The same for trees of numbers.
DECIDED_OF_NUMBERS = (
    "max_depth",
    "reg_lambda",
    "max_bin",
    "selection",
    "leaf_share",
    "hessian_share",
    "step_prior",
)


class TreeEstimator(PrivateScore, ModelPage, DeclaredColumns):
    """Mixin for single-tree estimators; a base before scikit-learn's classes.

    Privacy
    -------
    Everything a fitted estimator holds is public, declared, assumed public or released.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Leave the transcript out: it is a file of its own."""
        parent: Any = super()
        return without_transcript(parent.__getstate__())

    _decided: tuple[str, ...] = DECIDED_BY_RECIPE

    feature_names_in_: NDArray[np.object_]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise is drawn, which its tiny test tables cannot bear."""
        parent: Any = super()
        tags = parent.__sklearn_tags__()
        tags.non_deterministic = getattr(self, "noise_seed", None) is None
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _arguments(self) -> dict[str, Any]:
        """Return the parameters that the estimator of this process has too."""
        own: Any = self
        parameters: dict[str, Any] = own.get_params(deep=False)
        return {name: value for name, value in parameters.items() if name != "client"}

    def _extra_params(self) -> dict[str, Any]:
        """Return no parameters beside them."""
        return {}

    def _store(self, fitted: FittedModel, *, names: Any) -> None:
        values = fitted.hyperparameters.values()
        for name in self._decided:
            setattr(self, f"{name}_", values.get(name))
        parameters = _text_parameters(fitted)
        self.booster_ = Booster.of_ensemble(fitted.ensemble, parameters=parameters)
        self.ensemble_ = fitted.ensemble
        assert fitted.tree is not None
        self.tree_: ReleasedTree = fitted.tree
        self.schema_: ResolvedSchema = fitted.completed.schema
        self.privacy_report_: PrivacyReport = fitted.report
        self.held_out_scores_ = None
        self.n_features_in_ = fitted.ensemble.binner.n_features
        self.fitted_ = True
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each row falls into, as LightGBM numbers leaves.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), int32
        """
        rows = self._conformed(X)
        leaves = np.asarray(self.booster_.predict(rows, pred_leaf=True))
        return leaves.reshape(len(leaves), -1)[:, 0].astype(np.int32)

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 2,
        show_counts: bool = True,
    ) -> str:
        """Return the tree as text, in the manner of ``sklearn.tree.export_text``.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Those of the table by default.
        max_depth : int, optional
            Deeper nodes are left out.
        decimals : int, default=2
            Digits of thresholds.
        show_counts : bool, default=True
            Whether leaves show their released counts; these are noisy, and may be negative.

        Returns
        -------
        str
        """
        check_is_fitted(self, "tree_")
        owner = f"{type(self).__name__}.export_text"
        if feature_names is not None and len(feature_names) != self.n_features_in_:
            raise refuse("feature_names", owner, f"{self.n_features_in_} names", len(feature_names))
        if max_depth is not None:
            check_integer("max_depth", owner, max_depth, low=0)
        return self.tree_.text(
            self.ensemble_.binner,
            getattr(self, "classes_", np.empty(0)).tolist(),
            feature_names=feature_names,
            max_depth=max_depth,
            decimals=check_integer("decimals", owner, decimals, low=0, high=17),
            show_counts=show_counts,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the splits on each feature; a function of the released tree."""
        check_is_fitted(self, "tree_")
        used = np.bincount(self.tree_.splits.feature, minlength=self.n_features_in_)
        return used / max(used.sum(), 1)

    def get_depth(self) -> int:
        """Return the most splits above a leaf; a split into many branches counts once."""
        check_is_fitted(self, "tree_")
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def _raw(self, X: Any) -> NDArray[np.float64]:
        raw: NDArray[np.float64] = self._of_booster(X, raw_score=True)
        return raw

    def _of_booster(self, X: Any, **options: Any) -> Any:
        """Return what the LightGBM model predicts; of sparse rows contributions are sparse."""
        rows = self._conformed(X)
        return laid_out_as(X, self.booster_.predict(rows, **options))

    def _conformed(self, X: Any) -> Any:
        """Rows as the model text expects them, with the columns of training."""
        check_is_fitted(self, "tree_")
        X = X if self._declaration is None else self._features(X)
        names = getattr(X, "columns", None)
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise InvalidParameterError(
                "The feature names should match those that were passed during fit: the same "
                "columns in the same order."
            )
        shape = X.shape if hasattr(X, "shape") else as_array(X).shape
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise InvalidParameterError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return conform(X, self.ensemble_.binner)


class TreeClassifier(TreeEstimator, ClassifierMixin, BaseEstimator):
    """One released tree as a classifier."""

    def _store(self, fitted: FittedModel, *, names: Any) -> None:
        """Set the classes as well."""
        super()._store(fitted, names=names)
        self.classes_ = np.asarray(sorted(fitted.completed.schema.classes or ()))

    def predict_proba(self, X: Any, raw_score: bool = False, **options: Any) -> Any:
        """Predict class probabilities with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the link.
        **options
            ``pred_leaf``, ``pred_contrib`` and ``validate_features``, as in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Functions of released counts only.
        """
        if raw_score or _kinds(options):
            return self._of_booster(X, raw_score=raw_score, **options)
        raw = self._raw(X)
        if len(self.classes_) == 1:
            return np.ones((len(raw), 1))
        if raw.ndim == 1:
            second = 1 / (1 + np.exp(-raw))
            return np.column_stack((1 - second, second))
        weights = np.exp(raw - raw.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> Any:
        """Predict the likeliest class; among equals the first one.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score, options
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, ...) for scores, leaves and contributions
        """
        if raw_score or _kinds(options):
            return self._of_booster(X, raw_score=raw_score, **options)
        raw = self._raw(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(raw))
        best = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return raw scores: log-odds of the second class, or a logarithm for each class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._raw(X)


class TreeRegressor(TreeEstimator, RegressorMixin, BaseEstimator):
    """One released tree as a regressor."""

    _decided = DECIDED_OF_NUMBERS

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> Any:
        """Predict with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            The same values: there is no link.
        **options
            ``pred_leaf``, ``pred_contrib`` and ``validate_features``, as in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, ...) for leaves and contributions
            Functions of released sums only.
        """
        return self._of_booster(X, raw_score=raw_score, **options)


def _kinds(options: dict[str, Any]) -> bool:
    """Return whether something else than a prediction is asked for."""
    return bool(options.get("pred_leaf") or options.get("pred_contrib"))


def _text_parameters(fitted: FittedModel) -> dict[str, Any]:
    """LightGBM's own parameters that say how the model was made; all public."""
    values = fitted.hyperparameters.values()
    parameters = {
        "boosting": "gbdt",
        "objective": fitted.ensemble.objective.split(" ")[0],
        "num_iterations": 1,
        "learning_rate": 1.0,
        "max_depth": values["max_depth"],
        "max_bin": values["max_bin"],
    }
    if len(fitted.ensemble.trees) > 1:
        parameters["num_class"] = len(fitted.ensemble.trees)
    return parameters
