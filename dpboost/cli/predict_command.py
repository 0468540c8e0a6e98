"""Predict the rows of a CSV or Parquet file by a model text: one line a row.

Columns that the model does not know, the target among them, are ignored. A regression gives
"prediction", two classes "probability" (of the second class), more of them "probability_0" and so
on, in the order of the classes.

  dpboost predict model.txt new.csv -o predictions.csv
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dpboost.cli.model_rows import rows_of
from dpboost.cli.table_files import pandas, read_file, write_csv
from dpboost.evaluating.saved_model import objective_of
from dpboost.lightgbm.booster import Booster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost predict``."""
    parser.add_argument("model", help="model text, of dpboost or of LightGBM")
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument("-o", "--output", metavar="FILE", help="CSV; printed without it")


def run(options: argparse.Namespace) -> None:
    """Predict and write."""
    booster = Booster(model_file=options.model)
    table = read_file(options.data)
    rows = rows_of(booster, table, options.data)
    write_csv(_predictions(booster, rows), options.output)


def _predictions(booster: Any, rows: Any) -> Any:
    predicted = np.asarray(booster.predict(rows))
    objective = objective_of(booster)
    if predicted.ndim == 2:
        found = {f"probability_{index}": column for index, column in enumerate(predicted.T)}
    elif objective.startswith("binary"):
        found = {"probability": predicted}
    else:
        found = {"prediction": predicted}
    return pandas().DataFrame(found)
