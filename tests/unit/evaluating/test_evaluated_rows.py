"""What scores and labels are bounded by before anything is counted."""

from types import SimpleNamespace

import numpy as np

from dpboost.evaluating.evaluated_rows import predicted_rows, scored_rows
from dpboost.evaluating.score_bins import LARGEST_SCORE

ROWS = np.zeros((4, 1))
GROUPS = np.zeros(4, np.int64)


def test_labels_and_predictions_are_clipped_to_the_bounds():
    model = SimpleNamespace(
        schema_=SimpleNamespace(label_bounds=(-1.0, 3.0)),
        predict=lambda X: np.array([-9.0, 2.0, 1e30, np.nan]),
    )
    rows = predicted_rows(model, ROWS, [1e9, -1e9, 0.5, 3.0], 4, GROUPS)
    assert rows.labels.tolist() == [3.0, -1.0, 0.5, 3.0]
    assert rows.predictions.tolist() == [-1.0, 2.0, 3.0, 1.0]


def test_scores_of_certain_classes_are_finite():
    certain = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [np.nan, np.nan]])
    model = SimpleNamespace(classes_=np.array([0, 1]), predict_proba=lambda X: certain)
    with np.errstate(divide="ignore"):
        rows, known = scored_rows(model, ROWS, [0, 1, 1, 0], 4, GROUPS)
    assert rows.scores.tolist() == [[-LARGEST_SCORE, LARGEST_SCORE, 0.0, 0.0]]
    assert known.all()
