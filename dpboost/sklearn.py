"""Estimators that replace LightGBM's: same names, same models, and a guarantee."""

from __future__ import annotations

import inspect
from dataclasses import replace
from fractions import Fraction
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelEncoder

from dpboost import _estimator_docs
from dpboost._threads import effective_n_threads
from dpboost._validation import check_integer, refuse
from dpboost.algorithms import ALGORITHMS
from dpboost.data.batches import Batches, is_batched
from dpboost.data.columns import is_frame
from dpboost.data.conform import conform
from dpboost.data.learning import ASSUMPTIONS
from dpboost.data.table import Table, read_table
from dpboost.evaluation import Evaluator
from dpboost.fit_options import FitOptions
from dpboost.fitting import fit_ensemble
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.continued import EarlierModel
from dpboost.lightgbm.text import model_text
from dpboost.parameters import resolve
from dpboost.privacy.report import PrivacyReport
from dpboost.privacy_request import PrivacyRequest
from dpboost.reading import Reading
from dpboost.recipe import Hyperparameters
from dpboost.row_arguments import RowArguments
from dpboost.schema import ResolvedSchema
from dpboost.streaming import earlier_scores, open_batches
from dpboost.training import Fitted

__all__ = ["DPBoostClassifier", "DPBoostRegressor"]

# Hyper-parameters that a recipe decides when they are None; the value used is stored under the
# same name with an underscore after ``fit``.
DECIDED_BY_RECIPE = (
    "learning_rate",
    "max_depth",
    "reg_lambda",
    "max_bin",
    "trees_per_ensemble",
    "selection",
    "features_per_tree",
    "gradient_clip",
    "step_prior",
    "hessian_share",
)

# Rows times trees from which predictions go tree by tree.
LARGE = 5_000_000

PRIVACY_PARAMETERS = (
    "epsilon",
    "delta",
    "neighbours",
    "schema",
    "assume_public",
    "noise_seed",
    "rows_per_user",
)


class _PrivateEstimator(BaseEstimator):
    """What the two estimators share; comes before LightGBM's class in the bases."""

    _task: str
    # Where the fit is one of several under one budget: its share, and how many there are.
    _part: tuple[Fraction, int] | None = None
    noise_seed: int | None
    _objective: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of this estimator, with those of LightGBM that were given."""
        return {**BaseEstimator.get_params(self, deep=deep), **self._other_params}

    def set_params(self, **params: Any) -> Any:
        """Set parameters of this estimator; ``fit`` refuses names that LightGBM does not know."""
        own = self._get_param_names()
        self._set_extra({name: value for name, value in params.items() if name not in own})
        return BaseEstimator.set_params(self, **params)

    def _set_extra(self, extra: dict[str, Any]) -> None:
        """Keep parameters of LightGBM, unchanged; they are read by ``fit``."""
        self._other_params.update(extra)
        for name, value in extra.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that noise is drawn, which its tiny test tables cannot bear."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise_seed is None
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        *,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
        init_model: Any = None,
        user_ids: Any = None,
    ) -> Any:
        """Train privately.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features), or batches of rows
            Rows. Missing, infinite and out-of-bounds values are no errors. What counts as batches
            says :class:`dpboost.Dataset`.
        y : array-like of shape (n_rows,), or None where batches come with labels
            Labels: finite numbers, clipped to the label bounds, or classes. Rows whose label is
            not among the declared classes take no part.
        sample_weight : array-like of shape (n_rows,), optional
            Private weights, clipped to [0, max_weight]. Each is an attribute of its row.
        init_score : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            Private: raw scores at which training begins, instead of the released start value. They
            are not part of the model, as in LightGBM. That each is a function of its own row and
            of public or released numbers is the user's promise.
        eval_set : list of (X, y), optional
            Rows on which each round is judged. They are taken as public.
        eval_names : list of str, optional
            Their names; ``valid_0``, ``valid_1``, ... by default.
        eval_sample_weight, eval_class_weight, eval_init_score : list, optional
            Weights and offsets of theirs.
        eval_metric : str, callable or list of them, optional
            LightGBM's names of metrics, or functions of ``(y_true, y_pred[, weight])``.
        feature_name : list of str or "auto"
            Names of the columns; "auto" takes those of a DataFrame.
        categorical_feature : list of str or int, or "auto"
            Columns that hold categories, beyond those of a categorical type. The categories
            are declared by the schema, or else learned.
        callbacks : list of callable, optional
            LightGBM's callbacks: see :mod:`dpboost.callbacks`.
        eval_X, eval_y : optional
            Another way to give ``eval_set``: one table and its labels, or tuples of them.
        init_model : estimator, Booster, str or path, optional
            A released model to continue: its trees are kept and its predictions are where scores
            begin. The report adds up the budgets of both fits. A model without a report of ours
            makes the result not private, and the report says so. ``ensemble_`` holds the new
            trees, ``booster_`` all.
        user_ids : array-like of shape (n_rows,), optional
            Whose row each one is, where ``rows_per_user`` protects users.

        Returns
        -------
        DPBoostRegressor or DPBoostClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For bad parameters or shapes, before anything is drawn or charged; and where the
            training rows are among the evaluation sets.

        Warns
        -----
        PublicRowsWarning
            Where evaluation sets are given.
        ParameterWarning
            Where parameters of LightGBM have no effect.

        Privacy
        -------
        Spends ``epsilon`` once; see ``privacy_report_``. Evaluation sets are not protected.
        """
        self._fit(
            X,
            y,
            FitOptions(
                eval_set=eval_set,
                eval_names=eval_names,
                eval_sample_weight=eval_sample_weight,
                eval_class_weight=eval_class_weight,
                eval_init_score=eval_init_score,
                eval_metric=eval_metric,
                feature_name=feature_name,
                categorical_feature=categorical_feature,
                callbacks=callbacks,
                eval_X=eval_X,
                eval_y=eval_y,
                user_ids=user_ids,
            ),
            RowArguments(sample_weight=sample_weight, init_score=init_score, init_model=init_model),
        )
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        options: FitOptions,
        rows: RowArguments,
    ) -> None:
        """Train, build the LightGBM model and store what LightGBM's own tools look for."""
        owner = type(self).__name__
        own = BaseEstimator.get_params(self, deep=False)
        own.pop("client", None)  # of the estimators of a cluster
        resolved = resolve(own, self._other_params, defaults=_defaults(type(self)), owner=owner)
        parameters = resolved.arguments
        if parameters["n_jobs"] is not None:
            check_integer("n_jobs", owner, parameters["n_jobs"])
        check_integer("verbosity", owner, parameters["verbosity"])
        privacy = PrivacyRequest.validated(
            owner, part=self._part, **{name: parameters[name] for name in PRIVACY_PARAMETERS}
        )
        names = ("n_estimators", *DECIDED_BY_RECIPE)
        hyperparameters = Hyperparameters(**{name: parameters[name] for name in names})
        # Folds of cv are dealt by secret coins: an error about an empty one would tell.
        reading = replace(options.reading(resolved.fit), may_be_empty=self._part is not None)
        if is_batched(X) and not isinstance(X, Batches):
            X = Batches(X)
        first = X.first.X if isinstance(X, Batches) else X
        named = hasattr(first, "columns") or not isinstance(options.feature_name, str)
        X, y, rows = open_batches(
            X,
            y,
            rows,
            reading=reading,
            recipe=parameters["recipe"],
            hyperparameters=hyperparameters,
            privacy=privacy,
            n_threads=effective_n_threads(parameters["n_jobs"]),
            owner=owner,
        )
        earlier = rows.earlier()
        objective = rows.objective(parameters, self._task, earlier, owner)
        if earlier is not None:
            scores = self._earlier_scores(earlier, X, privacy.schema, reading)
            objective = replace(objective, init_score=scores)
            options = options.continued(earlier.predict)
        evaluator = options.evaluator(
            X,
            y,
            fit=resolved.fit,
            parameters=parameters | self._other_params,
            task=self._task,
            owner=owner,
        )
        fitted = self._train(
            X,
            y,
            task=self._task,
            recipe=parameters["recipe"],
            hyperparameters=hyperparameters,
            privacy=privacy,
            public=_public_generator(parameters["random_state"], parameters["noise_seed"], owner),
            n_jobs=parameters["n_jobs"],
            show_progress=parameters["verbosity"] > 0,
            owner=owner,
            reading=reading,
            monitor=evaluator,
            objective=objective,
        )
        self._store(fitted, evaluator, earlier, has_names=named)
        if objective.function is not None:
            self._objective = objective.function

    def _earlier_scores(self, earlier: EarlierModel, X: Any, schema: Any, reading: Reading) -> Any:
        """Predict the rows of the fit by the model that it continues."""
        return earlier_scores(earlier, X, schema, reading)

    def _train(self, X: Any, y: Any, **request: Any) -> Fitted:
        """Train on rows of this process."""
        return fit_ensemble(X, y, **request)

    def _store(
        self,
        fitted: Fitted,
        evaluator: Evaluator | None,
        earlier: EarlierModel | None,
        *,
        has_names: bool,
    ) -> None:
        """Set the fitted attributes, ours and those that LightGBM's base class reads."""
        hyper = fitted.hyperparameters
        for name in DECIDED_BY_RECIPE:
            setattr(self, f"{name}_", getattr(hyper, name))
        parameters = _text_parameters(fitted)
        if earlier is None:
            self._Booster = Booster.of_ensemble(fitted.ensemble, parameters=parameters)
        else:
            text = model_text(fitted.ensemble, parameters=parameters)
            self._Booster = Booster(model_str=earlier.prepend(text))
        self.ensemble_ = fitted.ensemble
        self.schema_: ResolvedSchema = fitted.knowledge.schema
        self.privacy_report_: PrivacyReport = fitted.report
        self._n_features = fitted.ensemble.binner.n_features
        self._n_features_in = self._n_features
        self._objective = fitted.ensemble.objective.split(" ")[0]
        self._evals_result: dict[str, Any] = evaluator.results if evaluator else {}
        self._best_iteration = evaluator.best_iteration if evaluator else 0
        if earlier is not None and self._best_iteration > 0:
            self._best_iteration += earlier.n_rounds
        self._best_score: dict[str, Any] = evaluator.best_score if evaluator else {}
        self._Booster.best_iteration = self._best_iteration
        self._Booster.best_score = self._best_score
        self._fitted_with_feature_names = has_names
        self.fitted_ = True

    def _process_params(self, stage: str) -> dict[str, Any]:
        """Return what LightGBM's predictor may know: none of our parameters is one of its own."""
        return {"verbosity": -1}

    def _large_table(self, X: Any, options: dict[str, Any]) -> Table | None:
        """Return the rows of a large prediction, None where LightGBM predicts.

        LightGBM goes through all trees row by row, which a cache of a large model cannot follow.
        The kernel of the ensemble goes tree by tree and returns the same doubles.
        """
        asked = {name: value for name, value in options.items() if value}
        if asked or not getattr(self, "fitted_", False) or self._best_iteration:
            return None
        shape = X.shape if hasattr(X, "dtype") or is_frame(X) else ()
        n_rows = shape[0] if len(shape) == 2 else 0
        ensemble = self.ensemble_
        whole = self._Booster.num_trees() == len(ensemble.trees)
        if not whole or callable(self._objective) or n_rows * len(ensemble.trees) < LARGE:
            return None
        return read_table(X, schema=self.schema_, zero_as_missing=ensemble.binner.zero_as_missing)

    def _conformed(self, X: Any) -> Any:
        """Rows as the model text expects them: declared categories, no integers cut to float32."""
        return conform(X, self.ensemble_.binner) if getattr(self, "fitted_", False) else X


class DPBoostRegressor(_PrivateEstimator, lightgbm.LGBMRegressor):
    """Differentially private gradient boosting for regression.

    Replaces ``lightgbm.LGBMRegressor``: LightGBM's losses on labels inside public bounds, and a
    fitted model that is a LightGBM model.

    Notes
    -----
    The gradient of a row has a public bound under every objective, after its label is clipped to
    the label bounds and its gradient to the bound itself:

    * ``regression`` (the default): half-width of the label bounds, times ``gradient_clip``;
    * ``regression_l1``, ``huber``, ``fair``, ``quantile``: 1, ``alpha``, ``fair_c`` and the larger
      of ``alpha`` and ``1 - alpha`` by their own formulas (``losses.RobustLoss``);
    * ``cross_entropy``, ``binary``: 1, as label and prediction are between 0 and 1;
    * ``poisson``, ``gamma``, ``tweedie``: raw scores are clipped for gradients as well, to the
      logarithms of the label bounds; the bounds and their reasons are in ``losses.LogLinkLoss``.
      Labels must be positive for ``gamma`` and not negative for the others; what is not is
      clipped like any label outside its bounds.

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
        schema: Any = None,
        neighbours: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMPTIONS,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_depth: int | None = None,
        reg_lambda: float | None = None,
        max_bin: int | None = None,
        trees_per_ensemble: int | None = None,
        selection: str | None = None,
        features_per_tree: int | None = None,
        gradient_clip: float | None = None,
        step_prior: float | None = None,
        hessian_share: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        noise_seed: int | None = None,
        importance_type: str = "split",
        verbosity: int = 1,
        objective: Any = None,
        alpha: float | None = None,
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
        _assign(self, locals())

    def predict(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[np.float64]:
        """Predict with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the link: logarithms for ``poisson``, ``gamma`` and ``tweedie``,
            log-odds for ``cross_entropy``; the same values for the others.
        **options
            ``start_iteration``, ``num_iteration``, ``pred_leaf``, ``pred_contrib`` and
            ``validate_features``, as in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, ...) for ``pred_leaf`` and ``pred_contrib``
        """
        table = self._large_table(X, options)
        if table is not None:
            n_threads = effective_n_threads(self.n_jobs)
            ensemble = self.ensemble_
            predict = ensemble.predict_raw if raw_score else ensemble.predict
            return predict(table, n_threads)
        return np.asarray(
            lightgbm.LGBMRegressor.predict(self, self._conformed(X), raw_score, **options)
        )


class DPBoostClassifier(_PrivateEstimator, lightgbm.LGBMClassifier):
    """Differentially private gradient boosting for two and more classes.

    Replaces ``lightgbm.LGBMClassifier``: logistic loss of two classes, softmax loss or a logistic
    loss of each class against the rest of more, and a fitted model that is a LightGBM model.
    ``classes_`` holds the declared, assumed or learned labels. The recipes ``dpboost``, ``para``
    and ``seq`` are for two classes.

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
        schema: Any = None,
        neighbours: str = "add_remove",
        assume_public: tuple[str, ...] = ASSUMPTIONS,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_depth: int | None = None,
        reg_lambda: float | None = None,
        max_bin: int | None = None,
        trees_per_ensemble: int | None = None,
        selection: str | None = None,
        features_per_tree: int | None = None,
        gradient_clip: float | None = None,
        step_prior: float | None = None,
        hessian_share: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        noise_seed: int | None = None,
        importance_type: str = "split",
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
        _assign(self, locals())

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether the recipe is for two classes only."""
        tags = super().__sklearn_tags__()
        known = self.recipe in ALGORITHMS.names
        tags.classifier_tags.multi_class = known and ALGORITHMS.find(self.recipe, "").multiclass
        return tags

    def _store(
        self,
        fitted: Fitted,
        evaluator: Evaluator | None,
        earlier: EarlierModel | None,
        *,
        has_names: bool,
    ) -> None:
        """Set the classes as well."""
        super()._store(fitted, evaluator, earlier, has_names=has_names)
        classes = np.asarray(fitted.knowledge.schema.classes)
        # As its ``fit`` leaves it, which would look into the columns of every kind of table first.
        self._le = LabelEncoder()
        self._le.classes_ = self._classes = np.unique(classes)
        self._class_map = {label: index for index, label in enumerate(self._classes)}
        self._n_classes = len(classes)

    def predict_proba(self, X: Any, raw_score: bool = False, **options: Any) -> NDArray[np.float64]:
        """Predict class probabilities with the LightGBM model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Return scores before the logistic function.
        **options
            ``start_iteration``, ``num_iteration``, ``pred_leaf``, ``pred_contrib`` and
            ``validate_features``, as in LightGBM.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Functions of released values only.
        """
        table = self._large_table(X, options)
        if table is not None:
            n_threads = effective_n_threads(self.n_jobs)
            if raw_score:
                return self.ensemble_.predict_raw(table, n_threads)
            found = self.ensemble_.predict(table, n_threads)
            return found if found.ndim == 2 else np.column_stack((1.0 - found, found))
        probability = np.asarray(
            lightgbm.LGBMClassifier.predict_proba(self, self._conformed(X), raw_score, **options)
        )
        if self._n_classes == 1 and not (
            raw_score or options.get("pred_leaf") or options.get("pred_contrib")
        ):
            return np.ones((len(probability), 1))
        return probability

    def decision_function(self, X: Any, **options: Any) -> NDArray[np.float64]:
        """Return raw scores: of two classes one a row, positive means the second class."""
        return self.predict_proba(X, raw_score=True, **options)


_DOCUMENTED = {
    DPBoostRegressor: (
        _estimator_docs.OBJECTIVE.format(
            objectives="None or ``regression``, ``regression_l1``, ``huber``, ``fair``, "
            "``quantile``,\n        ``poisson``, ``gamma``, ``tweedie``, ``cross_entropy``, "
            "``binary``.",
            score_bounds="the label bounds",
        )
        + _estimator_docs.REGRESSION_OBJECTIVES
    ),
    DPBoostClassifier: (
        _estimator_docs.OBJECTIVE.format(
            objectives="None or ``binary``, ``multiclass``, ``multiclassova``, ``cross_entropy``.",
            score_bounds="-6 and 6",
        )
        + _estimator_docs.CLASS_WEIGHTS
    ),
}
for _estimator, _more in _DOCUMENTED.items():
    _text = _estimator.__doc__ or ""
    _place = min(_text.find(f"    {name}\n") for name in ("Notes", "Examples") if name in _text)
    _estimator.__doc__ = (
        f"{_text[:_place]}{_estimator_docs.PARAMETERS}{_more}{_estimator_docs.KWARGS}\n"
        f"{_estimator_docs.ATTRIBUTES}\n{_text[_place:]}"
    )


def _assign(estimator: Any, parameters: dict[str, Any]) -> None:
    """Store constructor arguments under their names, unchanged."""
    for name, value in parameters.items():
        if name not in ("self", "__class__", "kwargs"):
            setattr(estimator, name, value)
    estimator._set_extra(parameters["kwargs"])


def _defaults(kind: type) -> dict[str, Any]:
    """Return the default values of a constructor."""
    parameters = inspect.signature(kind).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def _public_generator(random_state: Any, noise_seed: int | None, owner: str) -> np.random.Generator:
    """Return public randomness from what scikit-learn users pass as ``random_state``.

    A noise seed makes the whole fit reproducible, so it stands in where no state is given.
    """
    if random_state is None:
        return np.random.default_rng(noise_seed)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return np.random.default_rng(check_integer("random_state", owner, random_state, low=0))
    raise refuse(
        "random_state", owner, "an integer of at least 0, a RandomState or None", random_state
    )


def _text_parameters(fitted: Fitted) -> dict[str, Any]:
    """LightGBM's own parameters that say how the model was made; all public."""
    hyper = fitted.hyperparameters
    return {
        "boosting": "gbdt",
        "objective": fitted.ensemble.objective.split(" ")[0] or "custom",
        "num_iterations": hyper.n_estimators,
        "learning_rate": hyper.learning_rate,
        "max_depth": hyper.max_depth,
        "lambda_l2": hyper.reg_lambda,
        "max_bin": hyper.max_bin,
    }
