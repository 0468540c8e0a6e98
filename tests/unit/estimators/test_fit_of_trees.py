"""What a single tree shares with boosting: weights, users, batches, columns, budgets in zCDP."""

import math
import pickle

import lightgbm
import numpy as np
import pytest
import scipy.sparse

import dpboost
from dpboost import DPTreeClassifier, DPTreeRegressor, InvalidParameterError
from dpboost.data.sparse import SparseBins
from dpboost.recipes.single_tree import TREE_ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 3000
BOUNDS = {"bounds": dict.fromkeys(range(3), (0, 1))}
WEIGHTED = [name for name, recipe in TREE_ALGORITHMS.items() if recipe.weights]


def rows(seed=0):
    random = np.random.default_rng(seed)
    X = random.random((N_ROWS, 3))
    X[random.random(X.shape) < 0.3] = 0.0
    y = 2.0 * (X[:, 0] > 0.5) + X[:, 1]
    return X, y


def kind(estimator):
    """Return labels and schema for an estimator."""
    X, y = rows()
    if estimator is DPTreeClassifier:
        return X, (y > 1.5).astype(int), {**BOUNDS, "classes": [0, 1]}
    return X, y, {**BOUNDS, "label_bounds": (0, 3)}


def fit(estimator, X, y, *arguments, **options):
    given = {name: options.pop(name) for name in ("sample_weight", "user_ids") if name in options}
    return estimator(**{"n_jobs": 1, "noise_seed": 5, **options}).fit(X, y, *arguments, **given)


def text(model):
    return model.booster_.model_to_string()


BOTH = pytest.mark.parametrize("estimator", [DPTreeClassifier, DPTreeRegressor])


@BOTH
def test_without_noise_weights_are_numbers_of_rows(estimator):
    X, y, schema = kind(estimator)
    times = np.random.default_rng(1).integers(0, 4, N_ROWS)
    options = {"schema": schema, "epsilon": math.inf, "max_depth": 3}
    weighted = fit(estimator, X, y, sample_weight=times, max_weight=4.0, **options)
    repeated = fit(estimator, np.repeat(X, times, axis=0), np.repeat(y, times), **options)
    # Weights count in parts of the largest one; a tree of numbers is regularized by rows.
    assert 4 * weighted.tree_.counts[0] == pytest.approx(repeated.tree_.counts[0], abs=0.1)
    assert np.corrcoef(weighted._raw(X), repeated._raw(X))[0, 1] > 0.98
    if estimator is DPTreeClassifier:
        assert np.array_equal(weighted.tree_.splits.feature, repeated.tree_.splits.feature)
        assert np.array_equal(weighted.tree_.splits.split_bin, repeated.tree_.splits.split_bin)
        assert 4 * weighted.tree_.counts == pytest.approx(repeated.tree_.counts, abs=0.1)


@pytest.mark.parametrize("recipe", WEIGHTED)
def test_equal_weights_of_the_largest_size_change_no_split(recipe):
    X, y, schema = kind(DPTreeClassifier)
    options = {"schema": schema, "epsilon": math.inf, "recipe": recipe}
    plain = fit(DPTreeClassifier, X, y, **options)
    ones = fit(
        DPTreeClassifier, X, y, sample_weight=np.full(N_ROWS, 2.0), max_weight=2.0, **options
    )
    assert ones.export_text() == plain.export_text()


@pytest.mark.parametrize("recipe", sorted(set(TREE_ALGORITHMS) - set(WEIGHTED)))
def test_weights_are_refused_where_the_recipe_has_none(recipe):
    X, y, schema = kind(DPTreeClassifier)
    with pytest.raises(InvalidParameterError, match="sample_weight"):
        DPTreeClassifier(recipe=recipe, schema=schema, max_weight=1.0).fit(
            X, y, sample_weight=np.ones(N_ROWS)
        )


@BOTH
def test_a_sparse_table_stays_sparse(estimator, monkeypatch):
    X, y, schema = kind(estimator)
    expected = text(fit(estimator, X, y, schema=schema))
    columns = SparseBins.columns
    wide = []

    def watched(self, features):
        wide.append(len(features) == self.shape[0] and self.shape[0] > 1)
        return columns(self, features)

    monkeypatch.setattr(SparseBins, "columns", watched)
    for read in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        assert text(fit(estimator, read(X), y, schema=schema, max_depth=2)) == text(
            fit(estimator, X, y, schema=schema, max_depth=2)
        )
        assert text(fit(estimator, read(X), y, schema=schema)) == expected
    assert wide


@BOTH
def test_batches_give_the_tree_of_the_table(estimator):
    X, y, schema = kind(estimator)
    batches = [X[first : first + 700] for first in range(0, N_ROWS, 700)]
    expected = fit(estimator, X, y, schema=schema)
    assert text(fit(estimator, batches, y, schema=schema)) == text(expected)
    once = (batch for batch in batches)
    assert text(fit(estimator, once, y, schema=schema)) == text(expected)


@BOTH
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_users_are_protected(estimator, delta):
    X, y, schema = kind(estimator)
    users = np.arange(N_ROWS) // 10
    options = {"schema": schema, "delta": delta, "epsilon": 2.0, "noise_seed": None}
    model = fit(estimator, X, y, user_ids=users, rows_per_user=3, **options)
    report = model.privacy_report_
    assert report.rows_per_user == 3
    assert report.epsilon_spent <= 2.0
    assert "users" in str(report).lower() or "user" in str(report).lower()
    with pytest.raises(InvalidParameterError, match="rows_per_user"):
        fit(estimator, X, y, user_ids=users, **options)


@BOTH
def test_numeric_columns_may_hold_categories(estimator):
    X, y, schema = kind(estimator)
    X[:, 2] = np.arange(N_ROWS) % 4
    y = (X[:, 2] == 2).astype(int) if estimator is DPTreeClassifier else 2.0 * (X[:, 2] == 2)
    schema = {**schema, "bounds": {0: (0, 1), 1: (0, 1)}, "categories": {2: [0, 1, 2, 3]}}
    declared = fit(estimator, X, y, schema=schema, epsilon=8.0, max_depth=2)
    named = estimator(schema=schema, epsilon=8.0, max_depth=2, n_jobs=1, noise_seed=5)
    named.fit(X, y, categorical_feature=[2], feature_name=["a", "b", "c"])
    assert declared.tree_.splits.feature[0] == 2
    assert named.export_text().startswith("|--- c = 2")
    wrong = estimator(schema=schema, n_jobs=1)
    with pytest.raises(InvalidParameterError, match="categorical_feature"):
        wrong.fit(X, y, categorical_feature=[9])


@BOTH
def test_predictions_are_of_lightgbms_kinds(estimator):
    X, y, schema = kind(estimator)
    model = fit(estimator, X, y, schema=schema, epsilon=5.0, max_depth=3)
    stock = lightgbm.Booster(model_str=text(model))
    assert np.array_equal(model.predict(X, raw_score=True), stock.predict(X, raw_score=True))
    assert np.array_equal(
        np.ravel(model.predict(X, pred_leaf=True)), np.ravel(stock.predict(X, pred_leaf=True))
    )
    shown = model.predict(X, pred_contrib=True)
    assert shown.shape == (N_ROWS, 4)
    assert shown.sum(axis=1) == pytest.approx(model.predict(X, raw_score=True))
    assert np.array_equal(model.apply(X), np.ravel(stock.predict(X, pred_leaf=True)))


@BOTH
def test_delta_buys_gaussian_noise_for_our_own_recipe(estimator):
    X, y, schema = kind(estimator)
    model = fit(estimator, X, y, schema=schema, delta=1e-6, noise_seed=None)
    names = {release.mechanism for release in model.privacy_report_.releases}
    assert model.privacy_report_.accountant == "zCDP"
    assert names == {"discrete Gaussian", "exponential mechanism"}
    assert model.privacy_report_.epsilon_spent <= 1.0


@pytest.mark.parametrize("recipe", sorted(set(TREE_ALGORITHMS) - {"best"}))
def test_the_papers_trees_stay_pure(recipe):
    X, y, schema = kind(DPTreeClassifier)
    model = fit(DPTreeClassifier, X, y, recipe=recipe, schema=schema, delta=1e-6)
    assert model.privacy_report_.accountant == "pure"


@BOTH
def test_the_least_epsilon_is_drawn_with_delta_and_weights(estimator):
    X, y, schema = kind(estimator)
    recipe = estimator._recipes["best"]
    for delta in (0.0, 1e-12, 1e-5):
        for depth in (0, 12):
            terms = dpboost.recipes.recipe.Terms(
                delta=delta,
                task=estimator._task,
                neighbors=dpboost.privacy.sensitivity.bound.Neighbors.ADD_REMOVE,
                n_features=3,
                weighted=True,
            )
            least = recipe.least_epsilon({"max_depth": depth}, terms)
            options = {"schema": schema, "delta": delta, "max_depth": depth, "max_weight": 1.0}
            weights = np.ones(N_ROWS)
            fit(estimator, X, y, epsilon=1.0001 * least, sample_weight=weights, **options)
            with pytest.raises(InvalidParameterError, match="'epsilon' parameter"):
                fit(estimator, X, y, epsilon=0.9 * least, sample_weight=weights, **options)


def test_a_tree_of_numbers_learns_and_is_read():
    X, y, schema = kind(DPTreeRegressor)
    model = fit(DPTreeRegressor, X, y, schema=schema, epsilon=2.0)
    assert model.score(X, y) > 0.8
    shown = model.export_text()
    assert "value: [" in shown
    assert "rows: " in shown
    assert "rows: " not in model.export_text(show_counts=False)
    inner = np.zeros(model.tree_.n_nodes, dtype=bool)
    inner[model.tree_.splits.node] = True
    assert model.predict(X) == pytest.approx(model.tree_.value[~inner][model.apply(X)])
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict(X), model.predict(X))


def test_without_noise_values_of_leaves_are_means():
    X, y, schema = kind(DPTreeRegressor)
    model = fit(DPTreeRegressor, X, y, schema=schema, epsilon=math.inf, max_depth=2)
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        here = leaves == leaf
        assert model.predict(X[here])[0] == pytest.approx(y[here].mean(), abs=0.05)


def test_other_recipes_are_no_recipes_of_numbers():
    X, y, schema = kind(DPTreeRegressor)
    with pytest.raises(InvalidParameterError, match="'recipe' parameter.*'best'"):
        DPTreeRegressor(recipe="dp_topdown", schema=schema).fit(X, y)
    with pytest.raises(InvalidParameterError, match="learns a regression"):
        DPTreeRegressor(recipe=TREE_ALGORITHMS["dp_topdown"], schema=schema).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("hessian_share", 1.0), ("step_prior", 0), ("reg_lambda", 0), ("max_depth", 13)],
)
def test_bad_parameters_are_refused(name, value):
    X, y, schema = kind(DPTreeRegressor)
    with pytest.raises(InvalidParameterError, match=name):
        DPTreeRegressor(schema=schema, **{name: value}).fit(X, y)
