"""What a guarantee means, and one budget for everything that is released of a table."""

from __future__ import annotations

from dpboost.budgeting.budget import Budget, BudgetWarning
from dpboost.budgeting.explanation import EpsilonExplanation, explain_epsilon

__all__ = ["Budget", "BudgetWarning", "EpsilonExplanation", "explain_epsilon"]
