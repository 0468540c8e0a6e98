"""Stock LightGBM, the reader that all others are compared with."""

import lightgbm
import numpy as np
import pytest
from scipy import sparse

from dpboost.data.table import read_table

pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


def test_stock_lightgbm_predicts_what_training_meant(case, tmp_path):
    """`lightgbm.Booster(model_file=...)`: the same doubles"""
    path = tmp_path / "model.txt"
    path.write_text(case.text)
    expected = case.ensemble.predict(read_table(case.X))
    assert len(np.unique(expected)) > 10
    for rows in (case.X, np.asfortranarray(case.X), sparse.csr_matrix(case.X)):
        np.testing.assert_array_equal(lightgbm.Booster(model_file=path).predict(rows), expected)


def test_contributions_add_up(case):
    """`predict(pred_contrib=True)`: contributions add up to the raw score"""
    raw = case.booster.predict(case.X, raw_score=True)
    contributions = case.booster.predict(case.X, pred_contrib=True)
    sums = contributions.reshape(len(case.X), -1, case.X.shape[1] + 1).sum(axis=2)
    np.testing.assert_allclose(sums.reshape(raw.shape), raw, rtol=0, atol=1e-12)
