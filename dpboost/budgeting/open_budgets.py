"""Budgets with an active ``with`` block."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.warnings import PrivacyWarning, warn_once
from dpboost.budgeting.budget import KNOWN, OPEN, Budget
from dpboost.budgeting.budget_mark import BudgetMark
from dpboost.budgeting.searches import running_search

_MARKS = "_open_budgets"
# Budgets of other processes that were loaded from their files, by process and token. They stay, as
# rows that a fit holds out are kept by the very object that it was charged to.
_REACHED: dict[tuple[int, str], Budget] = {}


class BudgetWarning(PrivacyWarning):
    """A fit is not recorded although its table or its estimator belongs to a budget."""

    every_time = True


class BudgetCarrier:
    """An object that is pickled with the open budgets' identifiers; the first base class.

    Workers may have started before the block, so the objects that are sent to them carry the
    identifiers. Clones and further pickles keep them.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the names of open budgets."""
        found: dict[str, Any] | None = None
        if hasattr(super(), "__getstate__"):
            parent: Any = super()
            found = parent.__getstate__()
        state = dict(vars(self) if found is None else found)
        marks = _distinct([*(each.mark for each in tuple(OPEN)), *_marks(self)])
        return state | {_MARKS: marks} if marks else state


class CarryingEstimator(BudgetCarrier):
    """An estimator whose clones carry the identifiers as well, since workers clone estimators."""

    def __sklearn_clone__(self) -> Any:
        """Return a clone of the parameters, with the names of the budgets."""
        parent: Any = super()
        return carry(self, parent.__sklearn_clone__())


def carry(source: Any, target: Any) -> Any:
    """Let an object carry the identifiers of another one, and return it."""
    marks = _distinct([*_marks(target), *_marks(source)])
    if marks:
        setattr(target, _MARKS, marks)
    return target


def is_open(carrier: Any = None) -> bool:
    """Return whether a ``with Budget(...)`` block is active, or was when an object was pickled.

    The ``carrier`` is an estimator or Dataset of the call.
    """
    return bool(OPEN) or bool(_marks(carrier))


def refuse_budget(what: str, budget: Any = None, fraction: Any = None, carrier: Any = None) -> None:
    """Raise if a budget is given, or open, to something that cannot charge it.

    Budget and fraction are as given by the user, the carrier is as of `is_open`.
    """
    if budget is None and fraction is None and not is_open(carrier):
        return
    raise InvalidParameterError(
        f"{what} cannot charge a dpboost.Budget: each party draws its noise and keeps its ledger. "
        "Call it outside of `with Budget(...)`, without 'budget' and 'fraction'. Replace an "
        "estimator that was pickled inside by a new one, type(model)(**model.get_params()). Its "
        "epsilon and delta add to those of the budget: open a budget that is smaller by that."
    )


def here(budget: Budget) -> Budget:
    """Return the budget to charge in this process: itself, or its file in a forked process."""
    mark = None if budget.of_this_process else budget.mark
    if mark is None or mark.path is None:
        budget.check_process()
        return budget
    return _reach(mark)


def innermost(call: str, carrier: Any = None) -> Budget:
    """Return the open budget for a call; raise if there is none, or several.

    The carrier is as of `is_open`.
    """
    marks = _marks(carrier)
    # A forked process may have inherited a block that was closed since: what was sent knows better.
    own = [each for each in tuple(OPEN) if each.of_this_process or not marks]
    sent = [mark for mark in marks if not any(each.is_named_by(mark) for each in own)]
    if not own and not sent:
        raise InvalidParameterError(
            f"The 'fraction' of {call} needs a budget: pass budget=..., or open one by "
            "`with Budget(...) as budget:`."
        )
    if len(own) + len(sent) > 1:
        raise InvalidParameterError(
            "Several budgets are open, possibly in other threads or where the estimator was "
            f"pickled: pass budget=... to {call}."
        )
    if own:
        return here(own[0])
    try:
        return _reach(sent[0])
    except InvalidParameterError as error:
        raise InvalidParameterError(
            f"{call} belongs to the budget of {sent[0].title}: its estimator or Dataset was "
            f"pickled inside `with Budget(...)`. {error} For rows of another table create a new "
            "one, type(model)(**model.get_params()), or pass the budget of that table as budget=..."
        ) from error


def _reach(mark: BudgetMark) -> Budget:
    """Return the budget of a mark: the one of this process, or its file."""
    for budget in tuple(KNOWN):
        if budget.of_this_process and budget.token == mark.token:
            return budget
    key = os.getpid(), mark.token
    if key in _REACHED:
        return _REACHED[key]
    if mark.path is None:
        raise InvalidParameterError(
            "This budget is in the memory of another process, or was deleted. Save it before work "
            "is sent, budget.save(path), so that all processes charge one file; or use one "
            "process: n_jobs=1."
        )
    budget = Budget.load(mark.path)
    if not budget.agrees(mark):
        raise InvalidParameterError(
            f"The file {mark.path!r} is not this budget: it was replaced by another or by an "
            "older copy. Restore the file."
        )
    return _REACHED.setdefault(key, budget)


def _marks(thing: Any) -> tuple[BudgetMark, ...]:
    found: tuple[BudgetMark, ...] = getattr(thing, _MARKS, ())
    return found


def _distinct(marks: Iterable[BudgetMark]) -> tuple[BudgetMark, ...]:
    """Return one mark for each budget."""
    found: list[BudgetMark] = []
    for mark in marks:
        if not any(mark.is_same(each) for each in found):
            found.append(mark)
    return tuple(found)


class EpsilonSumWarning(PrivacyWarning):
    """Several fits to possibly equal rows use no budget, so their epsilons add up."""


def warn_of_search(estimator: Any) -> tuple[bool, bool]:
    """Warn if a clone is one of many that scikit-learn fits to the same rows.

    Returns whether the warning of a search covers the fit of the clone, and whether it also covers
    the scores of the clone, which are not charged.
    """
    search, counted = running_search(estimator)
    if search is None:
        return counted, False
    head = f"{search.name} fits {type(estimator).__name__} {search.times} to rows that are "
    if search.scores:
        rest = (
            f"partly the same, in no budget: {search.sum}, and its scores are exact, not "
            "differentially private. One budget covers both: folds = dpboost.SecretKFold(5), "
            "cv=folds and scoring=folds.scorer('auc', fraction=...) inside "
            "`with dpboost.Budget(epsilon=...):`; or dpboost.cv."
        )
    else:
        rest = (
            f"the same, in no budget: {search.sum}. Use one budget for them: inside "
            "`with dpboost.Budget(epsilon=...):` pass fit(..., fraction=...), the fraction of "
            "each fit."
        )
    warn_once(head + rest, EpsilonSumWarning, search.table)
    return True, search.scores
