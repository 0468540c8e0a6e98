"""Forecast the accuracy of a private model at each epsilon, before reading private rows.

With --like, the command fits models to similar public rows with the noise of the private fit.
Without it, the command compares the noise with the number of rows. It uses no budget.

  dpboost forecast --rows 20000 --epsilon 0.5 1 2 --schema dictionary.csv --like public.csv
"""

from __future__ import annotations

import argparse

from dpboost.cli.output_files import save_picture
from dpboost.cli.table_files import declaration_of, rows_of_file, task_of
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.model_selection.forecasting import forecast


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost forecast``."""
    parser.add_argument(
        "--rows", type=int, required=True, metavar="N", help="approximate number of private rows"
    )
    parser.add_argument("--epsilon", type=float, nargs="+", required=True, help="one or more")
    parser.add_argument("--delta", type=float, default=1e-6, help="default 1e-6; 0: pure epsilon")
    parser.add_argument("--like", metavar="FILE", help="CSV or Parquet file of public rows")
    parser.add_argument("--target", metavar="COLUMN", help="column to predict")
    parser.add_argument("--schema", metavar="FILE", help="schema in JSON, or data dictionary")
    parser.add_argument("--task", choices=("classification", "regression"))
    parser.add_argument("--metric", help="auc, accuracy or log_loss; rmse or mae")
    parser.add_argument("--plot", metavar="FILE", help="plot the forecast: PNG or SVG file")


def run(options: argparse.Namespace) -> None:
    """Print the forecast and plot it if a file is given."""
    declared = declaration_of(options.schema, options.target)
    task = task_of(options.task, declared)
    kind = DPBoostClassifier if task == "classification" else DPBoostRegressor
    like = None
    if options.like is not None:
        # The rows are public, so their types may be inferred.
        rows = rows_of_file(options.like, declared, task=task, assume_types=True)
        like = rows.X, rows.y
    found = forecast(
        schema=declared.schema,
        n_rows=options.rows,
        epsilon=options.epsilon,
        like=like,
        estimator=kind(delta=options.delta, verbosity=-1),
        metric=options.metric,
    )
    print(found)
    if options.plot is not None:
        save_picture(options.plot, found.plot)
