"""The start value and a row count, released together, and what they tell about the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import (
    ClassLoss,
    CustomClassLoss,
    FractionalLabelLoss,
    LabelRangeLoss,
    LogisticLoss,
    Loss,
)
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Query, RowHandle
from dpboost.rows.row_attributes import Weighting
from dpboost.rows.start_queries import ROW_UNITS, ClassSizes, MeanAndRows, PresentRows, RowCount

# A mean of fewer rows than this is pulled towards zero.
LEAST_ROWS = 10.0
# How far a start value is from the middle, typically: of labels scaled to [-1, 1], and of shares.
TYPICAL_MEAN, TYPICAL_SHARE = 0.5, 0.25
# A released number of rows is taken for more than noise from so many of its deviations on.
SURE = 3.0


@dataclass(frozen=True, kw_only=True)
class SeenRows:
    """What has been released about the rows before the first tree; public.

    Parameters
    ----------
    n_rows : float
        Rows that take part, or the sum of their weights, at least 1.
    sizes : tuple of float
        The same for each class, noisy; empty where it was not released.
    noise_stddevs : tuple of float
        Standard deviation of the noise of each size.
    others : float
        Rows whose label is of no class; 0 where there are no classes.
    noise_stddev : float
        Standard deviation of its noise.
    weight : float
        What ``n_rows`` counts in: the largest weight of a row, 1 where it counts rows.
    mean : float or None
        Of scaled labels, as it was released; None of classes, and where it was not released.
    """

    n_rows: float
    sizes: tuple[float, ...] = ()
    noise_stddevs: tuple[float, ...] = ()
    others: float = 0.0
    noise_stddev: float = 0.0
    weight: float = 1.0
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


def release_start(
    loss: Loss,
    source: RowHandle,
    *,
    budget: PrivacyCost,
    ledger: Ledger,
    weighting: Weighting | None = None,
    fixed: bool = False,
    classes: bool = False,
    cautious: bool = False,
) -> tuple[Loss, SeenRows]:
    """Release where the scores start and a noisy number of rows.

    Parameters
    ----------
    loss : Loss
        Turns a mean of scaled labels, or the shares of several classes, into a start value.
    source : RowHandle
        Of ``EncodedRows``.
    budget : Fraction or inf
        In the unit of the ledger's accountant.
    ledger : Ledger
        The gate.
    weighting : Weighting, optional
        A row then counts as its weight, in units of the largest one.
    fixed : bool, default=False
        Whether the start of the loss stays as it is, so that only rows are counted.
    classes : bool, default=False
        Whether labels are classes, so that rows of no class are counted as well.
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
    query: Query
    if fixed:
        query = RowCount(weighting=weighting, others=classes)
    elif isinstance(loss, ClassLoss):
        seen = release_class_sizes(
            loss.n_outputs, source, budget=budget, ledger=ledger, weighting=weighting
        )
        shares = np.array(seen.sizes) / max(seen.n_rows, LEAST_ROWS)
        if cautious:
            part = _weight(TYPICAL_SHARE, max(seen.noise_stddevs) / seen.n_rows)
            shares = part * shares + (1 - part) / loss.n_outputs
        return loss.starting_at(shares), seen
    else:
        assert not isinstance(loss, CustomClassLoss)  # its start is fixed
        query = MeanAndRows(loss=loss, weighting=weighting, others=classes)
    released, noise_stddev = _release(query, source, budget, ledger)
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


def release_class_sizes(
    n_classes: int,
    source: RowHandle,
    *,
    budget: PrivacyCost,
    ledger: Ledger,
    weighting: Weighting | None = None,
) -> SeenRows:
    """Release the number of rows of each class.

    Parameters
    ----------
    source : RowHandle
        Of ``EncodedRows``.
    budget : Fraction or inf
        In the unit of the ledger's accountant.
    ledger : Ledger
        The gate.
    weighting : Weighting, optional
        A row then counts as its weight, in units of the largest one.

    Privacy
    -------
    One release of the counts (``constants.counts``), those of no class included.
    """
    query = ClassSizes(n_classes=n_classes, weighting=weighting)
    released, noise_stddev = _release(query, source, budget, ledger)
    return SeenRows(
        n_rows=max(float(released[:-1].sum()), 1.0),
        sizes=tuple(released[:-1].tolist()),
        noise_stddevs=(noise_stddev,) * n_classes,
        others=float(released[-1]),
        noise_stddev=noise_stddev,
    )


def _release(
    query: Query, source: RowHandle, budget: PrivacyCost, ledger: Ledger
) -> tuple[NDArray[np.float64], float]:
    """Release a vector in rows instead of units; with the deviation of its noise."""
    sensitive = source.ask(query, ledger.neighbors)
    noise = ledger.accountant.noise(budget)
    released = ledger.release(noise, sensitive, label="start value") / ROW_UNITS
    # Whose shares are in the noise of parties is known now.
    return released, sensitive.noise_stddev(noise) / ROW_UNITS
