"""Files of every format that later versions have to read: ``python -m tests.stored``.

Written once for each version, into a folder of its name. Files of a version that was released are
never changed. ``python -m tests.stored names`` writes the names of a version that was not released
again, and the page that shows them.
"""

from __future__ import annotations

import json
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

import dpboost
from dpboost.federated import Agreement
from tests.stored import names as stored_names

FOLDER = Path(__file__).parent


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows from arithmetic alone."""
    i = np.arange(400)
    X = np.column_stack([i * 7919 % 100 / 100, i * 104729 % 37, i % 3]).astype(float)
    X[::17, 0] = np.nan
    return X, X[:, 1] / 10 + (X[:, 2] == 1)


def schema(**labels) -> dpboost.Schema:
    """Everything declared."""
    return dpboost.Schema(
        bounds={"share": (0, 1), "count": (0, 40)},
        categories={"kind": [0, 1, 2]},
        integer=["count"],
        **labels,
    )


def agreement() -> Agreement:
    """Terms of three parties, without anything fresh."""
    return Agreement(
        n_parties=3,
        features=("share", "count", "kind"),
        schema=schema(label_bounds=(0, 6)).to_dict(),
        task="regression",
        epsilon=Fraction(3, 2),
        delta=Fraction(1, 10**6),
        accountant="zCDP",
        hyper={"n_estimators": 5},
        public_seed=1,
        nonce="stored",
        date="2026-11-24",
    )


def write_names() -> None:
    """Write the names that this version promises, and the page of them."""
    text = json.dumps(stored_names.public_names(), indent=1)
    (FOLDER / dpboost.__version__ / "names.json").write_text(text + "\n")
    stored_names.PAGE.write_text(stored_names.page(), encoding="utf-8")


def main() -> None:
    """Write the files of this version."""
    folder = FOLDER / dpboost.__version__
    folder.mkdir()
    X, y = table()
    names = ["share", "count", "kind"]
    warnings.simplefilter("ignore")
    few = {"n_estimators": 5, "noise_seed": 1, "random_state": 1, "verbosity": -1, "n_jobs": 1}
    regressor = dpboost.DPBoostRegressor(epsilon=4.0, schema=schema(label_bounds=(0, 6)), **few)
    classifier = dpboost.DPBoostClassifier(
        epsilon=4.0, schema=schema(classes=["low", "high"]), **few
    )
    regressor.fit(X, y, feature_name=names)
    regressor.transcript_.save(folder / "regressor.transcript")
    classifier.fit(X, np.where(y > 2, "high", "low"), feature_name=names)
    predictions = {}
    for name, model in (("regressor", regressor), ("classifier", classifier)):
        model.booster_.save_model(folder / f"{name}.txt")
        predictions[name] = [float(value).hex() for value in model.booster_.predict(X)]
    (folder / "predictions.json").write_text(json.dumps(predictions) + "\n")
    (folder / "report.json").write_text(regressor.privacy_report_.to_json() + "\n")
    certificate = regressor.privacy_report_.certificate(model=regressor)
    (folder / "certificate.json").write_text(json.dumps(certificate, indent=1) + "\n")
    schema(label_bounds=(0, 6), max_rows=1000).to_json(folder / "schema.json")
    (folder / "dictionary.csv").write_text(
        "name,type,lower,upper,values,role\nshare,number,0,1,,\ncount,integer,0,40,,\n"
        "kind,category,,,0|1|2,\nwho,text,,,,user\nlevel,number,0,6,,target\n"
    )
    (folder / "agreement.json").write_text(agreement().to_json() + "\n")
    write_names()
    budget = dpboost.Budget(epsilon=2.0, delta=1e-6, table="stored")
    budget.save(folder / "stored.budget")
    private = dpboost.DPBoostRegressor(schema=regressor.schema, n_estimators=2, verbosity=-1)
    private.fit(X, y, budget=budget, fraction=0.25, feature_name=names)


if __name__ == "__main__":
    write_names() if sys.argv[1:] == ["names"] else main()
