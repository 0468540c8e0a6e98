"""Evaluate a model privately: metrics with confidence intervals, at a separate epsilon.

The rows are those of a CSV or Parquet file with labels. They may include rows that trained the
model; the epsilon of the evaluation then adds to that of the model. Public rows need no epsilon:
predict them, and compute metrics with any other tool.

  dpboost evaluate model.txt other.csv --schema dictionary.csv --epsilon 1
"""

from __future__ import annotations

import argparse
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.cli.spending import add_spending, spending_of
from dpboost.cli.table_files import declaration_of, read_file, rows_for_model
from dpboost.evaluating import evaluate
from dpboost.evaluating.saved_model import SavedClassifier, saved_model
from dpboost.lightgbm.booster import Booster
from dpboost.reporting.certificate import model_hash
from dpboost.reporting.released_scores import write_scores
from dpboost.schema import Schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost evaluate``."""
    parser.add_argument("model", help="model text, of dpboost or of LightGBM")
    parser.add_argument("data", help="CSV or Parquet file with the labels")
    parser.add_argument("--target", metavar="COLUMN", help="target column")
    parser.add_argument(
        "--schema", metavar="FILE", required=True, help="schema or data dictionary of the fit"
    )
    add_spending(parser, what="budget of the scores", delta=0.0)
    parser.add_argument("--metrics", metavar="LIST", help="such as auc,accuracy; default: all")
    parser.add_argument(
        "--groups", metavar="COLUMN", help="also evaluate by the declared values of this column"
    )
    parser.add_argument("--scores", metavar="FILE", help="write the scores, for the certificate")
    parser.add_argument("--user", metavar="COLUMN", help="column of user ids; protects users")
    parser.add_argument("--rows-per-user", type=int, metavar="N", help="maximum rows of a user")


def run(options: argparse.Namespace) -> None:
    """Evaluate the model and print the metrics and their charge."""
    check_outputs(options.scores)
    spending = spending_of(options).in_a_budget()
    declared = declaration_of(options.schema, options.target, options.user)
    spending.check_users(declared.user)
    booster = Booster(model_file=options.model)
    model = saved_model(booster, declared.schema, f"the target {declared.target!r}")
    task = "classification" if isinstance(model, SavedClassifier) else "regression"
    table = read_file(options.data)
    labels, users = declared.labels(table, task), declared.users(table)
    groups = _groups(options.groups, table, declared.schema)
    found = evaluate(
        model,
        rows_for_model(booster, table, options.data),
        labels,
        budget=spending.budget_of(table),
        fraction=spending.fraction,
        metrics=None if options.metrics is None else options.metrics.split(","),
        groups=groups,
        user_ids=users,
    )
    print(found)
    print()
    print(found.report)
    if options.scores is not None:
        write_scores(options.scores, found, model_hash(booster))


def _groups(column: str | None, X: Any, schema: Schema) -> Any:
    """Return the group of each row and the groups that the schema declares."""
    if column is None:
        return None
    listed = schema.kinds()[0].get(column)
    if listed is None or column not in X.columns:
        raise InvalidParameterError(
            f"--groups {column}: the values of that column must be listed in the schema."
        )
    return X[column].astype(str).to_numpy(dtype=object), [str(value) for value in listed]
