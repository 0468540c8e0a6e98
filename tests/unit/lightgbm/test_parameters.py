"""Names of LightGBM, and which of two wins."""

import copy
import json
import pickle
import warnings

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError, ParameterWarning
from dpboost.lightgbm.parameters import canonical_names, check_names, read_text, resolve, value_of

pytestmark = pytest.mark.filterwarnings("ignore")

OWN = DPBoostRegressor().get_params()


def resolved(given=(), **extra):
    return resolve({**OWN, **dict(given)}, extra, defaults=OWN, owner="X")


def test_names_are_those_of_the_installed_lightgbm():
    names = canonical_names()
    assert len(set(names.values())) > 130
    assert names["eta"] == "learning_rate"
    assert names["n_iter_no_change"] == "early_stopping_round"


OF_NO_EFFECT = [
    ("num_leafs", " Did you mean 'num_leaf' or 'num_leaves'?"),
    ("learning_rat", " Did you mean 'learning_rate'?"),
    ("qqqqqq", ""),
]


@pytest.mark.parametrize(("name", "hint"), OF_NO_EFFECT)
def test_unknown_names_warn_and_have_no_effect(name, hint):
    message = f"{name} is an unknown parameter and has no effect.{hint}"
    assert check_names([name], OWN, "X") == [message]
    with pytest.warns(ParameterWarning) as caught:
        found = resolved(**{name: 3})
    assert [str(each.message) for each in caught] == [message]
    assert found == resolved()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("epsilonn", "epsilon"),
        ("eps", "epsilon"),
        ("target_epsilon", "epsilon"),
        ("privacy_budget", "epsilon"),
        ("noise_multiplier", "epsilon"),
        ("deltta", "delta"),
        ("row_per_user", "rows_per_user"),
        ("max_weights", "max_weight"),
        ("neighbours", "neighbors"),
        ("label_bounds", "schema"),
        ("label_bound", "schema"),
        ("bound", "schema"),
        ("clip_norm", "gradient_clip"),
    ],
)
def test_names_like_those_of_the_guarantee_are_errors(name, near):
    with pytest.raises(InvalidParameterError, match=f"'{name}'.*Did you mean '{near}'"):
        check_names([name], OWN, "X")


@pytest.mark.parametrize("name", ["user_ids", "budget", "fraction", "holdout"])
def test_arguments_of_fit_are_named_as_such(name):
    with pytest.raises(InvalidParameterError, match=rf"give it as fit\(\.\.\., {name}=") as caught:
        check_names([name], OWN, "X")
    assert "Did you mean" not in str(caught.value)


ACCEPTED = {
    "class_weight": None,
    "seed": -1,
    "random_state": -1,
    "max_delta_step": -1,
    "is_unbalance": True,
    "scale_pos_weight": 2,
    "num_machines": 2,
    "path_smooth": 1e308,
    "feature_contri": [1e9, 1.0],
    "num_class": 1,
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_lightgbm_trains_with_trains_here(name):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    fast = {"n_estimators": 2, "max_depth": 1, "n_jobs": 1, "min_child_samples": 1}
    stock = lightgbm.LGBMRegressor(**fast, verbosity=-1, **{name: ACCEPTED[name]})
    stock.fit(X, X[:, 0])
    model = DPBoostRegressor(**fast, **{name: ACCEPTED[name]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, X[:, 0])
    said = [str(each.message) for each in caught if name in str(each.message)]
    assert len(said) == (
        name not in ("class_weight", "seed", "random_state", "max_delta_step", "num_class")
    )
    assert np.isfinite(model.predict(X)).all()


def test_all_parameters_of_lightgbms_regressor_train():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    given = lightgbm.LGBMRegressor(n_estimators=3, max_depth=1).get_params()
    assert DPBoostRegressor(**given).fit(X, X[:, 0]).n_estimators_ == 3
    with pytest.raises(InvalidParameterError, match="a regression has none"):
        DPBoostRegressor(class_weight="balanced").fit(X, X[:, 0])


def test_values_that_lightgbm_accepts_are_capped_with_one_warning():
    with pytest.warns(ParameterWarning) as caught:
        found = resolve(
            OWN | {"learning_rate": 1.5, "max_depth": 20, "reg_lambda": 1e-8},
            {"num_trees": 10**6},
            defaults=OWN,
            owner="X",
            most_depth=12,
        ).arguments
    names = ("learning_rate", "max_depth", "reg_lambda", "n_estimators")
    assert [found[name] for name in names] == [1.0, None, 1e-6, 100_000]
    assert len(caught) == 1
    assert all(f"{name}=" in str(caught[0].message) for name in names)


@pytest.mark.parametrize("value", [0, -1, -7])
def test_depths_without_a_limit_are_those_of_the_recipe(value):
    with pytest.warns(ParameterWarning, match=f"max_depth={value}.*rule of the recipe"):
        assert resolved({"max_depth": value}).arguments["max_depth"] is None


STOCK = lightgbm.LGBMRegressor().get_params()


@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_defaults_are_those_of_lightgbm(estimator):
    own = estimator().get_params()
    shown = {name: value for name, value in STOCK.items() if name in own}
    assert set(STOCK) - set(shown) <= {"class_weight"}
    # Splits that are drawn at random say nothing: the released gain does.
    assert {name: own[name] for name in shown} == shown | {"importance_type": "gain"}
    assert repr(estimator()) == f"{estimator.__name__}()"
    given = estimator(n_estimators=100, learning_rate=0.05)
    assert repr(given) == f"{estimator.__name__}(learning_rate=0.05, n_estimators=100)"
    assert repr(clone(given)) == repr(given)
    assert str(estimator().n_estimators) == f"{estimator().n_estimators}" == "100"
    assert json.loads(json.dumps(own["n_estimators"])) == 100


COPIES = {
    "clone": clone,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "copy": copy.deepcopy,
    "parameters": lambda model: type(model)(**model.get_params()),
    "set": lambda model: type(model)(n_estimators=3).set_params(**model.get_params()),
}


@pytest.mark.parametrize("how", COPIES)
def test_a_default_differs_from_the_same_value_given(how):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    schema = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}
    rounds = []
    for options in ({}, {"n_estimators": 100}, {"num_iterations": 100}):
        model = DPBoostRegressor(schema=schema, n_jobs=1, verbosity=-1, max_depth=1, **options)
        again = COPIES[how](COPIES[how](model))
        assert again.get_params() == model.get_params()
        rounds.append(again.fit(X, X[:, 0]).n_estimators_)
    assert rounds[0] not in (None, 100)
    assert rounds[1:] == [100, 100]


def test_arguments_of_lightgbm_are_followed_where_they_are_given():
    given = {"boosting_type": "dart"}
    with pytest.raises(InvalidParameterError, match="'boosting_type'"):
        resolved(given)
    assert resolved({"colsample_bytree": 0.5}).fit == {"feature_fraction": 0.5}
    assert resolved({"colsample_bytree": 1.0}).fit == {"feature_fraction": 1.0}
    with pytest.warns(ParameterWarning, match="num_leaves=31 has no effect"):
        resolved({"num_leaves": 31})


def test_an_alias_sets_our_argument():
    found = resolved(eta=0.3, lambda_l2=5.0, nthread=2, verbose=-1, random_seed=7).arguments
    names = ("learning_rate", "reg_lambda", "n_jobs", "verbosity", "random_state")
    assert [found[name] for name in names] == [0.3, 5.0, 2, -1, 7]


def test_our_argument_wins_over_an_alias():
    with pytest.warns(ParameterWarning, match="eta=0.3 has no effect beside learning_rate=0.1"):
        found = resolved({"learning_rate": 0.1}, eta=0.3)
    assert found.arguments["learning_rate"] == 0.1
    assert resolved({"learning_rate": 0.1}, eta=0.1).arguments["learning_rate"] == 0.1


def test_the_main_name_wins_over_an_alias():
    with pytest.warns(ParameterWarning, match="num_trees=7"):
        found = resolved(num_trees=7, num_iterations=9)
    assert found.arguments["n_estimators"] == 9
    assert resolved(early_stopping=3, early_stopping_round=5).fit == {"early_stopping_round": 5}


def test_one_warning_names_all_that_has_no_effect():
    with pytest.warns(ParameterWarning) as caught:
        resolved(num_leaves=31, min_split_gain=0.5, device="cpu")
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "num_leaves=31" in message
    assert "min_split_gain=0.5" in message
    assert "device" not in message


def test_a_parameter_is_found_under_any_name():
    assert value_of({"num_classes": 3}, "num_class") == 3
    assert value_of({"num_classes": 3, "num_class": 4}, "num_class") == 4
    assert value_of({}, "num_class") is None


@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_the_warning_points_at_the_line_that_calls_fit(estimator):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    schema = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}
    model = estimator(schema=schema, n_estimators=2, max_depth=1, verbosity=0, num_leaves=3)
    with pytest.warns(ParameterWarning) as caught:
        model.fit(X, (X[:, 0] > 0).astype(int))
    assert caught[0].filename == __file__
    public = X[:5], np.array([0, 1, 0, 1, 1])
    with pytest.warns(UserWarning, match="assumed to be public") as caught:
        model.fit(X, (X[:, 0] > 0).astype(int), eval_set=[public])
    assert {warning.filename for warning in caught} == {__file__}


def test_parameters_of_lightgbm_are_parameters_of_the_estimator():
    model = DPBoostRegressor(num_leaves=7)
    assert model.get_params()["num_leaves"] == model.num_leaves == 7
    model.set_params(num_leaves=9, min_child_samples=5, epsilon=2.0)
    assert model.get_params()["num_leaves"] == 9
    assert model.min_child_samples == 5
    assert model.epsilon == 2.0
    assert "num_leaves=9" in repr(model)


def models(library, **params):
    """Train three rounds with a dict of parameters, reproducibly."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    own = {"schema": {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}, "noise_seed": 1}
    given = {"verbosity": -1} | params | (own if library is dpboost else {})
    booster = library.train(given, library.Dataset(X, X[:, 0]), 3)
    return booster.predict(X)


BOTH = pytest.mark.parametrize("library", [lightgbm, dpboost])


@BOTH
def test_parameters_may_be_written_out(library):
    written = {"learning_rate": "0.25", "max_depth": "2", "lambda_l2": "30.5", "max_bin": "31"}
    read = {"learning_rate": 0.25, "max_depth": 2, "lambda_l2": 30.5, "max_bin": 31}
    np.testing.assert_array_equal(models(library, **written), models(library, **read))
    assert np.any(models(library, **written) != models(library))


@BOTH
@pytest.mark.parametrize(
    ("several", "alone"),
    [
        ({"eta": 0.9, "learning_rate": 0.1}, {"learning_rate": 0.1}),
        ({"shrinkage_rate": 0.9, "eta": 0.1}, {"learning_rate": 0.1}),
        ({"eta": 0.1, "shrinkage_rate": 0.9}, {"learning_rate": 0.1}),
        ({"reg_lambda": 5.0, "lambda_l2": 50.0}, {"lambda_l2": 50.0}),
        ({"n_estimators": 5, "num_iterations": 2}, {"num_iterations": 2}),
        ({"num_boost_round": 5, "num_round": 4, "num_trees": 2}, {"num_trees": 4}),
    ],
)
def test_lightgbms_order_decides_between_names(library, several, alone):
    np.testing.assert_array_equal(models(library, **several), models(library, **alone))


def test_switches_and_numbers_are_read_and_other_text_stays():
    texts = {"a": "+", "b": "False", "c": " -3", "d": ".5", "e": "l2,l1", "f": "", "g": "1,2"}
    found = list(read_text(texts).values())
    assert found == [True, False, -3, 0.5, "l2,l1", "", "1,2"]
    assert [type(value) for value in found[:4]] == [bool, bool, int, float]


@BOTH
def test_more_bins_than_a_byte_holds_are_accepted(library):
    assert np.isfinite(models(library, max_bin=1000)).all()


def test_more_bins_than_a_byte_holds_count_as_that_many():
    with pytest.warns(ParameterWarning, match="max_bin=1000.*at most 255") as caught:
        found = resolved({"max_bin": 1000}).arguments
    assert found["max_bin"] == 255
    assert len(caught) == 1
    np.testing.assert_array_equal(models(dpboost, max_bin=1000), models(dpboost, max_bin=255))


CLASSES = {"schema": {"bounds": {0: (-1, 1), 1: (-1, 1)}, "classes": [0, 1]}}


@BOTH
def test_the_second_class_has_a_public_weight(library):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (2000, 2))
    y = (X[:, 0] > random.uniform(-1, 1.6, 2000)).astype(int)
    own = {"epsilon": 20.0, "noise_seed": 2, **CLASSES} if library is dpboost else {}
    options = {"n_estimators": 20, "max_depth": 2, "verbosity": -1, **own}
    means = [
        library.LGBMClassifier(**options, **weight).fit(X, y).predict_proba(X)[:, 1].mean()
        for weight in ({}, {"scale_pos_weight": 8.0}, {"class_weight": {1: 8.0}})
    ]
    assert means[1] > means[0] + 0.1
    if library is dpboost:  # LightGBM begins elsewhere with weights of classes
        assert means[1] == means[2]


def test_where_a_weight_of_the_second_class_has_no_meaning():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    y = (X[:, 0] > 0).astype(int)
    for model in (
        DPBoostRegressor(scale_pos_weight=2.0, objective="binary"),
        DPBoostClassifier(scale_pos_weight=2.0, is_unbalance=True, **CLASSES),
        DPBoostClassifier(scale_pos_weight=2.0, class_weight={1: 2.0}, **CLASSES),
        DPBoostClassifier(scale_pos_weight=-2.0, **CLASSES),
        DPBoostClassifier(scale_pos_weight=2.0, recipe="dpboost", **CLASSES),
        DPBoostClassifier(scale_pos_weight=2.0, schema={"classes": [0, 1, 2]}),
    ):
        with pytest.raises(InvalidParameterError, match="scale_pos_weight"):
            model.fit(X, y)
