"""Displays of a budget: its lines as text, table, data frame and bars."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpboost._utils.displays import data_frame, html_table, text_table
from dpboost.budgeting.budget_records import BudgetLine, counted, percent, told
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.reporting.budget_bars import Bar, draw_bars

_HEAD = ("what", "charged", "of", "rows")
_NUMBERS = frozenset({1})


class ShownBudget:
    """Mixin of `Budget` for its displays."""

    epsilon: Any
    delta: Any
    neighbors: Any
    rows_per_user: Any
    lines: Any
    remaining: Any
    left_of_periods: Any
    periods: Any
    overlap: Any
    promise: Any
    epsilon_spent: Any
    table: Any
    title: Any

    def __str__(self) -> str:
        return "\n".join([self._terms, *self._accounts_left(), *text_table(*self._shown())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head, rows, numbers = self._shown()
        return html_table(
            head, rows, caption=self._terms, notes=self._accounts_left(), numbers=numbers
        )

    def to_frame(self) -> Any:
        """Return the effective lines as a data frame.

        Returns
        -------
        DataFrame
            Columns ``what``, ``fraction`` of the ``account``, and ``rows``: the rows of the line,
            empty for all.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        rows = (
            (line.what, float(line.fraction), line.account, _rows_of(line))
            for line in counted(self.lines)
        )
        return data_frame("Budget", ("what", "fraction", "account", "rows"), rows)

    def plot(self, ax: Any = None) -> Any:
        """Plot the fraction of every line and the remainder; with periods, the remainder of each.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of the plot; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        bars: list[Bar]
        if self.periods is None:
            bars = [
                (f"{line.what}{_named(line)}", float(line.fraction), False)
                for line in counted(self.lines)
            ]
            bars += [(f"left of the {name} account", float(x), True) for name, x in self._left()]
        else:
            bars = [
                (f"left of {period}, {name} account", float(left), True)
                for name, found in self.left_of_periods.items()
                for period, left in found.items()
            ]
        terms = f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}"
        title = f"Budget of {self.table or 'a table'}: {terms}"
        return draw_bars("Budget.plot", title, bars, ax)

    @property
    def _terms(self) -> str:
        unit = Neighbors(self.neighbors).sentence
        if self.rows_per_user is not None:
            unit = f"{self.rows_per_user} rows of one user at most"
        if self.overlap is not None:
            unit = f"all rows of one person or user, where {self.promise}"
        return (
            f"Budget of {self.title}: epsilon = {float(self.epsilon):.6g}, "
            f"delta = {float(self.delta):.6g} for everything, for tables that differ by {unit}; "
            f"epsilon = {self.epsilon_spent:.6g} is charged."
        )

    def _left(self) -> list[tuple[str, Fraction]]:
        left: Mapping[str, Fraction] = self.remaining
        return list(left.items())

    def _accounts_left(self) -> list[str]:
        return [f"{name} account: {percent(left)} left" for name, left in self._left()]

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[str, ...]], frozenset[int]]:
        rows: list[tuple[str, ...]] = [
            (line.what, percent(line.fraction), line.account, _rows_of(line) or "all")
            for line in counted(self.lines)
        ]
        return _HEAD, rows, _NUMBERS


def _rows_of(line: BudgetLine) -> str:
    return told(line.part).removeprefix(", ")


def _named(line: BudgetLine) -> str:
    return "".join(f" ({name})" for _, name in line.part)
