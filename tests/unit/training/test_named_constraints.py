"""Constraints of whole fits: what is kept, and what is refused before anything is drawn."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import early_stopping, record_evaluation
from sklearn.base import clone

from dpboost import (
    Dataset,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    check_constraints,
    train,
)
from dpboost._utils.validation import InvalidParameterError
from dpboost.recipes.single_tree import TREE_ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": dict.fromkeys(range(4), (0, 1)), "label_bounds": (-2, 3)}
MONOTONE = [1, -1, 0, 0]
GROUPS = [[0, 1], [2, 3]]
COMMON = {"verbosity": 0, "random_state": 0, "noise_seed": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    seen = np.nan_to_num(X)
    return X, seen[:, 0] - seen[:, 1] + seen[:, 2] * seen[:, 3] + rng.normal(size=1500) * 0.3


@pytest.mark.parametrize("more", [{"delta": 1e-6}, {"delta": 0}, {"epsilon": float("inf")}])
def test_best_keeps_to_all_constraints(rows, more):
    model = DPBoostRegressor(
        schema=SCHEMA,
        n_estimators=40,
        monotone_constraints=MONOTONE,
        interaction_constraints=GROUPS,
        max_interaction=2,
        **COMMON,
        **more,
    ).fit(*rows)
    assert check_constraints(model, MONOTONE, GROUPS)
    facts = model.privacy_report_.facts
    assert facts["monotone_constraints"] == "1,-1,0,0"
    assert facts["interaction_constraints"] == "[0,1],[2,3]"
    # Sums of trees in order: on a grid, and for any value of the other features.
    X = np.random.default_rng(1).uniform(size=(50, 4))
    for feature, sign in ((0, 1), (1, -1)):
        steps = []
        for value in np.linspace(-0.2, 1.2, 40):
            X[:, feature] = value
            steps.append(model.predict(X))
        assert (sign * np.diff(steps, axis=0) >= 0).all()


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_private_splits_keep_to_all_constraints(rows, recipe):
    model = DPBoostRegressor(
        schema=SCHEMA,
        recipe=recipe,
        epsilon=20,
        n_estimators=6,
        monotone_constraints={"Column_0": 1, 1: -1},
        interaction_constraints="[0,1,3],[2,3]",
        max_interaction=2,
        **COMMON,
    ).fit(*rows)
    assert check_constraints(model, MONOTONE, [[0, 1, 3], [2, 3]])
    assert not check_constraints(model, None, [[0], [1], [2], [3]])


@pytest.mark.parametrize("most", [1, 2])
def test_additive_models(rows, most):
    model = DPBoostRegressor(schema=SCHEMA, n_estimators=30, max_interaction=most, **COMMON).fit(
        *rows
    )
    sizes = {len(np.unique(tree.feature)) for tree in model.ensemble_.trees}
    # The trees of a linear model have one feature each.
    assert sizes == {1, most}


def test_later_rounds_learn_what_order_has_taken_away():
    # Column 1 is a copy of column 0 with a little noise: a fall that is forbidden to the one can
    # be told by the other, where later rounds see that it is missing.
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 4))
    X[:, 1] = np.clip(X[:, 0] + 0.02 * rng.normal(size=len(X)), 0, 1)
    y = np.sin(6 * X[:, 0])
    given = {"schema": SCHEMA, "epsilon": 8, "delta": 1e-6, "verbosity": 0, "random_state": 0}

    def error(**more):
        model = DPBoostRegressor(**given, **more).fit(X, y)
        return np.sqrt(np.mean((model.predict(X) - y) ** 2))

    free, kept = error(), error(monotone_constraints=[1, 0, 0, 0])
    assert kept < free + 0.1 * np.std(y)


def test_evaluation_sees_the_corrections_and_early_stopping_keeps_order(rows):
    X, y = rows
    public = X[::3] + 0.0, y[::3] + 0.0
    scores = {}
    given = {
        "schema": SCHEMA,
        "epsilon": 20,
        "n_estimators": 40,
        "monotone_constraints": MONOTONE,
        **COMMON,
    }
    model = DPBoostRegressor(**given).fit(
        X, y, eval_set=[public], callbacks=[record_evaluation(scores)]
    )
    found = np.mean((model.predict(public[0]) - public[1]) ** 2)
    # The last projection alone lies between the last score and the model.
    assert scores["valid_0"]["l2"][-1] == pytest.approx(found, rel=0.1)
    model = DPBoostRegressor(**given).fit(
        X, y, eval_set=[public], callbacks=[early_stopping(1, verbose=False)]
    )
    assert check_constraints(model, MONOTONE)


def test_several_classes_are_monotone_in_scores(rows):
    X, y = rows
    model = DPBoostClassifier(
        schema={**SCHEMA, "label_bounds": None, "classes": [0, 1, 2]},
        n_estimators=20,
        monotone_constraints=MONOTONE,
        **COMMON,
    ).fit(X, np.digitize(y, [0.0, 0.6]))
    assert check_constraints(model, MONOTONE)


@pytest.mark.parametrize("recipe", sorted(TREE_ALGORITHMS))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_trees_keep_to_directions(rows, recipe, n_classes):
    X, y = rows
    labels = np.digitize(y, [0.3] if n_classes == 2 else [0.0, 0.6])
    schema = {"bounds": SCHEMA["bounds"], "classes": list(range(n_classes))}
    model = DPTreeClassifier(
        epsilon=2, recipe=recipe, schema=schema, monotone_constraints=MONOTONE, noise_seed=3
    ).fit(X, labels)
    assert check_constraints(model, MONOTONE)
    leaves = model.tree_.probability[~np.isnan(model.tree_.probability[:, 0])]
    shown = model.predict_proba(X)
    assert {tuple(np.round(p, 6)) for p in shown} <= {tuple(np.round(p, 6)) for p in leaves}


def test_train_takes_every_alias(rows):
    booster = train(
        {
            "mc": "1,-1,0,0",
            "interaction_constraints": "[0,1],[2,3]",
            "max_interaction": 1,
            "schema": SCHEMA,
            "verbosity": -1,
        },
        Dataset(*rows),
        10,
    )
    assert check_constraints(booster, MONOTONE, [[0], [1], [2], [3]])
    assert "[monotone_constraints: 1,-1,0,0]" in booster.model_to_string()


def test_parameters_are_those_of_the_estimator():
    given = {"monotone_constraints": {"age": 1}, "interaction_constraints": [["age"]]}
    model = clone(DPBoostRegressor(max_interaction=2, **given))
    assert model.get_params()["monotone_constraints"] == {"age": 1}
    assert model.get_params()["interaction_constraints"] == [["age"]]
    assert model.get_params()["max_interaction"] == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"monotone_constraints": [1, 0]}, "each of the 4 columns"),
        ({"monotone_constraints": {"wages": 1}}, "'wages', which X does not have"),
        ({"interaction_constraints": [[7]]}, "7, which X does not have"),
        ({"max_interaction": 4}, "at most 3"),
        ({"max_interaction": 1.5}, "an integer"),
    ],
)
def test_wrong_constraints_are_refused(rows, given, said):
    with pytest.raises(InvalidParameterError, match=said):
        DPBoostRegressor(schema=SCHEMA, **given).fit(*rows)


def test_a_direction_of_categories_is_refused(rows):
    X, y = rows
    frame = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(["a", "b"] * 750)})
    for model in (
        DPBoostRegressor(monotone_constraints={"town": 1}),
        DPTreeClassifier(monotone_constraints={"town": 1}, delta=1e-6),
    ):
        with pytest.raises(InvalidParameterError, match="'town', whose values are categories"):
            model.fit(frame, (y > 0).astype(int))


def test_what_is_continued_must_keep_to_them_too(rows):
    free = DPBoostRegressor(schema=SCHEMA, n_estimators=20, **COMMON).fit(*rows)
    kept = DPBoostRegressor(
        schema=SCHEMA, n_estimators=20, monotone_constraints=MONOTONE, **COMMON
    ).fit(*rows)
    with pytest.raises(InvalidParameterError, match="keep to the constraints of this one"):
        clone(kept).fit(*rows, init_model=free)
    assert check_constraints(clone(kept).fit(*rows, init_model=kept), MONOTONE)
