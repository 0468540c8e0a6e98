"""Every recipe on every kind of input, in every mode: the same draws give the same model.

What one recipe releases from one table is audited elsewhere. Here the same rows come in every form
that a fit takes and lie wherever a fit finds them, and a model from the same seed has the same text
and the same records: so each of these fits releases what was audited, at the same charge.
"""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import dpboost
from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, DPTreeClassifier, DPTreeRegressor
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.containers import is_batched
from dpboost.federated import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    FederatedTreeClassifier,
)
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.single_tree import NUMBER_TREE_ALGORITHMS, TREE_ALGORITHMS
from tests.unit.federated.channels import without_report

pytestmark = pytest.mark.filterwarnings("ignore")

# Its function has the name of the module.
evaluate_module = sys.modules["dpboost.evaluating.evaluate"]
N_ROWS = 240
BOUNDS = {0: (-2, 2), 1: (0, 8), 2: (-1, 1)}
SCHEMA = {"bounds": BOUNDS, "categories": {3: [0, 1, 2]}}
NAMES = [f"Column_{position}" for position in range(4)]
LABELS = {"classification": {"classes": [0, 1]}, "regression": {"label_bounds": (-3, 4)}}
FAST = {"epsilon": 20.0, "noise_seed": 5, "max_depth": 2}
FEW = {"n_estimators": 2, "random_state": 1, "verbosity": -1}

# Recipe, task, and the estimators of one process, of a cluster and of parties.
BOOSTING = [(recipe, task) for recipe in ALGORITHMS.names for task in LABELS]
TREES = [(recipe, "classification") for recipe in TREE_ALGORITHMS]
NUMBER_TREES = [(recipe, "regression") for recipe in NUMBER_TREE_ALGORITHMS]
EVERY = [
    *(("boosting", *one) for one in BOOSTING),
    *(("tree", *one) for one in TREES + NUMBER_TREES),
]
LOCAL = {
    ("boosting", "classification"): DPBoostClassifier,
    ("boosting", "regression"): DPBoostRegressor,
    ("tree", "classification"): DPTreeClassifier,
    ("tree", "regression"): DPTreeRegressor,
}
PARTIES = {
    ("boosting", "classification"): FederatedBoostingClassifier,
    ("boosting", "regression"): FederatedBoostingRegressor,
    ("tree", "classification"): FederatedTreeClassifier,
}


def table():
    """Rows that single precision holds as well, with zeros, missing cells and categories."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (N_ROWS, 4)) / 4.0
    X[:, 1] = np.where(rng.random(N_ROWS) < 0.7, 0.0, rng.integers(0, 9, N_ROWS))
    X[rng.random(N_ROWS) < 0.1, 2] = np.nan
    X[:, 3] = rng.integers(0, 3, N_ROWS)
    return X, X[:, 0] + (X[:, 3] == 1)


def named_schema(public, listed=(0, 1, 2)):
    """Return what is declared by names: of the columns, and of the labels."""
    bounds = {NAMES[position]: own for position, own in BOUNDS.items()}
    return {"bounds": bounds, "categories": {NAMES[3]: list(listed)}, **public}


def in_blocks():
    """Return the rows of three parties such that secret coins are those of the number of a row."""
    return [slice(first, first + N_ROWS // 3) for first in range(0, N_ROWS, N_ROWS // 3)]


def labels(task):
    y = table()[1]
    return (y > 0).astype(int) if task == "classification" else y


def options(kind, recipe, task):
    few = FEW if kind == "boosting" else {}
    return {"recipe": recipe, "schema": SCHEMA | LABELS[task], **FAST, **few}


def outcome(model):
    """Return what is released: the text, and the records of the ledger."""
    report = model.privacy_report_
    return model.booster_.model_to_string(), report.spent, report.releases


def check_same(over, one):
    """The texts of two fits, but for what parties say of themselves, and their records agree."""
    text, *records = outcome(over)
    one_text, *one_records = outcome(one)
    assert records == one_records
    assert without_report(text) == without_report(one_text)


def fitted(kind, recipe, task, X):
    return LOCAL[kind, task](**options(kind, recipe, task)).fit(X, labels(task))


@pytest.fixture(scope="module")
def expected():
    found = {}

    def of(kind, recipe, task):
        if (kind, recipe, task) not in found:
            found[kind, recipe, task] = outcome(fitted(kind, recipe, task, table()[0]))
        return found[kind, recipe, task]

    return of


class Batches:
    """Gives its rows in batches, as often as they are asked for."""

    def __init__(self, X):
        self.X = X

    def __iter__(self):
        return (self.X[start : start + 50] for start in range(0, N_ROWS, 50))


def frame(module):
    """Return how a library of data frames holds the columns, under LightGBM's names."""
    library = pytest.importorskip(module)

    def build(X):
        columns = {f"Column_{position}": X[:, position] for position in range(X.shape[1])}
        return library.table(columns) if module == "pyarrow" else library.DataFrame(columns)

    return build


def sparse_frame(X):
    pandas = pytest.importorskip("pandas")
    return frame("pandas")(X).astype(pandas.SparseDtype("float64", 0.0))


FORMS = {
    "single precision": lambda: lambda X: X.astype(np.float32),
    "by column": lambda: np.asfortranarray,
    "lists": lambda: lambda X: X.tolist(),
    "pandas": lambda: frame("pandas"),
    "polars": lambda: frame("polars"),
    "arrow": lambda: frame("pyarrow"),
    "sparse rows": lambda: sparse.csr_matrix,
    "sparse columns": lambda: sparse.csc_matrix,
    "sparse cells": lambda: sparse.coo_array,
    "sparse data frame": lambda: sparse_frame,
    "batches": lambda: Batches,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "recipe", "task"), EVERY)
def test_every_form_of_a_table_trains_the_same_model(kind, recipe, task, form, expected):
    given = FORMS[form]()(table()[0])
    assert is_batched(given) == (form == "batches")
    assert outcome(fitted(kind, recipe, task, given)) == expected(kind, recipe, task)


@pytest.mark.parametrize("form", ["array", "data frame"])
@pytest.mark.parametrize(("kind", "recipe", "task"), EVERY)
def test_workers_of_a_cluster_train_the_same_model(kind, recipe, task, form, client, expected):
    import dask.array as da

    import dpboost.dask

    estimator = getattr(dpboost.dask, f"Dask{LOCAL[kind, task].__name__}")
    X = da.from_array(table()[0], chunks=(90, -1))
    y = da.from_array(labels(task), chunks=90)
    if form == "data frame":
        frames = pytest.importorskip("dask.dataframe")
        X, y = frames.from_dask_array(X, columns=NAMES), frames.from_dask_array(y)
    model = estimator(**options(kind, recipe, task), client=client).fit(X, y)
    assert outcome(model) == expected(kind, recipe, task)


def by_parties(kind, recipe, task):
    X, y = table()[0], labels(task)
    given = options(kind, recipe, task) | {"schema": named_schema(LABELS[task])}
    model = PARTIES[kind, task](**given)
    return model.fit([(X[part::3], y[part::3]) for part in range(3)])


def needs_exact_sums(kind, recipe):
    return (ALGORITHMS if kind == "boosting" else TREE_ALGORITHMS)[recipe].needs_exact_sums


AT_PARTIES = [one for one in EVERY if (one[0], one[2]) in PARTIES]
WITHOUT_SUMS = [one for one in AT_PARTIES if not needs_exact_sums(*one[:2])]
WITH_SUMS = [one for one in AT_PARTIES if needs_exact_sums(*one[:2])]


@pytest.mark.parametrize(("kind", "recipe", "task"), WITHOUT_SUMS)
def test_parties_train_the_same_model(kind, recipe, task, expected):
    text, *records = outcome(by_parties(kind, recipe, task))
    one_text, *one_records = expected(kind, recipe, task)
    assert records == one_records
    # Under this one every party names a split by its own rows: other choices, at the same charge.
    same = recipe != "local_rnm"
    assert (without_report(text) == without_report(one_text)) == same


@pytest.mark.parametrize(("kind", "recipe", "task"), WITH_SUMS)
def test_what_parties_cannot_give_is_replaced_and_said_or_refused(kind, recipe, task):
    if kind == "tree":
        with pytest.raises(InvalidParameterError, match="'recipe' parameter"):
            by_parties(kind, recipe, task)
        return
    facts = by_parties(kind, recipe, task).privacy_report_.facts
    assert "noisy histograms" in facts["deviation"]


def told(y):
    """Return what is learned of some numbers under each task, and what is declared of it."""
    return {
        "regression": (y, {"label_bounds": (-3, 4)}),
        "classification": ((y > 0).astype(int), {"classes": [0, 1]}),
        "three classes": (np.digitize(y, [-0.5, 0.8]), {"classes": [0, 1, 2]}),
    }


# What is learned at parties as in one place: parameters, the task, the classes and the weights.
OBJECTIVES = {
    "absolute": ("regression", {"objective": "regression_l1"}),
    "percentages": ("regression", {"objective": "mape"}),
    "weighted percentages": ("regression", {"objective": "mape", "max_weight": 2.0}),
    "huber": ("regression", {"objective": "huber", "alpha": 1.5}),
    "fair": ("regression", {"objective": "fair", "fair_c": 0.5}),
    "quantile": ("regression", {"objective": "quantile", "alpha": 0.8}),
    "quantiles": ("regression", {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]}),
    "poisson": ("regression", {"objective": "poisson", "poisson_max_delta_step": 0.5}),
    "gamma": ("regression", {"objective": "gamma"}),
    "tweedie": ("regression", {"objective": "tweedie", "tweedie_variance_power": 1.3}),
    "shares": ("regression", {"objective": "cross_entropy"}),
    "weighted numbers": ("regression", {"max_weight": 2.0}),
    "cross-entropy": ("classification", {"objective": "cross_entropy"}),
    "weighted classes": ("classification", {"max_weight": 2.0}),
    "classes with weights": ("classification", {"class_weight": {0: 1.0, 1: 4.0}}),
    "balanced classes": ("classification", {"class_weight": "balanced"}),
    "balanced and weighted": ("classification", {"class_weight": "balanced", "max_weight": 2.0}),
    "one weight": ("classification", {"scale_pos_weight": 3.0}),
    "softmax": ("three classes", {"objective": "multiclass"}),
    "each against the rest": ("three classes", {"objective": "multiclassova"}),
    "balanced softmax": ("three classes", {"class_weight": "balanced"}),
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_parties_learn_every_objective_as_one_place_does(name, delta):
    task, learned = OBJECTIVES[name]
    X, y = table()
    y, public = (told(y) | {"regression": (np.abs(y), {"label_bounds": (0.1, 4.0)})})[task]
    weights = np.linspace(0, 3, N_ROWS) if "max_weight" in learned else None
    kind = "regression" if task == "regression" else "classification"
    given = {"schema": named_schema(public), **FAST, **FEW, "delta": delta, **learned}
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
    one = LOCAL["boosting", kind](**given).fit(frame, y, sample_weight=weights)
    apart = [slice(part, None, 3) for part in range(3)]
    over = PARTIES["boosting", kind](**given).fit(
        [(frame.iloc[part], y[part]) for part in apart],
        sample_weight=None if weights is None else [weights[part] for part in apart],
    )
    check_same(over, one)


# Fits whose sums are brought into order on the way: what lies where sees the same corrections.
IN_ORDER = {
    "two classes": ("classification", {}),
    "three classes": ("three classes", {}),
    "numbers": ("regression", {}),
    "dealt": ("regression", {"trees_per_ensemble": 2}),
    "part of the rows": ("regression", {"bagging_fraction": 0.5}),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_sums_are_brought_into_order_everywhere_alike(name, client):
    import dask.array as da

    import dpboost.dask

    task, learned = IN_ORDER[name]
    X, y = table()
    y, public = told(y)[task]
    kind = "regression" if task == "regression" else "classification"
    given = {
        "schema": named_schema(public),
        **FAST,
        **FEW,
        "epsilon": 100.0,
        "n_estimators": 12,
        "monotone_constraints": {NAMES[0]: 1, NAMES[1]: -1},
        **learned,
    }
    one = LOCAL["boosting", kind](**given).fit(X, y)
    assert dpboost.check_constraints(one, [1, -1, 0, 0])
    free = LOCAL["boosting", kind](**given | {"monotone_constraints": None}).fit(X, y)
    assert free.privacy_report_.spent == one.privacy_report_.spent
    over = PARTIES["boosting", kind](**given).fit([(X[part], y[part]) for part in in_blocks()])
    cluster = getattr(dpboost.dask, f"Dask{LOCAL['boosting', kind].__name__}")
    spread = cluster(**given, client=client).fit(
        da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=90)
    )
    batched = LOCAL["boosting", kind](**given).fit(Batches(X), y)
    assert outcome(spread) == outcome(batched) == outcome(one)
    text, *records = outcome(over)
    one_text, *one_records = outcome(one)
    assert records == one_records
    # Coins of parties are those of the number of a row, in the first deal.
    if "bagging_fraction" not in learned:
        assert without_report(text) == without_report(one_text)


# What a fit may be that continues a model.
CONTINUED = {
    "two classes": ("classification", {}),
    "text": ("classification", {}),
    "balanced classes": ("classification", {"class_weight": "balanced"}),
    "weighted classes": ("classification", {"max_weight": 2.0}),
    "three classes": ("three classes", {}),
    "numbers": ("regression", {}),
    "weighted numbers": ("regression", {"max_weight": 2.0}),
    "quantiles": ("regression", {"objective": "quantile", "alpha": [0.1, 0.5, 0.9]}),
    "dealt": ("regression", {"trees_per_ensemble": 2}),
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", CONTINUED)
def test_parties_continue_a_model_as_one_place_does(name, delta):
    task, learned = CONTINUED[name]
    X, y = table()
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
    listed = [0, 1, 2]
    if name == "text":
        listed = ["red", "blue", "pink"]
        frame[NAMES[3]] = np.array(listed, dtype=object)[X[:, 3].astype(int)]
        frame.loc[5, NAMES[3]] = None
    y, public = told(y)[task]
    weights = np.linspace(0, 3, N_ROWS) if "max_weight" in learned else None
    kind = "regression" if task == "regression" else "classification"
    given = {"schema": named_schema(public, listed), **FAST, **FEW, "delta": delta, **learned}
    local = LOCAL["boosting", kind]
    earlier = local(**given | {"noise_seed": 8}).fit(frame, y)
    one = local(**given).fit(frame, y, sample_weight=weights, init_model=earlier)
    apart = in_blocks()
    over = PARTIES["boosting", kind](**given).fit(
        [(frame.iloc[part], y[part]) for part in apart],
        sample_weight=None if weights is None else [weights[part] for part in apart],
        init_model=earlier,
    )
    check_same(over, one)
    assert over.booster_.num_trees() == 2 * earlier.booster_.num_trees()
    for report in (over.privacy_report_, *over.party_reports_):
        assert report.total == one.privacy_report_.total


# A model of each kind: its labels, what it learns, and the groups that it is judged by.
JUDGED = {
    "two classes": ("classification", {}, None),
    "two classes by group": ("classification", {}, (1, [0.0, 1.0])),
    "text": ("classification", {}, "Column_3"),
    "three classes": ("three classes", {}, (1, [0.0])),
    "numbers": ("regression", {}, (1, [0.0])),
    "quantile": ("regression", {"objective": "quantile", "alpha": 0.8}, None),
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("name", JUDGED)
def test_parties_judge_a_model_as_one_place_does(name, neighbors, delta, monkeypatch):
    pandas = pytest.importorskip("pandas")
    task, learned, groups = JUDGED[name]
    X, y = table()
    frame = pandas.DataFrame(X, columns=NAMES)
    listed = [0, 1, 2]
    if name == "text":
        # The last one is at no party, one value is in no list, and one is missing.
        listed = ["red", "blue", "green", "white"]
        words = np.array(["red", "blue", "pink"], dtype=object)
        frame[NAMES[3]] = words[X[:, 3].astype(int)]
        frame.loc[5, NAMES[3]] = None
    y, public = {
        "regression": (y, {"label_bounds": (-2.0, 2.0)}),
        "classification": (np.where(y > 0, "yes", "no"), {"classes": ["no", "yes"]}),
        "three classes": (np.digitize(y, [-0.5, 0.8]), {"classes": [0, 1, 2]}),
    }[task]
    kind = LOCAL["boosting", "regression" if task == "regression" else "classification"]
    model = kind(schema=named_schema(public, listed), **(FAST | FEW | learned)).fit(frame, y)
    if task == "classification":
        # Rows of a label that nobody knows take no part.
        y = np.where(np.arange(N_ROWS) == 7, "perhaps", y)
    seeded = evaluate_module.request_of
    monkeypatch.setattr(
        evaluate_module, "request_of", lambda taken: replace(seeded(taken), noise_seed=3)
    )
    budget = Budget(epsilon=4, delta=delta, neighbors=neighbors)
    one = dpboost.evaluate(model, frame, y, budget=budget, fraction=1, groups=groups)
    parts = [slice(part, None, 3) for part in range(3)]
    over = dpboost.federated.evaluate(
        model,
        [(frame.iloc[part], y[part]) for part in parts],
        epsilon=4,
        # A budget keeps a part of delta for what may fail.
        delta=budget._conversion_delta,
        neighbors=neighbors,
        groups=groups,
        noise_seed=3,
    )
    assert over.metrics == one.metrics
    assert over.groups == one.groups
    assert over.report.spent == one.report.spent
    assert over.report.releases == one.report.releases


def test_every_recipe_and_every_estimator_is_here():
    assert {recipe for kind, recipe, _ in EVERY if kind == "boosting"} == set(ALGORITHMS.names)
    assert {kind.__name__ for kind in LOCAL.values()} == {
        name
        for name in dpboost.__all__
        if re.fullmatch("DP(Boost|Tree)(Classifier|Regressor)", name)
    }
    assert {kind.__name__ for kind in PARTIES.values()} == {
        name for name in dpboost.federated.__all__ if name.startswith("Federated")
    }
