"""What users rely on beside accuracy: LightGBM itself says what each script has to show."""

import copy
import inspect
import pickle
import re
from dataclasses import fields

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import is_classifier, is_regressor

import dpboost

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SCRIPTS = {}
N_ROWS = 400
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N_ROWS, 4))
Y = X[:, 0] + 0.3 * RANDOM.normal(size=N_ROWS)
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])
PUBLIC = RANDOM.normal(size=(100, 4))
PUBLIC_Y = PUBLIC[:, 0]
PARAMS = {"verbosity": -1, "num_leaves": 7, "objective": "regression"}
FEW = {"n_estimators": 4, "verbosity": -1}


def script(function):
    """Collect a function of the imported module that returns what it shows."""
    SCRIPTS[function.__name__.replace("_", " ")] = function
    return function


def public(lgb, rows=slice(None), **more):
    return lgb.Dataset(PUBLIC[rows].copy(), PUBLIC_Y[rows].copy(), **more)


def trained(lgb, rounds=4, params=PARAMS, **more):
    return lgb.train(params, lgb.Dataset(X, Y, feature_name=list("abcd")), rounds, **more)


def error(call):
    """How the message of an error begins; empty where nothing is raised."""
    kinds = (ValueError, TypeError, AttributeError, LookupError)
    try:
        call()
    except (*kinds, lightgbm.basic.LightGBMError) as raised:
        return re.split(r"[.:\n]", str(raised).replace("DPBoost", "LGBM"))[0]
    return ""


# -- estimators -----------------------------------------------------------------------------------


@script
def parameters_by_any_name(lgb):
    model = lgb.LGBMRegressor(num_leaves=5, **FEW)
    model.set_params(n_estimators=3, colsample_bytree=0.5, lambda_l1=0.1)
    names = ("n_estimators", "colsample_bytree", "lambda_l1", "num_leaves")
    return [model.get_params()[name] for name in names]


@script
def attributes_before_fit(lgb):
    names = "n_features_ n_features_in_ best_score_ best_iteration_ objective_ n_estimators_ "
    names += "n_iter_ booster_ evals_result_ feature_importances_ feature_name_ classes_ n_classes_"
    model = lgb.LGBMClassifier()
    return [error(lambda name=name: getattr(model, name)) for name in names.split()]


@script
def attributes_after_fit(lgb):
    # Of splits that are drawn at random gains say more, and are the default here.
    model = lgb.LGBMClassifier(importance_type="split", **FEW)
    model.fit(pd.DataFrame(X, columns=list("abcd")), TWO)
    named = (list(model.feature_name_), list(model.feature_names_in_), list(model.classes_))
    counted = (model.n_features_, model.n_features_in_, model.n_classes_, model.n_estimators_)
    told = (model.n_iter_, model.best_iteration_, dict(model.best_score_), model.evals_result_)
    importances = model.feature_importances_
    return named, counted, told, model.objective_, importances.shape, importances.dtype.kind


@script
def names_of_an_array(lgb):
    model = lgb.LGBMRegressor(**FEW).fit(X, Y)
    return model.feature_name_, hasattr(model, "feature_names_in_")


@script
def rows_of_another_width(lgb):
    model = lgb.LGBMRegressor(**FEW).fit(X, Y)
    return (
        error(lambda: model.predict(X[:, :3])),
        error(lambda: model.booster_.predict(X[:, :3])),
    )


@script
def names_in_another_order(lgb):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = lgb.LGBMRegressor(**FEW).fit(frame, Y)
    return error(lambda: model.predict(frame[list("abdc")], validate_features=True))


@script
def every_kind_of_prediction(lgb):
    model = lgb.LGBMClassifier(**FEW).fit(X, THREE)
    shapes = [
        model.predict(PUBLIC, **how).shape
        for how in ({}, {"raw_score": True}, {"pred_leaf": True}, {"pred_contrib": True})
    ]
    by_position = model.predict_proba(PUBLIC, True, 0, 2)
    by_name = model.predict_proba(PUBLIC, raw_score=True, num_iteration=2)
    return shapes, (by_position == by_name).all(), by_name.shape


@script
def arguments_of_predictions(lgb):
    kinds = (lgb.LGBMClassifier.predict, lgb.LGBMClassifier.predict_proba)
    return [
        list(inspect.signature(kind).parameters) for kind in (*kinds, lgb.LGBMRegressor.predict)
    ]


@script
def labels_of_every_type(lgb):
    shown = []
    for labels in (
        np.array(["n", "p"])[TWO],
        TWO.astype(bool),
        TWO.astype(np.int8),
        pd.Series(TWO),
    ):
        model = lgb.LGBMClassifier(**FEW).fit(X, labels)
        shown.append((model.classes_.tolist(), model.predict(PUBLIC).dtype.kind))
    return shown


@script
def kinds_of_estimators(lgb):
    two = lgb.LGBMClassifier(), lgb.LGBMRegressor()
    return [
        (isinstance(each, lgb.LGBMModel), is_classifier(each), is_regressor(each)) for each in two
    ]


@script
def sets_and_metrics_of_fit(lgb):
    model = lgb.LGBMRegressor(**FEW).fit(
        X,
        Y,
        eval_set=[(PUBLIC.copy(), PUBLIC_Y.copy()), (PUBLIC[:50].copy(), PUBLIC_Y[:50].copy())],
        eval_names=["a", "b"],
        eval_metric=["l1", "rmse", lambda y, p: ("own", 1.0, True)],
    )
    lengths = {
        name: {metric: len(values) for metric, values in found.items()}
        for name, found in model.evals_result_.items()
    }
    return lengths, {name: list(found) for name, found in model.best_score_.items()}


@script
def metrics_as_parameters(lgb):
    labels = (PUBLIC_Y > 0).astype(int)
    return [
        list(
            lgb.LGBMClassifier(metric=metric, **FEW)
            .fit(X, TWO, eval_set=[(PUBLIC.copy(), labels)], **more)
            .evals_result_["valid_0"]
        )
        for metric, more in (("auc", {}), (["auc"], {"eval_metric": "error"}))
    ]


@script
def probabilities_for_metrics(lgb):
    seen = []

    def metric(y, probability):
        seen.append((probability.shape, bool((probability >= 0).all())))
        return "own", 1.0, True

    labels = np.digitize(PUBLIC_Y, [-0.5, 0.5])
    lgb.LGBMClassifier(**FEW).fit(X, THREE, eval_set=[(PUBLIC.copy(), labels)], eval_metric=metric)
    return seen


@script
def a_second_fit_forgets_the_first(lgb):
    model = lgb.LGBMClassifier(**FEW)
    model.fit(X, TWO, eval_set=[(PUBLIC.copy(), (PUBLIC_Y > 0).astype(int))])
    model.fit(X[:, :3], THREE)
    return model.n_features_in_, model.n_classes_, model.evals_result_, dict(model.best_score_)


@script
def parameters_set_after_fit(lgb):
    model = lgb.LGBMRegressor(importance_type="gain", **FEW).fit(X, Y)
    before = model.feature_importances_.dtype.name
    model.set_params(n_estimators=3, importance_type="split")
    after = model.feature_importances_.dtype.name
    return before, after, model.n_estimators_, model.fit(X, Y).booster_.num_trees()


@script
def models_to_go_on_from(lgb):
    first = lgb.LGBMRegressor(**FEW).fit(X, Y)
    again = [
        lgb.LGBMRegressor(**FEW).fit(X, Y, init_model=each) for each in (first, first.booster_)
    ]
    return [model.booster_.num_trees() for model in again]


@script
def numbers_of_numpy(lgb):
    model = lgb.LGBMRegressor(n_estimators=np.int64(3), learning_rate=np.float32(0.1), verbosity=-1)
    return model.fit(X, Y).booster_.num_trees()


@script
def no_rounds(lgb):
    return [error(lambda n=n: lgb.LGBMRegressor(n_estimators=n).fit(X, Y)) for n in (0, -1)]


# -- callbacks ------------------------------------------------------------------------------------


@script
def arguments_of_callbacks(lgb):
    calls = (
        lambda: lgb.early_stopping(0),
        lambda: lgb.early_stopping("3"),
        lambda: lgb.early_stopping(2, min_delta=-1),
        lambda: lgb.early_stopping(2, min_delta=[-1, 0]),
        lambda: lgb.record_evaluation([]),
        lambda: trained(lgb, callbacks=[lgb.early_stopping(2)]),
        lambda: trained(lgb, callbacks=[lgb.reset_parameter(learning_rate=[0.3])]),
        lambda: trained(lgb, callbacks=[lgb.reset_parameter(learning_rate=0.3)]),
        lambda: lgb.register_logger(object()),
    )
    return [error(call) for call in calls]


@script
def order_of_callbacks(lgb):
    seen = []

    def callback(name, order, before):
        def call(env):
            seen.append((name, env.iteration))

        call.order, call.before_iteration = order, before
        return call

    calls = [callback("a", 30, False), callback("b", 10, False), callback("c", 5, True)]
    trained(lgb, 2, callbacks=[*calls, callback("d", 1, True)])
    return seen


@script
def what_callbacks_see(lgb):
    seen = []

    def call(env):
        model = env.model
        lines = [tuple(line)[:2] for line in env.evaluation_result_list]
        rounds = (env.begin_iteration, env.end_iteration, env.iteration)
        trees = (model.num_trees(), model.current_iteration(), model.feature_name())
        names = [field.name for field in fields(env)]
        seen.append((names, rounds, lines, trees, env.params["num_leaves"]))

    trained(lgb, 2, valid_sets=[public(lgb)], callbacks=[call])
    return seen


@script
def learning_rates_by_round(lgb):
    seen = []

    def spy(env):
        seen.append(env.params.get("learning_rate"))

    spy.before_iteration, spy.order = True, 50
    trained(lgb, 3, callbacks=[lgb.reset_parameter(learning_rate=[0.3, 0.2, 0.1]), spy])
    return seen


@script
def a_stop_for_want_of_progress(lgb):
    found = {}
    calls = [lgb.early_stopping(2, min_delta=1000.0, verbose=False), lgb.record_evaluation(found)]
    params = {**PARAMS, "metric": ["l1", "l2"]}
    booster = trained(lgb, 30, params, valid_sets=[public(lgb)], callbacks=calls)
    return booster.best_iteration, booster.current_iteration(), list(found["valid_0"])


@script
def a_stop_by_the_second_metric(lgb):
    counted = []

    def worse(predictions, data):
        counted.append(len(predictions))
        return "worse", float(len(counted)), False

    ends = []
    for first_only in (False, True):
        call = lgb.early_stopping(3, first_metric_only=first_only, verbose=False)
        params = {**PARAMS, "metric": "None"}
        functions = [lambda p, d: ("better", -float(len(counted)), False), worse]
        booster = trained(
            lgb, 9, params, valid_sets=[public(lgb)], feval=functions, callbacks=[call]
        )
        ends.append((booster.best_iteration, booster.num_trees()))
    return ends


@script
def a_min_delta_for_another_number_of_metrics(lgb):
    call = lgb.early_stopping(2, min_delta=[1.0, 2.0, 3.0], verbose=False)
    params = {**PARAMS, "metric": ["l1", "l2"]}
    return error(lambda: trained(lgb, 9, params, valid_sets=[public(lgb)], callbacks=[call]))


@script
def names_of_sets_and_metrics(lgb):
    found = {}

    def two(predictions, data):
        return [("a", 1.0, True), ("b", float(len(data.get_label())), False)]

    trained(
        lgb,
        2,
        {**PARAMS, "metric": "none"},
        valid_sets=[public(lgb), public(lgb, slice(9))],
        valid_names="only",
        feval=two,
        callbacks=[lgb.record_evaluation(found)],
    )
    return found


@script
def parameters_are_left_as_they_are(lgb):
    params = {**PARAMS, "num_iterations": 2, "early_stopping_round": 3, "metric": "l2"}
    before = copy.deepcopy(params)
    lgb.train(params, lgb.Dataset(X, Y), valid_sets=[public(lgb)])
    return params == before


# -- cross-validation -----------------------------------------------------------------------------


@script
def results_of_cv(lgb):
    params = {**PARAMS, "metric": ["l2", "l1"]}
    found = lgb.cv(params, lgb.Dataset(X, Y), 3, nfold=3, stratified=False, return_cvbooster=True)
    return sorted(found), len(found["cvbooster"].boosters), found["cvbooster"].best_iteration


@script
def boosters_of_cv(lgb):
    found = lgb.cv(
        {**PARAMS, "metric": "l2"},
        lgb.Dataset(X, Y),
        3,
        nfold=3,
        stratified=False,
        return_cvbooster=True,
    )["cvbooster"]
    again = lgb.CVBooster().model_from_string(found.model_to_string())
    copied = pickle.loads(pickle.dumps(found))
    same = [np.array_equal(each.predict(PUBLIC), found.predict(PUBLIC)) for each in (again, copied)]
    return same, found.num_trees(), len(found.predict(PUBLIC)), found.feature_name()


# -- data sets ------------------------------------------------------------------------------------


@script
def a_subset(lgb):
    weight, scores = np.arange(N_ROWS) + 1.0, np.arange(N_ROWS) / 2
    data = lgb.Dataset(X, Y, weight=weight, init_score=scores, free_raw_data=False).construct()
    some = data.subset([1, 3, 5]).construct()
    found = (some.get_label(), some.get_weight(), some.get_init_score())
    return some.num_data(), some.get_data().shape, [field.tolist() for field in found]


@script
def settings_of_a_data_set(lgb):
    data, other = lgb.Dataset(X, Y, categorical_feature=[0]), public(lgb)
    data.set_categorical_feature([1]).set_feature_name(list("abcd"))
    other.set_reference(data)
    chain = len(other.get_ref_chain())
    return data.categorical_feature, data.feature_name, other.reference is data, chain


@script
def labels_of_a_data_set(lgb):
    labels = (Y, list(Y), pd.Series(Y), pd.DataFrame({"y": Y}))
    sets = [lgb.Dataset(X, each).construct() for each in labels]
    found = [(each.get_label().dtype.name, each.get_label().shape) for each in sets]
    return found, error(lambda: lgb.Dataset(X, [1, 2]).construct())


@script
def rows_by_a_sequence(lgb):
    class Rows(lgb.Sequence):
        batch_size = 50

        def __init__(self, array):
            self.array = array

        def __getitem__(self, index):
            return self.array[index]

        def __len__(self):
            return len(self.array)

    parts = [Rows(X[:150]), Rows(X[150:])]
    return lgb.train(PARAMS, lgb.Dataset(parts, label=Y), 3).num_trees()


@script
def names_of_columns(lgb):
    def names(columns):
        data = lgb.Dataset(pd.DataFrame(X, columns=columns), Y)
        return lgb.train(PARAMS, data, 2).feature_name()

    found = [names(["a b", "c", "d", "e"]), names([0, 1, 2, 3])]
    with pytest.raises(lightgbm.basic.LightGBMError):
        names(["a:b", "c", "d", "e"])
    return found


# -- boosters -------------------------------------------------------------------------------------


@script
def numbers_of_a_booster(lgb):
    booster = trained(lgb, 5)
    numbers = (booster.num_trees(), booster.current_iteration(), booster.num_feature())
    kinds = (booster.feature_importance("split").dtype, booster.feature_importance("gain").dtype)
    ends = booster.lower_bound() <= booster.upper_bound()
    return numbers, booster.num_model_per_iteration(), booster.best_iteration, kinds, ends


@script
def histograms_of_thresholds(lgb):
    booster = trained(lgb)
    counts, edges = booster.get_split_value_histogram("a", bins=3)
    frame = booster.get_split_value_histogram("a", xgboost_style=True)
    missing = error(lambda: booster.get_split_value_histogram("zz"))
    return len(counts), len(edges), list(frame.columns), missing


@script
def a_table_of_trees(lgb):
    frame = trained(lgb, 3).trees_to_dataframe()
    return list(frame.columns), frame.tree_index.nunique(), frame.node_index.iloc[0]


@script
def a_dump(lgb):
    booster, seen = trained(lgb, 3), []
    whole = booster.dump_model(object_hook=lambda node: seen.append(1) or node)
    parts = [booster.dump_model(num_iteration=2), booster.dump_model(start_iteration=1)]
    trees = [len(part["tree_info"]) for part in (whole, *parts)]
    return sorted(whole), sorted(whole["tree_info"][0]), trees, len(seen) > 0


@script
def leaves_that_are_set(lgb):
    booster = trained(lgb, 3)
    back = booster.set_leaf_output(0, 0, 1.5)
    return back is booster, booster.get_leaf_output(0, 0)


@script
def copies_of_a_booster(lgb):
    booster = trained(lgb, 3)
    copies = (
        lgb.Booster(model_str=booster.model_to_string()),
        copy.deepcopy(booster),
        pickle.loads(pickle.dumps(booster)),
        pickle.loads(pickle.dumps(lgb.LGBMRegressor(**FEW).fit(X, Y))).booster_,
    )
    return [each.num_trees() for each in copies]


@script
def models_that_are_not_there(lgb):
    calls = (
        lambda: lgb.Booster(),
        lambda: lgb.Booster(model_file="/no/such/model.txt"),
    )
    with pytest.raises(lightgbm.basic.LightGBMError):
        lgb.Booster(model_str="no model")
    return [error(call) for call in calls]


@script
def predictions_of_a_booster(lgb):
    booster = trained(lgb, 6)
    parts = booster.predict(PUBLIC, num_iteration=3) + booster.predict(PUBLIC, start_iteration=3)
    shares = booster.predict(PUBLIC, pred_contrib=True)
    leaves = booster.predict(PUBLIC, pred_leaf=True)
    sparse = booster.predict(scipy.sparse.csr_matrix(PUBLIC), pred_contrib=True)
    whole = booster.predict(PUBLIC)
    sums = np.allclose(shares.sum(axis=1), whole)
    bad = error(lambda: booster.predict([1, 2, 3])), error(lambda: booster.predict(PUBLIC[0]))
    return len(parts), shares.shape, leaves.dtype.name, type(sparse).__name__, sums, bad


@script
def evaluation_sets_that_are_kept(lgb):
    booster = trained(lgb, 3, valid_sets=[public(lgb)], keep_training_booster=True)
    return booster.name_valid_sets, [tuple(line)[:2] for line in booster.eval_valid()]


@script
def plots(lgb):
    model = lgb.LGBMRegressor(**FEW).fit(X, Y, eval_set=[(PUBLIC.copy(), PUBLIC_Y.copy())])
    axes = (
        lgb.plot_importance(model, title="t", max_num_features=2),
        lgb.plot_metric(model),
        lgb.plot_split_value_histogram(model, 0),
    )
    labels = [(each.get_title(), each.get_xlabel(), each.get_ylabel()) for each in axes]
    wrong = (
        lambda: lgb.plot_importance(3),
        lambda: lgb.plot_importance(model, xlim=3),
        lambda: lgb.plot_metric(model.booster_),
        lambda: lgb.plot_metric(model, metric="zz"),
        lambda: lgb.plot_split_value_histogram(model, 99),
        lambda: lgb.create_tree_digraph(model, 99),
    )
    return labels, [error(call) for call in wrong]


@pytest.mark.parametrize("name", SCRIPTS)
def test_both_libraries_show_the_same(name):
    expected = SCRIPTS[name](lightgbm)
    assert repr(SCRIPTS[name](dpboost)) == repr(expected)
