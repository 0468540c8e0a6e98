"""Choice of the loss, and release of the start value and the row count."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.losses import (
    AnyCustomLoss,
    ClassLoss,
    CustomClassLoss,
    FractionalLabelLoss,
    LabelRangeLoss,
    LogisticLoss,
    Loss,
)
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Query, RowHandle, Sensitive
from dpboost.rows.raw_rows import ROW_UNITS, ClassSizes, MeanAndRows, PresentRows, RowCount
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.schema import ResolvedSchema
from dpboost.training.request import FitRequest

# Below so many rows times epsilon the start value is released once more, at a share of the budget
# that is this at the most, and else so much over rows times epsilon.
FEW_ROWS = 1000.0
MOST_START_SHARE = Fraction(4, 5)
START_SHARE_OF_ONE = 40.0


class Start(NamedTuple):
    """Start values before the first tree; public.

    Parameters
    ----------
    loss : Loss
        With its start.
    seen : SeenRows or None
        What was released of their number; None if nothing was.
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
    """
    if request.task == "regression":
        return request.objective.loss(schema, label_spread=label_spread), ()
    if not schema.classes:
        raise InvalidParameterError(
            "No class has enough rows for a private estimate of its label at "
            f"epsilon={request.privacy.epsilon:g}, delta={request.privacy.delta:g}. "
            + worded(
                "Declare the classes, schema=Schema(classes=...), or raise 'epsilon'.",
                "Declare the classes as values of the target in the schema, or raise --epsilon.",
            )
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
    # Rows are asked once: their answer does not depend on where scores start.
    query = start_query(loss, weighting, fixed=fixed, classes=bool(classes))
    sums = source.ask(query, ledger.neighbors)

    def release(before: Loss, share: PrivacyCost, *, cautious: bool) -> Start:
        started, seen = release_start(
            before,
            sums,
            budget=share,
            ledger=ledger,
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
    sums = source.ask(ClassSizes(n_classes=n_classes), ledger.neighbors)
    seen = release_class_sizes(sums, budget=budget, ledger=ledger)
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


# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0
# How far a start value is from the middle, typically: of labels scaled to [-1, 1], and of shares.
TYPICAL_MEAN, TYPICAL_SHARE = 0.5, 0.25
# A released number of rows is taken for more than noise from so many of its deviations on.
SURE = 3.0


@dataclass(frozen=True, kw_only=True)
class SeenRows:
    """Releases about the rows before the first tree; public."""

    #: Rows that take part, or the sum of their weights, at least 1.
    n_rows: float
    #: The same for each class, noisy; empty if it was not released.
    sizes: tuple[float, ...] = ()
    #: Standard deviation of the noise of each size.
    noise_stddevs: tuple[float, ...] = ()
    #: Rows whose label is of no class; 0 where there are no classes.
    others: float = 0.0
    noise_stddev: float = 0.0
    #: What ``n_rows`` counts in: the largest weight of a row, 1 where it counts rows.
    weight: float = 1.0
    #: Of scaled labels, as it was released; None of classes, and where it was not released.
    mean: float | None = None

    def at_most(self, max_rows: int | None) -> float:
        """Return the number of rows, or what is declared as the most where that is less."""
        return min(self.n_rows, max_rows or math.inf)

    @property
    def some_take_no_part(self) -> bool:
        """Whether there are more rows of no class than noise explains."""
        return self.others > SURE * self.noise_stddev

    @property
    def empty_classes(self) -> tuple[int, ...]:
        """Positions of the classes that noise alone could have made as large as they are."""
        pairs = zip(self.sizes, self.noise_stddevs, strict=True)
        return tuple(
            position
            for position, (size, noise_stddev) in enumerate(pairs)
            if size <= SURE * noise_stddev
        )


def release_rows(source: RowHandle, *, budget: PrivacyCost, ledger: Ledger) -> SeenRows:
    """Release the number of rows that take part; under the replace relation too, which knows it.

    Parameters
    ----------
    source : RowHandle
        Of ``EncodedRows``.

    Privacy
    -------
    One release of a count (``constants.counts``).
    """
    sensitive = source.ask(PresentRows(), ledger.neighbors)
    noise = ledger.accountant.noise(budget)
    released = ledger.release(noise, sensitive, label="row count")
    return SeenRows(n_rows=max(float(released[0]), 1.0))


def start_query(
    loss: Loss, weighting: Weighting | None = None, *, fixed: bool = False, classes: bool = False
) -> Query:
    """Return what is asked of encoded rows before the first tree.

    Parameters
    ----------
    weighting : Weighting, optional
        A row then counts as its weight, in units of the largest one.
    fixed : bool, default=False
        Whether the start of the loss stays as it is, so that only rows are counted.
    classes : bool, default=False
        Whether labels are classes, so that rows of no class are counted as well.
    """
    if fixed:
        return RowCount(weighting=weighting, others=classes)
    if isinstance(loss, ClassLoss):
        return ClassSizes(n_classes=loss.n_outputs, weighting=weighting)
    assert not isinstance(loss, CustomClassLoss)  # its start is fixed
    return MeanAndRows(loss=loss, weighting=weighting, others=classes)


def release_start(
    loss: Loss,
    sums: Sensitive,
    *,
    budget: PrivacyCost,
    ledger: Ledger,
    fixed: bool = False,
    classes: bool = False,
    cautious: bool = False,
) -> tuple[Loss, SeenRows]:
    """Release where the scores start and a noisy number of rows.

    Parameters
    ----------
    loss : Loss
        Turns a mean of scaled labels, or the shares of several classes, into a start value.
    sums : Sensitive
        Result of `start_query`, for the same ``fixed`` and ``classes``.
    cautious : bool, default=False
        Whether the start value is pulled to the middle by the known size of its noise.

    Returns
    -------
    loss : Loss
        The loss with its start value.
    seen : SeenRows
        The released numbers of rows.

    Privacy
    -------
    One output: releases the vector (sum of scaled labels, number of rows), to which a row adds
    at most (1, 1) (``constants.newton_sums``). Several: releases the number of rows of each class
    (``constants.counts``). Fixed: the number of rows alone. With classes, the number of rows that
    take no part belongs to the same vector (``boosting.start_questions``). A weight is at most 1
    here, so none of these bounds changes; a row's part is rounded after it was multiplied.
    """
    if isinstance(loss, ClassLoss) and not fixed:
        seen = release_class_sizes(sums, budget=budget, ledger=ledger)
        shares = np.array(seen.sizes) / max(seen.n_rows, LEAST_ROWS)
        if cautious:
            part = _weight(TYPICAL_SHARE, max(seen.noise_stddevs) / seen.n_rows)
            shares = part * shares + (1 - part) / loss.n_outputs
        return loss.starting_at(shares), seen
    released, noise_stddev = _release(sums, budget, ledger)
    values = released.tolist()
    others = values.pop() if classes else 0.0
    n_rows = max(values[-1], 1.0)
    seen = SeenRows(n_rows=n_rows, others=others, noise_stddev=noise_stddev)
    if fixed:
        return loss, seen
    total, counted = values
    if classes:
        # The label of two classes is 0 or 1, so that the sum of labels is the size of the second.
        seen = replace(
            seen,
            sizes=(counted - total, total),
            noise_stddevs=(math.sqrt(2) * noise_stddev, noise_stddev),
        )
    mean = total / max(n_rows, LEAST_ROWS)
    if not classes:
        seen = replace(seen, mean=mean)
    if cautious and isinstance(loss, LabelRangeLoss):
        mean *= _weight(TYPICAL_MEAN, noise_stddev / n_rows)
    elif cautious and isinstance(loss, LogisticLoss | FractionalLabelLoss):
        mean = 0.5 + (mean - 0.5) * _weight(TYPICAL_SHARE, noise_stddev / n_rows)
    return loss.starting_at(mean), seen


def _weight(typical: float, noise_stddev: float) -> float:
    """Return the weight of the posterior mean of a number of a typical size under noise."""
    return typical**2 / (typical**2 + noise_stddev**2)


def release_class_sizes(sums: Sensitive, *, budget: PrivacyCost, ledger: Ledger) -> SeenRows:
    """Release the number of rows of each class.

    Parameters
    ----------
    sums : Sensitive
        Result of `ClassSizes`.

    Privacy
    -------
    One release of the counts (``constants.counts``), those of no class included.
    """
    released, noise_stddev = _release(sums, budget, ledger)
    return SeenRows(
        n_rows=max(float(released[:-1].sum()), 1.0),
        sizes=tuple(released[:-1].tolist()),
        noise_stddevs=(noise_stddev,) * (len(released) - 1),
        others=float(released[-1]),
        noise_stddev=noise_stddev,
    )


def _release(
    sums: Sensitive, budget: PrivacyCost, ledger: Ledger
) -> tuple[NDArray[np.float64], float]:
    """Release a vector in rows instead of units; with the deviation of its noise."""
    noise = ledger.accountant.noise(budget)
    released = ledger.release(noise, sums, label="start value") / ROW_UNITS
    # Whose shares are in the noise of parties is known now.
    return released, sums.noise_stddev(noise) / ROW_UNITS
