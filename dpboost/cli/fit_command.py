"""Train a private model on a CSV or Parquet file and write it as a LightGBM model text.

The schema sets the types: columns with categories are nominal, columns with bounds are numbers or
dates such as 2024-01-31 (other cells count as missing). In a data dictionary, a type without a
range is enough for numbers. Other columns are refused, because one row could change a type that is
inferred from the cells. --assume-types infers it, and the guarantee then covers only tables with
the same column types.

With --holdout, the command also evaluates the model on randomly held-out rows; this has the same
epsilon, in parallel. With --conformal 0.9, "dpboost predict" gives intervals or sets of classes
that cover nine of ten new rows. With --transcript FILE, the model can be replayed without rows,
and "dpboost refit" fits its leaves to other rows.

With --budget FILE, the fit is charged to a budget (see "dpboost budget") instead of --epsilon. An
existing model file is never replaced without --force.

  dpboost fit data.csv --target income --schema dictionary.csv --epsilon 1 -o model.txt
"""

from __future__ import annotations

import argparse
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.cli.spending import Spending, add_spending, spending_of
from dpboost.cli.table_files import declaration_of, read_file, rows_of_table, task_of
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.evaluating import evaluate
from dpboost.reporting.certificate import model_hash
from dpboost.reporting.released_scores import write_scores
from dpboost.schema import Schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost fit``."""
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument(
        "--target", metavar="COLUMN", help="column to predict, if not in the schema"
    )
    parser.add_argument("--schema", metavar="FILE", help="schema in JSON, or data dictionary")
    add_spending(parser, what="total epsilon of the model", delta=1e-6)
    parser.add_argument(
        "--assume-types",
        action="store_true",
        help="infer types of undeclared columns from the cells; a condition of the guarantee",
    )
    parser.add_argument("--task", choices=("classification", "regression"))
    parser.add_argument("--recipe", default="best", help="algorithm, default best")
    parser.add_argument("--trees", type=int, metavar="N", help="default: set by the algorithm")
    parser.add_argument("--user", metavar="COLUMN", help="column of user ids; protects users")
    parser.add_argument("--rows-per-user", type=int, metavar="N", help="maximum rows of a user")
    parser.add_argument(
        "--holdout", type=float, metavar="PART", help="fraction of rows to hold out for evaluation"
    )
    parser.add_argument(
        "--conformal", type=float, metavar="PART", help="coverage of intervals for new rows"
    )
    parser.add_argument("--transcript", metavar="FILE", help='transcript for "refit" and "verify"')
    parser.add_argument("--scores", metavar="FILE", help="write the scores, for the certificate")
    parser.add_argument(
        "--html", metavar="FILE", help="write an HTML page: guarantee, scores, feature effects"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="model text")
    parser.add_argument("--force", action="store_true", help="replace an existing model")


def run(options: argparse.Namespace) -> None:
    """Train and save the model, and print its report."""
    kept = None if options.force else options.output
    check_outputs(options.output, options.html, options.scores, options.transcript, keep=kept)
    if options.scores is not None and options.holdout is None:
        raise InvalidParameterError("--scores needs held-out rows: pass --holdout PART too.")
    spending = spending_of(options)
    declared = declaration_of(options.schema, options.target, options.user)
    task = task_of(options.task, declared, options.data, assume_types=options.assume_types)
    spending.check_users(declared.user)
    table = read_file(options.data)
    rows = rows_of_table(table, declared, task=task, assume_types=options.assume_types)
    model = _model(options, spending, task, declared.schema)
    more: dict[str, Any] = {"user_ids": rows.user_ids, "conformal": options.conformal}
    if options.holdout is not None:
        more["holdout"] = options.holdout
        spending = spending.in_a_budget()
    if spending.budget is not None:
        more |= {"budget": spending.budget_of(table), "fraction": spending.fraction}
    model.fit(rows.X, rows.y, **more)
    _save(model, options)
    if options.holdout is not None:
        print()
        found = evaluate(model, budget=spending.budget, fraction=spending.fraction)
        print(found)
        if options.scores is not None:
            write_scores(options.scores, found, model_hash(model))
    if options.html is not None:
        model.to_html(options.html)


def _save(model: Any, options: argparse.Namespace) -> None:
    model.booster_.save_model(options.output)
    if options.transcript is not None:
        model.transcript_.save(options.transcript)
    print(model.privacy_report_)


def _model(options: argparse.Namespace, spending: Spending, task: str, schema: Schema) -> Any:
    kind = DPBoostClassifier if task == "classification" else DPBoostRegressor
    parameters = {
        "recipe": options.recipe,
        "rows_per_user": spending.rows_per_user,
        "schema": schema,
        "assume_public": ("column_types", "classes") if options.assume_types else ("classes",),
    }
    if spending.budget is None:
        parameters |= {"epsilon": spending.epsilon, "delta": spending.delta}
    if options.trees is not None:
        parameters["n_estimators"] = options.trees
    return kind(**parameters)
