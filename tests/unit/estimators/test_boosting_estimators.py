"""The estimators as scikit-learn and LightGBM see them."""

import math
import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import dpboost
from dpboost import Booster, DPBoostClassifier, DPBoostRegressor
from dpboost.data.table import read_table

pytestmark = pytest.mark.filterwarnings("ignore")

FAST = {"n_estimators": 5, "max_depth": 3, "trees_per_ensemble": 5, "n_jobs": 1}

# Checks that fit twice and compare. Two fits of a private estimator differ by their noise (and,
# without noise, by the secret coins that deal rows to trees), which is what the guarantee rests
# on; with a noise seed all of them pass.
NOISE_DIFFERS = "two fits draw different noise"
FITS_TWICE = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_fit_idempotent",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_supervised_y_2d",
    ],
    NOISE_DIFFERS,
)

# LightGBM expects these to fail as well: weights that are all zero would have to be told of, and a
# row of weight two is no two rows, each of which is protected by itself.
WEIGHTS = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "a weight is an attribute of one protected row",
)


@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
@pytest.mark.parametrize("options", [{}, {"noise_seed": 0}, {"epsilon": math.inf}], ids=str)
def test_scikit_learns_own_checks(estimator, options):
    results = check_estimator(
        estimator(**options, n_estimators=10, max_depth=2, n_jobs=1),
        on_skip=None,
        on_fail=None,
        expected_failed_checks=WEIGHTS if "noise_seed" in options else FITS_TWICE | WEIGHTS,
    )
    failed = {
        result["check_name"]: repr(result["exception"])
        for result in results
        if result["status"] == "failed"
    }
    assert failed == {}
    assert sum(result["status"] == "passed" for result in results) > 40


def regression():
    X, y = load_diabetes(return_X_y=True)
    bounds = dict.fromkeys(range(X.shape[1]), (-0.2, 0.2))
    return X, y, {"bounds": bounds, "label_bounds": (25, 346)}


def binary():
    X, y = load_breast_cancer(return_X_y=True)
    bounds = {column: (0, 2.0 ** math.ceil(math.log2(X[:, column].max()))) for column in range(30)}
    return X, y, {"bounds": bounds, "classes": [0, 1]}


CASES = [(DPBoostRegressor, regression), (DPBoostClassifier, binary)]


def test_the_estimators_are_lightgbms():
    assert issubclass(DPBoostRegressor, lightgbm.LGBMRegressor)
    assert issubclass(DPBoostClassifier, lightgbm.LGBMClassifier)
    assert is_regressor(DPBoostRegressor())
    assert is_classifier(DPBoostClassifier())
    assert dpboost.LGBMRegressor is DPBoostRegressor
    assert dpboost.LGBMClassifier is DPBoostClassifier


@pytest.mark.parametrize(("estimator", "load"), CASES)
def test_stock_lightgbm_predicts_the_same_from_the_saved_text(estimator, load, tmp_path):
    X, y, schema = load()
    model = estimator(schema=schema, **FAST).fit(X, y)
    path = tmp_path / "m.txt"
    model.booster_.save_model(path)
    stock = lightgbm.Booster(model_file=str(path))

    # Values on every bin edge, next to it, missing, infinite, near zero.
    probes = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-36, -1e-36, 5e-324, 1e300]
    for feature in range(X.shape[1]):
        edges = model.ensemble_.binner.thresholds(feature)[:-1][::16]
        probes += [*edges, *np.nextafter(edges, math.inf), *np.nextafter(edges, -math.inf)]
    random = np.random.default_rng(0)
    rows = random.choice(np.array(probes), size=(4000, X.shape[1]))
    rows = np.vstack([rows, X])

    raw = stock.predict(rows, raw_score=True)
    ours = model.ensemble_.predict_raw(read_table(rows))
    assert np.array_equal(raw, ours)
    value = stock.predict(rows)
    assert np.array_equal(value, model.ensemble_.predict(read_table(rows)))
    if estimator is DPBoostClassifier:
        assert np.array_equal(value, model.predict_proba(rows)[:, 1])
        assert np.array_equal(raw, model.decision_function(rows))
    else:
        assert np.array_equal(value, model.predict(rows))
    contributions = stock.predict(rows, pred_contrib=True)
    assert np.isfinite(contributions).all()
    assert np.allclose(contributions.sum(axis=1), raw, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("estimator", "load"), CASES)
def test_pickle_and_clone(estimator, load):
    X, y, schema = load()
    model = estimator(schema=schema, **FAST).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.booster_.privacy_report == model.booster_.privacy_report
    assert str(copy.privacy_report_) == str(model.privacy_report_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "ensemble_")


@pytest.mark.parametrize(("estimator", "load"), CASES)
def test_values_the_recipe_decides_appear_after_fit(estimator, load):
    X, y, schema = load()
    model = estimator(recipe="dpboost", schema=schema, n_jobs=1).fit(X, y)
    assert model.n_estimators == 100
    assert model.n_estimators_ == 20
    assert model.learning_rate_ == 0.2
    assert model.max_depth_ == 3
    assert model.reg_lambda_ == 30
    assert model.trees_per_ensemble_ == 20
    assert model.booster_.num_trees() == 20
    paper = estimator(recipe="dpboost", preset="paper", schema=schema, n_jobs=1).fit(X, y)
    assert (paper.n_estimators_, paper.max_depth_, paper.reg_lambda_) == (50, 6, 0.1)
    chosen = estimator(schema=schema, learning_rate=0.5, **FAST).fit(X, y)
    assert chosen.learning_rate_ == 0.5
    assert chosen.max_depth_ == 3
    assert chosen.booster_.num_trees() == 5


def test_epsilon_data_and_recipe_change_the_model():
    X, y, schema = regression()

    def trees(rows=X, **options):
        settings = {"schema": schema, "noise_seed": 0, **FAST, **options}
        with pytest.warns(dpboost.NotPrivateWarning):
            model = DPBoostRegressor(**settings).fit(rows, y)
        text = model.booster_.model_to_string()
        return text[text.index("Tree=0") : text.index("end of trees")]

    base = trees()
    assert base == trees()
    assert base != trees(epsilon=2.0)
    assert base != trees(rows=X[::-1].copy())
    assert base != trees(recipe="seq", trees_per_ensemble=None)
    assert base != trees(recipe="para", trees_per_ensemble=None)
    assert base != trees(recipe="dpboost")
    assert base != trees(neighbors="replace")
    paper = {"recipe": "dpboost", "epsilon": 30.0}
    assert trees(**paper) != trees(**paper, selection="permute_and_flip")


def test_lightgbms_tools_take_the_model():
    X, y, schema = binary()
    model = DPBoostClassifier(schema=schema, **FAST).fit(X, y)
    assert isinstance(model.booster_, Booster)
    assert model.booster_.feature_importance("split").sum() == 5 * 7
    np.testing.assert_array_equal(
        model.feature_importances_, model.booster_.feature_importance("gain")
    )
    assert model.n_features_in_ == 30
    assert model.feature_name_ == [f"Column_{column}" for column in range(30)]
    assert model.predict(X, pred_leaf=True).shape == (len(X), 5)
    assert model.predict(X, pred_contrib=True).shape == (len(X), 31)
    assert len(model.booster_.trees_to_dataframe()) == 5 * 15
    assert model.objective_ == "binary"
    pytest.importorskip("matplotlib").use("Agg")
    assert lightgbm.plot_importance(model) is not None


@pytest.mark.parametrize("declared", [None, [0, 1], [False, True], [1.0, 0.0]])
@pytest.mark.parametrize("mixed", [[1, 1.0, True, 0], [0.0, True, 1], [False, 1.0, 0, 1]])
def test_equal_labels_of_other_types_are_one_class(mixed, declared):
    y = np.array(mixed * 10, dtype=object)
    X = np.arange(len(y), dtype=float)[:, None]
    model = DPBoostClassifier(schema={"classes": declared}, **FAST).fit(X, y)
    expected = np.unique([0, 1] if declared is None else declared)
    assert model.classes_.dtype == expected.dtype
    assert model.classes_.tolist() == expected.tolist()
    assert model.predict(X).dtype == expected.dtype


def test_one_warning_lists_the_labels_that_are_published():
    X, y, schema = binary()
    known = {"bounds": schema["bounds"]}
    with pytest.warns(dpboost.AssumedPublicWarning, match="'ill', 'well'") as caught:
        DPBoostClassifier(schema=known, **FAST).fit(X, np.where(y, "ill", "well"))
    assert len([w for w in caught if issubclass(w.category, dpboost.AssumedPublicWarning)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpboost.AssumedPublicWarning)
        DPBoostClassifier(schema=schema, **FAST).fit(X, y)


def test_unseen_codes_of_a_learned_column_are_other():
    codes = np.tile([3.0, 8.0], 1000)
    X = np.column_stack([codes, np.zeros(2000)])
    schema = {"label_bounds": (0, 1), "bounds": {1: (0, 1)}}
    model = DPBoostRegressor(schema=schema, epsilon=50.0, **FAST)
    model.fit(X, codes == 3, categorical_feature=[0])
    assert model.schema_.categories == {0: (3, 8)}
    strange = np.array([[11.0, 0], [np.nan, 0], [-1.0, 0], [70000.0, 0], [np.inf, 0]])
    predicted = model.predict(np.vstack([strange, X[:2]]))
    assert len(set(predicted[:5])) == 1
    assert predicted[5] > predicted[6] + 0.05
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    assert np.array_equal(stock.predict(strange), predicted[:5])


def test_frames_with_declared_categories():
    random = np.random.default_rng(0)
    jobs = random.choice(["clerk", "nurse", "smith"], 400)
    frame = pd.DataFrame({"job": jobs, "my age": random.integers(20, 60, 400)})
    y = (jobs == "nurse") * 2.0 + frame["my age"] / 60
    schema = {
        "categories": {"job": ["smith", "nurse", "clerk"]},
        "bounds": {"my age": (20, 60)},
        "label_bounds": (0, 3),
    }
    model = DPBoostRegressor(schema=schema, epsilon=100.0, **FAST).fit(frame, y)
    assert list(model.feature_names_in_) == ["job", "my_age"]
    categorical = frame.assign(job=frame["job"].astype("category"))
    expected = model.predict(frame)
    assert np.array_equal(model.predict(categorical), expected)
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    assert np.array_equal(stock.predict(categorical), expected)
    assert len(np.unique(expected)) > 1


# -- several classes ------------------------------------------------------------------------------


def three_classes(n_rows=3000, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n_rows, 3))
    X[random.random((n_rows, 3)) < 0.02] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + 0.3 * np.nan_to_num(X[:, 1]), [-0.4, 0.4])
    return X, np.array(["low", "middle", "high"])[y], {"bounds": dict.fromkeys(range(3), (-1, 1))}


@pytest.mark.parametrize("delta", [1e-6, 0])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_several_classes_are_learned_and_written(delta, neighbors):
    X, y, schema = three_classes()
    model = DPBoostClassifier(
        epsilon=4.0, delta=delta, neighbors=neighbors, schema=schema, n_jobs=1, verbosity=0
    ).fit(X, y)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.booster_.num_model_per_iteration() == 3
    assert model.booster_.num_trees() == 3 * model.n_estimators_
    assert model.score(X, y) > 0.8
    assert model.privacy_report_.spent <= model.privacy_report_.capacity


def test_class_probabilities_are_those_of_stock_lightgbm():
    X, y, schema = three_classes()
    model = DPBoostClassifier(schema=schema, **FAST).fit(X, y)
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    table = read_table(X, schema=model.schema_)
    raw = stock.predict(X, raw_score=True)
    np.testing.assert_array_equal(raw, model.ensemble_.predict_raw(table))
    np.testing.assert_array_equal(raw, model.decision_function(X))
    probability = model.predict_proba(X)
    np.testing.assert_array_equal(stock.predict(X), probability)
    np.testing.assert_array_equal(model.ensemble_.predict(table), probability)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (model.predict(X) == model.classes_[probability.argmax(axis=1)]).all()
    assert model.predict(X, pred_leaf=True).shape == (len(X), 15)
    assert model.predict_proba(X, pred_contrib=True).shape == (len(X), 12)


def test_a_declared_class_without_rows_has_a_small_probability():
    X, y, schema = three_classes()
    schema = {**schema, "classes": ["low", "middle", "high", "none"]}
    model = DPBoostClassifier(epsilon=8.0, schema=schema, n_jobs=1, verbosity=0).fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 4)
    assert model.predict_proba(X)[:, model.classes_.tolist().index("none")].mean() < 0.05


# -- parameters of LightGBM ------------------------------------------------------------------------


def test_zeros_may_be_missing():
    random = np.random.default_rng(0)
    X = random.uniform(1, 2, (2000, 2))
    absent = random.random(2000) < 0.5
    X[absent, 0] = 0.0
    schema = {"bounds": {0: (0, 2), 1: (0, 2)}, "label_bounds": (-1, 1)}
    options = {"schema": schema, "epsilon": 50.0, "n_jobs": 1, "verbosity": 0, "max_depth": 3}
    model = DPBoostRegressor(zero_as_missing=True, n_estimators=100, **options)
    model.fit(X, np.where(absent, 1.0, -1.0))
    assert model.ensemble_.binner.zero_as_missing
    missing = np.where(absent[:, np.newaxis] & [True, False], np.nan, X)
    predicted = model.predict(X)
    np.testing.assert_array_equal(model.predict(missing), predicted)
    assert predicted[absent].mean() > predicted[~absent].mean() + 0.5
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(stock.predict(X), predicted)


def test_an_evaluation_set_is_read_as_the_rows_are():
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 50)
    schema = {"bounds": {0: (0, 2), 1: (0, 2)}, "label_bounds": (-1, 1)}
    model = DPBoostRegressor(
        zero_as_missing=True, schema=schema, n_estimators=20, n_jobs=1, verbosity=0
    )
    y = np.where(X[:, 0] == 0, 1.0, -1.0)
    with pytest.warns(dpboost.PublicRowsWarning):
        model.fit(X, y, eval_set=[(X.copy(), y.copy())])
    error = np.mean((model.predict(X) - y) ** 2)
    assert model.evals_result_["valid_0"]["l2"][-1] == pytest.approx(error, rel=1e-6)


def test_the_common_base_and_rankers_say_what_to_use():
    with pytest.raises(dpboost.InvalidParameterError, match="LGBMRegressor or LGBMClassifier"):
        dpboost.LGBMModel(objective="binary")
    with pytest.raises(dpboost.InvalidParameterError, match=r"LGBMRanker .*mix .*Rank pointwise"):
        dpboost.LGBMRanker(n_estimators=5)
    for method in (dpboost.LGBMRanker.fit, dpboost.LGBMRanker.predict):
        with pytest.raises(dpboost.InvalidParameterError, match="Rank pointwise"):
            method(object.__new__(dpboost.LGBMRanker), [[1.0]])


@pytest.mark.parametrize("library", [lightgbm, dpboost])
@pytest.mark.parametrize("kind", ["LGBMRegressor", "LGBMClassifier"])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_requests_of_metadata_are_lightgbms(library, kind, method):
    with config_context(enable_metadata_routing=True):
        theirs = getattr(lightgbm, kind)().get_metadata_routing()
        model = getattr(library, kind)()
        names = set(getattr(theirs, method).requests)
        assert names == set(getattr(model.get_metadata_routing(), method).requests)
        if names:
            getattr(model, f"set_{method}_request")(**dict.fromkeys(names, True))


def test_whose_rows_they_are_reaches_the_fits_of_a_search():
    X = np.random.default_rng(0).uniform(-1, 1, (120, 2))
    schema = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}
    with config_context(enable_metadata_routing=True):
        model = DPBoostRegressor(schema=schema, rows_per_user=2, **FAST)
        model.set_fit_request(user_ids=True).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"learning_rate": [0.1]}, cv=2)
        search.fit(X, X[:, 0], user_ids=np.arange(120) // 3)
    assert search.best_estimator_.privacy_report_.rows_per_user == 2


def informative(n_rows=4000):
    """Rows whose label is of the first two of eight columns."""
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (n_rows, 8))
    return X, 2 * X[:, 0] + X[:, 1] + rng.normal(0, 0.2, n_rows)


INFORMATIVE = {"bounds": dict.fromkeys(range(8), (-1, 1)), "label_bounds": (-4, 4)}


def test_gain_importances_are_without_their_noise():
    X, y = informative()
    model = DPBoostRegressor(epsilon=3.0, schema=INFORMATIVE, importance_type="gain").fit(X, y)
    gains = model.feature_importances_
    assert (gains >= 0).all()
    # With their noise, those of noise would be about half as large as the others.
    assert gains[2:].mean() < 0.25 * gains[:2].mean()
    assert gains[0] > gains[1]
    splits = model.booster_.feature_importance("split")
    assert splits.sum() == model.booster_.trees_to_dataframe()["split_feature"].notna().sum()


def test_gains_are_squares_of_labels_times_rows():
    """Ten times the label is a hundred times the gain, as in LightGBM."""
    X, y = informative()
    setting = {"epsilon": math.inf, "random_state": 1, "n_jobs": 1, "importance_type": "gain"}
    totals = []
    for scale in (1.0, 10.0):
        schema = INFORMATIVE | {"label_bounds": (-4 * scale, 4 * scale)}
        model = DPBoostRegressor(**setting, schema=schema, n_estimators=30).fit(X, scale * y)
        totals.append(model.feature_importances_.sum())
    assert totals[1] == pytest.approx(100 * totals[0], rel=1e-3)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_leaf_counts_add_up_to_the_released_rows(n_classes):
    X, y = informative(2000)
    kind, schema = DPBoostRegressor, INFORMATIVE
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
        kind, schema = DPBoostClassifier, {"bounds": INFORMATIVE["bounds"], "classes": range(3)}
        schema["classes"] = list(range(n_classes))
    model = kind(epsilon=4.0, schema=schema, n_estimators=20, n_jobs=1).fit(X, y)
    frame = model.booster_.trees_to_dataframe()
    (n_rows,) = set(frame.loc[frame["node_depth"] == 1, "count"].astype(int))
    assert n_rows == round(model.ensemble_.n_rows)
    assert n_rows == pytest.approx(2000, rel=0.1)
    leaves = frame[frame["left_child"].isna()]
    assert (leaves.groupby("tree_index")["count"].sum() == n_rows).all()


def test_weighted_rows_count_by_their_weights():
    X, y = informative(2000)
    weight = np.where(np.arange(2000) % 2, 0.5, 1.5)
    model = DPBoostRegressor(epsilon=4.0, schema=INFORMATIVE, n_estimators=5, max_weight=2.0)
    model.fit(X, y, sample_weight=weight)
    assert model.ensemble_.n_rows == pytest.approx(weight.sum(), rel=0.1)


def test_balanced_classes_count_their_rows():
    X, y = informative(2000)
    schema = {"bounds": INFORMATIVE["bounds"], "classes": [0, 1]}
    model = DPBoostClassifier(epsilon=4.0, schema=schema, n_estimators=5, class_weight="balanced")
    model.fit(X, (y > 1.5).astype(int))
    assert model.ensemble_.n_rows == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_recipes_of_released_values_alone_rank_features_by_them(recipe):
    X, y = informative()
    setting = {"epsilon": math.inf, "n_jobs": 1, "importance_type": "gain", "n_estimators": 10}
    model = DPBoostRegressor(**setting, schema=INFORMATIVE, recipe=recipe).fit(X, y)
    gains = model.feature_importances_
    assert gains[0] > gains[1] > 5 * gains[2:].max()
    assert model.ensemble_.n_rows is None


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_lightgbms_own_estimator_predicts_the_same_doubles(n_classes):
    X, y = informative(500)
    kind, schema = DPBoostRegressor, INFORMATIVE
    if n_classes:
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
        kind, schema = DPBoostClassifier, {**INFORMATIVE, "classes": sorted(set(y))}
        del schema["label_bounds"]
    model = kind(schema=schema, importance_type="gain", **FAST).fit(X, y)
    stock = pickle.loads(pickle.dumps(model.to_lightgbm()))
    assert type(stock) is (lightgbm.LGBMClassifier if n_classes else lightgbm.LGBMRegressor)
    np.testing.assert_array_equal(stock.predict(X), model.predict(X))
    if n_classes:
        np.testing.assert_array_equal(stock.predict_proba(X), model.predict_proba(X))
        assert list(stock.classes_) == list(model.classes_)
    np.testing.assert_array_equal(stock.feature_importances_, model.feature_importances_)
    report = Booster(model_str=stock.booster_.model_to_string()).privacy_report
    assert report.to_dict() == model.privacy_report_.to_dict()
    # What goes on from it adds up the budgets, as from our own.
    more = kind(schema=schema, **FAST).fit(X, y, init_model=stock)
    assert more.privacy_report_.private


def test_what_is_not_fitted_has_no_model():
    with pytest.raises(NotFittedError):
        DPBoostRegressor().to_lightgbm()


def sparse_rows():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    X[np.abs(X) < 0.5] = 0.0
    return X, X[:, 0] + X[:, 1]


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
@pytest.mark.parametrize("cuts", [None, [0.0], [-0.5, 0.5]])
def test_contributions_of_sparse_rows_are_lightgbms(layout, method, cuts):
    X, y = sparse_rows()
    kinds = ("LGBMRegressor", dpboost.DPTreeRegressor)
    declared = {"bounds": dict.fromkeys(range(4), (-1, 1)), "label_bounds": (-2, 2)}
    if cuts is not None:
        y, kinds = np.digitize(y, cuts), ("LGBMClassifier", dpboost.DPTreeClassifier)
        declared = {**declared, "classes": range(len(cuts) + 1), "label_bounds": None}
    elif method == "predict_proba":
        return
    stock = getattr(lightgbm, kinds[0])(n_estimators=5, verbosity=-1).fit(X, y)
    own = getattr(dpboost, kinds[0])(n_estimators=5, verbosity=-1, schema=declared).fit(X, y)
    tree = kinds[1](schema=declared, max_depth=2).fit(X, y)
    rows = scipy.sparse.csr_matrix(X).asformat(layout)
    theirs = getattr(stock, method)(rows, pred_contrib=True)
    for model in (own, tree):
        found = getattr(model, method)(rows, pred_contrib=True)
        dense = getattr(model, method)(X, pred_contrib=True)
        assert type(found) is type(theirs)
        listed = found if isinstance(found, list) else [found]
        assert len(listed) == (len(theirs) if isinstance(theirs, list) else 1)
        assert {each.format for each in listed} == {layout}
        np.testing.assert_array_equal(np.hstack([each.toarray() for each in listed]), dense)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_two_classes_may_have_an_output_each(objective):
    X, y = sparse_rows()
    labels = np.where(y > 0, "yes", "no")
    declared = {"bounds": dict.fromkeys(range(4), (-1, 1)), "classes": ["no", "yes"]}
    given = {"objective": objective, "n_estimators": 20, "epsilon": 20.0, "verbosity": -1}
    model = DPBoostClassifier(**given, schema=declared).fit(X, labels)
    assert model.booster_.num_trees() == 40
    raw = model.predict(X, raw_score=True)
    assert raw.shape == (200, 2)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(proba, model.booster_.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(X), raw[:, 1] - raw[:, 0])
    assert np.mean(model.predict(X) == labels) > 0.7
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), proba)
    large = np.tile(X, (2000, 1))
    np.testing.assert_array_equal(model.predict_proba(large)[:200], proba)
    np.testing.assert_array_equal(model.to_lightgbm().predict(X), model.predict(X))


@pytest.mark.parametrize("n_rounds", [1, 2, 5, 30])
@pytest.mark.parametrize("direction", [[1, 0, 0, 0], [1, -1, 0, 0]])
def test_directions_leave_the_number_of_trees(n_rounds, direction):
    X, y = sparse_rows()
    declared = {"bounds": dict.fromkeys(range(4), (-1, 1)), "label_bounds": (-2, 2)}
    given = {"n_estimators": n_rounds, "monotone_constraints": direction, "verbosity": -1}
    model = DPBoostRegressor(**given, schema=declared).fit(X, y)
    assert model.booster_.num_trees() == model.n_estimators_ == n_rounds
    assert model.predict(X, pred_leaf=True).shape == (200, n_rounds)
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(stock.predict(X), model.predict(X))
    assert model.booster_.trees_to_dataframe()["tree_index"].nunique() == n_rounds
