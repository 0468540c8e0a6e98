"""Look at private rows before a fit: what a schema would clip, drop, or count as missing or other.

This is a look at the rows, without noise, for whoever may see them. Mend what is wrong by the
codebook, never by the counts: a range that was read off the rows reveals them.

  dpboost check data.csv --schema dictionary.csv
"""

from __future__ import annotations

import argparse

from dpboost.cli.table_files import (
    label_column,
    read_file,
    read_schema,
    split_columns,
    target_of,
    task_of,
    typed_features,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost check``."""
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument(
        "--target", metavar="COLUMN", help="column to predict, if not in the schema"
    )
    parser.add_argument(
        "--schema", metavar="FILE", required=True, help="schema in JSON, or data dictionary"
    )
    parser.add_argument("--task", choices=("classification", "regression"))


def run(options: argparse.Namespace) -> None:
    """Look, and print what was found."""
    schema, dictionary = read_schema(options.schema, options.target)
    target = target_of(options.target, dictionary)
    task = task_of(options.task, schema)
    user_column = None if dictionary is None else dictionary.user_column
    X, y, _ = split_columns(read_file(options.data), target, dictionary, user_column)
    labels = label_column(y, schema, task)
    print(schema.check(typed_features(X, schema, dictionary, keep_cells=True), labels))
