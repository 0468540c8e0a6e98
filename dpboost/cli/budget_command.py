"""Open a budget for a table, or show its charges.

A budget is one epsilon for every release of a table: fits, evaluations, and scores of held-out
rows. Its file records each charge before the draw, and refuses a charge that exceeds the total.
With --epsilon the command creates the file; without it, the command prints the file. With
--periods the file counts the charges of each month, quarter or site: then fits, evaluations and
refits name the periods of their rows by --period.

  dpboost budget table.budget --epsilon 3 --delta 1e-6 --table "patients 2026"
  dpboost fit data.csv --schema dictionary.csv --budget table.budget --fraction 1/2 -o model.txt
  dpboost budget table.budget --plot spent.png
  dpboost budget ward.budget --epsilon 2 --periods 2 --table ward
  dpboost fit q1.csv --schema s.csv --budget ward.budget --fraction 1/6 --period Q1 -o q1.txt
"""

from __future__ import annotations

import argparse

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting import Budget, plot_privacy_budget
from dpboost.cli.output_files import check_outputs, save_picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost budget``."""
    parser.add_argument("budget", metavar="FILE", help="file of the budget")
    parser.add_argument("--epsilon", type=float, help="create the file with this total epsilon")
    parser.add_argument("--delta", type=float, help="total delta, default 1e-6; 0: pure epsilon")
    parser.add_argument(
        "--rows-per-user", type=int, metavar="N", help="maximum rows of a user; protects users"
    )
    parser.add_argument(
        "--periods",
        type=int,
        metavar="N",
        help="most periods of an individual",
    )
    parser.add_argument("--table", metavar="NAME", help="name of the table in reports")
    parser.add_argument("--plot", metavar="FILE", help="plot the charges: PNG or SVG file")


def run(options: argparse.Namespace) -> None:
    """Make or show a budget."""
    check_outputs(options.plot)
    if options.epsilon is None:
        given = (options.delta, options.rows_per_user, options.periods, options.table)
        if any(value is not None for value in given):
            raise InvalidParameterError(
                "--delta, --rows-per-user, --periods and --table are for a new budget: give "
                "--epsilon too."
            )
        budget = Budget.load(options.budget)
    else:
        budget = Budget(
            epsilon=options.epsilon,
            delta=1e-6 if options.delta is None else options.delta,
            rows_per_user=options.rows_per_user,
            periods=options.periods,
            table=options.table,
        )
        budget.save(options.budget)
    print(budget)
    if options.plot is not None:
        save_picture(options.plot, lambda axes: plot_privacy_budget(budget, ax=axes))
