"""Accuracy lost where rows stay with parties: ``python -m benchmarks.federated.accuracy``.

The same recipe and budget with all rows in one place, and with several parties whose shares of the
noise are for more and more colluders.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks._compat import import_pandas
from benchmarks.files import write_atomically
from benchmarks.problems import PROBLEMS
from dpboost import DPBoostClassifier
from dpboost.federated import FederatedBoostingClassifier

RESULTS = Path(__file__).parents[1] / "results"
EPSILON = 1.0
REPEATS = 3
TEST_SHARE = 0.2

#: Number of parties and of colluders; None is all rows in one place.
SETTINGS: tuple[tuple[int, int] | None, ...] = (None, (2, 1), (5, 1), (5, 2), (5, 4))


def auc(setting: tuple[int, int] | None, rows: Sequence[Any], schema: Any, seed: int) -> float:
    """Train on rows in one place, or dealt out to parties, and judge by held-out rows."""
    X, y, X_test, y_test = rows
    shared = {"epsilon": EPSILON, "schema": schema, "random_state": seed, "verbosity": 0}
    if setting is None:
        model = DPBoostClassifier(**shared).fit(X, y)
    else:
        n_parties, colluding = setting
        parts = [slice(part, None, n_parties) for part in range(n_parties)]
        model = FederatedBoostingClassifier(colluding=colluding, **shared).fit(
            [(X.iloc[part], y[part]) for part in parts]
        )
    return float(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))


def measure(problem: Any, repeats: int) -> dict[Any, list[float]]:
    """Return the AUC of every repeat by setting."""
    X, y = problem.load()
    labels = np.asarray(y)
    found: dict[Any, list[float]] = {setting: [] for setting in SETTINGS}
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(labels))
        test, train = np.split(order, [int(TEST_SHARE * len(labels))])
        rows = (X.iloc[train], labels[train], X.iloc[test], labels[test])
        for setting in SETTINGS:
            found[setting].append(auc(setting, rows, problem.dictionary.schema(), seed))
    return found


def page(name: str, found: dict[Any, list[float]]) -> str:
    """Write the table as Markdown."""
    repeats = len(next(iter(found.values())))
    lines = [
        f"# Accuracy of federated boosting: {name}",
        "",
        f"Written by `python -m benchmarks.federated.accuracy`: recipe best, epsilon {EPSILON:g}, "
        f"delta 1e-6, {repeats} repeats with other held-out rows ({TEST_SHARE:.0%}). Rows are "
        "dealt out evenly.",
        "",
        "| parties | colluders | share of the noise of each party | AUC | standard deviation |",
        "| ---: | ---: | --- | ---: | ---: |",
    ]
    for setting, values in found.items():
        mean, deviation = np.mean(values), np.std(values)
        who = "1 | - | all" if setting is None else f"{setting[0]} | {setting[1]} | "
        if setting is not None:
            honest = setting[0] - setting[1]
            who += "all" if honest == 1 else f"1/{honest}"
        lines.append(f"| {who} | {mean:.4f} | {deviation:.4f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write ``results/federated-<problem>.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.federated.accuracy")
    names = [name for name, problem in PROBLEMS.items() if problem.task == "binary"]
    parser.add_argument("problem", nargs="?", default="adult", choices=sorted(names))
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the page")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args(arguments)
    import_pandas()
    problem = PROBLEMS[given.problem]
    text = page(problem.name, measure(problem, given.repeats))
    write_atomically(given.folder / f"federated-{problem.name}.md", text.encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
