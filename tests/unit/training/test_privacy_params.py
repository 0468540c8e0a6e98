"""What a fit says of a guarantee that means little, and of errors in the user's own words."""

import math
import re
import warnings

import numpy as np
import pytest

import dpboost
from dpboost import (
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    LPDTRegressor,
    ParameterWarning,
)
from dpboost.federated import FederatedBoostingRegressor
from dpboost.privacy.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 2000
X = np.random.default_rng(0).uniform(size=(N_ROWS, 2))
Y = X[:, 0]
LABELS = (Y > 0.5).astype(int)
BOUNDS = {"bounds": dict.fromkeys(range(2), (0.0, 1.0))}
TOLD = (ParameterWarning, dpboost.LargeEpsilonWarning, dpboost.LargeDeltaWarning)
FAST = {"n_estimators": 2, "verbosity": 0, "n_jobs": 1}


def told(fit, *arguments, **options):
    """The lines that a fit warns with, each once; what is not asked for is ignored."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
        warnings.simplefilter("ignore", dpboost.PublicSizeWarning)
        for category in (dpboost.UndeclaredWarning, dpboost.AssumedPublicWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "Few rows", dpboost.ParameterWarning)
        fit(*arguments, **options)
    found = [one for one in caught if issubclass(one.category, TOLD)]
    assert {one.filename for one in found} <= {__file__}
    lines = "\n".join(str(one.message) for one in found).splitlines()
    block = [line.removeprefix("* ") for line in lines if line.startswith("* ")]
    return block or lines


def regressor(**options):
    return DPBoostRegressor(**{"schema": {**BOUNDS, "label_bounds": (0, 1)}, **FAST, **options})


# -- epsilon, delta, schema -----------------------------------------------------------------------

FITS = {
    "boosting": lambda epsilon: regressor(epsilon=epsilon).fit(X, Y),
    "paper": lambda epsilon: regressor(epsilon=epsilon, recipe="dpboost").fit(X, Y),
    "tree": lambda epsilon: DPTreeClassifier(
        epsilon=epsilon, schema={**BOUNDS, "classes": [0, 1]}
    ).fit(X, LABELS),
    "parties": lambda epsilon: FederatedBoostingRegressor(
        epsilon=epsilon,
        schema={**BOUNDS, "label_bounds": (0, 1)},
        n_estimators=2,
        verbosity=0,
    ).fit([(X[:1000], Y[:1000]), (X[1000:], Y[1000:])]),
    "reports": lambda epsilon: LPDTRegressor(epsilon=epsilon).fit(
        X, Y, X_public=X[:50], y_public=Y[:50]
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_large_epsilon_warns_once(name):
    assert told(FITS[name], 20.0) == []
    (message,) = told(FITS[name], 20.5)
    assert message.startswith("epsilon=20.5 gives almost no protection")


def test_no_epsilon_is_too_large_where_there_is_no_guarantee():
    assert told(regressor(epsilon=math.inf).fit, X, Y) == []


def test_parts_of_a_schema_that_mean_nothing_to_the_task_warn():
    schema = {**BOUNDS, "classes": [0, 1], "label_bounds": (0, 1)}
    idle = {"classes": "has no effect on a regression", "label_bounds": "on a classification"}
    for fit, y, name in (
        (regressor(schema=schema).fit, Y, "classes"),
        (DPBoostClassifier(schema=schema, **FAST, epsilon=4.0).fit, LABELS, "label_bounds"),
        (DPTreeClassifier(schema=schema, epsilon=4.0).fit, LABELS, "label_bounds"),
    ):
        (message,) = told(fit, X, y)
        assert message.startswith(f"Schema({name}=...)")
        assert idle[name] in message
    parties = [(X[:1000], Y[:1000]), (X[1000:], Y[1000:])]
    model = FederatedBoostingRegressor(schema=schema, n_estimators=2, verbosity=0)
    (message,) = told(model.fit, parties)
    assert "Schema(classes=...) has no effect" in message
    (message,) = told(
        dpboost.train, {**FAST, "epsilon": 4.0, "schema": schema}, dpboost.Dataset(X, Y), 2
    )
    assert "Schema(classes=...) has no effect" in message


@pytest.mark.parametrize("delta", [1e-4, 2e-3])
def test_a_delta_above_one_over_the_released_rows_warns(delta):
    expected = ["more than one over the released number of rows"] * (delta > 1 / N_ROWS)
    found = told(regressor(delta=delta, noise_seed=0).fit, X, Y)
    assert [text in message for text, message in zip(expected, found, strict=True)] == [
        True for _ in expected
    ]


def test_a_delta_that_is_not_spent_does_not_warn():
    assert told(regressor(delta=0.5, recipe="dpboost", epsilon=8.0).fit, X, Y) == []
    schema = {**BOUNDS, "classes": [0, 1]}
    tree = {"delta": 0.5, "epsilon": 4.0, "recipe": "diffp_id3"}
    assert told(DPTreeClassifier(schema=schema, **tree).fit, X, LABELS) == []
    learned = DPTreeClassifier(schema=BOUNDS, assume_public=(), **tree)
    (message,) = told(learned.fit, X, LABELS)
    assert "more than one over" in message


def test_it_is_the_released_number_that_decides(monkeypatch):
    many = np.array([0, 10**9 << 18])
    release = Ledger.release

    def replaced(self, mechanism, sensitive, *, label, **options):
        outcome = release(self, mechanism, sensitive, label=label, **options)
        return many if label == "start value" else outcome

    assert told(regressor(delta=1e-6).fit, X, Y) == []
    monkeypatch.setattr(Ledger, "release", replaced)
    (message,) = told(regressor(delta=1e-6).fit, X, Y)
    assert "more than one over" in message


# -- budgets that cannot work ---------------------------------------------------------------------


def paper(recipe, epsilon, **options):
    own = {"preset": "paper"} if recipe == "dpboost" else {}
    return regressor(recipe=recipe, epsilon=epsilon, **{"n_estimators": 3, **own, **options})


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_a_budget_whose_leaves_are_noise_warns_and_names_an_epsilon(recipe, neighbors):
    (message,) = told(paper(recipe, 0.25, neighbors=neighbors).fit, X, Y)
    assert message.startswith(f"epsilon=0.25 cannot work for the recipe {recipe!r}")
    named = float(re.search(r"from epsilon=(\S+) on", message)[1])
    assert told(paper(recipe, named, neighbors=neighbors).fit, X, Y) == []
    assert len(told(paper(recipe, 0.9 * named, neighbors=neighbors).fit, X, Y)) == 1
    trees = 3 if recipe == "seq" else 1
    relation = 2 if neighbors == "replace" else 1
    # The noise of a leaf: 1 / (1 + lambda) of the half-width, over half of the budget of a tree.
    exact = math.sqrt(2) * relation / 1.1 / 2 * 2 * trees
    assert exact <= named <= 1.1 * exact


def test_the_named_epsilon_is_that_of_the_noise_that_is_drawn():
    (message,) = told(paper("seq", 1.0, n_estimators=50).fit, X, Y)
    times = float(re.search(r"is (\S+) times the whole range", message)[1])
    options = {"n_estimators": 50, "max_depth": 3, "learning_rate": 1.0, "reg_lambda": 0.1}
    model = regressor(recipe="seq", epsilon=1.0, noise_seed=0, **options)
    model.fit(np.zeros((5, 2)), np.full(5, 0.5))
    leaves = np.concatenate([tree.leaf_value for tree in model.ensemble_.trees])
    assert np.std(leaves * model.ensemble_.unit) == pytest.approx(times, rel=0.15)


def test_learning_users_and_classes_count_too():
    assert told(paper("dpboost", 1.3).fit, X, Y) == []
    as_in_the_paper = {"recipe": "dpboost", "preset": "paper", **FAST}
    (message,) = told(DPBoostRegressor(epsilon=1.3, **as_in_the_paper).fit, X, Y)
    # A tenth goes into learning, less what is left of it once the labels are found.
    assert "epsilon=1.4 on" in message
    users = np.arange(N_ROWS) // 2
    (message,) = told(paper("dpboost", 1.3, rows_per_user=2).fit, X, Y, user_ids=users)
    assert "epsilon=2.6 on" in message
    schema = {**BOUNDS, "classes": [0, 1]}
    options = {"schema": schema, "recipe": "para", **FAST}
    assert told(DPBoostClassifier(epsilon=1.1, **options).fit, X, LABELS) == []
    (message,) = told(DPBoostClassifier(epsilon=1.0, **options).fit, X, LABELS)
    assert "epsilon=1.1 on" in message


@pytest.mark.parametrize("epsilon", [0.05, 0.25, 4.0])
def test_what_dpboost_sets_itself_is_never_all_noise(epsilon):
    assert told(paper("dpboost", epsilon, preset=None).fit, X, Y) == []


def test_noise_that_shrinks_with_the_rows_does_not_warn():
    assert told(regressor(epsilon=0.1).fit, X, Y) == []
    parties = [(X[:1000], Y[:1000]), (X[1000:], Y[1000:])]
    model = FederatedBoostingRegressor(
        recipe="seq",
        epsilon=1.0,
        n_estimators=3,
        schema={**BOUNDS, "label_bounds": (0, 1)},
        verbosity=0,
    )
    assert told(model.fit, parties) == []
    assert told(paper("seq", math.inf).fit, X, Y) == []


# -- what is spent --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.06, 0.1, 1.0, 3.3, 9.0, 11.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-5])
def test_no_more_is_spent_than_was_asked_for(epsilon, delta):
    reports = [regressor(epsilon=epsilon, delta=delta).fit(X, Y).privacy_report_]
    params = {**FAST, "epsilon": max(epsilon, 1.0), "delta": delta, "schema": BOUNDS}
    reports.append(dpboost.cv(params, dpboost.Dataset(X, Y), 2, nfold=2).privacy_report)
    for report in reports:
        assert 0.99 * float(report.epsilon) <= report.epsilon_spent <= float(report.epsilon)
        spent, asked = re.search(r"(\S+) spent of (\S+)", report.details()).groups()
        assert float(spent) <= float(asked)


# -- errors ---------------------------------------------------------------------------------------

INNER = re.compile(
    r"ContributionBound|Accountant|\bunits?\b|zCDP|\brho\b|SquaredLoss|Ledger|Bound\b|grid"
)
ODD = {
    "small clip": ({"gradient_clip": 1e-6}, "'gradient_clip' parameter of DPBoostRegressor"),
    "little noise": (
        {"gradient_clip": 0.001, "n_estimators": 1},
        "a larger gradient_clip or n_estimators",
    ),
    "tiny delta": ({"delta": 1e-300}, "'delta' parameter"),
    "huge label bounds": ({"schema": {"label_bounds": (0, 1e308)}}, "'label_bounds' .* of Schema"),
    "equal labels": ({"schema": {"label_bounds": (0, 5e-324)}}, "'label_bounds' .* of Schema"),
    "many trees": ({"n_estimators": 100_000, "epsilon": 0.05}, "'epsilon' parameter"),
}


@pytest.mark.parametrize("name", ODD)
def test_errors_are_in_the_words_of_the_user(name):
    parameters, message = ODD[name]
    with pytest.raises(ValueError, match=message) as caught:  # noqa: PT011
        regressor(**parameters).fit(X, Y)
    assert not INNER.search(str(caught.value))
