"""Write a small model that approximates a model text, for serving.

LightGBM fits its trees to the model's raw scores on synthetic rows. These rows are drawn from the
released leaf counts of the model text, or read from --public-rows, which must be public. The
command uses no budget. The report in the small model text records the step and its error.

  dpboost compact model.txt -o small.txt
  dpboost compact model.txt -o small.txt --max-error 0.2 --public-rows public.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dpboost.cli.output_files import check_outputs
from dpboost.cli.table_files import read_file, rows_for_model
from dpboost.compacting.compact import compact
from dpboost.lightgbm.booster import Booster
from dpboost.reporting.terms import AFTER_THE_FIT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost compact``."""
    parser.add_argument("model", help="model text of dpboost")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="small model text")
    parser.add_argument("--n-trees", type=int, default=300, help="trees (default: 300)")
    parser.add_argument("--num-leaves", type=int, default=31, help="leaves per tree (default: 31)")
    parser.add_argument(
        "--max-error", type=float, help="maximum error, in standard deviations of raw scores"
    )
    parser.add_argument(
        "--public-rows", metavar="FILE", help="public CSV or Parquet file instead of synthetic rows"
    )


def run(options: argparse.Namespace) -> None:
    """Write the small model text and print its error and size."""
    check_outputs(options.output)
    full = Booster(model_file=options.model)
    rows = None
    if options.public_rows is not None:
        rows = rows_for_model(full, read_file(options.public_rows), options.public_rows)
    small = compact(
        full,
        n_trees=options.n_trees,
        num_leaves=options.num_leaves,
        max_error=options.max_error,
        public_rows=rows,
    )
    small.save_model(options.output)
    sizes = [Path(path).stat().st_size for path in (options.model, options.output)]
    report = small.privacy_report
    if report is not None:
        print(f"{report.facts[AFTER_THE_FIT]}.")
    print(f"{options.output}: {sizes[1]:,} bytes, of {sizes[0]:,}.")
