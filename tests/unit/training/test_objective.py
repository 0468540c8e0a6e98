"""Objectives, weights and initial scores of the estimators."""

import pickle
import warnings

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost import (
    DPBoostClassifier,
    DPBoostRegressor,
    InvalidParameterError,
    PrivacyWarning,
    UnboundedWeightsWarning,
    UserObjectiveWarning,
)
from dpboost.data.table import read_table
from dpboost.rows.row_attributes import WEIGHT_ONE, RelativeWeight, RowExtras, Weighting
from dpboost.training.objective import ALIASES, OF_TASK, Objective

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 4000
BOUNDS = dict.fromkeys(range(3), (0.0, 1.0))
QUICK = {"epsilon": 4.0, "n_estimators": 100, "n_jobs": 1, "verbosity": 0, "random_state": 0}


def table():
    random = np.random.default_rng(0)
    X = random.uniform(size=(N_ROWS, 3))
    return X, 2 * X[:, 0] + np.sin(6 * X[:, 1]), random


def regression(name):
    """Labels that suit an objective, and their bounds."""
    X, truth, random = table()
    mean = np.exp(truth - 1)
    if name == "poisson":
        return X, random.poisson(mean), (0, 20)
    if name == "gamma":
        return X, random.gamma(2, mean / 2), (0.05, 20)
    if name == "tweedie":
        return X, random.poisson(mean / 2) * random.gamma(2, 1, N_ROWS), (0, 20)
    if name == "cross_entropy":
        share = 1 / (1 + np.exp(1 - truth))
        return X, np.clip(share + random.normal(0, 0.1, N_ROWS), 0, 1), (0, 1)
    if name == "binary":
        return X, (random.random(N_ROWS) < 1 / (1 + np.exp(3 - 3 * truth))).astype(float), (0, 1)
    return X, truth + random.normal(0, 0.4, N_ROWS), (-3, 5)


def deviance(name, y, p):
    """What an objective minimizes, up to a constant of the labels."""
    p = np.maximum(p, 1e-9) if name in ("poisson", "gamma", "tweedie") else p
    if name == "poisson":
        return np.mean(p - y * np.log(p))
    if name == "gamma":
        return np.mean(np.log(p) + y / p)
    if name == "tweedie":
        return np.mean(2 * y * p**-0.5 + 2 * p**0.5)
    if name in ("cross_entropy", "binary"):
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    if name == "quantile":
        return np.mean(np.maximum(0.9 * (y - p), -0.1 * (y - p)))
    if name == "mape":
        return np.mean(np.abs(y - p) / np.maximum(np.abs(y), 1))
    return np.mean(np.abs(y - p)) if name == "regression_l1" else np.mean((y - p) ** 2)


def best_constant(name, y):
    if name == "regression_l1":
        return np.median(y)
    if name == "mape":
        return min(np.linspace(*np.quantile(y, [0, 1]), 200), key=lambda p: deviance(name, y, p))
    return np.quantile(y, 0.9) if name == "quantile" else y.mean()


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("name", OF_TASK["regression"])
def test_each_regression_beats_a_constant_and_is_lightgbms_model(name, delta):
    X, y, bounds = regression(name)
    options = QUICK if delta else {**QUICK, "n_estimators": None}
    known = {"bounds": BOUNDS, "label_bounds": bounds}
    constant = np.full(N_ROWS, best_constant(name, y))
    reached = deviance(name, y, constant) - 0.004
    for _ in range(3):  # the noise of a pure epsilon may hide a quantile now and then
        model = DPBoostRegressor(objective=name, delta=delta, schema=known, **options).fit(X, y)
        predicted = model.predict(X)
        if deviance(name, y, predicted) < reached:
            break
    assert deviance(name, y, predicted) < reached
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(predicted, stock.predict(X))
    np.testing.assert_array_equal(predicted, model.ensemble_.predict(read_table(X)))
    assert model.objective_ == name
    assert model.privacy_report_.private
    assert model.privacy_report_.facts["objective"] == name


@pytest.mark.parametrize(("name", "classes"), [("multiclassova", 3), ("cross_entropy", 2)])
def test_each_classification_beats_a_constant_and_is_lightgbms_model(name, classes):
    X, truth, random = table()
    y = np.digitize(truth + random.normal(0, 0.3, N_ROWS), [0.7, 1.7][: classes - 1])
    schema = {"bounds": BOUNDS, "classes": list(range(classes))}
    model = DPBoostClassifier(objective=name, schema=schema, **QUICK).fit(X, y)
    assert (model.predict(X) == y).mean() > np.bincount(y).max() / N_ROWS + 0.1
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string()).predict(X)
    own = model.predict_proba(X)
    np.testing.assert_array_equal(own[:, 1] if classes == 2 else own, stock)
    np.testing.assert_array_equal(stock, model.ensemble_.predict(read_table(X)))
    assert model.objective_ == name


def test_quantiles_are_covered():
    X, y, bounds = regression("quantile")
    schema = {"bounds": BOUNDS, "label_bounds": bounds}
    # As many rounds as the rule has: fewer end on the way.
    settings = {**QUICK, "n_estimators": None}
    for alpha in (0.2, 0.8):
        model = DPBoostRegressor(objective="quantile", alpha=alpha, schema=schema, **settings)
        assert (y <= model.fit(X, y).predict(X)).mean() == pytest.approx(alpha, abs=0.05)


def straight(n_rows, noise, seed=0):
    """A line and 20,000 rows that are held out."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows + 20_000, 5))
    return X, 3 * X[:, 0] + X[:, 2] + noise * random.normal(size=len(X))


@pytest.mark.parametrize("wide", [20, 200])
@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_quantiles_are_covered_on_held_out_rows_whatever_the_bounds(alpha, noise, wide):
    X, y = straight(5000, noise)
    schema = {"bounds": dict.fromkeys(range(5), (-5, 5)), "label_bounds": (-wide, wide)}
    model = DPBoostRegressor(
        objective="quantile",
        alpha=alpha,
        epsilon=8,
        delta=1e-5,
        schema=schema,
        noise_seed=0,
        random_state=0,
    ).fit(X[:5000], y[:5000])
    predicted = model.predict(X[5000:])
    assert (y[5000:] <= predicted).mean() == pytest.approx(alpha, abs=0.015)
    left = y[5000:] - predicted
    loss = np.mean(np.maximum(alpha * left, (alpha - 1) * left))
    # That of the quantile of all labels is over 1.
    assert loss < (0.6 if alpha == 0.5 else 0.4)


def test_errors_of_large_labels_count_in_proportion_to_these():
    # A third of the rows has labels of 1 to 3, the others have 9 to 11: no feature says which.
    random = np.random.default_rng(0)
    X = random.uniform(size=(N_ROWS, 3))
    y = np.where(random.random(N_ROWS) < 1 / 3, 2.0, 10.0) + random.uniform(-1, 1, N_ROWS)
    schema = {"bounds": BOUNDS, "label_bounds": (1, 11)}
    found = {}
    for name in ("l1", "mape"):
        model = DPBoostRegressor(objective=name, schema=schema, **QUICK).fit(X, y)
        found[name] = np.median(model.predict(X))
    assert found["mape"] < 4 < 8 < found["l1"]
    assert lightgbm.Booster(model_str=model.booster_.model_to_string()).num_trees() == 100
    assert model.objective_ == "mape"


def test_weights_by_labels_are_a_map_of_each_row_with_a_public_bound():
    targets = np.array([-8, -1, 0, 1, 3, 8]) * 4
    for floor, expected in (
        (1.0, [1 / 8, 1, 1, 1, 1 / 3, 1 / 8]),
        (2.0, [1 / 4, 1, 1, 1, 2 / 3, 1 / 4]),
    ):
        relative = RelativeWeight(unit=0.25, floor=floor)
        np.testing.assert_allclose(relative.of(targets), expected)
        weighting = Weighting(max_weight=3.0, relative=relative)
        extras = RowExtras(sample_weight=np.full(6, 9.0))  # beyond its bound
        units = extras.weight_units(weighting, np.zeros(6, dtype=np.int64), targets)
        np.testing.assert_allclose(units, np.array(expected) * WEIGHT_ONE, atol=1)
        assert units.max() <= WEIGHT_ONE


@pytest.mark.parametrize(
    ("bounds", "floor"), [((-3, 5), 1), ((0.2, 0.5), 1), ((40, 90), 40), ((-90, -30), 30)]
)
def test_the_least_size_of_a_label_has_the_whole_weight(bounds, floor):
    objective = Objective.validated("X", task="regression", objective="mape")
    loss = objective.planned_loss(dpboost.Schema(label_bounds=bounds))
    for given in (None, Weighting(max_weight=7.0)):
        weighting = objective.weighting(given, loss)
        assert weighting.relative == RelativeWeight(unit=loss.unit, floor=floor)
        assert weighting.max_weight == (given.max_weight if given else 1.0)
    plain = Objective.validated("X", task="regression", objective="l1")
    assert plain.weighting(None, loss) is None


def test_wide_bounds_do_no_harm_to_the_median():
    X, y = straight(5000, 0.3)
    errors = []
    for wide in (20, 200):
        schema = {"bounds": dict.fromkeys(range(5), (-5, 5)), "label_bounds": (-wide, wide)}
        model = DPBoostRegressor(objective="l1", epsilon=8, schema=schema, noise_seed=0)
        predicted = model.fit(X[:5000], y[:5000]).predict(X[5000:])
        errors.append(np.abs(y[5000:] - predicted).mean())
    assert max(errors) < 0.6


@pytest.mark.parametrize(("law", "at_least"), [("uniform", 0.92), ("normal", 0.91)])
@pytest.mark.parametrize("name", ["gamma", "tweedie"])
def test_small_tables_are_learned_through_a_logarithm(name, law, at_least):
    random = np.random.default_rng(0 if law == "uniform" else 2)
    X = (
        random.uniform(-1, 1, size=(13_000, 5))
        if law == "uniform"
        else random.normal(size=(13_000, 5))
    )
    g = 3 * X[:, 0] + X[:, 1] + 0.3 * random.normal(size=13_000)
    y = np.exp(g / 4) if name == "gamma" else np.maximum(g, 0)
    bound = 1 if law == "uniform" else 5
    schema = {
        "bounds": dict.fromkeys(range(5), (-bound, bound)),
        "label_bounds": (y.min(), y.max()),
    }
    options = {"epsilon": 8, "delta": 1e-5, "noise_seed": 0, "random_state": 0}
    model = DPBoostRegressor(objective=name, schema=schema, **options).fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > at_least


def test_means_of_scattered_labels_are_not_far_too_low():
    """Gradients that were clipped early would leave a mean near the median."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(13_000, 5))
    mean = np.exp((3 * X[:, 0] + X[:, 1]) / 4)
    schema = {"bounds": dict.fromkeys(range(5), (-1, 1)), "label_bounds": (0.01, 20)}
    options = {"epsilon": 8, "delta": 1e-5, "noise_seed": 0, "random_state": 0}
    model = DPBoostRegressor(objective="gamma", schema=schema, **options)
    predicted = model.fit(X[:3000], (mean * random.exponential(size=13_000))[:3000]).predict(X)
    assert predicted.mean() > 0.9 * mean.mean()


def test_aliases_mean_the_same():
    for name, listed in ALIASES.items():
        task = "regression" if name in OF_TASK["regression"] else "classification"
        for alias in listed.split():
            assert Objective.validated("it", task=task, objective=alias).name == name


# Every name here is one that LightGBM knows, so that a model text with it loads.
@pytest.mark.parametrize("name", OF_TASK["regression"])
def test_lightgbm_knows_the_aliases(name):
    X, y, _ = regression(name)
    for alias in ALIASES[name].split():
        lightgbm.train(
            {"objective": alias, "verbosity": -1, "num_leaves": 2},
            lightgbm.Dataset(X[:500], np.abs(y[:500]) + (name == "gamma")),
            1,
        )


def squared(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


def logistic(y_true, y_pred):
    share = 1 / (1 + np.exp(-y_pred))
    return share - y_true, share * (1 - share)


def test_a_custom_regression():
    X, y, bounds = regression("regression")
    model = DPBoostRegressor(
        objective=squared,
        gradient_bound=4.0,
        schema={"bounds": BOUNDS, "label_bounds": bounds},
        **QUICK,
    ).fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) < 0.5 * y.var()
    assert model.objective_ is squared
    assert "objective=" not in model.booster_.model_to_string().split("Tree=0")[0]
    assert model.privacy_report_.facts["gradient_bound"] == 4.0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_custom_classification_predicts_raw_scores_as_lightgbm_does():
    X, y, _ = regression("binary")
    model = DPBoostClassifier(
        objective=logistic,
        gradient_bound=1.0,
        hessian_bound=0.25,
        schema={"bounds": BOUNDS, "classes": [0, 1]},
        **QUICK,
    ).fit(X, y.astype(int))
    raw = model.predict(X, raw_score=True)
    assert deviance("binary", y, 1 / (1 + np.exp(-raw))) < deviance("binary", y, y.mean())


def softmax(y_true, y_pred):
    p = np.exp(y_pred - y_pred.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - (np.arange(y_pred.shape[1]) == y_true[:, np.newaxis]), 2 * p * (1 - p)


CUSTOM = {
    "objective": softmax,
    "gradient_bound": 1.42,
    "hessian_bound": 0.78,
    "schema": {"bounds": BOUNDS, "classes": [0, 1, 2]},
}


def three_classes():
    X, truth, random = table()
    return X, np.digitize(truth + random.normal(0, 0.3, N_ROWS), [0.7, 1.7])


@pytest.mark.parametrize(
    "settings",
    [{}, {"delta": 0.0}, {"trees_per_ensemble": 10}, {"class_weight": "balanced"}],
    ids=["rounds of all rows", "pure", "rounds of some rows", "balanced"],
)
def test_a_custom_classification_of_several_classes(settings):
    X, y = three_classes()
    with pytest.warns(UserObjectiveWarning, match="depends on that row alone"):
        model = DPBoostClassifier(**CUSTOM, **{**QUICK, **settings}).fit(X, y)
    raw = model.predict(X)
    assert raw.shape == (N_ROWS, 3)
    assert (raw.argmax(axis=1) == y).mean() > np.bincount(y).max() / N_ROWS + 0.15
    np.testing.assert_array_equal(model.predict_proba(X), raw)
    text = model.booster_.model_to_string()
    np.testing.assert_array_equal(lightgbm.Booster(model_str=text).predict(X), raw)
    np.testing.assert_array_equal(model.ensemble_.predict(read_table(X)), raw)
    assert "each row alone" in model.privacy_report_.facts["custom objective"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), raw)


@pytest.mark.parametrize("objective", [softmax, "multiclass"])
def test_only_a_function_that_sees_rows_has_a_condition(objective):
    X, y = three_classes()
    model = DPBoostClassifier(**{**CUSTOM, "objective": objective}, **QUICK)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    told = [one for one in caught if issubclass(one.category, PrivacyWarning)]
    assert [issubclass(one.category, UserObjectiveWarning) for one in told] == [True] * (
        objective is softmax
    )


def test_custom_classes_give_the_same_model_however_their_rows_come():
    X, y = three_classes()
    settings = {**CUSTOM, **QUICK, "n_estimators": 10, "noise_seed": 1, "verbosity": -1}

    def trees(X, y, **rows):
        more = {"max_weight": 1.0} if rows else {}
        return trees_of(DPBoostClassifier(**settings, **more).fit(X, y, **rows).booster_)

    whole = trees(X, y)
    assert trees([X[:1500], X[1500:]], y) == whole
    assert trees(X, y, sample_weight=np.ones(N_ROWS)) == whole
    data = dpboost.Dataset(X, y)
    parameters = {**settings, "objective": of_dataset, "num_class": 3}
    with pytest.warns(UserWarning, match="not private"):
        assert trees_of(dpboost.train(parameters, data)) == whole


def trees_of(booster):
    return booster.model_to_string().split("Tree=0")[1].split("end of trees")[0]


def of_dataset(preds, train_data):
    assert preds.shape == (train_data.num_data(), 3)
    return softmax(train_data.get_label(), preds)


def test_public_rows_judge_raw_scores_of_custom_classes():
    X, y = three_classes()
    model = DPBoostClassifier(**CUSTOM, **QUICK)
    public = [(X.copy(), y.copy())]
    with pytest.warns(UserWarning, match="public"):
        model.fit(X, y, eval_set=public, eval_metric=["multi_error", hits])
    last = {name: values[-1] for name, values in model.evals_result_["valid_0"].items()}
    raw = model.predict(X)
    assert last["hits"] == np.mean(raw.argmax(axis=1) == y)
    assert last["multi_error"] == pytest.approx(1 - last["hits"])


def hits(y_true, y_pred):
    return "hits", np.mean(y_pred.argmax(axis=1) == y_true), True


def test_what_needs_probabilities_refuses_custom_classes():
    X, y = three_classes()
    model = DPBoostClassifier(**CUSTOM, **QUICK | {"n_estimators": 2})
    with pytest.raises(InvalidParameterError, match="raw scores"):
        model.fit(X, y, conformal=0.9)
    budget = dpboost.Budget(epsilon=8, delta=1e-5)
    model.fit(X, y, budget=budget, fraction=0.5)
    with pytest.raises(InvalidParameterError, match="raw scores"):
        dpboost.evaluate(model, X, y, budget=budget, fraction=0.5)
    parameters = {**CUSTOM, "objective": of_dataset, "num_class": 3}
    with pytest.warns(dpboost.ParameterWarning, match="multi_logloss: nan.*public_sets"):
        found = dpboost.cv(parameters, dpboost.Dataset(X, y), 2, nfold=2, metrics="multi_logloss")
    assert np.isnan(found["valid multi_logloss-mean"]).tolist() == [True] * 2
    with pytest.raises(InvalidParameterError, match="num_class"):
        dpboost.train({**parameters, "num_class": 2}, dpboost.Dataset(X, y))
    assert [line.what for line in budget.lines] == [type(model).__name__]


def test_weights_say_which_rows_count():
    X, y, bounds = regression("regression")
    right = X[:, 2] > 0.5
    labels = np.where(right, y, -y)
    options = {**QUICK, "schema": {"bounds": BOUNDS, "label_bounds": (-5, 5)}}
    for weights, truth in ((right, y), (~right, -y)):
        model = DPBoostRegressor(**options).fit(X, labels, sample_weight=weights.astype(float))
        rows = weights & (np.arange(N_ROWS) % 2 == 0)
        assert np.mean((model.predict(X) - truth)[rows] ** 2) < 0.4 * y.var()
    assert "weights" in model.privacy_report_.facts


def test_weights_are_clipped_and_their_scale_is_public():
    X, y, bounds = regression("regression")
    options = {
        **QUICK,
        "noise_seed": 0,
        "schema": {"bounds": BOUNDS, "label_bounds": bounds},
        "n_estimators": 10,
    }

    def predict(weights, **more):
        with pytest.warns(UserWarning, match="not private"):
            model = DPBoostRegressor(**options, **more).fit(X, y, sample_weight=weights)
        return model.predict(X)

    weights = np.random.default_rng(0).uniform(0, 3, N_ROWS)
    clipped = predict(np.clip(weights, 0, 1))
    np.testing.assert_array_equal(predict(weights), clipped)
    np.testing.assert_array_equal(predict(7 * np.clip(weights, 0, 1), max_weight=7.0), clipped)
    np.testing.assert_array_equal(predict(np.ones(N_ROWS)), predict(None))


@pytest.mark.parametrize("weights", [np.zeros(N_ROWS), np.full(N_ROWS, 0.5), np.full(N_ROWS, 3.0)])
def test_weights_without_a_bound_warn_whatever_they_are(weights):
    X, y, bounds = regression("regression")
    options = {**QUICK, "n_estimators": 2, "schema": {"bounds": BOUNDS, "label_bounds": bounds}}
    with pytest.warns(UnboundedWeightsWarning) as caught:
        DPBoostRegressor(**options).fit(X, y, sample_weight=weights)
    assert [str(warning.message) for warning in caught] == [
        "Weights of rows are given without max_weight, so weights above 1 count as 1: pass a "
        "public bound of the weights, max_weight=..."
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPBoostRegressor(max_weight=2.0, **options).fit(X, y, sample_weight=weights)


def test_the_bound_that_class_weights_imply_is_named():
    X, y = unbalanced()
    schema = {"bounds": BOUNDS, "classes": [0, 1]}
    few = QUICK | {"n_estimators": 10}
    model = DPBoostClassifier(class_weight={0: 1, 1: 6}, schema=schema, **few)
    with pytest.warns(UnboundedWeightsWarning, match="above 6 count as 6"):
        model.fit(X, y, sample_weight=np.ones(N_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)


def unbalanced():
    X, truth, random = table()
    return X, (truth + random.normal(0, 0.4, N_ROWS) > 2.2).astype(int)


@pytest.mark.parametrize(
    "weights",
    [{"class_weight": "balanced"}, {"is_unbalance": True}, {"class_weight": {0: 1.0, 1: 6.0}}],
    ids=str,
)
def test_class_weights_find_the_rare_class(weights):
    X, y = unbalanced()
    schema = {"bounds": BOUNDS, "classes": [0, 1]}
    plain = DPBoostClassifier(schema=schema, **QUICK).fit(X, y)
    model = DPBoostClassifier(schema=schema, **weights, **QUICK).fit(X, y)
    assert model.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.1
    report = model.privacy_report_
    assert report.spent <= report.capacity
    assert sum(release.label == "start value" for release in report.releases) == 1


def test_balanced_weights_of_three_classes():
    X, truth, random = table()
    y = np.digitize(truth + random.normal(0, 0.3, N_ROWS), [0.7, 2.3])
    schema = {"bounds": BOUNDS, "classes": [0, 1, 2]}
    for objective in (None, "multiclassova"):
        options = {"objective": objective, "schema": schema, **QUICK}
        plain = DPBoostClassifier(**options).fit(X, y)
        model = DPBoostClassifier(class_weight="balanced", **options).fit(X, y)
        assert (model.predict(X) == 2)[y == 2].mean() > (plain.predict(X) == 2)[y == 2].mean()


def test_training_begins_at_the_initial_scores_and_the_model_is_without_them():
    X, y, bounds = regression("regression")
    _, truth, _ = table()
    model = DPBoostRegressor(schema={"bounds": BOUNDS, "label_bounds": bounds}, **QUICK)
    model.fit(X, y, init_score=truth - 1)
    assert np.mean((model.predict(X) + truth - 1 - y) ** 2) < 0.25
    assert model.ensemble_.start == (0.0,)
    assert "initial scores" in model.privacy_report_.facts


def test_initial_scores_of_several_classes_in_both_forms():
    X, truth, _ = table()
    y = np.digitize(truth, [0.7, 1.7])
    scores = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    models = [
        DPBoostClassifier(
            schema={"bounds": BOUNDS, "classes": [0, 1, 2]},
            **{**QUICK, "n_estimators": 3, "noise_seed": 1},
        )
        for _ in range(2)
    ]
    with pytest.warns(UserWarning, match="not private"):
        models[0].fit(X, y, init_score=scores)
    with pytest.warns(UserWarning, match="not private"):
        models[1].fit(X, y, init_score=scores.T.ravel())
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


REFUSED = {
    "unknown": ({"objective": "squared"}, {}, "objective"),
    "ranking": ({"objective": "lambdarank"}, {}, "other rows.*rank pointwise"),
    "no bound": ({"objective": "cross_entropy_lambda"}, {}, "no bound"),
    "text for a function": ({"objective": "custom"}, {}, "function itself"),
    "of another task": ({"objective": "multiclass"}, {}, "objective"),
    "no gradient bound": ({"objective": squared}, {}, "gradient_bound"),
    "bad alpha": ({"objective": "quantile", "alpha": 1.0}, {}, "alpha"),
    "bad power": ({"objective": "tweedie", "tweedie_variance_power": 2.0}, {}, "variance_power"),
    "bad fair_c": ({"objective": "fair", "fair_c": 0.0}, {}, "fair_c"),
    "bad score bounds": ({"score_bounds": (1.0, 1.0)}, {}, "score_bounds"),
    "bad largest weight": ({"max_weight": 0.0}, {}, "max_weight"),
    "weights too few": ({}, {"sample_weight": np.ones(3)}, "same length"),
    "weights missing": ({}, {"sample_weight": np.full(50, np.nan)}, "sample_weight"),
    "weights negative": ({"max_weight": 1.0}, {"sample_weight": np.full(50, -1e-9)}, "negative"),
    "scores too few": ({}, {"init_score": np.zeros(3)}, "init_score"),
    "scores of two outputs": ({}, {"init_score": np.zeros((50, 2))}, "init_score"),
    "scores infinite": ({}, {"init_score": np.full(50, np.inf)}, "init_score"),
    "both": ({}, {"init_score": np.zeros(50), "init_model": "x"}, "init_score"),
    "no model": ({}, {"init_model": "no such file"}, "init_model"),
    "paper's recipe, objective": ({"objective": "huber", "recipe": "dpboost"}, {}, "recipe='best'"),
    "paper's recipe, weights": ({"recipe": "seq"}, {"sample_weight": np.ones(50)}, "recipe='best'"),
    "paper's recipe, scores": ({"recipe": "para"}, {"init_score": np.zeros(50)}, "recipe='best'"),
    "negative": ({"objective": "poisson", "schema": {"label_bounds": (-2, 0)}}, {}, "label_bounds"),
}


REFUSED_CLASSES = {
    "a regression": ({"objective": "huber"}, {}, "objective"),
    "two classes only": ({"objective": "cross_entropy"}, {}, "two classes"),
    "custom classes": ({"objective": logistic, "gradient_bound": 1.0}, {}, "labels of shape"),
    "weights of no class": ({"class_weight": {9: 1.0}}, {}, "class_weight"),
    "odd weights": ({"class_weight": "even"}, {}, "class_weight"),
    "negative weights": ({"class_weight": {0: -1.0}}, {}, "class_weight"),
    "twice": ({"class_weight": {0: 1.0}, "is_unbalance": True}, {}, "is_unbalance"),
    "scores of one class": ({}, {"init_score": np.zeros(60)}, "init_score"),
}


@pytest.mark.parametrize("case", [*REFUSED, *REFUSED_CLASSES])
def test_what_cannot_be_done_is_refused_before_anything_is_charged(case, no_release):
    parameters, arguments, message = (REFUSED | REFUSED_CLASSES)[case]
    X, y, _ = regression("regression")
    kind, labels = DPBoostRegressor, y[:50]
    if case in REFUSED_CLASSES:
        kind, labels = DPBoostClassifier, np.arange(60) % 3
    with pytest.raises(InvalidParameterError, match=message):
        kind(**parameters).fit(X[: len(labels)], labels, **arguments)


def test_labels_that_do_not_suit_are_no_error():
    X, y, _ = regression("regression")
    for name in ("poisson", "gamma", "tweedie", "cross_entropy"):
        schema = {"bounds": BOUNDS, "label_bounds": (0.0, 1.0)}
        model = DPBoostRegressor(objective=name, schema=schema, **{**QUICK, "n_estimators": 2})
        assert np.isfinite(model.fit(X, -1000 * np.abs(y)).predict(X)).all()


def test_label_bounds_may_be_learned():
    X, y, _ = regression("gamma")
    for name in ("poisson", "gamma", "quantile", "cross_entropy"):
        model = DPBoostRegressor(objective=name, **{**QUICK, "n_estimators": 5}).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        learned = "label bounds" in model.privacy_report_.facts["learned"]
        assert learned == (name != "cross_entropy")


def of_a_dataset(preds, train_data):
    assert train_data.get_weight() is None
    return preds - train_data.get_label(), np.ones_like(preds)


def test_a_custom_objective_of_train():
    X, y, bounds = regression("regression")
    options = {"epsilon": 4.0, "verbosity": -1, "num_threads": 1, "gradient_bound": 4.0}
    options["schema"] = {"bounds": BOUNDS, "label_bounds": bounds}
    booster = dpboost.train({**options, "objective": of_a_dataset}, dpboost.Dataset(X, y), 100)
    assert np.mean((booster.predict(X) - y) ** 2) < 0.5 * y.var()


def test_a_function_without_a_bound_is_clipped_to_its_largest_gradient_between_label_bounds():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 1))

    def squared(y, score):
        return 3.0 * (score - y), np.full(len(y), 1.0)

    options = {"objective": squared, "n_estimators": 3, "n_jobs": 1, "noise_seed": 0}
    known = {"label_bounds": (-1, 1), "bounds": {0: (-1, 1)}}
    with pytest.warns(dpboost.ParameterWarning, match="clipped to 6, the largest"):
        found = dpboost.DPBoostRegressor(schema=known, **options).fit(X, X[:, 0])
    assert found.privacy_report_.facts["gradient_bound"] == 6.0
    same = dpboost.DPBoostRegressor(schema=known, gradient_bound=6.0, **options).fit(X, X[:, 0])
    assert found.booster_.model_to_string() == same.booster_.model_to_string()
    for estimator, declared in (
        (dpboost.DPBoostRegressor, "label_bounds"),
        (dpboost.DPBoostClassifier, "classes"),
    ):
        with pytest.raises(dpboost.InvalidParameterError, match=rf"Schema\({declared}=...\)"):
            estimator(**options).fit(X, (X[:, 0] > 0).astype(int))


def steep(y, score):
    probability = 1 / (1 + np.exp(-score))
    return 3 * (probability - y), 3 * probability * (1 - probability)


def softmax_twice(y, scores):
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    probability = exponents / exponents.sum(axis=1, keepdims=True)
    return 2 * (probability - np.eye(3)[y.astype(int)]), 4 * probability * (1 - probability)


@pytest.mark.parametrize(("function", "classes"), [(steep, [0, 1]), (softmax_twice, [0, 1, 2])])
def test_a_function_of_declared_classes_needs_no_bound_either(function, classes):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (3000, 1))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, len(classes) + 1)[1:-1])
    schema = {"bounds": {0: (-1, 1)}, "classes": classes}
    model = DPBoostClassifier(objective=function, schema=schema, epsilon=4.0, n_jobs=1)
    with pytest.warns(dpboost.ParameterWarning, match="the largest for declared labels"):
        model.fit(X, y)
    bound = model.privacy_report_.facts["gradient_bound"]
    most = 3.0 if len(classes) == 2 else 2 * np.sqrt(2)
    assert 0.95 * most < bound <= most
    raw = model.predict(X, raw_score=True)
    guess = raw > 0 if len(classes) == 2 else raw.argmax(axis=1)
    assert np.mean(guess == y) > 0.9
