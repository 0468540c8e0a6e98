"""What leaves the process is a function of released values and public inputs.

Two fits on neighboring tables, one of which replays the outcomes of the other, must look the
same from outside: text, pickle, report, log, warnings, printed text, exceptions, importances,
predictions, SHAP values.
"""

from __future__ import annotations

import io
import logging
import warnings

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost._utils import progress
from dpboost.audit import estimator_fit, pair_of, replay_pair
from dpboost.audit.boosting_audit import ESTIMATORS, bank, estimator_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS

FORMS = {
    "model text",
    "dump",
    "report",
    "report fields",
    "pickle",
    "importance by split",
    "importance by gain",
    "predictions",
    "SHAP values",
    "attributes",
    "plain attributes",
    "warnings",
    "log",
    "output",
    "faults",
}


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("task", list(ESTIMATORS))
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_neighbors_look_the_same_once_their_releases_are(recipe, task, neighbors):
    shown = set()
    for witness in bank([task], [neighbors]):
        probe = witness.pair.X_other[:5]
        inner = estimator_fit(estimator_of(recipe, witness, 1.0), probe=probe)

        def fit(X, y, inner=inner):
            seen = inner(X, y)
            shown.update(seen)
            return seen

        audit = replay_pair(fit, witness.pair)
        assert audit.violations == (), witness
        assert audit.error == "", witness
    assert shown == FORMS


def test_pandas_and_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"size": [1.0, 2, 3, 4], "kind": pd.Categorical(list("abab"), categories=list("abc"))}
    )
    pair = pair_of(frame, np.array([0, 1, 0, 1]), (9.0, "c"), 1, Neighbors.ADD_REMOVE)
    make = lambda: DPBoostClassifier(n_estimators=3, random_state=0, n_jobs=1)  # noqa: E731
    audit = replay_pair(estimator_fit(make, probe=frame), pair)
    assert audit.violations == ()
    assert audit.error == ""


class ShownError(Exception):
    pass


def plain_pair():
    X, y = np.zeros((9, 1)), np.linspace(-1, 1, 9)
    return pair_of(X, y, X[0], 0.75, Neighbors.ADD_REMOVE)


def plain_fit(after):
    schema = {"bounds": {0: (0, 1)}, "label_bounds": (-1, 1)}
    inner = DPBoostRegressor(recipe="dpboost", schema=schema, n_estimators=2, max_depth=1, n_jobs=1)

    class Talks:
        def fit(self, X, y):
            inner.fit(X, y)
            after(X, y)
            return inner

    return estimator_fit(Talks, probe=np.zeros((2, 1)))


def raise_with_the_number_of_rows(X, y):
    raise ShownError(len(y))


@pytest.mark.parametrize(
    ("after", "where"),
    [
        (lambda X, y: print(len(y)), "output"),
        (lambda X, y: logging.getLogger("dpboost").debug("%d rows", len(y)), "log"),
        (lambda X, y: warnings.warn(f"mean {y.mean()}", stacklevel=2), "warnings"),
        (raise_with_the_number_of_rows, "exception"),
    ],
    ids=["output", "log", "warnings", "exception"],
)
def test_the_comparison_sees_what_is_told(after, where):
    audit = replay_pair(plain_fit(after), plain_pair())
    assert [(v.check, v.where) for v in audit.violations] == [("visible output", where)]
    assert replay_pair(plain_fit(lambda X, y: None), plain_pair()).violations == ()


def test_the_comparison_sees_private_attributes():
    def keep(X, y):
        kept.n_rows_ = len(y)

    schema = {"bounds": {0: (0, 1)}, "label_bounds": (-1, 1)}
    kept = None

    class Keeps:
        def fit(self, X, y):
            nonlocal kept
            kept = DPBoostRegressor(
                recipe="dpboost", schema=schema, n_estimators=1, max_depth=1, n_jobs=1
            ).fit(X, y)
            keep(X, y)
            return kept

    audit = replay_pair(estimator_fit(Keeps, probe=np.zeros((2, 1))), plain_pair())
    assert {violation.where for violation in audit.violations} == {"pickle", "plain attributes"}


def test_the_progress_bar_shows_tree_numbers_only(monkeypatch):
    """Shown at once and on a terminal, it is part of the printed text that is compared."""
    real = progress.tqdm
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(
        progress,
        "tqdm",
        lambda **options: real(**{**options, "disable": False, "file": screen, "mininterval": 0}),
    )
    texts = []

    def fit(X, y):
        nonlocal screen
        screen = io.StringIO()
        plain_fit(lambda X, y: None)(X, y)
        texts.append(screen.getvalue())
        return {"bar": texts[-1]}

    screen = io.StringIO()
    audit = replay_pair(fit, plain_pair())
    assert audit.violations == ()
    assert "1 of 2 rounds" in texts[0]
    assert "s/it" not in texts[0]
    assert "it/s" not in texts[0]
