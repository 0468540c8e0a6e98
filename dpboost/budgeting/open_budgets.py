"""Budgets whose ``with`` block is running, and what is refused or warned about outside of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.warnings import warn_user
from dpboost.budgeting.budget import KNOWN, OPEN, Budget


class BudgetWarning(UserWarning):
    """A fit is not recorded although its table or its estimator belongs to a budget."""


def is_open() -> bool:
    """Return whether a ``with Budget(...)`` block is running."""
    return bool(OPEN)


def refuse_budget(what: str, budget: Any = None, fraction: Any = None) -> None:
    """Raise where a budget is given, or open, to something that cannot book there.

    Parameters
    ----------
    what : str
        Its name.
    budget, fraction : optional
        As given by the user.

    Raises
    ------
    InvalidParameterError
    """
    if budget is None and fraction is None and not OPEN:
        return
    raise InvalidParameterError(
        f"{what} records nothing in a dpboost.Budget: noise is drawn where the rows are, and who "
        "draws has to keep the records. Call it outside of `with Budget(...)` and without 'budget' "
        "and 'fraction'. It spends its own epsilon and delta, which add to those of the budget: "
        "open that with so much less of both."
    )


def innermost(call: str) -> Budget:
    """Return the open budget, which `call` is for; raise where there is none, or several."""
    if not OPEN:
        raise InvalidParameterError(
            f"The 'fraction' of {call} is one of a budget: give it as budget=..., or open one "
            "by `with Budget(...) as budget:`."
        )
    if len(OPEN) > 1:
        raise InvalidParameterError(
            f"Several budgets are open, maybe in other threads: give {call} its budget=..."
        )
    return OPEN[0]


def warn_of_known(what: str, belongs: Sequence[Any]) -> None:
    """Warn where a fit takes from no budget and one of the objects belongs to one."""
    for budget in tuple(KNOWN):
        if any(budget.knows(each) for each in belongs):
            warn_user(
                f"This fit of {what} is not in the records of the budget of {budget.title}, to "
                "which its table or estimator belongs: it spends its own epsilon on top. Give "
                "budget=... and fraction=..., unless its rows are others.",
                BudgetWarning,
            )
