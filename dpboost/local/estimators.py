"""Estimators that simulate devices and server in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    keep_arguments,
)
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import CarryingEstimator, refuse_budget
from dpboost.data.conform import conform
from dpboost.data.labels import check_same_length, read_class_labels
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.local.aggregator import ESTIMATES, LPDTAggregator
from dpboost.local.collection import ReportPlan
from dpboost.local.exact_probability import check_epsilon
from dpboost.local.label_levels import ClassLabels
from dpboost.local.partition import LPDTPartition
from dpboost.privacy.randomness import Entropy
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import Schema
from dpboost.training.privacy_params import warn_if_not_private, warn_of_epsilon

#: Reports held at a time.
_BYTES_AT_ONCE = 1 << 25


class _LPDT(CarryingEstimator, BaseEstimator):
    """Shared code of the two estimators."""

    @one_warning
    def fit(self, X: Any, y: Any, *, X_public: Any = None, y_public: Any = None) -> Any:
        """Grow the tree on public rows and fill its leaves from reports of private ones.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
            Private rows. Missing, infinite and out-of-bounds values are no errors.
        y : array-like of shape (n_rows,)
            Private labels: classes, or finite numbers, which are clipped to the label bounds.
        X_public, y_public : as X and y
            Public rows.

        Returns
        -------
        LPDTRegressor or LPDTClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For invalid parameters or input, before anything is drawn.

        Privacy
        -------
        Draws one report of each private row: every call of ``fit`` costs each of them epsilon.
        """
        owner = type(self).__name__
        refuse_budget(owner, carrier=self)
        classes = self._classes(y_public)
        if X_public is None or y_public is None:
            raise InvalidParameterError(
                f"{owner}.fit needs public rows: pass X_public and y_public. They are published "
                "with the model, so they must not be private."
            )
        epsilon = check_epsilon(owner, self.epsilon)
        check_choice("estimate", owner, self.estimate, ESTIMATES)
        if self.noise_seed is not None:
            check_integer("noise_seed", owner, self.noise_seed, low=0)
        partition = LPDTPartition.from_public(
            X_public,
            y_public,
            rule=self.rule,
            epsilon=epsilon,
            # The number of reports is known to the server, hence public.
            n_reports=_n_rows(X),
            mechanism=self.mechanism,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            n_levels=getattr(self, "n_levels", None),
            label_bounds=getattr(self, "label_bounds", None),
            classes=classes,
            schema=self.schema,
        )
        plan = ReportPlan.of(partition, epsilon, self.mechanism)
        server = LPDTAggregator(
            partition, epsilon, mechanism=self.mechanism, estimate=self.estimate
        )
        table, labels = partition.read(X), partition.labels.read(y)
        check_same_length(table.n_rows, labels)
        reasons = self._reasons_of_no_privacy(epsilon)
        entropy = Entropy.secure() if self.noise_seed is None else Entropy.seeded(self.noise_seed)
        records = plan.records(table, labels)
        at_once = max(1, _BYTES_AT_ONCE // plan.report_bytes)
        for first in range(0, len(records), at_once):
            server.add_many(plan.draw(records[first : first + at_once], entropy))
        self.partition_ = partition
        self.ensemble_ = server.to_ensemble(not_private=reasons)
        self.privacy_report_: PrivacyReport = server.privacy_report(not_private=reasons)
        self.booster_ = Booster(
            model_str=model_text(self.ensemble_, parameters={"num_iterations": 1})
        )
        self.n_features_in_ = partition.binner.n_features
        self.n_cells_ = partition.n_cells
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        if isinstance(partition.labels, ClassLabels):
            self.classes_ = np.asarray(partition.labels.classes)
        return self

    def _classes(self, y_public: Any) -> Any:
        """Return the public classes of a classifier."""
        return None

    def _reasons_of_no_privacy(self, epsilon: Any) -> tuple[str, ...]:
        """Warn if there is almost no guarantee; return additional reasons for the report."""
        seeded = self.noise_seed is not None
        if warn_if_not_private(epsilon, seeded=seeded):
            warn_of_epsilon(epsilon)
        return ("the noise was drawn from a seed",) if seeded else ()

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.asarray(self.booster_.predict(conform(X, self.ensemble_.binner)))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise is drawn and that public rows are needed."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise_seed is None
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _n_rows(X: Any) -> int:
    """Return the number of rows, or 1 for an input that is not a table."""
    try:
        return max(1, X.shape[0] if hasattr(X, "shape") else len(X))
    except (IndexError, TypeError):
        return 1


class LPDTRegressor(RegressorMixin, _LPDT):
    """Locally private decision tree for regression, shaped by public rows.

    Public rows grow the tree. Every private row then sends one randomized report of its cell and
    its label, and the sums of the reports give the leaf values. Decision Tree for Locally Private
    Estimation with Public Data (LPDT); all devices and the server are simulated in one process.
    For a real collection see `LPDTPartition`, `MemoizedReports` and `LPDTAggregator`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Budget of every report, 1e-6 to 40. ``float("inf")`` disables the noise; the model is then
        not private, and its report states this.
    rule : {"max_edge", "variance"}, default="variance"
        How public rows split a cell: LPDT-M or LPDT-V of the paper.
    max_depth : int, default=None
        Maximum number of splits between root and cell, 0 to 12.
    min_samples_leaf : int, default=None
        Minimum number of public rows in a cell. None, for this and the depth: the size with the
        smallest predicted error, from the public rows, epsilon and the number of private rows.
    mechanism : {"signed_cell", "unary", "response", "paper"}, default="signed_cell"
        ``signed_cell`` uses the whole epsilon for the pair of cell and label level, by the better
        of ``unary`` (optimized unary encoding) and ``response`` (generalized randomized response);
        ``paper`` splits it between two bits and a noisy label.
    n_levels : int, default=None
        Levels that a report rounds the label to without bias, 2 to 64; 2 is a sign. None: chosen
        with the size. Ignored by ``paper``.
    estimate : {"shrunken", "paper"}, default="shrunken"
        Estimator of leaf values: means that are shrunk towards those of the parent nodes according
        to their noise, or equation 5 of the paper, noisy sum over noisy count of each cell.
        ``mechanism="paper"`` with ``estimate="paper"`` is LPDT as published.
    label_bounds : (float, float), default=None
        Public range of the labels; labels outside are clipped. None: the range in the schema, or
        that of the public labels.
    schema : Schema, dict or path, default=None
        Public knowledge of the columns. What is not declared is taken from the public rows.
    noise_seed : int, default=None
        Makes the noise reproducible, for tests and benchmarks. The model is then *not private*.

    Attributes
    ----------
    partition_ : LPDTPartition
        The public tree.
    booster_ : dpboost.Booster
        A ``lightgbm.Booster`` that keeps the privacy report when it is saved.
    ensemble_ : Ensemble
        The same model, for prediction without LightGBM.
    privacy_report_ : PrivacyReport
        The guarantee.
    n_cells_, n_features_in_ : int

    Privacy
    -------
    Every report is epsilon-locally private for its record, and so is the model. The number of
    private rows is public. Rows of ``X_public`` are not protected at all.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(size=(5000, 2))
    >>> y = X[:, 0]
    >>> model = LPDTRegressor(epsilon=4.0, label_bounds=(0, 1))
    >>> model.fit(X[500:], y[500:], X_public=X[:500], y_public=y[:500]).predict(X).shape
    (5000,)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        rule: str = "variance",
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        mechanism: str = "signed_cell",
        n_levels: int | None = None,
        estimate: str = "shrunken",
        label_bounds: tuple[float, float] | None = None,
        schema: Any = None,
        noise_seed: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        return self._scores(X)


class LPDTClassifier(ClassifierMixin, _LPDT):
    """Locally private decision tree for two or more classes, shaped by public rows.

    As `LPDTRegressor`, with reports of the pair of cell and class.

    Parameters
    ----------
    epsilon : float, default=1.0
        Budget of every report, 1e-6 to 40, or infinity for no noise and no privacy.
    rule : {"max_edge", "variance"}, default="variance"
        How public rows split a cell; ``variance`` is the Gini index here.
    max_depth, min_samples_leaf : int, default=None
        As in `LPDTRegressor`.
    mechanism : {"signed_cell", "unary", "response"}, default="signed_cell"
        The first uses the better one of the other two.
    estimate : {"shrunken", "paper"}, default="shrunken"
        As in `LPDTRegressor`, for class frequencies.
    classes : sequence, default=None
        All classes. None: those of the schema, or of the public labels. Other private labels are
        reported as a class that is drawn uniformly.
    schema : Schema, dict or path, default=None
        Public knowledge of the columns. What is not declared is taken from the public rows.
    noise_seed : int, default=None
        Makes the noise reproducible. The model is then *not private*.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In ascending order.
    partition_, booster_, ensemble_, privacy_report_, n_cells_, n_features_in_
        As in `LPDTRegressor`.

    Privacy
    -------
    Every report is epsilon-locally private for its record, and so is the model. The number of
    private rows is public. Rows of ``X_public`` are not protected at all.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> model = LPDTClassifier(epsilon=2.0, schema={"classes": [0, 1]})
    >>> model = model.fit(X[100:], y[100:], X_public=X[:100], y_public=y[:100])
    >>> model.predict(X).shape
    (300,)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        rule: str = "variance",
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        mechanism: str = "signed_cell",
        estimate: str = "shrunken",
        classes: Any = None,
        schema: Any = None,
        noise_seed: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def _classes(self, y_public: Any) -> Any:
        """Return the declared classes, or else those of the public labels."""
        if self.classes is not None:
            return self.classes
        declared = Schema.coerce(self.schema).classes
        if declared is not None or y_public is None:
            return declared
        return np.unique(read_class_labels(y_public)).tolist()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), float64
        """
        scores = self._scores(X)
        return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]
