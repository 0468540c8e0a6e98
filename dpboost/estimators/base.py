"""Shared code of the estimators: private fits, and the attributes that LightGBM's tools use."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import (
    InvalidParameterError,
    check_integer,
    check_real,
    keep_arguments,
)
from dpboost._utils.warnings import one_warning, warn_user, without_advice
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import Claim, claim
from dpboost.budgeting.searches import running_search
from dpboost.budgeting.windows import Window
from dpboost.data.batches import Batches
from dpboost.data.conform import conform
from dpboost.data.containers import is_frame
from dpboost.data.evaluation_rows import evaluation_pairs, marked
from dpboost.data.table import Reading, Table, read, read_table
from dpboost.estimators.autologging import autologged
from dpboost.estimators.evaluation_sets import Evaluator
from dpboost.estimators.fit_arguments import FitOptions
from dpboost.estimators.intake import (
    Asked,
    asked_privacy,
    asked_reading,
    declared_fit,
    earlier_model,
    earlier_scores,
    open_rows,
    public_seed,
    selected_fit,
    tree_controls,
)
from dpboost.estimators.private_score import PrivateScore
from dpboost.estimators.stock import StockModel
from dpboost.explain.explained_model import ExplainedModel
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.lightgbm.installed import LightGBMAttributes
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.lightgbm.parameters import (
    SHOWN,
    ParameterWarning,
    Resolved,
    is_silent,
    resolve,
)
from dpboost.privacy.recording import public_value
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import CONSTRAINTS, CONTROLS, Given, constraints_of, given
from dpboost.reporting.model_page import ModelPage
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.local_fit import fit_local
from dpboost.training.request import Continuation, FitRequest
from dpboost.transcripts.recorded import keep_transcript, recorded, without_transcript

# Hyper-parameters that a recipe decides when they are None; the value used is stored under the
# same name with an underscore after ``fit``.
DECIDED_BY_RECIPE = (
    "preset",
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

# More rounds than these, with early stopping, are as many as are needed.
MANY_ROUNDS = 1000

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class PrivateEstimator(
    PrivateScore, ModelPage, ExplainedModel, StockModel, LightGBMAttributes, BaseEstimator
):
    """Shared code of the two estimators; a base before LightGBM's class."""

    _task: str
    # Where the fit is one of several under one budget: its share, and how many there are.
    _part: tuple[Fraction, int] | None = None
    # What they take together of a budget, where they are under one.
    _claim: Claim | None = None
    # The public set of labels, where a fit of several may not have them all.
    _known_classes: tuple[Any, ...] | None = None
    noise_seed: int | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of this estimator, with those of LightGBM that were given."""
        return {**BaseEstimator.get_params(self, deep=deep), **self._extra_params()}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names that scikit-learn reads and sets, those of subclasses included."""
        return sorted(_constructor(cls))

    def _arguments(self) -> dict[str, Any]:
        """Return what ``fit`` reads, whether or not the constructor of a subclass takes it."""
        return {name: getattr(self, name) for name in _constructor(_of_library(type(self)))}

    def _shown_params(self) -> dict[str, Any]:
        """Return what LightGBM's estimators have as arguments and ours in name only."""
        return {name: getattr(self, name) for name in SHOWN if hasattr(self, name)}

    def _resolved(self, owner: str) -> Resolved:
        """Return all parameters by their meaning."""
        own, kind = self._arguments(), type(self)
        defaults = _constructor(_of_library(kind)) | _constructor(kind)
        recipe = own["recipe"]
        known = isinstance(recipe, str) and recipe in ALGORITHMS
        most = ALGORITHMS[recipe].most_depth if known else getattr(recipe, "most_depth", None)
        extra = self._extra_params()
        return resolve(own, extra, defaults=defaults, owner=owner, most_depth=most)

    def set_params(self, **params: Any) -> Any:
        """Set parameters of this estimator; ``fit`` refuses names that LightGBM does not know."""
        own = self._get_param_names()
        self._set_extra({name: value for name, value in params.items() if name not in own})
        return BaseEstimator.set_params(self, **params)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the transcript out: it is a file of its own."""
        parent: Any = super()
        return without_transcript(parent.__getstate__())

    def _assign(self, parameters: dict[str, Any]) -> None:
        """Store constructor arguments under their names, unchanged."""
        keep_arguments(self, parameters)
        self._set_extra(parameters["kwargs"])

    def _set_extra(self, extra: dict[str, Any]) -> None:
        """Keep parameters of LightGBM, unchanged; they are read by ``fit``."""
        self._extra_params().update(extra)
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

    @selected_fit
    @autologged
    @declared_fit
    @recorded(keep_transcript)
    @one_warning
    def fit(
        self,
        X: Any,
        y: Any = None,
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
        budget: Budget | DisjointTable | Window | None = None,
        fraction: Any = None,
        holdout: Any = None,
        conformal: float | None = None,
    ) -> Any:
        """Train privately.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_rows, n_features), or batches of rows
            Rows. Missing, infinite and out-of-bounds values are accepted. :class:`dpboost.Dataset`
            describes batches. If ``schema`` is a data dictionary, a DataFrame may have all columns
            of the table. The fit uses those with the role ``feature``, with their declared types;
            the column with the role ``user`` sets ``user_ids``. Columns that the dictionary does
            not list are left out, with one line in a warning.
        y : array-like of shape (n_rows,), or None
            Labels: finite numbers, clipped to the label bounds, or classes. Rows whose label is
            not a declared class are left out. None if batches contain labels, or if a column of X
            has the role ``target``.
        sample_weight : array-like of shape (n_rows,), optional
            Private weights, not negative and clipped to [0, max_weight]. Each is an attribute of
            its row.
        init_score : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            Private raw scores at which training begins, instead of the released start value. As in
            LightGBM, they are not part of the model. The user must ensure that each is a function
            of its own row and of public or released numbers.
        eval_set : list of (X, y), optional
            Public rows on which each round is evaluated. Training rows are skipped: see
            :class:`dpboost.SkippedRowsWarning`.
        eval_names : list of str, optional
            Their names; ``valid_0``, ``valid_1``, ... by default.
        eval_sample_weight, eval_class_weight, eval_init_score : list, optional
            Weights and offsets of the evaluation sets.
        eval_metric : str, callable or list of them, optional
            LightGBM's names of metrics, or functions of ``(y_true, y_pred[, weight])``.
        feature_name : list of str or "auto"
            Names of the columns; "auto" takes those of a DataFrame.
        categorical_feature : list of str or int, or "auto"
            Columns that hold categories, beyond those of a categorical type. The categories
            are declared by the schema, or else learned.
        callbacks : list of callable, optional
            LightGBM's callbacks: see :mod:`dpboost.callback`.
        eval_X, eval_y : optional
            Alternative to ``eval_set``: one table and its labels, or tuples of them.
        init_model : estimator, Booster, str or path, optional
            A released model to continue: its trees are kept, and training begins at its
            predictions. The report adds up the budgets of both fits; a ``Budget`` to which both
            are charged counts once. A model without a privacy report makes the result not private,
            and the new report states this. ``ensemble_`` holds the new trees, ``booster_`` all.
        user_ids : array-like of shape (n_rows,), optional
            User of each row; needed with ``rows_per_user``.
        budget : Budget, optional
            Budget whose ledger records the fit; it replaces ``epsilon`` and ``delta``. Inside
            ``with Budget(...)`` that budget by default.
        fraction : float or Fraction, optional
            Fraction of the budget for the fit, in (0, 1], in the accountant's unit. Unspent
            budget is not returned, unless held-out rows stop the fit early.
        holdout : float or Fraction, optional
            Expected share of rows, or of users where these are protected, that a secret random
            assignment holds out, in (0, 1). ``dpboost.evaluate(model, budget=..., fraction=...)``
            uses them. They enter no other release, and their charges do not add to those of the
            fit. With ``early_stopping_round`` and no ``eval_set`` they also stop training: at most
            eight queries charge up to a quarter of ``fraction`` to the held-out rows, and the
            budget keeps the cost of the rounds that are not trained.
        conformal : float, optional
            Share of new rows that :meth:`predict_interval` or :meth:`predict_set` covers, at least
            0.5. A secret random assignment then holds out three tenths of the rows, or of the
            users. They are not used in training, so the quantile of their errors and the training
            each use the whole budget.

        Returns
        -------
        DPBoostRegressor or DPBoostClassifier
            This estimator.

        Raises
        ------
        InvalidParameterError
            For invalid parameters or shapes, before anything is drawn or charged.
        BudgetExceededError
            If too little of the budget remains; nothing is drawn or charged.

        Warns
        -----
        BudgetWarning
            If a fit without a budget uses a table or an estimator that belongs to a budget.
        PrivacyWarning
            Once, after the fit, with a line and a remedy for each condition of the guarantee: no
            privacy at all, labels or categories that are taken as public, evaluation sets, weights
            without ``max_weight``, epsilon above 20, delta above one over the released number of
            rows, neighbors of one size. Each condition has its own class, which a warning filter
            can ignore; a single condition is raised under that class.
        ParameterWarning
            If parameters of LightGBM have no effect, if the schema declares what the task does not
            use, or if released numbers show that rows are left out or that a declared class has no
            rows.

        Privacy
        -------
        Spends ``epsilon`` once, or its fraction of the budget; see ``privacy_report_``.
        Evaluation sets are not protected.
        """
        what = type(self).__name__
        rows = GivenRows(
            X=X,
            y=y,
            sample_weight=sample_weight,
            init_score=init_score,
            user_ids=user_ids,
            example=X,
        )
        # Of the fit that a search makes, here or in a worker; a later one is the user's.
        counted, self._counted = self._counted or running_search(self)[1], False
        taken = self._claim
        if taken is None:
            taken = claim(
                budget,
                fraction,
                what=what,
                rows=X,
                belongs=(X, self),
                holdout=holdout,
                carrier=self,
                counted=counted,
            )
        pairs = evaluation_pairs(eval_set, eval_X, eval_y)
        options = FitOptions(
            evaluation=[marked(pair, X, y) for pair in pairs],
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_class_weight=eval_class_weight,
            eval_init_score=eval_init_score,
            eval_metric=eval_metric,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            claim=taken,
            conformal=conformal,
        )
        with without_advice(is_silent(vars(self) | self._extra_params())):
            self._fit(rows, options)
        if taken is not None:
            taken.keep(self)
        return self

    def _fit(self, rows: GivenRows, options: FitOptions) -> None:
        """Train, build the LightGBM model and store what LightGBM's own tools look for."""
        asked = self._asked(options)
        if isinstance(rows.X, Batches):
            rows = open_rows(rows, asked)
        request, rows = self._request(rows, asked, options)
        fitted = self._train(rows, request)
        evaluator: Any = request.monitor
        named = hasattr(rows.example, "columns") or not isinstance(options.feature_name, str)
        self._store(fitted, evaluator, request.continuation.earlier, has_names=named)
        if request.objective.function is not None:
            self._set_objective(request.objective.function)

    def _asked(self, options: FitOptions) -> Asked:
        """Check the parameters; reads no rows."""
        owner = type(self).__name__
        resolved = self._resolved(owner)
        parameters = resolved.arguments
        if parameters["n_jobs"] is not None:
            check_integer("n_jobs", owner, parameters["n_jobs"])
        check_integer("verbosity", owner, parameters["verbosity"])
        privacy = asked_privacy(owner, parameters, options.claim, self._part)
        recipe = ALGORITHMS.find(parameters["recipe"], owner)
        names = ("n_estimators", *DECIDED_BY_RECIPE, *sorted(CONSTRAINTS))
        set_by_user = given({name: parameters[name] for name in names})
        set_by_user |= tree_controls(resolved.fit, recipe, owner)
        stopping = options.stopping(resolved.fit, owner)
        if stopping is not None and options.claim is not None:
            privacy = replace(privacy, claim=replace(options.claim, stops=True))
        reading = options.reading(resolved.fit)
        return Asked(
            owner=owner,
            parameters=parameters,
            fit=resolved.fit,
            recipe=recipe,
            given=set_by_user,
            privacy=privacy,
            reading=asked_reading(reading, privacy, dealt=self._part is not None),
            stopping=stopping,
            continues=options.init_model is not None,
        )

    def _request(
        self, rows: GivenRows, asked: Asked, options: FitOptions
    ) -> tuple[FitRequest, GivenRows]:
        """Check what is to be learned and who looks on; return it, and rows with their scores."""
        owner, parameters, privacy = asked.owner, asked.parameters, asked.privacy
        earlier = earlier_model(options.init_model, rows.init_score)
        objective, weights = asked.learned(self._task, weighted=rows.sample_weight is not None)
        scored = rows.init_score is not None
        if earlier is not None:
            if options.claim is not None and earlier.report is not None:
                options.claim.check_continues(earlier.report.budget)
            table = read(self._like(rows.example), privacy.schema, asked.reading)
            privacy = replace(privacy, schema=earlier.completed(privacy.schema, table))
            found = constraints_of(asked.given, table.feature_names, owner)
            earlier.check_constraints(found.monotone_text, found.interaction_text, owner)
            scores = self._earlier_scores(earlier, rows.X, privacy.schema, asked.reading)
            rows = replace(rows, init_score=scores)
            options = options.continued(earlier.predict)
        if objective.alphas:
            _refuse_for_several(options, owner)
        evaluator = options.evaluator(
            fit=asked.fit,
            parameters={**parameters, **self._shown_params(), **self._extra_params()},
            task=self._task,
            owner=owner,
        )
        set_by_user, most_rounds = asked.given, None
        if evaluator is not None and evaluator.stops:
            set_by_user, most_rounds = _as_many_as_needed(set_by_user)
        request = FitRequest(
            task=self._task,
            recipe=asked.recipe,
            given=set_by_user,
            most_rounds=most_rounds,
            privacy=privacy,
            objective=objective,
            weights=weights,
            continuation=Continuation(
                scored=scored, earlier=earlier, public="init_model" in privacy.assume_public
            ),
            public_seed=public_value(
                "public seed",
                lambda: public_seed(parameters["random_state"], privacy.noise_seed, owner),
            ),
            known_classes=self._known_classes,
            owner=owner,
            reading=asked.reading,
            n_jobs=parameters["n_jobs"],
            show_progress=parameters["verbosity"] > 0,
            monitor=evaluator,
            conformal=self._conformal(options, rows, scored=scored),
            stopping=asked.stopping,
        )
        return request, rows

    def _conformal(self, options: FitOptions, rows: GivenRows, *, scored: bool) -> float | None:
        """Return the level of coverage, where one is asked for."""
        if options.conformal is None:
            return None
        owner = type(self).__name__
        level = check_real("conformal", f"{owner}.fit", options.conformal, low=0.5, high=0.999)
        given = {
            "init_model": options.init_model is not None,
            "init_score": scored,
            "batches of rows": rows.batched,
        }
        if self._task == "classification" and callable(self.objective):
            raise InvalidParameterError(
                f"The 'conformal' parameter of {owner}.fit does not support a function as "
                "objective: sets of classes need probabilities, but it returns raw scores."
            )
        for name, there in given.items():
            if there:
                raise InvalidParameterError(
                    f"The 'conformal' parameter of {owner}.fit does not support {name}: held-out "
                    "rows must not affect the model. Omit one of the two."
                )
        return level

    def _like(self, X: Any) -> Any:
        """Return a table with the columns of the rows of the fit."""
        return X

    def _earlier_scores(self, earlier: EarlierModel, X: Any, schema: Any, reading: Reading) -> Any:
        """Predict the rows of the fit by the model that it continues."""
        return earlier_scores(earlier, X, schema, reading)

    def _train(self, rows: GivenRows, request: FitRequest) -> FittedModel:
        """Train on rows of this process."""
        return fit_local(rows, request)

    def _store(
        self,
        fitted: FittedModel,
        evaluator: Evaluator | None,
        earlier: EarlierModel | None,
        *,
        has_names: bool,
    ) -> None:
        """Set the fitted attributes, ours and those that LightGBM's base class reads."""
        values = fitted.hyperparameters.values()
        for name in DECIDED_BY_RECIPE:
            setattr(self, f"{name}_", values.get(name))
        parameters = _text_parameters(fitted)
        ensemble = fitted.ensemble
        best_iteration = fitted.best_iteration or (evaluator.best_iteration if evaluator else 0)
        if best_iteration > 0:  # LightGBM keeps no later rounds either
            ensemble = replace(
                ensemble, trees=ensemble.trees[: best_iteration * ensemble.n_outputs]
            )
        if earlier is None:
            booster = Booster.of_ensemble(ensemble, parameters=parameters)
        else:
            text = model_text(ensemble, parameters=parameters)
            booster = Booster(model_str=earlier.prepend(text))
        self.ensemble_ = ensemble
        self.schema_ = fitted.completed.schema
        self.privacy_report_: PrivacyReport = fitted.report
        self.calibration_ = fitted.calibration
        self.held_out_scores_ = None
        if earlier is not None and best_iteration > 0:
            best_iteration += earlier.n_rounds
        self._set_fitted(
            booster,
            n_features=fitted.ensemble.binner.n_features,
            objective=fitted.ensemble.objective.split(" ")[0],
            evals_result=evaluator.results if evaluator else {},
            best_iteration=best_iteration,
            best_score=evaluator.best_score if evaluator else {},
            has_names=has_names,
        )
        vars(booster).update(evaluator.attributes if evaluator else {})

    def _own_table(self, X: Any, options: dict[str, Any]) -> Table | None:
        """Return the rows of a prediction of all trees, None if LightGBM predicts.

        LightGBM goes through all trees row by row, which a cache of a large model cannot follow.
        The kernel of the ensemble goes tree by tree and returns the same doubles.
        """
        asked = {name: value for name, value in options.items() if value}
        if asked or not getattr(self, "fitted_", False) or self.best_iteration_:
            return None
        shape = X.shape if hasattr(X, "dtype") or is_frame(X) else ()
        ensemble = self.ensemble_
        # What has no rows or other columns is refused in the words of LightGBM.
        fits = len(shape) == 2 and shape[0] > 0 and shape[1] == ensemble.binner.n_features
        whole = self.booster_.num_trees() == len(ensemble.trees)
        if not (fits and whole) or callable(self.objective_):
            return None
        return read_table(X, schema=self.schema_, zero_as_missing=ensemble.binner.zero_as_missing)

    def _conformed(self, X: Any) -> Any:
        """Rows as the model text expects them: declared categories, no integers cut to float32."""
        return conform(X, self.ensemble_.binner) if getattr(self, "fitted_", False) else X


def _as_many_as_needed(given: Given) -> tuple[Given, int | None]:
    """Leave rounds and steps to the recipe where they are more than it needs; with the most.

    Thousands of rounds with early stopping mean as many rounds as are needed. The noise of a round
    depends on the number of planned rounds, even if training stops early.
    """
    rounds = given.get("n_estimators")
    if not isinstance(rounds, (int, np.integer)) or rounds <= MANY_ROUNDS or "preset" in given:
        return given, None
    rate = given.get("learning_rate")
    steps = "" if rate is None else f", and its rate instead of learning_rate={rate!r}"
    warn_user(
        f"n_estimators={rounds!r} with early stopping means as many rounds as needed: the number "
        f"of the recipe is used{steps}, because the budget is divided among all planned rounds.",
        ParameterWarning,
    )
    left = {name: given[name] for name in given if name not in ("n_estimators", "learning_rate")}
    return left, int(rounds)


def _refuse_for_several(options: FitOptions, owner: str) -> None:
    """Raise for options that need one number per row if there are several quantiles."""
    asked = {
        "conformal": options.conformal is not None,
        "eval_set": bool(options.evaluation),
    }
    for name, there in asked.items():
        if there:
            raise InvalidParameterError(
                f"The {name!r} parameter of {owner}.fit needs one prediction per row, but several "
                "quantiles are requested: pass one alpha, or omit the parameter."
            )


def _constructor(kind: type) -> dict[str, Any]:
    """Return name and default value of what the constructor of an estimator takes.

    One that takes ``**kwargs`` passes them on, so that the names of the next class are its own too.
    """
    taken: dict[str, Any] = {}
    for init in _constructors(kind):
        parameters = _parameters(init)
        kinds = {each.kind for each in parameters}
        named = {each.name: each.default for each in parameters if each.kind not in _VARIADIC}
        taken = named | taken
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            break
    return taken


@functools.lru_cache(maxsize=64)
def _parameters(init: Any) -> tuple[inspect.Parameter, ...]:
    """Return what a constructor takes, which each fit asks several times."""
    return tuple(inspect.signature(init).parameters.values())[1:]


def _constructors(kind: type) -> list[Any]:
    """Return the constructor of a class, and those of the estimators that it derives from."""
    own: Any = kind.__init__
    bases = kind.__mro__[: kind.__mro__.index(PrivateEstimator)]
    return [
        own,
        *(
            vars(each)["__init__"]
            for each in bases
            if issubclass(each, PrivateEstimator) and "__init__" in vars(each)
        ),
    ]


def _of_library(kind: type) -> type:
    """Return the estimator of this library, of one task, that a class is or derives from."""
    return next(each for each in kind.__mro__ if "_task" in vars(each))


def _text_parameters(fitted: FittedModel) -> dict[str, Any]:
    """LightGBM's own parameters that say how the model was made; all public."""
    values = fitted.hyperparameters.values()
    return {
        "boosting": "gbdt",
        "objective": fitted.ensemble.objective.split(" ")[0] or "custom",
        "num_iterations": values.get("n_estimators", 1),
        "learning_rate": values.get("learning_rate", 1.0),
        "max_depth": values["max_depth"],
        "lambda_l2": values.get("reg_lambda", 0.0),
        "max_bin": values["max_bin"],
        **{
            name: values[name]
            for name in ("monotone_constraints", "interaction_constraints", *sorted(CONTROLS))
            if name in values
        },
        **({"bagging_freq": 1} if "bagging_fraction" in values else {}),
    }


PrivateEstimator.fit.__doc__ = with_effects(PrivateEstimator.fit, effects=OF_CALLS)
