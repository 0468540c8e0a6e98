"""Show what a schema would clip, drop, or count as missing, before a fit.

The output has no noise: it is not private, so do not share it. Correct the schema by the codebook,
never by these counts, because a range taken from the rows leaks private data.

  dpboost check data.csv --schema dictionary.csv
"""

from __future__ import annotations

import argparse

from dpboost.cli.table_files import declaration_of, rows_of_file, task_of


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
    """Check the rows and print the findings."""
    declared = declaration_of(options.schema, options.target)
    task = task_of(options.task, declared, options.data)
    rows = rows_of_file(options.data, declared, task=task, keep_cells=True)
    print(declared.schema.check(rows.X, rows.y))
