"""The public result of a fit, and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.growth import Grown
from dpboost.losses import Loss
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import Parameters, Recipe, Setting
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.training.public_schema import CompletedSchema
from dpboost.training.request import FitRequest
from dpboost.trees.calibration import Calibration
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.exported_tree import ReleasedTree


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel:
    """The public result of a fit."""

    ensemble: Ensemble
    recipe: Recipe
    hyperparameters: Parameters
    #: The completed schema and where it comes from.
    completed: CompletedSchema
    #: Every release and its charge.
    report: PrivacyReport
    #: The tree for people, where it is a single one.
    tree: ReleasedTree | None = None
    #: What makes intervals and sets of predictions, where rows were held out for it.
    calibration: Calibration | None = None
    #: The round up to which trees are kept, where rows that were held out have chosen it; 0 for
    #: all.
    best_iteration: int = 0


def ensemble_of(loss: Loss, binner: Binner, **facts: Any) -> Ensemble:
    """Return an ensemble with the start values, their unit and the objective of a loss.

    Parameters
    ----------
    **facts
        The other parameters of `Ensemble`.
    """
    starts = np.atleast_1d(np.asarray(loss.start_units, dtype=np.int64)) * loss.unit
    start = tuple(starts.tolist())
    return Ensemble(binner=binner, start=start, unit=loss.unit, objective=loss.objective, **facts)


def fitted_model(
    grown: Grown,
    setting: Setting,
    completed: CompletedSchema,
    request: FitRequest,
    ledger: Ledger,
    *,
    n_rows: float | None,
    masses: Mapping[int, NDArray[np.float64]],
    facts: Mapping[str, bool | int | float | str],
) -> FittedModel:
    """Write the report and put the model together.

    Parameters
    ----------
    ledger : Ledger
        All of whose releases are made.
    n_rows : float or None
        Released number of rows, of weighted ones the sum of their weights; None if the recipe
        releases none before growth.
    masses : dict of int to ndarray of shape (n_bins + 1,)
        Released rows in the bins of some features.
    facts : mapping of str to scalar
        What else the report has.
    """
    loss, weights = setting.loss, request.weights
    report = PrivacyReport.from_ledger(
        ledger,
        assumed_public=(*completed.assumed, *request.continuation.assumed),
        facts={**_facts(request, setting.hyper, completed), **facts},
        rows_per_user=request.privacy.rows_per_user,
        continues=request.continuation.adds_up,
        earlier=request.continuation.report,
        budget=request.privacy.budget_record,
    )
    if grown.n_rows is not None:
        # Leaves count rows of the largest weight.
        n_rows = grown.n_rows * (weights.max_weight if weights.of_rows else 1.0)
    ensemble = ensemble_of(
        loss,
        setting.binner,
        trees=grown.trees,
        report=report.to_dict(),
        n_rows=n_rows,
        masses=masses,
        released=grown.released,
    )
    return FittedModel(
        ensemble=ensemble,
        recipe=request.recipe,
        hyperparameters=setting.hyper,
        completed=completed,
        report=report,
        tree=grown.readable,
    )


def with_facts(
    fitted: FittedModel,
    facts: Mapping[str, bool | int | float | str] | None = None,
    **accounting: Any,
) -> FittedModel:
    """Return the model with more public facts in its report, and more terms of its accounting."""
    report = replace(
        fitted.report,
        facts={**fitted.report.facts, **(facts or {})},
        accounting={**(fitted.report.accounting or {}), **accounting},
    )
    ensemble = replace(fitted.ensemble, report=report.to_dict())
    return replace(fitted, ensemble=ensemble, report=report)


def _facts(
    request: FitRequest, hyper: Parameters, completed: CompletedSchema
) -> dict[str, bool | int | float | str]:
    """Public facts for the report: recipe, parameters, what was declared and learned."""
    recipe, privacy = request.recipe, request.privacy
    facts: dict[str, bool | int | float | str] = {
        "recipe": recipe.name,
        **hyper.values(),
        "declared public": privacy.declared,
        "learned": ", ".join(completed.learned) or "nothing",
        **privacy.facts,
    }
    # A single tree says how many rows of the declared classes there are.
    counts = recipe.start_share is not None or recipe.single
    if request.task != "regression" and not counts and privacy.schema.classes is not None:
        facts["other labels"] = "rows with them take no part; the recipe does not count them"
    if privacy.part is not None:
        facts["part of"] = (
            f"{privacy.part[1]} fits under one budget; the epsilon spent is that of all of them"
        )
    facts |= request.objective.facts(len(completed.schema.classes or ()))
    facts |= request.weights.facts | request.continuation.facts
    return facts | (request.monitor.facts if request.monitor else {})
