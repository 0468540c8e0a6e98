"""Budget of a command: a separate epsilon, or a fraction of a budget file."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any, NamedTuple

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting import Budget
from dpboost.budgeting.windows import Window


def add_spending(parser: argparse.ArgumentParser, *, what: str, delta: float) -> None:
    """Add the arguments that set the budget of a command.

    ``what`` is the help text of ``--epsilon``, ``delta`` the default of ``--delta``.
    """
    parser.add_argument("--epsilon", type=float, help=f"{what}; or pass --budget")
    parser.add_argument("--delta", type=float, help=f"default {delta:g}; 0: pure epsilon")
    parser.add_argument("--budget", metavar="FILE", help='file of "dpboost budget" to charge')
    parser.add_argument(
        "--fraction", metavar="PART", type=_part, help="fraction of the budget, such as 1/4 or 0.25"
    )
    parser.add_argument(
        "--period",
        metavar="NAME",
        action="append",
        help="period of the rows, for a budget with --periods; repeat for each period",
    )
    parser.add_argument(
        "--period-column", metavar="COLUMN", help="column with the period of each row"
    )
    parser.set_defaults(default_delta=delta)


def _part(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError(text) from error


class Spending(NamedTuple):
    """Budget of a command.

    ``budget`` is loaded from a file, and None if the command has an epsilon and a delta of its own.
    ``rows_per_user`` are the maximum rows of a user, None if rows are protected. ``periods`` are
    those of the rows, for a budget that counts periods, and ``period_column`` has that of each row.
    """

    budget: Budget | None
    fraction: Fraction
    epsilon: float | None
    delta: float | None
    rows_per_user: int | None
    periods: tuple[str, ...] = ()
    period_column: str | None = None

    def budget_of(self, table: Any) -> Budget | Window | None:
        """Return the budget that a call on the rows of a table charges.

        The table is as read from the file.
        """
        if self.budget is None or not self.periods:
            return self.budget
        of_rows = None
        if self.period_column is not None:
            if self.period_column not in table.columns:
                raise InvalidParameterError(
                    f"--period-column {self.period_column}: the file has no such column."
                )
            of_rows = table[self.period_column].astype(str).str.strip().to_numpy(dtype=object)
        return self.budget.window(*self.periods, of_rows=of_rows)

    def in_a_budget(self) -> Spending:
        """Return the same with a separate epsilon as a budget that is used in full."""
        if self.budget is not None:
            return self
        assert self.epsilon is not None
        assert self.delta is not None
        own = Budget(epsilon=self.epsilon, delta=self.delta, rows_per_user=self.rows_per_user)
        return self._replace(budget=own)

    def check_users(self, column: str | None) -> None:
        """Raise if only one of the user column and the limit of rows per user is given."""
        if column is not None and self.rows_per_user is None:
            raise InvalidParameterError(
                f"The column {column!r} identifies users, by --user or by its role 'user', but "
                "the limit of rows per user is missing: pass --rows-per-user N, or set the role "
                "'ignore'."
            )
        if column is None and self.rows_per_user is not None:
            raise InvalidParameterError(
                "--rows-per-user protects users, but no column identifies them: pass --user "
                "COLUMN, or set the role 'user' in a line of the data dictionary."
            )


def spending_of(options: argparse.Namespace) -> Spending:
    """Return the budget of a command."""
    users = options.rows_per_user
    if (options.epsilon is None) == (options.budget is None):
        raise InvalidParameterError(
            "The privacy budget is missing: pass --epsilon, or --budget FILE with --fraction."
        )
    if options.period_column is not None and not options.period:
        raise InvalidParameterError(
            "--period-column needs the names of the periods: pass --period NAME once for each "
            "period."
        )
    if options.budget is None:
        if options.fraction is not None:
            raise InvalidParameterError("--fraction needs a budget: pass --budget FILE too.")
        if options.period:
            raise InvalidParameterError("--period needs a budget: pass --budget FILE too.")
        delta = options.default_delta if options.delta is None else options.delta
        return Spending(None, Fraction(1), options.epsilon, delta, users)
    if options.fraction is None or options.delta is not None:
        raise InvalidParameterError(
            "--budget needs --fraction PART and excludes --delta: the file sets delta for the "
            "whole budget."
        )
    budget = Budget.load(options.budget)
    users = budget.rows_per_user if users is None else users
    periods = tuple(options.period or ())
    if budget.periods is not None and not periods:
        raise InvalidParameterError(
            f"The budget in {options.budget!r} has periods: pass --period NAME once for "
            "each period of the rows."
        )
    if len(periods) > 1 and options.period_column is None:
        raise InvalidParameterError(
            "Several periods need the period of each row: pass --period-column COLUMN with "
            "several --period NAME."
        )
    return Spending(budget, options.fraction, None, None, users, periods, options.period_column)
