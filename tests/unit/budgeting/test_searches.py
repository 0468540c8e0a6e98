"""Bounds of columns follow a selection of scikit-learn, by position and by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, RFECV, SequentialFeatureSelector

import dpboost
from dpboost import DPBoostRegressor

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(0, 1, (2000, 4)) * [1, 10, 100, 1000]
Y = X[:, 2] / 100
FRAME = pd.DataFrame(X, columns=["a", "b c", "d", "e"])
RANGES = [(0, 1), (0, 10), (0, 100), (0, 1000)]
SELECTIONS = {
    "RFE": lambda own: RFE(own, n_features_to_select=2),
    "RFECV": lambda own: RFECV(own, cv=2, min_features_to_select=2),
    "SequentialFeatureSelector": lambda own: SequentialFeatureSelector(
        own, n_features_to_select=1, cv=2
    ),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", SELECTIONS)
def test_bounds_stay_with_their_columns(name, named, monkeypatch):
    seen = []
    fit = DPBoostRegressor._fit

    def watched(self, rows, options):
        fit(self, rows, options)
        highest = np.asarray(rows.X).max(axis=0)
        seen.append([self.schema_.bounds[place][1] for place in range(len(highest))])
        assert all(most / 2 < found <= most for most, found in zip(seen[-1], highest, strict=True))

    monkeypatch.setattr(DPBoostRegressor, "_fit", watched)
    keys = FRAME.columns if named else range(4)
    schema = {"bounds": dict(zip(keys, RANGES, strict=True)), "label_bounds": (0, 1)}
    own = DPBoostRegressor(schema=schema, n_estimators=20, epsilon=8.0, verbosity=-1, n_jobs=1)
    selection = SELECTIONS[name](own).fit(FRAME if named else X, Y)
    assert selection.support_[2]
    assert len({len(bounds) for bounds in seen}) > 1 or name == "SequentialFeatureSelector"
    assert own.schema == schema
    if name == "RFE":
        best = selection.estimator_
        kept = [RANGES[place][1] for place in np.flatnonzero(selection.support_)]
        assert [best.schema_.bounds[place][1] for place in range(2)] == kept
        monkeypatch.undo()
        text = dpboost.replay(best.transcript_).booster_.model_to_string()
        assert text == best.booster_.model_to_string()


def test_of_columns_keeps_what_is_left():
    schema = dpboost.Schema(
        bounds={0: (0, 1), 2: (0, 3)}, categories={3: ("x",)}, integer=[1, 2], label_bounds=(0, 1)
    )
    found = schema.of_columns([1, 2], ())
    assert found == dpboost.Schema(bounds={1: (0, 3)}, integer=[0, 1], label_bounds=(0, 1))
    named = dpboost.Schema(bounds={"b c": (0, 1), "a": (0, 2)}).of_columns([1], ["a", "b c"])
    assert named == dpboost.Schema(bounds={0: (0, 1)})
