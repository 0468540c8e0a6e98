"""Where scores of rows begin, if not at a released start value: given scores, or another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.losses import Loss
from dpboost.reporting.privacy_report import PrivacyReport


@dataclass(frozen=True, kw_only=True, eq=False)
class Continuation:
    """What a fit goes on from; public.

    Parameters
    ----------
    scored : bool
        Whether the user gives a score for each row.
    earlier : EarlierModel or None
        The released model whose predictions the scores are.
    """

    scored: bool = False
    earlier: EarlierModel | None = None

    @property
    def given(self) -> bool:
        """Whether scores begin elsewhere than at a released start value."""
        return self.scored or self.continues

    @property
    def continues(self) -> bool:
        """Whether another model is continued."""
        return self.earlier is not None

    @property
    def report(self) -> PrivacyReport | None:
        """The report of the other model."""
        return None if self.earlier is None else self.earlier.report

    def check_outputs(self, loss: Loss) -> None:
        """Raise when the model to be continued has another number of raw scores a row.

        Its objective may be another, as in LightGBM: raw scores go on, and the text has the new
        one.
        """
        if self.earlier is not None and self.earlier.n_outputs != loss.n_outputs:
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model with as many raw scores a "
                f"row as the objective {loss.objective or 'custom'!r} has. It has "
                f"{self.earlier.n_outputs} instead of {loss.n_outputs}."
            )

    def check_classes(self, classes: Sequence[Any]) -> None:
        """Raise when the model to be continued has other classes, where its own are known."""
        known = None if self.earlier is None else self.earlier.classes
        if known is not None and list(known) != sorted(classes):
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model of the same classes: its own "
                f"are {list(known)}."
            )

    def check_unit(self, neighbors: str, rows_per_user: int | None, owner: str) -> None:
        """Raise when the budgets of a model and of its continuation would not add up.

        Parameters
        ----------
        rows_per_user : int or None
            Of the fit that continues it.
        owner : str
            For messages.
        """
        if self.report is None:
            return
        units = {
            "neighbors": (self.report.neighbors, neighbors),
            "rows_per_user": (self.report.rows_per_user, rows_per_user),
        }
        for name, (before, now) in units.items():
            if before != now:
                raise refuse(
                    name,
                    owner,
                    f"{before!r} as in the report of init_model, so that the budgets add up",
                    now,
                )

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        if not self.scored or self.continues:
            return {}
        return {"initial scores": "an attribute of each row, or a public function of it"}
