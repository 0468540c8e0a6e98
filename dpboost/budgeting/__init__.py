"""Privacy budgets of tables, and explanations of guarantees."""

from __future__ import annotations

from dpboost.budgeting.budget import Budget
from dpboost.budgeting.open_budgets import BudgetWarning, EpsilonSumWarning
from dpboost.budgeting.pictures import plot_accuracy_vs_epsilon, plot_privacy_budget
from dpboost.budgeting.windows import BudgetForecast, NextFit
from dpboost.reporting.epsilon_explanation import EpsilonExplanation

__all__ = [
    "Budget",
    "BudgetForecast",
    "BudgetWarning",
    "EpsilonExplanation",
    "EpsilonSumWarning",
    "NextFit",
    "plot_accuracy_vs_epsilon",
    "plot_privacy_budget",
]
