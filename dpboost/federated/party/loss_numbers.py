"""What a coordinator tells of a loss: parties know the rest of it from the agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpboost.federated.party.admission import check, check_same
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.wire import known
from dpboost.losses import LabelRangeLoss, Loss, QuantilesLoss, SquaredLoss
from dpboost.recipes import ALGORITHMS
from dpboost.rows.boosting_state import INIT_LIMIT
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.loss_choice import choose_loss

# Label ranges are wider than this part of their magnitude.
_FINEST_RANGE = 2.0**-39


@dataclass(frozen=True, kw_only=True)
class LossNumbers:
    """The numbers of a loss that were released.

    Parameters
    ----------
    bounds : (float, float) or None
        Range of the labels, where scores are on its scale.
    spread : float or None
        Where labels lie inside it, for rules of the coordinator.
    start_units : tuple of int
        Where the scores of each output start.
    """

    bounds: tuple[float, float] | None
    spread: float | None
    start_units: tuple[int, ...]

    @classmethod
    def of(cls, loss: Loss) -> LossNumbers:
        """Return the numbers of a loss."""
        labels = _labels(loss)
        starts = loss.start_units
        return cls(
            bounds=None if labels is None else (labels.lower, labels.upper),
            spread=loss.spread if isinstance(loss, SquaredLoss) else None,
            start_units=starts if isinstance(starts, tuple) else (starts,),
        )


known("loss numbers", LossNumbers)


def own_loss(given: Any, agreement: Agreement) -> tuple[Loss, tuple[Any, ...]]:
    """Return the loss of the agreement within a released range of labels, and the classes.

    Raises
    ------
    UnusableMessageError
        Unless the numbers are those of such a loss before it has a start.
    """
    check(isinstance(given, LossNumbers))
    schema = agreement.declared.resolve(agreement.features)
    if given.bounds is not None:
        check(agreement.task == "regression" and is_range(given.bounds, agreement))
        schema = replace(schema, label_bounds=given.bounds)
    recipe = ALGORITHMS.find(agreement.recipe, "a party")
    loss, classes = choose_loss(recipe, agreement.learns, schema, RowExtras())
    if isinstance(loss, SquaredLoss):
        check(given.spread is None or type(given.spread) is float)
        loss = replace(loss, spread=given.spread)
    check_same(given, LossNumbers.of(loss))
    return loss, classes


def started(own: Loss, given: Any) -> Loss:
    """Return the party's own loss with a released start, or raise where it is another loss."""
    check(isinstance(given, LossNumbers) and isinstance(given.start_units, tuple))
    starts = given.start_units
    check(len(starts) == own.n_outputs)
    check(all(type(units) is int and abs(units) <= INIT_LIMIT for units in starts))
    loss: Loss = own.starting_from(starts)
    check_same(given, LossNumbers.of(loss))
    return loss


def is_range(bounds: Any, agreement: Agreement) -> bool:
    """Say whether these are two numbers inside the agreed label bounds that the loss can take."""
    outer = agreement.declared.label_bounds
    if outer is None or not isinstance(bounds, tuple) or len(bounds) != 2:
        return False
    low, high = bounds
    if type(low) is not float or type(high) is not float:
        return False
    return outer[0] <= low < high <= outer[1] and high - low > _FINEST_RANGE * max(-low, high)


def _labels(loss: Loss) -> SquaredLoss | None:
    """Return the grid of labels of a loss whose scores are on their scale."""
    if isinstance(loss, QuantilesLoss):
        loss = loss.parts[0]
    if isinstance(loss, SquaredLoss):
        return loss
    return loss.labels if isinstance(loss, LabelRangeLoss) else None
