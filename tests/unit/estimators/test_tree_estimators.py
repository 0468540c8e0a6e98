"""The estimator: a scikit-learn classifier whose model is LightGBM's, and readable."""

import pickle

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from dpboost import (
    Booster,
    DPTreeClassifier,
    DPTreeRegressor,
    InvalidParameterError,
    Schema,
)
from dpboost.data.table import read_table
from dpboost.recipes.single_tree import TREE_ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore")

RECIPES = list(TREE_ALGORITHMS)

# LightGBM expects these to fail as well: see `tests/unit/test_sklearn.py`.
WEIGHTS = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "a weight is an attribute of one protected row",
)


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    n_rows = 2000
    job = random.choice(["clerk", "smith", "cook"], n_rows)
    age = random.uniform(15, 90, n_rows)
    age[::17] = np.nan
    X = pandas.DataFrame(
        {"age": age, "job": pandas.Categorical(job), "hours": random.integers(0, 60, n_rows)}
    )
    return X, job, np.nan_to_num(age)


def labels(frame, n_classes):
    _, job, age = frame
    kind = (age > 50) * 1 + (job == "smith") * 2
    return np.array([f"class {value % n_classes}" for value in kind])


def fit(X, y, **options):
    schema = {
        "bounds": {"age": (15, 90), "hours": (0, 60)},
        "categories": {"job": ["clerk", "cook", "smith"]},
    }
    if len(set(y.tolist())) > 1:  # one class is never declared, but it may be all there is
        schema["classes"] = sorted(set(y.tolist()))
    settings = {"epsilon": float("inf"), "n_jobs": 1, "schema": schema, **options}
    return DPTreeClassifier(**settings).fit(X, y)


EACH = pytest.mark.parametrize("recipe", RECIPES)
CLASSES = pytest.mark.parametrize("n_classes", [1, 2, 3, 4])


@EACH
@CLASSES
def test_the_text_in_lightgbm_and_the_released_tree_predict_alike(frame, recipe, n_classes):
    X, y = frame[0], labels(frame, n_classes)
    model = fit(X, y, recipe=recipe, epsilon=3.0, max_depth=3)
    raw = model.ensemble_.predict_raw(read_table(X, schema=model.schema_))
    assert np.array_equal(raw, model.decision_function(X))
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    assert np.array_equal(stock.predict(X, raw_score=True), raw)
    probability = model.predict_proba(X)
    assert probability.shape == (len(X), n_classes)
    assert probability.sum(axis=1) == pytest.approx(1)
    if n_classes == 2:
        assert stock.predict(X) == pytest.approx(probability[:, 1])
    if n_classes > 2:
        assert stock.predict(X) == pytest.approx(probability)
    assert np.array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    assert stock.num_trees() == (n_classes if n_classes > 2 else 1)


@EACH
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_those_of_the_leaf(frame, recipe, n_classes):
    X, y = frame[0], labels(frame, n_classes)
    model = fit(X, y, recipe=recipe, max_depth=2)
    inner = np.zeros(model.tree_.n_nodes, dtype=bool)
    inner[model.tree_.splits.node] = True
    of_leaves = model.tree_.probability[~inner]
    assert np.isnan(model.tree_.probability[inner]).all()
    leaves = model.apply(X)
    assert np.abs(model.predict_proba(X) - of_leaves[leaves]).max() < 2e-6
    # Without noise the counts of a leaf are those of the rows that come to it.
    counts = np.zeros_like(of_leaves)
    np.add.at(counts, (leaves, np.searchsorted(model.classes_, y)), 1)
    assert model.tree_.counts[~inner] == pytest.approx(counts)


@EACH
def test_a_tree_learns(frame, recipe):
    X, y = frame[0], labels(frame, 4)
    assert fit(X, y, recipe=recipe, max_depth=3).score(X, y) > 0.9
    assert fit(X, y, recipe=recipe, max_depth=3, epsilon=50.0, max_bin=20).score(X, y) > 0.7


@EACH
def test_saved_and_copied_models_predict_alike(frame, recipe, tmp_path):
    X, y = frame[0], labels(frame, 3)
    model = fit(X, y, recipe=recipe, epsilon=2.0)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict_proba(X), model.predict_proba(X))
    assert copied.export_text() == model.export_text()
    model.booster_.save_model(tmp_path / "tree.txt")
    loaded = Booster(model_file=tmp_path / "tree.txt")
    assert np.array_equal(loaded.predict(X), model.booster_.predict(X))
    assert "epsilon" in (tmp_path / "tree.txt").read_text()
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "tree_")


def test_leaf_counts_of_the_text_add_up_to_the_released_ones(frame):
    X, y = frame[0], labels(frame, 2)
    model = fit(X, y, epsilon=2.0, max_depth=2)
    inner = np.zeros(model.tree_.n_nodes, dtype=bool)
    inner[model.tree_.splits.node] = True
    counts = model.tree_.counts[~inner]
    dumped = model.booster_.trees_to_dataframe()
    found = dumped[dumped["left_child"].isna()]["count"].to_numpy()
    assert found.sum() == dumped["count"].iloc[0] == round(counts.sum())
    # Noise below zero, which no leaf can have, is taken from all leaves in proportion.
    released = np.maximum(counts, 0).sum(axis=1)
    share = (released - 1).clip(0) / (released - 1).clip(0).sum()
    expected = 1 + share * (found.sum() - len(found))
    np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1)


@pytest.mark.parametrize("recipe", ["best", "dp_topdown", "histograms"])
def test_gains_of_the_text_are_those_of_the_released_counts(frame, recipe):
    X, y = frame[0], labels(frame, 2)
    model = fit(X, y, epsilon=float("inf"), max_depth=1, recipe=recipe)
    dumped = model.booster_.trees_to_dataframe()
    sides = dumped.set_index("node_index").loc[[*dumped.iloc[0][["left_child", "right_child"]]]]
    n, m = sides["count"]
    p, q = 1 / (1 + np.exp(-sides["value"]))
    assert dumped["split_gain"].iloc[0] == pytest.approx(
        2 * n * m / (n + m) * (p - q) ** 2, rel=0.1
    )
    importance = model.booster_.feature_importance("gain")
    assert importance.sum() == pytest.approx(dumped["split_gain"].iloc[0])


def test_lightgbm_draws_it(frame):
    pytest.importorskip("graphviz")
    X, y = frame[0], labels(frame, 3)
    model = fit(X, y, recipe="diffp_id3", max_depth=1)
    (split,) = model.ensemble_.trees[0].feature[:1]
    assert X.columns[split] in lightgbm.create_tree_digraph(model.booster_).source


def test_it_is_read_as_text(frame):
    X, y = frame[0], labels(frame, 2)
    text = fit(X, y, max_depth=1, criterion="gini").export_text()
    assert text.count("|--- class: class") == 2
    assert text.startswith("|--- age <= ")
    assert "counts: [" in text
    named = fit(X, y, max_depth=1).export_text(feature_names=["A", "B", "C"], decimals=0)
    assert named.startswith("|--- A <= ")


@pytest.mark.parametrize(
    ("name", "value"),
    [("feature_names", ["A"]), ("max_depth", -1), ("decimals", 1.5)],
)
def test_bad_options_of_the_text_are_refused(frame, name, value):
    X, y = frame[0], labels(frame, 2)
    with pytest.raises(InvalidParameterError, match=name):
        fit(X, y, max_depth=1).export_text(**{name: value})


def test_what_is_used_is_an_attribute(frame):
    X, y = frame[0], labels(frame, 2)
    model = fit(X, y, recipe="dp_topdown", epsilon=1.0)
    assert (model.criterion_, model.n_splits_, model.depth_budget_) == ("entropy", 512, "uniform")
    assert model.prune_ is None
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["age", "job", "hours"]
    assert model.feature_importances_.shape == (3,)
    assert fit(X, y, max_depth=2).feature_importances_.sum() == pytest.approx(1)


def test_other_tables_are_refused(frame):
    X, y = frame[0], labels(frame, 2)
    model = fit(X, y, max_depth=1)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["job", "age", "hours"]])
    plain = DPTreeClassifier(schema=Schema(classes=(0, 1)), n_jobs=1)
    with pytest.raises(NotFittedError):
        plain.predict(X)
    plain.fit(np.zeros((9, 2)), np.zeros(9, dtype=int))
    with pytest.raises(ValueError, match="X has 3 features, but DPTreeClassifier is expecting 2"):
        plain.predict(np.zeros((4, 3)))


@pytest.mark.parametrize("name", ["epsilon", "delta", "neighbors", "schema", "n_jobs"])
def test_bad_parameters_are_refused(name):
    X, y = np.zeros((9, 2)), np.zeros(9, dtype=int)
    with pytest.raises(InvalidParameterError, match=name):
        DPTreeClassifier(**{name: object()}).fit(X, y)


@pytest.mark.parametrize("estimator", [DPTreeClassifier, DPTreeRegressor])
def test_scikit_learn_takes_it_for_an_estimator(estimator):
    results = check_estimator(
        estimator(noise_seed=1, epsilon=100.0, n_jobs=1),
        on_fail=None,
        on_skip=None,
        expected_failed_checks=WEIGHTS,
    )
    assert [item["check_name"] for item in results if item["status"] == "failed"] == []
