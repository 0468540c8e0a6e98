"""Learn the leaves of a model again from other rows: the same trees, another month.

All that is spent goes into leaves; bins, splits and start value are those of the model. The
estimator is made again from its transcript, which "dpboost fit --transcript FILE" has written: a
model text does not say how its leaves are to be released. The model is one of --recipe best.

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
    parser.add_argument("transcript", help="of the fit, by fit --transcript")
    parser.add_argument("data", help="CSV or Parquet file of the new rows")
    parser.add_argument("--target", metavar="COLUMN", help="column to predict, as at the fit")
    parser.add_argument(
        "--schema", metavar="FILE", required=True, help="that of the fit: schema or data dictionary"
    )
    add_spending(parser, what="budget of the leaves", delta=1e-6)
    parser.add_argument("--user", metavar="COLUMN", help="whose row it is: protects users")
    parser.add_argument("--rows-per-user", type=int, metavar="N", help="at most so many take part")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="model text")
    parser.add_argument("--force", action="store_true", help="replace a model that is there")


def run(options: argparse.Namespace) -> None:
    """Learn the leaves, save and say what holds."""
    check_outputs(options.output, keep=None if options.force else options.output)
    spending = spending_of(options).in_a_budget()
    declared = declaration_of(options.schema, options.target, options.user)
    spending.check_users(declared.user)
    model: Any = replay(Transcript.load(options.transcript))
    if not hasattr(model, "booster_"):
        raise InvalidParameterError(
            f"The transcript {options.transcript!r} is of no fit of one model: give one that "
            '"dpboost fit --transcript FILE" has written.'
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
