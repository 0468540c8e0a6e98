"""What an agreement says of a cross-validation: one session, of a fit for each fold and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpboost._utils.validation import check_integer, refuse
from dpboost.cross_validation import METRIC_SHARE
from dpboost.federated.protocol import wire

MOST_FOLDS = 100


@dataclass(frozen=True, kw_only=True)
class AgreedFolds:
    """A cross-validation, which has a fit for each fold and one evaluation.

    Each party deals its rows to folds once, by secret coins of its own. A row takes part in all
    fits but that of its fold, and is judged by the model of that one: what it may cost in all of
    them is the budget of the agreement, of which each has a part.

    Parameters
    ----------
    n_folds : int
        2 to 100.
    metrics : tuple of str
        Names of the metrics, as of ``dpboost.cv``; ``()`` for that of the task.
    part : int, optional
        What the terms of a part are about: the fit without the rows of this fold, or with
        ``n_folds`` the evaluation. None in the agreement, which is on all of them.

    Raises
    ------
    InvalidParameterError
        For a value outside its domain.
    """

    n_folds: int
    metrics: tuple[str, ...]
    part: int | None = None

    def __post_init__(self) -> None:
        owner = "AgreedFolds"
        check_integer("n_folds", owner, self.n_folds, low=2, high=MOST_FOLDS)
        if self.part is not None:
            check_integer("part", owner, self.part, low=0, high=self.n_folds)
        metrics = self.metrics
        if not isinstance(metrics, tuple) or not all(type(name) is str for name in metrics):
            raise refuse("metrics", owner, "a tuple of names", metrics)

    @property
    def is_evaluation(self) -> bool:
        """Whether terms are those of the evaluation."""
        return self.part == self.n_folds

    @property
    def name_of_part(self) -> str:
        """What the terms are about."""
        return "all parts" if self.part is None else f"part {self.part}"

    @property
    def share(self) -> tuple[Fraction, int]:
        """Part of the budget that the part may spend, and the number of the fits."""
        share = METRIC_SHARE if self.is_evaluation else (1 - METRIC_SHARE) / (self.n_folds - 1)
        return share, self.n_folds


wire.known("folds", AgreedFolds)
