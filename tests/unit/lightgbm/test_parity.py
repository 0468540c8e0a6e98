"""Each row of the parity table, at work."""

import copy
import json
import pickle
import warnings

import lightgbm
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError, ParameterWarning
from dpboost.lightgbm.parameters import canonical_names, resolve
from dpboost.lightgbm.parity import KINDS, SURFACE, page, parameter_rows, rows_about
from dpboost.lightgbm.treatments import TREATMENTS, treatment_of

FAST = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1, "verbosity": 0}
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-2, 2)}
OWN = DPBoostRegressor().get_params()
CANONICAL = sorted(set(canonical_names().values()))


def rows(seed=0, n_rows=200):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n_rows, 3))
    return X, X[:, 0] - X[:, 1]


X, Y = rows()
X_PUBLIC, Y_PUBLIC = rows(1)
PARAMS = {"schema": BOUNDS, "max_depth": 2, "n_jobs": 1, "verbosity": 0}


def fitted(**options):
    return DPBoostRegressor(schema=BOUNDS, **FAST).fit(X, Y, **options)


def train(n_rounds=3, **options):
    params = options.pop("params", PARAMS)
    return dpboost.train(params, dpboost.Dataset(X, Y), n_rounds, **options)


def public():
    return dpboost.Dataset(X_PUBLIC, Y_PUBLIC)


# -- parameters -----------------------------------------------------------------------------------


def asking_for_something(name):
    """Return a value of a parameter that asks for something."""
    values = {"monotone_constraints": [1, 0, 0], "boosting": "dart", "device_type": "gpu"}
    return values.get(name, "goss" if name == "data_sample_strategy" else 0.37)


def resolved(**extra):
    return resolve(OWN, extra, defaults=OWN, owner="X")


@pytest.mark.parametrize(
    ("params", "instead"),
    [
        ({"boosting": "dart"}, "smaller learning_rate"),
        ({"boosting_type": "rf"}, "trees_per_ensemble=n_estimators"),
        ({"boosting": "goss"}, "recipe='dpboost'"),
        ({"data_sample_strategy": "goss"}, "recipe='dpboost'"),
        ({"forcedsplits_filename": "splits.json"}, "Budget.disjoint"),
        ({"forcedbins_filename": "bins.json"}, r"Schema\(edges="),
        ({"max_bin_by_feature": [3, 5, 7]}, r"Schema\(edges="),
        ({"use_missing": False}, r"X.fillna\(0\)"),
    ],
)
def test_a_refusal_names_parameter_value_and_another_way(params, instead, no_release):
    ((name, value),) = params.items()
    with pytest.raises(InvalidParameterError, match=instead) as raised:
        train(params={**PARAMS, **params})
    assert repr(name) in str(raised.value)
    assert repr(value) in str(raised.value)


def test_the_slope_of_the_sigmoid_changes_no_probability():
    params = {"objective": "binary", "schema": {**BOUNDS, "label_bounds": None}, "noise_seed": 0}
    data = dpboost.Dataset(X, (Y > 0).astype(int))
    with pytest.warns(dpboost.NotPrivateWarning):
        plain = dpboost.train(params, data, 3)
    with pytest.warns(ParameterWarning, match="probabilities are the same"):
        steep = dpboost.train({**params, "sigmoid": 2.0}, data, 3)
    np.testing.assert_array_equal(steep.predict(X), plain.predict(X))


def test_the_table_has_every_parameter_of_lightgbm():
    assert set(CANONICAL) <= set(TREATMENTS)
    assert [row.name for row in parameter_rows()] == CANONICAL


@pytest.mark.parametrize("name", CANONICAL)
def test_parameters_are_treated_as_the_table_says(name):
    treatment = TREATMENTS[name]
    value = asking_for_something(name)
    aliases = [alias for alias, canonical in canonical_names().items() if canonical == name]
    for alias in aliases:
        if alias in OWN:
            continue
        elsewhere = treatment.kind == "argument" and treatment.argument not in OWN
        if treatment.kind == "ignored" or elsewhere or name == "scale_pos_weight":
            with pytest.warns(ParameterWarning, match=f"{alias}=.*no effect"):
                resolved(**{alias: value})
        elif treatment.kind == "refused":
            with pytest.raises(InvalidParameterError, match=f"'{alias}' parameter of X"):
                resolved(**{alias: value})
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = resolved(**{alias: value})
            if treatment.kind == "argument":
                assert result.arguments[treatment.argument] == value
            if treatment.kind == "fit":
                assert result.fit == {name: value}


@pytest.mark.parametrize("name", [name for name in CANONICAL if TREATMENTS[name].neutral])
def test_values_that_ask_for_nothing_are_silent(name):
    treatment = TREATMENTS[name]
    if treatment.kind == "argument" and "rule of the recipe" in treatment.note:
        with pytest.warns(ParameterWarning, match="rule of the recipe"):
            result = resolve(
                {**OWN, treatment.argument: treatment.neutral[0]}, {}, defaults=OWN, owner="X"
            )
        assert result.arguments[treatment.argument] is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in treatment.neutral:
            resolved(**{name: value})


def test_a_parameter_of_a_newer_lightgbm_is_ignored():
    assert treatment_of("not_there_yet").kind == "ignored"


def test_the_page_has_all_rows_or_those_of_a_kind():
    whole = page()
    for row in (*SURFACE, *parameter_rows()):
        assert row.kind in KINDS
        assert any(row.name in line and row.kind in line for line in whole.splitlines())
    refused = page("refused").splitlines()
    assert {line.split("  ")[0] for line in refused} >= {"cv(fpreproc=...)", "linear_tree"}
    assert "num_leaves" not in page("refused")
    assert page("holds").splitlines()[0] == "Parameters"


def test_rows_are_found_under_any_name():
    (row,) = rows_about("sub_row")
    assert row.name == "bagging_fraction"
    assert {row.name for row in rows_about("cv")} >= {"cv", "cv(folds=...)"}
    with pytest.raises(InvalidParameterError, match="'num_leafs'.*Did you mean 'num_leaf"):
        rows_about("num_leafs")


# -- functions, arguments and attributes ----------------------------------------------------------


def is_refused(call, message):
    with pytest.raises((InvalidParameterError, lightgbm.basic.LightGBMError), match=message):
        call()


def is_public(call):
    with pytest.warns(dpboost.PublicRowsWarning):
        return call()


def a_train():
    assert train().privacy_report.private


def a_valid_set():
    booster = is_public(lambda: train(valid_sets=[public()], valid_names=["mine"]))
    assert set(booster.best_score) == {"mine"}
    assert booster.privacy_report.facts["taken as public"] == "the evaluation rows mine"


def the_train_set_as_valid_set():
    data = dpboost.Dataset(X, Y)
    for same in (data, dpboost.Dataset(X, Y)):
        with pytest.warns(dpboost.SkippedRowsWarning):
            booster = dpboost.train(PARAMS, data, 3, valid_sets=[same], valid_names=["mine"])
        assert np.isnan(booster.best_score["mine"]["l2"])


def training_rows_of_fit():
    with pytest.warns(dpboost.SkippedRowsWarning):
        model = fitted(eval_set=[(X, Y)])
    assert np.isnan(model.evals_result_["training"]["l2"]).all()


def a_feval():
    seen = []

    def largest(predictions, dataset):
        seen.append(dataset.get_label())
        return "largest", float(np.abs(predictions - dataset.get_label()).max()), False

    booster = is_public(lambda: train(valid_sets=public(), feval=largest))
    expected = np.abs(booster.predict(X_PUBLIC) - Y_PUBLIC.astype(np.float32)).max()
    assert booster.best_score["valid_0"]["largest"] == pytest.approx(expected)
    assert len(seen) == 3


def a_kept_booster():
    booster = is_public(lambda: train(keep_training_booster=True, valid_sets=public()))
    ((name, metric, value, higher),) = booster.eval_valid()
    assert (name, metric, higher) == ("valid_0", "l2", False)
    assert value == pytest.approx(booster.best_score["valid_0"]["l2"])
    is_refused(booster.update, "accounting")


def a_cv():
    results = dpboost.cv(PARAMS, dpboost.Dataset(X, Y), 3, nfold=2)
    assert {name: len(each) for name, each in results.items()} == {
        "valid l2-mean": 3,
        "valid l2-stdv": 3,
    }


def folds_of_cv():
    data = dpboost.Dataset(X, Y)
    with pytest.warns(ParameterWarning, match="to 2 folds at random, in secret"):
        dpboost.cv(PARAMS, data, 3, folds=KFold(2))
    is_refused(lambda: dpboost.cv(PARAMS, data, 3, folds=GroupKFold(2)), "folds")


def training_rows_of_cv():
    results = dpboost.cv(PARAMS, dpboost.Dataset(X, Y), 3, nfold=2, eval_train_metric=True)
    assert np.isnan(results["train l2-mean"]).tolist() == [True] * 3


def a_feval_of_cv():
    results = dpboost.cv(
        PARAMS, dpboost.Dataset(X, Y), 3, nfold=2, feval=lambda p, d: ("one", 1.0, True)
    )
    assert np.isnan(results["valid one-mean"]).tolist() == [True] * 3


def refused_in_cv(**option):
    return lambda: is_refused(
        lambda: dpboost.cv(PARAMS, dpboost.Dataset(X, Y), 3, **option), next(iter(option))
    )


def a_dataset():
    data = dpboost.Dataset(X, Y)
    assert data.construct() is data
    assert data.get_data() is X
    assert data.get_field("label").dtype == np.float32


def stops_early():
    booster = is_public(
        lambda: train(
            200, valid_sets=public(), callbacks=[dpboost.early_stopping(2, verbose=False)],
            params={**PARAMS, "epsilon": 0.1},
        )
    )  # fmt: skip
    report = booster.privacy_report
    assert booster.current_iteration() == booster.best_iteration < 198
    assert report.facts["ended early"].startswith(f"after {booster.best_iteration + 2} of 200")
    assert report.epsilon_spent < report.epsilon


def logs(capsys):
    is_public(lambda: train(valid_sets=public(), callbacks=[dpboost.log_evaluation(1)]))
    assert "[3]\tvalid_0's l2" in capsys.readouterr().out


def records():
    seen = {}
    is_public(lambda: train(valid_sets=public(), callbacks=[dpboost.record_evaluation(seen)]))
    assert len(seen["valid_0"]["l2"]) == 3


def resets_the_learning_rate():
    halves = dpboost.reset_parameter(learning_rate=[0.5, 0.25, 1e-9])
    seeded = {**PARAMS, "noise_seed": 0, "learning_rate": 0.5}
    with pytest.warns(dpboost.NotPrivateWarning):
        whole, halved = train(params=seeded), train(params=seeded, callbacks=[halves])
    first = [each.predict(X, raw_score=True, num_iteration=1) for each in (whole, halved)]
    np.testing.assert_array_equal(first[0], first[1])
    leaves = [
        each.trees_to_dataframe().query("tree_index == 2")["value"] for each in (whole, halved)
    ]
    assert leaves[0].abs().max() > 0
    assert leaves[1].abs().max() < 1e-6


def resets_what_is_fixed():
    with pytest.warns(ParameterWarning, match=r"reset_parameter\(max_depth=1\) has no effect"):
        assert train(callbacks=[dpboost.reset_parameter(max_depth=[1, 2, 3])]).num_trees() == 3


def fit_options():
    model = is_public(
        lambda: fitted(
            eval_set=[(X_PUBLIC, Y_PUBLIC)],
            eval_names=["mine"],
            eval_metric=["l1", lambda y, p: ("worst", float(np.max(np.abs(y - p))), False)],
            eval_sample_weight=[np.ones(len(Y_PUBLIC))],
        )
    )
    assert list(model.evals_result_["mine"]) == ["l1", "l2", "worst"]
    return model


def named_columns():
    model = fitted(feature_name=["a", "b", "c"])
    assert model.feature_name_ == ["a", "b", "c"]
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def categorical_columns():
    codes = X.copy()
    codes[:, 2] = np.arange(len(X)) % 4
    labels = np.where(codes[:, 2] == 2, 1.5, -1.5)
    schema = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-2, 2)}
    options = {"schema": schema, "epsilon": 200.0, "n_estimators": 100, "n_jobs": 1, "verbosity": 0}
    with pytest.warns(dpboost.UndeclaredWarning, match="categories"):
        model = DPBoostRegressor(**options).fit(codes, labels, categorical_feature=[2])
    assert sorted(model.schema_.categories[2]) == [0, 1, 2, 3]
    assert model.predict(codes[2:3]) > model.predict(codes[1:2]) + 0.3
    is_refused(
        lambda: DPBoostRegressor(**options).fit(codes, labels, categorical_feature=["d"]), "'d'"
    )


def one_users_rows():
    model = DPBoostRegressor(schema=BOUNDS, rows_per_user=2, **FAST)
    model.fit(X, Y, user_ids=np.arange(len(X)) // 5)
    assert model.privacy_report_.rows_per_user == 2


def a_part_of_the_rounds():
    model = fitted()
    parts = [
        model.predict(X, start_iteration=start, num_iteration=n) for start, n in ((0, 1), (1, 2))
    ]
    np.testing.assert_allclose(sum(parts), model.predict(X), rtol=1e-12, atol=1e-12)


def works_in_a_grid():
    model = DPBoostRegressor(schema=BOUNDS, num_leaves=7, **FAST)
    search = GridSearchCV(model, {"num_leaves": [7, 15], "learning_rate": [0.1]}, cv=2)
    with pytest.warns(ParameterWarning):
        search.fit(X, Y)
    assert search.best_params_["num_leaves"] in (7, 15)


def travels():
    joblib = pytest.importorskip("joblib")
    model = DPBoostRegressor(schema=BOUNDS, num_leaves=7, **FAST)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).num_leaves == 7
    with pytest.warns(ParameterWarning):
        model.fit(X, Y)
    expected = model.predict(X)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(X), expected)
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict)(X) for _ in range(2))
    np.testing.assert_array_equal(there[1], expected)


def is_routed():
    with config_context(enable_metadata_routing=True):
        model = DPBoostRegressor(schema=BOUNDS, rows_per_user=1, **FAST)
        pipeline = make_pipeline(
            StandardScaler().set_output(transform="pandas"), model.set_fit_request(user_ids=True)
        )
        pipeline.fit(X, Y, user_ids=np.arange(len(X)))
    assert pipeline[-1].privacy_report_.rows_per_user == 1
    assert list(pipeline[-1].feature_names_in_) == ["x0", "x1", "x2"]


def draws(plot):
    def test():
        pytest.importorskip("matplotlib").use("Agg")
        assert plot(fit_options()) is not None

    return test


def digraph():
    pytest.importorskip("graphviz")
    assert "leaf" in str(dpboost.create_tree_digraph(fitted(), show_info=["leaf_count"]))


def tree_plot():
    pytest.importorskip("matplotlib").use("Agg")
    graphviz = pytest.importorskip("graphviz")
    try:
        assert dpboost.plot_tree(fitted()) is not None
    except graphviz.ExecutableNotFound:
        pytest.skip("the program 'dot' is not installed")


def shape_of(expected, **options):
    def test():
        assert fitted().predict(X, **options).shape == expected

    return test


def raw_scores():
    model = DPBoostClassifier(schema={"bounds": BOUNDS["bounds"]}, **FAST).fit(X, Y > 0)
    raw = model.predict(X, raw_score=True)
    np.testing.assert_allclose(1 / (1 + np.exp(-raw)), model.predict_proba(X)[:, 1])


def of_lightgbm():
    model = fitted()
    np.testing.assert_array_equal(model.to_lightgbm().predict(X), model.predict(X))


def importances():
    model = fitted()
    frame = model.booster_.trees_to_dataframe()
    splits = model.booster_.feature_importance("split")
    assert splits.sum() == frame["split_feature"].notna().sum() > 0
    assert model.feature_importances_.sum() == pytest.approx(frame["split_gain"].sum(), rel=1e-5)


def a_session():
    booster = dpboost.Booster(PARAMS, dpboost.Dataset(X, Y))
    booster.update()
    booster.update()
    assert booster.rollback_one_iter().update() is False
    assert booster.num_trees() == 2
    spent = booster.privacy_report.epsilon_spent
    assert booster.rollback_one_iter().num_trees() == 1
    assert booster.privacy_report.epsilon_spent == spent


def best_scores():
    assert list(fit_options().best_score_["mine"]) == ["l1", "l2", "worst"]


TESTS = {
    "train": a_train,
    "train(valid_sets=...)": a_valid_set,
    "train(valid_sets=[train_set])": the_train_set_as_valid_set,
    "train(feval=...)": a_feval,
    "train(keep_training_booster=True)": a_kept_booster,
    "cv": a_cv,
    "cv(folds=...)": folds_of_cv,
    "cv(feval=...)": a_feval_of_cv,
    "cv(fpreproc=...)": refused_in_cv(fpreproc=lambda train, test, params: (train, test, params)),
    "cv(eval_train_metric=True)": training_rows_of_cv,
    "Dataset": a_dataset,
    "Dataset(group=...)": lambda: is_refused(lambda: dpboost.Dataset(X, Y, group=[200]), "ranking"),
    "Dataset.save_binary": lambda: is_refused(
        lambda: dpboost.Dataset(X, Y).save_binary("x"), "binary"
    ),
    "early_stopping": stops_early,
    "log_evaluation": logs,
    "record_evaluation": records,
    "reset_parameter(learning_rate=...)": resets_the_learning_rate,
    "reset_parameter(max_depth=...)": resets_what_is_fixed,
    "reset_parameter(objective=...)": lambda: is_refused(
        lambda: train(callbacks=[dpboost.reset_parameter(objective=["l1"] * 3)]), "objective"
    ),
    "fit(eval_set=...)": fit_options,
    "fit(eval_set=[(X, y)])": training_rows_of_fit,
    "fit(eval_metric=...)": fit_options,
    "fit(feature_name=...)": named_columns,
    "fit(categorical_feature=...)": categorical_columns,
    "fit(user_ids=...)": one_users_rows,
    "predict(raw_score=True)": raw_scores,
    "predict(pred_leaf=True)": shape_of((200, 3), pred_leaf=True),
    "predict(pred_contrib=True)": shape_of((200, 4), pred_contrib=True),
    "predict(start_iteration=..., num_iteration=...)": a_part_of_the_rounds,
    "booster_.dump_model": lambda: json.dumps(fitted().booster_.dump_model()),
    "booster_.trees_to_dataframe": lambda: fitted().booster_.trees_to_dataframe().iloc[0],
    "Booster(params, train_set).update": a_session,
    "Booster(params, train_set).rollback_one_iter": a_session,
    "booster_.update": lambda: is_refused(lambda: fitted().booster_.update(), "accounting"),
    "booster_.refit": lambda: is_refused(lambda: fitted().booster_.refit(X, Y), "accounting"),
    "feature_importances_": importances,
    "to_lightgbm()": of_lightgbm,
    "n_features_in_": lambda: np.testing.assert_equal(fitted().n_features_in_, 3),
    "feature_names_in_": named_columns,
    "best_iteration_": lambda: np.testing.assert_equal(fitted().best_iteration_, 0),
    "best_score_": best_scores,
    "evals_result_": fit_options,
    "plot_importance": draws(lambda model: dpboost.plot_importance(model)),
    "plot_metric": draws(lambda model: dpboost.plot_metric(model, metric="l1")),
    "plot_tree": tree_plot,
    "create_tree_digraph": digraph,
    "GridSearchCV": works_in_a_grid,
    "clone, pickle, joblib": travels,
    "metadata routing, set_output, pipelines": is_routed,
}


def test_the_table_and_the_tests_have_the_same_rows():
    assert [row.name for row in SURFACE] == list(TESTS)


@pytest.mark.parametrize("name", TESTS)
def test_functions_arguments_and_attributes(name, request):
    test = TESTS[name]
    if "capsys" in test.__code__.co_varnames:
        test(request.getfixturevalue("capsys"))
    else:
        test()
