"""Constraints read off model texts, against every row that a tree can tell apart."""

import itertools

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.constraint_check import check_constraints
from dpboost.lightgbm.model_text.read_trees import read_trees

pytestmark = pytest.mark.filterwarnings("ignore")

DIRECTIONS = {"a": 1, "b": -1, "c": 1}


def table(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n_rows, 4)).astype(np.float64)
    X[:, 3] = rng.integers(0, 4, n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    seen = np.nan_to_num(X)
    y = seen[:, 0] - seen[:, 1] + seen[:, 0] * (seen[:, 3] == 2) + 3 * rng.normal(size=n_rows)
    return X, y


def model(n_trees=6, **params):
    X, y = table()
    data = lightgbm.Dataset(X, y, feature_name=list("abcd"), categorical_feature=[3])
    params = {"verbosity": -1, "num_leaves": 8, "min_data_in_leaf": 5, **params}
    params |= {"min_data_per_group": 5, "cat_smooth": 1}
    return lightgbm.train(params, data, n_trees)


def monotone_by_force(booster, feature, direction, *, zero_missing=False):
    """Say whether every tree is monotone, by all rows that the integers tell apart."""
    values = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, np.nan]
    axes = [values, values, values, [0, 1, 2, 3, 9, np.nan]]
    own = [v for v in values if not np.isnan(v) and not (zero_missing and v == 0)]
    others = [axis for position, axis in enumerate(axes) if position != feature]
    rows = np.array(list(itertools.product(*others)))
    columns = [np.insert(rows, feature, value, axis=1) for value in own]
    for tree in range(booster.num_trees()):
        scores = [
            booster.predict(X, raw_score=True, start_iteration=tree, num_iteration=1)
            for X in columns
        ]
        if (direction * np.diff(scores, axis=0) < 0).any():
            return False
    return True


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("method", ["basic", "intermediate", "advanced", None])
def test_the_answer_is_that_of_all_rows(method, zero_as_missing):
    params = {"zero_as_missing": zero_as_missing}
    if method:
        params |= {"monotone_constraints": [1, -1, 0, 0], "monotone_constraints_method": method}
    booster = model(**params)
    found = check_constraints(booster, DIRECTIONS)
    expected = {
        name: monotone_by_force(booster, position, sign, zero_missing=zero_as_missing)
        for position, (name, sign) in enumerate(DIRECTIONS.items())
    }
    assert found.monotone == expected
    assert bool(found) == all(expected.values())


def test_some_models_pass_and_some_do_not():
    assert check_constraints(model(monotone_constraints=[1, -1, 0, 0]), {"a": 1, "b": -1})
    free = check_constraints(model(), {"a": 1, "b": -1})
    assert not free
    assert "not proved" in str(free)
    assert any("against the direction" in reason for reason in free.reasons)


def test_no_missing_values_means_that_nan_is_zero():
    booster = model(use_missing=False, monotone_constraints=[1, -1, 1, 0])
    assert check_constraints(booster, DIRECTIONS).monotone == {
        name: monotone_by_force(booster, position, sign)
        for position, (name, sign) in enumerate(DIRECTIONS.items())
    }


def test_groups():
    booster = model(interaction_constraints=[[0, 1], [2, 3]], n_trees=20)
    used = [set(tree.feature.tolist()) for tree in read_trees(booster.model_to_string()).trees]
    expected = all(own <= {0, 1} or own <= {2, 3} for own in used)
    assert check_constraints(booster, None, [[0, 1], [2, 3]]).interactions == expected
    assert check_constraints(booster, None, [["a", "b", "c", "d"]])
    assert not check_constraints(model(), None, [["a"], ["b"], ["c"], ["d"]])
    assert check_constraints(booster).interactions is None
    assert str(check_constraints(booster)) == "no constraints were given"


def test_what_is_not_a_number_is_not_proved():
    X, y = table()
    linear = lightgbm.train(
        {"verbosity": -1, "linear_tree": True}, lightgbm.Dataset(np.nan_to_num(X), y), 2
    )
    assert check_constraints(linear, [1, 0, 0, 0]).reasons[0].startswith("Column_0: a tree has lin")
    found = check_constraints(model(n_trees=20), {"d": 1})
    assert not found
    assert "by categories" in found.reasons[0]


def test_forms_of_a_model():
    booster = model(monotone_constraints=[1, 0, 0, 0])
    X, y = table()
    estimator = lightgbm.LGBMRegressor(
        monotone_constraints=[1, 0, 0, 0], n_estimators=3, verbosity=-1
    ).fit(np.nan_to_num(X), y)
    for form in (booster, booster.model_to_string(), estimator):
        assert check_constraints(form, [1, 0, 0, 0])
    for wrong in (None, 3, "tree\nthat is none"):
        with pytest.raises((InvalidParameterError, ValueError)):
            check_constraints(wrong, [1, 0, 0, 0])


def test_a_model_of_one_leaf_keeps_everything():
    X, y = table(n_rows=40)
    booster = lightgbm.train({"verbosity": -1, "min_data_in_leaf": 100}, lightgbm.Dataset(X, y), 2)
    assert check_constraints(booster, [1, -1, 1, 1], [[0]])


def test_it_is_at_the_root_of_the_package():
    assert dpboost.check_constraints is check_constraints
