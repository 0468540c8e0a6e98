"""The orchestration of a single tree: public knowledge, refusals, least budgets."""

import numpy as np
import pytest
import scipy.sparse

from dpboost import DPTreeClassifier, InvalidParameterError, NotPrivateWarning, UndeclaredWarning
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Terms
from dpboost.recipes.single_tree import TREE_ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore")

RECIPES = list(TREE_ALGORITHMS)
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}


def terms(neighbors):
    return Terms(delta=0.0, task="classification", neighbors=neighbors, n_features=2)


def table(n_rows=400, seed=0):
    X = np.random.default_rng(seed).random((n_rows, 2))
    return X, (X[:, 0] > 0.4).astype(int)


@pytest.mark.parametrize("recipe", RECIPES)
def test_nothing_declared_is_learned_and_said(recipe):
    X, y = table()
    with pytest.warns(UndeclaredWarning, match="bounds"):
        model = DPTreeClassifier(recipe=recipe, epsilon=2.0, n_jobs=1).fit(X, y)
    text = model.privacy_report_.details()
    assert "set of class labels" in text
    assert "bounds of 2 numeric columns" in text
    assert model.privacy_report_.epsilon_spent <= 2.0


def test_classes_are_learned_where_they_may_not_be_assumed():
    X, y = table(4000)
    options = {"assume_public": ("column_types",), "schema": {"bounds": SCHEMA["bounds"]}}
    with pytest.warns(UndeclaredWarning, match="class labels"):
        model = DPTreeClassifier(epsilon=4.0, delta=1e-6, n_jobs=1, **options).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.privacy_report_.kind == "approximate"
    with pytest.raises(InvalidParameterError, match="delta"):
        DPTreeClassifier(epsilon=4.0, n_jobs=1, **options).fit(X, y)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_the_least_epsilon_is_drawn_and_less_is_refused(recipe, neighbors):
    X, y = table()
    for depth in (1, 10):
        least = TREE_ALGORITHMS[recipe].least_epsilon({"max_depth": depth}, terms(neighbors))
        options = {"recipe": recipe, "neighbors": neighbors.value, "schema": SCHEMA, "n_jobs": 1}
        model = DPTreeClassifier(epsilon=least, max_depth=depth, **options).fit(X, y)
        assert model.privacy_report_.epsilon_spent <= least
        with pytest.raises(InvalidParameterError, match="'epsilon' parameter of DPTree.*at least"):
            DPTreeClassifier(epsilon=least / 2, max_depth=depth, **options).fit(X, y)


def test_the_least_epsilon_serves_where_bounds_are_learned_and_thresholds_drawn_one_by_one():
    X, y = table()
    given = {"threshold_draws": "per_feature", "max_depth": 5}
    least = TREE_ALGORITHMS["diffp_c45"].least_epsilon(given, terms(Neighbors.ADD_REMOVE))
    DPTreeClassifier(
        recipe="diffp_c45", epsilon=least, threshold_draws="per_feature", n_jobs=1
    ).fit(X, y)


def test_rows_of_other_classes_take_no_part():
    X, y = table()
    y = np.where(np.arange(len(y)) % 2, 7, y)
    model = DPTreeClassifier(epsilon=float("inf"), schema=SCHEMA, n_jobs=1).fit(X, y)
    assert model.tree_.counts[0].sum() == 200


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, 400), "Unknown label type"),
        (np.arange(400), "at most 255 classes"),
        (np.zeros(399), "inconsistent numbers of samples"),
        (np.where(np.arange(400) % 2, np.nan, 1.0), "NaN"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(InvalidParameterError, match=message):
        DPTreeClassifier(n_jobs=1).fit(table()[0], y)


def test_classes_of_another_kind_are_refused():
    X, y = table()
    with pytest.raises(InvalidParameterError, match="one kind"):
        DPTreeClassifier(schema={"classes": ["a", "b"]}, n_jobs=1).fit(X, y)


@pytest.mark.parametrize("recipe", RECIPES)
def test_threads_change_nothing(recipe):
    X, y = table(30_000)
    texts = []
    for n_jobs in (1, 3):
        model = DPTreeClassifier(recipe=recipe, schema=SCHEMA, noise_seed=3, n_jobs=n_jobs)
        texts.append(model.fit(X, y).booster_.model_to_string())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_sparse_table_gives_the_tree_of_the_dense_one(recipe):
    X, y = table(3000)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    texts = []
    for rows in (X, scipy.sparse.csr_matrix(X), scipy.sparse.csc_matrix(X)):
        model = DPTreeClassifier(recipe=recipe, schema=SCHEMA, noise_seed=3, n_jobs=1)
        texts.append(model.fit(rows, y).export_text())
        assert np.array_equal(model.predict(rows), model.predict(X))
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("options", [{"noise_seed": 1}, {"epsilon": float("inf")}])
def test_a_model_without_privacy_says_so(options):
    X, y = table()
    with pytest.warns(NotPrivateWarning, match="not private") as caught:
        model = DPTreeClassifier(schema=SCHEMA, n_jobs=1, **options).fit(X, y)
    assert caught[0].filename == __file__
    assert not model.privacy_report_.private


@pytest.mark.parametrize("recipe", RECIPES)
def test_one_row_and_no_variety_are_no_errors(recipe):
    options = {"recipe": recipe, "schema": SCHEMA, "n_jobs": 1}
    for X, y in [
        (np.zeros((1, 2)), np.zeros(1, dtype=int)),
        (np.full((30, 2), np.nan), np.ones(30, dtype=int)),
        (np.full((30, 2), np.inf), np.arange(30) % 2),
    ]:
        model = DPTreeClassifier(epsilon=1.0, **options).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
