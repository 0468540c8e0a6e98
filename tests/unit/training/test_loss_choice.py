"""What is released before the first tree: more of the budget for the start where rows are few."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor

X = np.random.default_rng(0).uniform(size=(4000, 2))
BOUNDS = {"bounds": dict.fromkeys(range(2), (0.0, 1.0))}
FAST = {"delta": 1e-5, "n_estimators": 2, "n_jobs": 1, "verbosity": -1, "random_state": 0}


def classifier(n_rows, epsilon, classes=(0, 1), **fit):
    schema = {**BOUNDS, "classes": list(classes)}
    y = np.where(X[:n_rows, 0] < 0.2, classes[1], classes[0])
    return DPBoostClassifier(epsilon=epsilon, schema=schema, **FAST).fit(X[:n_rows], y, **fit)


def regressor(n_rows, epsilon, **options):
    schema = {**BOUNDS, "label_bounds": (0.0, 1.0)}
    model = DPBoostRegressor(epsilon=epsilon, schema=schema, **{**FAST, **options})
    return model.fit(X[:n_rows], X[:n_rows, 0])


def starts(model):
    (line,) = [one for one in model.privacy_report_.releases if one.label == "start value"]
    return line.releases, float(line.share)


@pytest.mark.parametrize("fit", [classifier, regressor])
def test_few_rows_spend_more_on_the_start_value(fit):
    few, many = fit(200, 0.2), fit(4000, 8.0)
    assert starts(few)[0] == 2
    # The released number of rows decides, which noise may make three times as large.
    assert np.median([starts(fit(200, 0.2))[1] for _ in range(9)]) > 0.3
    assert starts(many)[0] == 1
    assert starts(many)[1] < 0.05
    for model in (few, many):
        assert model.privacy_report_.spent == model.privacy_report_.capacity


def test_pure_epsilon_and_several_classes_do_so_too():
    assert starts(regressor(200, 0.2, delta=0.0))[0] == 2
    assert starts(classifier(200, 0.2, classes=(0, 1, 2)))[0] == 2


def test_a_given_start_is_not_asked_for_again():
    assert starts(classifier(200, 0.2, init_score=np.zeros(200)))[0] == 1


def test_shares_of_few_rows_are_not_far_off():
    """One row in five is of the second class; the start alone is noise of about the rows."""
    predicted = [classifier(500, 0.1).predict_proba(X)[:, 1].mean() for _ in range(9)]
    assert 0.1 < np.median(predicted) < 0.4
