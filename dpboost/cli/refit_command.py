"""Fit the leaves of a model to new rows, with the same trees.

The whole budget is used for leaves; bins, splits and start value are those of the model. The
command rebuilds the estimator from its transcript ("dpboost fit --transcript FILE"), because a
model text does not say how to release its leaves. The model needs --recipe best.

  dpboost refit january.transcript february.csv --schema dictionary.csv --epsilon 1 -o february.txt
"""

from __future__ import annotations

import argparse
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.cli.spending import add_spending, spending_of
from dpboost.cli.table_files import declaration_of, read_file, rows_of_table
from dpboost.model_selection.refitting import refit_leaves
from dpboost.model_selection.replaying import replay
from dpboost.transcripts.transcript import Transcript


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost refit``."""
    parser.add_argument("transcript", help="transcript of the fit, written by fit --transcript")
    parser.add_argument("data", help="CSV or Parquet file of the new rows")
    parser.add_argument("--target", metavar="COLUMN", help="target column of the fit")
    parser.add_argument(
        "--schema", metavar="FILE", required=True, help="schema or data dictionary of the fit"
    )
    add_spending(parser, what="total epsilon of the leaves", delta=1e-6)
    parser.add_argument("--user", metavar="COLUMN", help="column of user ids; protects users")
    parser.add_argument("--rows-per-user", type=int, metavar="N", help="maximum rows of a user")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="model text")
    parser.add_argument("--force", action="store_true", help="replace an existing model")


def run(options: argparse.Namespace) -> None:
    """Fit the leaves, save the model, and print its report."""
    check_outputs(options.output, keep=None if options.force else options.output)
    spending = spending_of(options).in_a_budget()
    declared = declaration_of(options.schema, options.target, options.user)
    spending.check_users(declared.user)
    model: Any = replay(Transcript.load(options.transcript))
    if not hasattr(model, "booster_"):
        raise InvalidParameterError(
            f"The transcript {options.transcript!r} is not of a fit of one model: pass one "
            'written by "dpboost fit --transcript FILE".'
        )
    task = "classification" if hasattr(model, "predict_proba") else "regression"
    table = read_file(options.data)
    rows = rows_of_table(table, declared, task=task)
    new = refit_leaves(
        model,
        rows.X,
        rows.y,
        budget=spending.budget_of(table),
        fraction=spending.fraction,
        user_ids=rows.user_ids,
    )
    new.booster_.save_model(options.output)
    print(new.privacy_report_)
