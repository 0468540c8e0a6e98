"""Which session of a cross-validation an agreement is on: the fit of a fold, or the evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpboost._utils.validation import check_integer, refuse
from dpboost.cross_validation import METRIC_SHARE
from dpboost.federated.protocol import wire

MOST_FOLDS = 100
_LONGEST_NAME = 100


@dataclass(frozen=True, kw_only=True)
class AgreedFolds:
    """One session of a cross-validation, which has a fit for each fold and one evaluation.

    Each party deals its rows to folds once, by coins of its own, for all sessions of one name. A
    row takes part in all fits but that of its fold, and is judged by the model of that one: what
    it may cost in all sessions is the budget of the agreement, of which each session has a part.

    Parameters
    ----------
    name : str
        Of the cross-validation: the same in all of its sessions, and in no other one.
    n_folds : int
        2 to 100.
    fold : int or None
        Whose rows take no part in the fit; None in the evaluation.

    Raises
    ------
    InvalidParameterError
        For a value outside its domain.
    """

    name: str
    n_folds: int
    fold: int | None

    def __post_init__(self) -> None:
        owner = "AgreedFolds"
        if type(self.name) is not str or not 0 < len(self.name) <= _LONGEST_NAME:
            raise refuse("name", owner, f"text of 1 to {_LONGEST_NAME} characters", self.name)
        check_integer("n_folds", owner, self.n_folds, low=2, high=MOST_FOLDS)
        if self.fold is not None:
            check_integer("fold", owner, self.fold, low=0, high=self.n_folds - 1)

    @property
    def session(self) -> str:
        """Name of the session, also that of a folder."""
        return "evaluation" if self.fold is None else f"fold-{self.fold}"

    @property
    def part(self) -> tuple[Fraction, int]:
        """Part of the budget that the session may spend, and the number of the fits."""
        share = (1 - METRIC_SHARE) / (self.n_folds - 1)
        return METRIC_SHARE if self.fold is None else share, self.n_folds


wire.known("folds", AgreedFolds)
