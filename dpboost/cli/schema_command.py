"""Write a data dictionary template: names and types of the columns of a file.

The command infers the types of a CSV file from its cells, in this process, and writes only names
and types. Confirm every line: names and types are published with the model. An existing file is
never replaced, because it may have been completed by hand.

  dpboost schema data.csv -o dictionary.csv
"""

from __future__ import annotations

import argparse
import os
import sys

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.cli.table_files import read_file
from dpboost.schema import schema_template
from dpboost.schema.declared_types import typed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost schema``."""
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="CSV or JSON file; default: standard output"
    )


def run(options: argparse.Namespace) -> None:
    """Write the data dictionary."""
    if options.output is not None and os.path.isfile(options.output):
        raise InvalidParameterError(
            f"The file {options.output!r} already exists and may have been completed by hand: "
            "name another one, or remove it."
        )
    check_outputs(options.output)
    dictionary = schema_template(typed(read_file(options.data), {}, set()), options.output)
    if options.output is None:
        print(dictionary.to_csv_text(), end="")
        return
    print(
        f"{options.output}: types are inferred from the cells, in this process. Confirm them. Take "
        "ranges and values from a codebook, never from the rows.",
        file=sys.stderr,
    )
    dates = [entry.name for entry in dictionary.entries if entry.type == "date"]
    if dates:
        print(
            f"{', '.join(dates)}: the cells look like dates. If a date is a feature, set lower and "
            "upper, such as 2024-01-31; if not, set the role 'ignore'.",
            file=sys.stderr,
        )
    named = [entry.name for entry in dictionary.entries if entry.role == "ignore"]
    if named:
        print(
            f"{', '.join(named)}: the name looks like an identifier, so the role is 'ignore'. "
            "Set 'user' if it identifies the user of a row; clear it for a feature.",
            file=sys.stderr,
        )
