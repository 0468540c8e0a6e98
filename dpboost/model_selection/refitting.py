"""New leaf values for a released model from new rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import lightgbm
import numpy as np
from sklearn.base import clone, is_classifier

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError, is_default, refuse
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import Claim, claim
from dpboost.budgeting.windows import Window
from dpboost.data.containers import is_batched, is_distributed
from dpboost.data.table import Reading, read
from dpboost.data.users import sample_rows, take_rows
from dpboost.estimators.base import PrivateEstimator
from dpboost.estimators.intake import PRIVACY_PARAMETERS, learned
from dpboost.estimators.train import labels_for
from dpboost.growing.boosting_loop import TrainingRows
from dpboost.lightgbm.parameters import resolve
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import handle_of
from dpboost.recipes.best import BEST, BestParameters, build_refit
from dpboost.recipes.recipe import PublicFacts, Terms
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import Schema
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import (
    GivenRows,
    check_kind,
    known_classes,
    note_labels,
    read_labels,
    users_of,
)
from dpboost.training.objective import Objective
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import CompletedSchema
from dpboost.transcripts.recorded import keep_transcript, recorded
from dpboost.trees.bin_layout import Layout

_WEIGHTS = {"class_weight": (None,), "is_unbalance": (False,), "scale_pos_weight": (None, 1, 1.0)}


def _of_booster(refit: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function that refits estimators refit the Boosters that `train` returned as well."""

    @wraps(refit)
    def call(model: Any, X: Any, y: Any, **options: Any) -> Any:
        if not isinstance(model, lightgbm.Booster):
            return refit(model, X, y, **options)
        estimator = getattr(model, "trained_by", None)
        if estimator is None:
            raise refuse(
                "model",
                "refit_leaves",
                "a fitted estimator, or a Booster as dpboost.train returned it: a model text has "
                "no partitions. Keep the estimator; pickle it for another process",
                "a Booster that was loaded, copied or changed",
            )
        new = refit(estimator, X, labels_for(estimator, y), **options)
        booster = new.booster_
        booster.trained_by, booster.params = new, {**booster.params, **model.params}
        booster.transcript = getattr(new, "transcript_", None)
        return booster

    return call


@_of_booster
@recorded(keep_transcript)
def refit_leaves(
    model: Any,
    X: Any,
    y: Any,
    *,
    budget: Budget | DisjointTable | Window | None = None,
    fraction: Any = None,
    user_ids: Any = None,
) -> Any:
    """Fit new leaf values to other rows, with the structure of a released model.

    Bins, partitions and start value are those of ``model``; the whole charge is for leaves.

    Parameters
    ----------
    model : DPBoostRegressor, DPBoostClassifier or Booster
        Fitted with ``recipe="best"`` without class weights; not modified. A Booster must be one
        that ``dpboost.train`` returned in this process.
    X : table of shape (n_rows, n_features)
        Private rows in memory, with the columns of the model.
    y : array-like of shape (n_rows,)
        Labels. Rows with classes that the model does not know are left out.
    budget : Budget, optional
        Budget whose ledger records it. Inside ``with Budget(...)`` that budget by default.
    fraction : float or Fraction
        Fraction of the budget, in (0, 1].
    user_ids : array-like of shape (n_rows,), optional
        User of each row; needed if the budget protects users.

    Returns
    -------
    DPBoostRegressor, DPBoostClassifier or Booster
        A new fitted model of the same kind.

    Raises
    ------
    InvalidParameterError
        If the model or the rows are not supported, before anything is drawn or charged.
    BudgetExceededError
        If too little of the budget remains; nothing is drawn or charged.

    Privacy
    -------
    Releases only the noisy sums of the leaves of each tree, as the fit did. ``privacy_report_``
    covers these rows, and the report of ``model`` covers its own rows; for an individual with rows
    in both tables the two add up.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import Budget, DPBoostRegressor, refit_leaves
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 2))
    >>> model = DPBoostRegressor(schema=schema, verbosity=-1).fit(X, X[:, 0])
    >>> march = Budget(epsilon=1, delta=1e-6, table="march")
    >>> newer = refit_leaves(model, X, 2 * X[:, 0], budget=march, fraction=1)
    >>> len(newer.ensemble_.trees) == len(model.ensemble_.trees)
    True
    """
    owner = "refit_leaves"
    _check_model(model)
    if is_batched(X) or is_distributed(X):
        raise InvalidParameterError(
            f"The 'X' argument of {owner} must be in memory: batches, Dask collections and "
            "DataFrames of Spark are not read."
        )
    taken = claim(budget, fraction, what=owner, rows=X, call=owner, belongs=(X,), carrier=model)
    if taken is None:
        raise InvalidParameterError(
            f"{owner} needs a budget: pass budget=dpboost.Budget(...) and fraction=..."
        )
    privacy, objective = _asked(model, taken)
    fitted = _refit(model, GivenRows(X=X, y=y, user_ids=user_ids), privacy, objective)
    new = clone(model)
    new._store(fitted, None, None, has_names=hasattr(model, "feature_names_in_"))
    return new


def _check_model(model: Any) -> None:
    must = "a DPBoostRegressor or DPBoostClassifier that was fitted with recipe='best'"
    if not isinstance(model, PrivateEstimator) or not hasattr(model, "ensemble_"):
        raise refuse("model", "refit_leaves", must, type(model).__name__)
    recipe = model.privacy_report_.facts.get("recipe")
    if recipe != BEST.name or model.booster_.num_trees() != len(model.ensemble_.trees):
        raise refuse("model", "refit_leaves", f"{must}, and continues no other", recipe)
    for name, idle in _WEIGHTS.items():
        given = model.get_params().get(name)
        if given is not None and given not in idle:
            raise refuse(name, "refit_leaves", "left out by the model: rows count alike", given)
    if callable(getattr(model, "objective", None)):
        raise refuse("objective", "refit_leaves", "one of LightGBM's names", "a function")


def _asked(model: Any, taken: Claim) -> tuple[PrivacyRequest, Objective]:
    """Return the guarantee and the objective, by the parameters of the model and the budget."""
    owner = "refit_leaves"
    own = model._arguments()
    with warnings.catch_warnings():
        # Of parameters without effect: they were told of when the model was fitted.
        warnings.simplefilter("ignore")
        resolved = resolve(own, model._extra_params(), defaults=own, owner=owner)
    parameters = resolved.arguments
    known = model.schema_
    asked = {name: parameters[name] for name in PRIVACY_PARAMETERS}
    asked |= taken.terms(asked | {"noise_seed": None}) | {"noise_seed": None}
    asked["schema"] = Schema(classes=known.classes, label_bounds=known.label_bounds)
    privacy = PrivacyRequest.validated(owner, claim=taken, **asked)
    objective, _ = learned(
        parameters | resolved.fit,
        model._task,
        weighted=False,
        schema=privacy.schema,
        owner=owner,
    )
    privacy = privacy.settled(BEST.accountant)
    hyper = replace(_hyperparameters(model), n_estimators=model.booster_.current_iteration())
    terms = Terms(
        delta=privacy.delta,
        task=model._task,
        neighbors=privacy.neighbors,
        n_features=model.ensemble_.binner.n_features,
        weighted=False,
    )
    least = BEST.least_epsilon(hyper.values(), terms)
    if privacy.row_epsilon < least:
        raise privacy.refuse_epsilon(owner, least, "number of trees")
    return privacy, objective


def _hyperparameters(model: Any) -> BestParameters:
    """Return the values that the model was fitted with."""
    names, facts = BestParameters.names(), model.privacy_report_.facts
    controls: dict[str, Any] = {
        name: facts[name] for name in BestParameters.controls() if name in facts
    }
    return BestParameters(**{name: getattr(model, f"{name}_") for name in names}, **controls)


# A numpy warning about an odd cell (an overflow, a signaling NaN) would tell that there is one.
@np.errstate(all="ignore")
def _refit(
    model: Any,
    given_rows: GivenRows,
    privacy: PrivacyRequest,
    objective: Objective,
) -> FittedModel:
    """Release the leaves."""
    ensemble, schema, task = model.ensemble_, model.schema_, model._task
    binner = ensemble.binner
    X, reading = given_rows.X, Reading(zero_as_missing=binner.zero_as_missing)
    table = read(X, schema, reading)
    if tuple(table.feature_names) != tuple(schema.feature_names):
        raise InvalidParameterError(
            "The columns of X must be those of the model, by name and order."
        )
    extras = RowExtras()
    labels = read_labels(given_rows.y, table.n_rows, task)
    known = known_classes(labels, task, privacy)
    classes = tuple(sorted(known or ()))
    if classes:
        check_kind(labels, classes)
    note_labels(labels, known)
    users = users_of(given_rows.user_ids, privacy, table.n_rows, "refit_leaves")
    chosen_loss = objective.loss(schema, len(classes))
    units = tuple(round(start / ensemble.unit) for start in ensemble.start)
    loss = chosen_loss.starting_from(units)
    threads = Threads.of(model.n_jobs)
    ledger = privacy.ledger(privacy.accountant(BEST))
    if users is not None and privacy.rows_per_user is not None:
        coins = ledger.row_coins().words(0, table.n_rows)
        chosen = sample_rows(users, privacy.rows_per_user, coins)
        table, labels = read(take_rows(X, chosen), schema, reading), labels[chosen]
    source = handle_of(RawRows(table=table, labels=labels, extras=extras, threads=threads))
    source.apply("encode_labels", loss=chosen_loss, classes=classes)
    source.apply("bin", binner=binner, loss=loss, weighting=None, candidates=None)
    n_threads = threads.now()
    rows = TrainingRows(source, Layout.of(binner), n_outputs=loss.n_outputs, n_threads=n_threads)
    reg_lambda = model.get_params().get("reg_lambda")
    by_rule = reg_lambda is None or is_default(reg_lambda) or reg_lambda == 0
    given = {} if by_rule else {"reg_lambda": reg_lambda}
    facts = PublicFacts(
        epsilon=privacy.row_epsilon,
        delta=privacy.delta,
        n_rows=None,
        n_features=binner.n_features,
        loss=loss,
        given=given,
        budget=ledger.capacity,
        accountant=ledger.accountant,
        neighbors=ledger.neighbors,
    )
    hyper = _hyperparameters(model)
    loop = build_refit(hyper, facts, ensemble.trees, binner, ensemble.masses)
    with ledger.sequential("training"):
        trees = loop.boost(rows, budget=ledger.capacity, ledger=ledger, on_tree=lambda: None)
    report = _report(model, ledger, privacy, objective)
    return FittedModel(
        ensemble=replace(ensemble, trees=trees, report=report.to_dict()),
        recipe=BEST,
        hyperparameters=replace(hyper, n_estimators=loop.n_rounds),
        completed=CompletedSchema(schema=schema, assumed=(), learned=(), budget=ledger.capacity),
        report=report,
    )


def _report(
    model: Any, ledger: Ledger, privacy: PrivacyRequest, objective: Objective
) -> PrivacyReport:
    """Return what is reported of the new rows."""
    name = "classification" if is_classifier(model) else "regression"
    return PrivacyReport.from_ledger(
        ledger,
        facts={
            "recipe": BEST.name,
            "task": name,
            "structure": (
                "of a released model; the budget of its report adds up for individuals with rows "
                "in both tables"
            ),
            **privacy.facts,
            **objective.facts(),
        },
        rows_per_user=privacy.rows_per_user,
        budget=privacy.budget_record,
    )


refit_leaves.__doc__ = with_effects(refit_leaves, effects=OF_CALLS)
