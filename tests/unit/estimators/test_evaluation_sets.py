"""Public rows are scored and judged while the model is trained."""

import math

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import metrics

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.audit.neighboring_pairs import pair_of
from dpboost.audit.pair_replay import replay_pair
from dpboost.data.table import read_table
from dpboost.estimators.evaluation_sets import Metrics, PublicScores
from dpboost.privacy.sensitivity.bound import Neighbors

FAST = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "verbosity": 0}
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-2, 2)}

pytestmark = pytest.mark.filterwarnings("ignore::dpboost.PublicRowsWarning")


def rows(seed=0, n_rows=300):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n_rows, 3))
    return X, X[:, 0] - X[:, 1]


X, Y = rows()
X_PUBLIC, Y_PUBLIC = rows(1, 100)


# -- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [1, 3])
def test_scores_of_each_round_are_those_of_its_model(sparse, n_classes):
    kind = DPBoostRegressor if n_classes == 1 else DPBoostClassifier
    labels = Y if n_classes == 1 else np.digitize(Y, [-0.5, 0.5])
    model = kind(schema={"bounds": BOUNDS["bounds"]}, **FAST)
    with pytest.warns(dpboost.UndeclaredWarning) if n_classes == 1 else nothing():
        model.fit(X, labels)
    ensemble = model.ensemble_
    public = scipy.sparse.csr_matrix(X_PUBLIC) if sparse else X_PUBLIC
    scores = PublicScores(
        ensemble.binner,
        read_table(public),
        start=ensemble.start,
        unit=ensemble.unit,
        n_threads=1,
    )
    for number in range(6):
        scores.add(ensemble.trees[n_classes * number : n_classes * (number + 1)])
        expected = model.booster_.predict(X_PUBLIC, raw_score=True, num_iteration=number + 1)
        np.testing.assert_array_equal(scores.raw(), expected)


def nothing():
    import contextlib

    return contextlib.nullcontext()


# -- metrics --------------------------------------------------------------------------------------


def evaluate(objective, names, labels, raw, weight=None, init_score=None, functions=()):
    judge = Metrics(objective, names, {"num_threads": 1}, functions)
    judge.add_set("x", labels, weight, init_score)
    for _ in range(2):
        found = judge.evaluate([raw])
    return {line[1]: line[2] for line in found}


def test_metrics_of_two_classes_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    labels, raw, weight = random.integers(0, 2, 50), random.normal(size=50), random.random(50)
    shift = random.normal(size=50)
    found = evaluate("binary sigmoid:1", ["auc", "binary_logloss"], labels, raw, weight, shift)
    p = 1 / (1 + np.exp(-raw - shift))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(labels, p, sample_weight=weight))
    assert found["binary_logloss"] == pytest.approx(
        metrics.log_loss(labels, p, sample_weight=weight), rel=1e-6
    )


def test_metrics_of_several_classes_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    labels, raw = np.arange(60) % 3, random.normal(size=(60, 3))
    found = evaluate("multiclass num_class:3", ["multi_logloss", "multi_error"], labels, raw)
    p = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    assert found["multi_logloss"] == pytest.approx(metrics.log_loss(labels, p), rel=1e-6)
    assert found["multi_error"] == pytest.approx(np.mean(raw.argmax(axis=1) != labels))


@pytest.mark.parametrize("name", ["rmse", "mean_absolute_error", "mape", "quantile", "huber"])
def test_any_metric_of_lightgbm_is_computed(name):
    found = evaluate("regression", [name], Y_PUBLIC, Y_PUBLIC + 1.0)
    assert len(found) == 1
    assert math.isfinite(next(iter(found.values())))


def test_the_default_metric_is_that_of_the_objective():
    assert list(evaluate("regression", [], Y_PUBLIC, Y_PUBLIC)) == ["l2"]
    assert evaluate("regression", ["None"], Y_PUBLIC, Y_PUBLIC) == {}


def test_functions_get_predictions_behind_the_link():
    labels, raw = np.array([0, 1, 1]), np.array([-1.0, 0.0, 2.0])

    def mean(predictions, dataset):
        assert dataset.get_label().tolist() == labels.tolist()
        return "mean", float(predictions.mean()), True

    found = evaluate("binary sigmoid:1", ["None"], labels, raw, functions=[mean])
    assert found == {"mean": pytest.approx(np.mean(1 / (1 + np.exp(-raw))))}


# -- while training -------------------------------------------------------------------------------


def test_the_results_are_those_of_the_model_in_each_round():
    model = DPBoostRegressor(schema=BOUNDS, **FAST)
    model.fit(X, Y, eval_set=[(X_PUBLIC, Y_PUBLIC)], eval_metric="l1")
    for number, found in enumerate(model.evals_result_["valid_0"]["l1"], start=1):
        predicted = model.predict(X_PUBLIC, num_iteration=number)
        assert found == pytest.approx(np.mean(np.abs(predicted - Y_PUBLIC)), rel=1e-5)


def test_several_sets_of_several_kinds_of_tables():
    names = ["a", "b", "c"]
    frame, public = pd.DataFrame(X, columns=names), pd.DataFrame(X_PUBLIC, columns=names)
    frame["c"] = pd.cut(frame["c"], [-1, 0, 1], labels=["low", "high"])
    public["c"] = pd.cut(public["c"], [-1, 0, 1], labels=["low", "high"])
    turned = public.assign(c=public["c"].cat.reorder_categories(["high", "low"]))
    schema = {"bounds": {"a": (-1, 1), "b": (-1, 1)}, "label_bounds": (-2, 2)}
    model = DPBoostRegressor(schema=schema, **FAST)
    model.fit(frame, Y, eval_set=[(public, Y_PUBLIC), (turned, Y_PUBLIC)], eval_names=["p", "t"])
    results = model.evals_result_
    assert results["p"] == results["t"]
    assert results["p"]["l2"][-1] == pytest.approx(
        metrics.mean_squared_error(Y_PUBLIC, model.predict(public)), rel=1e-5
    )


def test_stopping_spends_what_was_released_and_no_more():
    model = DPBoostRegressor(schema=BOUNDS, **{**FAST, "n_estimators": 50})

    def stop(env):
        if env.iteration == 4:
            raise lightgbm.callback.EarlyStopException(2, env.evaluation_result_list)

    model.fit(X, Y, eval_set=[(X_PUBLIC, Y_PUBLIC)], callbacks=[stop])
    report = model.privacy_report_
    lines = {line.label: line for line in report.releases}
    leaf_sums = lines.pop("leaf sums")
    assert leaf_sums.releases == 5
    assert model.best_iteration_ == 3
    assert model.booster_.num_trees() == 3
    # Five of fifty rounds, of what is left beside start, bins and range of labels.
    assert leaf_sums.share == (1 - sum(line.share for line in lines.values())) / 10
    full = DPBoostRegressor(schema=BOUNDS, **{**FAST, "n_estimators": 50}).fit(X, Y)
    assert report.epsilon == full.privacy_report_.epsilon


def test_a_callback_may_stop_without_an_evaluation_set():
    def stop(env):
        assert env.evaluation_result_list == []
        raise lightgbm.callback.EarlyStopException(0, [])

    model = DPBoostRegressor(schema=BOUNDS, **FAST).fit(X, Y, callbacks=[stop])
    assert model.booster_.num_trees() == model.best_iteration_ == 1


def test_an_error_of_a_callback_ends_the_fit():
    def fail(env):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        DPBoostRegressor(schema=BOUNDS, **FAST).fit(X, Y, callbacks=[fail])


def test_replay_with_public_rows_and_early_stopping():
    X_small, y_small = rows(2, 40)

    def fit(X, y):
        model = DPBoostRegressor(schema=BOUNDS, random_state=0, **FAST)
        model.fit(
            X,
            y,
            eval_set=[(X_PUBLIC, Y_PUBLIC)],
            callbacks=[lightgbm.early_stopping(2, verbose=False)],
        )
        return {
            "results": repr(model.evals_result_),
            "best": str(model.best_iteration_),
            "report": model.privacy_report_.details(),
            "text": model.booster_.model_to_string(),
        }

    pair = pair_of(X_small, y_small, np.full(3, 0.9), 2.0, Neighbors.ADD_REMOVE)
    for each in (pair, pair.swapped):
        audit = replay_pair(fit, each)
        assert audit.violations == ()
        assert audit.cost <= audit.capacity


# -- refusals, all before the first draw ----------------------------------------------------------


REFUSED = {
    "another width": (lambda: {"eval_set": [(X_PUBLIC[:, :2], Y_PUBLIC)]}, "columns 0 to 1"),
    "another length": (lambda: {"eval_set": [(X_PUBLIC, Y_PUBLIC[:5])]}, "same length"),
    "no pair": (lambda: {"eval_set": [X_PUBLIC]}, "list of"),
    "half of a set": (lambda: {"eval_X": X_PUBLIC}, "specify eval_X and eval_y"),
    "sets of two kinds": (
        lambda: {"eval_X": X_PUBLIC, "eval_y": Y_PUBLIC, "eval_set": [(X_PUBLIC, Y_PUBLIC)]},
        "but not both",
    ),
    "missing labels": (lambda: {"eval_set": (X_PUBLIC, np.full(100, np.nan))}, "NaN"),
}


AMONG_THE_TRAINING_ROWS = {
    "training rows": lambda: {"eval_set": [(X, Y), (X_PUBLIC, Y_PUBLIC)]},
    "a view of the training rows": lambda: {"eval_set": [(X[:], Y_PUBLIC), (X_PUBLIC, Y_PUBLIC)]},
    "training labels": lambda: {"eval_set": [(X_PUBLIC, Y), (X_PUBLIC, Y_PUBLIC)]},
    "another way to give them": lambda: {"eval_X": (X, X_PUBLIC), "eval_y": (Y, Y_PUBLIC)},
}


@pytest.mark.parametrize("name", AMONG_THE_TRAINING_ROWS)
def test_training_rows_are_skipped_and_the_rest_goes_on(name):
    stop = lightgbm.early_stopping(2, verbose=False)
    model = DPBoostRegressor(schema=BOUNDS, noise_seed=1, **FAST)
    with pytest.warns(dpboost.PrivacyWarning, match=r"\(training\) contain training rows"):
        model.fit(X, Y, callbacks=[stop], **AMONG_THE_TRAINING_ROWS[name]())
    alone = DPBoostRegressor(schema=BOUNDS, noise_seed=1, **FAST)
    alone.fit(X, Y, eval_set=[(X_PUBLIC, Y_PUBLIC)], eval_names=["valid_1"], callbacks=[stop])
    results = model.evals_result_
    assert list(results) == ["training", "valid_1"]
    assert results["valid_1"]["l2"] == alone.evals_result_["valid_1"]["l2"]
    assert np.isnan(results["training"]["l2"]).tolist() == [True] * len(results["valid_1"]["l2"])
    assert model.best_iteration_ == alone.best_iteration_ > 0
    assert np.isnan(model.best_score_["training"]["l2"])
    assert model.booster_.model_to_string() == alone.booster_.model_to_string()


def test_a_transcript_holds_no_training_row_that_was_given_for_evaluation(tmp_path):
    private = X + 1234.0
    model = DPBoostRegressor(schema=BOUNDS, **FAST).fit(private, Y, eval_set=[(private, Y)])
    assert model.transcript_.call.arguments["eval_set"] == [("training rows", "training rows")]
    again = dpboost.replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    data = dpboost.Dataset(private, Y)
    booster = dpboost.train({"schema": BOUNDS, **FAST}, data, valid_sets=data)
    assert booster.transcript.call.arguments["valid_sets"] == ["training rows"]
    assert dpboost.replay(booster.transcript).model_to_string() == booster.model_to_string()


def test_names_of_functions_that_return_lists_are_those_of_their_results():
    def two(predictions, data):
        return [("first", 1.0, True), ("second", 2.0, False)]

    def one(predictions, data):
        return "third", 3.0, True

    for functions in ([two, one], [one, two], [two, two, one]):
        metrics = Metrics("regression", ["l2", "l1"], {}, functions)
        metrics.add_set("set", Y, None, None)
        lines = metrics.evaluate([np.zeros(len(Y))])
        assert metrics.names() == list(dict.fromkeys((line[1], line[3]) for line in lines))


def test_without_another_set_early_stopping_is_off_and_metrics_have_their_names():
    def largest(y, prediction):
        return "largest", float(np.abs(y - prediction).max()), False

    def of_all_rows(y, prediction):
        return "of all rows", float((prediction - Y).max()), True

    model = DPBoostRegressor(schema=BOUNDS, early_stopping_round=1, **FAST)
    with pytest.warns(dpboost.SkippedRowsWarning):
        model.fit(X, Y, eval_set=(X, Y), eval_metric=["l1", largest, of_all_rows])
    assert model.n_estimators_ == FAST["n_estimators"]
    assert model.best_iteration_ == 0
    assert set(model.evals_result_["training"]) == {"l2", "l1", "largest", "of_all_rows"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_judged_is_refused(name, no_release):
    options, message = REFUSED[name]
    with pytest.raises(InvalidParameterError, match=message):
        DPBoostRegressor(schema=BOUNDS, **FAST).fit(X, Y, **options())


def test_another_width_is_refused_without_a_schema(no_release):
    with pytest.raises(InvalidParameterError, match="'valid_0' has 2 features, but X has 3"):
        DPBoostRegressor(**FAST).fit(X, Y, eval_set=[(X_PUBLIC[:, :2], Y_PUBLIC)])


def test_labels_of_no_class_are_refused(no_release):
    model = DPBoostClassifier(schema={**BOUNDS, "label_bounds": None}, **FAST)
    with pytest.raises(InvalidParameterError, match="not declared classes"):
        model.fit(X, Y > 0, eval_set=[(X_PUBLIC, np.full(100, 7))])


def test_rows_of_a_class_that_was_not_released_do_not_count():
    labels = np.where(X[:, 0] > 0, "yes", "no").astype("<U4")
    labels[0] = "rare"
    public = np.where(X_PUBLIC[:, 0] > 0, "yes", "no").astype("<U4")
    other = public.copy()
    other[0] = "rare"
    options = {"assume_public": (), "epsilon": 50.0, "schema": {"bounds": BOUNDS["bounds"]}}
    model = DPBoostClassifier(**options, **FAST)
    with pytest.warns(dpboost.UndeclaredWarning):
        model.fit(
            X,
            labels,
            eval_set=[(X_PUBLIC, other), (X_PUBLIC[1:], public[1:])],
            eval_metric="binary_error",
        )
    assert model.classes_.tolist() == ["no", "yes"]
    results = model.evals_result_
    assert results["valid_0"]["binary_error"] == pytest.approx(results["valid_1"]["binary_error"])


def test_another_way_to_give_the_sets():
    model = DPBoostRegressor(schema=BOUNDS, **FAST)
    model.fit(X, Y, eval_X=(X_PUBLIC, X_PUBLIC[:50]), eval_y=(Y_PUBLIC, Y_PUBLIC[:50]))
    assert list(model.evals_result_) == ["valid_0", "valid_1"]


def test_class_weights_of_the_sets():
    public = (Y_PUBLIC > 0).astype(int)
    model = DPBoostClassifier(schema={"bounds": BOUNDS["bounds"]}, **FAST)
    model.fit(
        X,
        (Y > 0).astype(int),
        eval_set=[(X_PUBLIC, public)],
        eval_class_weight=[{0: 1.0, 1: 3.0}],
        eval_metric="binary_error",
    )
    found = model.evals_result_["valid_0"]["binary_error"][-1]
    wrong = model.predict(X_PUBLIC) != public
    assert found == pytest.approx(np.average(wrong, weights=np.where(public, 3.0, 1.0)), abs=1e-6)


# -- other objectives, weights, and models that are continued -------------------------------------


def test_metrics_know_the_constants_of_the_objective():
    model = DPBoostRegressor(objective="quantile", alpha=0.1, schema=BOUNDS, **FAST)
    model.fit(X, Y, eval_set=[(X_PUBLIC, Y_PUBLIC)])
    expected = metrics.mean_pinball_loss(Y_PUBLIC, model.predict(X_PUBLIC), alpha=0.1)
    assert model.evals_result_["valid_0"]["quantile"][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("objective", ["poisson", "tweedie", "huber", "cross_entropy"])
def test_metrics_of_other_objectives_are_those_of_their_predictions(objective):
    labels, public = np.abs(Y) / 2, np.abs(Y_PUBLIC) / 2
    schema = {"bounds": BOUNDS["bounds"], "label_bounds": (0, 1)}
    model = DPBoostRegressor(objective=objective, schema=schema, **FAST)
    model.fit(X, labels, eval_set=[(X_PUBLIC, public)], eval_metric="l2")
    expected = metrics.mean_squared_error(public, model.predict(X_PUBLIC))
    assert model.evals_result_["valid_0"]["l2"][-1] == pytest.approx(expected, rel=1e-5)


def test_a_continued_model_is_judged_as_a_whole():
    first = DPBoostRegressor(schema=BOUNDS, **FAST).fit(X, Y)
    second = DPBoostRegressor(schema=BOUNDS, **FAST)
    second.fit(X, Y, init_model=first, eval_set=[(X_PUBLIC, Y_PUBLIC)])
    expected = metrics.mean_squared_error(Y_PUBLIC, second.predict(X_PUBLIC))
    assert second.evals_result_["valid_0"]["l2"][-1] == pytest.approx(expected, rel=1e-5)


def test_weights_of_a_dataset_reach_training_and_evaluation():
    weight = np.where(Y > 0, 1.0, 0.0)
    params = {"schema": BOUNDS, "epsilon": 200.0, "max_depth": 1, "n_jobs": 1, "verbosity": 0}
    data = dpboost.Dataset(X, Y, weight=weight)
    public = dpboost.Dataset(X_PUBLIC, Y_PUBLIC, weight=np.where(Y_PUBLIC > 0, 1.0, 0.0))
    booster = dpboost.train(params, data, 50, valid_sets=public)
    predicted = booster.predict(X_PUBLIC)
    assert predicted.mean() > 0.3
    expected = metrics.mean_squared_error(Y_PUBLIC, predicted, sample_weight=Y_PUBLIC > 0)
    assert booster.best_score["valid_0"]["l2"] == pytest.approx(expected, rel=1e-5)
