"""Training with a dict of parameters."""

import copy

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost import Dataset, InvalidParameterError

pytestmark = pytest.mark.filterwarnings("ignore")

BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1))}
FAST = {"max_depth": 2, "n_jobs": 1, "verbosity": 0}
X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
Y = X[:, 0]


def train(params, labels=Y, n_rounds=3, **options):
    return dpboost.train(
        {"schema": BOUNDS, **FAST, **params}, Dataset(X, labels), n_rounds, **options
    )


@pytest.mark.parametrize(
    ("objective", "name"),
    [(None, "regression"), ("regression", "regression"), ("mse", "regression")],
)
def test_regressions(objective, name):
    booster = train({} if objective is None else {"objective": objective})
    assert booster.params["objective"] == (objective or name)
    assert f"objective={name}\n" in booster.model_to_string()
    assert booster.privacy_report.private


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (0, 3)])
def test_two_classes_are_told_apart_at_zero(labels):
    y = np.where(Y > 0, labels[1], labels[0])
    booster = train({"application": "binary", "epsilon": 100.0}, y, 40)
    assert booster.privacy_report.assumed_public == ("column types",)
    predicted = booster.predict(X)
    assert ((predicted > 0.5) == (Y > 0)).mean() > 0.8


def test_several_classes_are_counted_by_a_parameter():
    y = np.digitize(Y, [-0.3, 0.3])
    booster = train({"objective": "multiclass", "num_classes": 4}, y)
    assert booster.predict(X).shape == (300, 4)
    for n_classes in (None, 1, "three", True):
        with pytest.raises(InvalidParameterError, match="num_class"):
            train({"objective": "multiclass", "num_class": n_classes}, y)


@pytest.mark.parametrize("objective", ["multiclass", "softmax", "multiclassova"])
def test_two_classes_of_several_have_an_output_each(objective):
    labels = (Y > 0).astype(int)
    params = {"objective": objective, "num_class": 2, "metric": ["multi_logloss", "auc_mu"]}
    found = {}
    for library, more in ((lightgbm, {"verbosity": -1}), (dpboost, FAST)):
        log = {}
        train = library.Dataset(X, labels)
        valid = library.Dataset(X.copy(), labels.copy(), reference=train)
        booster = library.train(
            {**params, **more}, train, 4, [valid], callbacks=[lightgbm.record_evaluation(log)]
        )
        assert booster.num_trees() == 8
        assert booster.num_model_per_iteration() == 2
        found[library.__name__] = (booster.predict(X).shape, list(log["valid_0"]))
    assert found["dpboost"] == found["lightgbm"] == ((len(X), 2), ["multi_logloss", "auc_mu"])
    params = {**params, **FAST, "metric": "multi_logloss", "epsilon": 20.0}
    scores = dpboost.cv(params, dpboost.Dataset(X, labels), 4)
    assert any("multi_logloss" in name for name in scores)


@pytest.mark.parametrize("name", ["num_iterations", "n_iter", "num_trees", "n_estimators"])
def test_parameters_decide_the_number_of_rounds(name):
    assert train({name: 5}, n_rounds=3).num_trees() == 5
    assert train({}, n_rounds=4).num_trees() == 4


def test_the_recipe_decides_the_rounds_where_nobody_does():
    assert train({"recipe": "dpboost"}, n_rounds=None).num_trees() == 20


def test_early_stopping_may_be_a_parameter():
    with pytest.warns(dpboost.PublicRowsWarning):
        booster = train(
            {"early_stopping_rounds": 1, "epsilon": 0.1},
            n_rounds=300,
            valid_sets=Dataset(X[:50], Y[:50].copy()),
        )
    assert booster.current_iteration() == booster.best_iteration < 299


def test_what_the_estimator_trains_is_what_train_trains():
    params = {"noise_seed": 3, "learning_rate": 0.3, "epsilon": 2.0}
    with pytest.warns(dpboost.NotPrivateWarning):
        booster = train(params)
    model = dpboost.DPBoostRegressor(schema=BOUNDS, n_estimators=3, **FAST, **params)
    with pytest.warns(dpboost.NotPrivateWarning):
        model.fit(X, Y)
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))


def test_users_come_with_the_dataset():
    data = Dataset(X, Y, user_ids=np.arange(300) // 3)
    schema = {**BOUNDS, "label_bounds": (-1, 1)}
    booster = dpboost.train({"schema": schema, "rows_per_user": 2, **FAST}, data, 2)
    assert booster.privacy_report.rows_per_user == 2


def constructed():
    data = lightgbm.Dataset(X, Y, params={"verbose": -1})
    data.construct()
    return data


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dpboost.train("epsilon", Dataset(X, Y)), "'params'.*dict"),
        (lambda: dpboost.train(FAST, X), "only accepts Dataset.*ndarray"),
        (lambda: dpboost.train(FAST, Dataset(X)), "no labels"),
        (
            lambda: dpboost.train(FAST, Dataset(X, Y), valid_sets=[X]),
            "valid_sets must be.*Item 0 .*ndarray",
        ),
        (lambda: dpboost.train({"epsilom": 1}, Dataset(X, Y)), "'epsilom'.*'epsilon'"),
        (lambda: dpboost.train({"objective": "lambdarank"}, Dataset(X, Y)), "objective"),
        (lambda: dpboost.train(FAST, constructed()), "raw data"),
        (lambda: dpboost.train(FAST, Dataset(X, Y, weight=-np.ones(len(Y)))), "not be negative"),
    ],
)
def test_what_cannot_be_trained_is_refused(call, message, no_release):
    with pytest.raises(InvalidParameterError, match=message):
        call()


BOTH = pytest.mark.parametrize("library", [lightgbm, dpboost])
OWN = {"schema": {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-2, 2)}}


def trained(library, params=(), n_rounds=5, **options):
    given = {"verbosity": -1, "max_depth": 2, **dict(params)} | (OWN if library is dpboost else {})
    data = library.Dataset(X, Y, free_raw_data=False)
    if options.pop("judged", False):
        options["valid_sets"] = [library.Dataset(X[::3] * 0.9, -Y[::3], reference=data)]
    return library.train(given, data, n_rounds, **options)


@BOTH
def test_an_early_stopped_model_ends_with_its_best_iteration(library):
    stop = library.early_stopping(3, verbose=False)
    booster = trained(library, n_rounds=50, judged=True, callbacks=[stop])
    assert 0 < booster.best_iteration < 47
    assert booster.current_iteration() == booster.num_trees() == booster.best_iteration
    np.testing.assert_array_equal(
        booster.predict(X), booster.predict(X, num_iteration=booster.best_iteration)
    )


@BOTH
def test_the_model_holds_the_parameters_of_the_user(library):
    given = {"eta": "0.25", "num_leaves": 7, "reg_lambda": 4.0}
    booster = trained(library, given)
    for model in (booster, copy.deepcopy(booster) if library is dpboost else booster):
        assert {name: model.params[name] for name in given} == given


@BOTH
def test_what_a_callback_sets_stays_on_the_model(library):
    def mark(env):
        env.model.mark = ["seen", env.iteration]
        env.model.best_iteration = 2

    booster = trained(library, callbacks=[mark])
    assert booster.mark == ["seen", 4]
    assert booster.best_iteration == booster.num_trees() == 2


def squared(y_true, y_pred):
    return y_pred - y_true, np.ones(len(y_true))


def with_weights(y_true, y_pred, weight):
    factor = 1.0 if weight is None else weight
    return (y_pred - y_true) * factor, np.ones(len(y_true)) * factor


def with_groups(y_true, y_pred, weight, group):
    assert group is None
    return with_weights(y_true, y_pred, weight)


@BOTH
@pytest.mark.parametrize("function", [with_weights, with_groups])
def test_objectives_of_several_arguments(library, function):
    own = {**OWN, "gradient_bound": 4.0, "noise_seed": 1} if library is dpboost else {}
    predictions = [
        library.LGBMRegressor(objective=each, n_estimators=3, max_depth=2, verbosity=-1, **own)
        .fit(X, Y)
        .predict(X)
        for each in (squared, function)
    ]
    np.testing.assert_array_equal(*predictions)
    assert predictions[0].std() > 0


@BOTH
def test_metrics_of_several_arguments(library):
    public = X[::3] * 0.9, Y[::3]
    metrics = [
        lambda y, p: ("two", float(np.mean(y - p)), False),
        lambda y, p, weight: ("three", float(np.mean((y - p) * weight)), False),
        lambda y, p, weight, group: ("four", float(group is None), True),
    ]
    own = OWN if library is dpboost else {}
    model = library.LGBMRegressor(n_estimators=2, max_depth=2, verbosity=-1, **own)
    weights = [np.full(len(public[1]), 2.0)]
    model.fit(X, Y, eval_set=[public], eval_metric=metrics, eval_sample_weight=weights)
    found = model.evals_result_["valid_0"]
    assert {"two", "three", "four"} <= set(found)
    np.testing.assert_allclose(found["three"], np.multiply(found["two"], 2), rtol=1e-9)
    assert found["four"] == [1.0, 1.0]
