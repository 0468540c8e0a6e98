"""Predict the rows of a CSV or Parquet file by a model text: one line a row.

Columns that the model does not know, the target among them, are ignored. A regression gives
"prediction", two classes "probability" (of the second class), more of them "probability_0" and so
on, in the order of the classes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.table_files import pandas, read_file, typed, write_csv
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
    known = {str(name).replace(" ", "_"): name for name in table.columns}
    names = booster.feature_name()
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameterError(
            f"The file {options.data!r} lacks columns of the model: {', '.join(missing)}."
        )
    columns = table[[known[name] for name in names]].set_axis(names, axis=1)
    lists = dict(zip(_nominal(booster), booster.pandas_categorical or [], strict=False))
    rows = typed(columns, lists, {name for name in names if name not in lists})
    write_csv(_predictions(booster, rows), options.output)


def _nominal(booster: Any) -> list[str]:
    """Names of the columns that hold categories, in their order."""
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    return [name for name in booster.feature_name() if infos.get(name, {}).get("values")]


def _predictions(booster: Any, rows: Any) -> Any:
    predicted = np.asarray(booster.predict(rows))
    objective = booster.dump_model(num_iteration=1).get("objective", "")
    if predicted.ndim == 2:
        found = {f"probability_{index}": column for index, column in enumerate(predicted.T)}
    elif objective.startswith("binary"):
        found = {"probability": predicted}
    else:
        found = {"prediction": predicted}
    return pandas().DataFrame(found)
