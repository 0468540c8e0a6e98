"""What LightGBM says of wrong arguments, under both imports."""

import inspect

import lightgbm
import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

import dpboost

BOTH = pytest.mark.parametrize("lgb", [lightgbm, dpboost], ids=lambda module: module.__name__)
X = np.random.default_rng(0).uniform(-1, 1, (100, 3))
Y = X[:, 0]
QUIET = {"verbosity": -1}
HAS_EVAL_X = "eval_X" in inspect.signature(lightgbm.LGBMRegressor.fit).parameters


def regressor(lgb):
    return lgb.LGBMRegressor(n_estimators=2, verbosity=-1)


def public():
    return X.copy(), Y.copy()


WRONG = {
    "no data set": (
        lambda lgb: lgb.train({}, []),
        TypeError,
        r"train\(\) only accepts Dataset object, train_set has type 'list'\.",
    ),
    "no data set in cv": (
        lambda lgb: lgb.cv({}, []),
        TypeError,
        r"cv\(\) only accepts Dataset object, train_set has type 'list'\.",
    ),
    "no data set among valid_sets": (
        lambda lgb: lgb.train(
            QUIET, lgb.Dataset(X, Y), 2, valid_sets=[lgb.Dataset(*public()), ([1], [2])]
        ),
        TypeError,
        r"Every item in valid_sets must be a Dataset object. Item 1 has type 'tuple'.",
    ),
    "no rounds": (
        lambda lgb: lgb.train(QUIET, lgb.Dataset(X, Y), num_boost_round=0),
        ValueError,
        r"Number of boosting rounds must be greater than 0. Got 0.",
    ),
    "less than no rounds in the parameters": (
        lambda lgb: lgb.train({"n_iter": -3} | QUIET, lgb.Dataset(X, Y)),
        ValueError,
        r"Number of boosting rounds must be greater than 0. Got -3.",
    ),
    "no number of classes": (
        lambda lgb: lgb.train({"objective": "multiclass"} | QUIET, lgb.Dataset(X, X[:, 0] > 0), 2),
        lightgbm.basic.LightGBMError,
        "Number of classes should be specified and greater than 1 for multiclass training",
    ),
    "an unknown objective": (
        lambda lgb: lgb.train({"objective": "foo"} | QUIET, lgb.Dataset(X, Y), 2),
        lightgbm.basic.LightGBMError,
        "Unknown objective type name: foo",
    ),
    "rounds of early stopping that are a text": (
        lambda lgb: lgb.train(
            {"early_stopping_round": "None"} | QUIET,
            lgb.Dataset(X, Y),
            2,
            valid_sets=lgb.Dataset(*public()),
        ),
        TypeError,
        "early_stopping_round should be an integer. Got 'str'",
    ),
    "a Booster of an array": (
        lambda lgb: lgb.Booster(train_set=X),
        TypeError,
        "Training data should be Dataset instance, met ndarray",
    ),
    "half of an evaluation set": (
        lambda lgb: regressor(lgb).fit(X, Y, eval_X=X.copy()),
        ValueError,
        "You must specify eval_X and eval_y, not just one of them.",
    ),
    "evaluation sets of both kinds": (
        lambda lgb: regressor(lgb).fit(X, Y, eval_set=[public()], eval_X=X.copy(), eval_y=Y.copy()),
        ValueError,
        "Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both.",
    ),
    "weights of evaluation sets in an array": (
        lambda lgb: regressor(lgb).fit(X, Y, eval_set=[public()], eval_sample_weight=np.ones(100)),
        TypeError,
        "eval_sample_weight should be dict or list",
    ),
}


@BOTH
@pytest.mark.parametrize("case", WRONG)
def test_errors_begin_as_lightgbms(lgb, case):
    call, kind, message = WRONG[case]
    if lgb is lightgbm and not HAS_EVAL_X and "eval_X" in message:
        pytest.skip("LightGBM 4.6 has no argument eval_X")
    with pytest.raises(kind, match=message):
        call(lgb)


@BOTH
def test_columns_of_one_name_get_a_prefix(lgb):
    names = ["a", "b", "a"]
    one = lgb.Dataset(X, Y, feature_name=["a", "b", "c"], free_raw_data=False).construct()
    for _ in range(2):
        other = lgb.Dataset(X, Y, feature_name=["a", "b", "d"], free_raw_data=False).construct()
        one.add_features_from(other)
    names = ["a", "b", "c", "D2_a", "D2_b", "d", "D3_a", "D3_b", "D2_d"]
    assert one.get_feature_name() == names


@BOTH
@pytest.mark.parametrize(
    ("n_classes", "names"),
    [(2, {"binary_logloss", "binary_error"}), (3, {"multi_logloss", "multi_error"})],
)
def test_short_names_of_metrics_of_classes(lgb, n_classes, names):
    y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes + 1)[1:-1])
    model = lgb.LGBMClassifier(n_estimators=2, verbosity=-1)
    model.fit(X, y, eval_set=[(X.copy(), y.copy())], eval_metric=["logloss", "error"])
    assert set(model.evals_result_["valid_0"]) == names


@BOTH
def test_an_objective_of_the_user_is_none_among_the_parameters(lgb):
    own = {"gradient_bound": 4.0} if lgb is dpboost else {}

    def squared(scores, dataset):
        return scores - dataset.get_label(), np.ones(len(scores))

    booster = lgb.train({"objective": squared, **own, **QUIET}, lgb.Dataset(X, Y), 2)
    assert booster.params["objective"] == "none"


def test_user_ids_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = dpboost.LGBMRegressor(n_estimators=2, rows_per_user=2, max_weight=1.0)
        model.set_fit_request(user_ids=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"max_depth": [1, 2]}, cv=2)
        search.fit(X, Y, user_ids=np.arange(100) // 2, sample_weight=np.ones(100))
    assert search.best_estimator_.privacy_report_.rows_per_user == 2
