"""Scores of rows before the first tree."""

import warnings

import numpy as np

from dpboost._utils.threads import Threads
from dpboost.losses import SquaredLoss
from dpboost.rows.boosting_state import INIT_LIMIT, BoostingState


def test_initial_scores_saturate_without_a_sign_of_it(layout):
    given = np.array([[0.25, 1e300, -1e300, np.inf, -np.inf]])
    loss = SquaredLoss.from_label_bounds(-1.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = BoostingState(
            np.zeros((3, given.shape[1]), dtype=np.uint8),
            np.zeros(given.shape[1], dtype=np.int64),
            np.ones(given.shape[1], dtype=bool),
            loss,
            layout,
            Threads(1),
            init_scores=given,
        )
    start = int(np.ravel(loss.start_units)[0])
    expected = [round(0.25 / loss.unit), INIT_LIMIT, -INIT_LIMIT, INIT_LIMIT, -INIT_LIMIT]
    assert (state.scores[0] - start).tolist() == expected
