"""What estimators say of themselves."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpboost import DPBoostRegressor, check_constraints
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.table import read_table
from dpboost.explain.reasons import contributions
from tests.unit.explain.conftest import fitted, table

pytestmark = pytest.mark.filterwarnings("ignore")


def test_spreads_of_values_and_probabilities(model, classifier, of_three):
    X, _ = table(50, seed=3)
    spread = model.prediction_std(X)
    assert spread.shape == (50,)
    assert (spread > 0).all()
    of_two = classifier.prediction_std(X)
    assert of_two.shape == (50, 2)
    np.testing.assert_array_equal(of_two[:, 0], of_two[:, 1])
    assert (of_two < 0.5).all()
    assert of_three.prediction_std(X).shape == (50, 3)


def test_contributions_add_up(model, of_three):
    X, _ = table(20, seed=4)
    for own, outputs in ((model, 1), (of_three, 3)):
        ensemble = own.ensemble_
        rows = read_table(X, schema=own.schema_)
        raw = ensemble.predict_raw(rows).reshape(20, -1)
        means = own.explain(pairs=0).intercept
        for output in range(outputs):
            found, error = contributions(ensemble, rows.bins(ensemble.binner, 1), output)
            np.testing.assert_allclose(found.sum(axis=1) + means[output], raw[:, output], atol=1e-3)
            assert (error >= 0).all()


def test_reasons_are_the_largest_contributions(model):
    X, _ = table(6, seed=5)
    reasons = model.reason_codes(X, k=2)
    assert [len(row) for row in reasons] == [2] * 6
    for row in reasons:
        assert abs(row[0].contribution) >= abs(row[1].contribution)
        assert row[0].error > 0
        assert str(row[0]).startswith(row[0].name)
    assert len(model.reason_codes(X, k=99)[0]) == 4


def test_all_of_it_survives_a_pickle(model):
    X, _ = table(5)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.prediction_std(X), again.prediction_std(X))


def test_directions_are_explained_too():
    kept = fitted(monotone_constraints={"age": 1, "pay": -1})
    assert check_constraints(kept, {"age": 1, "pay": -1})
    explanation = kept.explain(pairs=1)
    assert (np.diff(explanation.shape("age").effect[0, :-1]) >= 0).all()
    assert (explanation.shape("age").error > 0).all()
    assert kept.prediction_std(table(5)[0]).shape == (5,)


def test_additive_models_have_no_pairs():
    assert fitted(max_interaction=1).explain().pairs == ()


def test_what_cannot_be_said_is_refused(model):
    X, y = table()
    longer = clone(model).fit(X, y, init_model=model)
    for call in (longer.explain, lambda: longer.prediction_std(X)):
        with pytest.raises(InvalidParameterError, match="continues another one"):
            call()
    splits = fitted(recipe="dpboost", epsilon=20, n_estimators=3)
    assert np.isnan(splits.explain().shapes[0].error).all()
    for call in (splits.prediction_std, splits.reason_codes):
        with pytest.raises(InvalidParameterError, match="use recipe='best'"):
            call(X)
    with pytest.raises(NotFittedError):
        DPBoostRegressor().explain()
    with pytest.raises(InvalidParameterError, match="'k' parameter"):
        model.reason_codes(X, k=0)
