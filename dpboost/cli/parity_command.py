"""Show how DPBoost treats LightGBM's parameters and functions, and why.

Without arguments the command prints the whole table. Each line has one of these words:

  same        as in LightGBM
  used        as in LightGBM, on private rows, within the budget that the report states
  private     uses budget, or applies to private rows
  public      reads public rows only
  holds       always true; no other value is accepted
  no effect   warns once, and names what to set instead
  refused     raises an error before anything is drawn, and names what to do instead

To migrate a LightGBM script:

  dpboost parity num_leaves bagging_fraction cv     look up names; aliases are known
  dpboost parity --config train.conf                look up a file of parameters, with its values
  dpboost parity --kind refused                     list what a script must leave out
  dpboost parity --figure                           compare the engine without noise to LightGBM

The comparison is the area under the ROC curve on synthetic rows, with equal trees: LightGBM,
LightGBM on the bins of dpboost, and recipe "seq" without noise. The last two should agree; any
further loss of a private model is due to noise.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.estimators.boosting_estimators import DPBoostClassifier
from dpboost.lightgbm.parameters import read_text
from dpboost.lightgbm.parity import KINDS, Row, lines, page, rows_about
from dpboost.lightgbm.treatments import is_neutral, treatment_of
from dpboost.training.privacy_params import NotPrivateWarning

#: Synthetic rows and trees of the comparison.
N_ROWS, N_FEATURES, HELD_OUT = 20_000, 6, 5_000
_DEPTH = 3
_TREES: dict[str, Any] = {
    "n_estimators": 200,
    "max_depth": _DEPTH,
    "learning_rate": 0.2,
    "reg_lambda": 1.0,
    "verbosity": -1,
}
_LIGHTGBM: dict[str, Any] = {"num_leaves": 2**_DEPTH, "min_child_samples": 1, "max_bin": 256}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dpboost parity``."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="parameters or functions")
    parser.add_argument("--kind", choices=KINDS, help="show only lines of this kind")
    parser.add_argument("--config", metavar="FILE", help="parameters of LightGBM, name = value")
    parser.add_argument(
        "--figure", action="store_true", help="compare the engine without noise to LightGBM"
    )


def run(options: argparse.Namespace) -> None:
    """Print the requested lines or the comparison."""
    if options.names:
        rows = [row for name in options.names for row in rows_about(name)]
        print("\n".join(lines(list(dict.fromkeys(rows)))))
    if options.config is not None:
        print("\n".join(lines(config_rows(Path(options.config)))))
    if options.figure:
        print(parity_figure())
    if not options.names and options.config is None and not options.figure:
        print(page(options.kind))


def config_rows(path: Path) -> list[Row]:
    """Return a row for each parameter of a file in the format of LightGBM's ``train.conf``."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        setting = line.partition("#")[0].strip()
        if not setting:
            continue
        name, sign, value = (part.strip() for part in setting.partition("="))
        if not sign:
            raise InvalidParameterError(
                f"The file {str(path)!r} has a line without '=': write one name = value a line."
            )
        (row, *_) = rows_about(name)
        neutral = is_neutral(read_text({name: value})[name], treatment_of(row.name).neutral)
        kind, note = ("holds", "has no effect") if neutral else (row.kind, row.note)
        found.append(Row(f"{name} = {value}", kind, note))
    if not found:
        raise InvalidParameterError(f"The file {str(path)!r} sets no parameter.")
    return found


def parity_figure() -> str:
    """Return the areas under the ROC curve on synthetic rows as lines of text."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N_ROWS, N_FEATURES))
    score = 3 * X[:, 0] + 2 * np.sin(4 * X[:, 1]) + 3 * X[:, 2] * X[:, 3]
    y = (score + rng.logistic(size=N_ROWS) > 0).astype(int)
    known, new = slice(HELD_OUT, None), slice(HELD_OUT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model = DPBoostClassifier(
            epsilon=math.inf,
            delta=0,
            recipe="seq",
            max_bin=255,
            schema={"bounds": dict.fromkeys(range(N_FEATURES), (-1, 1)), "classes": [0, 1]},
            **_TREES,
        ).fit(X[known], y[known])
    binner = model.ensemble_.binner
    bins = dense_matrix(read_table(X, schema=model.schema_).bins(binner)).T.astype(np.float64)
    found = {
        "LightGBM": _of_lightgbm(X, y, known)[new],
        "LightGBM on the same bins": _of_lightgbm(bins, y, known)[new],
        "dpboost, recipe='seq' without noise": model.predict_proba(X[new])[:, 1],
    }
    width = max(map(len, found))
    areas = {name: roc_auc_score(y[new], predicted) for name, predicted in found.items()}
    return "\n".join(f"{name:<{width}}  AUC {area:.4f}" for name, area in areas.items())


def _of_lightgbm(X: NDArray[np.float64], y: NDArray[np.int64], known: slice) -> NDArray[np.float64]:
    """Return LightGBM's predictions of all rows."""
    model = lightgbm.LGBMClassifier(**_TREES, **_LIGHTGBM)
    model.fit(X[known], y[known])
    return np.asarray(model.predict_proba(X))[:, 1]
