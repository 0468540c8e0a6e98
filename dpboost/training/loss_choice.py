"""Which loss the rows are to follow, and where its scores start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import AnyCustomLoss, ClassLoss, Loss
from dpboost.privacy.budget_split import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.recipes.recipe import Recipe
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.schema import ResolvedSchema
from dpboost.training.inputs import check_number_of_classes
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.request import FitRequest
from dpboost.training.start_value import (
    SeenRows,
    release_class_sizes,
    release_rows,
    release_start,
)

# Below so many rows times epsilon the start value is released once more, at a share of the budget
# that is this at the most, and else so much over rows times epsilon.
FEW_ROWS = 1000.0
MOST_START_SHARE = Fraction(4, 5)
START_SHARE_OF_ONE = 40.0


def choose_loss(
    recipe: Recipe,
    objective: ObjectiveRequest,
    schema: ResolvedSchema,
    extras: RowExtras,
    label_spread: float | None = None,
) -> tuple[Loss, tuple[Any, ...]]:
    """Choose the loss for released or declared classes or label bounds.

    Parameters
    ----------
    recipe : Recipe
    objective : ObjectiveRequest
    schema : ResolvedSchema
        Complete.
    extras : RowExtras
    label_spread : float, optional
        Released spread of the labels.

    Returns
    -------
    loss : Loss
    classes : tuple
        Public classes in their order, empty for a regression.

    Raises
    ------
    InvalidParameterError
        Where released classes do not suit the fit.
    """
    classes: tuple[Any, ...] = ()
    if objective.task != "regression":
        assert schema.classes is not None
        if not schema.classes:
            raise InvalidParameterError(
                "No class label passed the threshold of its release: declare the classes with "
                "Schema(classes=...)."
            )
        check_number_of_classes(len(schema.classes), recipe)
        # In the order of ``classes_``, which scikit-learn wants sorted.
        classes = tuple(sorted(schema.classes))
        objective.check_classes(classes, extras)
    return objective.loss(schema, len(classes), label_spread), classes


def weighting_of(objective: ObjectiveRequest, classes: tuple[Any, ...]) -> Weighting | None:
    """Return how weights are made of those of rows and of given ones of classes."""
    factors = _factors(objective, classes)
    if objective.sample_weight is None and factors is None:
        return None
    return Weighting(max_weight=objective.max_weight, factors=factors)


def start_loss(
    source: RowHandle,
    loss: Loss,
    classes: tuple[Any, ...],
    request: FitRequest,
    schema: ResolvedSchema,
    budgets: tuple[PrivacyCost, PrivacyCost],
    ledger: Ledger,
) -> tuple[Loss, Weighting | None, SeenRows | None, PrivacyCost]:
    """Release what the recipe asks for before its trees, once more where trees say too little.

    Parameters
    ----------
    source : RowHandle
        Of ``EncodedRows``.
    loss : Loss
    classes : tuple
    request : FitRequest
    schema : ResolvedSchema
        Complete.
    budgets : (Fraction or inf, Fraction or inf)
        Of the start, 0 where the recipe releases nothing, and of the trees.
    ledger : Ledger

    Returns
    -------
    loss : Loss
        With its start.
    weighting : Weighting or None
        How rows are weighted.
    seen : SeenRows or None
    budget : Fraction or inf
        What is left for the trees.
    """
    for_start, budget = budgets
    loss, weighting, seen = _start(source, loss, classes, request, for_start, ledger)
    if seen is not None:
        n_features = len(schema.feature_names)
        share = share_to_start_again(request, loss, seen, schema.max_rows, n_features)
        if share:
            again, budget = divide(budget, [share, 1 - share])
            loss, weighting, seen = _start(
                source, loss, classes, request, again, ledger, cautious=True
            )
    return loss, weighting, seen, budget


def _start(
    source: RowHandle,
    loss: Loss,
    classes: tuple[Any, ...],
    request: FitRequest,
    budget: PrivacyCost,
    ledger: Ledger,
    *,
    cautious: bool = False,
) -> tuple[Loss, Weighting | None, SeenRows | None]:
    """Release what the recipe asks for: a start value and a row count, class sizes, or nothing.

    Parameters
    ----------
    source, loss, classes, request, ledger
        As in `start_loss`.
    budget : Fraction or inf
        0 where the recipe releases nothing.
    cautious : bool, default=False
        As in `release_start`.
    """
    objective = request.objective
    if not budget:
        return loss, weighting_of(objective, classes), None
    if request.recipe.start_share is None:
        seen = release_rows(source, budget=budget, ledger=ledger)
        return loss, weighting_of(objective, classes), seen
    fixed = isinstance(loss, AnyCustomLoss)
    if objective.init_score is not None:
        # LightGBM does not boost from an average either where scores are given.
        loss = loss.starting_from((0,) * loss.n_outputs)
        fixed = True
    if objective.class_weight != "balanced":
        weighting = weighting_of(objective, classes)
        loss, seen = release_start(
            loss,
            source,
            budget=budget,
            ledger=ledger,
            weighting=weighting,
            fixed=fixed,
            classes=bool(classes),
            cautious=cautious,
        )
        weight = 1.0 if weighting is None else weighting.max_weight
        return loss, weighting, replace(seen, weight=weight)
    n_classes = len(classes)
    # With balanced weights all classes have the same share: no start value is to be released.
    seen = release_class_sizes(n_classes, source, budget=budget, ledger=ledger)
    sizes = np.maximum(seen.sizes, 1.0)
    weighting = Weighting(
        max_weight=objective.max_weight if objective.sample_weight is not None else 1.0,
        factors=tuple((sizes.min() / sizes).tolist()),
    )
    if not fixed:
        if isinstance(loss, ClassLoss):
            loss = loss.starting_at(np.full(n_classes, 1 / n_classes))
        else:
            loss = loss.starting_at(0.5)
    balanced = float(sizes.min() * n_classes)
    return loss, weighting, replace(seen, n_rows=balanced, weight=seen.n_rows / balanced)


def share_to_start_again(
    request: FitRequest, loss: Loss, seen: SeenRows, max_rows: int | None, n_features: int
) -> Fraction:
    """Return the part of the budget of trees that the start value is worth once more; often 0.

    Trees say little of few rows, and their mean is then worth more. Released and declared
    numbers decide.
    """
    objective = request.objective
    fixed = isinstance(loss, AnyCustomLoss) or objective.init_score is not None
    if fixed or objective.class_weight == "balanced" or request.recipe.start_share is None:
        return Fraction(0)
    information = min(seen.n_rows, max_rows or math.inf) * request.privacy.row_epsilon
    if information >= FEW_ROWS:
        return Fraction(0)
    # What is left to the trees must still be enough to be drawn exactly.
    room = 1 - request.least_part(n_features)
    share = min(MOST_START_SHARE, Fraction(START_SHARE_OF_ONE / information), room)
    # Less than the first release had might not be drawn exactly, and would say nothing new.
    first = request.recipe.start_share(loss, request.privacy.delta)
    return share if share > 2 * Fraction(first) else Fraction(0)


def _factors(objective: ObjectiveRequest, classes: tuple[Any, ...]) -> tuple[float, ...] | None:
    """Return the weight of each class where the user gives some."""
    given = objective.class_weight
    if objective.scale_pos_weight != 1.0:
        return 1.0, objective.scale_pos_weight
    if not isinstance(given, Mapping):
        return None
    return tuple(float(given.get(label, 1.0)) for label in classes)
