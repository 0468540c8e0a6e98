"""Predict the rows of a CSV or Parquet file with a model text, one line per row.

Columns that the model does not use, including the target, are ignored. A regression writes the
column "prediction"; two classes write "probability" (of the second class); more classes write
"probability_0" and so on, in the order of the classes. With the schema of the fit, classes have
names: "prediction" is the most probable class, "probability_NAME" the probability of each.

A model of "dpboost fit --conformal 0.9" also writes "lower" and "upper", or, with the schema,
"set": the set of likely classes, such as "no|yes". These cover nine of ten new rows.

  dpboost predict model.txt new.csv --schema dictionary.csv --id patient -o predictions.csv
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.cli.output_files import check_outputs
from dpboost.cli.table_files import declaration_of, pandas, read_file, rows_for_model, write_csv
from dpboost.evaluating.saved_model import SavedClassifier, objective_of, saved_model
from dpboost.lightgbm.booster import Booster
from dpboost.trees.calibration import Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost predict``."""
    parser.add_argument("model", help="model text, of dpboost or of LightGBM")
    parser.add_argument("data", help="CSV or Parquet file")
    parser.add_argument("--schema", metavar="FILE", help="schema of the fit, for class names")
    parser.add_argument("--target", metavar="COLUMN", help="target column")
    parser.add_argument("--id", metavar="COLUMN", help="identifier column to write first")
    parser.add_argument("-o", "--output", metavar="FILE", help="CSV file; default: standard output")


def run(options: argparse.Namespace) -> None:
    """Predict the rows and write the predictions."""
    check_outputs(options.output)
    booster = Booster(model_file=options.model)
    classes = _classes(booster, options)
    table = read_file(options.data)
    if options.id is not None and options.id not in table.columns:
        listed = ", ".join(map(str, table.columns))
        raise InvalidParameterError(
            f"--id {options.id}: the file {options.data!r} has no column {options.id!r}. Its "
            f"columns are {listed}."
        )
    found = _predictions(booster, rows_for_model(booster, table, options.data), classes)
    _add_intervals(found, booster, classes)
    if options.id is not None:
        found.insert(0, options.id, table[options.id].to_numpy())
    write_csv(found, options.output)


def _classes(booster: Booster, options: argparse.Namespace) -> list[str] | None:
    """Return the names of the classes if the schema declares them."""
    if options.schema is None:
        return None
    declared = declaration_of(options.schema, options.target)
    model = saved_model(booster, declared.schema, f"the target {declared.target!r}")
    return list(map(str, model.classes_)) if isinstance(model, SavedClassifier) else None


def _add_intervals(found: Any, booster: Booster, classes: list[str] | None) -> None:
    """Add intervals or sets of classes if the report in the model text has their quantile."""
    report = booster.privacy_report
    calibration = None if report is None else Calibration.from_facts(report.facts)
    if calibration is None:
        return
    if calibration.label_bounds is not None:
        ends = calibration.intervals(found["prediction"].to_numpy())
        found["lower"], found["upper"] = ends.T
    elif classes is not None:
        shares = found[[f"probability_{name}" for name in classes]].to_numpy()
        names = np.array(classes, dtype=object)
        found["set"] = ["|".join(names[inside]) for inside in calibration.sets(shares)]


def _predictions(booster: Any, rows: Any, classes: list[str] | None) -> Any:
    predicted = np.asarray(booster.predict(rows))
    binary = objective_of(booster).startswith("binary")
    if classes is not None:
        shares = np.column_stack([1 - predicted, predicted]) if binary else predicted
        names = np.array(classes, dtype=object)[shares.argmax(axis=1)]
        found = {"prediction": names}
        found |= {f"probability_{name}": shares[:, k] for k, name in enumerate(classes)}
    elif predicted.ndim == 2:
        found = {f"probability_{index}": column for index, column in enumerate(predicted.T)}
    else:
        found = {"probability" if binary else "prediction": predicted}
    return pandas().DataFrame(found)
