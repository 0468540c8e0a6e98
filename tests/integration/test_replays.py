"""Every kind of call is replayed from a file, without its rows, and gives the same again."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dpboost
from dpboost import (
    Budget,
    Dataset,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    Transcript,
    evaluate,
    feature_histograms,
    refit_leaves,
    replay,
)
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.single_tree import NUMBER_TREE_ALGORITHMS, TREE_ALGORITHMS
from tests.every_replay import visible

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(8)
N_ROWS = 400
X = RNG.uniform(-1, 1, size=(N_ROWS, 3))
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=N_ROWS)
CLASSES = (NUMBERS > 0).astype(int)
THREE = np.digitize(NUMBERS, [-0.4, 0.4])
USERS = RNG.integers(0, 150, N_ROWS)
BOUNDS = {"bounds": {0: (-1, 1), 1: (-1, 1), 2: (-1, 1)}}
FOR_NUMBERS = {**BOUNDS, "label_bounds": (-2, 2)}
FOR_CLASSES = {**BOUNDS, "classes": [0, 1]}
FEW = {"n_estimators": 6, "verbosity": -1, "epsilon": 5.0, "delta": 1e-5}


def classifier(**given):
    return DPBoostClassifier(**{**FEW, "schema": FOR_CLASSES, **given})


def regressor(**given):
    return DPBoostRegressor(**{**FEW, "schema": FOR_NUMBERS, **given})


def from_file(transcript, folder):
    transcript.save(folder / "call.transcript")
    return Transcript.load(folder / "call.transcript")


def check(result, folder):
    """Replay from a file and compare all that a user sees."""
    transcript = getattr(result, "transcript_", None) or result.transcript
    again = replay(from_file(transcript, folder))
    assert visible(again) == visible(result)
    return again


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("task", [classifier, regressor])
def test_every_recipe(recipe, task, tmp_path):
    labels = CLASSES if task is classifier else NUMBERS
    check(task(recipe=recipe).fit(X, labels), tmp_path)


@pytest.mark.parametrize("recipe", list(TREE_ALGORITHMS))
def test_every_tree_of_classes(recipe, tmp_path):
    tree = DPTreeClassifier(recipe=recipe, schema=FOR_CLASSES, epsilon=5.0, max_depth=2)
    check(tree.fit(X, CLASSES), tmp_path)


@pytest.mark.parametrize("recipe", list(NUMBER_TREE_ALGORITHMS))
def test_every_tree_of_numbers(recipe, tmp_path):
    tree = DPTreeRegressor(recipe=recipe, schema=FOR_NUMBERS, epsilon=5.0, max_depth=2)
    check(tree.fit(X, NUMBERS), tmp_path)


FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    kind=pd.Categorical(np.where(X[:, 1] > 0, "up", "down")), whole=np.arange(N_ROWS) % 5
)
FORMS = {
    "float32": X.astype(np.float32),
    "lists": X.tolist(),
    "lists of whole numbers": (10 * X).astype(int).tolist(),
    "integers": (10 * X).astype(int),
    "booleans": X > 0,
    "objects": X.astype(object),
    "sparse rows": sparse.csr_matrix(X),
    "sparse columns": sparse.csc_matrix(X),
    "frame": FRAME,
    "batches": [X[:100], X[100:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_with_nothing_declared(form, tmp_path):
    model = classifier(schema=None, epsilon=50.0).fit(FORMS[form], CLASSES)
    again = check(model, tmp_path)
    assert again.schema_ == model.schema_


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries(library, tmp_path):
    module = pytest.importorskip(library)
    columns = {name: X[:, position] for position, name in enumerate("abc")}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    check(regressor(schema={"label_bounds": (-2, 2)}).fit(table, NUMBERS), tmp_path)


@pytest.mark.parametrize("assumed", [(), ("classes",), ("column_types", "classes", "categories")])
def test_what_is_assumed_public(assumed, tmp_path):
    labels = np.where(CLASSES == 1, "yes", "no")
    model = classifier(schema=None, assume_public=assumed, epsilon=50.0).fit(FRAME, labels)
    again = check(model, tmp_path)
    assert again.classes_.tolist() == model.classes_.tolist()


ARGUMENTS = {
    "weights": {"sample_weight": np.full(N_ROWS, 0.5)},
    "initial scores": {"init_score": 0.1 * X[:, 0]},
    "evaluation rows": {"eval_set": [(X[:50], NUMBERS[:50])], "eval_metric": "l1"},
    "names": {"feature_name": ["a", "b", "c"]},
    "intervals": {"conformal": 0.9},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_fit(name, tmp_path):
    check(regressor(max_weight=1.0).fit(X, NUMBERS, **ARGUMENTS[name]), tmp_path)


PARAMETERS = {
    "several quantiles": {"objective": "quantile", "alpha": [0.1, 0.9]},
    "poisson": {"objective": "poisson", "schema": {**BOUNDS, "label_bounds": (0, 2)}},
    "directions": {"monotone_constraints": [1, 0, 0]},
    "replace": {"neighbors": "replace"},
    "pure": {"delta": 0.0},
    "a generator": {"random_state": np.random.RandomState(0)},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name, tmp_path):
    labels = NUMBERS if name != "poisson" else np.abs(NUMBERS)
    check(regressor(**PARAMETERS[name]).fit(X, labels), tmp_path)


def test_several_classes(tmp_path):
    check(classifier(schema={**BOUNDS, "classes": [0, 1, 2]}).fit(X, THREE), tmp_path)


def test_users(tmp_path):
    model = regressor(rows_per_user=2, epsilon=20.0)
    check(model.fit(X, NUMBERS, user_ids=USERS), tmp_path)


def test_continued_models(tmp_path):
    first = regressor().fit(X, NUMBERS)
    check(regressor().fit(X, NUMBERS, init_model=first), tmp_path)
    check(regressor().fit(X, NUMBERS, init_model=first.booster_), tmp_path)


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


def test_an_objective_of_ones_own_is_given_again(tmp_path):
    model = regressor(objective=squares, gradient_bound=4.0, hessian_bound=1.0).fit(X, NUMBERS)
    loaded = from_file(model.transcript_, tmp_path)
    with pytest.raises(dpboost.InvalidParameterError, match=r"'objective'.*squares \(code"):
        replay(loaded)
    assert visible(replay(loaded, objective=squares)) == visible(model)


@pytest.mark.parametrize("stopping", [None, 2])
def test_a_budget_with_holdout_evaluation_drift_and_refit(stopping, tmp_path):
    budget = Budget(epsilon=20, delta=1e-5, table="stays")
    options = {"early_stopping_round": stopping} if stopping else {}
    model = classifier(epsilon=1.0, n_estimators=40, **options)
    model.fit(X, CLASSES, budget=budget, fraction=0.4, holdout=0.3)
    again = check(model, tmp_path)
    assert again.best_iteration_ == model.best_iteration_
    check(evaluate(model, budget=budget, fraction=0.1), tmp_path)
    groups = (np.where(X[:, 1] > 0, "up", "down"), ["up", "down"])
    check(evaluate(model, X, CLASSES, groups=groups, budget=budget, fraction=0.1), tmp_path)
    check(feature_histograms(model, X, budget=budget, fraction=0.1), tmp_path)
    check(refit_leaves(model, X, CLASSES, budget=budget, fraction=0.1), tmp_path)


def test_a_budget_for_users_and_disjoint_tables(tmp_path):
    budget = Budget(epsilon=40, delta=1e-5, rows_per_user=2)
    given = {"budget": budget.disjoint("north"), "fraction": 0.6}
    model = regressor(epsilon=1.0, rows_per_user=2).fit(X, NUMBERS, user_ids=USERS, **given)
    check(model, tmp_path)
    own = {"user_ids": USERS, "budget": budget, "fraction": 0.2}
    check(evaluate(model, X, NUMBERS, **own), tmp_path)


PARAMS = {"objective": "binary", "epsilon": 8.0, "schema": FOR_CLASSES, "verbosity": -1}


def test_train_and_cv(tmp_path):
    data = Dataset(X, CLASSES)
    public = Dataset(X[:40], CLASSES[:40])
    check(dpboost.train(PARAMS, data, 5, valid_sets=[public]), tmp_path)
    check(dpboost.cv(PARAMS, data, 5, nfold=3), tmp_path)
    check(dpboost.cv({**PARAMS, "metric": "auc"}, data, 5, nfold=3), tmp_path)


def test_a_fold_without_a_class_that_is_public(tmp_path):
    labels = np.zeros(N_ROWS, dtype=int)
    labels[:2] = [1, 2]
    params = {**PARAMS, "objective": "multiclass", "num_class": 3, "schema": BOUNDS}
    results = dpboost.cv(params, Dataset(X, labels), 3, nfold=2, return_cvbooster=True)
    assert {each.num_model_per_iteration() for each in results["cvbooster"].boosters} == {3}
    check(results, tmp_path)


def test_rows_on_a_cluster(tmp_path, client):
    import dask.array as da

    from dpboost.dask import DaskDPBoostRegressor

    model = DaskDPBoostRegressor(client=client, **FEW, schema=FOR_NUMBERS)
    model.fit(da.from_array(X, chunks=(100, 3)), da.from_array(NUMBERS, chunks=100))
    again = replay(from_file(model.transcript_, tmp_path))
    assert again.booster_.model_to_string() == model.booster_.model_to_string()


def test_a_new_process_makes_the_same_model(tmp_path):
    model = regressor().fit(X, NUMBERS)
    model.transcript_.save(tmp_path / "fit.transcript")
    program = (
        "import sys, dpboost\n"
        "model = dpboost.replay(dpboost.Transcript.load(sys.argv[1]))\n"
        "model.booster_.save_model(sys.argv[2])\n"
    )
    files = [str(tmp_path / "fit.transcript"), str(tmp_path / "model.txt")]
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, *files], check=True)
    model.booster_.save_model(tmp_path / "first.txt")
    assert (tmp_path / "model.txt").read_bytes() == (tmp_path / "first.txt").read_bytes()
