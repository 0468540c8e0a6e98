"""Train a private model on a CSV or Parquet file and write it as a LightGBM model text.

Types come from the schema: columns with categories are nominal, columns with bounds are numbers
(cells that are none count as missing). What the schema leaves open is read off the cells, listed,
and assumed to be public. With --holdout the model is also judged, on rows that secret coins set
aside and that train nothing; the scores have the same epsilon, in parallel.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting import Budget
from dpboost.cli.table_files import read_file, read_schema, split_columns, typed
from dpboost.evaluating import evaluate
from dpboost.schema import Schema
from dpboost.sklearn import DPBoostClassifier, DPBoostRegressor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost fit``."""
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument("--target", metavar="COLUMN", help="column to predict")
    parser.add_argument("--schema", metavar="FILE", help="schema in JSON, or data dictionary")
    parser.add_argument("--epsilon", type=float, required=True, help="budget of the model")
    parser.add_argument("--delta", type=float, default=0.0, help="default 0: pure epsilon")
    parser.add_argument("--task", choices=("classification", "regression"))
    parser.add_argument("--recipe", default="best", help="algorithm, default best")
    parser.add_argument("--trees", type=int, metavar="N", help="default: the recipe's rule")
    parser.add_argument("--user", metavar="COLUMN", help="whose row it is: protects users")
    parser.add_argument("--rows-per-user", type=int, metavar="N", help="at most so many take part")
    parser.add_argument("--holdout", type=float, metavar="PART", help="part of the rows, to judge")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="model text")


def run(options: argparse.Namespace) -> None:
    """Train, save and say what holds."""
    schema, dictionary = read_schema(options.schema, options.target)
    target = options.target or (dictionary.target if dictionary else None)
    if target is None:
        raise InvalidParameterError(
            "Which column to predict is not said: --target COLUMN, or a line with the role "
            "'target' in the data dictionary."
        )
    task = _task(options.task, schema)
    user_column = options.user or (dictionary.user_column if dictionary else None)
    if (user_column is None) != (options.rows_per_user is None):
        raise InvalidParameterError(
            "To protect users both are needed: --user COLUMN, or a line with the role 'user', and "
            "--rows-per-user N."
        )
    X, y, users = split_columns(read_file(options.data), target, dictionary, user_column)
    numeric = {*map(str, schema.bounds), *map(str, schema.edges)}
    declared = {str(name): values for name, values in schema.categories.items()}
    open_columns = [str(name) for name in X.columns if name not in {*numeric, *declared}]
    if open_columns:
        print(
            f"warning: the schema says nothing of {', '.join(open_columns)}: their types were read "
            "off the cells and are assumed to be public. Declare them.",
            file=sys.stderr,
        )
    labels = _labels(y, schema, task)
    X = typed(X, declared, numeric)
    model = _model(options, task, schema)
    more: dict[str, Any] = {} if users is None else {"user_ids": users.to_numpy()}
    if options.holdout is None:
        model.fit(X, labels, **more)
        model.booster_.save_model(options.output)
        print(model.privacy_report_)
        return
    budget = Budget(
        epsilon=options.epsilon, delta=options.delta, rows_per_user=options.rows_per_user
    )
    model.fit(X, labels, budget=budget, fraction=1, holdout=options.holdout, **more)
    model.booster_.save_model(options.output)
    print(model.privacy_report_)
    print()
    print(evaluate(model, budget=budget, fraction=1))


def _task(given: str | None, schema: Schema) -> str:
    if given is not None:
        return given
    if (schema.classes is None) == (schema.label_bounds is None):
        raise InvalidParameterError(
            "Whether the target is a class or a number is not said: --task classification or "
            "--task regression, or its values or its range in the schema."
        )
    return "classification" if schema.classes is not None else "regression"


def _labels(y: Any, schema: Schema, task: str) -> Any:
    """Return labels of the type of the declared classes, or numbers."""
    if task == "regression":
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    classes = schema.classes
    if classes is not None and all(isinstance(label, str) for label in classes):
        return y.astype(str).to_numpy(dtype=object)
    if classes is not None:
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    return typed(y.to_frame("target"), {}, set())["target"].to_numpy()


def _model(options: argparse.Namespace, task: str, schema: Schema) -> Any:
    kind = DPBoostClassifier if task == "classification" else DPBoostRegressor
    parameters = {
        "epsilon": options.epsilon,
        "delta": options.delta,
        "recipe": options.recipe,
        "rows_per_user": options.rows_per_user,
        "schema": schema,
        "verbosity": -1,
    }
    if options.trees is not None:
        parameters["n_estimators"] = options.trees
    return kind(**parameters)
