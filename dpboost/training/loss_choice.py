"""Which loss the rows are to follow, and where its scores start."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import AnyCustomLoss, ClassLoss, Loss
from dpboost.privacy.budget_split import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.schema import ResolvedSchema
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


class Start(NamedTuple):
    """What is known before the first tree; public.

    Parameters
    ----------
    loss : Loss
        With its start.
    weighting : Weighting or None
        How rows are weighted.
    seen : SeenRows or None
        What was released of their number; None where nothing was.
    """

    loss: Loss
    weighting: Weighting | None
    seen: SeenRows | None = None


def choose_loss(
    request: FitRequest,
    schema: ResolvedSchema,
    extras: RowExtras,
    label_spread: float | None = None,
) -> tuple[Loss, tuple[Any, ...]]:
    """Choose the loss for the classes or label bounds of a complete schema.

    Parameters
    ----------
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
    if request.task == "regression":
        return request.objective.loss(schema, label_spread=label_spread), ()
    if not schema.classes:
        raise InvalidParameterError(
            "No class label passed the threshold of its release: declare the classes with "
            "Schema(classes=...)."
        )
    # In the order of ``classes_``, which scikit-learn wants sorted.
    classes = tuple(sorted(schema.classes))
    request.check_classes(classes, extras)
    return request.objective.loss(schema, len(classes)), classes


def start_loss(
    source: RowHandle,
    loss: Loss,
    classes: tuple[Any, ...],
    request: FitRequest,
    schema: ResolvedSchema,
    budgets: tuple[PrivacyCost, PrivacyCost],
    ledger: Ledger,
) -> tuple[Start, PrivacyCost]:
    """Release what the recipe asks for before its trees, once more where trees say too little.

    Parameters
    ----------
    source : RowHandle
        Of ``EncodedRows``.
    schema : ResolvedSchema
        Complete.
    budgets : (Fraction or inf, Fraction or inf)
        Of the start, 0 where the recipe releases nothing, and of the trees.

    Returns
    -------
    start : Start
    budget : Fraction or inf
        What is left for the trees.
    """
    for_start, budget = budgets
    weighting = request.objective.weighting(request.weights.weighting(classes), loss)
    if not for_start:
        return Start(loss=loss, weighting=weighting), budget
    if request.recipe.start_share is None:
        seen = release_rows(source, budget=for_start, ledger=ledger)
        return Start(loss=loss, weighting=weighting, seen=seen), budget
    fixed = isinstance(loss, AnyCustomLoss) or request.continuation.given
    if request.continuation.given:
        # LightGBM does not boost from an average either where scores are given.
        loss = loss.starting_from((0,) * loss.n_outputs)
    if request.weights.balanced:
        return _balanced(source, loss, len(classes), request, for_start, ledger, fixed), budget

    def release(before: Loss, share: PrivacyCost, *, cautious: bool) -> Start:
        started, seen = release_start(
            before,
            source,
            budget=share,
            ledger=ledger,
            weighting=weighting,
            fixed=fixed,
            classes=bool(classes),
            cautious=cautious,
        )
        weight = 1.0 if weighting is None else weighting.max_weight
        return Start(loss=started, weighting=weighting, seen=replace(seen, weight=weight))

    start = release(loss, for_start, cautious=False)
    if not fixed and start.seen is not None:
        n_rows = start.seen.at_most(schema.max_rows)
        share = share_to_start_again(request, start.loss, n_rows, len(schema.feature_names))
        if share:
            again, budget = divide(budget, [share, 1 - share])
            start = release(start.loss, again, cautious=True)
    return start, budget


def _balanced(
    source: RowHandle,
    loss: Loss,
    n_classes: int,
    request: FitRequest,
    budget: PrivacyCost,
    ledger: Ledger,
    fixed: bool,
) -> Start:
    """Release the sizes of classes that are to weigh the same, which leave no start value."""
    seen = release_class_sizes(n_classes, source, budget=budget, ledger=ledger)
    sizes = np.maximum(seen.sizes, 1.0)
    if not fixed:
        if isinstance(loss, ClassLoss):
            loss = loss.starting_at(np.full(n_classes, 1 / n_classes))
        else:
            loss = loss.starting_at(0.5)
    n_rows = float(sizes.min() * n_classes)
    return Start(
        loss=loss,
        weighting=request.weights.balancing(sizes),
        seen=replace(seen, n_rows=n_rows, weight=seen.n_rows / n_rows),
    )


def share_to_start_again(
    request: FitRequest, loss: Loss, n_rows: float, n_features: int
) -> Fraction:
    """Return the part of the budget of trees that the start value is worth once more; often 0.

    Trees say little of few rows, and their mean is then worth more. Released and declared
    numbers decide.
    """
    information = n_rows * request.privacy.row_epsilon
    if information >= FEW_ROWS:
        return Fraction(0)
    # What is left to the trees must still be enough to be drawn exactly.
    room = 1 - request.least_part(n_features)
    share = min(MOST_START_SHARE, Fraction(START_SHARE_OF_ONE / information), room)
    # Less than the first release had might not be drawn exactly, and would say nothing new.
    assert request.recipe.start_share is not None
    first = request.recipe.start_share(loss, request.privacy.delta)
    return share if share > 2 * Fraction(first) else Fraction(0)
