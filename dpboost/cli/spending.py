"""What a command may spend: an epsilon of its own, or a part of a budget in a file."""

from __future__ import annotations

import argparse
from fractions import Fraction

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting import Budget


def add_spending(parser: argparse.ArgumentParser, *, what: str, delta: float) -> None:
    """Add the arguments that say what a command may spend.

    Parameters
    ----------
    parser : ArgumentParser
    what : str
        What the epsilon is for, in its help.
    delta : float
        Default of ``--delta``.
    """
    parser.add_argument("--epsilon", type=float, help=f"{what}; or give --budget")
    parser.add_argument("--delta", type=float, help=f"default {delta:g}; 0: pure epsilon")
    parser.add_argument("--budget", metavar="FILE", help='file of "dpboost budget", to be charged')
    parser.add_argument(
        "--fraction", metavar="PART", type=_part, help="part of the budget, such as 1/4 or 0.25"
    )
    parser.set_defaults(default_delta=delta)


def _part(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError(text) from error


def spending_of(options: argparse.Namespace) -> tuple[Budget | None, Fraction | None]:
    """Return the budget of a command and the part of it that it takes, or ``None`` twice.

    Without ``--budget``, ``options.delta`` is set to its default.

    Raises
    ------
    InvalidParameterError
        Where both or none of epsilon and budget are given, and for half of what a budget needs.
    """
    if (options.epsilon is None) == (options.budget is None):
        raise InvalidParameterError(
            "What may be spent is not said: give --epsilon, or --budget FILE with --fraction."
        )
    if options.budget is None:
        if options.fraction is not None:
            raise InvalidParameterError("--fraction is a part of a budget: give --budget FILE too.")
        options.delta = options.default_delta if options.delta is None else options.delta
        return None, None
    if options.fraction is None or options.delta is not None:
        raise InvalidParameterError(
            "With --budget give --fraction PART, and no --delta: the file has one for everything."
        )
    budget = Budget.load(options.budget)
    if budget.rows_per_user is not None and options.rows_per_user is None:
        options.rows_per_user = budget.rows_per_user
    return budget, options.fraction


def own_budget(options: argparse.Namespace) -> Budget:
    """Return a budget of the epsilon that a command was given."""
    return Budget(epsilon=options.epsilon, delta=options.delta, rows_per_user=options.rows_per_user)
